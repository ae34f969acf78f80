"""Counters: a running count, period after period, under one charge for a horizon that is declared beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.accounting.pricing import noise_multiplier
from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.answers.terms import LeftOut
from giveortake.caching import served
from giveortake.compile import Caps, Spend
from giveortake.compile.postprocessing import ENTROPY
from giveortake.compile.sensitivity import capped, unbounded
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.runtime import failure
from giveortake.errors import InvalidParameter, LedgerMismatch, LedgerUnavailable, QueryRefused
from giveortake.exact import counted, whole
from giveortake.mechanisms.prefix_sums import RunningCount, SquareRoot, running_count_sensitivity
from giveortake.plan import Aggregate, AggregateKind, Call, ColumnReference, Kind, Measured, Question, Scan, identity
from giveortake.plan.expressions import moment_of
from giveortake.session.profiles.best_caps import left_out_under
from giveortake.session.refusals import OTHER_BUDGET, rounded_gaussian_event, unanswered
from giveortake.session.requests import Bound, Request, request
from giveortake.workload.designs import normal_margin

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.answers.terms import Confidence
    from giveortake.compile import Terms
    from giveortake.ledger import Charge, Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.plan import Domain, Expression, Relation, Value
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Priced
    from giveortake.session.steps import Steps

    Floats: TypeAlias = npt.NDArray[np.float64]

_FORMAT = 1  # of a step that is kept
_LONGEST = 10_000  # periods
_APPENDED = "rows may be added to the table, and none taken out or changed: what one person counts rests on that"
_LATE = "late rows are not counted: date rows by their arrival"


@final
@request("counter")
@dataclass(frozen=True, slots=True, eq=False)
class CounterRequest(Request):
    """A running count of the rows of a table by a column of periods; see `Session.counter`."""

    without: ClassVar[tuple[str, ...]] = ("key_delta", "aim", "n", "groups_per_person", "rows_per_group", "caps")
    table: str
    column: str
    horizon: int

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundCounter:
        relation, caps = mechanism.table(self.table), mechanism.resolve_caps(terms)
        return BoundCounter(mechanism, caps, Periods.of(mechanism, relation, self.column, self.horizon, caps), self)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Periods:
    """The periods of a counter: the first of a column, the horizon, and the cap on rows of a unit."""

    relation: Scan
    column: str
    first: Fraction
    horizon: int
    kind: Kind
    rows: int

    @classmethod
    def of(
        cls, mechanism: InteractiveMechanism, relation: Relation, column: str, horizon: object, caps: Caps
    ) -> Periods:
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
        capped_scan = capped(question, caps).relation
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
        return [identity(self.relation), self.column, str(self.first), self.horizon, self.rows]


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
@dataclass(frozen=True, slots=True, eq=False)
class CounterMeasurement:
    """The noise of all periods at a spend."""

    spend: Spend
    noise: RunningCount
    event: Event

    def margins(self, horizon: int, miss: float) -> Floats:
        """The margin of the count after each period. No row is read."""
        variance = float(self.noise.sigma**2 + Fraction(1, 12))
        margins: Floats = np.sqrt(variance * np.cumsum(weights_of(horizon) ** 2)) * normal_margin(1.0, miss)
        return margins


def weights_of(horizon: int) -> Floats:
    """The weight of a period's noisy integer in the running total, by how many periods ago it was."""
    return SquareRoot(horizon).last_weights()[::-1].copy()


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundCounter(Bound[CounterMeasurement]):
    """A counter on a table of a session.

    The asker steers it, one period a call: between two calls no lock is held, and earlier exact counts, which later
    steps need, are stored under pads.
    """

    kind: ClassVar[str] = "counter"
    interactive: ClassVar[bool] = True
    any_version: ClassVar[bool] = True
    hint: ClassVar[Any] = 'rho="1/100", or epsilon="1", delta="1e-8"'
    instead: ClassVar[Any] = OTHER_BUDGET
    mechanism: InteractiveMechanism
    caps: Caps
    periods: Periods
    request: CounterRequest

    # -- what it costs ------------------------------------------------------------------------------------------

    def at(self, spend: Spend) -> CounterMeasurement:
        if spend.is_pure:
            problem = "needs a delta: the noise of a counter is Gaussian"
            raise InvalidParameter("epsilon", str(spend.epsilon), problem, hint=self.hint)
        periods, neighbours = self.periods, self.mechanism.budget.neighbours
        mu = 1 / noise_multiplier(spend.squared_mu())  # rounded so that all that is left can be asked for
        noise = RunningCount.calibrated(periods.horizon, mu, periods.rows, neighbours)
        return CounterMeasurement(
            spend, noise, noise.event(running_count_sensitivity(periods.horizon, periods.rows, neighbours))
        )

    def event(self, measurement: CounterMeasurement) -> Event:
        return measurement.event

    def about(self, spend: Spend) -> Event:
        return rounded_gaussian_event(spend)

    def promise(self, measurement: CounterMeasurement) -> Guarantee:
        budget = self.mechanism.budget
        return measurement.event.guarantee(unit=budget.unit, neighbours=budget.neighbours)

    def kinds(self, _terms: Terms, _trial: TrialFilter) -> list[Spend]:
        return [Spend(mu=Fraction(1))]

    def width(self, measurement: CounterMeasurement, terms: Terms) -> float:
        return self.widest(measurement, terms)

    def widest(self, measurement: CounterMeasurement, terms: Terms) -> float:
        return float(self.margins(measurement, terms.confidence)[-1])

    def margins(self, measurement: CounterMeasurement, confidence: Confidence) -> Floats:
        """The margin of the noise of the count after each period. No row is read."""
        return measurement.margins(self.periods.horizon, self._miss(confidence))

    def _miss(self, confidence: Confidence) -> float:
        of_noise = LeftOut.confidence_of_noise(self._left_out(confidence), confidence)
        return of_noise.miss(self.periods.horizon)

    # -- what names and describes it ----------------------------------------------------------------------------

    def name(self, measurement: CounterMeasurement) -> dict[str, Any]:
        return {
            "counter": self.periods.to_json(),
            "neighbours": self.mechanism.budget.neighbours,
            "spend": measurement.spend.to_json(),
        }

    def words(self, _measurement: CounterMeasurement) -> str:
        periods = f"{self.periods.horizon:,} periods"
        return f"running count by {self.periods.column}, {periods}, in {self.mechanism.dataset}"

    def key(self, _stated: str | None, charge: Charge) -> str:
        """Its own: a counter is found again whatever has changed since. An asker's keys are for all data sets."""
        return f"counter {charge.identity}"

    # -- what it gives ------------------------------------------------------------------------------------------

    def require_runnable(self, _measurement: CounterMeasurement) -> None:
        self.mechanism.engine.require_runnable([self.periods.tally(0)])
        self.mechanism.engine.hold_to_content()

    def run(self, measurement: CounterMeasurement, steps: Steps) -> list[Any]:
        return list(steps.stored)

    def advance(self, measurement: CounterMeasurement, steps: Steps, argument: Any) -> None:
        """Draw the next period; with an index, the one there, unless it was drawn before."""
        if argument is not None and len(steps.stored) > whole("argument", argument, least=0):
            return
        if len(steps.stored) >= self.periods.horizon:
            raise QueryRefused(
                f"all {self.periods.horizon:,} periods of the horizon are over; nothing was charged",
                hint="a longer horizon is another counter, and another charge",
            )
        self._require_appended(steps.stored)
        steps.draw(None, {"format": _FORMAT}, lambda: self._drawn(measurement, steps))

    def _require_appended(self, stored: list[Any]) -> None:
        """Refuse to continue with another version of the table, unless it holds all rows of the versions before it.

        Guarantee: from step to step versions only grow newer. A session that is still open on an older one lacks rows
        that counted, which others of the same person would replace. It is decided by the names of versions and by the
        custodian's word, not by rows.
        """
        mechanism = self.mechanism
        if not mechanism.appended and any(step.get("version") != mechanism.version for step in stored):
            raise QueryRefused(
                "the table has changed since this counter began: if rows were taken out or changed, a person could "
                "count again in every period; nothing was drawn",
                hint='if rows were only added, the custodian says so: gt.protect(…, version={"appended": True})',
            )
        order = [name for name, _ in mechanism.ledger.versions(mechanism.dataset)]
        newest = max((order.index(step["version"]) for step in stored if "version" in step), default=0)
        if order.index(mechanism.version) < newest:
            raise QueryRefused(
                "this counter has moved on to a newer version of the table than this session holds; nothing was drawn",
                hint="protect the table as it is now, and go on there",
            )

    def _drawn(self, measurement: CounterMeasurement, steps: Steps) -> dict[str, Any]:
        """The noisy integer of the next period, and its exact count under a pad, for the step after it."""
        engine, index = self.mechanism.engine, len(steps.stored)
        pads = [steps.pad(earlier) for earlier in range(index + 1)]
        exact_count = engine.tally(self.periods.tally(index)).item(0)
        if not engine.unchanged():
            raise failure("changed")
        past = [int(step["under_pad"]) for step in steps.stored]
        count, under_pad = measurement.noise.next(exact_count, past, pads)
        return {"count": str(count), "under_pad": str(under_pad), "version": self.mechanism.version}

    def read(
        self,
        priced: Priced[CounterMeasurement],
        outcome: Any,
        reservation: Reservation,
        terms: Terms,
        *,
        looked_up: bool,
    ) -> Any:
        """The running counter; for a release that is read by its id, all counts released so far."""
        if looked_up:
            if not outcome:
                raise unanswered(reservation.id)
            return self.counts(priced, outcome, range(len(outcome)), reservation, terms)
        return Counter(self, priced, terms, reservation.id)

    def counts(
        self,
        priced: Priced[CounterMeasurement],
        stored: list[Any],
        indices: range,
        reservation: Reservation | None,
        terms: Terms,
    ) -> Answer:
        """The running counts after some periods."""
        if any(step["format"] != _FORMAT for step in stored):
            raise LedgerMismatch("a later version of giveortake stored a step of this counter")
        periods, promise = self.periods, self.promise(priced.measurement)
        released = np.array([float(int(step["count"])) for step in stored])
        weights = weights_of(periods.horizon)
        values = np.array([float(released[: index + 1] @ weights[index::-1]) for index in indices])
        left_out = self._left_out(terms.confidence)
        margins = self.margins(priced.measurement, terms.confidence)[indices.start : indices.stop]
        told = f"{len(indices):,}" if len(indices) != 1 else f"period {indices.start + 1:,}"
        notes = [f"{told} of {periods.horizon:,}{' periods' if len(indices) != 1 else ''}, under one charge", _LATE]
        if self._caps is not None:
            first = counted(periods.rows, "row")
            notes.append(f"of each person the first {first} in time count, as long as no row is taken out or changed")
        notes += [] if left_out is None else [str(left_out)]
        return Answer(
            [
                Column(
                    periods.column,
                    [periods.period(index) for index in indices],
                    kind="integer" if periods.kind is Kind.INTEGER else "date",
                ),
                Column("n", values, values - margins, values + margins).truncated(left_out),
            ],
            guarantee=promise,
            cost=promise,
            release_id=None if reservation is None else reservation.id,
            confidence=terms.confidence,
            citations=(RunningCount.citation,),
            recipe={"spend": str(priced.spend), "strategy": "the square root of running totals"},
            entropy=ENTROPY,
            notes=tuple(notes),
            caps=self._caps,
            left_out=left_out,
        )

    @property
    def _caps(self) -> Caps | None:
        return None if self.periods.relation.person is None else Caps(rows_per_person=self.periods.rows)

    def _left_out(self, confidence: Confidence) -> LeftOut | None:
        question = Question(self.periods.relation, (), (("n", _COUNT),))
        return left_out_under(self.mechanism, question, self._caps, confidence)

    # -- quotes -------------------------------------------------------------------------------------------------

    def quoted(self, priced: Priced[CounterMeasurement], terms: Terms, _admission: Admission) -> dict[str, Any]:
        left_out = self._left_out(terms.confidence)
        periods, margins = self.periods, self.margins(priced.measurement, terms.confidence)
        alone = periods.rows / float(priced.spend.gaussian()) * math.sqrt(periods.horizon)
        alone *= math.sqrt(2) if self.mechanism.budget.neighbours == "change-one" else 1.0
        first, last = periods.period(0), periods.period(periods.horizon - 1)
        listed = [period for period in _LISTED if period < periods.horizon] + [periods.horizon]
        lines = tuple({"periods": period, "margin": float(margins[period - 1])} for period in listed)
        return {
            "title": f"running count by {periods.column}, {first} to {last}: one charge for all periods",
            "margins": {"n": float(margins[-1])},
            "lines": lines,
            "facts": {
                "horizon": periods.horizon,
                "alone": normal_margin(alone, self._miss(terms.confidence)),
            },
            "caps": self._caps,
            "contributions": None
            if self._caps is None
            else f"the first {counted(periods.rows, 'row')} in time of a person",
            "truncation": {} if left_out is None or left_out.rows == 0 else {"n": left_out.rows},
            "left_out": left_out,
            "notes": (_APPENDED, *([] if priced.why is None else [priced.why])),
        }


