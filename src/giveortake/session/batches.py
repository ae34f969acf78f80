"""Batches: questions declared together share one spend."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import exact
from giveortake.compile import Spend
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.compile import Measurement
    from giveortake.session.query import Query
    from giveortake.session.session import Session


def shared(session: Session, queries: Sequence[Query], spend: Spend | None) -> list[tuple[Measurement, Spend]]:
    """Each question with its share: an equal part of ε or ρ, or of μ².

    Guarantee: the shares compose to the spend. ε and ρ add; μ² adds, and that is exact for Gaussian noise, so that a
    batch under (ε, δ) costs no more than one Gaussian release under it [DRS22, Cor. 3.3]. Where keys have to be found,
    ε and δ are split evenly instead.
    """
    if not queries or spend is None:
        raise InvalidParameter(
            "batch", len(queries), "needs questions and a spend", hint='s.batch([q1, q2], epsilon="1")'
        )
    for query in queries:
        if query.session is not session:
            raise InvalidParameter("batch", query, "holds a question to another session or part")
    count = Fraction(len(queries))
    if spend.is_pure:
        each = replace(spend, epsilon=spend.epsilon / count if spend.epsilon is not None else None)
    elif spend.rho is not None:
        each = replace(spend, rho=spend.rho / count)
    elif spend.mu is not None or not any(query.finds_keys for query in queries):
        each = Spend(mu=spend.gaussian() / exact.sqrt_up(count), keys=spend.keys)
    else:
        assert spend.epsilon is not None and spend.delta is not None  # noqa: S101, PT018 (the last kind of spend)
        each = replace(spend, epsilon=spend.epsilon / count, delta=spend.delta / count)
    return [(query.measured(own), own) for query in queries for own in [query.with_keys(each)]]
