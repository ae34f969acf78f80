"""The ledger: what was promised to whom, what was charged, and what was answered, for good."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, final

from giveortake.errors import ApprovalRequired, InvalidParameter, NotFound
from giveortake.exact import whole
from giveortake.ledger import approvals, budget_status, registration, releases, reservations, tokens
from giveortake.ledger.budget_status import (
    BudgetStatus,
    BudgetStatuses,
    TrialFilter,
    level_of,
    status_of,
    trial_of,
)
from giveortake.ledger.budgets import Spent, change_budget
from giveortake.ledger.chain.entries import entries_of as entries_by
from giveortake.ledger.chain.entries import named
from giveortake.ledger.registration import Registered, people_of, put
from giveortake.ledger.releases import View
from giveortake.ledger.reservations import Allowance, PendingApproval, Reservation, allowance
from giveortake.ledger.verification import Verification, used_of, verifying
from giveortake.mechanisms.mechanism import Sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from datetime import datetime
    from fractions import Fraction
    from types import TracebackType

    from giveortake.accounting.filters import Meter
    from giveortake.ledger.approvals import Approval
    from giveortake.ledger.chain.chain import Chain, Transaction
    from giveortake.ledger.chain.entries import Entry
    from giveortake.ledger.chain.state import Level, State, TokenRole
    from giveortake.ledger.releases import ReleaseRecord
    from giveortake.ledger.reservations import Charge, Pace
    from giveortake.ledger.tokens import Expiry, Principal, TokenRecord
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

    pace: Pace | None = None  # on which answers, draws and failures are written, if their times must not depend on rows

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        with chain.looking():
            pass  # reads and checks the last checkpoint and every entry since

    @property
    def name(self) -> str:
        """Where the ledger is."""
        return self.chain.name

    @property
    def id(self) -> str:
        """The id of the ledger, the same wherever the ledger lies."""
        return self.chain.ledger

    def close(self) -> None:
        """Close the database. Everything is already stored."""
        self.chain.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.name}: {self.chain.length} entries>"

    # -- what a custodian decides; `by` names who does, and the entry holds it ---------------------------------

    def population(
        self,
        name: str,
        *,
        budget: Guarantee | None = None,
        unit: Unit | str | None = None,
        approval_above: Guarantee | None = None,
        analysts: registration.Analysts | None = None,
        failures: int | None = None,
        questions: int | None = None,
        meter: Meter | None = None,
        by: str | None = None,
    ) -> BudgetStatus:
        """Register the people protected and their budget, or check that they are registered exactly so.

        `analysts` is "allotted" unless said otherwise: each has a budget of their own, taken from this one when it is
        granted, and nothing that one is told depends on another. "pooled" analysts draw from this budget together, so
        that each can see from what is left and what is refused how much the others have spent.
        `failures` and `questions` bound the custodian's own questions, as they do an analyst's, and `meter` is the
        currency in which shares of an (ε, δ) budget are measured, as there.
        """
        with self._administering(by) as transaction:
            registration.population(
                transaction,
                name,
                budget,
                unit,
                approval_above,
                analysts=analysts,
                failures=failures,
                questions=questions,
                meter=meter,
            )
        return self._status(lambda state: state.population(name))

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
    ) -> BudgetStatus:
        """Register a table of a population. All its tables share one budget; this one may also have a cap."""
        with self._administering(by) as transaction:
            registration.dataset(
                transaction,
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
        return self._status(lambda state: state.dataset(name).level)

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
        meter: Meter | None = None,
        declared: bool = True,
        by: str | None = None,
    ) -> Registered:
        """Register a table of people with a budget, or find it registered; other content is a new version.

        `population` names people who are registered already; `new_population` is the custodian's word that these are
        other people. Only on a ledger without people may both be left out; they are called `first` then.
        Domains are frozen once some were `declared` and a question was charged for the table.
        """
        with self._administering(by) as transaction:
            people = people_of(transaction.state, name, population, new_population, first=first)
            if people in transaction.state.populations:
                failures = meter = None  # what was said first holds
            registration.population(transaction, people, budget, unit, None, failures=failures, meter=meter)
        with self._administering(by) as transaction:  # the people are there now, and nobody else can take their name
            terms = {"protected": unit, "domains": domains, "declared": declared}
            return put(transaction, name, people, fingerprint=fingerprint, owner_confirms=owner_confirms, terms=terms)

    def new_version(
        self,
        dataset: str,
        *,
        version: str,
        fingerprint: str | None = None,
        owner_confirms: str | None = None,
        by: str | None = None,
    ) -> None:
        """Record that the table changed. Charges for all versions add up; stored answers stay about the old one."""
        with self._administering(by) as transaction:
            registration.new_version(transaction, dataset, version, fingerprint, owner_confirms)

    def versions(self, dataset: str) -> list[tuple[str, str | None]]:
        """The versions that a data set has had, oldest first, each with the fingerprint of its content."""
        with self.chain.looking() as transaction:
            return list(transaction.state.dataset(dataset).versions)

    def domains(self, dataset: str) -> Any:
        """The declared domains of a data set's columns; None if none were declared."""
        with self.chain.looking() as transaction:
            return transaction.state.dataset(dataset).domains

    def is_open(self, dataset: str) -> bool:
        """Whether its domains may change: none were declared, or nothing was charged for it yet."""
        with self.chain.looking() as transaction:
            return registration.is_open(transaction.state, dataset)

    def holder(self, fingerprint: str) -> tuple[str, str] | None:
        """The data set as which a table's content was first registered, and its population; None if it never was."""
        with self.chain.looking() as transaction:
            name = registration.holder(transaction, fingerprint)
            return None if name is None else (name, transaction.state.dataset(name).population)

    def analyst(
        self,
        name: str,
        *,
        datasets: Iterable[str],
        budget: Guarantee | None = None,
        approval_above: Guarantee | None = None,
        failures: int | None = None,
        questions: int | None = None,
        meter: Meter | None = None,
        by: str | None = None,
    ) -> BudgetStatus:
        """Let an analyst ask these data sets, within one budget for all of them together.

        It is an allotment: taken from the people's budget now and whole, and from then on the analyst's own, whatever
        others ask (`analysts="pooled"` people have caps instead, or none). `failures` is how many of their questions
        may fail before the custodian has to look, 3 unless stated, and `questions` how many they may ask at all.
        `meter` is the currency in which shares of an (ε, δ) budget are measured: "epsilon" (Laplace noise), "mu"
        (Gaussian noise) or "renyi" (everything has a price in it); unless stated, their first question fixes it.
        """
        with self._administering(by) as transaction:
            names = registration.analyst(
                transaction, name, datasets, budget, approval_above, failures=failures, questions=questions, meter=meter
            )
        return self._status(lambda state: state.grants[name, names].level)

    def revoke(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """Revoke an analyst, who from now on can neither ask nor read answers."""
        self._grant_or_revoke("revoked", analyst, reason, by)

    def readmit(self, analyst: str, *, reason: str, by: str | None = None) -> None:
        """Take a revocation back; what was spent stays spent."""
        self._grant_or_revoke("readmitted", analyst, reason, by)

    def _grant_or_revoke(self, kind: str, analyst: str, reason: str, by: str | None) -> None:
        with self._administering(by) as transaction:
            if not transaction.state.grants_of(analyst):
                raise NotFound(f"the ledger has no analyst {analyst!r}")
            if (analyst in transaction.state.revoked) != (kind == "revoked"):
                transaction.add(kind, {"analyst": analyst, "reason": named("reason", reason)})

    def change_budget(
        self, level: BudgetStatus, budget: Guarantee | Spent, *, reason: str, by: str | None = None
    ) -> BudgetStatus:
        """Replace a level's promise: its history is run again, and the change refused if it does not fit.

        `budget="spent"` lowers it to what was spent and given, whatever is charged until then.

        An allotment is best made large enough before the custodian's first question: of an (ε, δ) budget a raise
        afterwards is charged whole, beside what was set aside before. An allotment for a second name costs only its
        own size.
        """
        with self._administering(by) as transaction:
            change_budget(transaction, level_of(transaction.state, level), budget, reason)
        return self._status(lambda state: state.levels[level.number])

    def change_limits(
        self,
        level: BudgetStatus,
        *,
        reason: str,
        approval_above: Guarantee | registration.Unlimited | None = None,
        failures: int | None = None,
        questions: int | registration.Unlimited | None = None,
        by: str | None = None,
    ) -> BudgetStatus:
        """Replace limits of a level, and leave those that are not stated as they are; "none" takes one away.

        Guarantee: the change is in the ledger, with its reason, before this returns, and decides about every charge
        after it. What was asked and has failed before still counts.
        """
        with self._administering(by) as transaction:
            changed = level_of(transaction.state, level)
            limits: Any = {"approval_above": approval_above, "failures": failures, "questions": questions}
            registration.change_limits(transaction, changed, reason, **limits)
        return self._status(lambda state: state.levels[level.number])

    def reset_failures(self, level: BudgetStatus, *, reason: str, by: str | None = None) -> None:
        """Record that the custodian looked at what failed, and allow as many failures again."""
        with self._administering(by) as transaction:
            looked_at = level_of(transaction.state, level)
            transaction.add("forgiven", {"level": looked_at.number, "reason": named("reason", reason)})

    def failures(self) -> list[Allowance]:
        """The failures that each analyst and the custodian may have and has had, and what these can reveal."""
        with self.chain.looking() as transaction:
            return [allowance(level) for level in transaction.state.levels.values() if level.kind != "data set"]

    def approvals(self, *, analyst: str | None = None, waiting: bool = False) -> list[Approval]:
        """Large spends that needed approval, with what was decided; with `waiting`, only those that wait.

        Of each analyst's closed requests, only the last two hundred are listed.
        """
        with self.chain.looking() as transaction:
            return approvals.listed(transaction, analyst=analyst, waiting=waiting)

    def granted(self, analyst: str) -> frozenset[str]:
        """The data sets that an analyst was granted, even if the analyst was revoked since."""
        with self.chain.looking() as transaction:
            return frozenset(
                name for grantee, names in transaction.state.grants if grantee == analyst for name in names
            )

    def revoked(self) -> frozenset[str]:
        """The analysts who are revoked."""
        with self.chain.looking() as transaction:
            return frozenset(transaction.state.revoked)

    def datasets_of(self, level: BudgetStatus) -> tuple[str, ...]:
        """The data sets that a level is about: of an analyst, those that they were granted together."""
        with self.chain.looking() as transaction:
            state = transaction.state
            grant = state.grant_of(level_of(state, level))
            if grant is not None:
                return grant.datasets
            if level.kind == "data set":
                return (level.name,)
            return tuple(name for name, table in state.datasets.items() if table.population == level.name)

    def population_of(self, dataset: str) -> BudgetStatus:
        """The people that a data set is about."""
        return self._status(lambda state: state.population(state.dataset(dataset).population))

    def waiting(self) -> list[int]:
        """The numbers of the requests that wait for approval."""
        with self.chain.looking() as transaction:
            return approvals.waiting(transaction)

    def approve(self, request: int, *, reason: str, expires: Expiry | None = None, by: str | None = None) -> None:
        """Let one large spend through, once, and only until `expires` if that is given."""
        with self._administering(by) as transaction:
            approvals.approve(transaction, request, reason, expires)

    def deny(self, request: int, *, reason: str, by: str | None = None) -> None:
        """Refuse one large spend. Whoever asks for it again is told so, with the reason."""
        with self._administering(by) as transaction:
            approvals.deny(transaction, request, reason)

    def issue_token(
        self,
        *,
        role: TokenRole,
        analyst: str | None = None,
        expires: Expiry | None = None,
        by: str | None = None,
    ) -> tuple[str, str]:
        """Issue a token for a role; return its id and its text, which is shown only once.

        An analyst asks, a custodian may do everything, an auditor reads the ledger, and a monitor reads metrics alone.

        It ends after 90 days unless `expires` says otherwise. The ledger keeps the SHA-256 of the text alone.
        """
        with self._administering(by) as transaction:
            return tokens.issue(transaction, role, analyst, expires)

    def revoke_token(self, token: str, *, reason: str, by: str | None = None) -> None:
        """Revoke the token of that id: it lets nobody in from now on."""
        with self._administering(by) as transaction:
            tokens.revoke(transaction, token, reason)

    def authenticate(self, text: str) -> Principal | None:
        """Whom a token lets in now; None alike if it is unknown, wrong, revoked or expired."""
        with self.chain.looking() as transaction:
            return tokens.authenticate(transaction, text)

    def tokens(self) -> list[TokenRecord]:
        """Every token that was issued, without secrets."""
        with self.chain.looking() as transaction:
            return tokens.listed(transaction)

    # -- charging every level, durably, and storing one answer for each charge ---------------------------------

    def affordable(self, level: BudgetStatus) -> Fraction | None:
        """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
        with self.chain.looking() as transaction:
            return budget_status.affordable(transaction, level_of(transaction.state, level))

    def trial(self, level: BudgetStatus, *, dataset: str, analyst: str | None = None) -> TrialFilter | None:
        """A copy of a level's filter, on which charges to a data set can be tried; None if the level has no cap."""
        with self.chain.looking() as transaction:
            return trial_of(
                transaction,
                level_of(transaction.state, level),
                transaction.state.dataset_for(dataset, analyst),
            )

    def admits(self, event: Event, *, dataset: str, analyst: str | None = None) -> bool:
        """Whether every level would admit an event now; nothing is charged, and the next charge may change it."""
        with self.chain.looking() as transaction:
            return budget_status.admits(transaction, event, dataset=dataset, analyst=analyst)

    def deciding(self, dataset: str, *, analyst: str | None = None) -> BudgetStatus:
        """The level that decides about the next question, as it is now: an analyst's own, else the population's."""
        with self.chain.looking() as transaction:
            return status_of(transaction, budget_status.deciding(transaction, dataset, analyst))

    def rest(self, dataset: str, *, analyst: str | None = None) -> tuple[BudgetStatus, Fraction | None]:
        """The level that decides about the next question, and what is affordable there."""
        with self.chain.looking() as transaction:
            level = budget_status.deciding(transaction, dataset, analyst)
            return status_of(transaction, level), budget_status.affordable(transaction, level)

    def admission(self, charge: Charge) -> budget_status.Admission:
        """All that a quote needs: the level that decides, whether every level admits a charge, and paid profiles.

        It says as well whether the asker paid for exactly this before, and whether a large spend is approved.
        """
        with self.chain.looking() as transaction:
            return budget_status.admission(transaction, charge)

    def reserve(self, charge: Charge) -> Reservation:
        """Charge an event to every level, durably, before the data is touched. Nothing refunds it.

        Reserve inside `ledger.turn`, so that only one of those who ask the same at the same moment goes on to answer
        it. What was charged under the same key, or for the same name, is found again (see `Charge`).
        """
        with self.chain.changing() as transaction:
            reservation = reservations.reserve(transaction, charge)
        if self.pace is not None:
            self.pace.begin()
        if isinstance(reservation, PendingApproval):
            raise ApprovalRequired(
                f"this spend is large for {reservation.level!r} and waits for approval (request {reservation.request})",
                request=reservation.request,
                hint=f"once the custodian approves request {reservation.request}, ask the same question again",
            )
        return reservation

    def knows(self, charge: Charge) -> bool:
        """Whether `reserve` would find an earlier reservation, by key and name or by name alone. It only looks."""
        with self.chain.looking() as transaction:
            return reservations.knows(transaction, charge)

    def is_paid(self, charge: Charge) -> bool:
        """Whether `reserve` would find this measurement at no cost: its asker paid for it before. It only looks."""
        with self.chain.looking() as transaction:
            return reservations.is_paid(transaction, charge)

    def settle(self, reservation: Reservation | int, answer: object) -> Any:
        """Keep an answer unless there is one, and return the one that is kept: nothing else may be released."""
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as transaction:
            return reservations.settle(transaction, number, answer)

    def keep(self, reservation: Reservation | int, index: int, draw: object) -> Any:
        """Store the next of several draws for a reservation, durably; any other index is refused.

        Call it before the draw is used: a run that is resumed gets the same draw again.
        """
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as transaction:
            return reservations.keep(transaction, number, index, draw)

    def kept(self, reservation: Reservation | int) -> list[Any]:
        """The stored draws of a reservation, in order."""
        number = _number(reservation)
        with self.chain.looking() as transaction:
            return reservations.draws_of(transaction, number)

    def pad(self, reservation: Reservation, index: int) -> Sensitive[int]:
        """A secret 256-bit number for one draw: the sum of both can be stored, and reveals nothing of the draw.

        It follows from the secret beside the mark. Whoever has both the ledger and that secret can subtract it again.
        """
        with self.chain.changing() as transaction:
            return Sensitive(int.from_bytes(transaction.pad(f"{reservation.id} {index}"), "big"))

    @contextmanager
    def turn(self, charge: Charge, *, interactive: bool = False) -> Iterator[None]:
        """Wait until nobody else, in any thread or process, is about to answer this analyst's same measurement.

        Whoever reserves inside and finds a reservation that is neither fresh nor settled knows that its executor is
        gone: it failed or crashed. The turn ends with its process, however that ends. With a pace, whoever had to wait,
        or finds that another was charged for it and is gone, goes on at a beat of their own: the time of this charge
        does not reveal when the other's process ended. That an `interactive` charge was begun is no sign of that.
        """
        start = time.monotonic()
        with self.chain.mark.turn(charge.identity) as waited:
            if self.pace is not None and (waited or (not interactive and self._was_begun(charge))):
                self.pace.wait(start)
            yield

    def _was_begun(self, charge: Charge) -> bool:
        with self.chain.looking() as transaction:
            return reservations.unsettled(transaction, charge) is not None

    def wait_for_beat(self) -> None:
        """With a pace, wait for the next beat after the last charge: the time of what follows reveals nothing."""
        if self.pace is not None:
            self.pace.wait()

    def begin_again(self, reservation: Reservation | int) -> None:
        """Record that a reservation which is neither fresh nor settled is going to be executed once more.

        Call it before the data is touched again. It counts against the analyst's allowance of failures, because how
        often a question had to be executed may tell something about rows; AllowanceExceeded if that is used up.
        """
        number = _number(reservation)
        with self.chain.changing() as transaction:
            reservations.begin_again(transaction, number)

    def require_failures_left(self, reservation: Reservation | int) -> None:
        """Call this before each of several draws: AllowanceExceeded if the asker's failures are used up."""
        number = _number(reservation)
        with self.chain.looking() as transaction:
            reservations.require_failures_left(transaction, number)

    def fail(self, reservation: Reservation | int, *, defect: bool = False) -> None:
        """Record that the executor ran out of memory, time or disk on a reservation, before the asker is told.

        Call it when such a failure is about to be raised to the asker, and raise only after it has returned: it is
        durable then. A crash needs no call. It counts against the allowance of whoever asked, and a `defect`, an error
        that no limit explains, uses all of it up: one row may decide it, and it would tell one person after the other.
        """
        number = _number(reservation)
        self.wait_for_beat()
        with self.chain.changing() as transaction:
            reservations.fail(transaction, number, defect=defect)

    def fail_key(
        self, key: str, *, analyst: str | None = None, since: datetime | None = None, defect: bool = False
    ) -> None:
        """Record a failure, by idempotency key, for an executor that ended before it could call `fail`.

        Call it once the executor is gone, and before its asker is told. Nothing is counted if nothing was charged under
        the key, or if its answer was there before the executor was asked, `since` then. An answer that it stored in its
        last moment was not told; that it failed is.
        """
        with self.chain.changing() as transaction:
            reserved = reservations.of_key(transaction, analyst, key)
            if reserved is not None:
                reservations.fail(transaction, reserved[0], since=since, defect=defect)

    def fail_release(self, release: str, *, analyst: str | None = None, defect: bool = False) -> None:
        """Record a failure of a step of a release, for an executor that ended before it could call `fail`."""
        with self.chain.changing() as transaction:
            reservations.fail(transaction, releases.number_of(transaction, release, analyst), defect=defect)

    # -- reading, without blocking writers where that can be avoided -------------------------------------------

    def release(self, release: str, *, analyst: str | None = None) -> Reservation:
        """The reservation that the id of a release names, with its answer.

        With `analyst`, a release of somebody else is as unknown as one that never existed.
        """
        with self.chain.looking() as transaction:
            return reservations.released(transaction, release, analyst)

    def profiles(
        self, dataset: str, *, version: str, analyst: str | None = None, before: int | None = None
    ) -> list[tuple[Any, str, Any]]:
        """The name, id and stored answer of each profile that the asker's own levels paid for, the newest first.

        With `before`, those that were there before the entry of that number.
        """
        with self.chain.looking() as transaction:
            return reservations.profiles(transaction, dataset, analyst, version, before)

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
        with self.chain.looking() as transaction:
            return releases.listed(
                transaction, analyst=analyst, dataset=dataset, after=after, limit=limit, newest_first=newest_first
            )

    def release_record(self, release: str, *, analyst: str | None = None) -> ReleaseRecord:
        """What was asked and charged under the id of a release."""
        with self.chain.looking() as transaction:
            number = releases.number_of(transaction, release, analyst)
            return releases.record_of(transaction, transaction.state.reservation(number))

    def levels(self, *, analyst: str | None = None, dataset: str | None = None) -> BudgetStatuses:
        """Every level, in the order in which they were registered; or an analyst's own, on one data set or on all."""
        with self.chain.looking() as transaction:
            if analyst is None:
                return BudgetStatuses(status_of(transaction, level) for level in transaction.state.levels.values())
            if dataset is not None:
                transaction.state.dataset_for(dataset, analyst)
            return BudgetStatuses(
                status_of(transaction, grant.level) for grant in transaction.state.grants_of(analyst, dataset)
            )

    def history(self) -> list[Entry]:
        """Every entry, in order, each checked against its hash and the one before it. `entries` reads page by page."""
        return self.entries(limit=max(self._view().head, 1))

    def entries(self, *, analyst: str | None = None, after: int | None = None, limit: int = 1000) -> list[Entry]:
        """Entries with numbers greater than `after`, at most `limit`; an analyst's are numbered among themselves.

        A revoked analyst is refused; their entries stay among everybody's.

        Entries are read page by page, without blocking writers.
        """
        entries: list[Entry] = []
        wanted, last = whole("limit", limit), after or 0
        while len(entries) < wanted:
            view = self._view(analyst)  # anew for every page: checkpoints move on
            with self.chain.glancing() as reader:
                if analyst is None:
                    page = view.entries(reader, last, wanted - len(entries))
                else:
                    page = view.of_analyst(reader, analyst, last, wanted - len(entries))
            entries += page
            if not page or page[-1].number == (view.head if analyst is None else view.owned):
                break
            last = page[-1].number
        return entries

    def burn_down(self) -> dict[int, list[tuple[int, Fraction]]]:
        """For the number of each level: the used share of its budget, from 0 to 1, after each entry that changed it."""
        with self.chain.looking() as transaction:
            levels = {
                number: level.used for number, level in transaction.state.levels.items() if level.budget is not None
            }
            head = transaction.state.head.number
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
            except StopIteration as stop:
                verification: Verification = stop.value
                return verification

    def verifying(self) -> Generator[tuple[int, int], None, Verification]:
        """Verify as `verify` does, step by step: yield how many entries were checked, and of how many."""
        with self.chain.looking() as transaction:  # and derive it after that, so that writers need not wait
            head = transaction.state.head
            snapshots = {
                number: transaction.tables.snapshot(number) for number, level in transaction.state.levels.items()
            }
        with self.chain.glancing() as reader:
            return (yield from verifying(reader, snapshots, head))

    # -- inside ------------------------------------------------------------------------------------------------

    @contextmanager
    def _administering(self, by: str | None) -> Iterator[Transaction]:
        """Open a transaction for a custodian's decision; `by` is kept in its entries, if given."""
        custodian = None if by is None else named("by", by)
        with self.chain.changing() as transaction:
            transaction.by = custodian
            yield transaction

    def _status(self, find: Callable[[State], Level]) -> BudgetStatus:
        with self.chain.looking() as transaction:
            return status_of(transaction, find(transaction.state))

    def _view(self, analyst: str | None = None) -> View:
        with self.chain.looking() as transaction:
            state = transaction.state
            if analyst is None:
                return View(state.hashes, state.head.number)
            releases.require_admitted(transaction, analyst)
            levels = frozenset(grant.level.number for grant in state.grants_of(analyst))
            owned = state.lists.get(entries_by(analyst))
            return View(state.hashes, state.head.number, levels, 0 if owned is None else owned.count)


def _number(reservation: Reservation | int) -> int:
    number = reservation.number if isinstance(reservation, Reservation) else reservation
    if type(number) is not int:  # True and 4.0 would find the entries 1 and 4
        raise InvalidParameter("reservation", number, "is neither a reservation nor the number of one")
    return number
