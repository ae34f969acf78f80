"""Record and replay: the exact integers behind a release, their declared sensitivity, and the scale of their noise.

This lives in the tests and nowhere else. What it does is to run a measurement with a mechanism that adds nothing,
on tables that the tests made; no session or ledger can be told to use it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt
import polars as pl

import giveortake as gt
from evil_tables import (
    DOMAINS,
    VISITS_DOMAINS,
    Change,
    Table,
    neighbour_by_person,
    neighbour_by_row,
    random_table,
)
from giveortake.compile import Caps, Measurement, Spend
from giveortake.compile.design import vectors
from giveortake.compile.partition_selection import NoisyWeights, with_keys
from giveortake.configuration import protection_arguments
from giveortake.engines import Engine, Keys
from giveortake.errors import QueryRefused
from giveortake.mechanisms import Sensitive, WeightedKeys
from giveortake.mechanisms.mechanism import BoundedIntegers, Mechanism
from giveortake.privacy import Unit
from giveortake.privacy.events import Event
from giveortake.session import Session
from inside import engine_of, measured

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


def measurements(session: Session, shapes: dict[str, str]) -> dict[str, Measurement]:
    """Every shape by Laplace noise; those whose keys are found also by weights, of which those of two keys count.

    Quantiles also by the matrix that they have with Gaussian noise.
    """
    made = {name: measured(session, text, SPEND) for name, text in shapes.items()}
    for name, each in list(made.items()):
        if each.selection is not None:
            weighted = measured(session, shapes[name], GAUSSIAN)
            assert isinstance(weighted.selection, NoisyWeights)
            made[f"{name}, by weights"] = replace(weighted, selection=of_two_keys(weighted.selection))
        elif any(measure.sections is not None for measure in each.measures):
            made[f"{name}, through the square root"] = measured(session, shapes[name], GAUSSIAN)
    return made


def of_two_keys(selection: NoisyWeights) -> NoisyWeights:
    """The same with a degree that persons of small tables exceed."""
    if selection.touched == 1:
        return selection
    mechanism = WeightedKeys(selection.mechanism.sigma, selection.mechanism.threshold, selection.mechanism.length, 2)
    return replace(selection, mechanism=mechanism, touched=2)


def weighed(made: Measurement) -> tuple[int, ...]:
    """What one unit may give at most to each of 1, 2, … keys that it has alone."""
    assert made.selection is not None
    asked = made.selection.question(made.question.relation, made.keys)
    return asked.weights or (1,) * asked.groups


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
    def asks_caps(self) -> bool:
        """Whether the custodian states no caps, so that each question has its own."""
        return self.by_person and not self.caps

    @property
    def few_rows(self) -> bool:
        """Whether a person's rows are bounded before any question, or can be."""
        return "rows_per_person" in dict(self.caps) or self.asks_caps

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
            sources = {name: put(name, frame) for name, frame in table.sources().items()}
            return gt.protect(sources, **protection_arguments({"domains": domains, **options}))
        flat = {"domains": DOMAINS, "name": "data", **options}
        return gt.protect(put("data", table.data()), **protection_arguments(flat))

    def neighbour(self, luck: random.Random, table: Table) -> Table:
        make = neighbour_by_person if self.by_person else neighbour_by_row
        return make(luck, table, self.change)


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


ASKED = [Mode("person with caps of each question", change, "p") for change in CHANGES]


def random_caps(luck: random.Random) -> Caps:
    """Any caps: of all rows, in every table or in some, of groups, of rows in a group, and of several of these."""
    of_tables: list[Any] = [None, 1, 4, {"data": 3}, {"visits": 2}, {"data": 6, "visits": 1}, {"data": 1, "visits": 7}]
    return Caps(luck.choice([None, 1, 2, 5]), luck.choice([None, 1, 3, 4]), luck.choice(of_tables))


def measured_with_random_caps(session: Session, text: str, luck: random.Random) -> Measurement:
    """A question under the first random caps that bound it."""
    while True:
        with suppress(QueryRefused):
            return measured(session, text, SPEND, random_caps(luck))


