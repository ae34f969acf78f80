"""Sessions under audit, and the queries and tables they are audited on.

- Questions of every shape that sessions answer, each asked under six declarations: rows or persons, with caps on groups
  and rows or on all rows of a person, each when a unit is added or removed and when one is changed.
- Subjects: what a query computes before its noise, and what an analyst sees, on generated tables.

Nothing here takes a session, an engine, a ledger, a file or a table of another library: only lists of plain
dictionaries that were made up, of which every subject makes a session of its own, in memory, and closes it.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, TypeAlias, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.answers.answer import Remark
from giveortake.audit.replay import NeighbouringTables, Observation, Recorded
from giveortake.compile import Measurement, Spend
from giveortake.compile.partition_selection import with_keys
from giveortake.errors import GiveOrTakeError, InvalidParameter, Unprovable
from giveortake.mechanisms.mechanism import BoundedIntegers, Mechanism, opened
from giveortake.privacy import ROW, ApproxDP, Unit
from giveortake.session import Session, protect
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.answers.column import Kind
    from giveortake.audit.replay import Row, Rows
    from giveortake.compile.measures import Measure
    from giveortake.engines import Engine, Keys
    from giveortake.plan import Value
    from giveortake.privacy.guarantee import Neighbours

    ColumnKinds: TypeAlias = Mapping[str, Kind]
    Dice: TypeAlias = np.random.Generator


TABLE = "table"  # the entry of a row that says which table it belongs to, if there are several
_BUDGET = ApproxDP(1000, "0.001")  # that no audit exhausts
_EPSILON = Fraction(1)
_PLAIN = (int, float, str, bool, dt.date, dt.datetime, type(None))
_USUAL: dict[str, ColumnKinds] = {"data": {"user_id": "integer", "group": "text", "value": "float"}}


@final
@dataclass(frozen=True, slots=True)
class Sessions:
    """What a custodian would declare; called with generated rows, it makes a subject for `replay` and `observations`.

    `tables` names columns and their kinds (those that `random_neighbours` makes, unless stated); with several
    tables, the entry "table" of a row says where it belongs. `domains` are by table where there are several, `public`
    are more generated rows by table, `caps` what `gt.protect` calls `groups_per_person` and so on.

    A live session, its engine and its ledger cannot be passed in: every subject opens its own, in memory.
    """

    unit: Unit | str = "user_id"
    neighbours: Neighbours = "add-remove"
    tables: Mapping[str, ColumnKinds] = field(default_factory=lambda: _USUAL)
    domains: Mapping[str, Any] = field(default_factory=dict)
    caps: Mapping[str, int] = field(default_factory=dict)
    public: Mapping[str, Rows] = field(default_factory=dict)

    def __call__(self, rows: Rows) -> Pipeline:
        """A pipeline over a copy of these rows."""
        first = next(iter(self.tables))
        split: dict[str, Rows] = {name: [] for name in self.tables}
        for row in _generated("rows", rows):
            name = row.get(TABLE, first)
            if name not in split:
                raise InvalidParameter("table", name, "is not declared", hint=f"there are {', '.join(split)}")
            split[name].append(row)
        sources = {name: _table(split[name], columns) for name, columns in self.tables.items()}
        public = {name: _public(_generated("public", table_rows)) for name, table_rows in self.public.items()}

        def opened_anew() -> Session:
            return protect(
                sources,
                unit=self.unit,
                budget=replace(_BUDGET, neighbours=self.neighbours),
                domains=self.domains,
                public=public,
                engine={"memory": "200MB", "threads": 1},
                caps=dict(self.caps),
            )

        return Pipeline(opened_anew)

    @property
    def by_person(self) -> bool:
        """Whether persons are protected rather than rows."""
        return self.unit != ROW


@final
class Pipeline:
    """Runs queries on one generated table, which belongs to it; made by `Sessions`."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._session: Session | None = None
        self._entries_seen = 0

    def run(self, query: str) -> Iterator[Recorded]:
        """Every aggregate that noise would be added to, exactly, with its declared sensitivities and its scale.

        The engine is asked what `Measurement.release` asks it. A tree of bins is recorded level by level; of keys that
        are found in the data, the number of units of each.
        """
        session = self._opened()
        mechanism = mechanism_of(session)
        question = session.sql(query).question
        measurement = mechanism.measured(question, session.caps, Spend(epsilon=_EPSILON))
        mechanism.engine.require_runnable(measurement.asked())
        keys = measurement.keys
        if measurement.selection is not None:
            units = _exact_units(measurement, mechanism.engine)
            yield from _keys_recorded(measurement, units)
            keys = with_keys(measurement, [key for key in units if _is_selected(key)])
        bare: Any = tuple(_Bare() for _ in measurement.noises)
        arrays = replace(measurement, noises=bare, selection=None).release(mechanism.engine, keys).arrays
        for index, (measure, array) in enumerate(zip(measurement.measures, arrays, strict=True)):
            scale = measurement.noises[index].scale_in_steps
            for level, exact in enumerate(_levels(measure, array, keys)):
                name = f"{measure.name} ({index})" + (f", level {level + 1}" if measure.levels > 1 else "")
                yield Recorded(exact, measure.l1, scale, name, "l1")
                yield Recorded(exact, measure.l2, scale, name, "l2")

    def observe(self, query: str) -> Observation:
        """Ask a query, and return what is seen besides numbers: answered or refused, the text, the charge, the shape.

        Where keys are found in the data, how many there are is what was released, and left out.
        """
        session = self._opened()
        shape: Any = None
        try:
            prepared = session.sql(query)
            answer = prepared.answer(epsilon=_EPSILON)
        except GiveOrTakeError as error:
            status, text = f"refused: {type(error).__name__}", str(error)
        else:
            status, text = "answered", repr((_fixed_notes(answer), answer.recipe, answer.citations, answer.cost))
            keys = {name for name, _ in prepared.question.keys}
            shape = [
                (column.name, column.has_interval) if prepared.finds_keys and column.name in keys else _face(column)
                for column in answer.columns
            ]
            if not prepared.finds_keys:
                shape.append(len(answer))
        entries = session.history()
        new, self._entries_seen = entries[self._entries_seen :], len(entries)
        charges = [(entry.kind, entry.content.get("event")) for entry in new]
        return Observation(status, text, (charges, session.spent), shape)

    def close(self) -> None:
        """Close the session with the generated table."""
        if self._session is not None:
            self._session.close()
            self._session, self._entries_seen = None, 0

    def _opened(self) -> Session:
        if self._session is None:
            self._session = self._make()
        return self._session


