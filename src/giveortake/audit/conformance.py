"""The harness: every kind of request, on neighbouring tables and on several engines, in coupled runs.

A *case* is a name, the stored tag of its kind, and a function that buys something of a session. It is run on two tables
that were made up: neighbours, or the same table in two engines. Then

- what the mechanisms lose between the two tables is within what the ledger was charged, and what steps lose within what
  they were admitted as; for the same table it is nothing;
- answers, quotes, refusals, ledger entries, steps, and calls of the engine are equal in every word.

Guarantee: whatever is unequal is a violation, because the two runs have the same released numbers (`coupling`). Finding
none proves nothing. Only sessions that a `Declaration` made of generated rows, in memory, are compared.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import random
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import codec
from giveortake.answers import Answer, Column
from giveortake.audit.coupling import Loss, Trace, charged, coupled
from giveortake.audit.neighbours import Table, neighbour_by_person, neighbour_by_row, random_table
from giveortake.errors import GiveOrTakeError, InvalidParameter, QueryFailed
from giveortake.privacy import ROW, ApproxDP, Unit
from giveortake.privacy.events import Event
from giveortake.session import Session, protect
from giveortake.session.quotes import Quote
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from giveortake.audit.neighbours import Row
    from giveortake.privacy.guarantee import Neighbours

    Placed: TypeAlias = Callable[[str, Sequence[Row]], Any]
    Terms: TypeAlias = Mapping[str, Any]
    Purchase: TypeAlias = Callable[[Session, Terms], Iterator[Any]]


_DAY = dt.date(2024, 1, 1)
KINDS: dict[str, dict[str, Any]] = {
    "data": {
        "p": "integer",
        "x": "float",
        "y": "float",
        "i": "integer",
        "w": "integer",
        "r": "text",
        "n": "text",
        "q": "text",
        "b": "truth",
        "d": "date",
        "e": "date",
        "t": "time",
        "c": "hundredths",
    },
    "visits": {"p": "integer", "k": "text", "v": "float"},
}
DOMAINS: dict[str, dict[str, Any]] = {
    "data": {
        "x": (-3, 7),
        "y": {"bounds": (10, 12), "nullable": False},
        "i": (-5, 300),
        "r": ["north", "south", "øst"],
        "n": ["a", "b", None],
        "e": (_DAY, dt.date(2024, 1, 5)),
        "c": (0, 100),
    },
    "visits": {"k": ["u", "v"], "v": (0, 5)},
}
ZONES = Answer(
    [
        Column("zone", ["north", "south", "west"]),
        Column("weight", [2.5, -1.0, 4.0]),
        Column("part", ["up", "down", "down"]),
        Column("code", [1, 2, 3]),
    ]
)
SPENDS: dict[str, dict[str, Any]] = {
    "ε": {"epsilon": 1},
    "(ε, δ)": {"epsilon": 1, "delta": "1e-6"},
    "ρ": {"rho": "1/8"},
    "μ": {"mu": "3/4"},
    "share": {"share": "1/1000"},
}
_WITH_CAPS = {"query", "batch", "refinement", "workload", "counter"}  # kinds whose terms may be caps
_VOLATILE = {"fingerprint", "under_pad"}  # depend on a secret of the ledger, which is drawn when it is made
_LEAST_PADDED = 2**128  # a number under a pad of 256 bits is less once in 2¹²⁸ times
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # of which there may be two


def here(name: str, rows: Sequence[Row]) -> Answer:
    """Rows as columns of stated kinds, in memory; dates that Python has not are missing."""
    kinds = KINDS[name]
    readers: dict[str, Callable[[int], Any]] = {"date": _date, "time": _moment, "hundredths": lambda cell: cell / 100}
    columns: list[Column] = []
    for column, kind in kinds.items():
        cells = [row[column] for row in rows]
        if kind in readers:
            cells = [None if cell is None else readers[kind](cell) for cell in cells]
        columns.append(Column(column, cells, kind="float" if kind == "hundredths" else kind))
    return Answer(columns)


def _date(days: int) -> dt.date | None:
    ordinal = dt.date(1970, 1, 1).toordinal() + days
    return dt.date.fromordinal(ordinal) if 1 <= ordinal <= dt.date.max.toordinal() else None


def _moment(milliseconds: int) -> dt.datetime | None:
    try:
        return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


@final
@dataclass(frozen=True, slots=True)
class Declaration:
    """What a custodian declares of the generated tables: the unit, the neighbours, and bounds of contributions."""

    unit: Unit | str
    neighbours: Neighbours
    caps: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[str, ...] = ("data", "visits")

    @property
    def by_person(self) -> bool:
        """Whether persons are protected rather than rows."""
        return self.unit != ROW

    def session(self, table: Table, place: Placed = here, **options: Any) -> Session:
        """A session in memory, behind a budget that no case exhausts. `place` puts generated rows in an engine."""
        if not isinstance(table, Table):
            raise InvalidParameter("table", type(table).__name__, "is not a generated table")
        rows = {"data": table.rows, "visits": table.visits}
        stated: dict[str, Any] = {
            "unit": self.unit,
            "budget": ApproxDP(10**4, "0.01", neighbours=self.neighbours),
            "public": {"zones": ZONES},
            "engine": {"memory": "200MB", "threads": 1},
            "trusted": {"far@1": _far},
            "domains": {name: DOMAINS[name] for name in self.tables},
            "caps": dict(self.caps),
        }
        return protect({name: place(name, rows[name]) for name in self.tables}, **{**stated, **options})

    def stated_caps(self, turn: int) -> dict[str, Any]:
        """The caps that a request states: some where the custodian states none."""
        return STATED_CAPS[turn % len(STATED_CAPS)] if self.by_person and not self.caps else {}

    def neighbour(self, dice: random.Random, table: Table) -> Table:
        """A neighbour of a table."""
        make = neighbour_by_person if self.by_person else neighbour_by_row
        return make(dice, table, self.neighbours)


def _far(_: Any, rows: Any) -> Any:
    """Code of a custodian that adds up what no clipping was meant for."""
    return rows.x.sum(axis=0) * 1e300


def _declarations() -> dict[str, Declaration]:
    declarations: dict[str, Declaration] = {}
    changes: tuple[Neighbours, ...] = ("add-remove", "change-one")
    for change in changes:
        declarations |= {
            f"rows, {change}": Declaration(ROW, change, tables=("data",)),
            f"persons, {change}": Declaration("p", change, {"groups_per_person": 2, "rows_per_group": 3}),
            f"few rows, {change}": Declaration("p", change, {"rows_per_person": 5}, ("data",)),
            f"few rows of two tables, {change}": Declaration("p", change, {"rows_per_person": 5}),
            f"caps of each request, {change}": Declaration("p", change),
        }
    return declarations


DECLARATIONS: Mapping[str, Declaration] = _declarations()
STATED_CAPS: tuple[dict[str, Any], ...] = (  # in turn, where the custodian states none
    {"rows_per_person": 4},
    {"groups_per_person": 2, "rows_per_group": 3},
    {"groups_per_person": 2, "rows_per_person": 4},
    {"rows_per_person": {"data": 3, "visits": 2}},
    {"rows_per_person": {"data": 6, "visits": 1}, "rows_per_group": 3, "groups_per_person": 5},
    {"rows_per_person": 4, "rows_per_group": 1},
)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """Something that can be bought: its name, the stored tag of its kind, and how it is bought of a session.

    `purchase` yields quotes and answers, in order. `spends` are currencies to try, all unless stated.
    """

    name: str
    kind: str
    purchase: Purchase
    spends: tuple[str, ...] = tuple(SPENDS)
    caps: Mapping[str, Any] = field(default_factory=dict)

    def run(self, session: Session, spend: str) -> list[Any]:
        """What is shown of a purchase; a refusal or an error is the last of it."""
        shown: list[Any] = []
        try:
            for outcome in self.purchase(session, {**SPENDS[spend], **self.caps}):
                if isinstance(outcome, Quote):
                    assert outcome.kind == self.kind, f"{self.name} is a {outcome.kind}"  # noqa: S101 (a wrong tag)
                shown.append(plain(outcome))
        except QueryFailed as failed:
            shown.append(("failed", failed.cause, str(failed)))
        except GiveOrTakeError as refusal:
            shown.append(("refused", type(refusal).__name__, str(refusal)))
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it raises is what the asker sees)
            refused = isinstance(error, TypeError) and "keyword argument" in str(error)  # terms it does not take
            shown.append(("refused" if refused else "raised", type(error).__name__, str(error)))
        return shown


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """A case on two tables: what was wrong, and how much of the charge was lost."""

    case: Case
    spend: str
    violations: tuple[str, ...]
    used: float
    draws: int
    answered: bool


def compare(case: Case, spend: str, one: Session, two: Session, *, same: bool = False) -> Comparison:
    """Buy the same of two sessions in coupled runs. With `same` it is one table in two engines: nothing is lost."""
    first, shown, entries = _run(case, spend, one)
    second, also_shown, other_entries = _run(case, spend, two, first)
    violations = first.differences(second)
    if shown != also_shown:
        violations.append(f"shown is {_first_difference(shown, also_shown)}")
    if not same and plain(entries) != plain(other_entries):  # the same table in two engines has two fingerprints
        violations.append(f"in the ledger is {_first_difference(plain(entries), plain(other_entries))}")
    steps = [content["drawn"] for kind, content in entries if kind == "drawn"]
    if any(int(step.get("under_pad", _LEAST_PADDED)) < _LEAST_PADDED for step in steps):
        violations.append("an exact number is stored without a pad")
    used = 0.0
    if not violations:
        try:
            lost = first.loss(second)
        except (ValueError, TypeError, AssertionError) as error:
            violations.append(str(error))
        else:
            used = max(lost.used(paid) for paid in ([Loss()] if same else _payments(entries)))
            if used > 1:
                violations.append(f"loses {used:.4g} times what is charged")
    answered = not isinstance(shown[-1], tuple)
    if not answered and shown[-1][0] != "refused":
        violations.append(f"{shown[-1][0]}: {shown[-1][1]}")
    return Comparison(case, spend, tuple(violations), used, len(first.draws), answered)


def _payments(entries: Iterable[tuple[str, Any]]) -> list[Loss]:
    """What was charged; and, where all that was drawn was drawn in steps, what these were admitted as, in ρ."""
    reserved = [content for kind, content in entries if kind == "reserved"]
    steps = [content for kind, content in entries if kind == "drawn" and "event" in content["drawn"]]
    payments = [_charged(content["event"] for content in reserved)]
    if steps and len({step["reservation"] for step in steps}) == len(reserved):
        payments.append(_charged(step["drawn"]["event"] for step in steps).in_rho())
    return payments


def _charged(events: Iterable[Any]) -> Loss:
    return sum((charged(codec.read(Event, event)) for event in events if event is not None), Loss())


def _run(case: Case, spend: str, session: Session, first: Trace | None = None) -> tuple[Trace, list[Any], list[Any]]:
    mechanism = mechanism_of(session)
    if session.describe().durable:
        raise GiveOrTakeError("a durable ledger is never audited: what is compared runs on generated tables only")
    before = len(mechanism.ledger.history())
    with coupled(mechanism.engine, first) as trace:
        shown = case.run(session, spend)
    entries = [  # without checkpoints, which repeat what was spent and depend on the ledger's secret
        (entry.kind, entry.content) for entry in mechanism.ledger.history()[before:] if entry.kind != "checkpoint"
    ]
    return trace, shown, entries


def _first_difference(one: Any, other: Any, path: str = "") -> str:
    """Where two documents differ first."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            if one.get(name) != other.get(name):
                return _first_difference(one.get(name), other.get(name), f"{path}.{name}")
    if isinstance(one, list) and isinstance(other, list):
        for index, (left, right) in enumerate(itertools.zip_longest(one, other)):
            if left != right:
                return _first_difference(left, right, f"{path}[{index}]")
    return f"{str(one)[:200]!r} on one table and {str(other)[:200]!r} on the other, at {path or 'all'}"


