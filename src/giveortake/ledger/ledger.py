"""The ledger: what was promised to whom, what was charged, and what was answered, for good."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, final

from giveortake.errors import ApprovalRequired, InvalidParameter, LedgerUnavailable, NotFound
from giveortake.exact import whole
from giveortake.ledger import approvals, draws, outlooks, registering, releases, spending, tokens
from giveortake.ledger.book import entries_of as entries_by
from giveortake.ledger.budgets import change_budget
from giveortake.ledger.entries import canonical, digest, plain
from giveortake.ledger.failures import Allowance, allowance
from giveortake.ledger.spending import Reservation, Waiting
from giveortake.ledger.standings import Standing, Standings, meant, standing_of
from giveortake.ledger.tables import Registered, people_of, put
from giveortake.ledger.trials import Trial, trial_of
from giveortake.ledger.verifying import Verification, burn_down, entries_of, used_of, verified
from giveortake.ledger.views import View
from giveortake.mechanisms.mechanism import Sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction
    from types import TracebackType

    from giveortake.ledger.approvals import Approval
    from giveortake.ledger.book import Book
    from giveortake.ledger.chain import Chain, Draft
    from giveortake.ledger.entries import Entry
    from giveortake.ledger.levels import Level
    from giveortake.ledger.moments import Expiry
    from giveortake.ledger.releases import ReleaseRecord
    from giveortake.ledger.tokens import Principal, Role, TokenRecord
    from giveortake.privacy import Guarantee, Unit
    from giveortake.privacy.events import Event


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
            pass  # reads and checks the last checkpoint and every entry since

    # -- who is protected, what they hold, who may ask --------------------------------------------------------
    # Whoever decides something may say who they are: `by` is kept in the entry.

    def population(
        self,
        name: str,
        *,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        approval_above: Guarantee | None = None,
        analysts: registering.Analysts | None = None,
        failures: int | None = None,
        questions: int | None = None,
        by: str | None = None,
    ) -> Standing:
        """The people protected and their budget: registered now, or found registered exactly so.

        `analysts` is "allotted" unless said otherwise: each has a budget of their own, taken from this one when it is
        granted, and nothing that one is told depends on another. "pooled" analysts draw from this budget together, so
        that each can see from what is left and what is refused how much the others have spent.
        `failures` and `questions` bound the custodian's own questions, as they do an analyst's.
        """
        with self._administering(by) as draft:
            registering.population(
                draft, name, budget, unit, approval_above, analysts=analysts, failures=failures, questions=questions
            )
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
        by: str | None = None,
    ) -> Standing:
        """A table about a population. All its tables share the population's budget; this one may have a cap as well."""
        with self._administering(by) as draft:
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

    def register(
        self,
        name: str,
        *,
        budget: Guarantee,
        unit: Unit | str,
        domains: object,
        fingerprint: str,
        first: str,
        population: str | None = None,
        new_population: str | None = None,
        owner_confirms: str | None = None,
        failures: int | None = None,
        declared: bool = True,
        by: str | None = None,
    ) -> Registered:
        """Put a table of people with a budget into the ledger, or find it there; other content is a new version.

        Whose people they are is said by `population`, one that is there, or by `new_population`, the owner's word that
        they are others. Only on a ledger that knows nobody may both be left out; they are called `first` then. Domains
        that nobody has `declared` yet are not frozen.
        """
        with self._administering(by) as draft:
            people = people_of(draft.book, name, population, new_population, first=first)
            if people in draft.book.populations:
                failures = None  # what was said first holds
            registering.population(draft, people, budget, unit, None, failures=failures)
        with self._administering(by) as draft:  # the people are there now, and nobody else can take their name
            said = {"protected": unit, "domains": domains, "declared": declared}
            return put(draft, name, people, fingerprint=fingerprint, owner_confirms=owner_confirms, said=said)

    def new_version(
        self,
        dataset: str,
        *,
        version: str,
        fingerprint: str | None = None,
        owner_confirms: str | None = None,
        by: str | None = None,
    ) -> None:
        """The table changed. Answers about the versions add up; stored ones stay answers about the old version."""
        with self._administering(by) as draft:
            registering.new_version(draft, dataset, version, fingerprint, owner_confirms)

    def versions(self, dataset: str) -> list[tuple[str, str | None]]:
        """The versions that a data set has had, oldest first, each with the fingerprint of its content."""
        with self.chain.looking() as draft:
            return list(draft.book.dataset(dataset).versions)

    def holder(self, fingerprint: str) -> tuple[str, str] | None:
        """The data set that a table's content was first registered as, and its population, if it was."""
        with self.chain.looking() as draft:
            name = registering.holder(draft, fingerprint)
            return None if name is None else (name, draft.book.dataset(name).population)

    def analyst(
        self,
        name: str,
        *,
        datasets: Iterable[str],
        budget: Guarantee | None = None,
        approval_above: Guarantee | None = None,
        failures: int | None = None,
        questions: int | None = None,
        by: str | None = None,
    ) -> Standing:
        """Let an analyst ask these data sets, within one budget for all of them together.

        It is an allotment: taken from the people's budget now and whole, and from then on the analyst's own, whatever
        others ask (`analysts="pooled"` people have caps instead, or none). `failures` is how many of their questions
        may fail before the owner has to look, 3 unless said otherwise, and `questions` how many they may ask at all.
        """
        with self._administering(by) as draft:
            names = registering.analyst(
                draft, name, datasets, budget, approval_above, failures=failures, questions=questions
            )
        return self._standing(lambda book: book.grants[name, names].level)

    def revoke(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """From now on the analyst reserves and receives nothing."""
        self._grant_or_revoke("revoked", analyst, reason, by)

    def readmit(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """Take a revocation back; what was spent stays spent."""
        self._grant_or_revoke("readmitted", analyst, reason, by)

    def change_budget(self, level: Standing, budget: Guarantee, *, reason: str, by: str | None = None) -> Standing:
        """A new promise to the same people: all history is run again under it, and refused if it does not fit."""
        with self._administering(by) as draft:
            change_budget(draft, meant(draft.book, level), budget, reason)
        return self._standing(lambda book: book.levels[level.number])

    def affordable(self, level: Standing) -> Fraction | None:
        """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
        with self.chain.looking() as draft:
            return outlooks.affordable(draft, meant(draft.book, level))

    def trial(self, level: Standing, *, dataset: str, analyst: str | None = None) -> Trial | None:
        """A copy of a level's filter, on which charges to a data set can be tried; None if the level has no cap."""
        with self.chain.looking() as draft:
            return trial_of(draft, meant(draft.book, level), draft.book.dataset_for(dataset, analyst))

    def admits(self, event: Event, *, dataset: str, analyst: str | None = None) -> bool:
        """Whether every level would admit an event now; nothing is charged, and the next charge may change it."""
        with self.chain.looking() as draft:
            return outlooks.admits(draft, event, dataset=dataset, analyst=analyst)

    def deciding(self, dataset: str, *, analyst: str | None = None) -> Standing:
        """The level that decides about the next question, as it is now: an analyst's own, else the population's."""
        with self.chain.looking() as draft:
            return standing_of(draft, outlooks.deciding(draft, dataset, analyst))

    def outlook(self, event: Event, *, dataset: str, version: str, analyst: str | None = None) -> outlooks.Outlook:
        """All that a quote asks: the level that decides, whether every level admits an event, and paid profiles."""
        with self.chain.looking() as draft:
            return outlooks.outlook(draft, event, dataset=dataset, analyst=analyst, version=version)

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
        asked: str | None = None,
        record: object = None,
    ) -> Reservation:
        """Charge an event to every level, durably, before the data is touched. Nothing refunds it.

        `key` is the analyst's idempotency key: the same key and request find the same reservation, and its answer.
        `question` names what is asked, bounds included: a stored answer to it is free for levels that have paid, and
        an analyst who asks it again before it is answered finds the reservation that is there. Reserve inside
        `ledger.turn`, so that only one of those who ask the same at the same moment goes on to answer it. `asked` says
        it in words, for whoever reads the ledger, and `record` exactly, so that the release can be read again by its
        id; they decide nothing.
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
                said=asked,
                record=record,
            )
        if isinstance(found, Waiting):
            raise ApprovalRequired(
                f"this spend is large for {found.level!r} and waits for approval (request {found.request})",
                request=found.request,
                hint=f"after `ledger.approve({found.request}, …)` the same request goes through",
            )
        return found

    def knows(
        self,
        event: Event,
        *,
        dataset: str,
        analyst: str | None = None,
        key: str | None = None,
        request: object = None,
        question: str | None = None,
    ) -> bool:
        """Whether `reserve` would find what is there: the same key and request, or the same question. It only looks."""
        with self.chain.looking() as draft:
            return spending.knows(
                draft, event, dataset=dataset, analyst=analyst, key=key, request=request, question=question
            )

    def is_paid(self, event: Event, *, dataset: str, analyst: str | None = None, question: str) -> bool:
        """Whether `reserve` would find this question at no cost: its asker paid for it before. It only looks."""
        with self.chain.looking() as draft:
            return spending.is_paid(draft, event, dataset=dataset, analyst=analyst, question=question)

    @property
    def before_0_2(self) -> bool:
        """Whether anything was asked by a version before 0.2, whose rules may have to be tried."""
        with self.chain.looking() as draft:
            return draft.book.before_0_2

    def settle(self, reservation: Reservation | int, answer: object) -> Any:
        """Keep an answer unless there is one, and return the one that is kept: nothing else may be released."""
        number = _number(reservation)
        with self.chain.changing() as draft:
            return spending.settle(draft, number, answer)

    def keep(self, reservation: Reservation | int, place: int, drawn: object) -> Any:
        """Keep the next draw of several for a reservation, durably; it is refused at any other place.

        Call it before anything is made of the draw: what is kept is what was drawn, however often a run is taken up.
        """
        number = _number(reservation)
        with self.chain.changing() as draft:
            return draws.keep(draft, number, place, drawn)

    def kept(self, reservation: Reservation | int) -> list[Any]:
        """What was drawn for a reservation before it has an answer, in order."""
        number = _number(reservation)
        with self.chain.looking() as draft:
            return draws.kept(draft, number)

    def pad(self, reservation: Reservation, place: int) -> Sensitive[int]:
        """A secret number of 256 bits for one draw: what is added to it can be kept in the ledger, and not read there.

        It follows from the secret beside the mark. Whoever has both the ledger and that secret can take it off again.
        """
        with self.chain.changing() as draft:
            return Sensitive(int.from_bytes(draft.pad(f"{reservation.id} {place}"), "big"))

    @contextmanager
    def turn(self, question: str, *, dataset: str, analyst: str | None = None) -> Iterator[None]:
        """Wait until nobody else, in any thread or process, is about to answer this analyst's same question.

        Whoever reserves inside and finds a reservation that is neither fresh nor settled knows that its executor is
        gone: it failed or crashed. The turn ends with its process, however that ends.
        """
        name = digest(canonical([analyst, dataset, plain("question", question)]))
        with self.chain.mark.turn(name):
            yield

    def begin_again(self, reservation: Reservation | int) -> None:
        """Say that a reservation which is neither fresh nor settled is going to be executed once more.

        Call it before the data is touched again. It counts against the analyst's allowance of failures, because how
        often a question had to be executed may tell something about rows; AllowanceExceeded if that is used up.
        """
        number = _number(reservation)
        with self.chain.changing() as draft:
            spending.begin_again(draft, number)

    def require_failures_left(self, reservation: Reservation | int) -> None:
        """Ask before each of several draws for a reservation: AllowanceExceeded if its asker's failures are used up."""
        number = _number(reservation)
        with self.chain.looking() as draft:
            spending.require_failures_left(draft, number)

    def fail(self, reservation: Reservation | int) -> None:
        """Say that the executor ran out of memory, time or disk on a reservation, before anybody is told so.

        Call it when such a failure is about to be raised to the asker, and raise only after it has returned: it is
        durable then. A crash needs no call. It counts against the allowance of whoever asked.
        """
        number = _number(reservation)
        with self.chain.changing() as draft:
            spending.fail(draft, number)

    def fail_key(self, key: str, *, analyst: str | None = None) -> None:
        """The same for an executor that was ended before it could say so itself, by the key of what it was asked.

        Call it once the executor is gone, and before its asker is told. Nothing is counted if nothing was charged under
        the key, or if its answer is there.
        """
        with self.chain.changing() as draft:
            number = draft.book.keys.get((analyst, key))
            if number is not None:
                spending.fail(draft, number)

    def reset_failures(self, level: Standing, *, reason: str, by: str | None = None) -> None:
        """The owner has looked at what failed, and allows as many failures again."""
        with self._administering(by) as draft:
            looked_at = meant(draft.book, level)
            draft.add("forgiven", {"level": looked_at.number, "reason": registering.named("reason", reason)})

    def failures(self) -> list[Allowance]:
        """For each analyst, and for the custodian's own questions: what may fail, what has, and what that can tell."""
        with self.chain.looking() as draft:
            return [allowance(level) for level in draft.book.levels.values() if level.kind != "data set"]

    def release(self, release: str, *, analyst: str | None = None) -> Reservation:
        """The reservation that the id of a release names, with its answer; ids of 0.1 are found too.

        With `analyst`, one of somebody else is as unknown as one that never was.
        """
        with self.chain.looking() as draft:
            return spending.released(draft, release, analyst)

    def profiles(
        self, dataset: str, *, version: str, analyst: str | None = None, before: int | None = None
    ) -> list[tuple[Any, str, Any]]:
        """The request, id and stored answer of each profile that the asker's own levels paid for, the newest first.

        With `before`, those that were there before the entry of that number.
        """
        with self.chain.looking() as draft:
            return spending.profiles(draft, dataset, analyst, version, before)

    def releases(
        self,
        *,
        analyst: str | None = None,
        dataset: str | None = None,
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> list[ReleaseRecord]:
        """What was asked and charged, at most `limit` after the release with that id; an analyst's own, or all."""
        with self.chain.looking() as draft:
            return releases.listed(
                draft, analyst=analyst, dataset=dataset, after=after, limit=limit, newest_first=newest_first
            )

    def release_record(self, release: str, *, analyst: str | None = None) -> ReleaseRecord:
        """What was asked and charged under the id of a release."""
        with self.chain.looking() as draft:
            number = releases.number_of(draft, release, analyst)
            return releases.record_of(draft, draft.book.reservations[number])

    # -- large spends, which wait for the custodian --------------------------------------------------------------

    def approvals(self, *, analyst: str | None = None, waiting: bool = False) -> list[Approval]:
        """Every large spend that needed approval: what it asks, by whom, and what was decided; or those that wait."""
        with self.chain.looking() as draft:
            return approvals.listed(draft, analyst=analyst, waiting=waiting)

    def approve(self, request: int, *, reason: str, expires: Expiry | None = None, by: str | None = None) -> None:
        """The custodian lets one large spend through, once, and until `expires` if that is said."""
        with self._administering(by) as draft:
            approvals.approve(draft, request, reason, expires)

    def deny(self, request: int, *, reason: str, by: str | None = None) -> None:
        """The custodian refuses one large spend. Whoever asks for it again is told so, with the reason."""
        with self._administering(by) as draft:
            approvals.deny(draft, request, reason)

    # -- who speaks ----------------------------------------------------------------------------------------------

    def issue_token(
        self,
        *,
        role: Role,
        analyst: str | None = None,
        expires: Expiry | None = None,
        by: str | None = None,
    ) -> tuple[str, str]:
        """A new token, for a custodian or for one analyst: its id, and its text, which is shown this once.

        It ends after 90 days unless `expires` says otherwise. The ledger keeps the SHA-256 of the text alone.
        """
        with self._administering(by) as draft:
            return tokens.issue(draft, role, analyst, expires)

    def revoke_token(self, token: str, *, reason: str, by: str | None = None) -> None:
        """From now on nobody is let in by the token of that id."""
        with self._administering(by) as draft:
            tokens.revoke(draft, token, reason)

    def authenticate(self, text: str) -> Principal | None:
        """Whom a token lets in now; None for one that is unknown, wrong, revoked or over, all alike."""
        with self.chain.looking() as draft:
            return tokens.authenticate(draft, text)

    def tokens(self) -> list[TokenRecord]:
        """Every token that was issued, without secrets."""
        with self.chain.looking() as draft:
            return tokens.listed(draft)

    # -- reading ----------------------------------------------------------------------------------------------

    def levels(self, *, analyst: str | None = None, dataset: str | None = None) -> Standings:
        """Every level, in the order in which they were registered; or an analyst's own, on one data set or on all."""
        with self.chain.looking() as draft:
            if analyst is None:
                return Standings(standing_of(draft, level) for level in draft.book.levels.values())
            if dataset is not None:
                draft.book.dataset_for(dataset, analyst)
            return Standings(standing_of(draft, grant.level) for grant in draft.book.grants_of(analyst, dataset))

    def waiting(self) -> list[int]:
        """The requests that wait for approval."""
        with self.chain.looking() as draft:
            return approvals.waiting(draft)

    def history(self) -> list[Entry]:
        """Every entry, in order, each checked against its hash and the one before it. `entries` reads page by page."""
        return self.entries(limit=max(self._view().head, 1))

    def entries(self, *, analyst: str | None = None, after: int | None = None, limit: int = 1000) -> list[Entry]:
        """Entries with numbers greater than `after`, at most `limit`; an analyst's are numbered among themselves.

        They are read page by page, and nobody who charges something waits for that.
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
        """For the number of each level: how much of its budget was used, from 0 to 1, after which entry.

        Every charge says so itself; what 0.1 wrote does not, and is derived again.
        """
        with self.chain.looking() as draft:
            levels = {number: level.used for number, level in draft.book.levels.items() if level.budget is not None}
            head, earlier, is_kept = draft.book.head.number, draft.book.unused, draft.is_indexed()
        with self.chain.glancing() as reader:
            derived = burn_down(entries_of(reader, earlier if is_kept else head)) if earlier or not is_kept else {}
            if is_kept:
                for level, hashed in levels.items():
                    said = used_of(reader, level, head, hashed)
                    derived.setdefault(level, []).extend(each for each in said if each[0] > earlier)
        return {level: steps for level, steps in derived.items() if steps}

    def verify(self) -> Verification:
        """Read everything again and derive it anew: hashes, order, every filter decision, every snapshot, the mark.

        Every checkpoint and every index is compared with what follows from the entries before it.
        """
        with self.chain.looking() as draft:  # and derive it after that, so that writers need not wait
            head, is_kept = draft.book.head, draft.is_indexed()
            states = {number: draft.state_of(level) for number, level in draft.book.levels.items()}
        with self.chain.glancing() as reader:
            return verified(reader, states, head, indexed=is_kept)

    # -- opening and closing ----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Where the ledger is."""
        return self.chain.name

    @property
    def id(self) -> str:
        """What names the ledger wherever it lies: the same for everybody who has opened it."""
        return self.chain.ledger

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

    def _view(self, analyst: str | None = None) -> View:
        with self.chain.looking() as draft:
            book = draft.book
            if analyst is None:
                return View(book.hashes, book.head.number)
            if not draft.is_indexed():
                raise LedgerUnavailable(
                    "an earlier version wrote this ledger, without an index of analysts, and it was opened for reading",
                    hint="open it for writing once, or `giveortake ledger upgrade`",
                )
            levels = frozenset(grant.level.number for grant in book.grants_of(analyst))
            owned = book.lists.get(entries_by(analyst))
            return View(book.hashes, book.head.number, levels, 0 if owned is None else owned.count)

    @contextmanager
    def _administering(self, by: str | None) -> Iterator[Draft]:
        """A transaction of somebody who decides about a ledger, and who may be named in its entries."""
        who = None if by is None else registering.named("by", by)
        with self.chain.changing() as draft:
            draft.by = who
            yield draft

    def _grant_or_revoke(self, kind: str, analyst: str, reason: str, by: str | None) -> None:
        with self._administering(by) as draft:
            if not draft.book.grants_of(analyst):
                raise NotFound(f"the ledger has no analyst {analyst!r}")
            if (analyst in draft.book.revoked) != (kind == "revoked"):
                draft.add(kind, {"analyst": analyst, "reason": registering.named("reason", reason)})

    def _standing(self, find: Callable[[Book], Level]) -> Standing:
        with self.chain.looking() as draft:
            return standing_of(draft, find(draft.book))


def _number(reservation: Reservation | int) -> int:
    number = reservation.number if isinstance(reservation, Reservation) else reservation
    if type(number) is not int:  # True and 4.0 would find the entries 1 and 4
        raise InvalidParameter("reservation", number, "is neither a reservation nor the number of one")
    return number
