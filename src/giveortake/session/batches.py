"""Batches: questions declared together share one spend."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import exact
from giveortake.compile import Spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plan import Question


def share_of_each(spend: Spend, questions: Sequence[Question]) -> Spend:
    """What each of several questions may spend: an equal part of ε or ρ, or of μ².

    Guarantee: the shares compose to the spend. ε and ρ add; μ² adds, and that is exact for Gaussian noise, so that a
    batch under (ε, δ) costs no more than one Gaussian release under it [DRS22, Cor. 3.3]. Where keys have to be found,
    ε and δ are split evenly instead.
    """
    count = Fraction(len(questions))
    if spend.is_pure:
        return replace(spend, epsilon=spend.epsilon / count if spend.epsilon is not None else None)
    if spend.rho is not None:
        return replace(spend, rho=spend.rho / count)
    if spend.mu is not None or not any(question.finds_keys for question in questions):
        return Spend(mu=spend.gaussian() / exact.sqrt_up(count), keys=spend.keys)
    assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (the last kind of spend)
    return replace(spend, epsilon=spend.epsilon / count, delta=spend.delta / count)
