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

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, final

import numpy as np

from giveortake import accounting, codec, exact, plan
from giveortake.accounting.filters import Filter, admitted_rho
from giveortake.accounting.pricing import Rho, noise_multiplier, priced_within
from giveortake.compile import Caps, Spend
from giveortake.compile.measures import packed, unpacked
from giveortake.compile.sensitivity import unbounded
from giveortake.engines import HandsOverRows, Keys, Sample, Summand, Tally
from giveortake.engines.questions import SAMPLED_OF
from giveortake.engines.runtime import failure
from giveortake.errors import LedgerDamaged, MechanismSpent, QueryRefused
from giveortake.mechanisms import Gaussian
from giveortake.mechanisms.marginals import InteractionResiduals, row_sensitivity
from giveortake.mechanisms.mechanism import Sensitive
from giveortake.mechanisms.selection import NoisyCount, PaddedThreshold, SparseVectorCheck, WorstMarginalSelection
from giveortake.mechanisms.vectors import GradientOracle, OutputPerturbation, TrustedGradients, VectorNoise
from giveortake.plan import Question
from giveortake.plan.question import Measured
from giveortake.plan.relations import Aggregate, AggregateKind
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, events
from giveortake.randomness import SYSTEM_ENTROPY
from giveortake.session.refusals import OTHER_BUDGET, fit_too_dear, run_too_dear, samples_too_dear
from giveortake.session.requests import Bound
from giveortake.session.steps import DeclaredSteps, event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from giveortake.compile import Terms
    from giveortake.engines import KeyColumn, VectorSum
    from giveortake.errors import BudgetExceeded
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.mechanisms.selection import Candidate, Chosen
    from giveortake.plan import Relation
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.requests import Priced, Request
    from giveortake.session.steps import Steps

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
    """A run that was charged, on its steps. `steps` are what it has drawn so far, in order; all of them are released.

    Exact tables are read once and stay in here.
    """

    def __init__(self, run: Run, steps: Steps) -> None:
        self._run, self._steps, self._contents = run, steps, steps.stored
        self._tables: dict[tuple[KeyColumn, ...], Sensitive[BoundedIntegers]] = {}
        self.steps: list[Step] = [step_of(content) for content in steps.stored]

    @property
    def is_settled(self) -> bool:
        """Whether the run has ended; then it draws nothing more."""
        return self._steps.is_settled

    @property
    def charged(self) -> bool:
        """Whether the run was charged to any level now."""
        return bool(self._steps.reservation.charged)

    @property
    def id(self) -> str:
        """The id of the release, which the asker may see."""
        return self._steps.reservation.id

    @property
    def rho(self) -> Fraction:
        """The ρ that the whole run may spend."""
        return self._run.rho

    @property
    def left(self) -> Fraction:
        """How much ρ the inner filter has left."""
        assert isinstance(self._steps.inner_filter, Filter)  # noqa: S101 (asked of runs that have one)
        return self._steps.inner_filter.accounts[0].remaining

    @property
    def rows_of_unit(self) -> int:
        """How many rows of one unit count, at most."""
        most = self._run.relation.most_rows
        assert most is not None  # noqa: S101 (checked when the request was made)
        return most

    @property
    def neighbours(self) -> Neighbours:
        """Which tables count as neighbours: "add-remove" or "change-one"."""
        return self._run.mechanism.budget.neighbours

    def charges(self) -> list[tuple[Step, Fraction]]:
        """Every step with its cost in ρ."""
        assert isinstance(self._steps.inner_filter, Filter)  # noqa: S101 (asked of runs that have one)
        charged = [event_of(content) for content in self._contents]
        costs = [Fraction(0) if event is None else self._steps.inner_filter.cost(event, Rho()) for event in charged]
        return [(step, cost or Fraction(0)) for step, cost in zip(self.steps, costs, strict=True)]

    def add_up_sample(
        self, name: str, vector_sum: VectorSum, sigma: Fraction, by: TrustedCode | None = None
    ) -> NoisyVector:
        """A sum over a fresh secret sample of persons, with noise of a stated deviation in steps.

        With `by`, trusted code computes the vector of each person; none is longer than the bound.
        Each person is sampled independently, with the declared probability, rounded down to a multiple of 2⁻⁶⁰.
        Who was sampled, and how many, stays secret.
        """
        declared = self._run.declared
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
        engine = self._run.mechanism.engine
        if by is None:
            drawn = mechanism.release(engine.vectors(vector_sum))
        else:
            assert isinstance(engine, HandsOverRows)  # noqa: S101 (others were refused)
            code = self._run.mechanism.trusted[by.called]
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
        """Draw a noisy threshold for comparisons, up to the first one that is far; it costs at most ρ.

        It is stored under a pad, so that nothing of it has to stay in memory.
        """
        guard = PaddedThreshold(threshold, _short_down(exact.sqrt_down(2 * rho)), self.rows_of_unit)
        index = len(self._contents)

        def draw() -> dict[str, Any]:
            return {"under_pad": str(guard.drawn(self._steps.pad(index)))}

        self._draw(guard.event(), {"do": "watch", "threshold": threshold}, draw)

    @property
    def is_watching(self) -> bool:
        """Whether comparisons can be made: a watch ends with the first that is far."""
        return self._watch() is not None

    def _watch(self) -> int | None:
        """The index of the threshold that holds now."""
        for index in reversed(range(len(self.steps))):
            step = self.steps[index]
            if isinstance(step, Compared) and step.is_far:
                return None
            if isinstance(step, Watch):
                return index
        return None

    def is_far(self, table: Sequence[KeyColumn], chosen: Chosen, query: str, expected: int) -> bool:
        """Whether the number of rows in chosen cells is far from the expected number; `watch` has paid for this."""
        index = self._watch()
        if index is None:
            raise MechanismSpent("nothing is being watched", hint="watch again, which is charged again")
        watch = self._contents[index]
        charged = event_of(watch)
        assert isinstance(charged, events.AboveThreshold)  # noqa: S101 (so a watch is charged)
        guard = PaddedThreshold(watch["threshold"], charged.epsilon, self.rows_of_unit)
        mechanism = SparseVectorCheck(chosen, expected, guard, int(watch["under_pad"]), self._steps.pad(index))

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
        vector_sum = replace(vector_sum, sample=self._run.persons)
        moved = exact.sqrt_up(Fraction(vector_sum.moved_squared(changed=self.neighbours == "change-one")))
        blocks = tuple(zip(vector_sum.sizes, (component.weight for component in vector_sum.components), strict=True))
        mechanism = VectorNoise(_short_up(moved / mu), blocks)

        step_fields = {"do": "sum", "name": name}
        step = self._draw(mechanism.event(moved), step_fields, lambda: self._noisy_sum(mechanism, vector_sum))
        assert isinstance(step, NoisyVector)  # noqa: S101 (it was added up)
        return step

    def descend(self, mechanism: OutputPerturbation, risk: Descended) -> NoisyVector:
        """The end point of a gradient descent, with noise. The engine runs each pass; no other point is released."""
        engine = self._run.mechanism.engine
        moved = mechanism.sensitivity(risk.rows, changed=self.neighbours == "change-one")

        def summed(vector_sum: VectorSum) -> Sensitive[BoundedIntegers]:
            return engine.vectors(replace(vector_sum, sample=self._run.persons), remember=False)

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
            self._steps.settle(lambda: {"format": FORMAT, "steps": list(self._contents)})
        self._tables.clear()

    # -- inside -------------------------------------------------------------------------------------------------

    def _draw(self, event: Event | None, fields: dict[str, Any], draw: Callable[[], dict[str, Any]]) -> Step:
        """Admit an event, draw, and store the draw; only a stored draw is returned."""
        self.steps.append(step_of(self._steps.draw(event, fields, draw)))
        return self.steps[-1]

    def _counts(self, tables: Sequence[Sequence[KeyColumn]]) -> list[Sensitive[BoundedIntegers]]:
        """The exact counts of tables; each table is read once."""
        missing = [table for table in map(tuple, tables) if table not in self._tables]
        if missing:
            run, engine = self._run, self._run.mechanism.engine
            run.require(missing)
            for table in missing:
                self._tables[table] = engine.tally(run.tally(table)).item(0)
            if not engine.unchanged():
                raise failure("changed")
        return [self._tables[tuple(table)] for table in tables]


