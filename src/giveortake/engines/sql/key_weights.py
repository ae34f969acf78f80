"""The statement that finds keys by the weights that each person divides among their own keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.sql.hashes import hash_of, mark

if TYPE_CHECKING:
    from giveortake.engines.questions import Persons
    from giveortake.engines.sql.relations import Printer


def weighted_statement(printer: Printer, persons: Persons, lines: str, table: str) -> str:
    """One row for each key that occurs: its values k0, k1 … and the sum of the weights that persons give it.

    `lines` are rows (p, k0, k1 …), and `table` holds for each number m of keys the weight w of one of them. Only the
    keys of persons with more than may count are put in order, by a hash of the person and the key's values.
    """
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    names = ", ".join(keys)
    pairs = f"SELECT DISTINCT p, {names} FROM ({printer.dialect.by_person(lines)}) AS l"
    given = weights_given(printer, persons, pairs, names=names, order=order_of_keys(printer, persons), table=table)
    return f"SELECT {names}, {total_weight(printer, persons)} AS n FROM ({given}) AS g GROUP BY {names}"


def weights_given(printer: Printer, persons: Persons, pairs: str, *, names: str, order: str, table: str) -> str:
    """Rows of a key and the weight that one person gives it; `pairs` are the distinct keys of each person p."""
    most = persons.groups
    place = f"row_number() OVER (PARTITION BY p ORDER BY {order}) AS place"
    few = f"SELECT {names}, x.w AS w FROM counted AS c JOIN {table} AS x ON c.m = x.m"
    ranked = f"SELECT {names}, {place} FROM counted WHERE m > {most}"
    many = f"SELECT {names}, {least_weight(persons)} AS w FROM ({ranked}) AS r WHERE place <= {most}"
    return f"WITH counted AS ({printer.dialect.with_groups(pairs)}) {few} UNION ALL {many}"


def least_weight(persons: Persons) -> str:
    """The weight that a person with more keys than count gives to each."""
    assert persons.weights is not None  # noqa: S101 (asked only then)
    return f"CAST({persons.weights[-1]} AS BIGINT)"


def total_weight(printer: Printer, persons: Persons) -> str:
    """The sum of weights."""
    assert persons.weights is not None  # noqa: S101 (asked only then)
    return printer.dialect.total("w", persons.weights[0])


def order_of_keys(printer: Printer, persons: Persons) -> str:
    """The order that decides which of a person's keys count: by a hash of person and key, then by the key's values."""
    schema = persons.relation.schema
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    kinds = [column.expression.domain(schema).kind for column in persons.keys.columns]
    marks = [mark(printer.dialect, key, kind) for key, kind in zip(keys, kinds, strict=True)]
    hashed = hash_of(mark(printer.dialect, "p", schema[str(persons.relation.person)].kind), *marks)
    return ", ".join([hashed, *(f"{key} NULLS LAST" for key in keys)])
