"""Routes by which a custodian adds a table: list files, read a header and types, and serve a file as a data set."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import GiveOrTakeError, InvalidParameter, SameTable
from giveortake.server import routes
from giveortake.server.responses import Refusal
from giveortake.server.routes import NUMBER, TEXT, TRUTH, Call, Result, Route, listed, maybe, object_of, text
from giveortake.server.settings import Settings
from giveortake.server.workers.pool import Worker, WorkerFailed
from giveortake.wire.errors import refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.server.service import Service

NO_FOLDER = "No folder is set up from which tables may be added"
HOW = 'folders = ["incoming"] in [server] of the configuration, and a restart'


async def files(call: Call) -> Result:
    """Files that may be added, by their names."""
    return await _looked(call, "files")


async def columns(call: Call) -> Result:
    """The columns of a file that may be added, by header and types."""
    return await _looked(call, "columns", **call.body)


async def add(call: Call) -> Result:
    """Put a file behind a budget, and serve it from now on.

    The section is written beside the configuration and opened by a worker of its own, which registers the table in the
    ledger with who added it; only if that succeeds does the section become part of the configuration, in one step.
    """
    async with call.service.adding:
        name: str = call.body["name"]
        if name in call.service.pools:
            raise refusal(call, InvalidParameter("name", name, "is taken", hint="choose another"))
        section = await _looked(call, "section", **call.body)
        by = f"token {call.who.token}"
        try:
            await _served(call.service, name, section["toml"], by)
        except GiveOrTakeError as error:
            raise refusal(call, error) from None
        return {"name": name, "toml": section["shown"], "served": True}


async def _served(service: Service, name: str, section: str, by: str) -> None:
    toml = service.settings.toml
    before = toml.read_text(encoding="utf-8")
    stamp = f"# added on {datetime.now(UTC):%Y-%m-%d} by {by}"
    whole = f"{before.rstrip()}\n\n{stamp}\n{section}"
    draft = _written_beside(toml, whole)
    try:
        _require_readable(draft, name)
        first = await _opened({**service.settings.session_task(name), "toml": str(draft), "by": by}, name)
        try:
            _accepted(toml, before, draft)
        except BaseException:
            await first.end()
            raise
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    await service.add(name, first)


def _require_readable(draft: Path, name: str) -> None:
    """Check a draft as a configuration. No refusal names the draft, which nobody else should look for."""
    try:
        Settings.read(draft)
    except GiveOrTakeError as error:
        message = error.message.replace(str(draft), "the configuration").replace(draft.name, "the configuration")
        raise InvalidParameter("table", name, f"is refused: {message}", hint=error.hint) from None


def _accepted(toml: Path, before: str, draft: Path) -> None:
    """Replace the configuration by the draft that was made from it, unless it was changed meanwhile."""
    with _alone(toml):  # another service of this configuration may be adding one too
        if toml.read_text(encoding="utf-8") != before:
            raise SameTable("the configuration was changed meanwhile", hint="look at it, and add the table once more")
        draft.replace(toml)


async def _opened(task: dict[str, Any], name: str) -> Worker:
    """Start a worker that holds the table; if it cannot open it, the custodian is told why."""
    try:
        return await Worker.start(task)
    except WorkerFailed as failed:
        message = failed.message.replace(task["toml"], "the configuration")
        raise InvalidParameter("table", name, f"cannot be opened: {message}", hint=failed.hint) from None


@contextmanager
def _alone(toml: Path) -> Iterator[None]:
    """Keep other services from changing the configuration for a moment."""
    folder = os.open(toml.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _written_beside(toml: Path, content: str) -> Path:
    """Write a draft in the folder of the configuration, with its mode, hidden by its name."""
    handle, path = tempfile.mkstemp(prefix=".giveortake-", suffix=".toml", dir=toml.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    Path(path).chmod(toml.stat().st_mode & 0o777)
    return Path(path)


async def _looked(call: Call, operation: str, **arguments: Any) -> dict[str, Any]:
    """Ask the process that looks into the folders."""
    if not call.service.settings.folders:
        raise refusal(
            call, InvalidParameter("folders", None, f"is missing: {NO_FOLDER[:1].lower()}{NO_FOLDER[1:]}", hint=HOW)
        )
    try:
        return await call.service.ask_tables(operation, face=call.face, **arguments)
    except WorkerFailed as failed:
        raise refusal(call, failed) from None


def refusal(call: Call, error: GiveOrTakeError) -> Refusal:
    """An error of ours as the refusal that is sent."""
    return Refusal(*refusal_of(error, call.face))


_FILE = text(1000)
_DOMAIN = object_of(
    kind={"type": "string", "enum": ["text", "integer", "real", "date"]},
    low=NUMBER,
    high=NUMBER,
    values=listed(NUMBER, 10_000),
    longest=routes.COUNT,
)
_DOMAINS = {"type": "object", "additionalProperties": _DOMAIN, "maxProperties": 1000}
TABLE = object_of(
    *("file", "name", "unit", "budget"),
    file=_FILE,
    table=text(200),
    name=text(63),
    unit=text(200),
    budget=routes.BUDGET,
    population=text(200),
    new_population=text(200),
    rows_per_person=routes.COUNT,
    domains=_DOMAINS,
)
_COLUMN = object_of("name", "kind", name=TEXT, kind=maybe(TEXT))

ROUTES = (
    Route(
        *("GET", "/v1/tables", "custodian", "files that may be added, by their names", files),
        result=object_of("folders", "files", folders=listed(TEXT), files=listed(TEXT)),
    ),
    Route(
        *("POST", "/v1/tables/columns", "custodian", "header and types of a file; no row is looked at", columns),
        body=object_of("file", file=_FILE, table=text(200)),
        result=object_of("columns", columns=listed(_COLUMN)),
    ),
    Route(
        *("POST", "/v1/tables", "custodian", "put a file behind a budget, and serve it", add),
        body=TABLE,
        result=object_of("name", "toml", "served", name=TEXT, toml=TEXT, served=TRUTH),
    ),
)
