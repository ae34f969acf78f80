"""Running totals: one for each currency that a filter adds up, and how they are written down exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.accounting import partitions, prices
from giveortake.accounting.currencies import Currency, Delta, Divergence, Epsilon, Rho, SquaredMu
from giveortake.errors import InvalidParameter
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.accounting.partitions import Parts
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import InPart

JSON: TypeAlias = "str | int | list[JSON] | dict[str, JSON] | None"
Snapshot: TypeAlias = "dict[str, JSON]"

_LONGEST = 1 << 13  # characters of an exact number
_EXACT = re.compile(r"(0|[1-9][0-9]*)/[1-9][0-9]*")
_KINDS: dict[type[Guarantee], str] = {
    PureDP: "PureDP",
    ApproxDP: "ApproxDP",
    ZCDP: "ZCDP",
    GaussianDP: "GaussianDP",
    RenyiDP: "RenyiDP",
}
_NAMED: dict[str, Currency] = {"epsilon": Epsilon(), "rho": Rho(), "squared-mu": SquaredMu(), "delta": Delta()}


@final
@dataclass(frozen=True, slots=True)
class Account:
    """One running total of a filter, to be read: its currency, what is spent, its limit, and the δ its proof costs."""

    currency: Currency
    spent: Fraction
    limit: Fraction
    delta: Fraction
    alive: bool

    @property
    def remaining(self) -> Fraction:
        """How much still fits; 0 once the account is closed."""
        return self.limit - self.spent if self.alive else Fraction(0)


@final
class Total:
    """One running total inside a filter, in grains. It is plain and mutable; the filter's lock guards it."""

    __slots__ = ("alive", "currency", "delta", "limit", "parts", "spent")

    def __init__(
        self, currency: Currency, limit: Fraction, delta: Fraction = Fraction(0), spent: int = 0, alive: bool = True
    ) -> None:
        self.currency = currency
        self.limit = prices.grains_down(limit)
        self.delta = delta
        self.spent = spent
        self.alive = alive
        self.parts: Parts = {}

    def resumed(self, content: Mapping[str, JSON]) -> Total:
        """A copy of this total in the state that a snapshot holds; refused if the total cannot have that state."""
        twin = self.copy()
        twin.spent, twin.alive = prices.grains_down(exact_number(content.get("spent"))), content.get("alive") is True
        twin.parts = partitions.from_json(content["parts"]) if "parts" in content else {}
        if (twin.alive and twin.spent > twin.limit) or twin.written() != content:
            raise InvalidParameter("snapshot", content, "is not a state of this total")
        return twin

    def copy(self) -> Total:
        """An independent total in the same state."""
        twin = Total(self.currency, Fraction(0), self.delta, self.spent, self.alive)
        twin.limit = self.limit
        twin.parts = {partition: dict(sums) for partition, sums in self.parts.items()}
        return twin

    def fits(self, cost: int | None) -> bool:
        """Whether this much more stays within the limit."""
        return self.alive and cost is not None and self.spent + cost <= self.limit

    def enter(self, event: InPart, costs: tuple[int, int]) -> None:
        """Remember which part of a partition was charged; the increase is in `spent` already."""
        self.parts[event.partition, event.touched] = partitions.entered(self.parts, event, costs)

    def account(self) -> Account:
        """This total as an `Account`, in fractions instead of grains."""
        return Account(self.currency, prices.amount(self.spent), prices.amount(self.limit), self.delta, self.alive)

    def state(self) -> tuple[object, ...]:
        """The values by which totals are compared."""
        return self.currency, self.limit, self.delta, self.spent, self.alive, partitions.to_json(self.parts)

    def written(self) -> dict[str, JSON]:
        """This total as snapshots store it, without the limit, which follows from the budget, the currency and δ."""
        kind = next((name for name, currency in _NAMED.items() if currency == self.currency), None)
        content: dict[str, JSON] = {
            "currency": kind or "renyi",
            "delta": exact_text(self.delta),
            "spent": exact_text(prices.amount(self.spent)),
            "alive": self.alive,
        }
        if isinstance(self.currency, Divergence):
            content["order"] = exact_text(self.currency.order)
        if self.parts:
            content["parts"] = [list(each) for each in partitions.to_json(self.parts)]
        return content


def exact_text(number: Fraction) -> str:
    """A fraction as text: "p/q"."""
    return f"{number.numerator}/{number.denominator}"


def exact_number(value: object) -> Fraction:
    """Read a fraction that `exact_text` wrote."""
    if isinstance(value, str) and len(value) <= _LONGEST and _EXACT.fullmatch(value):
        return Fraction(value)
    raise InvalidParameter("snapshot", value, 'is not an exact number "p/q"')


def budget_as_json(budget: Guarantee) -> JSON:
    """Every number of a budget, exactly, whom it protects, and its kind."""
    content: dict[str, JSON] = {
        "kind": _KINDS[type(budget)],
        "unit": budget.unit.column,
        "neighbours": budget.neighbours,
    }
    for name in ("epsilon", "delta", "rho", "mu"):
        value = getattr(budget, name, None)
        if isinstance(value, Fraction):
            content[name] = exact_text(value)
    if isinstance(budget, RenyiDP):
        content["curve"] = [[exact_text(order), exact_text(epsilon)] for order, epsilon in budget.curve]
    return content


def currency_named(content: Mapping[str, JSON]) -> Currency:
    """The currency of a total in a snapshot. δ is refused: only pots are kept in it."""
    kind = content.get("currency")
    if kind == "delta":
        raise InvalidParameter("snapshot", kind, "is not a currency of a total")
    if kind == "renyi":
        order = exact_number(content.get("order"))
        if order <= 1:
            raise InvalidParameter("snapshot", content, "holds an order that is not above 1")
        return Divergence(order)
    if isinstance(kind, str) and kind in _NAMED:
        return _NAMED[kind]
    raise InvalidParameter("snapshot", kind, "is not a currency")


def written_totals(snapshot: Mapping[str, JSON], name: str = "totals") -> list[dict[str, JSON]]:
    """The totals in a snapshot, as JSON."""
    totals = snapshot.get(name) if isinstance(snapshot, dict) else None
    if not isinstance(totals, list):
        raise InvalidParameter("snapshot", totals, f"is not a list of {name}")
    return [content for content in totals if isinstance(content, dict)]
