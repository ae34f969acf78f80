"""Statements that DuckDB alone runs: rows as numbers that are tallied here, and keys by codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.sql.hashes import hash_of, mark
from giveortake.engines.sql.key_weights import total_weight, weights_given
from giveortake.engines.sql.statements import rows_of, steps_of

if TYPE_CHECKING:
    from giveortake.engines.questions import Persons, Tally
    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Expression, Relation


def lines_statement(printer: Printer, tally: Tally, coded: Coded) -> str:
    """Every row as numbers: its person, its code, and the steps of each summand that has some (`sorted_tallies`)."""
    inner = rows_of(printer, tally)
    columns = ["r.p AS p", f"{coded.code()} AS code"]
    for index, summand in enumerate(tally.summands):
        if summand.quantum is not None:
            columns.append(f"coalesce({steps_of(printer, tally.relation, summand, index)}, 0) AS a{index}")
        elif summand.reads_values:
            columns.append(f"CAST(r.v{index} IS NOT NULL AS TINYINT) AS a{index}")
    return f"SELECT {', '.join(columns)} FROM ({inner}) AS r{coded.joins(printer, 'r')}"


def number_of_rows_statement(printer: Printer, relation: Relation) -> str:
    """The number of rows of a relation, which nobody is told."""
    return f"SELECT count(*) FROM ({printer.relation(relation, ())}) AS t"


def persons_statement(printer: Printer, persons: Persons, coded: Coded, weights: str | None = None) -> str:
    """One row for each key that occurs: code, number of units that it was kept for, or the sum of their weights.

    Of each person the first `groups` keys count, by a hash of the person and the key's `marks`, which its values alone
    decide. Codes do not: they are places in lists that other people's rows make longer. Hash and code are one number,
    the hash in front, so that equal hashes are ordered by code; a longer list changes no two values' order. Memory
    follows the keys that persons have, never the number that they may have.
    """
    inner = rows_of(printer, persons)
    code = coded.code()
    rows = f"({inner}) AS r{coded.joins(printer, 'r')}"
    if persons.relation.person is None:  # a row has one key, and few rows come from one row of the table
        return f"SELECT {code} AS code, count(*) FROM {rows} GROUP BY ALL"
    kind, bits = ("BIGINT", 32) if coded.is_small else ("HUGEINT", 63)
    ordered = f"(CAST({_key_hash(printer, persons, coded)} AS {kind}) << {bits}) + {code}"
    pairs = f"SELECT DISTINCT r.p AS p, {ordered} AS ordered FROM {rows}"
    if weights is not None:
        given = weights_given(printer, persons, pairs, names="ordered", order="ordered", table=weights)
        place = f"CAST(ordered & {2**bits - 1} AS BIGINT)"
        return f"SELECT {place} AS code, {total_weight(printer, persons)} FROM ({given}) AS g GROUP BY {place}"
    first = f"list_slice(list_sort(list(ordered)), 1, {persons.groups})"
    kept = f"CASE WHEN count(*) <= {persons.groups} THEN list(ordered) ELSE {first} END"
    chosen = f"SELECT unnest({kept}) & {2**bits - 1} AS code FROM ({pairs}) AS t GROUP BY p"
    return f"SELECT CAST(code AS BIGINT) AS code, count(*) FROM ({chosen}) AS t GROUP BY code"


def person_lines_statement(printer: Printer, persons: Persons, coded: Coded) -> str:
    """Every row as numbers: its person and its code (`sorted_keys`)."""
    inner = rows_of(printer, persons)
    return f"SELECT r.p AS p, {coded.code()} AS code FROM ({inner}) AS r{coded.joins(printer, 'r')}"


def values_statement(printer: Printer, relation: Relation, of: Expression) -> str:
    """The values of a key column that occur, in order."""
    value, rows = printer.expression(of, relation.schema), printer.relation(relation, of.columns())
    return f"SELECT DISTINCT {value} AS value FROM ({rows}) AS t ORDER BY value NULLS LAST"


def _key_hash(printer: Printer, persons: Persons, coded: Coded) -> str:
    relation = persons.relation
    return hash_of(mark(printer.dialect, "r.p", relation.schema[str(relation.person)].kind), *coded.marks())
