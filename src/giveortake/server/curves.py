"""The curve of a question: its margins at nine spends, from one call, without reading a row."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.exact import rational, spendable, sqrt_down
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from giveortake.privacy.gaussian import gaussian_mu

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee
    from giveortake.session import Query, Session

POINTS = 9
_DOWN_TO = 100  # the least spend of a curve is this part of the greatest
_CURRENCIES = ("epsilon", "rho", "mu", "share")
_DIGITS = 3
_SLICE = 0.05  # seconds


def curve_of(
    session: Session, query: Query, terms: dict[str, Any], wanted: str | None = None, spends: list[str] | None = None
) -> dict[str, Any]:
    """Nine quotes in the currency of the terms, from a hundredth of the greatest spend up to all of it.

    The greatest spend is what `terms` state, or the whole budget if they state none, in the currency that is `wanted`;
    what is too dear is marked as such, so that it can be shaded. A worker is not taken from others for long: what is
    not quoted after a moment is left, as `spends` to ask for next.
    """
    currency = next((name for name in _CURRENCIES if name in terms), wanted or "epsilon")
    left = _spends(session, currency, terms) if spends is None else spends
    points: list[dict[str, Any]] = []
    sure, spans = "", {}
    until = time.monotonic() + _SLICE
    while left and (not points or time.monotonic() < until):
        spend, *left = left
        quote = query.quote(**{**terms, currency: spend})
        sure, spans = str(quote.confidence), quote.spans
        points.append(
            {
                "spend": spend,
                "words": quote.spend,
                "margins": {name: _finite(each) for name, each in quote.margins.items()},
                "share": None if quote.share is None else float(quote.share),
                "admitted": quote.admitted,
                "worthless": quote.worthless,
            }
        )
    return {"currency": currency, "confidence": sure, "points": points, "spans": spans, "spends": left}


def _spends(session: Session, currency: str, terms: dict[str, Any]) -> list[str]:
    greatest = spendable(currency, terms[currency]) if currency in terms else _whole(session, currency, terms)
    places = (float(greatest) * _DOWN_TO ** (place / (POINTS - 1) - 1) for place in range(POINTS))
    return list(dict.fromkeys(map(_rounded, places)))


def _whole(session: Session, currency: str, terms: dict[str, Any]) -> Fraction:
    """About what the whole budget is in a currency: where a curve ends, and no promise."""
    budget = session.budget
    if currency == "share":
        return Fraction(1)
    if currency == "epsilon" and isinstance(budget, PureDP | ApproxDP):
        return budget.epsilon
    if currency == "epsilon" and "delta" not in terms:
        return session.affordable or Fraction(1)
    mu = _mu(budget)
    if currency == "epsilon":
        return GaussianDP(mu).epsilon_at(rational("delta", terms["delta"]))
    return mu**2 / 2 if currency == "rho" else mu


def _mu(budget: Guarantee) -> Fraction:
    """The μ of Gaussian noise that would use a whole budget up, about."""
    match budget:
        case ApproxDP():
            return gaussian_mu(budget.epsilon, budget.delta)
        case ZCDP():
            return sqrt_down(2 * budget.rho)
        case GaussianDP():
            return budget.mu
    stated = getattr(budget, "epsilon", None)  # of a pure one, in which Gaussian noise has no price
    return stated if isinstance(stated, Fraction) else Fraction(1)


def _rounded(spend: float) -> str:
    """A spend of a few digits, which people can read and say again.

    >>> _rounded(0.0177827941), _rounded(2.0)
    ('0.0178', '2')
    """
    digits = max(_DIGITS - 1 - math.floor(math.log10(spend)), 0)
    return f"{spend:.{digits}f}".rstrip("0").rstrip(".") if digits else str(round(spend))


def _finite(margin: float | str | None) -> float | str | None:
    return None if isinstance(margin, float) and not math.isfinite(margin) else margin
