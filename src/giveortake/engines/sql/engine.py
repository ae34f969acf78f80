"""An engine that speaks SQL: questions become statements of its dialect, and rows become arrays.

Results and tables of constants are kept in caches of limited size, which drop what was not used for longest.
"""

from __future__ import annotations

import hashlib
import threading
from abc import abstractmethod
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

import numpy as np

from giveortake.engines.protocol import Engine, read_public_table
from giveortake.engines.questions import Bins, Tally, VectorSum
from giveortake.engines.runtime import TimeLimit, no_question
from giveortake.engines.sql import statements
from giveortake.engines.sql.printer import Printer, bounded_name
from giveortake.engines.sql.statements import Coded
from giveortake.errors import QueryRefused
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from giveortake.engines.protocol import FoundUnits, PublicContent
    from giveortake.engines.questions import Asked, Distinct, Found, Keys, Persons
    from giveortake.engines.sql.dialect import Dialect
    from giveortake.plan import Relation, Scan, Schema, Value


Key = TypeVar("Key")
Cached = TypeVar("Cached")


@final
class Cache(Generic[Key, Cached]):
    """A cache of values by their keys, which keeps those that were used last.

    `most` bounds the sum of their sizes after `trim`, so that whoever asks for much once fills nobody else's memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Key, tuple[Cached, int]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> Cached | None:
        """Return a value, and note that it was used; None if it is not there."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Key, value: Cached, size: int) -> Cached:
        """Keep a new value, at least until the next `trim`."""
        self._entries[key] = value, size
        self._size += size
        return value

    def trim(self, let_go: Callable[[Cached], None] = lambda _value: None) -> None:
        """Drop the least recently used values until the total size is at most `most`."""
        while self._size > self._most:
            value, size = self._entries.popitem(last=False)[1]
            self._size -= size
            let_go(value)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._size = 0


_MOST_REMEMBERED = 1 << 21  # integers and keys of exact results, so that another price does not read the rows again
_LARGEST_REMEMBERED = 1 << 20  # of one of them
_RESULT = 1 << 15  # what each of them counts for at least: 64 questions are remembered, however small
_MOST_CONSTANTS = 1 << 20  # values of constants that are tables already when a question comes
_AT_ONCE = 1 << 18  # keys that occur, in each portion of which it is decided which are shown


