"""Releases by their ids: what was asked, what it cost, and whether its answer is there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, final

from giveortake.advice import Advice
from giveortake.errors import AccessDenied, LedgerDamaged, NotFound
from giveortake.exact import whole
from giveortake.ledger.digests import asked_of
from giveortake.ledger.entries import INDEX, RESTORE
from giveortake.ledger.events import event_from_dict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Reserved
    from giveortake.privacy.events import Event

_PAGE = 100  # numbers that are read at once


@final
@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """One charge: what was asked and what became of it. It holds no answer and no row.

    `asked` says the question in words, without its constants; `record` says it exactly, constants included: what the
    front end wrote down of the question, its plan and its terms, or None if a program charged without one.
    `request` identifies it. `settled` says whether its answer is there, `told` whether a counter has released a period,
    `failed` whether a failure was observed, and `free` whether it was asked before at this price, so that
    nobody was charged.
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
    free: bool = False
    told: bool = False

    @property
    def tables(self) -> int:
        """How many tables can be read by its id: those of a question, batch or workload, or a counter's so far.

        A run has none.
        """
        said = self.record if isinstance(self.record, dict) else {}
        if "counter" in said:
            return int(self.told)
        if not self.settled:
            return 0
        return int(said["workload"]["count"]) if "workload" in said else len(said.get("questions", ()))

    @property
    def readable(self) -> bool:
        """Whether it can be read by its id."""
        return self.tables > 0


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
    require_admitted(draft, analyst)
    start = None if after is None else number_of(draft, after, analyst)
    numbers = _numbers(draft, analyst, dataset, start, newest_first=newest_first)
    found = (draft.book.reservations.get(number) for number in numbers)
    return [record_of(draft, _require_of(each, analyst, dataset)) for each in islice(found, whole("limit", limit))]


def _numbers(
    draft: Draft, analyst: str | None, dataset: str | None, start: int | None, *, newest_first: bool
) -> Iterator[int]:
    """The numbers of reservations before or after one of them, in either order."""
    name = asked_of(analyst, dataset)
    listed = draft.book.lists.get(name)
    return iter(()) if listed is None else _listed(draft, name, listed.count, start, newest_first=newest_first)


def _listed(draft: Draft, name: str, count: int, start: int | None, *, newest_first: bool) -> Iterator[int]:
    """The same numbers, read page by page from a list in the database."""
    places = range(1, count + 1)
    if newest_first:
        last = count if start is None else bisect_left(places, start, key=lambda place: _at(draft, name, place))
        for stop in range(last, 0, -_PAGE):
            yield from reversed(_page(draft, name, max(stop - _PAGE, 0), stop))
    else:
        first = 0 if start is None else bisect_right(places, start, key=lambda place: _at(draft, name, place))
        for after in range(first, count, _PAGE):
            yield from _page(draft, name, after, min(after + _PAGE, count))


def _page(draft: Draft, name: str, after: int, stop: int) -> list[int]:
    rows = draft.listed(name, after, stop)
    if [place for place, _ in rows] != list(range(after + 1, stop + 1)):
        raise LedgerDamaged(INDEX, hint=RESTORE)
    return [number for _, number in rows]


def _at(draft: Draft, name: str, place: int) -> int:
    return _page(draft, name, place - 1, place)[0]


def _require_of(found: Reserved | None, analyst: str | None, dataset: str | None) -> Reserved:
    """Check that a listed release is of this analyst and data set: a wrong index shows nobody another's."""
    if found is None or found.dataset != (dataset or found.dataset) or analyst not in {None, found.analyst}:
        raise LedgerDamaged(INDEX, hint=RESTORE)
    return found


def number_of(draft: Draft, release: str, analyst: str | None) -> int:
    """The number of the reservation with this release id; another analyst's is as unknown as a false one."""
    require_admitted(draft, analyst)
    number = draft.book.ids.get(release)
    if number is None or (analyst is not None and draft.book.reservations[number].analyst != analyst):
        raise NotFound(f"there is no release {release!r}", hint=Advice("{releases} lists them"))
    return number


def require_admitted(draft: Draft, analyst: str | None) -> None:
    """Refuse an analyst who was revoked."""
    if analyst is not None and analyst in draft.book.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")


def record_of(draft: Draft, reserved: Reserved) -> ReleaseRecord:
    """What the ledger says about one charge."""
    entry = draft.stored(reserved.number)
    content = entry.content
    record = content.get("record")
    is_counter = isinstance(record, dict) and "counter" in record
    return ReleaseRecord(
        reserved.id,
        entry.at,
        reserved.analyst,
        reserved.dataset,
        reserved.version,
        event_from_dict(content["event"]),
        content.get("asked"),
        record,
        content["request"],
        content["key"],
        settled=reserved.answer is not None,
        failed=reserved.failed,
        free=not content["levels"],
        told=is_counter and draft.book.drawn(reserved.number, 0) is not None,
    )
