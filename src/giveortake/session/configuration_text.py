"""Write configurations as TOML text, for `configuration` to read, without invisible characters."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from giveortake.answers.text import printable


def quoted(text: str) -> str:
    r"""A text as a TOML string, with invisible characters escaped.

    >>> print(quoted('a "b"'), quoted("tab\there"), quoted("\u202eevil"), quoted("naïve"))
    "a \"b\"" "tab\u0009here" "\u202eevil" "naïve"
    """
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in {'"', "\\"}:
        return f"\\{letter}"
    if printable(letter) == letter and letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"


def section_text(name: str, said: Mapping[str, Any], domains: Mapping[str, Any]) -> str:
    """A section of a configuration: the declarations about a table, and about its columns.

    >>> print(section_text("trips", {"unit": "user", "budget": {"epsilon": "1"}}, {"fare": {"bounds": [0, 500]}}))
    [trips]
    unit = "user"
    budget = { epsilon = "1" }
    <BLANKLINE>
    [trips.domains]
    "fare" = { bounds = [0, 500] }
    <BLANKLINE>
    """
    lines = [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in said.items())]
    if domains:
        lines += ["", f"[{name}.domains]", *(f"{quoted(column)} = {_value(each)}" for column, each in domains.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | dt.date():
            return str(value) if not isinstance(value, dt.datetime) else value.isoformat()
        case str():
            return quoted(value)
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(type(value).__name__)
