"""Domains in a TOML file: what is written there otherwise than in Python, refused with how it is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.exact import rational
from giveortake.session.configuration_text import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

_CELLS = frozenset({".csv", ".tsv", ".txt"})  # files in which an empty text is a missing value


def problem(
    column: str, said: object, keys: Iterable[str], section: str, files: Iterable[str]
) -> tuple[str, str] | None:
    """What is wrong with the domain of a column as a TOML file states it, and how it is written; None if nothing is."""
    name = column if column.isidentifier() else quoted(column)
    listed = said.get("categories") if isinstance(said, Mapping) else said
    if isinstance(said, list) and len(said) == 2 and all(map(_is_number, said)):
        return "could be bounds or categories", f"{name} = {{ bounds = {said} }}, or {{ categories = {said} }}"
    if column in keys and not isinstance(said, list | Mapping):
        return "is no column of the table", f"move it above [{section}.domains]"
    if isinstance(listed, list) and "" in listed and any(Path(file).suffix.lower() in _CELLS for file in files):
        told = "leave it out: rows without a value are in no group, and WHERE … IS NULL counts them"
        return "lists an empty text, and an empty cell of a CSV file is a missing value", told
    bounds = said.get("bounds") if isinstance(said, Mapping) else None
    return None if not isinstance(bounds, list) else _of_bounds(name, bounds)


def _of_bounds(name: str, bounds: list[Any]) -> tuple[str, str] | None:
    if bounds and all(isinstance(end, bool) for end in bounds):
        return "has true and false as bounds", f"{name} = [true, false]"
    if not bounds or not all(isinstance(end, str) for end in bounds):
        return None
    with suppress(InvalidParameter):
        for end in bounds:
            rational("bounds", end)
        numbers = ", ".join(bounds)
        return "has texts as bounds", f"numbers have no quotes: {name} = {{ bounds = [{numbers}] }}"
    with suppress(ValueError):
        for end in bounds:
            dt.datetime.fromisoformat(end)
        return None
    return "has texts as bounds", f"dates are written {name} = {{ bounds = [2025-01-01, 2025-12-31] }}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
