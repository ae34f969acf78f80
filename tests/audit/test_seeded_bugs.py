"""The audits find the mistakes that shipped in the field, and leave what is sound alone."""

from __future__ import annotations

import pytest
import thinning
from seeded_bugs import BUGS, SPARSE, TWINS, Audit, sparse, sparse_vector

from statistics_of_draws import ALPHA


@pytest.mark.statistical
def test_at_least_95_percent_of_the_planted_mistakes_are_found() -> None:
    missed = [name for name, found in BUGS.items() if not found()]
    assert len(BUGS) >= 30
    assert len(missed) <= len(BUGS) * 0.05, missed


@pytest.mark.statistical
@pytest.mark.parametrize("found", TWINS.values(), ids=TWINS)
def test_nothing_is_found_in_what_is_sound(found: Audit) -> None:
    assert not found()


@pytest.mark.statistical
@pytest.mark.parametrize("variant", SPARSE)
def test_verdicts_on_the_sparse_vector_variants_are_those_of_the_literature(variant: int) -> None:
    """Of the variants in [LSL17] only the first is 1-DP; a tester of another kind rejects the same four."""
    broken = variant != 0
    assert sparse(variant)() == broken
    assert thinning.rejects(sparse_vector(variant), *SPARSE[variant], 1.0, samples=100_000, alpha=ALPHA) == broken
