"""Releases by their ids: what was asked, what it cost, and whether its answer is there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import AccessDenied, NotFound
from giveortake.exact import whole
from giveortake.ledger.events import event_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.ledger.chain import Draft
    from giveortake.ledger.levels import Reserved
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """One charge: what was asked and what became of it. It holds no answer and no row.

    `asked` says the question in words, without its constants; `record` says it exactly, constants included: what the
    front end wrote down of the question, its plan and its terms, or None if a version before 0.2 was paid for it.
    `request` is what names it. `settled` says whether its answer is there, `failed` whether a failure was observed.
    """

    id: str
    at: str
    analyst: str | None
    dataset: str
    version: str
    event: Event
    asked: str | None
    record: Any
    request: Any
    key: str | None
    settled: bool
    failed: bool

    @property
    def reference(self) -> str:
        """What requests that refine it call it; see `Reservation.reference`."""
        dataset, slash, number = self.id.rpartition("/")
        return number if slash and dataset == self.dataset else self.id


def listed(
    draft: Draft,
    *,
    analyst: str | None,
    dataset: str | None,
    after: str | None,
    limit: int,
    newest_first: bool,
) -> list[ReleaseRecord]:
    """Releases after one of them, the oldest first or the newest: of everybody, or an analyst's own alone."""
    _require_admitted(draft, analyst)
    start = None if after is None else number_of(draft, after, analyst)
    found = (
        reserved
        for reserved in _from(draft, start, newest_first=newest_first)
        if (analyst is None or reserved.analyst == analyst) and (dataset is None or reserved.dataset == dataset)
    )
    return [record_of(draft, each) for each in islice(found, whole("limit", limit))]


def _from(draft: Draft, start: int | None, *, newest_first: bool) -> Iterator[Reserved]:
    reservations = draft.book.reservations
    if newest_first:
        return (each for each in reversed(reservations.values()) if start is None or each.number < start)
    return (each for each in reservations.values() if start is None or each.number > start)


def number_of(draft: Draft, release: str, analyst: str | None) -> int:
    """The reservation that a release id names. One of somebody else is as unknown as one that never was."""
    _require_admitted(draft, analyst)
    number = draft.book.ids.get(release)
    if number is None or (analyst is not None and draft.book.reservations[number].analyst != analyst):
        raise NotFound(f"there is no release {release!r}", hint="session.releases() lists them")
    return number


def _require_admitted(draft: Draft, analyst: str | None) -> None:
    if analyst is not None and analyst in draft.book.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")


def record_of(draft: Draft, reserved: Reserved) -> ReleaseRecord:
    """What the ledger says about one charge."""
    entry = draft.stored(reserved.number)
    content = entry.content
    return ReleaseRecord(
        reserved.id,
        entry.at,
        reserved.analyst,
        reserved.dataset,
        reserved.version,
        event_from_dict(content["event"]),
        content.get("asked"),
        content.get("record"),
        content["request"],
        content["key"],
        settled=reserved.answer is not None,
        failed=reserved.failed,
    )
