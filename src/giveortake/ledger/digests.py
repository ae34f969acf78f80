"""Digests and names that follow from an entry: of its request, question and approval, and of the lists it is in."""

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
    """The name of a list of reservations: of everybody or one analyst, to all data sets or one."""
    return canonical(["asked", analyst, dataset])


_ASKED = ("analyst", "dataset", "event", "key", "question", "request")


def request_digest(content: Mapping[str, Any]) -> str:
    """A digest of everything that was asked, but not when: what an idempotency key is bound to."""
    return digest(canonical({name: content.get(name) for name in _ASKED}))


def approval_digest(content: Mapping[str, Any]) -> str:
    """A digest of what an approval covers: what was asked, of which version; with `any_key`, without the key."""
    names = (name for name in (*_ASKED, "version") if not (name == "key" and "any_key" in content))
    return digest(canonical({name: content.get(name) for name in names}))


def approval_digests(content: Mapping[str, Any]) -> tuple[str, str]:
    """The digests under which a spend may have been approved: without its key, and with it."""
    return approval_digest({**content, "any_key": True}), approval_digest(content)


def question_digest(content: Mapping[str, Any]) -> str | None:
    """A digest of a question, its data set and version, and what was spent; None if it has no name."""
    if content["question"] is None:
        return None
    return digest(canonical({name: content[name] for name in ("dataset", "event", "question", "version")}))


def charges(entry: Entry) -> Iterator[tuple[int, Any]]:
    """The levels that an entry charges, each with the event in its own unit, as JSON."""
    if entry.kind in {"reserved", "restored"}:
        for level, grouped in entry.content["levels"].items():
            yield int(level), grouped or entry.content["event"]
