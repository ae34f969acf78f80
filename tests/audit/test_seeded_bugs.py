"""The audits find the mistakes that shipped in the field, and leave what is sound alone."""

from __future__ import annotations

import pytest
import thinning
from seeded_bugs import BEGINNING, BUGS, DICE, SPARSE, TELLING, TWINS, sparse, sparse_vector

from cases import all_cases
from statistics_of_draws import ALPHA
from tiers import is_long, tiered

pytestmark = pytest.mark.statistical


@pytest.fixture(autouse=True)
def _same_dice() -> None:
    """Whatever was drawn before, in whatever order."""
    DICE.bit_generator.state = BEGINNING


def test_at_least_95_percent_of_the_planted_mistakes_are_found() -> None:
    planted = list(BUGS if is_long() else TELLING)
    missed = [name for name in planted if not BUGS[name]()]
    assert len(BUGS) >= 30
    assert len(missed) <= len(planted) * 0.05, missed


@all_cases("name", tiered(list(TELLING.values()), list(TWINS)))
def test_nothing_is_found_in_what_is_sound(name: str) -> None:
    assert not TWINS[name]()


@all_cases("variant", tiered([0, 5], list(SPARSE)))
def test_verdicts_on_the_sparse_vector_variants_are_those_of_the_literature(variant: int) -> None:
    """Of the variants in [LSL17] only the first is 1-DP; a tester of another kind rejects the same four."""
    broken = variant != 0
    assert sparse(variant)() == broken
    assert thinning.rejects(sparse_vector(variant), *SPARSE[variant], 1.0, samples=100_000, alpha=ALPHA) == broken
