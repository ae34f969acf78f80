"""Planned fits and their noisy sums: vectors on a lattice, summed at shares of one charge.

- The numbers of a row in whole steps, and the vectors that learners add up.
- The sums of a fit, each a pass over the rows with noise. A fit that was interrupted goes on: sums that were drawn
  before are read, by their names, and not drawn again.
- Planned fits: the rows, what is used of them, what may be spent, and how much of one unit counts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypedDict, final

import numpy as np

from giveortake import exact
from giveortake.answers.render import of_counted_rows
from giveortake.compile import Spend, Terms
from giveortake.engines import Component, Quantum, Sample, Summand, VectorSum
from giveortake.engines.questions import LONGEST, SAMPLED_OF
from giveortake.errors import GiveOrTakeError, InvalidParameter, LedgerDamaged, QueryRefused, did_you_mean
from giveortake.exact import whole
from giveortake.mechanisms.vectors import VectorNoise
from giveortake.plan import Filter, Literal, Relation, identity
from giveortake.plan.describe import capped_rows
from giveortake.session.kinds.learning_data import SPLIT, LearningData
from giveortake.session.kinds.runs import BoundPlan, NoisyVector, PlannedRun
from giveortake.session.requests import Request, request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines import KeyColumn
    from giveortake.exact import Number
    from giveortake.learn.features import Reals
    from giveortake.plan import Expression
    from giveortake.privacy import Guarantee
    from giveortake.session.kinds.runs import AdaptiveRun, Run
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.quotes import Quote
    from giveortake.session.requests import PaidPart


STEPS = 1 << 10  # of 1
GRAIN = 1 << 20  # parts of 1 to which released numbers are rounded before the next pass is made of them
_FEWEST_STEPS = 1 << 6  # of 1, where vectors are long


def in_grains(numbers: Reals) -> Reals:
    """Released numbers, rounded to 20 binary digits: engines, public rows and a fit that goes on use the same."""
    return np.asarray(np.round(numbers * GRAIN) / GRAIN)


def value(
    expression: Expression, low: float | Fraction = -1, high: float | Fraction = 1, steps: int = STEPS
) -> Summand:
    """A number between two bounds, in `steps` steps for 1. Numbers outside are moved to the bounds."""
    return Summand("sum", expression, Quantum(Fraction(1, steps), Fraction(low), Fraction(high)))


def one(weight: float = 1, steps: int = STEPS) -> Summand:
    """The same number for each row, to count rows or for an intercept."""
    return value(Literal(Fraction(weight)), 0, weight, steps)


def gram(count: int) -> tuple[Component, ...]:
    """All products of two of `count` values, on and above the diagonal."""
    pairs = [(first, second) for first in range(count) for second in range(first, count)]
    return tuple(Component(pair, weight=1 if pair[0] == pair[1] else 2) for pair in pairs)


def vector_sum(
    relation: Relation,
    values: Sequence[Summand],
    components: Sequence[Component],
    rows: int,
    *,
    keys: Sequence[KeyColumn] = (),
    longest: float | None = None,
) -> VectorSum:
    """A sum of vectors, to which a unit adds at most as much as `rows` of the longest rows.

    `longest` is the length of a row's vector, in whole numbers, not in steps, where it is known to be shorter than the
    bounds of its values alone say; what is longer is cut.
    """
    provisional = VectorSum(relation, tuple(values), tuple(keys), tuple(components), 1)
    unit = math.isqrt(provisional.longest_row - 1) + 1
    if longest is not None:
        unit = min(unit, math.ceil(longest * max(_steps_of(provisional, component) for component in components)))
    try:
        return VectorSum(relation, provisional.values, provisional.columns, provisional.components, unit * rows)
    except QueryRefused as refusal:
        raise QueryRefused(str(refusal), hint="let fewer rows of a person count, or take fewer features") from None


def gram_sum(
    relation: Relation, values: Sequence[tuple[Expression, float, float]], rows: int, *, longest: float
) -> VectorSum:
    """All products of two of some numbers of a row, each with its bounds; Σ x² is at most `longest`, or is cut to it.

    Values have as many steps as fit: fewer where much of a unit counts, because a vector's length is bounded.
    """
    steps = steps_for(longest, rows, factors=2)
    summands = [value(expression, low, high, steps) for expression, low, high in values]
    return vector_sum(relation, summands, gram(len(summands)), rows, longest=longest)


def steps_for(longest: float, rows: int, *, factors: int, most: int | None = None) -> int:
    """How many steps 1 has, so that products of `factors` values in `rows` rows are no longer than engines take."""
    steps = most or STEPS
    while steps > _FEWEST_STEPS and math.ceil(longest * steps**factors) * rows > LONGEST:
        steps //= 2
    return steps


def lattice_of(vector_sum: VectorSum) -> list[Any]:
    """The lattice of a sum, as ledgers keep it: its bound, its number of cells, and the steps and bounds of its values.

    Integers that were kept mean nothing on another lattice.
    """
    quanta = [summand.quantum for summand in vector_sum.values if summand.quantum is not None]
    values = [[str(quantum.granularity), str(quantum.low), str(quantum.high)] for quantum in quanta]
    return [vector_sum.bound, vector_sum.size, values]


def _steps_of(vector_sum: VectorSum, component: Component) -> Fraction:
    """How many steps of a component make 1."""
    quanta = [vector_sum.values[factor].quantum for factor in component.factors]
    return math.prod((1 / quantum.granularity for quantum in quanta if quantum is not None), start=Fraction(1))


_STANDS_OUT = 6.0  # deviations, which noise alone reaches once in 500 million sums
_SLACK = 1 - Fraction(1, 1 << 30)  # so that rounded prices of all passes stay within the charge


@final
@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """A released sum in whole numbers: each component's cells, and the deviation of their noise."""

    vector_sum: VectorSum
    name: str
    steps: npt.NDArray[Any]
    sigma: Fraction
    mu: Fraction

    def cells(self, index: int) -> Reals:
        """The cells of one component."""
        start = self.vector_sum.offsets()[index]
        return np.asarray(
            self.steps[start : start + self.vector_sum.sizes[index]].astype(np.float64) * self._unit(index)
        )

    def deviation(self, index: int = 0) -> float:
        """The deviation of the noise of each cell of a component, rounding to whole steps included."""
        blocks = tuple(
            zip(self.vector_sum.sizes, (component.weight for component in self.vector_sum.components), strict=True)
        )
        noise = VectorNoise(self.sigma, blocks).deviation(self.vector_sum.components[index].weight)
        return float(np.sqrt(float(noise) ** 2 + 1 / 12) * self._unit(index))

    def greatest(self) -> float:
        """How many deviations of its noise the greatest cell is away from zero."""
        indexes = range(len(self.vector_sum.components))
        return max(float(np.abs(self.cells(index)).max(initial=0.0)) / self.deviation(index) for index in indexes)

    def matrix(self) -> Reals:
        """The symmetric matrix of a sum of all products."""
        count = len(self.vector_sum.values)
        upper = np.zeros((count, count))
        upper[np.triu_indices(count)] = [self.cells(index)[0] for index in range(len(self.vector_sum.components))]
        return np.asarray(upper + np.triu(upper, 1).T)

    def _unit(self, index: int) -> float:
        """What one step is worth: the product of the factors' steps."""
        unit = Fraction(1)
        for factor in self.vector_sum.components[index].factors:
            quantum = self.vector_sum.values[factor].quantum
            assert quantum is not None  # noqa: S101 (values have one)
            unit *= quantum.granularity
        return float(unit)


