"""Which tables a synthesis may measure: those of a workload, with its weights."""

from __future__ import annotations

from typing import Any

import pytest

import giveortake as gt
from giveortake.errors import InvalidParameter
from giveortake.synth.synthesis import wanted_tables

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


def test_what_is_no_workload_of_counts_is_refused() -> None:
    wrong: list[Any] = [
        gt.workload.marginals(["age", "sex"]) + gt.workload.ranges("income"),
        gt.workload.marginals(["age", "sex"], of="income"),
        [("age", "age")],
        [("age", "sex", "region", "income")],
        ["age"],
        7,
    ]
    for asked in wrong:
        with pytest.raises(InvalidParameter):
            wanted_tables(asked, NAMES)
