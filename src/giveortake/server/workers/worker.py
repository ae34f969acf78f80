"""A worker: a process that can be killed at any moment, and holds a session with its engine, or the ledger.

It reads one request after the other from the socket that is its standard input, and ends when the front process does.
What was begun is finished first: the charge stands, and the answer is kept for whoever asks again with the same key.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake.errors import GiveOrTakeError, QueryFailed, line_of
from giveortake.server.responses import StaleTable
from giveortake.server.workers.framing import packed, receive
from giveortake.wire.errors import BY_NAME, document_of, refusal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Operation: TypeAlias = "Callable[[dict[str, Any]], dict[str, Any] | tuple[dict[str, Any], bytes]]"

_MODULES = {
    "session": "giveortake.server.workers.session_worker",
    "ledger": "giveortake.server.workers.ledger_worker",
    "tables": "giveortake.server.workers.table_worker",
}
_LOST = 70  # the exit code of a worker whose state cannot be trusted any more


def main() -> int:
    """Serve one front process until it is gone."""
    os.umask(0o077)  # nobody else reads what is written here
    connection = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    logging.getLogger("giveortake").addHandler(_defects)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the front process, which drains first
    try:
        task, _ = receive(connection)
    except (EOFError, OSError):
        return 0  # the front is gone already
    task["step_stored"] = lambda: connection.sendall(packed({"step": True}))
    try:
        _limit(task)
        operations: dict[str, Operation] = import_module(_MODULES[task["kind"]]).open_operations(task)
    except (GiveOrTakeError, OSError) as error:
        connection.sendall(packed({"failed": failure(error)}))
        return 1
    connection.sendall(packed({"ready": True}))
    while True:
        try:
            request, _ = receive(connection)
        except (EOFError, OSError):
            return 0
        reply, trusted = _reply_to(operations, request)
        try:
            connection.sendall(reply)
        except OSError:
            return 0  # as above: the answer is kept for whoever asks again
        if not trusted:
            return _LOST


def failure(error: GiveOrTakeError | OSError) -> dict[str, Any]:
    """Why this worker cannot start, as a message. System errors name a file, and never quote a row."""
    if isinstance(error, GiveOrTakeError):
        return {"message": error.message, "hint": error.hint}
    why = error.strerror or type(error).__name__
    hint = "may the user who runs the service read the table, and write the ledger, its folder and /tmp?"
    return {"message": why if error.filename is None else f"{error.filename}: {why}", "hint": hint}


def _limit(task: dict[str, Any]) -> None:
    """Bound the address space: memory that an engine's own limit does not count ends this process, not the machine."""
    space = task.get("address_space")
    if space is not None:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a picture of the memory would hold rows


def _reply_to(operations: dict[str, Operation], request: dict[str, Any]) -> tuple[bytes, bool]:
    """Run an operation; return the reply as bytes, and whether this process may go on.

    For an error that is none of ours only the class goes to the custodian's log: its message may quote rows.
    """
    try:
        reply = operations[request["operation"]](request)
        document, content = reply if isinstance(reply, tuple) else (reply, b"")
        return packed({"result": document}, content), True
    except GiveOrTakeError as error:
        cause, document = refusal_of(error, request.get("face", "service"))
        why = error.message if cause.name == "ledger" else None  # for the custodian alone
        refusal: dict[str, Any] = {
            "refused": cause.name,
            "document": document,
            "kind": type(error).__name__,
            "why": why,
        }
        if isinstance(error, QueryFailed) and error.cause == "defect":
            refusal |= {"defect": True, "kind": _defects.last}
        return packed(refusal), True
    except StaleTable:
        return packed({"stale": True, "ends": True}), False
    except MemoryError:
        return _internal("MemoryError", ends=True), False
    except Exception as error:  # noqa: BLE001 (told by its class alone)
        return _internal(f"{type(error).__name__} at {line_of(error)}", defect=True), True


def _internal(kind: str, *, ends: bool = False, defect: bool = False) -> bytes:
    """The reply about a mistake of ours; `ends` says that this process is asked nothing more."""
    refusal = {"refused": "internal", "document": document_of(BY_NAME["internal"]), "kind": kind}
    return packed({**refusal, "ends": ends, "defect": defect})


class _Defects(logging.Handler):
    """Keeps what the log says about the last defect: the front prints it where the custodian looks."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


_defects = _Defects(logging.ERROR)


if __name__ == "__main__":
    sys.exit(main())
