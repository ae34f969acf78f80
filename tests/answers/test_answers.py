"""Answers: what they hold, how they refuse, and how they compare."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import giveortake as gt
from giveortake.answers import Answer, Column, Estimate
from giveortake.errors import InvalidParameter, NotFound, Unprovable


def by_region(**provenance: Any) -> Answer:
    return Answer(
        [Column("region", ["north", "south"]), Column("n", [1204, 873], low=[1190, 859], high=[1218, 887])],
        **provenance,
    )


def test_a_column_comes_with_its_ends_and_keys_keep_their_names() -> None:
    assert by_region().to_dict() == {
        "region": ["north", "south"],
        "n": [1204, 873],
        "n_low": [1190, 859],
        "n_high": [1218, 887],
    }
    assert by_region().rows()[1] == {"region": "south", "n": 873, "n_low": 859, "n_high": 887}


def test_a_column_is_found_by_name_and_a_row_by_its_keys() -> None:
    answer = by_region()
    assert list(answer["n"]) == [1204, 873]
    assert answer["n"][1] == 873
    assert answer["n"].margins == (14, 14)
    assert answer.row(region="south")["n"] == 873
    assert [column.name for column in answer.keys] == ["region"]
    with pytest.raises(NotFound, match="region, n"):
        answer["mean"]
    with pytest.raises(NotFound):
        answer.row(region="west")


def test_one_number_has_a_value_and_two_ends() -> None:
    answer = Answer([Column("n", [5], [1], [9])])
    assert (answer.value, answer.low, answer.high) == (5, 1, 9)
    with pytest.raises(Unprovable, match="2 rows and 1 estimate,"):
        _ = by_region().value


def test_an_estimate_is_one_number_with_every_face_of_an_answer() -> None:
    estimate = Estimate(0.31, 0.28, 0.345, name="share", confidence="0.9")
    assert (estimate.value, estimate.low, estimate.high) == (0.31, 0.28, 0.345)
    assert estimate.margin == pytest.approx(0.035)
    assert estimate.confidence == Fraction(9, 10)
    assert estimate.to_polars().columns == ["share", "share_low", "share_high"]
    assert len(estimate) == 1


def test_answers_compare_by_content() -> None:
    assert by_region() == by_region()
    assert hash(by_region()) == hash(by_region())
    assert by_region() != by_region(confidence="0.9")
    assert by_region() != by_region(cost=Fraction(1))
    assert by_region() != Answer([Column("region", ["north", "south"])])
    assert Column("x", [float("nan")]) == Column("x", np.array([np.nan]))
    assert Column("x", [1]) != Column("x", [1], [0], [2])


def test_an_answer_cannot_be_changed() -> None:
    answer = Answer([Column("n", np.array([5, 6]))])
    with pytest.raises(AttributeError):
        answer.cost = 0
    with pytest.raises(AttributeError):
        del answer.cost
    with pytest.raises(ValueError, match="read-only"):
        answer["n"].values[0] = 7  # type: ignore[index]


def test_an_array_is_copied_so_that_its_owner_cannot_change_the_answer() -> None:
    numbers = np.array([5, 6])
    column = Column("n", numbers)
    numbers[0] = 0
    assert list(column) == [5, 6]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Column("", [1]), "not the name of a column"),
        (lambda: Column("n", [1], low=[0]), "not an interval"),
        (lambda: Column("n", [1], low=[2], high=[0]), "not an interval"),
        (lambda: Column("n", np.array([1.0]), np.array([2.0]), np.array([0.0])), "not an interval"),
        (lambda: Column("n", [1], low=[0, 0], high=[2, 2]), "do not match 1 values"),
        (lambda: Column("n", [1, "a"]), "different kinds"),
        (lambda: Column("n", [object()]), "not a type that an answer can hold"),
        (lambda: Column("n", "abc"), "not a list"),
        (lambda: Column("n", np.zeros((2, 2))), "not one column"),
        (lambda: Answer([]), "is empty"),
        (lambda: Answer([Column("n", [1]), Column("n", [1])]), "occurs twice"),
        (lambda: Answer([Column("n", [1], [0], [2]), Column("n_low", [1])]), "occurs twice"),
        (lambda: Answer([Column("n", [1]), Column("m", [1, 2])]), "has 2 rows and not 1"),
        (lambda: Answer([Column("n", [1])], confidence=1), "strictly between"),
    ],
)
def test_what_is_no_table_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_json_holds_the_table_and_where_it_came_from() -> None:
    promise = gt.PureDP("0.1")
    answer = Answer(
        [
            Column("day", [datetime.date(2020, 2, 29)]),
            Column("price", [Decimal("1.50")]),
            Column("mean", [float("inf")]),
        ],
        guarantee=promise,
        cost=Fraction(1, 10),
        release_id="r1",
        recipe={"mechanism": "laplace"},
        citations=("[DMNS06]",),
        entropy="test",
        notes=("a note",),
    )
    document = json.loads(answer.to_json())
    assert document["columns"] == {"day": ["2020-02-29"], "price": ["1.50"], "mean": ["inf"]}
    assert document["guarantee"]["epsilon"] == "1/10"
    assert document["recipe"] == {"mechanism": "laplace"}
    assert (document["release_id"], document["cost"], document["confidence"]) == ("r1", "1/10", "19/20")


def test_csv_is_returned_or_written(tmp_path: Path) -> None:
    text = by_region().to_csv()
    assert text == "region,n,n_low,n_high\nnorth,1204,1190,1218\nsouth,873,859,887\n"
    assert by_region().to_csv(tmp_path / "a.csv") is None
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == text


def test_answers_travel_between_processes_and_are_copied() -> None:
    for answer in (
        by_region(guarantee=gt.PureDP(1), cost=Fraction(1), recipe={"a": 1}, notes=("n",)),
        Answer([Column("n", np.array([1.5]), np.array([1.0]), np.array([2.0]))], recipe=["a", "b"]),
        Estimate(0.31, 0.28, 0.345, name="share", confidence="0.9"),
    ):
        assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301 (our own bytes)
        assert copy.deepcopy(answer) == answer


def test_an_answer_is_refined_by_whoever_gave_it() -> None:
    better = by_region(confidence="0.99")
    answer = Answer([Column("n", [1])], refine=lambda **_: better)
    assert answer.refine(epsilon=1) is better
    with pytest.raises(Unprovable, match="asked again"):
        better.refine()


@pytest.mark.parametrize(
    ("way", "library"), [("to_polars", "polars"), ("to_pandas", "pandas"), ("to_arrow", "pyarrow")]
)
def test_a_table_of_a_library_that_is_not_there_says_what_to_install(
    way: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NotFound, match=f"pip install {library}"):
        getattr(by_region(), way)()


def test_a_column_that_is_taken_as_an_attribute_is_told_the_brackets() -> None:
    with pytest.raises(AttributeError):
        _ = by_region().n  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = by_region().nothing  # type: ignore[attr-defined]
    assert copy.copy(by_region()) == by_region()
    assert not hasattr(object.__new__(Answer), "notes")
