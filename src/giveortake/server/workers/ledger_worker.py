"""The operations of ledger workers: authentication, and what the custodian decides. They have no table."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import ledger as ledgers
from giveortake.configuration import parse_budget
from giveortake.errors import AccessDenied, NotFound
from giveortake.ledger.rules.reservations import revealed
from giveortake.ledger.state import verification
from giveortake.wire.documents import approval_document, entry_document, level_document, release_document

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from giveortake.ledger import Approval, BudgetStatus, Ledger
    from giveortake.ledger.rules.budgets import Spent
    from giveortake.ledger.state.verification import Verification
    from giveortake.privacy import Guarantee
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
    names = _may_ask(book, principal.analyst, request["datasets"])
    return {"principal": {**asdict(principal), "datasets": names}}


def _may_ask(book: Ledger, analyst: str | None, datasets: list[str]) -> list[str]:
    """The data sets among these that an analyst was granted; a revoked one learns it when asking."""
    if analyst is None:
        return datasets
    granted = book.granted(analyst)
    return [name for name in datasets if name in granted]


def tokens(book: Ledger, _request: Request) -> dict[str, Any]:
    """Every token, without secrets."""
    return {"tokens": [{**asdict(token), "valid": token.is_valid} for token in book.tokens()]}


def issue_token(book: Ledger, request: Request) -> dict[str, Any]:
    """Issue a token, whose text is shown only once."""
    name, text = book.issue_token(
        role=request["role"], analyst=request.get("name"), expires=request.get("expires"), by=request["by"]
    )
    return {"id": name, "token": text}


def revoke_token(book: Ledger, request: Request) -> dict[str, Any]:
    """Revoke a token: it lets nobody in from now on."""
    book.revoke_token(request["token"], reason=request["reason"], by=request["by"])
    return {"revoked": request["token"]}


# -- who may ask ------------------------------------------------------------------------------------------------------


def levels(book: Ledger, _request: Request) -> dict[str, Any]:
    """Every level, with its budget and what is left of it."""
    return {"levels": [level_document(book, level) for level in book.levels()]}


def populations(book: Ledger, request: Request) -> dict[str, Any]:
    """The population that each data set is about."""
    with book.chain.looking() as transaction:
        return {"populations": {name: transaction.state.dataset(name).population for name in request["datasets"]}}


def analysts(book: Ledger, request: Request) -> dict[str, Any]:
    """Every analyst, revoked or not, with their budgets."""
    names = dict.fromkeys(level.name for level in book.levels() if level.kind == "analyst")
    return {"analysts": [_analyst(book, name, request["datasets"]) for name in names]}


def _analyst(book: Ledger, name: str, known: list[str]) -> dict[str, Any]:
    levels = [level_document(book, level) for level in book.levels() if (level.kind, level.name) == ("analyst", name)]
    datasets = _may_ask(book, name, known)
    return {"name": name, "datasets": datasets, "levels": levels, "revoked": _is_revoked(book, name, datasets)}


def _is_revoked(book: Ledger, name: str, datasets: list[str]) -> bool:
    try:
        for dataset in datasets:
            book.levels(analyst=name, dataset=dataset)
    except AccessDenied:
        return True
    return False


def add_analyst(book: Ledger, request: Request) -> dict[str, Any]:
    """Let somebody ask, within an allotment."""
    standing = book.analyst(
        request["name"],
        datasets=request["datasets"],
        budget=_budget(request.get("budget")),
        approval_above=_budget(request.get("approval_above")),
        failures=request.get("failures"),
        questions=request.get("questions"),
        by=request["by"],
    )
    return level_document(book, standing)


def revoke_analyst(book: Ledger, request: Request) -> dict[str, Any]:
    """Revoke an analyst, who is told nothing from now on."""
    book.revoke(request["name"], reason=request["reason"], by=request["by"])
    return {"name": request["name"], "revoked": True}


def readmit_analyst(book: Ledger, request: Request) -> dict[str, Any]:
    """Take the revocation of an analyst back."""
    book.readmit(request["name"], reason=request["reason"], by=request["by"])
    return {"name": request["name"], "revoked": False}


def change_budget(book: Ledger, request: Request) -> dict[str, Any]:
    """Replace a promise by a new one."""
    budget: Guarantee | Spent | None = "spent" if request["budget"] == "spent" else _budget(request["budget"])
    assert budget is not None  # noqa: S101 (the route demands one)
    level = _level(book, request["level"])
    return level_document(book, book.change_budget(level, budget, reason=request["reason"], by=request["by"]))


# -- what waits, what failed, and whether all is well -----------------------------------------------------------------


def approvals(book: Ledger, request: Request) -> dict[str, Any]:
    """Large spends: the question, the price, and what that would leave to the caller."""
    approvals = book.approvals(waiting=request["waiting"])
    return {"approvals": [approval_document(approval) | _outlook(book, approval) for approval in approvals]}


def own_approvals(book: Ledger, request: Request) -> dict[str, Any]:
    """The caller's own large spends to a data set, and what was decided."""
    name, analyst = request["dataset"], request["analyst"]
    book.levels(analyst=analyst, dataset=name)  # who was revoked is told nothing
    approvals = [approval for approval in book.approvals(analyst=analyst) if approval.dataset == name]
    documents = map(approval_document, approvals)
    return {"approvals": [{name: document[name] for name in document if name != "by"} for document in documents]}