@final
class _Bare(Mechanism[Any, Any]):
    """Adds no noise: it returns what it is given. It has no price, so that no ledger admits it."""

    citation: ClassVar[str] = "none"

    def event(self, _sensitivity: Any = 1) -> NoReturn:
        raise Unprovable("what adds no noise has no price")

    def release(self, value: Any, _entropy: Any = None) -> Any:
        exactly = opened(value, self)
        return exactly.released() if isinstance(exactly, BoundedIntegers) else exactly

    def select(self, value: Any, _entropy: Any = None) -> Any:
        return opened(value, self)


def _exact_units(measurement: Measurement, engine: Engine) -> dict[tuple[Value, ...], int]:
    """How many units count in each key, or the sum of the weights that units give it."""
    parts = [_Bare().release(units) for units in measurement.units(engine)]
    return {key: count for keys, counts in parts for key, count in zip(keys, counts.tolist(), strict=True)}


def _keys_recorded(measurement: Measurement, units: dict[tuple[Value, ...], int]) -> Iterator[Recorded]:
    """The numbers of units by key, with how far one unit may move them; and how many keys it may add or remove."""
    assert measurement.selection is not None  # noqa: S101 (asked only then)
    for name, most, norm in measurement.selection.moves():
        yield Recorded(units, most, measurement.selection.scale, name, norm)
    yield Recorded(dict.fromkeys(units, 1), measurement.selection.changed, measurement.selection.scale, "keys")