@final
class NoisySums:
    """The passes of one fit, in order. `released` are those made so far."""

    def __init__(self, run: AdaptiveRun, mu: Fraction) -> None:
        self._run, self._mu = run, mu
        self._stored_steps = list(run.steps)
        self.released: list[Released] = []
        self.notes: list[str] = []  # what a fit says of itself

    @property
    def charged(self) -> bool:
        """Whether this fit was charged now, not before."""
        return self._run.charged

    @property
    def release_id(self) -> str:
        """The id of the fit in the ledger."""
        return self._run.id

    def add_up(self, name: str, vector_sum: VectorSum, share: Fraction) -> Released:
        """Release a sum with noise, for the part `share` of μ². Shares of all passes add up to at most 1."""
        mu = exact.sqrt_down(self._mu**2 * share * _SLACK)
        index = len(self.released)
        if index < len(self._stored_steps):
            step = self._stored_steps[index]
            if not isinstance(step, NoisyVector) or step.name != name or len(step.steps) != vector_sum.size:
                raise LedgerDamaged("a fit that was kept has other passes than this one")
        else:
            step = self._run.add_up(name, vector_sum, mu)
        released = Released(vector_sum, name, step.steps, step.sigma, mu)
        self.released.append(released)
        return released

    def remarks(self) -> tuple[str, ...]:
        """A warning if no released sum of the first pass stands out from its noise; this is post-processing."""
        if not self.released or self.released[0].greatest() >= _STANDS_OUT:
            return tuple(self.notes)
        return (
            "worthless: no sum of the first pass stands out from its noise, so the model tells nothing of the rows",
        )


