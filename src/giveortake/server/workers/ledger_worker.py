"""What ledger workers do: authentication, the operations of custodians and auditors, failures. They have no table."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import ledger as ledgers
from giveortake.errors import NotFound
from giveortake.ledger import verification
from giveortake.operations import BY_NAME
from giveortake.wire.documents import approval_document

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from giveortake.ledger import Ledger
    from giveortake.ledger.verification import Verification
    from giveortake.server.workers.worker import Operation


Request: TypeAlias = "dict[str, Any]"
_TURN = 1.0  # seconds of a check at each call


def open_operations(task: dict[str, Any]) -> dict[str, Operation]:
    """Open the ledger, which has to exist, and return the operations on it."""
    book = ledgers.open(task["ledger"], mark=task["mark"], create=False)
    return {name: partial(operation, book) for name, operation in OPERATIONS.items()} | {"check": Check(book)}


def probe(book: Ledger, _request: Request) -> dict[str, Any]:
    """Find out whether a charge could be written now."""
    verification.probe(book)
    return {}


# -- who speaks -------------------------------------------------------------------------------------------------------


def authenticate(book: Ledger, request: Request) -> dict[str, Any]:
    """Whom a token lets in, and which data sets they may ask."""
    principal = book.authenticate(request["token"])
    if principal is None:
        return {"principal": None}
    datasets: list[str] = request["datasets"] if principal.role == "custodian" else []
    if principal.analyst is not None:  # one who was revoked learns it when asking
        granted = book.granted(principal.analyst)
        datasets = [name for name in request["datasets"] if name in granted]
    return {"principal": {**asdict(principal), "datasets": datasets}}


def run(book: Ledger, request: Request) -> dict[str, Any]:
    """One operation of the table, in the name of the token that asks for it."""
    return BY_NAME[request["name"]].parse(request["arguments"]).run(book, request["by"])


def own_approvals(book: Ledger, request: Request) -> dict[str, Any]:
    """The caller's own large spends to a data set, and what was decided."""
    name, analyst = request["dataset"], request["analyst"]
    book.levels(analyst=analyst, dataset=name)  # who was revoked is told nothing
    approvals = [approval for approval in book.approvals(analyst=analyst) if approval.dataset == name]
    documents = map(approval_document, approvals)
    return {"approvals": [{name: document[name] for name in document if name != "by"} for document in documents]}


def fail(book: Ledger, request: Request) -> dict[str, Any]:
    """Count a failure, by its key or its release, that the caller is about to be told: the worker is gone."""
    if request["release"] is not None:
        with suppress(NotFound):
            book.fail_release(request["release"], analyst=request["analyst"], defect=request["defect"])
        return {}
    since = datetime.fromisoformat(request["since"])
    book.fail_key(request["key"], analyst=request["analyst"], since=since, defect=request["defect"])
    return {}


@final
class Check:
    """A verification of the ledger, some of it at each call: everything is read again, and derived anew."""

    def __init__(self, book: Ledger) -> None:
        self._book = book
        self._steps: Generator[tuple[int, int], None, Verification] | None = None

    def __call__(self, _request: Request) -> dict[str, Any]:
        """Go on for about a second; return how far it is, and what it found once it is done."""
        steps, until = self._steps or self._book.verifying(), time.monotonic() + _TURN
        self._steps = None  # an error ends it
        try:
            while True:
                checked, entries = next(steps)
                if time.monotonic() >= until:
                    self._steps = steps
                    return {"checked": checked, "entries": entries}
        except StopIteration as done:
            return {"checked": done.value.entries, "entries": done.value.entries, "result": asdict(done.value)}


OPERATIONS: dict[str, Callable[[Ledger, Request], dict[str, Any]]] = {
    operation.__name__: operation for operation in (probe, authenticate, run, own_approvals, fail)
}
