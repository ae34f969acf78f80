"""Counters: a running count, period after period, under one charge for a horizon that is declared beforehand."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.accounting.pricing import noise_multiplier
from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.compile import Caps
from giveortake.compile.postprocessing import ENTROPY
from giveortake.compile.sensitivity import capped, unbounded
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.runtime import failure
from giveortake.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerMismatch,
    LedgerUnavailable,
    QueryFailed,
    QueryRefused,
)
from giveortake.exact import counted, whole
from giveortake.mechanisms.prefix_sums import RunningCount, SquareRoot, running_count_sensitivity
from giveortake.plan import Aggregate, AggregateKind, Call, ColumnReference, Kind, Measured, Question, Scan
from giveortake.plan.domains import moment_of
from giveortake.session.mechanism import Charge, sealed_question
from giveortake.session.pricing import no_price, share_of_budget
from giveortake.session.profiles.best_caps import left_out_under
from giveortake.session.quotes import CounterQuote
from giveortake.session.refusals import OTHER_BUDGET, rounded_gaussian_event, too_dear
from giveortake.session.releases import counter_record
from giveortake.session.session import served
from giveortake.workload.designs import normal_margin

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.answers.terms import LeftOut
    from giveortake.compile import Spend, Terms
    from giveortake.ledger import Reservation
    from giveortake.plan import Domain, Expression, Relation, Value
    from giveortake.session.mechanism import InteractiveMechanism

    Floats: TypeAlias = npt.NDArray[np.float64]

_FORMAT = 1  # of a step that is kept
_LONGEST = 10_000  # periods
_APPENDED = "rows may be added to the table, and none taken out or changed: what one person counts rests on that"
_LATE = "late rows are not counted: date rows by their arrival"


@final
@dataclass(frozen=True, slots=True, eq=False)
class CounterRequest:
    """A counter as it was asked for: the first period of a column, the horizon, and the cap on rows of a unit."""

    relation: Scan
    column: str
    first: Fraction
    horizon: int
    kind: Kind
    rows: int

    @classmethod
    def of(
        cls, mechanism: InteractiveMechanism, relation: Relation, column: str, horizon: object, terms: Terms
    ) -> CounterRequest:
        """Check what was asked for. Nothing is charged, and no row is read."""
        if not isinstance(relation, Scan):
            raise QueryRefused("a counter runs over a whole table, and this is a part of one")
        domain = ColumnReference(column).domain(relation.schema)
        periods = whole("horizon", horizon)  # type: ignore[arg-type]  # (checked there)
        if not 1 <= periods <= _LONGEST:
            raise InvalidParameter("horizon", horizon, f"is not between 1 and {_LONGEST:,} periods")
        _require_periods(column, domain)
        _require_within(column, domain, periods)
        question = Question(relation, ((column, _period(column, domain)),), (("n", _COUNT),))
        mechanism.origin.require(question)
        capped_scan = capped(question, mechanism.resolve_caps(terms)).relation
        assert isinstance(capped_scan, Scan)  # noqa: S101 (caps leave a table a table)
        rows = capped_scan.most_rows
        if rows is None:
            raise unbounded("rows", ("s.counter(…, rows_per_person=10)",))
        counted_scan = capped_scan if capped_scan.most_rows_of_person is None else replace(capped_scan, first_by=column)
        first = Fraction(int(domain.low or 0))
        return cls(counted_scan, column, first, periods, domain.kind, rows)

    def period(self, index: int) -> Value:
        """The period at an index, from 0 on."""
        number = self.first + index
        return int(number) if self.kind is Kind.INTEGER else moment_of(number, timed=False)

    def tally(self, index: int) -> Tally:
        """The tally that counts the rows of the period at an index."""
        expression = _period(self.column, self.relation.schema[self.column])
        column = KeyColumn(self.column, expression, (self.period(index),))
        return Tally(self.relation, Keys((column,)), (Summand("rows"),))

    def to_json(self) -> list[Any]:
        """What identifies the counter in a ledger."""
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


def _require_within(column: str, domain: Domain, horizon: int) -> None:
    """Refuse to charge for periods after the last declared one, in which no row can lie."""
    if domain.high is None:
        return
    declared_periods = math.floor(domain.high) - math.floor(domain.low or 0) + 1
    if horizon > declared_periods:
        last = math.floor(domain.high)
        last_period = last if domain.kind is Kind.INTEGER else moment_of(Fraction(last), timed=False)
        raise InvalidParameter(
            "horizon",
            horizon,
            f"reaches beyond {last_period}, the last declared value of `{column}`",
            hint=f'horizon={declared_periods}; or declare later values, domains={{"{column}": (…, …)}}, '
            "before anything is asked",
        )


def _period(column: str, domain: Domain) -> Expression:
    return Call("to_date", (ColumnReference(column),)) if domain.kind is Kind.TIMESTAMP else ColumnReference(column)


@final
@served
class Counter:
    """A running count of rows, period after period: `next` returns the count up to the next period.

    Making it costs nothing, and neither does `quote`. All periods of the horizon are one charge, made by the first
    `next`; all others are free. Released counts are kept in the ledger: they stay the same in every process and for
    every version of the table. Rows that come after their period was answered never count. Of each person the first
    `rows_per_person` rows in time count. That holds as long as rows are only added to the table, and none is taken out
    or changed: the k-th row of a person that counts has k − 1 before it in the table. So with another version of the
    table a counter continues only if the custodian has said so, with `gt.protect(…, appended=True)`.
    """

    def __init__(self, mechanism: InteractiveMechanism, request: CounterRequest, spend: Spend, terms: Terms) -> None:
        self._mechanism, self._request, self._terms, self.spend = mechanism, request, terms, spend
        neighbours = mechanism.budget.neighbours
        mu = 1 / noise_multiplier(spend.squared_mu())  # rounded so that all that is left can be asked for
        self._noise = RunningCount.calibrated(request.horizon, mu, request.rows, neighbours)
        self._event = self._noise.event(running_count_sensitivity(request.horizon, request.rows, neighbours))
        mechanism.engine.require_runnable([request.tally(0)])
        mechanism.engine.hold_to_content()

    @property
    def horizon(self) -> int:
        """How many periods the charge is for."""
        return self._request.horizon

    @property
    def cost(self) -> Any:
        """The promise that all periods together keep."""
        budget = self._mechanism.budget
        return self._event.guarantee(unit=budget.unit, neighbours=budget.neighbours)

    def margin(self, period: int) -> float:
        """The margin of the count after a number of periods. No row is read."""
        if not 1 <= period <= self.horizon:
            raise InvalidParameter("period", period, f"is not between 1 and the horizon, {self.horizon:,}")
        return float(self._margins[period - 1])

    @cached_property
    def _weights(self) -> Floats:
        """The weight of a period's noisy integer in the running total, by how many periods ago it was."""
        return SquareRoot(self.horizon).last_weights()[::-1].copy()

    @cached_property
    def _margins(self) -> Floats:
        variance = float(self._noise.sigma**2 + Fraction(1, 12))
        margins: Floats = np.sqrt(variance * np.cumsum(self._weights**2)) * normal_margin(1.0, self._miss)
        return margins

    @property
    def _miss(self) -> float:
        return self._terms.confidence.miss(self.horizon)

    def quote(self) -> CounterQuote:
        """What the horizon would cost, and the margin of the count after each period. No row is read."""
        mechanism, request = self._mechanism, self._request
        alone = request.rows / float(self.spend.gaussian()) * math.sqrt(self.horizon)
        alone *= math.sqrt(2) if mechanism.budget.neighbours == "change-one" else 1.0
        share = share_of_budget(mechanism.budget, self._event)
        admission, is_charged = mechanism.admission(self.charge()), self._is_charged
        return CounterQuote(
            str(self.spend),
            self.cost,
            request.column,
            request.period(0),
            request.period(self.horizon - 1),
            tuple(self._margins.tolist()),
            normal_margin(alone, self._miss),
            self._terms.confidence,
            admission.admitted or is_charged,
            is_charged,
            share,
            self._caps,
            (*no_price(share, mechanism.budget, self._event, OTHER_BUDGET), _APPENDED),
            self._left_out(),
            approval=admission.waits and not is_charged,
        )

    @property
    def _caps(self) -> Caps | None:
        return None if self._request.relation.person is None else Caps(rows_per_person=self._request.rows)

    def _left_out(self) -> LeftOut | None:
        question = Question(self._request.relation, (), (("n", _COUNT),))
        return left_out_under(self._mechanism, question, self._caps, self._terms.confidence)

    def next(self) -> Answer:
        """The count up to and including the next period. The first call charges, for the whole horizon."""
        mechanism, charge = self._mechanism, self.charge()
        with mechanism.ledger.turn(charge.question, dataset=mechanism.dataset, analyst=mechanism.analyst):
            steps, reservation = self._opened(charge)
            index = len(steps)
            self._require_appended(steps)
            if index >= self.horizon:
                raise QueryRefused(
                    f"all {self.horizon:,} periods of the horizon are over; nothing was charged",
                    hint="a longer horizon is another counter, and another charge",
                )
            steps.append(self._next(steps, index, reservation))
        return self._read(steps, index, reservation)

    def _require_appended(self, steps: list[Any]) -> None:
        """Refuse to continue with another version of the table, unless it holds all rows of the versions before it.

        Guarantee: from step to step versions only grow newer. A session that is still open on an older one lacks rows
        that counted, which others of the same person would replace. It is decided by the names of versions and by the
        custodian's word, not by rows.
        """
        mechanism = self._mechanism
        if not mechanism.appended and any(step.get("version") != mechanism.version for step in steps):
            raise QueryRefused(
                "the table has changed since this counter began: if rows were taken out or changed, a person could "
                "count again in every period; nothing was drawn",
                hint="if rows were only added, the custodian says so: gt.protect(…, appended=True)",
            )
        order = [name for name, _ in mechanism.ledger.versions(mechanism.dataset)]
        newest = max((order.index(step["version"]) for step in steps if "version" in step), default=0)
        if order.index(mechanism.version) < newest:
            raise QueryRefused(
                "this counter has moved on to a newer version of the table than this session holds; nothing was drawn",
                hint="protect the table as it is now, and go on there",
            )

    def _next(self, steps: list[Any], index: int, reservation: Reservation) -> Any:
        """Draw and store a step. A failure is counted before it is raised, and so is each execution but the first."""
        mechanism, begun_file = self._mechanism, f"{reservation.reference}-{index}.begun"
        mechanism.ledger.require_failures_left(reservation)
        if mechanism.spool.has(begun_file):
            mechanism.ledger.wait_for_beat()  # when this step was ended is not told by when it is begun again
            mechanism.ledger.begin_again(reservation)
        mechanism.spool.first(begun_file, lambda: [index])

        def draw() -> Any:
            return mechanism.ledger.keep(reservation, index, self._drawn(steps, reservation))

        try:
            step = sealed_question(draw)
        except QueryFailed as failed:
            mechanism.ledger.fail(reservation, defect=failed.cause == "defect")
            raise
        mechanism.spool.forget(begun_file)
        return step

    def answers(self) -> Answer:
        """All counts released so far, as one table of all periods; free."""
        steps, reservation = self._stored_steps()
        return self.table(steps, range(len(steps)), reservation)

    # -- inside -------------------------------------------------------------------------------------------------

    def charge(self) -> Charge:
        """The one charge for all periods, with the name by which the ledger finds it again."""
        mechanism = self._mechanism
        request = {
            "counter": self._request.to_json(),
            "neighbours": mechanism.budget.neighbours,
            "spend": self.spend.to_json(),
        }
        words = f"running count by {self._request.column}, {self.horizon:,} periods, in {mechanism.dataset}"
        record = counter_record(
            mechanism,
            self._request.relation.table.name,
            self._request.column,
            self.horizon,
            spend=self.spend,
            terms=self._terms,
        )
        return Charge(self._event, request, words, record)

    def _opened(self, charge: Charge) -> tuple[list[Any], Reservation]:
        """The steps stored so far, and their reservation: charged now, or found whatever has changed since."""
        mechanism = self._mechanism
        try:
            reservation = mechanism.reserve_charge(charge, self._key(charge))
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

    def _stored_steps(self) -> tuple[list[Any], Reservation | None]:
        """The steps stored so far and their reservation, without charging: none before the first step."""
        return self._opened(self.charge()) if self._is_charged else ([], None)

    @property
    def _is_charged(self) -> bool:
        mechanism, charge = self._mechanism, self.charge()
        return mechanism.ledger.knows(
            charge.event,
            dataset=mechanism.dataset,
            analyst=mechanism.analyst,
            key=self._key(charge),
            request=charge.request,
            question=charge.question,
        )

    def _key(self, charge: Charge) -> str:
        identity = f"{self._mechanism.dataset} {charge.question}"  # an asker's keys are for all data sets together
        return f"counter {hashlib.sha256(identity.encode()).hexdigest()}"

    def _drawn(self, steps: list[Any], reservation: Reservation) -> dict[str, Any]:
        """Draw the next step: its noisy integer, and its exact count masked by a pad, for the step after it."""
        engine, ledger = self._mechanism.engine, self._mechanism.ledger
        pads = [ledger.pad(reservation, index) for index in range(len(steps) + 1)]
        exact_count = engine.tally(self._request.tally(len(steps))).item(0)
        if not engine.unchanged():
            raise failure("changed")
        count, under_pad = self._noise.next(exact_count, [int(step["under_pad"]) for step in steps], pads)
        version = self._mechanism.version
        return {"format": _FORMAT, "count": str(count), "under_pad": str(under_pad), "version": version}

    def _read(self, steps: list[Any], index: int, reservation: Reservation) -> Answer:
        """The answer for one period."""
        return self.table(
            steps, range(index, index + 1), reservation, f"period {index + 1:,} of {self.horizon:,}, under one charge"
        )

    def table(self, steps: list[Any], indices: range, reservation: Reservation | None, *notes: str) -> Answer:
        """The running counts after some periods."""
        if any(step["format"] != _FORMAT for step in steps):
            raise LedgerMismatch("a later version of giveortake stored a step of this counter")
        released = np.array([float(int(step["count"])) for step in steps])
        values = np.array([float(released[: index + 1] @ self._weights[index::-1]) for index in indices])
        margins = self._margins[indices.start : indices.stop]
        all_notes = [*notes] if notes else [f"{len(indices):,} of {self.horizon:,} periods, under one charge"]
        all_notes.append(_LATE)
        if self._caps is not None:
            first = counted(self._request.rows, "row")
            all_notes.append(
                f"of each person the first {first} in time count, as long as no row is taken out or changed"
            )
        left_out = self._left_out()
        all_notes += [] if left_out is None else [str(left_out)]
        return Answer(
            [
                Column(
                    self._request.column,
                    [self._request.period(index) for index in indices],
                    kind="integer" if self._request.kind is Kind.INTEGER else "date",
                ),
                Column("n", values, values - margins, values + margins),
            ],
            guarantee=self.cost,
            cost=self.cost,
            release_id=None if reservation is None else reservation.id,
            confidence=self._terms.confidence,
            citations=(RunningCount.citation,),
            recipe={"spend": str(self.spend), "strategy": "the square root of running totals"},
            entropy=ENTROPY,
            notes=tuple(all_notes),
            caps=self._caps,
            left_out=left_out,
        )

    def __repr__(self) -> str:
        request = self._request
        first, last = request.period(0), request.period(self.horizon - 1)
        periods = counted(self.horizon, "period")
        lines = [
            f"<Counter of {self._mechanism.dataset} by {request.column}, {first} to {last}: {self.spend} for {periods}",
            f"  the count after the last of them is accurate to ± {self._margins[-1]:,.4g}",
        ]
        try:
            steps, _ = self._stored_steps()
        except (LedgerMismatch, LedgerUnavailable, QueryRefused):
            return "\n".join([*lines, "  its table has changed, or it is closed: open it again"]) + ">"
        if len(steps) == self.horizon:
            lines.append("  all of them were told: answers() tells them again")
        elif steps:
            lines.append(f"  {len(steps):,} of them were told; next() tells {request.period(len(steps))}, for free")
        else:
            lines.append(f"  the first next() charges for all of them, and tells {first}; quote() says what")
        return "\n".join(lines) + ">"
