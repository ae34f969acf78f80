"""Adaptive runs: their requests, charges and steps.

- Steps of a run, which are released, and how the ledger stores them.
- Requests for runs: the rows and the spend of a run before it is charged, and the charge that begins it.
- Adaptive runs: each measurement may depend on earlier ones; one charge, and each draw is stored before it is seen.
- The run is one interactive mechanism inside the session's own. Exact tables stay inside it; what comes out are places
  of selected tables and noisy integers.

Guarantee: an inner filter of ρ-zCDP admits every selection and every measurement before it is drawn, so that the whole
run, however it is steered, is ρ-zCDP [BS16, FZ21]: an interactive mechanism that is charged once, as ZCDP(ρ), before a
row is read. It is never charged as an (ε, δ) event, which would have another price. Each draw is an entry of the
ledger before anybody sees it: an interrupted run continues with the draws it has, and repeats none of them.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final

import numpy as np

from giveortake import accounting, exact
from giveortake.accounting.filters import Filter
from giveortake.accounting.pricing import Rho, noise_multiplier, priced_within
from giveortake.compile.noisy_measures import packed, unpacked
from giveortake.compile.sensitivity import unbounded
from giveortake.engines import HandsOverRows, Keys, Sample, Summand, Tally
from giveortake.engines.questions import SAMPLED_OF
from giveortake.engines.runtime import failure
from giveortake.errors import BudgetExceeded, LedgerDamaged, MechanismSpent, QueryFailed, QueryRefused
from giveortake.mechanisms import AboveThreshold, Gaussian
from giveortake.mechanisms.marginals import InteractionResiduals, row_sensitivity
from giveortake.mechanisms.mechanism import Sensitive
from giveortake.mechanisms.selection import NoisyCount, SparseVectorCheck, WorstMarginalSelection
from giveortake.mechanisms.vectors import GradientOracle, OutputPerturbation, TrustedGradients, VectorNoise
from giveortake.plan import Question
from giveortake.plan.question import Aggregate, AggregateKind, Measured
from giveortake.privacy import ZCDP, GaussianDP, events
from giveortake.randomness import SYSTEM_ENTROPY
from giveortake.session.mechanism import Charge, sealed_question
from giveortake.session.refusals import fit_too_dear, run_too_dear, samples_too_dear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from giveortake.compile import Spend
    from giveortake.engines import KeyColumn, VectorSum
    from giveortake.ledger import Reservation
    from giveortake.ledger.rules.budget_status import Admission
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.mechanisms.selection import Candidate, Chosen
    from giveortake.plan import Relation
    from giveortake.privacy import ApproxDP, Guarantee
    from giveortake.privacy.events import Event
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.session import Session

    Integers: TypeAlias = npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """A measured table of counts: released integers, and the deviation of their noise in rows.

    `residual` says that the total and the one-column sums were subtracted.
    """

    names: tuple[str, ...]
    steps: Integers
    sigma: Fraction
    residual: bool

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """The noisy counts, in rows."""
        cells = self.steps.size
        return self.steps.astype(np.float64) / (float(cells) ** 2 if self.residual else 1.0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyVector:
    """A measured sum of vectors: released integers, in steps, and the noise deviation of a component of weight 1."""

    name: str
    steps: Integers
    sigma: Fraction

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the sum."""
        return (self.name,)


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A table that was selected, by the names of its columns."""

    names: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Watch:
    """A threshold that later comparisons use; its noise is drawn once."""

    threshold: int

    @property
    def names(self) -> tuple[str, ...]:
        """Nothing: a threshold is not about cells."""
        return ()


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """Whether a count was far from the expected one, by the threshold before it; `query` names the cells."""

    query: str
    is_far: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The query that names the cells."""
        return (self.query,)


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy count of chosen cells."""

    query: str
    count: int
    sigma: Fraction

    @property
    def names(self) -> tuple[str, ...]:
        """The query that names the cells."""
        return (self.query,)


Step: TypeAlias = "NoisyTable | NoisyVector | Choice | Watch | Compared | Counted"


def step_of(content: Any) -> Step:
    """Read a step from what the ledger stores."""
    match content["do"]:
        case "measure":
            numbers, sigma = unpacked(content["steps"]), Fraction(content["sigma"])
            return NoisyTable(tuple(content["table"]), numbers, sigma, content["residual"])
        case "sum":
            return NoisyVector(content["name"], unpacked(content["steps"]), Fraction(content["sigma"]))
        case "select":
            return Choice(tuple(content["table"]))
        case "watch":
            return Watch(content["threshold"])
        case "compare":
            return Compared(content["query"], content["is_far"])
        case "count":
            return Counted(content["query"], content["count"], Fraction(content["sigma"]))
    raise LedgerDamaged("a run holds a step that is not known")


def event_of(content: Any) -> Event | None:
    """The event that a stored step was charged as; None for comparisons, which `watch` has paid for."""
    return None if content["event"] is None else events.Event.from_json(json.dumps(content["event"]))


FORMAT = 1


class Descended(Protocol):
    """What a gradient descent minimises: it gives the sums that the engine has to compute at any point."""

    @property
    def rows(self) -> int:
        """How many rows of a unit count, at most."""

    def counted(self) -> VectorSum:
        """The sum that counts all rows."""

    def gradient_sum(self, point: tuple[int, ...]) -> VectorSum:
        """The sum of the gradients at a point, in coarse and fine parts, without clipping."""

    def joined(self, parts: BoundedIntegers) -> BoundedIntegers:
        """Both parts of a sum of gradients, as one vector."""


@final
@dataclass(frozen=True, slots=True)
class TrustedCode:
    """The custodian's function `called`, the point `theta` of its gradients, and how many steps make 1 in each."""

    called: str
    theta: tuple[float, ...]
    steps: int
    unit: int


