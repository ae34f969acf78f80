"""Ledgers beside a table's file: two of them would give the same people two budgets."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from giveortake.engines.registry import is_address
from giveortake.errors import SameTable, shown

MEMORY = ":memory:"  # where a ledger is kept that forgets


def usual_ledger(file: str) -> str:
    """Where the command line keeps the ledger of a file unless it is told otherwise."""
    return f"{file}.ledger"


def require_no_other_ledger(files: list[str], ledger: str | None, *, section: str, configuration: Path) -> None:
    """Refuse a section about a file that has a ledger beside it, unless the section names that one, or forgets all."""
    if ledger == MEMORY:
        return
    for file in files:
        beside = usual_ledger(file)
        if os.path.lexists(beside) and not (ledger is not None and _is_same(ledger, beside)):
            known = Path(os.path.relpath(beside, configuration.parent)).as_posix()
            named = "names no ledger" if ledger is None else f"keeps its ledger at {shown(ledger)}"
            raise SameTable(
                f"[{section}] of {configuration} {named}, and {known} holds a budget of that table already",
                hint=f'write ledger = "{known}" there; if that one is about other people, move it elsewhere',
            )


def require_no_other_configuration(file: str) -> None:
    """Refuse the usual ledger of a file if a TOML file beside it keeps another one about the same file."""
    for configuration in sorted(Path(file).absolute().parent.glob("*.toml")):
        for section, ledger in _ledgers_of(configuration, file):
            if ledger != MEMORY and not _is_same(ledger, usual_ledger(file)):
                raise SameTable(
                    f"[{section}] of {configuration.name} keeps the budget of {file} at {shown(ledger)}, and this "
                    f"would begin another one at {usual_ledger(file)}",
                    hint=f"ask {configuration.name} instead of {file}; or say --ledger, if the people are others",
                )


def files_of(source: Any) -> list[str]:
    """Every file that a section reads; addresses are none."""
    if isinstance(source, str):
        return [] if is_address(source) else [source]
    parts = source.values() if isinstance(source, Mapping) else source
    return [file for part in parts for file in files_of(part)]


def beside(configuration: Path, text: str) -> str:
    """A path as a TOML file means it: relative to itself."""
    return text if is_address(text) else str(configuration.parent / Path(text).expanduser())


def _ledgers_of(configuration: Path, file: str) -> list[tuple[str, str]]:
    """The sections of a TOML file about that file, and their ledgers. What is no configuration has none."""
    try:
        content = tomllib.loads(configuration.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # somebody else's file: whoever opens it as a configuration is told what is wrong
        return []
    found = []
    for name, section in content.items():
        if not isinstance(section, Mapping) or not _reads(configuration, section.get("source"), file):
            continue
        ledger = section.get("ledger")
        if isinstance(ledger, str):
            found.append((name, ledger if ledger == MEMORY else beside(configuration, ledger)))
        elif os.path.lexists(usual_ledger(str(configuration))):
            found.append((name, usual_ledger(str(configuration))))
    return found


def _reads(configuration: Path, source: object, file: str) -> bool:
    if isinstance(source, str):
        return not is_address(source) and _is_same(beside(configuration, source), file)
    parts = source.values() if isinstance(source, Mapping) else source if isinstance(source, list) else ()
    return any(_reads(configuration, part, file) for part in parts)


def _is_same(one: str, other: str) -> bool:
    return not is_address(one) and os.path.realpath(one) == os.path.realpath(other)