def plain(outcome: Any) -> Any:
    """A quote, an answer, a model or an entry as JSON, without names that are drawn anew for every ledger."""
    match outcome:
        case float() | np.floating():
            return float(outcome) if math.isfinite(outcome) else str(outcome)
        case dict():
            return {str(key): plain(inner) for key, inner in outcome.items() if key not in _VOLATILE}
        case np.ndarray():
            return plain(outcome.tolist())
        case list() | tuple():
            return [plain(inner) for inner in outcome]
        case str():
            return _MINUTE.sub("today", outcome)
        case int() | bool() | None:
            return outcome
        case Fraction() | dt.date():
            return str(outcome)
    for form in ("to_json", "to_dict"):
        if callable(getattr(outcome, form, None)):
            document = getattr(outcome, form)()
            return plain(json.loads(document) if isinstance(document, str) else document)
    if not type(outcome).__module__.startswith("giveortake"):
        return repr(outcome)
    names = [name for name in dir(outcome) if not name.startswith("_") and name not in _VOLATILE]
    return {name: plain(getattr(outcome, name)) for name in names if not callable(getattr(outcome, name))}


@final
@dataclass(slots=True)
class Report:
    """Every comparison, counted by kind and engine, and the violations. No violation proves nothing."""

    violations: list[str] = field(default_factory=list)
    compared: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and engine, as what follows
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)  # alike on both tables
    draws: Counter[tuple[str, str]] = field(default_factory=Counter)
    nearest: dict[str, float] = field(default_factory=dict)  # by case: the greatest part of a charge that was lost

    def __bool__(self) -> bool:
        return not self.violations

    def add(self, where: str, comparison: Comparison, engine: str = "duckdb") -> None:
        """Count a comparison."""
        case = comparison.case
        cell = case.kind, engine
        self.compared[cell] += 1
        self.refused[cell] += not comparison.answered
        self.draws[cell] += comparison.draws
        self.nearest[case.name] = max(self.nearest.get(case.name, 0.0), comparison.used)
        about = f"{case.name} ({comparison.spend}, {where}, {engine})"
        self.violations += [f"{about}: {violation}" for violation in comparison.violations]

    def merge(self, other: Report) -> None:
        """Count all comparisons of another report."""
        self.violations += other.violations
        for name in ("compared", "refused", "draws"):
            getattr(self, name).update(getattr(other, name))
        self.nearest = {
            name: max(self.nearest.get(name, 0.0), other.nearest.get(name, 0.0))
            for name in {**self.nearest, **other.nearest}
        }

    @property
    def lines(self) -> list[tuple[str, str, int, int, int]]:
        """For each kind and engine: the number of comparisons, of those that were refused alike, and of draws."""
        return [(*cell, self.compared[cell], self.refused[cell], self.draws[cell]) for cell in sorted(self.compared)]

    def __str__(self) -> str:
        counted = [
            f"{kind:<12} {engine:<12} {compared:>6,} comparisons, {refused:,} refused alike, {draws:,} draws"
            for kind, engine, compared, refused, draws in self.lines
        ]
        listed = [f"  {violation}" for violation in self.violations[:10]]
        return "\n".join([*counted, f"{len(self.violations)} violations", *listed])

    __repr__ = __str__