def _levels(measure: Measure, array: npt.NDArray[Any], keys: Keys) -> Iterator[dict[Any, int]]:
    """Python integers by key (and by bin), one table for each level of a tree; zeros are left out."""
    rows = keys.rows()
    if array.ndim == 1:
        yield {key: int(value) for key, value in zip(rows, array.tolist(), strict=True) if value}
        return
    ends = np.cumsum([0, *(measure.sections or ())])
    for start, end in pairwise(ends):
        section = array[:, start:end]
        filled = zip(*np.nonzero(section), strict=True)
        yield {(rows[row], int(bin_index)): int(section[row, bin_index]) for row, bin_index in filled}


def _is_selected(key: tuple[Value, ...]) -> bool:
    """Whether a key is kept: three of four are, the same in every table, as if the rest were below the threshold."""
    return sum(repr(key).encode()) % 4 != 0


def _fixed_notes(answer: Answer) -> tuple[str, ...]:
    """The notes, without those that follow from released numbers: these are as noisy as the numbers."""
    return tuple(note for note in answer.notes if not isinstance(note, Remark))


def _face(column: Column) -> tuple[Any, ...]:
    return column.name, column.kind, column.has_interval


def _generated(name: str, rows: object) -> Rows:
    """A list of plain dictionaries of plain values, and nothing that could lead to live data."""
    hint = "rows are a list of plain dictionaries that a generator made; see gt.audit.random_neighbours"
    if type(rows) is not list:
        raise InvalidParameter(name, type(rows).__name__, "is not a generated table", hint=hint)
    for row in rows:
        if type(row) is not dict:
            raise InvalidParameter(name, type(row).__name__, "is not a row of a generated table", hint=hint)
        for value in row.values():
            if type(value) not in _PLAIN:
                raise InvalidParameter(name, type(value).__name__, "is not a value of a generated table", hint=hint)
    return rows


def _table(rows: Rows, columns: ColumnKinds) -> Answer:
    """Rows as columns of stated kinds, so that the schema does not depend on the rows."""
    return Answer([Column(name, [row.get(name) for row in rows], kind=kind) for name, kind in columns.items()])


def _public(rows: Rows) -> Answer:
    if not rows:
        raise InvalidParameter("public", [], "has no rows")
    first: Row = rows[0]
    return Answer([Column(name, [row[name] for row in rows]) for name in first])