def _outlook(book: Ledger, approval: Approval) -> dict[str, Any]:
    """The used share of the caller's own budget now, and after this spend; None where that cannot be said."""
    nothing = {"share": None, "share_after": None, "fits": None}
    if approval.state == "used":
        return nothing
    try:
        levels = book.levels(analyst=approval.analyst, dataset=approval.dataset)
        own = next(level for level in levels if approval.analyst is not None and level.budget is not None)
        trial = book.trial(own, dataset=approval.dataset, analyst=approval.analyst)
    except (AccessDenied, NotFound, StopIteration):
        return nothing
    if trial is None:
        return nothing
    after = trial.after(approval.event)
    return {
        "share": float(trial.share),
        "share_after": None if after is None else float(after.share),
        "fits": after is not None,
    }


def approve(book: Ledger, request: Request) -> dict[str, Any]:
    """Let one large spend through, once."""
    book.approve(request["request"], reason=request["reason"], expires=request.get("expires"), by=request["by"])
    return {"request": request["request"], "state": "approved"}


def deny(book: Ledger, request: Request) -> dict[str, Any]:
    """Refuse one large spend."""
    book.deny(request["request"], reason=request["reason"], by=request["by"])
    return {"request": request["request"], "state": "denied"}


def failures(book: Ledger, _request: Request) -> dict[str, Any]:
    """How many failures each caller has observed, and what these can reveal."""
    failures = book.failures()
    listed = [
        {**asdict(failure), "bits": float(failure.bits), "revealed": float(failure.revealed)} for failure in failures
    ]
    return {"failures": listed, "revealed": float(revealed(failures))}


def fail(book: Ledger, request: Request) -> dict[str, Any]:
    """Count a failure, by its key, that the caller is about to be told; the worker is gone and cannot count it."""
    since = datetime.fromisoformat(request["since"])
    book.fail_key(request["key"], analyst=request["analyst"], since=since, defect=request["defect"])
    return {}


def reset_failures(book: Ledger, request: Request) -> dict[str, Any]:
    """Allow as many failures again."""
    book.reset_failures(_level(book, request["level"]), reason=request["reason"], by=request["by"])
    return {"level": request["level"]}


def entries(book: Ledger, request: Request) -> dict[str, Any]:
    """A page of the whole ledger."""
    limit = request["limit"]
    entries = book.entries(after=request["after"], limit=limit + 1)
    return {"entries": [entry_document(entry) for entry in entries[:limit]], "more": len(entries) > limit}


def all_releases(book: Ledger, request: Request) -> dict[str, Any]:
    """A page of everybody's releases, the newest first."""
    limit = request["limit"]
    releases = book.releases(after=request["after"], limit=limit + 1, newest_first=True)
    return {"releases": [release_document(release) for release in releases[:limit]], "more": len(releases) > limit}


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


def _budget(fields: dict[str, Any] | None) -> Guarantee | None:
    return None if fields is None else parse_budget(fields)


def _level(book: Ledger, number: int) -> BudgetStatus:
    for level in book.levels():
        if level.number == number:
            return level
    raise NotFound(f"there is no level {number}")


OPERATIONS: dict[str, Callable[[Ledger, Request], dict[str, Any]]] = {
    operation.__name__: operation
    for operation in (
        *(probe, authenticate, tokens, issue_token, revoke_token),
        *(levels, populations, analysts, add_analyst, revoke_analyst, readmit_analyst, change_budget),
        *(approvals, own_approvals, approve, deny, fail, failures, reset_failures, entries, all_releases),
    )
}
