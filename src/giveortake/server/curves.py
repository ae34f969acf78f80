"""The curve of a question: how wide its intervals would be at nine spends, from one call, without a row."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.exact import rational

if TYPE_CHECKING:
    from giveortake.session import Query, Session

POINTS = 9
_DOWN_TO = 100  # the least spend of a curve is this part of the greatest
_CURRENCIES = ("epsilon", "rho", "mu", "share")
_DIGITS = 3


def curve_of(session: Session, query: Query, terms: dict[str, Any]) -> dict[str, Any]:
    """Nine quotes in the currency of the terms, from a hundredth of a whole budget up to all of it.

    The greatest spend is what `terms` state, or the whole budget if they state none; what is too dear is told as such,
    so that it can be shaded.
    """
    currency = next((name for name in _CURRENCIES if name in terms), "epsilon")
    greatest = rational(currency, terms[currency]) if currency in terms else _whole(session)
    points, sure = [], ""
    for place in range(POINTS):
        spend = _rounded(float(greatest) * _DOWN_TO ** (place / (POINTS - 1) - 1))
        quote = query.quote(**{**terms, currency: spend})
        sure = str(quote.confidence)
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
    return {"currency": currency, "confidence": sure, "points": points}


def _whole(session: Session) -> Fraction:
    """The ε of the whole budget; where it is stated otherwise, the greatest pure ε that fits now."""
    stated = getattr(session.budget, "epsilon", None)
    if isinstance(stated, Fraction):
        return stated
    return session.affordable or Fraction(1)


def _rounded(spend: float) -> str:
    """A spend of a few digits, which people can read and say again.

    >>> _rounded(0.0177827941), _rounded(2.0)
    ('0.0178', '2')
    """
    digits = max(_DIGITS - 1 - math.floor(math.log10(spend)), 0)
    return f"{spend:.{digits}f}".rstrip("0").rstrip(".") if digits else str(round(spend))


def _finite(margin: float | str | None) -> float | str | None:
    return None if isinstance(margin, float) and not math.isfinite(margin) else margin
