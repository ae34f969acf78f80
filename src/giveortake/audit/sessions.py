"""Sessions under audit: what a query computes before its noise, and what an analyst sees, on generated tables.

Nothing here takes a session, an engine, a ledger, a file or a table of another library: only lists of plain
dictionaries that were made up, of which every subject makes a session of its own, in memory, and closes it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.answers.answer import Remark
from giveortake.audit.observations import Observation
from giveortake.audit.replay import Recorded
from giveortake.compile import Measurement, Spend
from giveortake.compile.key_selection import with_keys
from giveortake.errors import GiveOrTakeError, InvalidParameter, Unprovable
from giveortake.mechanisms.bounded_integers import BoundedIntegers
from giveortake.mechanisms.mechanism import Mechanism, opened
from giveortake.privacy import ROW, ApproxDP, Unit
from giveortake.session import Session, protect
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from giveortake.answers.column import Kind
    from giveortake.audit.neighbours import Row, Rows
    from giveortake.compile.measures import Measure
    from giveortake.engines import Engine, Keys
    from giveortake.plan import Value
    from giveortake.privacy.guarantee import Neighbours

    ColumnKinds: TypeAlias = Mapping[str, Kind]

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
        public = {name: _public(_generated("public", given)) for name, given in self.public.items()}

        def opened_anew() -> Session:
            return protect(
                sources,
                unit=self.unit,
                budget=_BUDGET,
                domains=self.domains,
                neighbours=self.neighbours,
                public=public,
                memory="200MB",
                threads=1,
                **dict(self.caps),  # type: ignore[arg-type]  # (names of caps, and numbers)
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
        self._written = 0

    def run(self, query: str) -> Iterator[Recorded]:
        """Every aggregate that noise would be added to, exactly, with its declared sensitivities and its scale.

        The engine is asked what `Measurement.release` asks it. A tree of bins is recorded level by level; of keys that
        are found in the data, the number of units of each.
        """
        session = self._opened()
        mechanism = mechanism_of(session)
        made = mechanism.price_at(session.sql(query).question, session.caps, Spend(epsilon=_EPSILON)).made
        keys = made.keys
        if made.selection is not None:
            units = _exact_units(made, mechanism.engine)
            yield from _keys_recorded(made, units)
            keys = with_keys(made, [key for key in units if _kept(key)])
        bare: Any = tuple(_Bare() for _ in made.noises)
        arrays = replace(made, noises=bare, selection=None).release(mechanism.engine, keys).arrays
        for place, (measure, array) in enumerate(zip(made.measures, arrays, strict=True)):
            scale = made.noises[place].scale_in_steps
            for level, exact in enumerate(_levels(measure, array, keys)):
                name = f"{measure.name} ({place})" + (f", level {level + 1}" if measure.levels > 1 else "")
                yield Recorded(exact, measure.l1, scale, name, "l1")
                yield Recorded(exact, measure.l2, scale, name, "l2")

    def observe(self, query: str) -> Observation:
        """Ask a query, and return what is seen besides numbers: answered or refused, the text, the charge, the shape.

        Where keys are found in the data, how many there are is what was released, and left out.
        """
        session = self._opened()
        shape: Any = None
        try:
            asked = session.sql(query)
            answer = asked.answer(epsilon=_EPSILON)
        except GiveOrTakeError as error:
            status, text = f"refused: {type(error).__name__}", str(error)
        else:
            status, text = "answered", repr((_said(answer), answer.recipe, answer.citations, answer.cost))
            keys = {name for name, _ in asked.question.keys}
            shape = [
                (column.name, column.has_interval) if asked.finds_keys and column.name in keys else _face(column)
                for column in answer.columns
            ]
            if not asked.finds_keys:
                shape.append(len(answer))
        written = session.history()
        new, self._written = written[self._written :], len(written)
        charges = [(entry.kind, entry.content.get("event")) for entry in new]
        return Observation(status, text, (charges, session.spent), shape)

    def close(self) -> None:
        """Close the session with the generated table."""
        if self._session is not None:
            self._session.close()
            self._session, self._written = None, 0

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


def _exact_units(made: Measurement, engine: Engine) -> dict[tuple[Value, ...], int]:
    """How many units count in each key, or the sum of the weights that units give it."""
    parts = [_Bare().release(units) for units in made.units(engine)]
    return {key: count for keys, counts in parts for key, count in zip(keys, counts.tolist(), strict=True)}


def _keys_recorded(made: Measurement, units: dict[tuple[Value, ...], int]) -> Iterator[Recorded]:
    """The numbers of units by key, with how far one unit may move them; and how many keys it may add or remove."""
    assert made.selection is not None  # noqa: S101 (asked only then)
    for name, most, norm in made.selection.moves():
        yield Recorded(units, most, made.selection.scale, name, norm)
    yield Recorded(dict.fromkeys(units, 1), made.selection.changed, made.selection.scale, "keys")


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
        yield {(rows[row], int(place)): int(section[row, place]) for row, place in filled}


def _kept(key: tuple[Value, ...]) -> bool:
    """Whether a key is kept: three of four are, the same in every table, as if the rest were below the threshold."""
    return sum(repr(key).encode()) % 4 != 0


def _said(answer: Answer) -> tuple[str, ...]:
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