def noise_of(vector_sum: VectorSum, run: Run, share: Fraction) -> float:
    """The greatest deviation of the noise in a sum, in rows' worth, if the sum gets the part `share` of μ²."""
    assert run.mu is not None  # noqa: S101 (a run of sums of vectors has one)
    mu = exact.sqrt_down(run.mu**2 * share * _SLACK)
    changed = run.promise.neighbours == "change-one"
    sigma = exact.sqrt_up(Fraction(vector_sum.moved_squared(changed=changed))) / mu
    released = Released(vector_sum, "", np.zeros(0), sigma, mu)
    return max(released.deviation(index) for index in range(len(vector_sum.components)))


class FitTerms(TypedDict, total=False):
    """What a fit may cost: (ε, δ), ρ, μ, or a share of the whole budget, such as "1/10"."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mu: Number | None
    share: Number | None


SPENDS = tuple(FitTerms.__annotations__)


def fit_terms(stated: Mapping[str, Any]) -> Terms:
    """The terms of a fit, checked."""
    for name in stated.keys() - set(SPENDS):
        hint = f"{did_you_mean(name, SPENDS)}a fit is paid by {', '.join(SPENDS)}"
        raise InvalidParameter(name, stated[name], "is unknown here", hint=hint)
    terms = Terms.of({name: number for name, number in stated.items() if number is not None})
    if terms.spend is None and terms.share is None:
        hint = 'epsilon="1", delta="1e-6", or mu="1/5", or share="1/10"'
        raise InvalidParameter("epsilon", None, "is missing: say what the model may cost", hint=hint)
    if terms.spend is not None and terms.spend.is_pure:
        problem = "is missing: learners add Gaussian noise, which needs a δ"
        raise InvalidParameter("delta", None, problem, hint='delta="1e-6"')
    return terms


MORE_SIGNAL = "spend more, name fewer features, or take gt.learn.ClassMeans"


@final
@dataclass(frozen=True, slots=True, eq=False)
class FitContext:
    """The rows that a learner sees, the spend, and how many rows' worth of a unit count."""

    data: LearningData
    relation: Relation
    spend: Spend
    rows: int

    @classmethod
    def from_parameters(
        cls, data: LearningData, spend: Spend, clip: object, condition: Expression | None
    ) -> FitContext:
        """Check what was stated; `condition` leaves out rows that cannot be learned from."""
        relation = data.relation if condition is None else Filter(data.relation, condition)
        return cls(data, relation, spend, _rows(relation, clip))

    @property
    def mu(self) -> Fraction:
        """The μ that all passes together may spend."""
        return self.spend.gaussian()

    @property
    def capped_rows(self) -> int | None:
        """How many rows of a person count at most; None where all of them do."""
        most = capped_rows(self.relation)
        if self.relation.person is None or self.relation.most_rows == 1:
            return most
        return self.rows if most is None else min(most, self.rows)

    @property
    def by_row(self) -> bool:
        """Whether no unit has more than one row, so that each row is cut by itself."""
        return self.relation.person is None or self.relation.most_rows == 1