@final
class AdaptiveRun:
    """A run that was charged. `steps` are what it has drawn so far, in order; all of them are released.

    Draws are made one at a time, while the run has its turn. If a draw fails or is interrupted, this object cannot be
    used any more: it may not know what was stored. Begin the run again to continue from what the ledger keeps.
    """

    def __init__(self, request: RunRequest, reservation: Reservation) -> None:
        self._request, self._reservation = request, reservation
        self._tables: dict[tuple[KeyColumn, ...], Sensitive[BoundedIntegers]] = {}
        self._guard: AboveThreshold | None = None
        self._one_at_a_time = threading.Lock()
        self._is_over = self._is_drawing = False
        self._filter: Filter | DeclaredSteps
        if request.declared is not None:
            self._filter = DeclaredSteps(request.declared)
        else:
            self._filter = accounting.filter(ZCDP(request.rho) if request.mu is None else GaussianDP(request.mu))
        ledger = request._mechanism.ledger  # noqa: SLF001 (the run is the other half of its request)
        stored_steps = _steps_of(reservation.answer) if reservation.settled else ledger.kept(reservation)
        self._stored_steps: list[Any] = []
        self.steps: list[Step] = []
        for content in stored_steps:
            self._take(content)

    @property
    def is_settled(self) -> bool:
        """Whether the run has ended; then it draws nothing more."""
        return self._reservation.settled

    @property
    def charged(self) -> bool:
        """Whether the run was charged to any level now."""
        return bool(self._reservation.charged)

    @property
    def id(self) -> str:
        """The id of the release, which the asker may see."""
        return self._reservation.id

    @property
    def rho(self) -> Fraction:
        """The ρ that the whole run may spend."""
        return self._request.rho

    @property
    def left(self) -> Fraction:
        """How much ρ the inner filter has left."""
        assert isinstance(self._filter, Filter)  # noqa: S101 (asked of runs that have one)
        return self._filter.accounts[0].remaining

    @property
    def rows_of_unit(self) -> int:
        """How many rows of one unit count, at most."""
        most = self._request._relation.most_rows  # noqa: SLF001 (the run is the other half of its request)
        assert most is not None  # noqa: S101 (checked when the request was made)
        return most

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours: "add-remove" or "change-one"."""
        return self._request._mechanism.budget.neighbours  # noqa: SLF001 (as above)

    def charges(self) -> list[tuple[Step, Fraction]]:
        """Every step with its cost in ρ."""
        assert isinstance(self._filter, Filter)  # noqa: S101 (asked of runs that have one)
        charged = [event_of(content) for content in self._stored_steps]
        costs = [Fraction(0) if event is None else self._filter.cost(event, Rho()) for event in charged]
        return [(step, cost or Fraction(0)) for step, cost in zip(self.steps, costs, strict=True)]

    def add_up_sample(
        self, name: str, vector_sum: VectorSum, sigma: Fraction, by: TrustedCode | None = None
    ) -> NoisyVector:
        """A sum over a fresh secret sample of persons, with noise of a stated deviation in steps.

        With `by`, trusted code computes the vector of each person; none is longer than the bound.
        Each person is sampled independently, with the declared probability, rounded down to a multiple of 2⁻⁶⁰.
        Who was sampled, and how many, stays secret.
        """
        declared = self._request.declared
        assert declared is not None and isinstance(declared.event, events.Subsampled)  # noqa: S101, PT018 (asked only then)
        below = int(declared.event.rate * SAMPLED_OF)
        mechanism = VectorNoise(
            sigma, tuple(zip(vector_sum.sizes, (component.weight for component in vector_sum.components), strict=True))
        )
        event = events.Subsampled(mechanism.event(vector_sum.bound), declared.event.rate)

        def draw() -> dict[str, Any]:
            sampled = replace(vector_sum, sample=Sample(SYSTEM_ENTROPY.read(16).hex(), below))
            return self._noisy_sum(mechanism, sampled, by)

        step = self._draw(event, {"do": "sum", "name": name}, draw)
        assert isinstance(step, NoisyVector)  # noqa: S101 (it was added up)
        return step

    def _noisy_sum(
        self, mechanism: VectorNoise, vector_sum: VectorSum, by: TrustedCode | None = None
    ) -> dict[str, Any]:
        engine = self._request._mechanism.engine  # noqa: SLF001 (the run is the other half of its request)
        if by is None:
            drawn = mechanism.release(engine.vectors(vector_sum))
        else:
            assert isinstance(engine, HandsOverRows)  # noqa: S101 (others were refused)
            code = self._request._mechanism.trusted[by.called]  # noqa: SLF001 (as above)
            gradients = TrustedGradients(code, by.theta, by.steps, by.unit, vector_sum.bound, mechanism)
            drawn = gradients.release(engine.rows_of_units(vector_sum))
        if not engine.unchanged():
            raise failure("changed")
        return {"sigma": str(mechanism.sigma), "steps": packed(drawn)}

    def measure(self, table: Sequence[KeyColumn], rho: Fraction, *, residual: bool) -> NoisyTable:
        """Noisy counts of a table, all of them or the residual part, at the cost of at most ρ."""
        shape = tuple(len(column.values or ()) for column in table)
        mechanism: InteractionResiduals | Gaussian
        if residual:
            moved = self.rows_of_unit * row_sensitivity(shape, self.neighbours)
            mechanism = InteractionResiduals(shape, _short_up(moved / exact.sqrt_down(2 * rho)))
        else:
            moved = self.rows_of_unit * (exact.sqrt_up(Fraction(2)) if self.neighbours == "change-one" else Fraction(1))
            mechanism = Gaussian(_short_up(moved / exact.sqrt_down(2 * rho)))
        step_fields = {"do": "measure", "table": [column.name for column in table], "residual": residual}

        def draw() -> dict[str, Any]:
            (counts,) = self._counts([table])
            drawn = np.asarray(mechanism.release(counts)).reshape(shape)
            return {"sigma": str(mechanism.sigma), "steps": packed(drawn)}

        step = self._draw(mechanism.event(moved), step_fields, draw)
        assert isinstance(step, NoisyTable)  # noqa: S101 (it was measured)
        return step

    def select(self, tables: Sequence[Sequence[KeyColumn]], candidates: Sequence[Candidate], rho: Fraction) -> int:
        """Choose a table that a model fits badly, by the exponential mechanism, for at most ρ; return its place."""
        mechanism = WorstMarginalSelection(
            tuple(candidates), _short_down(exact.sqrt_down(8 * rho)), self.rows_of_unit, self.neighbours
        )
        names = [[column.name for column in table] for table in tables]

        def draw() -> dict[str, Any]:
            return {"table": names[mechanism.release(self._counts(tables))]}

        step = self._draw(mechanism.event(), {"do": "select"}, draw)
        assert isinstance(step, Choice)  # noqa: S101 (it was selected)
        return names.index(list(step.names))

    def watch(self, threshold: int, rho: Fraction) -> None:
        """Draw a noisy threshold for comparisons, up to the first one that is far; it costs at most ρ."""
        guard = AboveThreshold(threshold, _short_down(exact.sqrt_down(2 * rho)), self.rows_of_unit)
        self._draw(guard.event(), {"do": "watch"}, lambda: {"threshold": threshold})
        self._guard = guard  # only now: the draw was charged and stored

    @property
    def is_watching(self) -> bool:
        """Whether comparisons can be made: a watch ends with its process, and with the first that is far."""
        return self._guard is not None and not self._guard.spent

    def is_far(self, table: Sequence[KeyColumn], chosen: Chosen, query: str, expected: int) -> bool:
        """Whether the number of rows in chosen cells is far from the expected number; `watch` has paid for this."""
        if self._guard is None:
            raise MechanismSpent(
                "nothing is being watched: a watch ends with its process", hint="watch again, which is charged again"
            )
        mechanism = SparseVectorCheck(chosen, expected, self._guard)

        def draw() -> dict[str, Any]:
            return {"is_far": mechanism.release(self._counts([table])[0])}

        step = self._draw(None, {"do": "compare", "query": query}, draw)
        assert isinstance(step, Compared)  # noqa: S101 (it was compared)
        return step.is_far

    def count(self, table: Sequence[KeyColumn], chosen: Chosen, query: str, rho: Fraction) -> Counted:
        """A noisy number of rows in chosen cells, at the cost of at most ρ."""
        noise = Gaussian(_short_up(self.rows_of_unit / exact.sqrt_down(2 * rho)))
        mechanism = NoisyCount(chosen, noise)

        def draw() -> dict[str, Any]:
            return {"count": mechanism.release(self._counts([table])[0]), "sigma": str(noise.sigma)}

        step = self._draw(mechanism.event(self.rows_of_unit), {"do": "count", "query": query}, draw)
        assert isinstance(step, Counted)  # noqa: S101 (it was counted)
        return step

    def add_up(self, name: str, vector_sum: VectorSum, mu: Fraction) -> NoisyVector:
        """A sum of vectors with noise, at the cost of at most μ. `name` is its name in the run."""
        vector_sum = replace(vector_sum, sample=self._request.persons)
        moved = exact.sqrt_up(Fraction(vector_sum.moved_squared(changed=self.neighbours == "change-one")))
        blocks = tuple(zip(vector_sum.sizes, (component.weight for component in vector_sum.components), strict=True))
        mechanism = VectorNoise(_short_up(moved / mu), blocks)

        step_fields = {"do": "sum", "name": name}
        step = self._draw(mechanism.event(moved), step_fields, lambda: self._noisy_sum(mechanism, vector_sum))
        assert isinstance(step, NoisyVector)  # noqa: S101 (it was added up)
        return step

    def descend(self, mechanism: OutputPerturbation, risk: Descended) -> NoisyVector:
        """The end point of a gradient descent, with noise. The engine runs each pass; no other point is released."""
        engine = self._request._mechanism.engine  # noqa: SLF001 (the run is the other half of its request)
        moved = mechanism.sensitivity(risk.rows, changed=self.neighbours == "change-one")

        def summed(vector_sum: VectorSum) -> Sensitive[BoundedIntegers]:
            return engine.vectors(replace(vector_sum, sample=self._request.persons), remember=False)

        def gradient(point: tuple[int, ...]) -> Sensitive[BoundedIntegers]:
            return Sensitive(risk.joined(summed(risk.gradient_sum(point)).open(mechanism)))

        def draw() -> dict[str, Any]:
            drawn = mechanism.release(GradientOracle(summed(risk.counted()), gradient))
            if not engine.unchanged():
                raise failure("changed")
            return {"sigma": str(mechanism.sigma), "steps": packed(drawn)}

        step = self._draw(mechanism.event(moved), {"do": "sum", "name": "descent"}, draw)
        assert isinstance(step, NoisyVector)  # noqa: S101 (it was drawn as one)
        return step

    def settle(self) -> None:
        """End the run: what it has drawn so far becomes its final answer."""
        if not self.is_settled:
            ledger = self._request._mechanism.ledger  # noqa: SLF001 (the run is the other half of its request)
            ledger.settle(self._reservation, {"format": FORMAT, "steps": self._stored_steps})
        self.close()

    def close(self) -> None:
        """Discard the exact tables and the watch: nothing more is drawn here."""
        self._is_over, self._guard = True, None
        self._tables.clear()

    # -- inside -------------------------------------------------------------------------------------------------

    def _draw(self, event: Event | None, step_fields: dict[str, Any], draw: Callable[[], dict[str, Any]]) -> Step:
        """Admit an event, draw, and store the draw; only a stored draw is returned."""
        with self._one_at_a_time:
            if self.is_settled or self._is_over or self._is_drawing:  # still True after a failed draw
                raise MechanismSpent("this run has ended or was interrupted", hint="ask again: what was drawn is kept")
            if event is not None:
                self._filter.copy().charge(event)
            ledger = self._request._mechanism.ledger  # noqa: SLF001 (as above)
            ledger.require_failures_left(self._reservation)
            fields = {"event": None if event is None else event.to_dict(), **step_fields}
            self._is_drawing = True
            try:
                content = sealed_question(
                    lambda: ledger.keep(self._reservation, len(self._stored_steps), fields | draw())
                )
            except QueryFailed as failed:
                ledger.fail(self._reservation, defect=failed.cause == "defect")
                raise
            step = self._take(content)
            self._is_drawing = False
            return step

    def _take(self, content: Any) -> Step:
        """Charge a stored step to the inner filter, and append it to the steps."""
        event, step = event_of(content), step_of(content)
        if event is not None:
            self._filter.charge(event)
        self._stored_steps.append(content)
        self.steps.append(step)
        return step

    def _counts(self, tables: Sequence[Sequence[KeyColumn]]) -> list[Sensitive[BoundedIntegers]]:
        """The exact counts of tables; each table is read once."""
        missing = [table for table in map(tuple, tables) if table not in self._tables]
        if missing:
            request = self._request
            request.require(missing)
            engine = request._mechanism.engine  # noqa: SLF001 (as above)
            for table in missing:
                self._tables[table] = engine.tally(request._tally(table)).item(0)  # noqa: SLF001 (as above)
            if not engine.unchanged():
                raise failure("changed")
        return [self._tables[tuple(table)] for table in tables]


@final
class DeclaredSteps:
    """A filter that admits the declared number of equal steps, and nothing else."""

    def __init__(self, declared: events.Repeated, done: int = 0) -> None:
        self._declared, self._done = declared, done

    def copy(self) -> DeclaredSteps:
        """A copy, on which a step can be tried."""
        return DeclaredSteps(self._declared, self._done)

    def charge(self, event: Event) -> None:
        """Count a step, or refuse it."""
        if event != self._declared.event or self._done >= self._declared.times:
            raise BudgetExceeded("this step was not declared", cost=event, remaining=self._declared.times - self._done)
        self._done += 1


def _steps_of(answer: Any) -> list[Any]:
    if not isinstance(answer, dict) or answer.get("format") != FORMAT or not isinstance(answer.get("steps"), list):
        raise LedgerDamaged("a stored answer is not one to this run")
    return list(answer["steps"])


def _short_up(number: Fraction) -> Fraction:
    """Round a number up to few digits, by at most one part in 2^40."""
    grain = exact.power_of_two_at_least(number) / 2**41
    return -(-number // grain) * grain


def _short_down(number: Fraction) -> Fraction:
    grain = exact.power_of_two_at_least(number) / 2**41
    return (number // grain) * grain


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunRequest:
    """The rows, the name and the spend of a run. Making a request charges nothing and reads no row."""

    _mechanism: InteractiveMechanism
    _relation: Relation
    rho: Fraction
    identity: dict[str, Any]  # what names the run: everything that decides what it measures
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
        identity: dict[str, Any],
        words: str,
        *,
        stated: ApproxDP | None = None,
        rows: Relation | None = None,
    ) -> RunRequest:
        """A run over a private table of a session, or some `rows` of it; refused if rows per person have no bound."""
        from giveortake.session.session import mechanism_of  # noqa: PLC0415 (a session's face is made of runs, too)

        return cls.of_mechanism(mechanism_of(session), table, rho, identity, words, stated=stated, rows=rows)

    @classmethod
    def of_mechanism(
        cls,
        mechanism: InteractiveMechanism,
        table: str,
        rho: Fraction,
        identity: dict[str, Any],
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
        return cls(
            mechanism, relation, rho, identity | {"relation": relation.to_json(), "rho": str(rho)}, words, stated
        )

    @classmethod
    def of_vectors(
        cls, mechanism: InteractiveMechanism, relation: Relation, spend: Spend, identity: dict[str, Any], words: str
    ) -> RunRequest:
        """A run of sums of vectors, each of which bounds a person's contribution itself; it keeps μ-GDP."""
        if mechanism.part is not None:
            raise QueryRefused(
                "a model cannot be fitted to a part of a table", hint="use the session of the whole table"
            )
        mu = 1 / noise_multiplier(spend.squared_mu())  # rounded so that all that is left can be asked for
        full_identity = identity | {"relation": relation.to_json(), "mu": str(mu)}
        return cls(mechanism, relation, mu**2 / 2, full_identity, words, spend=spend, mu=mu)

    @classmethod
    def of_samples(
        cls,
        mechanism: InteractiveMechanism,
        relation: Relation,
        spend: Spend,
        declared: events.Repeated,
        *,
        identity: dict[str, Any],
        words: str,
    ) -> RunRequest:
        """A run of a declared number of sums over samples of persons, all with the same noise."""
        request = cls.of_vectors(mechanism, relation, spend, identity | {"declared": declared.to_dict()}, words)
        return replace(request, declared=declared)

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
        return tuple(
            account_before.currency.symbol
            for account_before, account_after in pairs
            if account_before.alive and not account_after.alive
        )

    @property
    def _charge(self) -> Charge:
        return Charge(self.event, {"questions": [], "refines": [], "part": None, "run": self.identity}, self.words)

    def admission(self) -> Admission:
        """What a quote asks the ledger: whether the charge would be admitted now, and whether it would wait."""
        return self._mechanism.admission(self._charge)

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
    open_run = (name, threading.get_ident())
    if open_run in _open_runs:
        raise QueryRefused("this run is already open in this thread", hint="go on with it, or close it first")
    _open_runs.add(open_run)
    try:
        yield
    finally:
        _open_runs.discard(open_run)
