"""Questions that can be asked as they are, made from the schema alone, and the names that an editor offers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = re.compile(r"[a-z_][a-z_0-9]*")
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "AS"),
    *("AND", "OR", "NOT", "BETWEEN", "CASE WHEN", "THEN", "ELSE", "END", "MEDIAN(", "LIMIT", "JOIN", "DATE_TRUNC("),
)
_ROWS = "10"
_NUMBERS = frozenset({"integer", "real", "decimal", "float"})


def examples(dataset: Mapping[str, Any]) -> list[str]:
    """Three questions: how many, how many in each group, and a mean."""
    table = dataset["tables"][0]
    name = quoted(table["name"])
    unit = dataset["unit"]
    grouped = next((c for c in table["columns"] if c.get("categories") and c["name"] != unit), None)
    number = next(
        (c for c in table["columns"] if c["kind"] in _NUMBERS and c.get("low") is not None and c["name"] != unit), None
    )
    found = [f"SELECT COUNT(*) AS n FROM {name}"]  # noqa: S608 (texts for people, which our own parser reads)
    if grouped is not None:
        key = quoted(grouped["name"])
        found.append(f"SELECT {key}, COUNT(*) AS n FROM {name} GROUP BY {key}")  # noqa: S608 (as above)
    if number is not None:
        column = quoted(number["name"])
        by = f"{quoted(grouped['name'])}, " if grouped is not None else ""
        end = f" GROUP BY {quoted(grouped['name'])}" if grouped is not None else ""
        found.append(f"SELECT {by}COUNT(*) AS n, AVG({column}) AS mean FROM {name}{end}")  # noqa: S608 (as above)
    if len(found) < 3 and unit is not None:
        found.append(f"SELECT COUNT(DISTINCT {quoted(unit)}) AS people FROM {name}")  # noqa: S608 (as above)
    return found


def cap_of_examples(dataset: Mapping[str, Any]) -> str:
    """The rows of a person that examples state where nothing else bounds them; empty if something does."""
    return "" if dataset["unit"] is None or (dataset["caps"] or {}).get("rows_per_person") else _ROWS


def words(dataset: Mapping[str, Any]) -> list[str]:
    """What an editor offers: names of tables and columns, declared categories, and the words of SQL."""
    tables = [*dataset["tables"], *dataset["public"]]
    names = [quoted(table["name"]) for table in tables]
    columns = [quoted(column["name"]) for table in tables for column in table["columns"]]
    return list(dict.fromkeys([*columns, *names, *_KEYWORDS]))


def quoted(name: str) -> str:
    """A name as SQL writes it.

    >>> print(quoted("region"), quoted('a "b" c'))
    region "a ""b"" c"
    """
    if _PLAIN.fullmatch(name):
        return name
    inside = name.replace('"', '""')
    return f'"{inside}"'