class SQLEngine(Engine):
    """Answers questions by statements of one dialect. Subclasses run statements and make tables of constants.

    `longest` is how many characters of a relation and its expressions the engine plans in seconds; `seconds` limits
    the work on each question.
    """

    def __init__(self, dialect: Dialect, *, longest: int, seconds: float | None = None) -> None:
        self._sources: dict[object, str] = {}
        self._printer = Printer(dialect, self._sources)
        self._longest = longest
        self._time = TimeLimit(seconds)
        self._lock = threading.RLock()
        self._results: Cache[Asked, Any] = Cache(_MOST_REMEMBERED)
        self._constant_tables: Cache[object, str] = Cache(_MOST_CONSTANTS)

    # -- what engines provide -----------------------------------------------------------------------------------

    _identity: str  # the engine and its version
    has_witnesses: bool  # whether anybody but this process sees the texts of statements

    @property
    def identity(self) -> str:
        """The engine and its version."""
        return self._identity

    def _require_own_limits(self, question: Asked) -> None:
        """Refuse what this engine alone could not run, whatever the length."""

    @abstractmethod
    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement; whatever fails is a `QueryFailed` that quotes nothing."""

    @abstractmethod
    def _columns(self, text: str) -> list[npt.NDArray[np.int64]]:
        """The columns that a statement returns, all of 64 bits."""

    @abstractmethod
    def _create_constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        """Make a table of constants, with at least one row, at each call; return how it is read."""

    @abstractmethod
    def _listed(self, columns: Sequence[tuple[str, Domain]], lists: Iterable[list[tuple[Value, ...]]]) -> str:
        """Make a table of many constants, which come in several lists; return how it is read."""

    @abstractmethod
    def _forget(self, table: str) -> None:
        """Drop a table of constants."""

    def _capped_rows(self, scan: Scan) -> str:
        """How a table with few rows of each person is read. No row is looked at yet."""
        return f"({self._printer.capped_rows(scan)})"

    def _make_capped_rows(self, scan: Scan) -> None:
        """Make a table with few rows of each person, if this engine stores it; else statements read them anew."""

    # -- questions ----------------------------------------------------------------------------------------------

    def prepare(self, relations: Iterable[Relation]) -> None:
        with self._lock, no_question():
            for relation in relations:
                self._prepare(relation)

    def require_runnable(self, questions: Iterable[Asked]) -> None:
        """Refuse what is too long, or beyond the engine's own limits. Statements add little to this text."""
        for question in questions:
            self._name_capped_rows(question.relation)
            if len(self._rows_of(question)) > self._longest:
                raise QueryRefused("the question is too long", hint="ask for less at once")
            self._require_own_limits(question)

    def _rows_of(self, question: Asked) -> str:
        """The part of a statement whose length grows with the question."""
        if isinstance(question, VectorSum):
            return statements.vector_rows(self._printer, question)
        return statements.rows_of(self._printer, question)

    def tally(self, tally: Tally) -> Sensitive[list[BoundedIntegers]]:
        return Sensitive(self._remembered(tally, lambda: self._tally(tally)))

    def bins(self, bins: Bins) -> Sensitive[BoundedIntegers]:
        return Sensitive(self._remembered(bins, lambda: self._bins(bins)))

    def distinct(self, distinct: Distinct) -> Sensitive[BoundedIntegers]:
        return Sensitive(self._remembered(distinct, lambda: self._distinct(distinct)))

    def vectors(self, vector_sum: VectorSum, *, remember: bool = True) -> Sensitive[BoundedIntegers]:
        return Sensitive(self._remembered(vector_sum, lambda: self._vectors(vector_sum), remember=remember))

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        keys, counts = self._remembered(persons, lambda: self._persons(persons))
        for start in range(0, max(len(keys), 1), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            yield Sensitive((keys[part], counts[part]))

    def in_parts(self, question: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        answer = self._remembered(question, lambda: self._answer(question))
        for start in range(0, max(question.keys.size, 1), size):
            part = slice(start, start + size)
            yield Sensitive([array[part] for array in answer] if isinstance(answer, list) else answer[part])

    # -- from statements to arrays ------------------------------------------------------------------------------

    def _answer(self, question: Tally | Bins | Distinct) -> Any:
        if isinstance(question, Tally):
            return self._tally(question)
        return self._bins(question) if isinstance(question, Bins) else self._distinct(question)

    def _tally(self, tally: Tally) -> list[BoundedIntegers]:
        with self._coded(tally.keys, tally.relation.schema) as coded:
            rows = self._rows(self._tally_statement(tally, coded))
        indexes = indexes_of(tally.keys, np.array([row[0] for row in rows], dtype=np.int64))
        return tallied(tally, rows, indexes, tally.keys.size)

    def _tally_statement(self, tally: Tally, coded: Coded) -> str:
        return statements.tally_statement(self._printer, tally, coded)

    def _bins(self, bins: Bins) -> BoundedIntegers:
        with self._coded(bins.keys, bins.relation.schema) as coded:
            columns = self._columns(statements.bins_statement(self._printer, bins, coded))
        indexes = indexes_of(bins.keys, columns[0]), columns[1]
        return BoundedIntegers.clamped(columns[2], bins.most).placed(indexes, (bins.keys.size, bins.count))

    def _distinct(self, distinct: Distinct) -> BoundedIntegers:
        with self._coded(distinct.keys, distinct.relation.schema) as coded:
            columns = self._columns(statements.distinct_statement(self._printer, distinct, coded))
        numbers = BoundedIntegers.clamped(columns[1], distinct.most)
        return numbers.placed(indexes_of(distinct.keys, columns[0]), (distinct.keys.size,))

    def _vectors(self, vector_sum: VectorSum) -> BoundedIntegers:
        rows = self._rows(statements.vector_statement(self._printer, vector_sum, self._dictionaries(vector_sum)))
        if vector_sum.is_dense:
            return BoundedIntegers.clamped([int(value) for value in rows[0]], vector_sum.most)
        sums = BoundedIntegers.clamped([int(row[1]) for row in rows], vector_sum.most)
        return sums.placed(np.array([int(row[0]) for row in rows], dtype=np.int64), (vector_sum.size,))

    def _dictionaries(self, vector_sum: VectorSum) -> list[str]:
        """A table of the values of each key column."""
        schema = vector_sum.relation.schema
        return [
            self._dictionary(column.values or (), column.expression.domain(schema)) for column in vector_sum.columns
        ]

    def _persons(self, persons: Persons) -> FoundUnits:
        return in_order_of_keys(self._rows(self._discovery_statement(persons)), persons)

    def _discovery_statement(self, persons: Persons) -> str:
        return statements.discovery_statement(
            self._printer, persons, self._declared(persons), self._weights(persons.weights)
        )

    def _remembered(self, question: Asked, compute: Callable[[], Any], *, remember: bool = True) -> Any:
        with self._lock, self._time.counted():
            remembered = self._results.get(question) if remember else None
            if remembered is not None:
                return remembered
            self._constant_tables.trim(self._forget)
            self._prepare(question.relation)
            answer = compute()
            if remember and _count(answer) <= _LARGEST_REMEMBERED:
                self._results.put(question, answer, max(_count(answer), _RESULT))
                self._results.trim()
            return answer

    # -- tables -------------------------------------------------------------------------------------------------

    def _send_public(self, name: str, source: object) -> PublicContent:
        """Read a public table here, and send it as constants to where the others are."""
        public_rows = read_public_table(name, source)
        columns = public_rows.content.source.columns
        self._sources[name] = self._create_constants(columns, public_rows.rows or [(None,) * len(columns)])
        return public_rows.content

    def _prepare(self, relation: Relation) -> None:
        """Make the tables in which each person has few rows, once."""
        for scan in self._name_capped_rows(relation):
            self._make_capped_rows(scan)

    def _name_capped_rows(self, relation: Relation) -> list[Scan]:
        """Note how tables with few rows of each person are read; a quote may do so while a question runs."""
        bounded_scans = [scan for scan in relation.scans() if scan.most_rows_of_person is not None]
        for scan in bounded_scans:
            if bounded_name(scan) not in self._sources:
                self._sources.setdefault(bounded_name(scan), self._capped_rows(scan))
        return bounded_scans

    def _constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        """A table of constants, made once for equal ones. It is there until the next question at least."""
        values = hashlib.sha256(repr(rows).encode(errors="surrogatepass")).digest()  # 1, 1.0 and True are three
        key = tuple(columns), values
        cached = self._constant_tables.get(key)
        if cached is not None:
            return cached
        return self._constant_tables.put(key, self._create_constants(columns, rows), len(rows) * len(columns))

    # -- keys as codes ------------------------------------------------------------------------------------------

    def _declared(self, persons: Persons) -> dict[int, str]:
        """A table of the values of each key column whose values are known."""
        schema = persons.relation.schema
        return {
            index: self._dictionary(column.values, column.expression.domain(schema))
            for index, column in enumerate(persons.keys.columns)
            if column.values is not None
        }

    def _weights(self, weights: tuple[int, ...] | None) -> str | None:
        """A table (m, w): how much each of m keys of a person weighs."""
        if weights is None:
            return None
        integers = Domain(Kind.INTEGER)
        return self._constants((("m", integers), ("w", integers)), list(enumerate(weights, 1)))

    def _dictionary(self, values: tuple[Value, ...], domain: Domain) -> str:
        """A table (value, code): each value and its place."""
        rows = [(value, code) for code, value in enumerate(values)] or [(None, -1)]
        return self._constants((("value", domain), ("code", Domain(Kind.INTEGER))), rows)

    def _wanted(self, codes: tuple[int, ...]) -> str:
        """A table (code) of the codes that are wanted."""
        return self._constants((("code", Domain(Kind.INTEGER)),), [(code,) for code in codes] or [(-1,)])

    @contextmanager
    def _coded(self, keys: Keys, schema: Schema) -> Iterator[Coded]:
        if keys.discovered is None:
            yield self._coded_by_values(keys, schema)
            return
        domains = [column.expression.domain(schema) for column in keys.columns]
        columns = [(f"k{index}", domain) for index, domain in enumerate(domains)]
        table = self._listed([*columns, ("code", Domain(Kind.INTEGER))], _numbered(keys.discovered, len(columns)))
        try:
            yield Coded((), tuple(domain.nullable for domain in domains), (), listed=table)
        finally:
            self._forget(table)

    def _coded_by_values(self, keys: Keys, schema: Schema) -> Coded:
        columns = [column.values or () for column in keys.columns]
        return Coded(
            tuple(self._dictionary(column.values or (), column.expression.domain(schema)) for column in keys.columns),
            tuple(None in values for values in columns),
            tuple(len(values) for values in columns),
            None if keys.wanted is None else self._wanted(keys.wanted),
        )


def tallied(tally: Tally, rows: list[tuple[Any, ...]], indexes: Any, size: int) -> list[BoundedIntegers]:
    """The integers of `size` keys from rows of a code and an integer for each summand; keys without rows have zeros."""
    columns = [[int(row[index + 1]) for row in rows] for index in range(len(tally.summands))]
    return [
        BoundedIntegers.clamped(column, summand.most).placed(indexes, (size,))
        for column, summand in zip(columns, tally.summands, strict=True)
    ]


def in_order_of_keys(rows: list[tuple[Any, ...]], persons: Persons) -> FoundUnits:
    """Rows that end with a number of units, as keys in order, missing values last, and numbers."""
    rows.sort(key=lambda row: [(value is None, value) for value in row[:-1]])
    return [tuple(row[:-1]) for row in rows], BoundedIntegers.clamped([int(row[-1]) for row in rows], persons.most)


def indexes_of(keys: Keys, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of codes in the answer."""
    if keys.wanted is None:
        return codes
    return np.searchsorted(np.array(keys.wanted, dtype=np.int64), codes)


def _numbered(discovered: Found, width: int) -> Iterator[list[tuple[Value, ...]]]:
    """Keys with their places, in lists that are never empty; one list with a dummy if there are no keys."""
    start = 0
    for rows in discovered.lists():
        if rows:
            yield [(*row, start + index) for index, row in enumerate(rows)]
        start += len(rows)
    if start == 0:
        yield [(*(None,) * width, -1)]


def _count(answer: Any) -> int:
    """How many integers or keys a result has."""
    return sum(len(part) for part in answer) if isinstance(answer, list | tuple) else int(answer.size)
