"""The operations of the process that looks at files: list them, read their columns, and write a section for one.

It reads names and types. No row is looked at, and nothing outside the folders that the configuration allows.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.configuration import SERVER, configurations, section_text
from giveortake.engines.duckdb.tables import columns_of
from giveortake.engines.protocol import is_address
from giveortake.errors import InvalidParameter, NotFound
from giveortake.exact import rational
from giveortake.plan import Kind
from giveortake.session.protection import WORD_FOR_ROWS, require_no_column_called_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.workers.worker import Operation

    Request: TypeAlias = dict[str, Any]


SUFFIXES = (".csv", ".tsv", ".parquet", ".duckdb")
_MOST_FILES = 500
_DEEPEST = 4  # folders below a folder
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_GREATEST = 10**300  # of a bound
_NUMBERS = frozenset({"integer", "real", "decimal"})
_KINDS = frozenset({"text", "integer", "real", "date"})  # that cells of a CSV file may be read as
_EXAMPLES = {"date": "2024-12-31", "timestamp": "2024-12-31", "integer": "500"}
_NOT_THERE = "list them with GET /v1/tables; a link that leads out of the folder counts as not there"


def open_operations(task: dict[str, Any]) -> dict[str, Operation]:
    """The operations on the folders that may be looked into."""
    allowed = AllowedFolders(Path(task["toml"]), tuple(Path(folder).resolve(strict=True) for folder in task["folders"]))
    return {name: partial(operation, allowed) for name, operation in OPERATIONS.items()}


@final
@dataclass(frozen=True, slots=True)
class AllowedFolders:
    """A configuration, and the folders below which tables may be added to it."""

    toml: Path
    folders: tuple[Path, ...]

    def resolve(self, path: str) -> Path:
        """The file that a path means, below one of the folders.

        Guarantee: whatever is said, the path that is given back lies below an allowed folder after every link was
        followed, and is a regular file. What is elsewhere and what is not there are refused alike.
        """
        for folder in self.folders:
            file = _resolved(folder, path)
            if file is not None and file.is_relative_to(folder) and stat.S_ISREG(file.stat().st_mode):
                return file
        raise NotFound("there is no such file below the folders of [server]", hint=_NOT_THERE)


def _resolved(folder: Path, text: str) -> Path | None:
    path = Path(text)
    if path.is_absolute() or ".." in path.parts or not text.isprintable() or not text.lower().endswith(SUFFIXES):
        return None
    try:
        return (folder / path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def files(allowed: AllowedFolders, _request: Request) -> dict[str, Any]:
    """List the files in the folders: their names, and nothing that is in them."""
    paths: dict[str, None] = {}
    for folder in allowed.folders:
        for where, inside, names in os.walk(folder):  # which follows no links
            here = Path(where).relative_to(folder)
            inside[:] = sorted(name for name in inside if len(here.parts) < _DEEPEST and not name.startswith("."))
            for name in sorted(names):
                path = (here / name).as_posix()
                if not name.startswith(".") and _is_there(allowed, path):
                    paths[path] = None
            if len(paths) > _MOST_FILES:
                break
    return {"folders": [folder.name for folder in allowed.folders], "files": list(paths)[:_MOST_FILES]}


def _is_there(allowed: AllowedFolders, path: str) -> bool:
    try:
        allowed.resolve(path)
    except (NotFound, OSError):
        return False
    return True


def columns(allowed: AllowedFolders, request: Request) -> dict[str, Any]:
    """The names and kinds of a file's columns, by header and types alone; null where cells are text."""
    kinds = columns_of(allowed.resolve(request["file"]), request.get("table"))
    return {"columns": [{"name": name, "kind": None if kind is None else str(kind)} for name, kind in kinds.items()]}


