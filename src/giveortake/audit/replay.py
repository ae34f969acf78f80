"""Replay on neighbouring tables: aggregates before noise against declared sensitivities, and what else is visible.

- Random neighbouring tables, full of values that break programs.
- What a pipeline computes before the noise on them, compared with the sensitivity that it declares.
- What anybody who asks can see besides the noisy answer: status, text, charge and shape must not depend on rows.

Nothing here can be pointed at live data: the factory gets tables that were made up here (or by a generator that the
auditor brings) and must make a new subject from each. A subject that says it is durable is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final

import numpy as np

from giveortake.errors import GiveOrTakeError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]

_NASTY = (0.0, -0.0, 0.5, 1.5, -1.0, 1e16, 1.0, -1e16, 2.0**53 + 2, 1e300, -1e300, math.inf, -math.inf, math.nan, None)
_KEYS = ("a", "b", "", "Ünïcode", None)


@final
@dataclass(frozen=True, slots=True)
class NeighbouringTables:
    """Two tables that differ in one person, or only in the order of their rows."""

    x: Rows
    y: Rows
    kind: str

    @property
    def equal(self) -> bool:
        """Whether the two hold the same rows."""
        return self.kind == "the same rows in another order"


def random_neighbours(
    count: int, *, seed: int = 0, columns: Mapping[str, Sequence[Any]] | None = None
) -> Iterator[NeighbouringTables]:
    """Tables of persons with up to four rows each: `user_id`, `group` and `value`, or the columns given.

    `columns` maps names of columns to values to choose from. Generated data are no secret: the seed makes them
    the same in every run.
    """
    dice = np.random.default_rng(seed)
    pools = {"group": _KEYS, "value": _NASTY} if columns is None else columns
    for index in range(count):
        persons = [_rows(dice, person, pools) for person in range(int(dice.integers(1, 8)))]
        rows = [row for person in persons for row in person]
        match index % 3:
            case 0:
                smaller = [row for person in persons[:-1] for row in person]
                yield NeighbouringTables(_shuffled(dice, rows), _shuffled(dice, smaller), "one person more")
            case 1:
                changed = [row for person in persons[:-1] for row in person]
                changed += _rows(dice, len(persons) - 1, pools)
                yield NeighbouringTables(_shuffled(dice, rows), _shuffled(dice, changed), "one person changed")
            case _:
                yield NeighbouringTables(rows, _shuffled(dice, rows), "the same rows in another order")


def _rows(dice: np.random.Generator, person: int, pools: Mapping[str, Sequence[Any]]) -> Rows:
    count = int(dice.integers(1, 5))
    return [
        {"user_id": person} | {name: pool[int(dice.integers(len(pool)))] for name, pool in pools.items()}
        for _ in range(count)
    ]


def _shuffled(dice: np.random.Generator, rows: Rows) -> Rows:
    return [rows[index] for index in dice.permutation(len(rows))]


_TABLES = 200
_MOST_KEPT = 100


@final
@dataclass(frozen=True, slots=True)
class Recorded:
    """One aggregate before its noise: the exact value, the sensitivity declared for it, and the noise's scale.

    The exact value is a number, a vector, or a table of numbers by key; a key that is missing counts as zero.
    """

    exact: Any
    sensitivity: Any
    scale: Any
    name: str = "aggregate"
    norm: Literal["l1", "l2", "greatest"] = "l1"


class Subject(Protocol):
    """A pipeline over one generated table."""

    def run(self, query: Any) -> Iterable[Recorded]:
        """Run one query and record every aggregate that noise is added to."""


@final
@dataclass(frozen=True, slots=True)
class Excess:
    """A query and two neighbouring tables on which it violates what was declared."""

    query: Any
    name: str
    problem: str
    neighbours: NeighbouringTables

    def __str__(self) -> str:
        return f"{self.query!r}, {self.name}: {self.problem} ({self.neighbours.kind})"


@final
@dataclass(frozen=True, slots=True)
class Replay:
    """Every change above the declared one that was found. Finding none proves nothing."""

    excesses: tuple[Excess, ...]
    tables: int
    aggregates: int
    nearest: Mapping[str, float] = field(default_factory=dict)  # for each query, the greatest share that was reached

    def __bool__(self) -> bool:
        return not self.excesses

    def __str__(self) -> str:
        counted = f"{self.aggregates:,} aggregates on {self.tables:,} pairs of generated tables"
        if not self.excesses:
            return f"no change above the declared one among {counted}; that is no proof that there is none"
        lines = dict.fromkeys(str(excess) for excess in self.excesses)
        return "\n".join(
            [f"{len(self.excesses)} problems among {counted}:", *(f"  {line}" for line in list(lines)[:10])]
        )

    __repr__ = __str__


def replay(
    factory: Callable[[Rows], Subject],
    queries: Iterable[Any],
    *,
    tables: Iterable[NeighbouringTables] | None = None,
    neighbours: Literal["add-remove", "change-one"] = "add-remove",
) -> Replay:
    """Run queries on random neighbouring tables and compare every aggregate's change with its declared sensitivity.

    `factory` makes a fresh subject from a generated table, which is asked every query and closed if it can be. Of
    neighbouring tables, one has one person more, or (under "change-one", and as two steps under "add-remove") one
    person's rows changed, or the rows are the same in another order, which must change nothing. What is
    declared, the sensitivity and the scale, must not depend on the table, and must be positive and finite.
    """
    listed = list(queries)
    pairs = list(random_neighbours(_TABLES) if tables is None else tables)
    findings = _Findings()
    for pair in pairs:
        steps = _steps(pair, neighbours)
        if steps is None:
            continue
        sides = [_run(factory, rows, listed, findings) for rows in (pair.x, pair.y)]
        for query, *recorded in zip(listed, *sides, strict=True):
            _compare(findings, query, recorded, pair, steps)
    return Replay(tuple(findings.excesses[:_MOST_KEPT]), len(pairs), findings.aggregates, findings.nearest)


def subject_from(factory: Callable[[Rows], Any], rows: Rows, able: str) -> Any:
    """Make a subject from a copy of the rows; refused if it has no method `able`, or is durable."""
    if not callable(factory):
        kind = type(factory).__name__
        raise InvalidParameter("factory", kind, "makes nothing of generated tables", hint="pass a function of rows")
    subject = factory([dict(row) for row in rows])
    if getattr(subject, "durable", False):
        raise GiveOrTakeError(
            "the factory made a subject with a durable ledger: audits run on generated tables only",
            hint="give the factory a ledger in memory",
        )
    if not callable(getattr(subject, able, None)):
        kind = type(subject).__name__
        raise InvalidParameter("factory", kind, f"was made, which has no `{able}`", hint="see gt.audit.replay")
    return subject


def closed(subject: Any) -> None:
    """Close a subject, if it can be closed."""
    if callable(getattr(subject, "close", None)):
        subject.close()


@final
@dataclass(slots=True)
class _Findings:
    excesses: list[Excess] = field(default_factory=list)
    aggregates: int = 0
    subjects: dict[int, object] = field(default_factory=dict)
    nearest: dict[str, float] = field(default_factory=dict)

    def reached(self, query: Any, share: float) -> None:
        name = query if isinstance(query, str) else repr(query)
        self.nearest[name] = max(self.nearest.get(name, 0.0), share)

    def add(self, query: Any, name: str, problem: str, pair: NeighbouringTables) -> None:
        self.excesses.append(Excess(query, name, problem, pair))


def _run(
    factory: Callable[[Rows], Subject], rows: Rows, queries: list[Any], findings: _Findings
) -> list[list[Recorded]]:
    subject: Subject = subject_from(factory, rows, "run")
    if id(subject) in findings.subjects:
        raise InvalidParameter("factory", factory, "made the same subject twice", hint="make a new one for every table")
    findings.subjects[id(subject)] = subject  # kept, so that no other object can take its identity
    try:
        recorded = [list(subject.run(query)) for query in queries]
    finally:
        closed(subject)
    findings.aggregates += sum(map(len, recorded))
    return recorded


def _steps(pair: NeighbouringTables, neighbours: str) -> int | None:
    """How many steps between neighbours lead from one table to the other; None if the pair does not apply."""
    match pair.kind:
        case "one person more" | "one row more":
            return 1 if neighbours == "add-remove" else None
        case "one person changed" | "one row changed":
            return 2 if neighbours == "add-remove" else 1
        case _:
            return 0


def _compare(
    findings: _Findings, query: Any, sides: list[list[Recorded]], pair: NeighbouringTables, steps: int
) -> None:
    if [item.name for item in sides[0]] != [item.name for item in sides[1]]:
        findings.add(query, "aggregates", "which aggregates there are depends on the rows", pair)
        return
    for one, other in zip(*sides, strict=True):
        declared = _declared(one.sensitivity), _declared(other.sensitivity)
        if declared[0] != declared[1] or _declared(one.scale) != _declared(other.scale):
            findings.add(query, one.name, "the declared sensitivity or the scale depends on the rows", pair)
            continue
        if not 0 < declared[0] < math.inf or not 0 < _declared(one.scale) < math.inf:
            problem = f"sensitivity {one.sensitivity} with noise of scale {one.scale} protects nobody"
            findings.add(query, one.name, problem, pair)
            continue
        change, above = _change(one, other, steps)
        findings.reached(query, change / declared[0] / max(1, steps))
        if above:
            in_l2 = " in L2" if one.norm == "l2" else ""
            problem = f"changes by {change:g} where {steps * declared[0]:g} is declared{in_l2}"
            findings.add(query, one.name, problem, pair)


def _change(one: Recorded, other: Recorded, steps: int) -> tuple[float, bool]:
    """How far two tables are apart, and whether that is above what is declared: exactly, for whole numbers."""
    a, b = _as_table(one.exact), _as_table(other.exact)
    declared = one.sensitivity
    if all(isinstance(value, int) for value in (*a.values(), *b.values())) and isinstance(declared, int | Fraction):
        moved = [abs(a.get(key, 0) - b.get(key, 0)) for key in {**a, **b}]
        if one.norm == "l2":
            square = sum(difference * difference for difference in moved)
            return math.sqrt(square), square > (steps * declared) ** 2
        whole = max(moved, default=0) if one.norm == "greatest" else sum(moved)
        return float(whole), whole > steps * declared
    differences = [abs(_difference(a.get(key, 0), b.get(key, 0))) for key in {**a, **b}]
    if one.norm == "greatest":
        change = max(differences, default=0.0)
    else:
        change = math.hypot(*differences) if one.norm == "l2" else math.fsum(differences)
    return change, not change <= steps * _declared(declared)


def _difference(a: Any, b: Any) -> float:
    """The difference; infinite if one number is infinite or not-a-number and the other is not the same."""
    if a != a or b != b:  # noqa: PLR0124 (not-a-number)
        return 0.0 if a != a and b != b else math.inf  # noqa: PLR0124 (not a number)
    if math.inf in {abs(a), abs(b)}:
        return 0.0 if a == b else math.inf
    return float(a - b)


def _as_table(exact: Any) -> Mapping[Any, Any]:
    if isinstance(exact, Mapping):
        return exact
    if hasattr(exact, "__len__"):
        return dict(enumerate(exact))
    return {"": exact}


def _declared(number: Any) -> float:
    return math.inf if number is None else float(number)


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """Everything about an answer that is not noise: its status, its text, its charge and its shape."""

    status: str
    text: str = ""
    charge: Any = None
    shape: Any = None


class Observable(Protocol):
    """A pipeline over one generated table."""

    def observe(self, query: Any) -> Observation:
        """Ask one query and say what can be seen besides the noise."""


@final
@dataclass(frozen=True, slots=True)
class Observations:
    """Every difference that was seen. Seeing none proves nothing."""

    differences: tuple[str, ...]
    pairs: int

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.pairs:,} pairs of observations are equal; that is no proof that all are"
        listed = list(dict.fromkeys(self.differences))[:10]
        return "\n".join(
            [f"{len(self.differences)} of {self.pairs:,} pairs differ:", *(f"  {difference}" for difference in listed)]
        )

    __repr__ = __str__


def observations(
    factory: Callable[[Rows], Observable],
    queries: Iterable[Any],
    *,
    tables: Iterable[NeighbouringTables] | None = None,
    neighbours: Literal["add-remove", "change-one"] = "add-remove",
) -> Observations:
    """Ask the same queries about neighbouring generated tables, and compare what can be seen.

    An error that escapes is an observation too, with its type as the status and its text. Where keys found in the data
    may be shown, the shape is allowed to differ; leave it out of the observation then.
    """
    listed = list(queries)
    differences: list[str] = []
    pairs = 0
    for pair in random_neighbours(_TABLES) if tables is None else tables:
        if neighbours == "change-one" and pair.kind in {"one person more", "one row more"}:
            continue
        sides = [_observed(factory, rows, listed) for rows in (pair.x, pair.y)]
        for query, one, other in zip(listed, *sides, strict=True):
            pairs += 1
            for aspect in fields(Observation):
                seen = getattr(one, aspect.name), getattr(other, aspect.name)
                if _visible(seen[0]) != _visible(seen[1]):
                    text = f"{query!r}: {aspect.name} is {seen[0]!r} on one table and {seen[1]!r} on the other"
                    differences.append(f"{text} ({pair.kind})")
                    break
    return Observations(tuple(differences), pairs)


def _visible(value: Any) -> Any:
    """A value in a form that differs wherever a reader can see a difference; long arrays in full."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, [_visible(element) for element in value.reshape(-1).tolist()]
    if isinstance(value, Mapping):
        return type(value), [(_visible(key), _visible(element)) for key, element in value.items()]
    if isinstance(value, tuple | list):
        return type(value), [_visible(element) for element in value]
    return type(value), repr(value)


def _observed(factory: Callable[[Rows], Observable], rows: Rows, queries: list[Any]) -> list[Observation]:
    subject: Observable = subject_from(factory, rows, "observe")
    try:
        return [_seen(subject, query) for query in queries]
    finally:
        closed(subject)


def _seen(subject: Observable, query: Any) -> Observation:
    try:
        return subject.observe(query)
    except Exception as error:  # noqa: BLE001 (whatever is raised is what the asker sees)
        return Observation(f"raised {type(error).__name__}", str(error))