def _rows(relation: Relation, clip: object) -> int:
    """How many rows' worth of a unit count: one where a unit has one row, else `clip` or the cap on rows."""
    if relation.person is None or relation.most_rows == 1:
        if clip not in {None, 1}:
            raise InvalidParameter("clip", clip, "has no meaning where each unit has one row", hint="leave it out")
        return 1
    if clip is None:
        if relation.most_rows is None:
            raise QueryRefused(
                f"a `{relation.person}` may have any number of rows, and nothing says how much of one counts",
                hint="clip=32 lets a person count as much as 32 rows of one direction; s.profile(…) tells of rows",
            )
        return relation.most_rows
    return whole("clip", clip)  # type: ignore[arg-type]  # (checked there)


class FitPlan(ABC):
    """A planned fit. Making one charges nothing, and looks at no row.

    `shares` says how large a part of μ² each pass gets, by its name, in order.
    """

    stored_name: ClassVar[str]  # in ledgers
    context: FitContext
    shares: dict[str, Fraction]

    @abstractmethod
    def known(self) -> list[VectorSum]:
        """The sums that are known before anything is released: enough to refuse a fit that engines cannot make."""

    @abstractmethod
    def names(self) -> dict[str, Any]:
        """Everything that decides what is measured, besides the rows and the spend: lists, numbers and texts."""

    @abstractmethod
    def learn(self, noisy_sums: NoisySums) -> Any:
        """Make the passes, and a model of what they release."""

    def run(self) -> Run:
        """The run by which this fit is charged."""
        known = list(dict.fromkeys(self.known()))
        for vector_sum in known:
            self.context.data.require(vector_sum)
        fields = {"learner": self.stored_name, "rows": self.context.rows, **self.names()}
        fields |= {
            "filter": identity(self.context.relation),
            "shares": {name: str(share) for name, share in self.shares.items()},
            "lattice": [lattice_of(vector_sum) for vector_sum in known],
            "grain": GRAIN,
        }
        return self.context.data.request([], self.context.spend, fields, f"{self.words()} of {self.context.data.name}")

    @abstractmethod
    def words(self) -> str:
        """What is fitted, in words, such as "a linear regression of y"."""

    def quoted(self, run: Run, n: int | None) -> dict[str, Any]:
        """What a quote says: for each pass its part of μ², and the deviation of the noise in its sums, in rows' worth.

        The deviation is None where it depends on what is released before. With a public number of rows it is also
        stated as a part of them: `noise_to_signal`.
        """
        known = list(zip(self.shares.items(), self.known(), strict=False))
        noises: list[tuple[str, Fraction, float | None]]
        noises = [(name, share, noise_of(vector_sum, run, share)) for (name, share), vector_sum in known]
        noises += [(name, share, None) for name, share in list(self.shares.items())[len(known) :]]
        stated = [noise for *_, noise in noises if noise is not None]
        signal = None if n is None or not stated else max(stated) / n
        return {
            "title": of_counted_rows(f"{self.words()} of {self.context.data.name}", self.context.capped_rows),
            "lines": tuple({"pass": name, "share": float(share), "noise": noise} for name, share, noise in noises),
            "facts": {"unit": counted(run.promise, self.context.rows), "noise_to_signal": signal},
            "worthless": f"the noise in a sum is no smaller than all rows together: {MORE_SIGNAL}"
            if signal is not None and signal >= 1
            else None,
        }


Finish: TypeAlias = "Callable[[FitPlan, Any, Run, NoisySums], Any]"


