"""What a form of the console spends: ε, ε with δ, ρ or μ, as far as the budget admits them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.exact import shown
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.documents import promise_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

CURRENCIES = {"epsilon": "ε", "approximate": "ε", "rho": "ρ", "mu": "μ"}  # and the sign of each
NAMES = {"epsilon": "ε", "approximate": "ε and δ", "rho": "ρ", "mu": "μ"}
_TERMS = {"epsilon": "epsilon", "approximate": "epsilon", "rho": "rho", "mu": "mu"}
_USUAL_DELTA = "1e-9"


def offered(promise: Mapping[str, Any] | None) -> dict[str, str]:
    """The currencies that a budget has prices for: Gaussian noise, which keeps all but a pure ε, has no pure price."""
    pure = promise is None or isinstance(promise_from_json(dict(promise)), PureDP)
    return {"epsilon": NAMES["epsilon"]} if pure else dict(NAMES)


def usual_delta(promise: Mapping[str, Any] | None) -> str:
    """A δ for one question: a hundredth of the budget's, if it has one."""
    found = None if promise is None else promise_from_json(dict(promise))
    return shown(found.delta / 100) if isinstance(found, ApproxDP) else _USUAL_DELTA


def terms_of(currency: str, spend: str, delta: str) -> dict[str, str]:
    """The spend in the words of `q.answer`."""
    said = {_TERMS[currency]: spend}
    return said | ({"delta": delta} if currency == "approximate" else {})


def currency_of(spend: Mapping[str, Any]) -> str:
    """The currency in which something was spent.

    >>> currency_of({"epsilon": "1/10", "delta": "1/1000000"}), currency_of({"mu": "1"})
    ('approximate', 'mu')
    """
    for name in ("rho", "mu"):
        if spend.get(name) is not None:
            return name
    return "epsilon" if spend.get("delta") is None else "approximate"


def converted(spend: str, before: str, now: str) -> str:
    """About the same noise in another currency: a first proposal, which the quote then prices.

    >>> converted("0.2", "epsilon", "rho"), converted("0.02", "rho", "mu"), converted("x", "mu", "rho")
    ('0.02', '0.2', 'x')
    """
    try:
        amount = float(Fraction(spend))
    except (ValueError, ZeroDivisionError, OverflowError):
        return spend
    if not 0 < amount < math.inf or (before == "rho") == (now == "rho"):
        return spend
    return f"{amount**2 / 2 if now == 'rho' else math.sqrt(2 * amount):.3g}"


def halving(spend: str, currency: str) -> str | None:
    """The spend that about halves every interval, in words; None if the spend is no number.

    >>> halving("0.25", "epsilon"), halving("0.01", "rho"), halving("", "mu")
    ('ε = 0.5', 'ρ = 0.04', None)
    """
    try:
        amount = Fraction(spend)
    except (ValueError, ZeroDivisionError):
        return None
    return f"{CURRENCIES[currency]} = {shown((4 if currency == 'rho' else 2) * amount, 4)}"
