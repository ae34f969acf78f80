"""`publish`: write settled releases, with margins, promises and caps, to where other programs read them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final
from uuid import uuid4

from giveortake.engines.duckdb.tables import without_metadata, write_parquets
from giveortake.engines.protocol import is_address
from giveortake.errors import HIDDEN, InvalidParameter, NotFound
from giveortake.exact import counted
from giveortake.publication.databases import ABOUT, duckdb_schema, postgres_schema, write
from giveortake.publication.tables import CATALOGUE, LONGEST, PROVENANCE_COLUMNS, catalogue, collected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.answers import Answer
    from giveortake.publication.tables import LeftOut, PublishedTable, Releasing


_SCHEMA = "giveortake"
_SERVERS = ("postgresql://", "postgres://")
_DATABASES = frozenset({".duckdb", ".ddb", ".db"})
_ONE_TABLE = frozenset({".parquet", ".pq", ".csv"})
_WORKBOOKS = frozenset({".xlsx", ".xls", ".ods"})
_PAGES = frozenset({".html", ".htm"})
_WHERE = (
    "answers.parquet or answers.csv for one table, answers/ for a folder of them, answers.duckdb, or "
    "postgresql://…/database"
)
_PUBLISHED = re.compile(  # a header's end
    rb"(_[0-9]+)?,".join(map(str.encode, PROVENANCE_COLUMNS)) + rb"(_[0-9]+)?\s*$"
)
_FOREIGN = "exists, and was not published by giveortake"


@final
@dataclass(frozen=True, slots=True)
class Publication:
    """What was written: the names of tables with what was asked, and the releases left out and why."""

    tables: tuple[tuple[str, str], ...]
    left_out: tuple[LeftOut, ...]
    catalogue: bool = True

    def __str__(self) -> str:
        number = counted(len(self.tables), "table")
        lines = [
            f"{number} and a catalogue, {CATALOGUE}, are published" if self.catalogue else f"{number} is published"
        ]
        lines += [f"  {name}: {' '.join(query.split())}" for name, query in self.tables]
        lines += [f"  not {omission.release_id}: {omission.why}" for omission in self.left_out]
        return "\n".join(lines)


def publish(
    session: Releasing,
    to: str | Path,
    *,
    release: str | Sequence[str] | None = None,
    schema: str = _SCHEMA,
) -> Publication:
    """Write the releases of a session where other programs read them: an analyst's own, or all of the custodian's.

    `to` is a Parquet or CSV file for one table, a folder for a Parquet file each, a DuckDB file, or the URL of a
    PostgreSQL database; of the latter two, `schema` is what they are written into. `release` names one release, or
    some. Each table has the ends of intervals, margins, promise and caps as columns, and says what they are in comments
    (Parquet: in its metadata `giveortake`; CSV has none). The table `releases` lists them all, and what holds no table
    and why. Publishing again replaces what was published, in one transaction, and nothing else. No budget is spent:
    everything was paid.
    """
    destination = str(to)
    if not schema or len(schema.encode()) > LONGEST or not schema.isprintable():
        raise InvalidParameter("schema", schema, "cannot be the name of a schema", hint='schema="answers"')
    write_to = _writer(destination, schema)
    tables, omissions = collected(session, release)
    if not tables:
        reason = f": {omissions[0].why}" if omissions else ""
        raise NotFound(f"there is nothing to publish{reason}", hint="session.releases() lists what was paid for")
    write_to(tables, omissions)
    listed = tuple((published.name, published.query) for published in tables)
    return Publication(listed, tuple(omissions), catalogue=Path(destination).suffix.lower() not in _ONE_TABLE)


def _writer(destination: str, schema: str) -> Callable[[list[PublishedTable], list[LeftOut]], None]:
    """The function that writes to a destination, chosen before anything is read."""
    if destination.startswith(_SERVERS):
        return lambda tables, omissions: _into_postgres(destination, schema, tables, omissions)
    if is_address(destination):
        raise InvalidParameter("to", HIDDEN, "is an address of a kind that is not known", hint=_WHERE)
    path = Path(destination)
    if path.suffix.lower() in _DATABASES:
        return lambda tables, omissions: _into_duckdb(path, schema, tables, omissions)
    if path.suffix.lower() in _ONE_TABLE:
        return lambda tables, _omissions: _into_file(path, tables)
    if path.suffix.lower() in _WORKBOOKS:
        csv = path.with_suffix(".csv")
        raise InvalidParameter("to", destination, "is a workbook, and none is written", hint=f"spreadsheets open {csv}")
    if path.is_dir() or destination.endswith(("/", os.sep)):
        return lambda tables, omissions: _into_folder(path, tables, omissions)
    if path.suffix.lower() in _PAGES:
        hint = f'report(session, id, "{destination}"); `--report {destination}` of the command'
        raise InvalidParameter("to", destination, "is a page, which is made of one release", hint=hint)
    raise InvalidParameter("to", destination, "has a name that does not say what to write", hint=_WHERE)


def _into_postgres(address: str, schema: str, tables: list[PublishedTable], omissions: list[LeftOut]) -> None:
    with postgres_schema(address, schema) as target:
        write(target, tables, omissions)


def _into_duckdb(path: Path, schema: str, tables: list[PublishedTable], omissions: list[LeftOut]) -> None:
    with duckdb_schema(path, schema) as target:
        write(target, tables, omissions)


def _into_file(path: Path, tables: list[PublishedTable]) -> None:
    if len(tables) != 1:
        ids = [published.record.id for published in tables]
        single = min(ids, key=ids.count, default="ID")  # a release with one table, if there is one
        raise InvalidParameter(
            "to",
            str(path),
            f"can hold one table, and there are {len(tables)}",
            hint=f'release="{single}" publishes one; {path.with_suffix("")}/ is a folder of all',
        )
    if path.suffix.lower() == ".csv":
        _replace_csv(path, str(tables[0].table.to_csv()).encode("utf-8-sig"))  # by which spreadsheets know UTF-8
    else:
        _replace([(path, tables[0].table, tables[0].metadata)])


def _replace_csv(path: Path, content: bytes) -> None:
    """Write a CSV file whole or not at all; an existing file is replaced only if it was published by us."""
    try:
        if path.exists():
            with path.open("rb") as file:
                if not _PUBLISHED.search(file.readline(1 << 20)):
                    raise InvalidParameter("to", str(path), _FOREIGN, hint="name another file")
        draft = _draft_of(path)
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError:
        raise InvalidParameter("to", str(path), "cannot be written", hint="does its folder exist?") from None


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid4().hex}.draft")


def _into_folder(folder: Path, tables: list[PublishedTable], omissions: list[LeftOut]) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        raise InvalidParameter("to", str(folder), "cannot be made", hint="does the folder above it exist?") from None
    catalogue_table, _ = catalogue(tables, omissions)
    files = [(folder / f"{published.name}.parquet", published.table, published.metadata) for published in tables]
    _replace([*files, (folder / f"{CATALOGUE}.parquet", catalogue_table, f'{{"about": "{ABOUT}"}}')])


def _replace(files: Sequence[tuple[Path, Answer, str]]) -> None:
    """Write files, and move each into place once all are whole; only published files are replaced."""
    foreign = without_metadata(path for path, _, _ in files if path.exists())
    if foreign is not None:
        raise InvalidParameter("to", str(foreign), _FOREIGN, hint="name another file")
    drafts = [_draft_of(path) for path, _, _ in files]
    try:
        write_parquets((draft, table, metadata) for draft, (_, table, metadata) in zip(drafts, files, strict=True))
        for draft, (path, _, _) in zip(drafts, files, strict=True):
            draft.replace(path)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)