def conform(
    cases: Iterable[Case],
    declarations: Mapping[str, Declaration] = DECLARATIONS,
    *,
    tables: int = 1,
    neighbours: int = 1,
    seed: object = 0,
    every: int = 1,
    place: Placed = here,
    engine: str = "duckdb",
) -> Report:
    """Every case on generated neighbouring tables, under every declaration; of all currencies, every `every`-th.

    `place` puts generated rows where an engine finds them, and `engine` is what the report calls it.
    """
    listed, report = list(cases), Report()
    first = random.Random(f"{list(declarations)} {seed}").randrange(every)  # noqa: S311 (it need not be secret)
    turn, caps = itertools.count(first), itertools.count(first)
    for name, declaration in declarations.items():
        dice = random.Random(f"{name} {seed}")  # noqa: S311 (which tables are tried need not be secret)
        for _ in range(tables):
            table = random_table(dice)
            while not table.rows and not declaration.by_person and declaration.neighbours == "change-one":
                table = random_table(dice)  # an empty table has no neighbour then
            for _ in range(neighbours):
                with ExitStack() as stack:
                    pair = table, declaration.neighbour(dice, table)
                    one, two = (stack.enter_context(declaration.session(side, place)) for side in pair)
                    for case in listed:
                        for spend in case.spends:
                            if next(turn) % every:
                                continue
                            stated = declaration.stated_caps(next(caps)) if case.kind in _WITH_CAPS else {}
                            bought = replace(case, caps={**stated, **case.caps})
                            report.add(name, compare(bought, spend, one, two), engine)
    return report
