"""Which of a person's rows, keys or values count, chosen without sorting or comparing long texts.

DuckDB writes to disk what does not fit into memory, but not well if lines are thousands of characters long: one person
who has stored many of them would make a question fail. So lines are copied into a table once. From then on a line is
represented by little: its person, the hash that orders a person's lines, and a short identity. Where the border between
lines that count and others runs between two of the same hash, their whole content decides; then these lines are read
one after another, and no more of them are held than may count.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.engines.sql.hashes import hash_of, mark
from giveortake.engines.sql.key_weights import total_weight
from giveortake.engines.sql.statements import known_rows, rows_of, told_apart
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from giveortake.engines.questions import Distinct, Persons
    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Scan

Line: TypeAlias = "tuple[int, bytes | int, bytes]"  # the number of its border, its identity, its content


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """A table of lines, made by `select`. For each value of `by` the first `most` count, by h and then by `content`.

    It has the columns p, h, those of `by` and of `content`. Lines with an equal `identity` count once. If `groups` is
    stated, p has at most so many codes, the first by the column g.
    """

    select: str
    by: tuple[str, ...]
    identity: str
    content: tuple[str, ...]
    most: int
    groups: int | None = None
    is_repeated: bool = True  # several lines may have one identity

    def first(self, table: str) -> str:
        """The lines that count, as far as hashes decide; `following` is the hash of the line that comes next."""
        by = ", ".join(self.by)
        grouped = "" if self.groups is None else ", g"
        once = "DISTINCT " if self.is_repeated else ""
        lines = f"SELECT {once}{by}{grouped}, h, {self.identity} AS id FROM {table}"
        rank = "" if self.groups is None else ", dense_rank() OVER (PARTITION BY p ORDER BY g, code) AS place_of_group"
        placed = (
            f"SELECT {by}, h, id, row_number() OVER w AS place, lead(h) OVER w AS following{rank} FROM ({lines}) AS l "
            f"WINDOW w AS (PARTITION BY {by} ORDER BY h, id)"
        )
        few = "" if self.groups is None else f" AND place_of_group <= {self.groups}"
        return f"SELECT {by}, h, id, place, following FROM ({placed}) AS l WHERE place <= {self.most}{few}"

    def borders(self, first: str) -> str:
        """The hashes shared by lines that count and lines that do not, numbered, with how many of their lines count."""
        by, same = ", ".join(self.by), self._same("b", "f")
        torn = f"SELECT {by}, h FROM {first} WHERE place = {self.most} AND following = h"
        lines = f"SELECT {by}, h FROM {first} AS f SEMI JOIN ({torn}) AS b ON {same}"
        counted = f"SELECT {by}, h, count(*) AS most FROM ({lines}) AS l GROUP BY {by}, h"
        return f"SELECT row_number() OVER () AS number, * FROM ({counted}) AS c"

    def contents(self, table: str, borders: str) -> str:
        """Every line with these hashes: the number of its border, its identity, and a sort key of its content."""
        content = sort_key(self.content)
        lines = f"SELECT {', '.join(self.by)}, h, {self.identity} AS id, {content} AS content FROM {table}"
        return f"SELECT b.number, l.id, l.content FROM ({lines}) AS l JOIN {borders} AS b ON {self._same('b', 'l')}"

    def without(self, first: str, borders: str) -> str:
        """Leave out the lines of these hashes."""
        return f"DELETE FROM {first} AS f USING {borders} AS b WHERE {self._same('b', 'f')}"

    def chosen(self, borders: str) -> str:
        """The lines with these hashes that count; parameters are the numbers of borders and the identities."""
        by, kind = ", ".join(f"b.{each}" for each in self.by), "BLOB" if self.is_repeated else "BIGINT"
        given = f"SELECT CAST(unnest(?) AS BIGINT) AS number, CAST(unnest(?) AS {kind}) AS id"
        return f"SELECT {by}, b.h, c.id, 0, NULL FROM ({given}) AS c JOIN {borders} AS b ON b.number = c.number"

    def _same(self, one: str, other: str) -> str:
        return " AND ".join(f"{one}.{each} = {other}.{each}" for each in (*self.by, "h"))


def least(lines: Iterable[Line], most: Mapping[int, int]) -> list[tuple[int, bytes | int]]:
    """For each border the first lines by content, `most` of them. No more than these are held."""
    held: dict[int, list[tuple[bytes, bytes | int]]] = {}
    for number, identity, content in lines:
        kept, line = held.setdefault(number, []), (content, identity)
        place = bisect_left(kept, line)
        if place < len(kept) and kept[place] == line:
            continue
        kept.insert(place, line)
        del kept[most[number] :]
    return [(number, identity) for number, kept in held.items() for _, identity in kept]


def sort_key(columns: Sequence[str]) -> str:
    """Several columns as one blob that sorts like them, missing values last; different values have different blobs."""
    ordered = ", ".join(f"{each}, 'ASC NULLS LAST'" for each in columns)
    return f"create_sort_key({ordered})"


def key_lines(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> Lines:
    """The keys of each person, with the columns id and k0, k1 … of the keys."""
    schema, dialect = persons.relation.schema, printer.dialect
    kinds = [column.expression.domain(schema).kind for column in persons.keys.columns]
    names = [f"k{index}" for index in range(len(kinds))]
    person = schema[str(persons.relation.person)].kind
    hashed = hash_of(
        mark(dialect, "r.p", person), *(mark(dialect, f"r.{n}", k) for n, k in zip(names, kinds, strict=True))
    )
    columns = [
        f"{told_apart(dialect, 'r.p', person)} AS p",
        f"{hashed} AS h",
        f"{sort_key([told_apart(dialect, f'r.{n}', k) for n, k in zip(names, kinds, strict=True)])} AS id",
        *(f"r.{name} AS {name}" for name in names),
    ]
    select = f"SELECT {', '.join(columns)} FROM {known_rows(printer, persons, declared)}"
    return Lines(select, ("p",), "id", tuple(names), persons.groups)


def units_statement(printer: Printer, persons: Persons, first: str, weights: str | None) -> str:
    """For the identity of each key, the number of persons that it counts for, or the sum of their weights."""
    if weights is None:
        return f"SELECT id, count(*) AS n FROM {first} GROUP BY id"
    counted = f"SELECT id, count(*) OVER (PARTITION BY p) AS m FROM {first}"
    given = f"SELECT c.id, x.w FROM ({counted}) AS c JOIN {weights} AS x ON c.m = x.m"
    return f"SELECT id, {total_weight(printer, persons)} AS n FROM ({given}) AS g GROUP BY id"


def keys_statement(table: str, units: str, width: int) -> str:
    """The keys that count for somebody, each with the number of persons or the sum of their weights."""
    names = ", ".join(f"any_value(l.k{index}) AS k{index}" for index in range(width))
    return f"SELECT {names}, any_value(u.n) AS n FROM {table} AS l JOIN {units} AS u ON l.id = u.id GROUP BY u.id"


def value_lines(printer: Printer, distinct: Distinct, coded: Coded) -> Lines:
    """The distinct values of each person in each group, with the columns code, id and v."""
    assert distinct.bounding is not None  # noqa: S101 (asked only then)
    schema, dialect = distinct.relation.schema, printer.dialect
    person, kind = schema[str(distinct.relation.person)].kind, distinct.of.domain(schema).kind
    found = f"({rows_of(printer, distinct)}) AS r{coded.joins(printer, 'r')} WHERE v0 IS NOT NULL"
    lines = f"SELECT r.p AS p, {coded.code()} AS code, r.v0 AS v FROM {found}"
    whose, group = mark(dialect, "p", person), mark(dialect, "code", Kind.INTEGER)
    columns = [
        f"{told_apart(dialect, 'p', person)} AS p",
        "code",
        f"{hash_of(whose, group)} AS g",
        f"{hash_of(whose, group, mark(dialect, 'v', kind))} AS h",
        f"{sort_key([told_apart(dialect, 'v', kind)])} AS id",
        "v",
    ]
    select = f"SELECT {', '.join(columns)} FROM ({lines}) AS l"
    return Lines(select, ("p", "code"), "id", ("v",), distinct.bounding.rows, distinct.bounding.groups)


def numbers_statement(first: str) -> str:
    """How many values count in each group."""
    return f"SELECT code, count(DISTINCT id) AS n FROM {first} GROUP BY code"


def row_lines(printer: Printer, scan: Scan) -> Lines:
    """The rows of each person, with the columns c0, c1 … of the table."""
    assert scan.most_rows_of_person is not None  # noqa: S101 (asked only then)
    dialect, named = printer.dialect, scan.table.columns
    person = dialect.identifier(str(scan.table.person))
    columns = [
        f"{told_apart(dialect, person, scan.table.schema[str(scan.table.person)].kind)} AS p",
        f"{printer.hash_of_row(scan)} AS h",
        *(f"{dialect.identifier(name)} AS c{place}" for place, (name, _) in enumerate(named)),
    ]
    select = f"SELECT {', '.join(columns)} FROM ({printer.stored(scan)}) AS t WHERE {person} IS NOT NULL"
    content = tuple(f"c{place}" for place in range(len(named)))
    return Lines(select, ("p",), "rowid", content, scan.most_rows_of_person, is_repeated=False)


def rows_statement(printer: Printer, scan: Scan, table: str, first: str) -> str:
    """The rows that count, under the names of the table."""
    named = enumerate(name for name, _ in scan.table.columns)
    columns = ", ".join(f"l.c{place} AS {printer.dialect.identifier(name)}" for place, name in named)
    return f"SELECT {columns} FROM {table} AS l SEMI JOIN {first} AS f ON l.rowid = f.id"
