"""Reading a ledger: releases, standings, entries page by page, and verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.exact import whole
from giveortake.ledger import releases, reservations
from giveortake.ledger.digests import entries_of as entries_by
from giveortake.ledger.office import Office
from giveortake.ledger.standings import Standings, standing_of
from giveortake.ledger.verification import Verification, used_of, verifying
from giveortake.ledger.views import View

if TYPE_CHECKING:
    from collections.abc import Generator
    from fractions import Fraction

    from giveortake.ledger.entries import Entry
    from giveortake.ledger.releases import ReleaseRecord
    from giveortake.ledger.reservations import Reservation


class Records(Office):
    """The reading calls of a ledger. They change nothing, and do not block writers where that can be avoided."""

    def release(self, release: str, *, analyst: str | None = None) -> Reservation:
        """The reservation that the id of a release names, with its answer.

        With `analyst`, a release of somebody else is as unknown as one that never existed.
        """
        with self.chain.looking() as draft:
            return reservations.released(draft, release, analyst)

    def profiles(
        self, dataset: str, *, version: str, analyst: str | None = None, before: int | None = None
    ) -> list[tuple[Any, str, Any]]:
        """The request, id and stored answer of each profile that the asker's own levels paid for, the newest first.

        With `before`, those that were there before the entry of that number.
        """
        with self.chain.looking() as draft:
            return reservations.profiles(draft, dataset, analyst, version, before)

    def releases(
        self,
        *,
        analyst: str | None = None,
        dataset: str | None = None,
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[ReleaseRecord]:
        """Releases, at most `limit` after the one with that id: an analyst's own, or all."""
        with self.chain.looking() as draft:
            return releases.listed(
                draft, analyst=analyst, dataset=dataset, after=after, limit=limit, newest_first=newest_first
            )

    def release_record(self, release: str, *, analyst: str | None = None) -> ReleaseRecord:
        """What was asked and charged under the id of a release."""
        with self.chain.looking() as draft:
            number = releases.number_of(draft, release, analyst)
            return releases.record_of(draft, draft.book.reservations[number])

    def levels(self, *, analyst: str | None = None, dataset: str | None = None) -> Standings:
        """Every level, in the order in which they were registered; or an analyst's own, on one data set or on all."""
        with self.chain.looking() as draft:
            if analyst is None:
                return Standings(standing_of(draft, level) for level in draft.book.levels.values())
            if dataset is not None:
                draft.book.dataset_for(dataset, analyst)
            return Standings(standing_of(draft, grant.level) for grant in draft.book.grants_of(analyst, dataset))

    def history(self) -> list[Entry]:
        """Every entry, in order, each checked against its hash and the one before it. `entries` reads page by page."""
        return self.entries(limit=max(self._view().head, 1))

    def entries(self, *, analyst: str | None = None, after: int | None = None, limit: int = 1000) -> list[Entry]:
        """Entries with numbers greater than `after`, at most `limit`; an analyst's are numbered among themselves.

        A revoked analyst is refused; their entries stay among everybody's.

        Entries are read page by page, without blocking writers.
        """
        found: list[Entry] = []
        wanted, last = whole("limit", limit), after or 0
        while len(found) < wanted:
            view = self._view(analyst)  # anew for every page: checkpoints move on
            with self.chain.glancing() as reader:
                if analyst is None:
                    page = view.entries(reader, last, wanted - len(found))
                else:
                    page = view.of_analyst(reader, analyst, last, wanted - len(found))
            found += page
            if not page or page[-1].number == (view.head if analyst is None else view.owned):
                break
            last = page[-1].number
        return found

    def burn_down(self) -> dict[int, list[tuple[int, Fraction]]]:
        """For the number of each level: the used share of its budget, from 0 to 1, after each entry that changed it."""
        with self.chain.looking() as draft:
            levels = {number: level.used for number, level in draft.book.levels.items() if level.budget is not None}
            head = draft.book.head.number
        with self.chain.glancing() as reader:
            shares = {level: used_of(reader, level, head, hashed) for level, hashed in levels.items()}
        return {level: steps for level, steps in shares.items() if steps}

    def verify(self) -> Verification:
        """Read everything again and recompute it: hashes, order, every filter decision, every snapshot, the mark.

        Every checkpoint and every index is compared with what follows from the entries before it.
        """
        steps = self.verifying()
        while True:
            try:
                next(steps)
            except StopIteration as done:
                found: Verification = done.value
                return found

    def verifying(self) -> Generator[tuple[int, int], None, Verification]:
        """Verify as `verify` does, step by step: yield how many entries were checked, and of how many."""
        with self.chain.looking() as draft:  # and derive it after that, so that writers need not wait
            head = draft.book.head
            states = {number: draft.state_of(level) for number, level in draft.book.levels.items()}
        with self.chain.glancing() as reader:
            return (yield from verifying(reader, states, head))

    def _view(self, analyst: str | None = None) -> View:
        with self.chain.looking() as draft:
            book = draft.book
            if analyst is None:
                return View(book.hashes, book.head.number)
            releases.require_admitted(draft, analyst)
            levels = frozenset(grant.level.number for grant in book.grants_of(analyst))
            owned = book.lists.get(entries_by(analyst))
            return View(book.hashes, book.head.number, levels, 0 if owned is None else owned.count)
