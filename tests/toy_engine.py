"""A toy engine, as another package would bring it: it counts the rows of a table of SQLite, by columns of texts.

It keeps the whole protocol and refuses, before anything is charged, whatever it cannot do. An engine that speaks SQL
well answers every question with a `Dialect` and the methods that `SQLEngine` leaves open.
"""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, final
from urllib.parse import parse_qs, urlsplit

from giveortake.engines import (
    Asked,
    Bins,
    Distinct,
    Engine,
    FoundUnits,
    Limits,
    Persons,
    PublicContent,
    Source,
    Tally,
    VectorSum,
)
from giveortake.errors import InvalidParameter, NotFound, QueryFailed, QueryRefused
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.plan import ColumnReference, Domain, Kind, Relation, Scan, Value


@final
class SQLiteEngine:
    """Tables of one file, which is opened for reading alone."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise NotFound("there is no such database of SQLite")
        self._path = path
        self._connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        self._tables: dict[str, str] = {}
        self._state = self._now()

    @property
    def identity(self) -> str:
        return f"sqlite {sqlite3.sqlite_version}"

    @property
    def has_witnesses(self) -> bool:
        return False

    # -- tables -------------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        chosen = _quoted(table or parse_qs(urlsplit(str(source)).query).get("table", [name])[0])
        found = self._run(f"SELECT name FROM pragma_table_info({chosen}) WHERE upper(type) = 'TEXT'")
        self._tables[name] = chosen
        content = hashlib.sha256(chosen.encode() + self._path.read_bytes()).hexdigest()
        return Source(name, tuple((column, Domain(Kind.TEXT)) for (column,) in found), content)

    def add_public(self, name: str, source: object) -> PublicContent:
        raise InvalidParameter("public", name, "is not joined by the toy engine")

    def prepare(self, relations: Iterable[Relation]) -> None:
        """Nothing is needed beforehand."""

    def lock(self) -> None:
        """The file is open for reading alone."""

    def unchanged(self) -> bool:
        return self._now() == self._state

    def hold_to_content(self) -> None:
        """The file is compared before and after each question."""

    def close(self) -> None:
        self._connection.close()

    # -- questions ----------------------------------------------------------------------------------------------

    def require_runnable(self, questions: Iterable[Asked]) -> None:
        for each in questions:
            if not (
                isinstance(each, Tally)
                and isinstance(each.relation, Scan)
                and each.relation.table.person is None
                and all(summand.kind == "rows" for summand in each.summands)
                and all(isinstance(key.expression, ColumnReference) for key in each.keys.columns)
            ):
                raise _refusal()

    def tally(self, tally: Tally) -> Sensitive[list[BoundedIntegers]]:
        return Sensitive(self._counts(tally))

    def in_parts(self, question: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        if not isinstance(question, Tally):
            raise _refusal()
        whole = self._counts(question)
        for start in range(0, max(question.keys.size, 1), size):
            yield Sensitive([array[start : start + size] for array in whole])

    def bins(self, bins: Bins) -> Sensitive[BoundedIntegers]:
        raise _refusal()

    def vectors(self, vector_sum: VectorSum, *, remember: bool = True) -> Sensitive[BoundedIntegers]:
        raise _refusal()

    def distinct(self, distinct: Distinct) -> Sensitive[BoundedIntegers]:
        raise _refusal()

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        raise _refusal()

    # -- inside -------------------------------------------------------------------------------------------------

    def _counts(self, tally: Tally) -> list[BoundedIntegers]:
        """One number for each key, zeros included, as often as it is asked for."""
        (table,) = tally.relation.tables()
        width = {column: domain.width for column, domain in table.columns}
        keys = [f"substr({_quoted(each.name)}, 1, {width[each.name]})" for each in tally.keys.columns]
        complete = [_quoted(column) for column, domain in table.columns if not domain.nullable]
        conditions = " AND ".join(f"{column} IS NOT NULL" for column in complete) or "TRUE"
        grouped = f"GROUP BY {', '.join(keys)}" if keys else ""
        listed = ", ".join([*keys, "count(*)"])
        rows = self._run(f"SELECT {listed} FROM {self._tables[table.name]} WHERE {conditions} {grouped}")
        found = {tuple(row[:-1]): row[-1] for row in rows}
        values: list[tuple[Value, ...]] = [each.values or () for each in tally.keys.columns]
        counts = [found.get(key, 0) for key in itertools.product(*values)]
        return [BoundedIntegers.clamped(counts, summand.most) for summand in tally.summands]

    def _run(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement. What SQLite says when it fails may quote rows, and is not told."""
        try:
            return self._connection.execute(text).fetchall()
        except sqlite3.Error:
            pass
        raise QueryFailed("SQLite could not finish the question; what it was charged stands")

    def _now(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_size, found.st_mtime_ns


@final
class SQLiteBackend:
    """Addresses like sqlite:///folder/file.db?table=visits."""

    name = "sqlite"
    schemes: tuple[str, ...] = ("sqlite",)

    def claims(self, source: object) -> bool:
        return False

    def open(self, source: object, limits: Limits) -> Engine:
        return SQLiteEngine(Path(urlsplit(str(source)).path))


SQLITE = SQLiteBackend()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _refusal() -> QueryRefused:
    return QueryRefused("the toy engine counts the rows of one table, by columns of texts with declared categories")