_LEAST, _MOST = -(2**63), 2**63 - 1
_DAY = dt.date(2024, 1, 1)
_NOBODY = None
_DATA: Final[dict[str, Any]] = {
    "p": "integer", "x": "float", "y": "float", "i": "integer", "w": "integer", "r": "text", "n": "text", "q": "text",
    "b": "truth", "d": "date", "e": "date", "t": "time",
}  # fmt: skip
_VISITS: Final[dict[str, Any]] = {"p": "integer", "k": "text", "v": "float"}
_DOMAINS: Final[dict[str, Any]] = {
    "x": (-3, 7),
    "y": {"bounds": (10, 12), "nullable": False},
    "i": (-5, 300),
    "r": ["north", "south", "øst"],
    "n": ["a", "b", None],
    "e": (_DAY, dt.date(2024, 1, 5)),
}
_ZONES: Final[list[Row]] = [
    {"zone": "north", "weight": 2.5, "part": "up"},
    {"zone": "south", "weight": -1.0, "part": "down"},
    {"zone": "west", "weight": 4.0, "part": "down"},
]
_POOLS: Final[dict[str, Sequence[Any]]] = {
    "x": (None, math.nan, math.inf, -math.inf, -0.0, 0.0, 7.0, -3.0, 1e308, -1e308, 5e-324, 2.5, 7.000001),
    "y": (None, math.nan, 10.0, 12.0, 11.3, 10.5, -math.inf, math.inf, 0.0),
    "i": (None, _LEAST, _MOST, 0, 300, -5, 17, 299),
    "w": (None, _LEAST, _MOST, 0, 1, -1, 2**53 + 1),
    "r": ("north", "south", "øst", "west", None, ""),
    "n": ("a", "b", None, "c"),
    "q": (None, "", "日本", "a'b", "q0", "q1", "q2", "q3", "q4", "q5", "\0z", "é", "e\u0301"),
    "b": (True, False, None),
    "d": (None, dt.date.min, dt.date.max, _DAY, dt.date(1970, 1, 1)),
    "e": (None, _DAY, dt.date(2024, 1, 2), dt.date(2024, 1, 6), dt.date.max),
    "t": (None, dt.datetime.min, dt.datetime.max, dt.datetime(1970, 1, 1), dt.datetime(2024, 1, 1, 1, 1, 1)),
}
_VISITED: Final[dict[str, Sequence[Any]]] = {
    "k": ("u", "v", "w", None), "v": (None, math.nan, math.inf, -0.0, 5.0, 5.0, 1.5),
}  # fmt: skip
_LARGEST: Final[Row] = {
    "x": 7.0, "y": 12.0, "i": 300, "w": _MOST, "r": "north", "n": None, "q": "q0", "b": True,
    "d": _DAY, "e": _DAY, "t": dt.datetime(2024, 1, 1),
}  # fmt: skip
_SMALLEST: Final[Row] = {**_LARGEST, "x": -3.0, "y": 10.0, "i": -5}

