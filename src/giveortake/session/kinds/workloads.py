"""Workloads: many tables that are declared together and answered under one charge.

The event of a workload follows from its spend alone, so that prices are compared without a plan; no row decides
anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final, get_args

from giveortake.accounting.pricing import Epsilon
from giveortake.answers.terms import LeftOut
from giveortake.compile import Spend
from giveortake.compile.postprocessing import ENTROPY
from giveortake.engines.runtime import failure
from giveortake.errors import InvalidParameter
from giveortake.exact import counted
from giveortake.plan import Aggregate, AggregateKind, Measured, Relation
from giveortake.session.kinds.alternatives import with_other_noise
from giveortake.session.profiles.best_caps import left_out_under
from giveortake.session.quotes import fact_text
from giveortake.session.requests import Bound, PaidPart, Request, request
from giveortake.session.steps import sealed_question
from giveortake.session.storage import MANY
from giveortake.workload.bound_workload import BoundWorkload, norm_of
from giveortake.workload.designs import Goal
from giveortake.workload.measurement import WorkloadMeasurement, event_at, measured, name_of
from giveortake.workload.results import POST_PROCESSED, WorkloadAnswer, lines_of
from giveortake.workload.workload import Workload

if TYPE_CHECKING:
    from giveortake.answers import Answer
    from giveortake.answers.terms import Confidence
    from giveortake.compile import Caps, Terms
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Priced
    from giveortake.session.steps import Steps


MOST_COMPARED = 20_000  # cells: for larger workloads only one kind of noise is planned
MOST_WISHES = 10_000  # tables and ranges of a workload that is kept in full
_COUNT = Measured(Aggregate(AggregateKind.COUNT_ROWS))
_ROWS = "rows_per_person=10 bounds what a person adds to all tables alike"
_OTHER_CAPS = {
    "groups_per_person": ("is for a single table, and a workload has many", _ROWS),
    "rows_per_group": ("is for a single table, and a workload has many", _ROWS),
    "caps": (
        "is for a single question, and a workload has many tables",
        "a profile tells how much each number of rows cuts; then state rows_per_person=10",
    ),
    "norm": ("belongs to the workload, not to its price", "it is an argument of the workload: norm=10"),
}


@final
@request("workload")
@dataclass(frozen=True, slots=True, eq=False)
class WorkloadRequest(Request):
    """Tables of one relation that are declared together; see `gt.workload`."""

    without: ClassVar[tuple[str, ...]] = ("key_delta", "aim", "n", "groups_per_person", "rows_per_group", "caps")
    refusals: ClassVar[Mapping[str, Any]] = _OTHER_CAPS
    workload: Workload
    relation: Relation
    minimise: str = "rms"
    norm: Fraction | None = None

    def __post_init__(self) -> None:
        if self.minimise not in get_args(Goal):
            raise InvalidParameter(
                "minimise", self.minimise, "is unknown", hint='minimise="rms", or minimise="maximum"'
            )
        object.__setattr__(self, "norm", norm_of(self.norm))

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundWorkloadRequest:
        caps = mechanism.resolve_caps(terms)
        workload = BoundWorkload.of(self.workload, self.relation, caps, mechanism.budget.neighbours, self.norm)
        sums = [layer.of for layer in workload.layers if layer.of is not None]
        mechanism.origin.require(workload.attributes.question(self.relation, sums))
        return BoundWorkloadRequest(self, mechanism, caps, workload)


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundWorkloadRequest(Bound[WorkloadMeasurement]):
    """A workload on a table of a session."""

    kind: ClassVar[str] = "workload"
    hint: ClassVar[Any] = 'rho="1/100", or epsilon="1", or margin=50, or share="1/10"'
    request: WorkloadRequest
    mechanism: InteractiveMechanism
    caps: Caps
    workload: BoundWorkload

    @property
    def _goal(self) -> Goal:
        goal: Any = self.request.minimise
        return goal  # type: ignore[no-any-return]  # (checked when the request was made)

    # -- what it costs ------------------------------------------------------------------------------------------

    def at(self, spend: Spend) -> WorkloadMeasurement:
        return measured(self.workload, spend, self._goal)

    def event(self, measurement: WorkloadMeasurement) -> Event:
        return self.event_at(measurement.spend)

    def event_at(self, spend: Spend) -> Event:
        whole, part = event_at(spend), self.mechanism.part
        if part is None:
            return whole
        return part.event(whole, whole, part.partition(self.workload.caps))  # if a unit is added, it costs no more

    def about(self, spend: Spend) -> Event:
        return event_at(spend)

    def promise(self, measurement: WorkloadMeasurement) -> Guarantee:
        budget = self.mechanism.budget
        return measurement.event.guarantee(unit=budget.unit, neighbours=budget.neighbours)

    def kinds(self, _terms: Terms, trial: TrialFilter) -> list[Spend]:
        pure, gaussian = Spend(epsilon=Fraction(1)), Spend(mu=Fraction(1))
        if [account.currency for account in trial.accounts] == [Epsilon()]:
            return [pure]
        if self._is_planned_once:
            return [pure if trial.meter == Epsilon() else gaussian]
        return [gaussian, pure]

    def pure(self, spend: Spend) -> Spend | None:
        is_chosen = spend.delta is not None and not self._is_planned_once
        return Spend(epsilon=spend.epsilon) if is_chosen else None

    @property
    def _is_planned_once(self) -> bool:
        return self.workload.cells > MOST_COMPARED or self.workload.norm is not None

    def width(self, measurement: WorkloadMeasurement, terms: Terms) -> float:
        return self._typical(measurement, terms.confidence)

    def widest(self, measurement: WorkloadMeasurement, terms: Terms) -> float:
        return float(max(line["margin"] for line in self._lines(measurement, terms.confidence)))

    def _typical(self, measurement: WorkloadMeasurement, confidence: Confidence) -> float:
        """The geometric mean of the margins of all tables."""
        margins = [line["margin"] for line in self._lines(measurement, confidence)]
        return math.exp(sum(map(math.log, margins)) / len(margins))

    def _lines(self, measurement: WorkloadMeasurement, confidence: Confidence) -> list[dict[str, Any]]:
        of_noise = LeftOut.confidence_of_noise(self._left_out(confidence), confidence)
        return lines_of(self.workload, measurement.design, of_noise.miss(self.workload.cells))

    # -- what names and describes it ----------------------------------------------------------------------------

    def name(self, measurement: WorkloadMeasurement) -> dict[str, Any]:
        part = self.mechanism.part
        content: dict[str, Any] = name_of(self.workload, measurement.spend, self._goal)
        return {**content, "part": None if part is None else part.name(self.workload.caps)}

    def words(self, _measurement: WorkloadMeasurement) -> str:
        return self.workload.in_words()

    @property
    def tables(self) -> int:
        """The number of distinct tables."""
        return self.workload.count

    @property
    def is_recorded(self) -> bool:
        """Whether it is small enough to be kept."""
        workload = self.request.workload
        return len(workload.tables) + len(workload.ranges) <= MOST_WISHES

    def parts(self, measurement: WorkloadMeasurement) -> tuple[PaidPart, ...]:
        return (PaidPart(measurement.spend, self.workload.caps),)

    # -- what it gives ------------------------------------------------------------------------------------------

    def require_runnable(self, measurement: WorkloadMeasurement) -> None:
        self.mechanism.engine.require_runnable(measurement.questions())

    def run(self, measurement: WorkloadMeasurement, steps: Steps) -> Any:
        return steps.settle(lambda: sealed_question(lambda: self._drawn(measurement, steps.reservation.id)))

    def _drawn(self, measurement: WorkloadMeasurement, charge: str) -> Any:
        mechanism = self.mechanism
        content = measurement.draw(mechanism.engine)
        if not mechanism.engine.unchanged():
            raise failure("changed")
        return {"spool": mechanism.spool.write([content], charge)} if self.workload.cells > MANY else content

    def read(
        self,
        priced: Priced[WorkloadMeasurement],
        outcome: Any,
        reservation: Reservation,
        terms: Terms,
        *,
        looked_up: bool,
    ) -> WorkloadAnswer:
        mechanism, measurement = self.mechanism, priced.measurement
        if "spool" in outcome:
            (outcome,) = mechanism.spool.read(outcome["spool"])
        release, promise = measurement.read(outcome), self.promise(measurement)
        notes = [] if (free_note := reservation.paid_before(mechanism.version)) is None or looked_up else [free_note]
        notes += [] if priced.why is None else [priced.why]
        if names := self.workload.attributes.names:
            notes.append(f"rows with an undeclared value of {', '.join(names)} are left out of all")
        notes += [
            f"values of `{column}` beyond its bounds count at the bound"
            for column in dict.fromkeys(ranges.column for ranges in self.workload.ranges)
        ]
        notes += ["; ".join(words)] if (words := self.workload.counted_in_words()) else []
        counts = {layer.name for layer in self.workload.layers if layer.of is None} | (
            {"n"} if self.workload.ranges else set()
        )
        notes += [f"{name}{POST_PROCESSED}" for name in sorted(counts)]
        left_out = self._left_out(terms.confidence)
        notes += [] if left_out is None else [str(left_out)]
        provenance = {
            "guarantee": promise,
            "cost": promise,
            "release_id": reservation.id,
            "citations": release.design.citations,
            "recipe": {"spend": str(priced.spend), "strategy": release.design.name},
            "entropy": ENTROPY,
            "notes": tuple(notes),
            "caps": self.workload.counted,
            "left_out": left_out,
        }
        return WorkloadAnswer(release, terms.confidence, provenance)

    def table(
        self,
        index: int,
        priced: Priced[WorkloadMeasurement],
        outcome: Any,
        reservation: Reservation,
        terms: Terms,
    ) -> Answer:
        answer = self.read(priced, outcome, reservation, terms, looked_up=True)
        return answer[answer.tables[index]]

    def _left_out(self, confidence: Confidence) -> LeftOut | None:
        """What the cap leaves out of the table: it chooses rows before those with declared values are taken."""
        if self.workload.norm is not None:
            return LeftOut(None, None, None, confidence, "persons longer than the norm are scaled down to it")
        question = replace(self.workload.question, relation=self.request.relation)
        return left_out_under(self.mechanism, question, self.workload.counted, confidence)

    # -- quotes -------------------------------------------------------------------------------------------------

    def quoted(self, priced: Priced[WorkloadMeasurement], terms: Terms, _admission: Admission) -> dict[str, Any]:
        measurement = priced.measurement
        lines = self._lines(measurement, terms.confidence)
        counts = [line for line in lines if line["of"] == "n"]
        is_chosen = terms.margin is not None or terms.share is not None
        is_fixed = is_chosen or self._is_planned_once
        labels = [
            _label(line, of_ranges=index >= len(lines) - len(measurement.design.runs))
            for index, line in enumerate(lines)
        ]
        left_out = self._left_out(terms.confidence)
        return {
            "title": f"workload of {counted(len(lines), 'table')}",
            "margins": {label: line["margin"] for label, line in zip(labels, lines, strict=True)},
            "truncation": {
                label: None if left_out.rows is None else left_out.rows * self._most_of_row(line["of"])
                for label, line in zip(labels, lines, strict=True)
                if left_out is not None and left_out.rows != 0
            },
            "lines": tuple(lines),
            "facts": {
                "strategy": measurement.design.name,
                **({"rms": _rms(counts, "sd"), "equal_rms": _rms(counts, "equal_sd")} if counts else {}),
            },
            "caps": self.workload.counted,
            "contributions": None if self.workload.counted is None else str(self.workload.counted),
            "left_out": left_out,
            "notes": (
                *([] if self.workload.norm is None else ["; ".join(self.workload.counted_in_words())]),
                *([] if priced.why is None else [priced.why]),
            ),
            "advice": () if is_fixed else with_other_noise(self, measurement.spend, terms, self.mechanism.trial()),
        }

    def _most_of_row(self, name: str) -> float:
        """How far one row may move a number of this name."""
        layers = [layer for layer in self.workload.layers if layer.of is not None and layer.name == name]
        return max((layer.contribution(1).reach * float(layer.unit) for layer in layers), default=1)


def _label(line: Mapping[str, Any], *, of_ranges: bool) -> str:
    """The name of a table of a workload, as in its answer: a table of ranges has the column of their borders."""
    prefix = "" if line["of"] == "n" else f"{line['of']} by "
    first, *others = line["table"] or ("",)
    return prefix + fact_text((f"{first}_below", *others) if of_ranges else line["table"])


def _rms(lines: list[dict[str, Any]], name: str) -> float:
    return math.sqrt(sum(line[name] ** 2 for line in lines) / len(lines))
