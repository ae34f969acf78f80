"""Names that follow from what an entry says: of a request, of a question, of an approval, and of the lists it is in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from giveortake.ledger.entries import canonical, digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.ledger.entries import Entry


@lru_cache(maxsize=1024)
def entries_of(analyst: str) -> str:
    """The name of the list of an analyst's entries."""
    return canonical(["entries", analyst])


@lru_cache(maxsize=1024)
def asked_of(analyst: str | None, dataset: str | None) -> str:
    """The name of the list of reservations, of everybody or of one analyst, of all data sets or of one."""
    return canonical(["asked", analyst, dataset])


_ASKED = ("analyst", "dataset", "event", "key", "question", "request")


def request_digest(content: Mapping[str, Any]) -> str:
    """What an idempotency key stands for, in 64 characters: everything that was asked, but not when."""
    return digest(canonical({name: content.get(name) for name in _ASKED}))


def approval_digest(content: Mapping[str, Any]) -> str:
    """What an approval is for: what was asked, of which version of the data; with `any_key`, under whatever key."""
    names = (name for name in (*_ASKED, "version") if not (name == "key" and "any_key" in content))
    return digest(canonical({name: content.get(name) for name in names}))


def approval_digests(content: Mapping[str, Any]) -> tuple[str, str]:
    """The names under which a spend may have been approved: whatever its key is, and by its key."""
    return approval_digest({**content, "any_key": True}), approval_digest(content)


def question_digest(content: Mapping[str, Any]) -> str | None:
    """What a stored answer answers: the question, the data version it was asked of, and what was spent on it."""
    if content["question"] is None:
        return None
    return digest(canonical({name: content[name] for name in ("dataset", "event", "question", "version")}))


def charges(entry: Entry) -> Iterator[tuple[int, Any]]:
    """The levels that an entry charges, each with the event in its own unit, as JSON."""
    if entry.kind in {"reserved", "restored"}:
        for level, grouped in entry.content["levels"].items():
            yield int(level), grouped or entry.content["event"]
