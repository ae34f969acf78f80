"""Requests for runs: the rows and the spend of a run before it is charged, and the charge that begins it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from giveortake.accounting.pricing import noise_multiplier, priced_within
from giveortake.compile.spend import unbounded
from giveortake.engines import Keys, Summand, Tally
from giveortake.errors import BudgetExceeded, QueryRefused
from giveortake.plan import Question
from giveortake.plan.question import Aggregate, AggregateKind, Measured
from giveortake.privacy import ZCDP, GaussianDP, events
from giveortake.session.adaptive_run import AdaptiveRun
from giveortake.session.mechanism import Charge
from giveortake.session.refusals import fit_too_dear, run_too_dear, samples_too_dear

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from giveortake.compile import Spend
    from giveortake.engines import KeyColumn, Sample
    from giveortake.ledger.rules.admission import Outlook
    from giveortake.plan import Relation
    from giveortake.privacy import ApproxDP, Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.session import Session


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunRequest:
    """The rows, the name and the spend of a run. Making a request charges nothing and reads no row."""

    _mechanism: InteractiveMechanism
    _relation: Relation
    rho: Fraction
    said: dict[str, Any]  # what names the run: everything that decides what it measures
    words: str
    stated: ApproxDP | None = None  # the (ε, δ) that was converted to ρ, if it was stated so
    spend: Spend | None = None  # what was stated for a run of sums of vectors
    declared: events.Repeated | None = None  # for a run of equal steps whose number is declared
    mu: Fraction | None = None  # for a run of only Gaussian releases, whose μ² add up
    persons: Sample | None = None  # the public part of the persons whose vectors are summed

    @classmethod
    def of(
        cls,
        session: Session,
        table: str,
        rho: Fraction,
        said: dict[str, Any],
        words: str,
        *,
        stated: ApproxDP | None = None,
        rows: Relation | None = None,
    ) -> RunRequest:
        """A run over a private table of a session, or some `rows` of it; refused if rows per person have no bound."""
        from giveortake.session.session import mechanism_of  # noqa: PLC0415 (a session's face is made of runs, too)

        return cls.of_mechanism(mechanism_of(session), table, rho, said, words, stated=stated, rows=rows)

    @classmethod
    def of_mechanism(
        cls,
        mechanism: InteractiveMechanism,
        table: str,
        rho: Fraction,
        said: dict[str, Any],
        words: str,
        *,
        stated: ApproxDP | None = None,
        rows: Relation | None = None,
    ) -> RunRequest:
        """As `of`, for the mechanism of a session."""
        if mechanism.part is not None:
            raise QueryRefused("a part of a table cannot be synthesised", hint="use the session of the whole table")
        relation = mechanism.origin.relations[table] if rows is None else rows
        if relation.most_rows is None:
            raise unbounded("rows", ())
        rho = priced_within(rho)  # rounded so that all that is left can be asked for
        return cls(mechanism, relation, rho, said | {"relation": relation.to_json(), "rho": str(rho)}, words, stated)

    @classmethod
    def of_vectors(
        cls, mechanism: InteractiveMechanism, relation: Relation, spend: Spend, said: dict[str, Any], words: str
    ) -> RunRequest:
        """A run of sums of vectors, each of which bounds a person's contribution itself; it keeps μ-GDP."""
        if mechanism.part is not None:
            raise QueryRefused(
                "a model cannot be fitted to a part of a table", hint="use the session of the whole table"
            )
        mu = 1 / noise_multiplier(spend.squared_mu())  # rounded so that all that is left can be asked for
        named = said | {"relation": relation.to_json(), "mu": str(mu)}
        return cls(mechanism, relation, mu**2 / 2, named, words, spend=spend, mu=mu)

    @classmethod
    def of_samples(
        cls,
        mechanism: InteractiveMechanism,
        relation: Relation,
        spend: Spend,
        declared: events.Repeated,
        *,
        said: dict[str, Any],
        words: str,
    ) -> RunRequest:
        """A run of a declared number of sums over samples of persons, all with the same noise."""
        found = cls.of_vectors(mechanism, relation, spend, said | {"declared": declared.to_dict()}, words)
        return replace(found, declared=declared)

    @property
    def event(self) -> Event:
        """The event that is charged, once, for the whole run."""
        if self.declared is not None:
            return self.declared
        return events.ZCDP(self.rho) if self.mu is None else events.Gaussian(1 / self.mu)

    @property
    def promise(self) -> Guarantee:
        """The promise that the run keeps, whatever it measures."""
        budget = self._mechanism.budget
        terms: Any = {"unit": budget.unit, "neighbours": budget.neighbours}
        if self.declared is not None:
            return self.declared.guarantee(**terms)
        return ZCDP(self.rho, **terms) if self.mu is None else GaussianDP(self.mu, **terms)

    @property
    def moved_by_unit(self) -> float:
        """The L2 sensitivity of a table of counts, for quotes only."""
        most = self._relation.most_rows or 1
        return most * (2**0.5 if self._mechanism.budget.neighbours == "change-one" else 1.0)

    def require(self, tables: Sequence[Sequence[KeyColumn]]) -> None:
        """Refuse tables of counts that are not about this session's tables, or too large for the engine."""
        for table in tables:
            self._mechanism.origin.require(self._question(table))
        self._mechanism.engine.require_runnable([self._tally(table) for table in tables])

    @contextmanager
    def begin(self, key: str | None) -> Iterator[AdaptiveRun]:
        """Charge, and give the run: a new one, one that continues, or one that has ended and is replayed.

        Who asks for the same run at the same moment waits, and gets the same draws.
        """
        mechanism = self._mechanism
        charge = self._charge
        with (
            _once_in_a_thread(f"{mechanism.ledger.id} {mechanism.analyst} {mechanism.dataset} {charge.question}"),
            mechanism.ledger.turn(
                charge.question, dataset=mechanism.dataset, analyst=mechanism.analyst, event=charge.event
            ),
        ):
            try:
                reservation = mechanism.reserve_charge(charge, key)
            except BudgetExceeded as refusal:
                if self.declared is not None:
                    raise samples_too_dear(self.spend, refusal) from None
                if self.spend is not None:
                    raise fit_too_dear(mechanism, self.spend, self.event, refusal) from None
                raise run_too_dear(mechanism, self.rho, self.stated, refusal) from None
            if not reservation.settled:
                mechanism.begin(reservation)
            run = AdaptiveRun(self, reservation)
            try:
                yield run
            finally:
                run.close()

    def contestants_ended(self) -> tuple[str, ...]:
        """The contestants of the budget's race that this charge would end, by their symbols."""
        trial = self._mechanism.trial()
        after = trial.after(self.event)
        if after is None:
            return ()
        pairs = zip(trial.accounts, after.accounts, strict=True)
        return tuple(before.currency.symbol for before, then in pairs if before.alive and not then.alive)

    @property
    def _charge(self) -> Charge:
        return Charge(self.event, {"questions": [], "refines": [], "part": None, "run": self.said}, self.words)

    def outlook(self) -> Outlook:
        """What a quote asks the ledger: whether the charge would be admitted now, and whether it would wait."""
        return self._mechanism.outlook(self._charge)

    def _question(self, table: Sequence[KeyColumn]) -> Question:
        for column in table:
            if column.values is None or len(set(column.values)) < len(column.values):
                raise QueryRefused(f"the values of `{column.name}` are not all declared, each once")
        keys = tuple((column.name, column.expression) for column in table)
        return Question(self._relation, keys, (("n", Measured(Aggregate(AggregateKind.COUNT_ROWS))),))

    def _tally(self, table: Sequence[KeyColumn]) -> Tally:
        return Tally(self._relation, Keys(tuple(table)), (Summand("rows"),))


_open_runs: set[tuple[str, int]] = set()  # name and thread: a thread must not wait for itself


@contextmanager
def _once_in_a_thread(name: str) -> Iterator[None]:
    """Refuse a run that the same thread has open already: it would wait for itself for ever."""
    held = (name, threading.get_ident())
    if held in _open_runs:
        raise QueryRefused("this run is already open in this thread", hint="go on with it, or close it first")
    _open_runs.add(held)
    try:
        yield
    finally:
        _open_runs.discard(held)
