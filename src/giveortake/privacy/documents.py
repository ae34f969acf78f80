"""Promises as JSON and back, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.exact import fraction_text, read_fraction
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
_NUMBERS = {"pure": ["epsilon"], "approx": ["epsilon", "delta"], "zcdp": ["rho"], "gaussian": ["mu"]}


def promise_to_json(promise: Guarantee) -> dict[str, Any]:
    """Everything about a promise as text; fractions are written "p/q"."""
    for kind, promise_type in KINDS.items():
        if type(promise) is promise_type:
            numbers: dict[str, Any] = {name: fraction_text(getattr(promise, name)) for name in _NUMBERS.get(kind, ())}
            if isinstance(promise, RenyiDP):
                numbers = {"curve": [list(map(fraction_text, point)) for point in promise.curve]}
            return {"promise": kind, **numbers, "unit": promise.unit.column, "neighbours": promise.neighbours}
    raise InvalidParameter("budget", promise, "is not a promise that a budget can be kept in")


def promise_from_json(content: dict[str, Any]) -> Guarantee:
    """The promise that `promise_to_json` wrote."""
    kind = content["promise"]
    if kind not in KINDS:
        raise InvalidParameter("promise", kind, "is of a kind that is unknown here", hint="upgrade giveortake")
    terms: Any = {"unit": Unit(content["unit"]), "neighbours": content["neighbours"]}
    if kind == "renyi":
        curve = [[read_fraction("promise", number) for number in point] for point in content["curve"]]
        return RenyiDP([(order, epsilon) for order, epsilon in curve], **terms)
    numbers = [read_fraction("promise", content[name]) for name in _NUMBERS[kind]]
    return KINDS[kind](*numbers, **terms)