def section(allowed: AllowedFolders, request: Request) -> dict[str, Any]:
    """The section of a configuration for a table, as the request describes it; it is checked, and not stored yet."""
    name, file = request["name"], allowed.resolve(request["file"])
    if not _NAME.fullmatch(name) or name.casefold() == SERVER:
        raise InvalidParameter("name", name, "cannot be the name of a table", hint="letters, digits and _: trips_2024")
    known = configurations(allowed.toml)
    if name.casefold() in {section_name.casefold() for section_name in known}:
        raise InvalidParameter("name", name, "is taken", hint="choose another")
    kinds = columns_of(file, request.get("table"))
    if request["unit"] not in {*kinds, "row"}:
        raise InvalidParameter("unit", request["unit"], "is not a column", hint=f"one of {', '.join(kinds)}; or row")
    if request["unit"] == WORD_FOR_ROWS:
        require_no_column_called_row(kinds)
    fields: dict[str, Any] = {"source": _source(allowed.toml, file)}
    if request.get("table"):
        fields["table"] = request["table"]
    fields |= {"unit": request["unit"], "budget": request["budget"]}
    for option in ("population", "new_population", "rows_per_person"):
        if request.get(option):
            fields[option] = request[option]
    first = tomllib.loads(allowed.toml.read_text(encoding="utf-8"))[next(iter(known))]
    fields |= {option: first[option] for option in ("ledger", "mark") if option in first}
    domains = {column: _domain(column, declared, kinds) for column, declared in request.get("domains", {}).items()}
    shown_fields = {
        key: "…" if key in {"ledger", "mark"} and is_address(value) else value for key, value in fields.items()
    }
    return {"toml": section_text(name, fields, domains), "shown": section_text(name, shown_fields, domains)}


def _source(toml: Path, file: Path) -> str:
    """The path of a file as the configuration states it: relative if the file is below the configuration's folder."""
    folder = toml.parent.resolve()
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else str(file)


def _domain(column: str, declared: dict[str, Any], kinds: dict[str, Kind | None]) -> dict[str, Any]:
    """The domain of a column, as a configuration states it."""
    if column not in kinds:
        raise InvalidParameter("domains", column, "is not a column", hint=f"one of {', '.join(kinds)}")
    kind = str(kinds[column] or declared.get("kind") or Kind.TEXT)
    if kinds[column] is None and kind not in _KINDS:
        raise InvalidParameter(f"domains.{column}", kind, "is not a kind of cell", hint=", ".join(sorted(_KINDS)))
    values, low, high = declared.get("values"), declared.get("low"), declared.get("high")
    if values:
        return {"categories": [_plain(column, value, kind) for value in values]}
    if low is not None and high is not None:
        whole = {"integer": True} if kind == "integer" else {}
        return {"bounds": [_plain(column, low, kind), _plain(column, high, kind)], **whole}
    if kind == "text" and declared.get("longest") is not None:
        return {"max_length": declared["longest"]}
    raise InvalidParameter(
        f"domains.{column}",
        kind,
        "needs values, or both bounds",
        hint="what is known without looking at the table; else leave the column out",
    )


def _plain(column: str, value: Any, kind: str) -> Any:
    """A value of a column, as a configuration holds it: a number, a date or a text."""
    if kind in _NUMBERS:
        return _number(column, value, kind)
    if kind not in {"date", "timestamp"}:
        return str(value)
    try:
        return dt.date.fromisoformat(str(value).strip())
    except ValueError:
        raise _misfit(column, value, kind) from None


def _number(column: str, value: Any, kind: str) -> int | float:
    try:
        number = rational(column, str(value).strip())
    except InvalidParameter:
        raise _misfit(column, value, kind) from None
    if abs(number) > _GREATEST:
        raise _misfit(column, value, kind)
    return number.numerator if number.denominator == 1 else float(number)


def _misfit(column: str, value: Any, kind: str) -> InvalidParameter:
    return InvalidParameter(f"domains.{column}", value, f"is not of type {kind}", hint=_EXAMPLES.get(kind, "10.5"))


OPERATIONS: dict[str, Callable[[AllowedFolders, Request], dict[str, Any]]] = {
    operation.__name__: operation for operation in (files, columns, section)
}
