"""The statement that finds keys by weights, as Spark runs it best: a person's keys in one array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.sql import key_weights, statements
from giveortake.engines.sql.hashes import hash_of, mark
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.engines.questions import Persons
    from giveortake.engines.sql.relations import Printer

MOST_IN_ARRAY = 1 << 24  # bytes of one person's keys that are held at once
FEW_ROWS = 1 << 6  # of a person, whose keys may always be held
_OF_ROW = 1 << 9  # bytes that a key takes besides its texts


def heavy_statement(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> str:
    """Persons p whose keys may exceed `MOST_IN_ARRAY` bytes: for n rows of short keys, at most n / 32,768."""
    texts = [f"k{place}" for place, kind in enumerate(_kinds(persons)) if kind is Kind.TEXT]
    octets = "".join(f" + coalesce(sum({printer.dialect.octets(text)}), 0)" for text in texts)
    lines = _lines(printer, persons, declared)
    return f"SELECT p FROM ({lines}) AS l GROUP BY p HAVING count(*) * {_OF_ROW}{octets} > {MOST_IN_ARRAY}"


def weighted_statement(
    printer: Printer, persons: Persons, declared: Mapping[int, str], table: str, heavy: str | None
) -> str:
    """One row for each key that occurs: the same keys and sums as from `engines.sql.key_weights`.

    `heavy` is a table of the persons whose keys no array holds; None says that there are none. Theirs are put in
    order by windows, which need no memory that grows with one person's keys.
    """
    names = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
    lines = _lines(printer, persons, declared)
    given = _weights_of_arrays(printer, persons, lines if heavy is None else _joined("LEFT ANTI", lines, heavy))
    if heavy is not None:
        given += f" UNION ALL ({_weights_by_windows(printer, persons, _joined('LEFT SEMI', lines, heavy), table)})"
    return f"SELECT {names}, {key_weights.total_weight(printer, persons)} AS n FROM ({given}) AS g GROUP BY {names}"


def _lines(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> str:
    """Rows (p, k0, k1 …): the keys of each person."""
    listed = ", ".join(f"r.k{index} AS k{index}" for index in range(len(persons.keys.columns)))
    return f"SELECT r.p AS p, {listed} FROM {statements.known_rows(printer, persons, declared)}"


def _joined(how: str, lines: str, heavy: str) -> str:
    return f"SELECT * FROM ({lines}) AS l {how} JOIN {heavy} AS h ON l.p = h.p"


def _weights_of_arrays(printer: Printer, persons: Persons, lines: str) -> str:
    """Rows of a key and the weight that one person gives it, from an array of each person's distinct keys.

    Spark compares values as they are stored, so equal doubles are made to be stored alike: a set that held 0 and −0
    would count a person twice for one key. Values of other kinds are stored alike whenever they are equal.
    """
    assert persons.weights is not None  # noqa: S101 (asked only then)
    kinds = _kinds(persons)
    stored = ", ".join(f"{_plain(printer, f'k{i}', kind)} AS k{i}" for i, kind in enumerate(kinds))
    sets = f"SELECT p, collect_set(struct({stored})) AS s FROM ({lines}) AS l GROUP BY p"
    weights = ", ".join(f"{weight}L" for weight in persons.weights)
    weight = f"element_at(array({weights}), least(size(s), {persons.groups}))"
    counting = f"CASE WHEN size(s) > {persons.groups} THEN {_first(printer, persons)} ELSE s END"
    names = ", ".join(f"x.k{i} AS k{i}" for i in range(len(kinds)))
    return f"SELECT {names}, w FROM (SELECT explode({counting}) AS x, {weight} AS w FROM ({sets}) AS t) AS u"


def _first(printer: Printer, persons: Persons) -> str:
    """The keys of an array that count, in the order of `engines.sql.key_weights`; what is missing comes last."""
    kinds = _kinds(persons)
    person = mark(printer.dialect, "p", persons.relation.schema[str(persons.relation.person)].kind)
    hashed = hash_of(person, *(mark(printer.dialect, f"x.k{i}", kind) for i, kind in enumerate(kinds)))
    values = "".join(f", x.k{i} IS NULL AS n{i}, x.k{i} AS k{i}" for i in range(len(kinds)))
    ordered = f"sort_array(transform(s, x -> struct({hashed} AS h{values})))"
    names = ", ".join(f"y.k{i} AS k{i}" for i in range(len(kinds)))
    return f"transform(slice({ordered}, 1, {persons.groups}), y -> struct({names}))"


def _plain(printer: Printer, column: str, kind: Kind) -> str:
    zero = printer.dialect.double(0)
    return f"CASE WHEN {column} = {zero} THEN {zero} ELSE {column} END" if kind is Kind.REAL else column


def _kinds(persons: Persons) -> list[Kind]:
    schema = persons.relation.schema
    return [column.expression.domain(schema).kind for column in persons.keys.columns]


def _weights_by_windows(printer: Printer, persons: Persons, lines: str, table: str) -> str:
    names = ", ".join(f"k{index}" for index in range(len(persons.keys.columns)))
    pairs = f"SELECT DISTINCT p, {names} FROM ({printer.dialect.by_person(lines)}) AS l"
    order = key_weights.order_of_keys(printer, persons)
    return key_weights.weights_given(printer, persons, pairs, names=names, order=order, table=table)
