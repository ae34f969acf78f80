"""Rewrite examples in hints, which are about `trips`, for a table of the session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from giveortake.advice import Advice

if TYPE_CHECKING:
    from giveortake.plan import Catalog
    from giveortake.plan.domains import Domain

_NAMES = re.compile(r"\b(trips|user_id|amount|region)\b")


def about_own_table(hint: str, catalog: Catalog) -> str:
    """The hint for the first private table: its person, a bounded number, and a column with known values.

    Names without a counterpart, and names that the table has itself, stay as they are.
    """
    if not catalog.private:
        return hint
    table, relation = next(iter(catalog.private.items()))
    schema, person = relation.schema, relation.person
    columns = {name: domain for name, domain in schema.items() if name != person}
    found = {
        "trips": table if "trips" not in catalog.private else None,
        "user_id": person,
        "amount": next((name for name, each in columns.items() if _is_bounded(each)), None),
        "region": next((name for name, each in columns.items() if each.categories is not None), None),
    }

    def own(match: re.Match[str]) -> str:
        name = found[match[0]]
        return match[0] if name is None or match[0] in schema else in_sql(name)

    def write(text: str) -> str:
        return _NAMES.sub(own, text)

    return hint.rewritten(write) if isinstance(hint, Advice) else write(hint)


def name_without_quotes(text: str, catalog: Catalog) -> str | None:
    """A column with blanks in its name that a text names without quotes around it; None if there is none."""
    names = {name for relation in catalog.private.values() for name in relation.schema if " " in name.strip()}
    for name in sorted(names):
        if re.search(rf"(?<![\w\"'`]){re.escape(name)}(?![\w\"'`])", text, re.IGNORECASE):
            return name
    return None


def _is_bounded(domain: Domain) -> bool:
    return domain.kind.is_number and domain.low is not None and domain.high is not None


def in_sql(name: str) -> str:
    """A name as SQL writes it, in quotes if needed.

    >>> in_sql("fee"), in_sql("Fee (EUR)")
    ('fee', '"Fee (EUR)"')
    """
    return name if name.isidentifier() else f'"{name.replace(chr(34), chr(34) * 2)}"'