_LISTED = (1, 7, 30, 100, 365, 1000)  # periods whose margin a quote lists


@final
@served
class Counter:
    """A running count of rows, period after period: `next` returns the count up to the next period.

    All periods of the horizon are one charge, which was made when it was answered. Released counts are kept in the
    ledger: they stay the same in every process and for every version of the table. Rows that come after their period
    was answered never count. Of each person the first `rows_per_person` rows in time count. That holds as long as rows
    are only added to the table, and none is taken out or changed: the k-th row of a person that counts has k − 1 before
    it in the table. So with another version of the table a counter continues only if the custodian has said so, with
    `gt.protect(…, version={"appended": True})`.
    """

    def __init__(self, bound: BoundCounter, priced: Priced[CounterMeasurement], terms: Terms, release_id: str) -> None:
        self._bound, self._priced, self._terms, self._mechanism = bound, priced, terms, bound.mechanism
        self.release_id = release_id

    @property
    def horizon(self) -> int:
        """How many periods the charge is for."""
        return self._bound.periods.horizon

    @property
    def cost(self) -> Any:
        """The promise that all periods together keep."""
        return self._bound.promise(self._priced.measurement)

    def margin(self, period: int) -> float:
        """The margin of the count after a number of periods. No row is read."""
        if not 1 <= period <= self.horizon:
            raise InvalidParameter("period", period, f"is not between 1 and the horizon, {self.horizon:,}")
        return float(self._bound.margins(self._priced.measurement, self._terms.confidence)[period - 1])

    def next(self) -> Answer:
        """The count up to and including the next period."""
        steps = self._mechanism.advance(self._priced, self._terms, self.release_id, None)
        count = len(steps.stored)
        return self._bound.counts(self._priced, steps.stored, range(count - 1, count), steps.reservation, self._terms)

    def answers(self) -> Answer:
        """All counts released so far, as one table of all periods; free."""
        steps = self._mechanism.stored(self._priced, self.release_id)
        return self._bound.counts(self._priced, steps.stored, range(len(steps.stored)), steps.reservation, self._terms)

    def __repr__(self) -> str:
        periods = self._bound.periods
        first, last = periods.period(0), periods.period(periods.horizon - 1)
        lines = [
            f"<Counter of {self._mechanism.dataset} by {periods.column}, {first} to {last}, at {self._priced.spend}",
            f"  the count after the last of them is accurate to ± {self.margin(self.horizon):,.4g}",
        ]
        try:
            done = len(self._mechanism.stored(self._priced, self.release_id).stored)
        except (LedgerMismatch, LedgerUnavailable, QueryRefused):
            return "\n".join([*lines, "  its table has changed, or it is closed: open it again"]) + ">"
        if done == self.horizon:
            lines.append("  all of them were released: answers() returns them again")
        else:
            lines.append(f"  {done:,} of them were released; next() releases {periods.period(done)}, for free")
        return "\n".join(lines) + ">"
