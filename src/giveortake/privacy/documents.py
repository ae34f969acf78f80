"""Promises as JSON and back, exactly."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.privacy.approximate import ApproxDP
from giveortake.privacy.concentrated import ZCDP
from giveortake.privacy.gaussian import GaussianDP
from giveortake.privacy.guarantee import Unit
from giveortake.privacy.pure import PureDP
from giveortake.privacy.renyi import RenyiDP

if TYPE_CHECKING:
    from giveortake.privacy.guarantee import Guarantee

KINDS: dict[str, type[Guarantee]] = {
    "pure": PureDP,
    "approx": ApproxDP,
    "zcdp": ZCDP,
    "gaussian": GaussianDP,
    "renyi": RenyiDP,
}
_FRACTION = re.compile(r"-?[0-9]+/[0-9]+")
_NUMBERS = {"pure": ["epsilon"], "approx": ["epsilon", "delta"], "zcdp": ["rho"], "gaussian": ["mu"]}


def promise_to_json(promise: Guarantee) -> dict[str, Any]:
    """Everything about a promise as text; fractions are written "p/q"."""
    for kind, promise_type in KINDS.items():
        if type(promise) is promise_type:
            numbers: dict[str, Any] = {name: written(getattr(promise, name)) for name in _NUMBERS.get(kind, ())}
            if isinstance(promise, RenyiDP):
                numbers = {"curve": [[written(order), written(epsilon)] for order, epsilon in promise.curve]}
            return {"promise": kind, **numbers, "unit": promise.unit.column, "neighbours": promise.neighbours}
    raise InvalidParameter("budget", promise, "is not a promise that a budget can be kept in")


def promise_from_json(content: dict[str, Any]) -> Guarantee:
    """The promise that `promise_to_json` wrote."""
    kind = content["promise"]
    if kind not in KINDS:
        raise InvalidParameter("promise", kind, "is of a kind that is unknown here", hint="upgrade giveortake")
    terms: Any = {"unit": Unit(content["unit"]), "neighbours": content["neighbours"]}
    if kind == "renyi":
        return RenyiDP([(fraction(order), fraction(epsilon)) for order, epsilon in content["curve"]], **terms)
    numbers = [fraction(content[name]) for name in _NUMBERS[kind]]
    return KINDS[kind](*numbers, **terms)


def written(number: Fraction) -> str:
    """A fraction as "p/q"."""
    return f"{number.numerator}/{number.denominator}"


def fraction(text: str) -> Fraction:
    """Read a fraction that `written` wrote. Anything else is refused: an exponent could make a huge number."""
    if not _FRACTION.fullmatch(text):
        raise InvalidParameter("promise", text, "holds a number that is not written as p/q")
    return Fraction(text)
