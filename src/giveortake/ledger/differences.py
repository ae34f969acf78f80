"""What differs between two definitions of the same thing, in words."""

from __future__ import annotations

from datetime import date
from typing import Any

from giveortake.errors import LedgerMismatch
from giveortake.ledger.promises import promise_from_json

_MOST_LISTED = 3  # columns that an error names


def other_domains(name: str, first: dict[str, Any], domains: object) -> LedgerMismatch:
    """The error about other domains than the ledger's: what differs, column by column, and what to do."""
    kept, said = _columns(first["domains"]), _columns(domains)
    differing = sorted(column for column in kept.keys() | said.keys() if kept.get(column) != said.get(column))
    listed = [f"{column}: {_difference(kept.get(column), said.get(column))}" for column in differing[:_MOST_LISTED]]
    more = len(differing) - len(listed)
    hint = (
        "domains cannot change once a question was charged: declare them as the ledger has them, or protect the table "
        f'under another name of the same population: name="{name}_2", population="{first["population"]}"'
    )
    return LedgerMismatch(
        f"the data set {name!r} is in the ledger with other domains: "
        f"{'; '.join(listed) or 'other tables'}{f'; and {more} more' if more else ''}",
        hint=hint,
    )


def _columns(domains: object) -> dict[str, Any]:
    """Domains by column; by table and column if there are several tables."""
    if not isinstance(domains, dict):
        return {} if domains is None else {"all": domains}
    tables = [each for each in domains.values() if isinstance(each, dict)]
    if len(tables) < len(domains) or not all(isinstance(each, dict) for table in tables for each in table.values()):
        return domains
    return {
        (f"{table}.{column}" if len(domains) > 1 else str(column)): domain
        for table, columns in domains.items()
        for column, domain in columns.items()
    }


def _difference(kept: Any, said: Any) -> str:
    if kept is None or said is None:
        return f"the ledger says {_domain(kept)}, you said {_domain(said)}"
    if isinstance(kept, dict) and isinstance(said, dict):
        ours, yours = kept.get("categories"), said.get("categories")
        if isinstance(ours, list) and isinstance(yours, list):
            gone, new = ([each for each in a if each not in b] for a, b in ((ours, yours), (yours, ours)))
            told = [
                *([f"you added {_listed(new)}; the ledger does not have {_them(new)}"] if new else ()),
                *([f"you left out {_listed(gone)}; the ledger has {_them(gone)}"] if gone else ()),
            ]
            if told:
                return "; ".join(told)
            if ours != yours:
                return "the categories have another order"
    texts = _domain(kept), _domain(said)
    if texts[0] == texts[1]:
        texts = short(kept), short(said)
    return f"the ledger says {texts[0]}, you said {texts[1]}"


def _domain(domain: Any) -> str:
    """A domain in words.

    >>> _domain({"kind": "real", "nullable": True, "low": "0", "high": "500"})
    'real, 0 to 500'
    >>> _domain({"kind": "date", "nullable": False, "low": "738886", "high": "738887"})
    'date, 2024-01-01 to 2024-01-02, never missing'
    >>> _domain({"kind": "text", "nullable": True, "categories": ["north", "south"]})
    'text, one of north, south'
    """
    if domain is None:
        return "nothing"
    if not isinstance(domain, dict) or "kind" not in domain:
        return short(domain)
    words = [str(domain["kind"])]
    if "low" in domain and "high" in domain:
        ends = [str(domain["low"]), str(domain["high"])]
        if domain["kind"] == "date":
            ends = [date.fromordinal(int(end)).isoformat() for end in ends]
        words.append(" to ".join(ends))
    if "categories" in domain:
        words.append(f"one of {_listed(domain['categories'])}")
    if "longest" in domain:
        words.append(f"at most {domain['longest']} characters")
    if "step" in domain:
        words.append(f"in steps of {domain['step']}")
    if not domain.get("nullable", True):
        words.append("never missing")
    return ", ".join(words)


def _listed(values: list[Any]) -> str:
    shown = ["NULL" if value is None else str(value) for value in values[: 2 * _MOST_LISTED]]
    return ", ".join(shown) + (", …" if len(values) > len(shown) else "") if shown else "nothing"


def _them(values: list[Any]) -> str:
    return "it" if len(values) == 1 else "them"


def short(value: object, limit: int = 120) -> str:
    """A value as an error quotes it, cut to `limit` characters."""
    if isinstance(value, dict) and "promise" in value:
        under = "" if value.get("neighbours") == "add-remove" else " under change-one"
        return str(promise_from_json(value)).partition(" (")[0] + under
    text = "none" if value is None else repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