def _short_up(number: Fraction) -> Fraction:
    """Round a number up to few digits, by at most one part in 2^40."""
    grain = exact.power_of_two_at_least(number) / 2**41
    return -(-number // grain) * grain


def _short_down(number: Fraction) -> Fraction:
    grain = exact.power_of_two_at_least(number) / 2**41
    return (number // grain) * grain


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The rows, the name and the spend of a run. Making one charges nothing and reads no row."""

    mechanism: InteractiveMechanism
    relation: Relation
    spend: Spend
    rho: Fraction
    identity: dict[str, Any]  # what names the run: everything that decides what it measures
    words: str
    declared: events.Repeated | None = None  # for a run of equal steps whose number is declared
    mu: Fraction | None = None  # for a run of only Gaussian releases, whose μ² add up
    persons: Sample | None = None  # the public part of the persons whose vectors are summed

    @classmethod
    def of_tables(
        cls, mechanism: InteractiveMechanism, relation: Relation, spend: Spend, identity: dict[str, Any], words: str
    ) -> Run:
        """A run of tables of counts over a relation; refused if rows per person have no bound. It keeps ρ-zCDP.

        Of an (ε, δ), ρ is the most that a budget of (ε, δ) admits at once.
        """
        if mechanism.part is not None:
            raise QueryRefused("a part of a table cannot be synthesised", hint="use the session of the whole table")
        if relation.most_rows is None:
            raise unbounded("rows", ())
        rho = priced_within(rho_of(spend))  # rounded so that all that is left can be asked for
        full_identity = identity | {"relation": plan.identity(relation), "rho": str(rho)}
        return cls(mechanism, relation, spend, rho, full_identity, words)

    @classmethod
    def of_vectors(
        cls, mechanism: InteractiveMechanism, relation: Relation, spend: Spend, identity: dict[str, Any], words: str
    ) -> Run:
        """A run of sums of vectors, each of which bounds a person's contribution itself; it keeps μ-GDP."""
        if mechanism.part is not None:
            raise QueryRefused(
                "a model cannot be fitted to a part of a table", hint="use the session of the whole table"
            )
        mu = 1 / noise_multiplier(spend.squared_mu())  # rounded so that all that is left can be asked for
        full_identity = identity | {"relation": plan.identity(relation), "mu": str(mu)}
        return cls(mechanism, relation, spend, mu**2 / 2, full_identity, words, mu=mu)

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
    ) -> Run:
        """A run of a declared number of sums over samples of persons, all with the same noise."""
        run = cls.of_vectors(mechanism, relation, spend, identity | {"declared": codec.write(declared)}, words)
        return replace(run, declared=declared)

    @property
    def event(self) -> Event:
        """The event that is charged, once, for the whole run."""
        if self.declared is not None:
            return self.declared
        return events.ZCDP(self.rho) if self.mu is None else events.Gaussian(1 / self.mu)

    @property
    def promise(self) -> Guarantee:
        """The promise that the run keeps, whatever it measures."""
        budget = self.mechanism.budget
        terms: Any = {"unit": budget.unit, "neighbours": budget.neighbours}
        if self.declared is not None:
            return self.declared.guarantee(**terms)
        return ZCDP(self.rho, **terms) if self.mu is None else GaussianDP(self.mu, **terms)

    @property
    def stated(self) -> Guarantee:
        """The promise as it was stated: an (ε, δ) that was converted to ρ, or else that of the run."""
        spend, budget = self.spend, self.mechanism.budget
        if spend.epsilon is None or spend.delta is None:
            return self.promise
        return ApproxDP(spend.epsilon, spend.delta, unit=budget.unit, neighbours=budget.neighbours)

    @property
    def moved_by_unit(self) -> float:
        """The L2 sensitivity of a table of counts, for quotes only."""
        most = self.relation.most_rows or 1
        return most * (2**0.5 if self.mechanism.budget.neighbours == "change-one" else 1.0)

    def require(self, tables: Sequence[Sequence[KeyColumn]]) -> None:
        """Refuse tables of counts that are not about this session's tables, or too large for the engine."""
        for table in tables:
            self.mechanism.origin.require(self._question(table))
        self.mechanism.engine.require_runnable([self.tally(table) for table in tables])

    def inner_filter(self) -> Filter | DeclaredSteps:
        """A fresh inner filter, which admits the steps of the run."""
        if self.declared is not None:
            return DeclaredSteps(self.declared)
        return accounting.filter(ZCDP(self.rho) if self.mu is None else GaussianDP(self.mu))

    def contestants_ended(self) -> tuple[str, ...]:
        """The contestants of the budget's race that this charge would end, by their symbols."""
        trial = self.mechanism.trial()
        after = trial.after(self.event)
        if after is None:
            return ()
        pairs = zip(trial.accounts, after.accounts, strict=True)
        return tuple(
            account_before.currency.symbol
            for account_before, account_after in pairs
            if account_before.alive and not account_after.alive
        )

    def _question(self, table: Sequence[KeyColumn]) -> Question:
        for column in table:
            if column.values is None or len(set(column.values)) < len(column.values):
                raise QueryRefused(f"the values of `{column.name}` are not all declared, each once")
        keys = tuple((column.name, column.expression) for column in table)
        return Question(self.relation, keys, (("n", Measured(Aggregate(AggregateKind.COUNT_ROWS))),))

    def tally(self, table: Sequence[KeyColumn]) -> Tally:
        """The question for the exact counts of a table."""
        return Tally(self.relation, Keys(tuple(table)), (Summand("rows"),))


def rho_of(spend: Spend) -> Fraction:
    """The ρ of a run at a spend."""
    if spend.epsilon is not None and spend.delta is not None:
        return admitted_rho(ApproxDP(spend.epsilon, spend.delta))
    return spend.squared_mu() / 2


class OfRun(Protocol):
    """A measurement that is made by a run."""

    @property
    def run(self) -> Run:
        """The run."""

    @property
    def spend(self) -> Spend:
        """What is paid for it."""


_OfRun = TypeVar("_OfRun", bound=OfRun)


class BoundRun(Bound[_OfRun]):
    """A request that is answered by a run. Each kind says what is measured at a spend, and how it goes on."""

    instead: ClassVar[Any] = OTHER_BUDGET
    caps: Caps = Caps()

    def event(self, measurement: _OfRun) -> Event:
        return measurement.run.event

    def promise(self, measurement: _OfRun) -> Guarantee:
        return measurement.run.promise

    def kinds(self, _terms: Terms, _trial: TrialFilter) -> list[Spend]:
        return [Spend(mu=Fraction(1))]

    def inner_filter(self, measurement: _OfRun) -> Filter | DeclaredSteps:
        return measurement.run.inner_filter()

    def name(self, measurement: _OfRun) -> dict[str, Any]:
        return {"questions": [], "refines": [], "part": None, "run": measurement.run.identity}

    def words(self, measurement: _OfRun) -> str:
        return measurement.run.words

    def adaptive_run(self, measurement: _OfRun, steps: Steps) -> AdaptiveRun:
        """The run on its steps."""
        return AdaptiveRun(measurement.run, steps)

    def refused(self, priced: Priced[_OfRun], event: Event, refusal: BudgetExceeded) -> BudgetExceeded:
        run = priced.measurement.run
        if run.declared is not None:
            return samples_too_dear(run.spend, refusal)
        if run.mu is not None:
            return fit_too_dear(run.mechanism, run.spend, event, refusal)
        return run_too_dear(run.mechanism, run.spend, run.rho, refusal)


@final
@dataclass(frozen=True, slots=True, eq=False)
class PlannedRun:
    """A run at a spend, and how it is completed: from its first step, or from those that are there."""

    run: Run
    complete: Callable[[AdaptiveRun], Any]
    quoted: Callable[[], dict[str, Any]] = dict  # what a quote says of it

    @property
    def spend(self) -> Spend:
        """What is paid."""
        return self.run.spend


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundPlan(BoundRun[PlannedRun]):
    """A request that is planned by other packages: a fit, or a synthesis."""

    request: Request
    mechanism: InteractiveMechanism
    plan: Callable[[Spend], PlannedRun]
    in_rho: bool = False  # whether shares are taken in ρ

    @property
    def kind(self) -> str:  # type: ignore[override]  # (several kinds of requests are planned so)
        """The kind of the request."""
        return self.request.kind

    @property
    def tables(self) -> int:
        return 0

    def at(self, spend: Spend) -> PlannedRun:
        return self.plan(spend)

    def event_at(self, spend: Spend) -> Event:
        if self.in_rho:
            return events.ZCDP(priced_within(rho_of(spend)))
        return events.Gaussian(noise_multiplier(spend.squared_mu()))

    def kinds(self, _terms: Terms, _trial: TrialFilter) -> list[Spend]:
        return [Spend(rho=Fraction(1))] if self.in_rho else [Spend(mu=Fraction(1))]

    def run(self, measurement: PlannedRun, steps: Steps) -> Any:
        return measurement.complete(self.adaptive_run(measurement, steps))

    def read(
        self, _priced: Priced[PlannedRun], outcome: Any, _reservation: Reservation, _terms: Terms, *, looked_up: bool
    ) -> Any:
        return outcome

    def quoted(self, priced: Priced[PlannedRun], _terms: Terms, _admission: Admission) -> dict[str, Any]:
        content = dict(priced.measurement.quoted())
        why = () if priced.why is None else (priced.why,)
        return {**content, "notes": (*content.get("notes", ()), *why)}