@final
@dataclass
class Replay:
    """What was seen on pairs of neighbouring tables: violations, and how near a measure came to its sensitivity."""

    mode: Mode
    violations: list[str]
    nearest: dict[str, float]

    def run(self, shapes: dict[str, str], tables: int, neighbours: int, seed: object) -> Replay:
        """Random tables, each beside several neighbours; of every two neighbours each question is asked of one."""
        luck = random.Random(f"{self.mode} {seed}")  # noqa: S311 (which tables are tried need not be secret)
        made: dict[str, Measurement] = {}
        deck: list[str] = []
        for _ in range(tables):
            table = random_table(luck)
            with self.mode.session(table) as one:
                if self.mode.asks_caps:
                    made = {name: measured_with_random_caps(one, text, luck) for name, text in shapes.items()}
                made = made or measurements(one, shapes)
                for _ in range(neighbours):
                    deck = deck or luck.sample(sorted(made), len(made))
                    half = (len(made) + 1) // 2
                    names, deck = deck[:half], deck[half:]
                    with self.mode.session(self.mode.neighbour(luck, table)) as two:
                        for name in names:
                            self._compare(name, made[name], engine_of(one), engine_of(two), luck)
        return self

    def _compare(self, name: str, made: Measurement, one: Engine, two: Engine, luck: random.Random) -> None:
        keys = None
        if made.selection is not None:
            found, others = exact_units(made, one), exact_units(made, two)
            self._compare_units(name, made, found, others)
            every = sorted({*found, *others}, key=repr)
            keys = with_keys(made, [key for key in every if luck.random() < 0.8])
        before, after = exact_integers(made, one, keys), exact_integers(made, two, keys)
        self._compare_vectors(name, made, before, after)
        for measure, left, right in zip(made.measures, before, after, strict=True):
            if left.shape != right.shape:
                self.violations.append(f"{name}: the shape changed")
            for change in _sections(measure.sections, left, right):
                l1 = sum(map(abs, change))
                square = sum(each * each for each in change)
                self._note(name, measure.kind, Fraction(l1) / measure.l1)
                if l1 > measure.l1 or square > measure.l2**2:
                    self.violations.append(
                        f"{name}: {measure.name} moved by {l1} (declared {measure.l1}), "
                        f"in L2 by {math.sqrt(square)} (declared {float(measure.l2)})"
                    )

    def _compare_vectors(
        self, name: str, made: Measurement, before: tuple[npt.NDArray[Any], ...], after: tuple[npt.NDArray[Any], ...]
    ) -> None:
        """Measures that are released together move by at most one, each in units of its own sensitivity."""
        for vector in vectors(made.measures):
            l1 = square = Fraction(0)
            for place in vector if len(vector) > 1 else ():
                measure = made.measures[place]
                change = (int(a) - int(b) for a, b in zip(before[place].tolist(), after[place].tolist(), strict=True))
                moved = [abs(each) for each in change]
                l1 += sum(moved) / measure.l1
                square += sum(each * each for each in moved) / measure.l2**2
            self._note(name, "vector", l1)
            if l1 > 1 or square > 1:
                self.violations.append(f"{name}: a vector moved by {float(l1)}, in L2 by {math.sqrt(square)}")

    def _compare_units(self, name: str, made: Measurement, found: Counted, others: Counted) -> None:
        selection = made.selection
        assert selection is not None
        moved = [abs(found.get(key, 0) - others.get(key, 0)) for key in {*found, *others}]
        squares = {"l1": sum(moved) ** 2, "l2": sum(each**2 for each in moved), "greatest": max(moved, default=0) ** 2}
        for what, most, norm in selection.moves():
            self._note(name, f"keys, {norm}", squares[norm] / most**2)
            if squares[norm] > most**2:
                size = math.sqrt(squares[norm])
                self.violations.append(f"{name}: {what} moved by {size} in {norm} (declared {float(most)})")
        for one, other in ((found, others), (others, found)):
            lone = [count for key, count in one.items() if key not in other]
            if len(lone) > selection.touched:
                self.violations.append(f"{name}: {len(lone)} keys of one unit alone, declared {selection.touched}")
            elif lone and max(lone) > (weighed(made)[len(lone) - 1]):
                self.violations.append(f"{name}: {len(lone)} keys of one unit alone, of up to {max(lone)} each")

    def _note(self, name: str, kind: str, share: Fraction) -> None:
        label = f"{name}/{kind}"
        self.nearest[label] = max(self.nearest.get(label, 0.0), float(share))


def replay(mode: Mode, shapes: dict[str, str], *, tables: int, neighbours: int, seed: object = 0) -> Replay:
    """Every shape on random pairs of neighbours."""
    return Replay(mode, [], {}).run(shapes, tables, neighbours, seed)


def _sections(sections: tuple[int, ...] | None, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> list[list[int]]:
    """The change as Python integers, section by section where there are several."""
    if sections is None:
        return [[int(b) - int(a) for a, b in zip(left.tolist(), right.tolist(), strict=True)]]
    change = right.astype(np.int64) - left.astype(np.int64)
    ends = np.cumsum([0, *sections])
    assert ends[-1] == change.shape[1]
    return [change[:, start:end].ravel().tolist() for start, end in pairwise(ends)]
