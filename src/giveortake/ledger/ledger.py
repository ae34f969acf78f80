"""The ledger: what was promised to whom, what was charged, and what was answered, for good."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, final

from giveortake.errors import ApprovalRequired, InvalidParameter, LedgerMismatch, NotFound
from giveortake.ledger import registering, spending
from giveortake.ledger.spending import Reservation, Waiting
from giveortake.ledger.verifying import Verification, burn_down, verified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from giveortake.ledger.book import Book, Level
    from giveortake.ledger.chain import Chain
    from giveortake.ledger.draft import Draft
    from giveortake.ledger.entries import Entry
    from giveortake.privacy import Guarantee, Unit
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True)
class Standing:
    """What a level may spend and has spent, at the moment it was asked for. Without a budget it only counts."""

    number: int
    kind: str
    name: str
    unit: Unit
    budget: Guarantee | None
    spent: Any
    remaining: Any
    share: Fraction | None
    closed: bool


@final
class Ledger:
    """An append-only, hash-chained record of budgets, charges and answers; see `gt.ledger.open`.

    Guarantee: a charge is in the ledger, durably and at every level, before `reserve` returns, and an answer before
    `settle` returns it. Whatever crashes, in whatever order: a released answer is charged once, no level exceeds its
    budget, and a ledger that has forgotten something is refused, not believed.

    Threads may share a ledger. A child process that inherits one opens its own connection.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        with chain.looking():
            pass  # reads and checks every entry

    # -- who is protected, what they hold, who may ask --------------------------------------------------------

    def population(
        self,
        name: str,
        *,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        approval_above: Guarantee | None = None,
    ) -> Standing:
        """The people protected and their budget: registered now, or found registered exactly so."""
        with self.chain.changing() as draft:
            registering.population(draft, name, budget, unit, approval_above)
        return self._standing(lambda book: book.population(name))

    def dataset(
        self,
        name: str,
        *,
        population: str | None = None,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        rows_per_person: int | None = None,
        domains: object = None,
        fingerprint: str | None = None,
        version: str = "1",
        owner_confirms: str | None = None,
        approval_above: Guarantee | None = None,
    ) -> Standing:
        """A table about a population. All its tables share the population's budget; this one may have a cap as well."""
        with self.chain.changing() as draft:
            registering.dataset(
                draft,
                name,
                population_name=population,
                budget=budget,
                protected=unit,
                rows_per_person=rows_per_person,
                domains=domains,
                fingerprint=fingerprint,
                version=version,
                owner_confirms=owner_confirms,
                approval_above=approval_above,
            )
        return self._standing(lambda book: book.dataset(name).level)

    def new_version(
        self, dataset: str, *, version: str, fingerprint: str | None = None, owner_confirms: str | None = None
    ) -> None:
        """The table changed. Answers about the versions add up; stored ones stay answers about the old version."""
        with self.chain.changing() as draft:
            registering.new_version(draft, dataset, version, fingerprint, owner_confirms)

    def versions(self, dataset: str) -> list[tuple[str, str | None]]:
        """The versions that a data set has had, oldest first, each with the fingerprint of its content."""
        with self.chain.looking() as draft:
            return list(draft.book.dataset(dataset).versions)

    def holder(self, fingerprint: str) -> tuple[str, str] | None:
        """The data set that a table's content was first registered as, and its population, if it was."""
        with self.chain.looking() as draft:
            name = draft.book.fingerprints.get(fingerprint)
            return None if name is None else (name, draft.book.dataset(name).population)

    def analyst(
        self,
        name: str,
        *,
        datasets: Iterable[str],
        budget: Guarantee | None = None,
        approval_above: Guarantee | None = None,
    ) -> Standing:
        """Let an analyst ask these data sets, within one cap for all of them together if a budget is given."""
        with self.chain.changing() as draft:
            names = registering.analyst(draft, name, datasets, budget, approval_above)
        return self._standing(lambda book: book.grants[name, names].level)

    def revoke(self, analyst: str, *, reason: str) -> None:
        """From now on the analyst reserves and receives nothing."""
        self._grant_or_revoke("revoked", analyst, reason)

    def readmit(self, analyst: str, *, reason: str) -> None:
        """Take a revocation back; what was spent stays spent."""
        self._grant_or_revoke("readmitted", analyst, reason)

    def change_budget(self, level: Standing, budget: Guarantee, *, reason: str) -> Standing:
        """A new promise to the same people: all history is run again under it, and refused if it does not fit."""
        with self.chain.changing() as draft:
            spending.change_budget(draft, _meant(draft.book, level), budget, reason)
        return self._standing(lambda book: book.levels[level.number])

    def affordable(self, level: Standing) -> Fraction | None:
        """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
        with self.chain.looking() as draft:
            meant = _meant(draft.book, level)
            if meant.closed is not None:
                return Fraction(0)
            guard = draft.filter_of(meant)
            return None if guard is None else guard.affordable()

    def admits(self, event: Event, *, dataset: str, analyst: str | None = None) -> bool:
        """Whether every level would admit an event now; nothing is charged, and the next charge may change it."""
        with self.chain.looking() as draft:
            asked = draft.book.dataset(dataset)
            return all(
                level.closed is None
                and (
                    (guard := draft.filter_of(level)) is None or guard.admits(spending.level_event(event, level, asked))
                )
                for level in spending.levels_of(draft.book, asked, analyst)
            )

    # -- spending ---------------------------------------------------------------------------------------------

    def reserve(
        self,
        event: Event,
        *,
        dataset: str,
        analyst: str | None = None,
        key: str | None = None,
        request: object = None,
        question: str | None = None,
        version: str | None = None,
    ) -> Reservation:
        """Charge an event to every level, durably, before the data is touched. Nothing refunds it.

        `key` is the analyst's idempotency key: the same key and request find the same reservation, and its answer.
        `question` names what is asked, bounds included: a stored answer to it is free for levels that have paid.
        """
        with self.chain.changing() as draft:
            found = spending.reserve(
                draft,
                event,
                dataset=dataset,
                analyst=analyst,
                key=key,
                request=request,
                question=question,
                version=version,
            )
        if isinstance(found, Waiting):
            raise ApprovalRequired(
                f"this spend is large for {found.level!r} and waits for approval (request {found.request})",
                request=found.request,
                hint=f"after `ledger.approve({found.request}, …)` the same request goes through",
            )
        return found

    def settle(self, reservation: Reservation | int, answer: object) -> Any:
        """Keep an answer unless there is one, and return the one that is kept: nothing else may be released."""
        number = reservation.number if isinstance(reservation, Reservation) else reservation
        if type(number) is not int:  # True and 4.0 would find the entries 1 and 4
            raise InvalidParameter("reservation", number, "is neither a reservation nor the number of one")
        with self.chain.changing() as draft:
            return spending.settle(draft, number, answer)

    def approve(self, request: int, *, reason: str) -> None:
        """The custodian lets one large spend through, once."""
        with self.chain.changing() as draft:
            waiting = {number: asked for asked, number in draft.book.waiting.items()}
            if request not in waiting:
                raise NotFound(f"no request {request} waits for approval", hint=f"waiting: {sorted(waiting) or 'none'}")
            draft.add("approved", {"request": waiting[request], "reason": registering.named("reason", reason)})

    # -- reading ----------------------------------------------------------------------------------------------

    def levels(self) -> list[Standing]:
        """Every level, in the order in which they were registered."""
        with self.chain.looking() as draft:
            return [_standing(draft, level) for level in draft.book.levels.values()]

    def waiting(self) -> list[int]:
        """The requests that wait for approval."""
        with self.chain.looking() as draft:
            return sorted(draft.book.waiting.values())

    def history(self) -> list[Entry]:
        """Every entry, in order, each checked against its hash and the entry before it."""
        with self.chain.looking() as draft:
            return list(draft.history())

    def burn_down(self) -> dict[int, list[tuple[int, Fraction]]]:
        """For the number of each level: how much of its budget was used, from 0 to 1, after which entry."""
        return burn_down(self.history())

    def verify(self) -> Verification:
        """Read everything again and derive it anew: hashes, order, every filter decision, every snapshot, the mark."""
        with self.chain.looking() as draft:  # and derive it after that, so that writers need not wait
            entries, head = list(draft.history()), draft.book.head
            states = {number: draft.state_of(level) for number, level in draft.book.levels.items()}
        return verified(entries, states, head)

    # -- opening and closing ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Where the ledger is."""
        return self.chain.name

    def close(self) -> None:
        """Let go of the database. Everything is safe already."""
        self.chain.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.name}: {self.chain.length} entries>"

    # -- inside ------------------------------------------------------------------------------------------------

    def _grant_or_revoke(self, kind: str, analyst: str, reason: str) -> None:
        with self.chain.changing() as draft:
            if not draft.book.grants_of(analyst):
                raise NotFound(f"the ledger has no analyst {analyst!r}")
            if (analyst in draft.book.revoked) != (kind == "revoked"):
                draft.add(kind, {"analyst": analyst, "reason": registering.named("reason", reason)})

    def _standing(self, find: Callable[[Book], Level]) -> Standing:
        with self.chain.looking() as draft:
            return _standing(draft, find(draft.book))


def _meant(book: Book, standing: Standing) -> Level:
    """The level that a standing speaks of; one that another ledger gave out is refused."""
    if not isinstance(standing, Standing):
        raise InvalidParameter("level", standing, "is not a standing", hint="`ledger.levels()` lists them")
    level = book.levels.get(standing.number)
    if level is None or (level.kind, level.name, level.unit) != (standing.kind, standing.name, standing.unit):
        raise LedgerMismatch(
            f"the {standing.kind} {standing.name!r} is not level {standing.number} of this ledger",
            hint="take the standing from the ledger whose budget is to change",
        )
    return level


def _standing(draft: Draft, level: Level) -> Standing:
    guard = draft.filter_of(level)
    return Standing(
        number=level.number,
        kind=level.kind,
        name=level.name,
        unit=level.unit,
        budget=level.budget,
        spent=None if guard is None else guard.spent,
        remaining=None if guard is None else guard.remaining,
        share=None if guard is None else guard.share,
        closed=level.closed is not None,
    )