def promised(_plan: FitPlan, statistic: Any, run: Run, noisy_sums: NoisySums) -> Any:
    """A released statistic, with the promise of its run."""
    return replace(statistic, guarantee=run.promise, release_id=noisy_sums.release_id)


def names_of(columns: Any) -> tuple[str, ...]:
    """The names of columns, in a list or an array; a text is no list of them."""
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise InvalidParameter("columns", columns, "is not a list of columns", hint='["sex", "smoker"]')
    return tuple(map(str, columns))


class Fitting(ABC):
    """What is learned of rows, as it was stated: a learner or a statistic. A registered dataclass."""

    states_price: ClassVar[bool] = False  # whether the price follows from what is stated

    @abstractmethod
    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        """The run that learns it at a spend, checked: what cannot be learned is refused here, at no cost."""

    def quoted(self, data: LearningData, terms: Terms, n: int | None = None) -> Quote:
        """What it would cost; `n` is a public number of rows, if known."""
        return data.mechanism.quote(FitRequest(self, data.relation, data.persons, n), terms)

    def answered(self, data: LearningData, terms: Terms, key: str | None) -> Any:
        """What is learned of rows behind a session, under one charge."""
        return data.mechanism.answer(FitRequest(self, data.relation, data.persons), terms, key)


@final
@request("fit")
@dataclass(frozen=True, slots=True, eq=False)
class FitRequest(Request):
    """Something that is learned of the rows of a relation, or of a public part of the persons."""

    fitting: Fitting
    relation: Relation
    persons: Sample | None = None
    n: int | None = field(default=None, metadata={"stored": False})

    def __post_init__(self) -> None:
        persons = self.persons
        if persons is not None and (persons.salt != SPLIT or not 0 < persons.below < SAMPLED_OF):
            raise InvalidParameter("persons", persons.below, "is no part of the persons that can be held out")

    def terms(self, stated: Mapping[str, Any]) -> Terms:
        return fit_terms(stated)

    def bind(self, mechanism: InteractiveMechanism, terms: Terms) -> BoundPlan:
        """The fit on the tables of a session. What cannot be learned is refused in its own words.

        Documents may hold what no learner would write: whatever planning stumbles over is refused as well. It reads
        no row.
        """
        if self.fitting.states_price and terms.spend is None:
            raise InvalidParameter("share", terms.share, "has no meaning here: what is stated decides the price")
        bound = self.bind_paid(mechanism, terms)
        try:
            bound.plan(terms.spend or Spend(mu=Fraction(1)))
        except GiveOrTakeError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InvalidParameter("request", type(self.fitting).__name__, "cannot be planned as it is") from error
        return bound

    def bind_paid(self, mechanism: InteractiveMechanism, _terms: Terms, _parts: Sequence[PaidPart] = ()) -> BoundPlan:
        data = LearningData(mechanism, self.relation, self.persons)
        return BoundPlan(self, mechanism, lambda spend: self.fitting.planned(data, spend, self.n))


def planned_run(plan: FitPlan, finish: Finish, n: int | None = None) -> PlannedRun:
    """The run of a plan: it makes its passes, of which those that are stored are read, and is settled."""
    run = plan.run()
    mu = run.mu or Fraction(0)  # a run of sums of vectors has one

    def complete(adaptive_run: AdaptiveRun) -> Any:
        noisy_sums = NoisySums(adaptive_run, mu)
        learned = plan.learn(noisy_sums)
        adaptive_run.settle()
        return finish(plan, learned, run, noisy_sums)

    return PlannedRun(run, complete, lambda: plan.quoted(run, n))


def counted(guarantee: Guarantee, rows: int) -> str:
    """What is protected, and how much of one unit counts, in words."""
    column = guarantee.unit.column
    if column is None:
        return "one row"
    if not rows:
        return f"one {column}"
    return f"one {column}: all its rows together count as much as {rows:,} row{'s' if rows > 1 else ''} at most"
