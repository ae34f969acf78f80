"""Numbers that many rows hold exactly, such as 0, stay what they are in a synthetic table."""

from __future__ import annotations

import csv
import datetime as dt
import io
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.plan import Kind
from giveortake.randomness import SYSTEM_ENTROPY
from giveortake.session.session import Session
from giveortake.synth.columns import fine_edges, quantile_edges, zero_factors
from giveortake.synth.model import ModelColumn

ROWS, ZEROS, CAPPED = 3000, 2400, 150
ASKED: dict[str, Any] = {"columns": ["gain", "sex"], "epsilon": 8, "delta": "1e-6"}


def _session(bounds: Any = (0, 1000), gains: Any = None, kind: Any = pl.Float64) -> Session:
    drawn = np.random.default_rng(7)
    if gains is None:
        gains = np.where(np.arange(ROWS) < ZEROS, 0.0, 1 + drawn.random(ROWS) * 900)
        gains[-CAPPED:] = 5000.0  # beyond the bound, at which they are clamped
    frame = pl.DataFrame({"gain": pl.Series(gains).cast(kind), "sex": drawn.choice(["f", "m"], ROWS)})
    domains = {"gain": bounds, "sex": ["f", "m"]}
    return gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(8, "1e-6"), domains=domains, name="people")


@pytest.mark.parametrize("bins", [6, [0, 0, 100, 1000, 1000]], ids=["by quantiles", "listed"])
@pytest.mark.parametrize("kind", [pl.Float64, pl.Int64], ids=str)
def test_zeros_and_clamped_numbers_are_as_many_as_were_measured(bins: Any, kind: Any) -> None:
    with _session(kind=kind) as session:
        gains = gt.synth.synthesize(session, bins={"gain": bins}, **ASKED).to_polars()["gain"]
    assert gains.dtype == kind
    assert abs((gains == 0).sum() - ZEROS) < 200  # more than ten deviations
    assert abs((gains == 1000).sum() - CAPPED) < 200
    assert gains.n_unique() > 100  # the others are spread over their bins


def test_bins_of_one_number_are_told_and_kept_in_files() -> None:
    edges = tuple(map(Fraction, [-5, 0, 0, 10, 20, 20]))
    for kind, last in ((Kind.INTEGER, {*range(1, 10)}), (Kind.REAL, None)):
        column = ModelColumn("gain", kind, None, edges, nullable=True)
        assert column.labels() == ["[-5, 0)", "[0]", "(0, 10)", "[10, 20)", "[20]", None]
        assert ModelColumn.from_json(column.to_json()) == column
        drawn = column.values(np.repeat(np.arange(5), 300), SYSTEM_ENTROPY).reshape(5, 300)
        assert set(drawn[1]) == {0}
        assert set(drawn[4]) == {20}
        assert 0 not in set(drawn[2])
        assert last is None or set(drawn[2]) == last


def test_bins_of_dates_are_told_as_dates() -> None:
    edges = tuple(Fraction(dt.date(2024, month, 1).toordinal()) for month in (1, 7, 12))
    assert ModelColumn("day", Kind.DATE, None, edges).labels()[0] == "[2024-01-01, 2024-07-01)"


def test_what_cannot_be_names_bins_as_before_and_single_numbers_by_themselves() -> None:
    edges = tuple(map(Fraction, [0, 0, 18, 18, 65]))
    columns = [ModelColumn("age", Kind.REAL, None, edges), ModelColumn("sex", Kind.TEXT, ("f", "m"))]
    for said, expected in (((0, 0), [0]), ((0, 18), [0, 1]), ((18, 18), [2]), ((18, 65), [2, 3])):
        (factor,) = zero_factors([{"age": said, "sex": "f"}], columns, 100).values()
        assert np.flatnonzero(np.isinf(factor[:, 0])).tolist() == expected


@pytest.mark.parametrize("bins", [2, 3, 8])
@pytest.mark.parametrize("bounds", [(0, 1), (0, 9), (0, 1000), (-3, 5), (-900, 100), (0.5, 2.5)])
def test_bins_by_quantiles_are_never_more_than_were_asked_for(bins: int, bounds: tuple[Any, Any]) -> None:
    with _session(bounds) as session:
        fine = fine_edges(session.describe().catalog.private["people"], "gain")
    drawn = np.random.default_rng(bins)
    assert [low for low, high in pairwise(fine) if low == high] == sorted(
        {Fraction(bounds[0]), Fraction(bounds[1])} | ({Fraction(0)} if float(bounds[0]) < 0 else set())
    )
    for each in range(60):
        counts = drawn.normal(0, 5, len(fine) - 1) + 1000 * (drawn.random(len(fine) - 1) < each / 200)
        edges = quantile_edges(fine, counts.tolist(), bins)
        assert list(edges) == sorted(edges)
        assert (edges[0], edges[-1]) == (fine[0], fine[-1])
        assert 3 <= len(edges) <= bins + 1
        assert max(map(edges.count, edges)) <= 2


def test_a_number_that_holds_most_rows_leaves_the_other_bins_to_the_others() -> None:
    fine = tuple(map(Fraction, [0, *range(101), 100]))
    edges = quantile_edges(fine, [9000.0, *[10.0] * 100, 0.0], 5)
    assert [int(edge) for edge in edges] == [0, 0, 25, 50, 75, 100]
    even = quantile_edges(fine, [10.0] * 102, 5)
    assert len(even) == len(set(even)) == 6  # no number holds more than others, so none is alone


def test_each_of_few_whole_numbers_has_a_bin() -> None:
    with _session((0, 3), [0, 1, 2, 3] * (ROWS // 4), pl.Int64) as session:
        fine = fine_edges(session.describe().catalog.private["people"], "gain")
        drawn = gt.synth.synthesize(session, bins={"gain": 8}, **ASKED)
    assert list(map(int, fine)) == [0, 1, 2, 3, 3]
    assert drawn.marginal("gain").to_dict()["gain"] == ["[0, 1)", "[1, 2)", "[2, 3)", "[3]", None]


def test_rows_are_written_as_csv_without_formulas(tmp_path: Path) -> None:
    frame = pl.DataFrame({"name": ["=1+1", "b"] * 50, "sex": ["f", "m"] * 50})
    domains = {"name": ["=1+1", "b"], "sex": ["f", "m"]}
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(8, "1e-6"), domains=domains, name="people") as session:
        made = gt.synth.synthesize(session, **ASKED | {"columns": ["name", "sex"]})
    made.to_csv(tmp_path / "rows.csv")
    text = made.to_csv()
    assert (tmp_path / "rows.csv").read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(made)
    assert {row["name"] for row in rows} == {"'=1+1", "b"}
    assert made.to_dict()["sex"] == [row["sex"] for row in rows]


def test_a_quote_takes_all_words_of_a_synthesis_and_says_what_is_missing() -> None:
    with _session() as session:
        said = ASKED | {"bins": {"gain": 6}}
        assert repr(gt.synth.quote(session, rows=10, key="a", **said)) == repr(gt.synth.quote(session, **said))
        with pytest.raises(gt.errors.InvalidParameter, match="delta"):
            gt.synth.quote(session, columns=["gain", "sex"], epsilon=1)