OF_ROWS: Final[dict[str, str]] = {
    "number of rows": "SELECT COUNT(*) AS a FROM data",
    "number of values": "SELECT COUNT(x) AS a FROM data",
    "sum": "SELECT SUM(x) AS a FROM data",
    "sum away from zero": "SELECT SUM(y) AS a FROM data",
    "sum of integers": "SELECT SUM(i) AS a FROM data",
    "mean and sum": "SELECT AVG(i) AS a, SUM(i) AS s FROM data",
    "variance": "SELECT VAR_POP(y) AS a FROM data",
    "deviation": "SELECT STDDEV(i) AS a FROM data",
    "median": "SELECT MEDIAN(x) AS a FROM data",
    "maximum": "SELECT MAX(y) AS a FROM data",
    "distinct integers": "SELECT COUNT(DISTINCT w) AS a FROM data",
    "count if": "SELECT COUNT_IF(x > 1) AS a FROM data",
    "filtered aggregates": "SELECT SUM(x) FILTER (WHERE b) AS a, COUNT(*) FILTER (WHERE i IS NULL) AS f FROM data",
    "ratio": "SELECT SUM(x) / SUM(y) AS a, COUNT(*) - 2 * COUNT(x) AS f FROM data",
    "declared keys": "SELECT r, COUNT(*) AS a, SUM(x) AS s FROM data GROUP BY r",
    "two keys": "SELECT r, b, AVG(y) AS a FROM data GROUP BY r, b",
    "keys with NULL": "SELECT n, VAR_POP(x) AS a FROM data GROUP BY n",
    "days": "SELECT e, SUM(y) AS a FROM data GROUP BY e",
    "months": "SELECT MONTH(t) AS k, COUNT(*) AS a FROM data GROUP BY k",
    "buckets": "SELECT BUCKET(x, 2.5) AS k, SUM(i) AS a FROM data GROUP BY k",
    "cases": "SELECT CASE WHEN x > 2 THEN 'high' WHEN x <= 2 THEN 'low' END AS k, COUNT(x) AS a FROM data GROUP BY k",
    "quantile by key": "SELECT r, QUANTILE(i, 0.9) AS a FROM data GROUP BY r",
    "distinct text by key": "SELECT r, COUNT(DISTINCT q) AS a FROM data GROUP BY r",
    "found keys": "SELECT q, COUNT(*) AS a, SUM(x) AS s FROM data GROUP BY q",
    "found keys and declared ones": "SELECT q, r, AVG(i) AS a FROM data GROUP BY q, r",
    "found dates": "SELECT d, COUNT(*) AS a FROM data GROUP BY d",
    "found integers, median": "SELECT w, MEDIAN(x) AS a FROM data GROUP BY w",
    "where": "SELECT r, SUM(x) AS a FROM data WHERE x > 1 OR i IS NULL GROUP BY r",
    "where not, in": "SELECT COUNT(*) AS a FROM data WHERE NOT (x > 1 AND b) AND q IN ('q0', '日本')",
    "arithmetic": "SELECT r, SUM(x * 2 + y) AS a, SUM(CLAMP(y / i, -1, 1)) AS s FROM data GROUP BY r",
    "values against their bounds": "SELECT SUM(100 + 1 / COALESCE(y, 10)) AS a FROM data",
    "redefined column": "WITH s AS (SELECT p, 100 - 10 * x AS x, r FROM data) SELECT r, SUM(x) AS a FROM s GROUP BY r",
    "union": "SELECT r, COUNT(*) AS a, SUM(x) AS s FROM "
    "(SELECT p, r, x FROM data UNION ALL SELECT p, r, x FROM data WHERE b) GROUP BY r",
    "join with a public table": "SELECT part, SUM(weight) AS s FROM data JOIN zones ON r = zone GROUP BY part",
    "left join": "SELECT part, SUM(x * weight) AS s FROM data LEFT JOIN zones ON r = zone GROUP BY part",
}
OF_PERSONS: Final[dict[str, str]] = {
    "number of persons": "SELECT COUNT(DISTINCT p) AS a FROM data",
    "persons by key": "SELECT r, COUNT(DISTINCT p) AS a FROM data GROUP BY r",
    "persons by found key": "SELECT q, COUNT(DISTINCT p) AS a FROM data GROUP BY q",
    "per person": "SELECT SUM(CLAMP(s, 0, 20)) AS a, COUNT(*) AS c FROM (SELECT p, SUM(x) AS s FROM data GROUP BY p)",
    "per person and key": "SELECT r, AVG(g) AS a FROM (SELECT p, r, MAX(i) AS g FROM data GROUP BY p, r) GROUP BY r",
    "distinct rows": "SELECT r, COUNT(*) AS a FROM (SELECT DISTINCT p, r FROM data) GROUP BY r",
    "join of persons": "SELECT r, SUM(CLAMP(s, 0, 9)) AS a FROM data JOIN "
    "(SELECT p, SUM(v) AS s FROM visits GROUP BY p) AS f ON data.p = f.p GROUP BY r",
    "union of two tables": "SELECT COUNT(*) AS a, SUM(z) AS s FROM "
    "(SELECT p, x AS z FROM data UNION ALL SELECT p, v AS z FROM visits)",
}
REFUSED: Final[dict[str, str]] = {
    "refused: rows": "SELECT x FROM data",
    "refused: sum without bounds": "SELECT SUM(w) AS a FROM data",
    "refused: unknown column": "SELECT SUM(z) AS a FROM data",
}


def _declarations() -> dict[str, Sessions]:
    declarations: dict[str, Sessions] = {}
    both, caps = {"data": _DATA, "visits": _VISITS}, {"groups_per_person": 2, "rows_per_group": 3}
    domains = {"data": _DOMAINS, "visits": {"k": ["u", "v"], "v": (0, 5)}}
    zones = {"zones": _ZONES}
    for change in ("add-remove", "change-one"):
        declarations[f"rows, {change}"] = Sessions(ROW, change, {"data": _DATA}, {"data": _DOMAINS}, {}, zones)
        declarations[f"persons, {change}"] = Sessions("p", change, both, domains, caps, zones)
        declarations[f"few rows, {change}"] = Sessions("p", change, both, domains, {"rows_per_person": 5}, zones)
    return declarations


