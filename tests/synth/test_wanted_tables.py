"""Which tables a synthesis may measure: those of a workload, with its weights."""

from __future__ import annotations

from typing import Any

import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.synth.wanted_tables import wanted_tables

NAMES = ["age", "sex", "region", "income"]


def test_a_workload_of_marginals_gives_its_pairs_and_triples_in_the_order_of_the_columns() -> None:
    asked = gt.workload.marginals(["region", "age", "sex"], up_to=3, weights={("age", "sex"): 4})
    assert wanted_tables(asked, NAMES) == {
        ("age", "sex"): 1024,
        ("age", "region"): 256,
        ("sex", "region"): 256,
        ("age", "sex", "region"): 256,
    }


def test_weights_keep_their_proportions_as_whole_numbers() -> None:
    assert wanted_tables({("age", "sex"): 1, ("sex", "income"): "1/3"}, NAMES) == {
        ("age", "sex"): 1024,
        ("sex", "income"): 341,
    }


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (gt.workload.marginals(["age", "sex"]) + gt.workload.ranges("income"), "more than counts"),
        (gt.workload.marginals(["age", "sex"], of="income"), "more than counts"),
        ([("age", "age")], "different columns"),
        ([("age", "sex", "region", "income")], "up to 3"),
        (["age"], "not a list of lists"),
        (7, "is not a workload"),
    ],
)
def test_what_is_no_workload_of_counts_is_refused(asked: Any, problem: str) -> None:
    with pytest.raises(InvalidParameter, match=problem):
        wanted_tables(asked, NAMES)
