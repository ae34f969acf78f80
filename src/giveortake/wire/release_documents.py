"""Releases, approvals and ledger entries as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.errors import GiveOrTakeError
from giveortake.ledger import Entry, ReleaseRecord
from giveortake.ledger.chain.entries import event_from_dict

if TYPE_CHECKING:
    from giveortake.ledger import Approval


def release_document(record: ReleaseRecord) -> dict[str, Any]:
    """A release as a document: the question in words and exactly, and whether its answer can be read."""
    return {
        "id": record.id,
        "at": record.at,
        "analyst": record.analyst,
        "dataset": record.dataset,
        "version": record.version,
        "asked": record.asked,
        "key": record.key,
        "settled": record.settled,
        "failed": record.failed,
        "free": record.free,
        "told": record.told,
        "readable": record.readable,
        "tables": record.tables,
        "event": record.event.to_dict(),
        "questions": _questions(record.record),
        "request": record.request,
        "record": record.record,
    }


def release_of(document: dict[str, Any]) -> ReleaseRecord:
    """The release record in a document."""
    names = ("id", "at", "analyst", "dataset", "version", "asked", "record", "request", "key", "settled", "failed")
    more = {name: document.get(name, False) for name in ("free", "told")}
    return ReleaseRecord(event=event_from_dict(document["event"]), **more, **{name: document[name] for name in names})


def asked_document(approval: Approval) -> dict[str, Any]:
    """A large spend that needs approval: who asks, what, at what price, and what was decided."""
    names = ("request", "state", "at", "analyst", "dataset", "version", "asked", "reason", "by", "decided", "expires")
    told = {name: getattr(approval, name) for name in names}
    price = _price(approval)
    return {**told, "price": price, "event": approval.event.to_dict(), "questions": _questions(approval.record)}


def _price(approval: Approval) -> str | None:
    """What would be charged, as a promise in one line; None if there is no such promise."""
    try:
        return str(approval.event.guarantee()).partition(" (")[0]
    except GiveOrTakeError:
        return None


def _questions(record: Any) -> list[dict[str, Any]]:
    found = record.get("questions", []) if isinstance(record, dict) else []
    return [_question(each) for each in found]


def _question(said: dict[str, Any]) -> dict[str, Any]:
    return {"sql": said.get("sql"), "spend": said["spend"], "caps": said.get("caps")}


def entry_document(entry: Entry) -> dict[str, Any]:
    """One entry of the ledger, as the asker may see it."""
    return {"number": entry.number, "kind": entry.kind, "at": entry.at, "content": dict(entry.content)}


def entry_of(document: dict[str, Any]) -> Entry:
    """The entry in a document, without hashes, which only the custodian sees."""
    return Entry(document["number"], document["kind"], document["at"], "", document["content"], "", "")