DECLARATIONS: Final[Mapping[str, Sessions]] = _declarations()


def generated_neighbours(declaration: Sessions, count: int, *, seed: int = 0) -> Iterator[NeighbouringTables]:
    """Neighbouring tables for the shapes: NULL, NaN, infinities, ends of int64, persons of many rows, nobody's rows.

    Generated data are no secret: the seed makes them the same in every run.
    """
    dice = np.random.default_rng([seed, *str(declaration.neighbours).encode()])
    for _ in range(count):
        table = [row for person in range(int(dice.choice([0, 1, 3, 8]))) for row in _rows(dice, person, declaration)]
        if dice.random() < 0.1:
            yield NeighbouringTables(table, _shuffled(dice, table), "the same rows in another order")
        elif declaration.by_person:
            yield _other_person(dice, table, declaration)
        else:
            yield _other_row(dice, table, declaration)


def _other_person(dice: Dice, table: Rows, declaration: Sessions) -> NeighbouringTables:
    """One person more, or one replaced by another; rows of nobody, which do not count, come and go."""
    person, remaining, kind = 100, table, "one person more"
    if declaration.neighbours == "change-one":
        person, kind = int(dice.choice([row["p"] for row in table] or [100])), "one person changed"
        remaining = [row for row in table if row["p"] != person]
    added = [*_rows(dice, person, declaration), *_rows(dice, _NOBODY, declaration)]
    return NeighbouringTables(table, _shuffled(dice, [*remaining, *added]), kind)


def _other_row(dice: Dice, table: Rows, declaration: Sessions) -> NeighbouringTables:
    """One row more, or one replaced by another."""
    row = {**_row(dice, 100, _POOLS), **_picked(dice, [{}, _LARGEST, _SMALLEST])}
    if declaration.neighbours == "add-remove":
        return NeighbouringTables(table, _shuffled(dice, [*table, row]), "one row more")
    index = int(dice.integers(len(table))) if table else 0
    before = table or [_row(dice, 0, _POOLS)]
    return NeighbouringTables(before, _shuffled(dice, [*before[:index], row, *before[index + 1 :]]), "one row changed")


def _rows(dice: Dice, person: int | None, declaration: Sessions) -> Rows:
    """The rows of one person: few, many of one kind, or spread over every group; at times as large as can be."""
    rows = _own_rows(dice, person)
    if len(declaration.tables) > 1:
        visits = int(dice.choice([0, 1, 2, 7]))
        rows += [{TABLE: "visits", **_row(dice, person, _VISITED)} for _ in range(visits)]
    return rows


def _own_rows(dice: Dice, person: int | None) -> Rows:
    match str(dice.choice(["few", "largest", "smallest", "wide", "heavy", "none"])):
        case "none":
            return []
        case "few":
            return [_row(dice, person, _POOLS) for _ in range(int(dice.integers(1, 4)))]
        case "heavy":
            return [_row(dice, person, _POOLS)] * int(dice.integers(5, 40))
        case "smallest":
            return [{"p": person, **_SMALLEST}] * int(dice.choice([1, 4, 9, 30]))
        case "largest":
            return [{"p": person, **_LARGEST}] * int(dice.choice([1, 4, 9, 30]))
        case _:
            spread = {name: _POOLS[name] for name in ("r", "n", "q", "b", "e")}
            return [{**_LARGEST, **_row(dice, person, spread)} for _ in range(int(dice.choice([4, 9, 30])))]


def _row(dice: Dice, person: int | None, pools: Mapping[str, Sequence[Any]]) -> Row:
    return {"p": person} | {name: _picked(dice, pool) for name, pool in pools.items()}


def _picked(dice: Dice, pool: Sequence[Any]) -> Any:
    return pool[int(dice.integers(len(pool)))]


def _shuffled(dice: Dice, rows: Rows) -> Rows:
    return [rows[index] for index in dice.permutation(len(rows))]
