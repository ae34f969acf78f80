"""Counters: a running count, period after period, under one charge for a horizon that is declared beforehand."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.accounting.whole_prices import noise_multiplier
from giveortake.answers import Answer
from giveortake.answers.column import Column as AnswerColumn
from giveortake.compile.caps import capped, unbounded
from giveortake.compile.postprocessing import ENTROPY
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.failures import failure
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerMismatch, QueryFailed, QueryRefused
from giveortake.exact import whole
from giveortake.mechanisms.running_counts import RunningCount, moved
from giveortake.mechanisms.square_root import SquareRoot
from giveortake.plan import Aggregate, AggregateKind, Call, Column, Kind, Measured, Question, Scan
from giveortake.plan.moments import moment_of
from giveortake.session.mechanism import Charge
from giveortake.session.refusals import OTHER_BUDGET, rounded_gaussian_event, too_dear
from giveortake.session.sealed_draws import sealed_question
from giveortake.workload.designs import normal_margin

if TYPE_CHECKING:
    from giveortake.compile import Spend, Terms
    from giveortake.ledger import Reservation
    from giveortake.plan import Domain, Expression, Relation, Value
    from giveortake.session.mechanism import InteractiveMechanism

_FORMAT = 1  # of a step that is kept
_LONGEST = 10_000  # periods
_LATE = "rows that come after their period was answered never count: give them the period in which they came"


@final
@dataclass(frozen=True, slots=True, eq=False)
class AskedCounter:
    """The periods of a column from a first one on, and how many rows of a unit count in all of them together."""

    relation: Relation
    column: str
    first: Fraction
    horizon: int
    kind: Kind
    rows: int

    @classmethod
    def of(
        cls, mechanism: InteractiveMechanism, relation: Relation, column: str, horizon: object, terms: Terms
    ) -> AskedCounter:
        """As it was said, checked. Nothing is charged, and no row is looked at."""
        if not isinstance(relation, Scan):
            raise QueryRefused("a counter runs over a whole table, and this is a part of one")
        domain = Column(column).domain(relation.schema)
        periods = whole("horizon", horizon)  # type: ignore[arg-type]  # (checked there)
        if not 1 <= periods <= _LONGEST:
            raise InvalidParameter("horizon", horizon, f"is not between 1 and {_LONGEST:,} periods")
        _require_periods(column, domain)
        question = Question(relation, ((column, _period(column, domain)),), (("n", _COUNT),))
        mechanism.origin.require(question)
        few = capped(question, mechanism.resolve_caps(terms)).relation
        assert isinstance(few, Scan)  # noqa: S101 (caps leave a table a table)
        rows = few.most_rows
        if rows is None:
            raise unbounded("rows")
        counted = few if few.most_rows_of_person is None else replace(few, first_by=column)
        first = Fraction(int(domain.low or 0))
        return cls(counted, column, first, periods, domain.kind, rows)

    def period(self, place: int) -> Value:
        """The period at a place, from 0 on."""
        number = self.first + place
        return int(number) if self.kind is Kind.INTEGER else moment_of(number, timed=False)

    def tally(self, place: int) -> Tally:
        """How many rows lie in the period at a place."""
        expression = _period(self.column, self.relation.schema[self.column])
        column = KeyColumn(self.column, expression, (self.period(place),))
        return Tally(self.relation, Keys((column,)), (Summand("rows"),))

    def to_json(self) -> list[Any]:
        """What names it in a ledger."""
        return [self.relation.to_json(), self.column, str(self.first), self.horizon, self.rows]


_COUNT = Measured(Aggregate(AggregateKind.COUNT_ROWS))


def _require_periods(column: str, domain: Domain) -> None:
    if domain.kind not in {Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP}:
        raise QueryRefused(
            f"`{column}` holds {domain.kind} values, and periods are days or whole numbers",
            hint="count by a date, a time or a whole number",
        )
    if domain.low is None:
        raise QueryRefused(
            f"`{column}` has no first period",
            hint=f'domains={{"{column}": ("2024-01-01", "2024-12-31")}} in gt.protect declares one',
        )


def _period(column: str, domain: Domain) -> Expression:
    return Call("to_date", (Column(column),)) if domain.kind is Kind.TIMESTAMP else Column(column)


@final
class Counter:
    """How many rows there are up to each period, one period after the other: `next` tells of the next one.

    All periods of the horizon are one charge, made by the first `next`. What was told is kept in the ledger: it stays,
    in whatever process and for whatever version of the table the counter is opened again. Rows that come after their
    period was answered never count. Of a person the first rows in time count, so many as `rows_per_person` says; that
    holds as long as rows are added to the table and none is taken out: the k-th row of a person that counts has k − 1
    before it in the table.
    """

    def __init__(self, mechanism: InteractiveMechanism, asked: AskedCounter, spend: Spend, terms: Terms) -> None:
        self._mechanism, self._asked, self._terms, self.spend = mechanism, asked, terms, spend
        neighbours = mechanism.budget.neighbours
        mu = 1 / noise_multiplier(spend.squared_mu())  # whoever asks for all that is left gets it
        self._noise = RunningCount.calibrated(asked.horizon, mu, asked.rows, neighbours)
        self._event = self._noise.event(moved(asked.horizon, asked.rows, neighbours))
        mechanism.engine.require_runnable([asked.tally(0)])

    @property
    def horizon(self) -> int:
        """How many periods the charge is for."""
        return self._asked.horizon

    @property
    def cost(self) -> Any:
        """What all periods together promise."""
        budget = self._mechanism.budget
        return self._event.guarantee(unit=budget.unit, neighbours=budget.neighbours)

    def margin(self, period: int) -> float:
        """How far the count after so many periods is from the truth. It is known without a row."""
        if not 1 <= period <= self.horizon:
            raise InvalidParameter("period", period, f"is not between 1 and the horizon, {self.horizon:,}")
        weights = SquareRoot(period).last_weights()
        deviation = float(np.sqrt(float(self._noise.sigma**2 + Fraction(1, 12)) * (weights**2).sum()))
        return normal_margin(deviation, self._terms.confidence.miss(self.horizon))

    def next(self) -> Answer:
        """The count up to the next period, that one included."""
        mechanism, charge = self._mechanism, self._charge()
        with mechanism.ledger.turn(charge.question, dataset=mechanism.dataset, analyst=mechanism.analyst):
            kept, reservation = self._opened(charge)
            place = len(kept)
            if place >= self.horizon:
                raise QueryRefused(
                    f"the horizon of {self.horizon:,} periods is over; nothing was charged",
                    hint="a longer horizon is another counter, and another charge",
                )
            kept.append(self._next(kept, place, reservation))
        return self._read(kept, place, reservation)

    def _next(self, kept: list[Any], place: int, reservation: Reservation) -> Any:
        """Draw a step and keep it. A failure is counted before it is told, and so is every execution but the first."""
        mechanism, begun = self._mechanism, f"{reservation.reference}-{place}.begun"
        mechanism.ledger.require_failures_left(reservation)
        if mechanism.spool.has(begun):
            mechanism.ledger.begin_again(reservation)
        mechanism.spool.first(begun, lambda: [place])

        def draw() -> Any:
            return mechanism.ledger.keep(reservation, place, self._drawn(kept, reservation))

        try:
            drawn = sealed_question(draw)
        except QueryFailed:
            mechanism.ledger.fail(reservation)
            raise
        mechanism.spool.forget(begun)
        return drawn

    def answers(self) -> list[Answer]:
        """Everything that was told so far, once more, for free."""
        kept, reservation = self._opened(self._charge(), charge_now=False)
        return [] if reservation is None else [self._read(kept, place, reservation) for place in range(len(kept))]

    # -- inside -------------------------------------------------------------------------------------------------

    def _charge(self) -> Charge:
        mechanism = self._mechanism
        named = {
            "counter": self._asked.to_json(),
            "neighbours": mechanism.budget.neighbours,
            "spend": self.spend.to_json(),
        }
        words = f"running count by {self._asked.column}, {self.horizon:,} periods, in {mechanism.dataset}"
        return Charge(self._event, named, words)

    def _opened(self, charge: Charge, *, charge_now: bool = True) -> tuple[list[Any], Any]:
        """What is kept so far, and the one charge for it; a counter that was begun before is found whatever changed."""
        mechanism = self._mechanism
        named = f"{mechanism.dataset} {charge.question}"  # an asker's keys are for all data sets together
        key = f"counter {hashlib.sha256(named.encode()).hexdigest()}"
        if not charge_now and not mechanism.ledger.knows(
            charge.event,
            dataset=mechanism.dataset,
            analyst=mechanism.analyst,
            key=key,
            request=charge.request,
            question=charge.question,
        ):
            return [], None
        try:
            reservation = mechanism.reserve_charge(charge, key)
        except BudgetExceeded as refusal:
            raise too_dear(
                mechanism,
                str(self.spend),
                self.spend,
                charge.event,
                refusal,
                event_at=rounded_gaussian_event,
                instead=OTHER_BUDGET,
            ) from None
        return mechanism.ledger.kept(reservation), reservation

    def _drawn(self, kept: list[Any], reservation: Reservation) -> dict[str, Any]:
        """The next step: its noisy integer, and its exact count under a pad, by which the next one goes on."""
        engine, ledger = self._mechanism.engine, self._mechanism.ledger
        pads = [ledger.pad(reservation, place) for place in range(len(kept) + 1)]
        now = engine.tally(self._asked.tally(len(kept))).item(0)
        if not engine.unchanged():
            raise failure("changed")
        count, under_pad = self._noise.next(now, [int(each["under_pad"]) for each in kept], pads)
        return {"format": _FORMAT, "count": str(count), "under_pad": str(under_pad)}

    def _read(self, kept: list[Any], place: int, reservation: Reservation) -> Answer:
        if any(each["format"] != _FORMAT for each in kept):
            raise LedgerMismatch("a step of this counter was kept by a later version")
        released = np.array([[float(int(each["count"])) for each in kept[: place + 1]]])
        value = float(SquareRoot(place + 1).running_totals(released)[0, -1])
        margin = self.margin(place + 1)
        period = self._asked.period(place)
        kind: Any = "date" if isinstance(period, dt.date) else "integer"
        notes = [f"period {place + 1:,} of {self.horizon:,}, under one charge for all of them", _LATE]
        if self._asked.relation.person is not None:
            notes.append(f"of each person the first {self._asked.rows:,} rows in time count")
        return Answer(
            [
                AnswerColumn(self._asked.column, [period], kind=kind),
                AnswerColumn("n", [value], [value - margin], [value + margin]),
            ],
            guarantee=self.cost,
            cost=self.cost,
            release_id=reservation.id,
            confidence=self._terms.confidence,
            citations=(RunningCount.citation,),
            recipe={"spend": str(self.spend), "strategy": "the square root of running totals"},
            entropy=ENTROPY,
            notes=tuple(notes),
        )

    def __repr__(self) -> str:
        return (
            f"<Counter of {self._mechanism.dataset} by {self._asked.column}: {self.horizon:,} periods at {self.spend}>"
        )
