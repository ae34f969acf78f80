"""The exact integers behind a release, for tests of what engines and measures compute.

This lives in the tests and nowhere else. What it does is to run a measurement with a mechanism that adds nothing,
on tables that the tests made; no session or ledger can be told to use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, final

import numpy.typing as npt
import polars as pl

import giveortake as gt
from evil_tables import DOMAINS, VISITS_DOMAINS, frames
from giveortake.audit.neighbours import Change, Table
from giveortake.compile import Measurement, Spend
from giveortake.configuration import protection_arguments
from giveortake.engines import Engine, Keys
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers, Mechanism
from giveortake.privacy import Unit
from giveortake.privacy.events import Event
from giveortake.session import Session

Counted: TypeAlias = "dict[tuple[Any, ...], int]"

SPEND = Spend(epsilon=Fraction(1), keys=Fraction(1, 10**6))
GAUSSIAN = Spend(mu=Fraction(1), keys=Fraction(1, 10**6))
ZONES = pl.DataFrame(
    {"zone": ["north", "south", "west"], "weight": [2.5, -1.0, 4.0], "part": ["up", "down", "down"], "code": [1, 2, 3]}
)


@final
class Revealing(Mechanism[Any, Any]):
    """No mechanism at all: it gives back what it is handed."""

    citation: ClassVar[str] = "none"

    def event(self, sensitivity: Any = 1) -> Event:
        raise NotImplementedError("nothing that reveals its input has a price")

    def release(self, value: Any, entropy: Any = None) -> Any:
        exactly = value.open(self)
        return exactly.released() if isinstance(exactly, BoundedIntegers) else exactly

    def select(self, value: Sensitive[Any], entropy: Any = None) -> Any:
        return value.open(self)


def exact_integers(made: Measurement, engine: Engine, keys: Keys | None = None) -> tuple[npt.NDArray[Any], ...]:
    """What `Measurement.release` adds noise to, one array for each measure."""
    bare: Any = tuple(Revealing() for _ in made.noises)
    return replace(made, noises=bare, selection=None).release(engine, made.keys if keys is None else keys).arrays


def exact_units(made: Measurement, engine: Engine) -> Counted:
    """What `Measurement.find_keys` adds noise to: every key and its number of units, or their weights."""
    found = [Revealing().release(units) for units in made.units(engine)]
    return {key: count for keys, counts in found for key, count in zip(keys, counts.tolist(), strict=True)}


@final
@dataclass(frozen=True)
class Mode:
    """What is protected, and how contributions are bounded."""

    name: str
    change: Change
    unit: Unit | str
    caps: tuple[tuple[str, int], ...] = ()

    @property
    def by_person(self) -> bool:
        return self.unit != gt.ROW

    @property
    def few_rows(self) -> bool:
        """Whether a person's rows are bounded before any question."""
        return "rows_per_person" in dict(self.caps)

    def session(self, table: Table, placed: Callable[[str, pl.DataFrame], Any] | None = None, **more: Any) -> Session:
        """The table behind a budget that no test exhausts; `placed` puts each of its tables somewhere else first."""
        put = placed or (lambda _, frame: frame)
        domains: dict[str, Any] = {"data": DOMAINS, "visits": VISITS_DOMAINS}
        options: dict[str, Any] = {
            "unit": self.unit,
            "neighbours": self.change,
            "budget": gt.ApproxDP(1000, "1e-3"),
            "public": {"zones": ZONES},
            "threads": 1,
            **dict(self.caps),
            **more,
        }
        if self.by_person:
            sources = {name: put(name, frames(table)[name]) for name in domains}
            return gt.protect(sources, **protection_arguments({"domains": domains, **options}))
        flat = {"domains": DOMAINS, "name": "data", **options}
        return gt.protect(put("data", frames(table)["data"]), **protection_arguments(flat))


CHANGES: tuple[Change, ...] = ("add-remove", "change-one")
MODES = [
    mode
    for change in CHANGES
    for mode in (
        Mode("row", change, gt.ROW),
        Mode("person with caps", change, "p", (("groups_per_person", 2), ("rows_per_group", 3))),
        Mode("person with few rows", change, "p", (("rows_per_person", 5),)),
    )
]
