"""Measures: the integers that an engine is asked for, their sensitivities, and releases of them, stored and averaged.

The number and the sum of bounded values may be computed from one release of their two sides, at the price of the sum
alone.

A value x between a and b is counted twice over: by its distance from a, and by its distance from b. In steps of the
lattice the two are R together, whatever x is. So with A = Σ(x − a) and B = Σ(b − x), the number of values is
(A + B) / (b − a), their sum is A + a · number, and the rows without a value, each counted as R, may stand beside them.

Guarantee: every row adds a vector (distance from a, distance from b, R if it has no value) of integers that are not
negative, whose L1 norm is at most R, and so is its L2 norm. So one unit moves the whole vector, over all groups, as it
moves a histogram of such rows: `Stability.sensitivity(0, R, binned=True)`. Proof. Bounding multiplies what a person
adds to a group by one factor for all three, at most rows/c for c rows, and cuts towards zero; so a person's vector in
a group has an L1 norm of at most rows·R, and an L2 norm of no more. Over groups the proof of
`giveortake.engines.questions` holds word for word. A unit that is changed is removed and another added: twice that in
L1, and for one row √2 of it in L2, because vectors without negative numbers have no negative inner product. ∎

If coordinate i, in steps of its own, gets noise of scale m · (the sensitivity of such a histogram in those steps), then
the vector, each coordinate divided by its sensitivity, moves by at most one: it is one Laplace release, or one Gaussian
one, of noise multiplier m.

Measured apart, number and sum would each take a part of the spend. With Laplace noise the sides take one part for both:
the variance of a mean halves, wherever the mean lies. With Gaussian noise they are as good as two equal parts.
"""

from __future__ import annotations

import base64
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final

import numpy as np

from giveortake import engines
from giveortake.codec import stored
from giveortake.compile.intervals import RunningTotals
from giveortake.engines import Summand, Tally
from giveortake.engines.questions import Quantum
from giveortake.errors import LedgerDamaged, QueryRefused
from giveortake.exact import power_of_two_at_least, sqrt_up
from giveortake.mechanisms.additive import quantile
from giveortake.mechanisms.mechanism import PrefixStrategy
from giveortake.mechanisms.prefix_sums import ConsistentTree, SquareRoot
from giveortake.plan import Call, ColumnReference, Expression, Kind
from giveortake.plan import Literal as Constant
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.compile.sensitivity import Stability
    from giveortake.engines import Bins, Bounding, Distinct, Engine, Keys
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise, Tail
    from giveortake.plan import Domain, Relation
    from giveortake.privacy.events import Event

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Noisy integers, one array for each measure (keys × nodes of the tree for bins), and the noise they got.

    `decided` has the threshold of the measure whose noisy number decided which keys are shown.
    """

    arrays: tuple[npt.NDArray[Any], ...]
    noises: tuple[RoundedNoise, ...]
    decided: Mapping[int, int] = field(default_factory=dict)

    def to_json(self) -> list[Any]:
        """The arrays as compact and exact JSON."""
        return [packed(array) for array in self.arrays]


def arrays_from_json(content: Any, count: int) -> tuple[npt.NDArray[Any], ...]:
    """The arrays that `Release.to_json` wrote, one for each of `count` measures."""
    if not isinstance(content, list) or len(content) != count:
        raise LedgerDamaged("a stored answer does not have the measures of its question")
    return tuple(unpacked(packed_array) for packed_array in content)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Numbers that were shown because they reached a threshold, with the law of their noise before that condition.

    `alone` says that there is no later release of them.
    """

    numbers: npt.NDArray[np.int64]
    tail: Tail
    threshold: int
    alone: bool


@final
@dataclass(frozen=True, slots=True)
class RowRange:
    """What one row may add to a measure: so much `without` a value, else from `low` to `high`, as its value goes.

    Measures of one `source` follow the same value: they are at the same end together.
    """

    source: object
    without: Fraction
    low: Fraction
    high: Fraction


@final
@dataclass(frozen=True, slots=True)
class Truncated:
    """At most how many rows contribution bounds leave out of all groups together, and what each may add."""

    rows: float
    of_row: RowRange


@final
@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """The combined releases of one measure, in units of its values, and the noise that is left.

    With `truncated`, intervals hold the number of the table without contribution bounds.
    """

    values: Floats
    tails: tuple[Tail, ...]
    slack: float
    whole_values: npt.NDArray[Any] | None = None
    noise: RoundedNoise | None = None
    distribution: RunningTotals | None = None
    decided: Decided | None = None
    truncated: Truncated | None = None

    def whole_margin(self, miss: float) -> int:
        """The exact margin of whole numbers that were released once."""
        assert self.noise is not None  # noqa: S101 (asked only where whole_values is there)
        return self.noise.margin(1 - Fraction(miss))


def combined(
    measures: Sequence[Measure], releases: Sequence[Release], miss: float = 0.05, *, truncated_rows: float = 0
) -> Mapping[int, Combined]:
    """For each measure, the average of its releases, weighted by their inverse variances.

    With `truncated_rows`, an upper limit of the rows that contribution bounds leave out, intervals hold the numbers of
    all rows.

    Guarantee of accuracy: no release widens the interval, at this `miss`, of the average of those before it, nor is one
    worth less than it would be alone: which are averaged is chosen by the laws of their noises, and by no number drawn.
    """
    averages = {index: _combined(measure, index, releases, miss) for index, measure in enumerate(measures)}
    if not truncated_rows:
        return averages
    return {
        index: replace(
            average,
            truncated=Truncated(truncated_rows, measures[index].of_row),
            distribution=average.distribution and replace(average.distribution, truncated_rows=truncated_rows),
        )
        for index, average in averages.items()
    }


def without_data(
    measures: Sequence[Measure], noises: Sequence[RoundedNoise], *, truncated_rows: float = 0
) -> Mapping[int, Combined]:
    """Combined releases that hold only the noise, to compute margins before anything is released."""
    nothing = Release(tuple(measure.of_no_keys() for measure in measures), tuple(noises))
    return combined(measures, [nothing], truncated_rows=truncated_rows)


def _combined(measure: Measure, index: int, releases: Sequence[Release], miss: float) -> Combined:
    """The combined releases of one measure; the deciding one, whose law differs, is not averaged with later ones."""
    deciding = next((release for release in releases if index in release.decided), None)
    if deciding is None:
        return _averaged(measure, index, releases, miss)
    later_releases = [release for release in releases if index not in release.decided]
    measured = _averaged(measure, index, later_releases or [deciding], miss)
    unit = int(1 / measure.granularity)
    numbers, tail = deciding.arrays[index] // unit, deciding.noises[index].tail.times(1 / unit)
    return replace(measured, decided=Decided(numbers, tail, deciding.decided[index], alone=not later_releases))


def _averaged(measure: Measure, index: int, releases: Sequence[Release], miss: float) -> Combined:
    unit = float(measure.granularity)
    release_tails = [release.noises[index].tail for release in releases]
    present = [
        (releases[release_index].arrays[index], releases[release_index].noises[index])
        for release_index in worthwhile(release_tails, miss)
    ]
    shares = _shares([noise.tail for _, noise in present])
    steps = sum(
        (np.asarray(array, dtype=np.float64) * share for (array, _), share in zip(present, shares, strict=True))
    )
    assert isinstance(steps, np.ndarray)  # noqa: S101 (there is at least one release)
    tails = tuple(noise.tail.times(unit * share) for (_, noise), share in zip(present, shares, strict=True))
    return measure.combined(steps, tails, present[0] if len(present) == 1 else None)


def worthwhile(tails: Sequence[Tail], miss: float) -> list[int]:
    """The indices of the noises to average, one by one: each joins the chosen ones, replaces them, or is left out."""
    best, width = [0], quantile(tails[:1], miss)
    for later in range(1, len(tails)):
        for indices in ([*best, later], [later]):
            candidates = [tails[index] for index in indices]
            reached = quantile(
                [tail.times(share) for tail, share in zip(candidates, _shares(candidates), strict=True)], miss
            )
            if reached < width:
                best, width = indices, reached
    return best


def _shares(tails: Sequence[Tail]) -> list[float]:
    weights = [1 / tail.variance for tail in tails]
    return [weight / sum(weights) for weight in weights]


def packed(array: npt.NDArray[Any]) -> Any:
    """Whole numbers as a ledger stores them: compact, and exact for any size."""
    if array.dtype == object:
        listed = [str(value) for value in array.ravel().tolist()]
        return listed if array.ndim == 1 else {"shape": list(array.shape), "wide": listed}
    raw = np.ascontiguousarray(array.astype("<i8")).tobytes()
    return {"shape": list(array.shape), "int64": base64.b64encode(zlib.compress(raw, 1)).decode()}


def unpacked(content: Any) -> npt.NDArray[Any]:
    """The whole numbers that `packed` wrote."""
    if isinstance(content, list):
        return _wide(content)
    if "wide" in content:
        return _wide(content["wide"]).reshape(content["shape"])
    raw = zlib.decompress(base64.b64decode(content["int64"]))
    return np.frombuffer(raw, dtype="<i8").astype(np.int64).reshape(content["shape"])


def _wide(listed: list[str]) -> npt.NDArray[Any]:
    """Whole numbers of more than 64 bits."""
    return np.array([int(value) for value in listed], dtype=object)


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """The sums that are centred at the middle of their bounds, and those computed from two sides with their number.

    `rows` are the values from whose sides the number of rows is computed. All bases give the same answers, apart from
    the noise.
    """

    centred: tuple[Expression, ...] = ()
    sided: tuple[Expression, ...] = ()
    rows: Expression | None = None


PLAIN = Basis()  # each number and each sum by itself; sums are centred only where only a mean is asked for


STEPS = 2**30  # of the lattice, up to the greatest value of a real column
FINE = 2**10  # parts of a contribution, if only some of them may count
_FINEST = Fraction(1, 2**960)  # least step: noise that small is still a normal double


@dataclass(frozen=True, slots=True)
class Measure(ABC):
    """Integers, one for each key (and bin); one unit moves all of them together by at most `l1` and `l2` steps."""

    l1: Fraction
    l2: Fraction

    kind: ClassVar[str]  # the name in ledgers
    averages: ClassVar[bool] = True  # whether several releases can be averaged

    @property
    @abstractmethod
    def granularity(self) -> Fraction:
        """The value of one step."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in recipes."""

    @property
    @abstractmethod
    def of_row(self) -> RowRange:
        """What one row may add to it."""

    @property
    def joined(self) -> bool:
        """Whether it is released in one vector with the measure before it, at no further price."""
        return False

    @property
    def sections(self) -> tuple[int, ...] | None:
        """The number of a key's integers in each part, if there are several; each part has the same sensitivities."""
        return None

    @property
    def levels(self) -> int:
        """The number of parts that are released; each has the same sensitivities."""
        return 1 if self.sections is None else len(self.sections)

    @property
    def integers(self) -> int:
        """How many integers each key has."""
        return 1 if self.sections is None else sum(self.sections)

    @abstractmethod
    def ask(self, inquiry: Inquiry, index: int) -> None:
        """Add the question for this measure to an inquiry; `index` is its index among the measures."""

    def prepared(self, exact: Sensitive[Any]) -> Sensitive[Any]:
        """The engine's result in the form to which noise is added."""
        return exact

    def event(self, noise: RoundedNoise) -> Event:
        """The event of a release with the given noise."""
        return noise.event_within(self.l1, self.l2)

    def described(self, noise: RoundedNoise) -> str:
        """The noise in words."""
        return noise.description(self.granularity)

    def of_no_keys(self) -> npt.NDArray[np.int64]:
        """The released array if there are no keys."""
        return np.zeros(0 if self.sections is None else (0, self.integers), dtype=np.int64)

    def combined(
        self, steps: Floats, tails: tuple[Tail, ...], only: tuple[npt.NDArray[Any], RoundedNoise] | None
    ) -> Combined:
        """The average of releases, converted from steps to values. `only` is the release, if there is just one."""
        unit = float(self.granularity)
        if only is not None and self.granularity == 1:
            return Combined(steps, tails, unit / 2, *only)
        return Combined(steps * unit, tails, unit / 2)


@dataclass(frozen=True, slots=True)
class _Counted(Measure):
    """A number of rows or persons, each of which may count in parts of 1 / `fineness`."""

    fineness: int

    kind: ClassVar[Literal["rows", "persons"]]

    @property
    def granularity(self) -> Fraction:
        return Fraction(1, self.fineness)

    @property
    def name(self) -> str:
        return f"number of {self.kind}"

    def ask(self, inquiry: Inquiry, index: int) -> None:
        inquiry.add_summand(index, Summand(self.kind, fineness=self.fineness))


@dataclass(frozen=True, slots=True)
class MeasureOfValues(Measure):
    """A measure of the values of an expression."""

    expression: Expression

    @property
    def name(self) -> str:
        return f"{self.kind} {self.of_what}"

    @property
    def of_what(self) -> str:
        """The expression, for recipes."""
        return f"of {self.expression.name if isinstance(self.expression, ColumnReference) else 'an expression'}"


@dataclass(frozen=True, slots=True)
class _CountedValues(MeasureOfValues):
    """A number of values, each of which may count in parts of 1 / `fineness`."""

    fineness: int

    @property
    def granularity(self) -> Fraction:
        return Fraction(1, self.fineness)


@dataclass(frozen=True, slots=True)
class MeasureOfSteps(MeasureOfValues):
    """A sum of whole numbers of steps of a lattice, one for each value; a step may count in parts of 1 / `fineness`."""

    quantum: Quantum
    fineness: int

    @property
    def granularity(self) -> Fraction:
        return self.quantum.granularity / self.fineness

    @property
    def of_row(self) -> RowRange:
        quantum = self.quantum
        ends = (steps * quantum.granularity for steps in (quantum.least, quantum.most))
        return RowRange(self.expression, Fraction(0), *ends)

    def ask(self, inquiry: Inquiry, index: int) -> None:
        inquiry.add_summand(index, Summand("sum", self.expression, self.quantum, self.fineness))


@final
@stored("rows")
@dataclass(frozen=True, slots=True)
class RowCount(_Counted):
    """The number of rows."""

    kind: ClassVar[Literal["rows", "persons"]] = "rows"

    @classmethod
    def within(cls, stability: Stability) -> RowCount:
        """The number of rows of a question with the given stability."""
        fine = fineness_of(stability)
        return cls(*stability.sensitivity(0, fine), fine)

    @property
    def of_row(self) -> RowRange:
        return RowRange(None, Fraction(1), Fraction(1), Fraction(1))


@final
@stored("values")
@dataclass(frozen=True, slots=True)
class ValueCount(_CountedValues):
    """The number of values that are not missing, each of which may count in parts of 1 / `fineness`."""

    kind: ClassVar[str] = "values"

    @classmethod
    def within(cls, stability: Stability, expression: Expression) -> ValueCount:
        """The number of values in a question with the given stability."""
        fine = fineness_of(stability)
        return cls(*stability.sensitivity(0, fine), expression, fine)

    @property
    def of_row(self) -> RowRange:
        return RowRange(self.expression, Fraction(0), Fraction(1), Fraction(1))

    def ask(self, inquiry: Inquiry, index: int) -> None:
        inquiry.add_summand(index, Summand("values", self.expression, fineness=self.fineness))


@final
@stored("persons")
@dataclass(frozen=True, slots=True)
class PersonCount(_Counted):
    """The number of persons."""

    kind: ClassVar[Literal["rows", "persons"]] = "persons"

    @classmethod
    def within(cls, stability: Stability) -> PersonCount:
        """The number of persons in a question with the given stability; without groups everybody counts in full."""
        fine = fineness_of(stability) if stability.grouped else 1
        return cls(*stability.of_persons(fine), fine)

    @property
    def of_row(self) -> RowRange:
        return RowRange("person", Fraction(0), Fraction(0), Fraction(1))


@final
@stored("sum")
@dataclass(frozen=True, slots=True)
class ValueSum(MeasureOfSteps):
    """The sum of values."""

    kind: ClassVar[str] = "sum"

    @classmethod
    def within(cls, stability: Stability, expression: Expression, domain: Domain, *, centred: bool) -> ValueSum:
        """The sum of values of a domain; `centred` measures them from the middle of their bounds."""
        quantum = quantum_of(domain, expression, centred=centred)
        coarse = quantum.granularity * 2**20 > quantum.high - quantum.low
        fine = fineness_of(stability) if coarse else 1
        l1, l2 = stability.sensitivity(fine * quantum.least, fine * quantum.most)
        l1, l2 = max(l1, Fraction(1)), max(l2, Fraction(1))  # if a column can hold just one value
        return cls(l1, l2, expression, quantum, fine)

    @property
    def centre(self) -> Fraction:
        """The value that counts as zero."""
        return self.quantum.shift * self.quantum.granularity

    def moved(self, domain: Domain) -> Fraction:
        """How far rounding to the lattice may move a value; 0 if all values of the type lie on it."""
        quantum = self.quantum
        on_it = quantum.is_whole or (domain.kind is Kind.DECIMAL and domain.step == quantum.granularity)
        return Fraction(0) if on_it else quantum.granularity / 2


@final
@stored("distinct")
@dataclass(frozen=True, slots=True)
class DistinctCount(MeasureOfValues):
    """The number of distinct values."""

    kind: ClassVar[str] = "distinct"

    @classmethod
    def within(cls, stability: Stability, expression: Expression, domain: Domain) -> DistinctCount:
        """The number of distinct values of a domain."""
        if domain.kind is Kind.REAL:
            raise QueryRefused(
                "real numbers are not counted as distinct values", hint="COUNT(DISTINCT BUCKET(x, width))"
            )
        return cls(*stability.of_distinct(), expression)

    @property
    def granularity(self) -> Fraction:
        return Fraction(1)

    @property
    def of_row(self) -> RowRange:
        return RowRange(("distinct", self.expression), Fraction(0), Fraction(0), Fraction(1))

    def ask(self, inquiry: Inquiry, index: int) -> None:
        inquiry.add(index, engines.Distinct(inquiry.relation, inquiry.keys, self.expression, inquiry.bounding))


def quantum_of(domain: Domain, expression: Expression, *, centred: bool) -> Quantum:
    """The lattice of a bounded number: whole numbers, a decimal's own scale, or a power of two far below the bounds."""
    low, high = domain.ends()
    if domain.kind is Kind.INTEGER:
        first, last = Fraction(ceil(low)), Fraction(high.numerator // high.denominator)
        if first > last:
            raise QueryRefused("no whole number lies between the bounds")
        plain = Quantum(Fraction(1), first, last, is_whole=True)
    else:
        greatest = max(abs(low), abs(high))
        step = domain.step
        if step is None or greatest / step > 2**40:
            step = power_of_two_at_least(greatest / STEPS) if greatest else Fraction(1)
        if step < _FINEST:
            raise _too_small(expression)
        plain = Quantum(step, low, high)
    shift = (plain.least + plain.most) // 2 if centred else 0
    return Quantum(plain.granularity, plain.low, plain.high, shift, plain.is_whole)


def _too_small(expression: Expression) -> QueryRefused:
    """The refusal of bounds so near to zero that doubles cannot hold their steps."""
    columns = ", ".join(f"`{name}`" for name in dict.fromkeys(expression.columns()))
    return QueryRefused(
        f"the bounds of {columns or 'a number'}, or their squares, are too near to zero to be added up",
        hint="ask in a smaller unit, as in AVG(x * 1000000000); the bounds, or their squares, have to reach 1e-279",
    )


def fineness_of(stability: Stability) -> int:
    """The number of parts into which a contribution is divided."""
    return FINE if stability.scales else 1


@final
class Inquiry:
    """The questions to an engine about the keys of a relation. Measures add to it, each under its index."""

    def __init__(self, relation: Relation, keys: Keys, bounding: Bounding | None) -> None:
        self.relation = relation
        self.keys = keys
        self.bounding = bounding
        self._summands: dict[int, Summand] = {}
        self._separate_questions: dict[int, Bins | Distinct] = {}

    def add_summand(self, index: int, summand: Summand) -> None:
        """Add a measure that is a sum over rows or persons."""
        self._summands[index] = summand

    def add(self, index: int, question: Bins | Distinct) -> None:
        """Add a measure that needs a question of its own."""
        self._separate_questions[index] = question

    def questions(self) -> list[Tally | Bins | Distinct]:
        """The questions: the tally first, if anything is summed."""
        tally = Tally(self.relation, self.keys, tuple(self._summands.values()), self.bounding)
        return [*([tally] if self._summands else []), *self._separate_questions.values()]

    def parts(self, engine: Engine, size: int) -> Iterator[dict[int, Sensitive[Any]]]:
        """The exact integers of all measures, for `size` keys at a time."""
        for parts in zip(*(engine.in_parts(question, size) for question in self.questions()), strict=True):
            summands = {index: parts[0].item(summand_index) for summand_index, index in enumerate(self._summands)}
            separate = parts[len(parts) - len(self._separate_questions) :]
            yield summands | dict(zip(self._separate_questions, separate, strict=True))


MOST = {False: 1024, True: 1000}  # bins at most, by whether the noise is pure: 1,000 fill a tree of ten by ten by ten
_NARROWEST = Fraction(1, 2**60)


@final
@stored("prefix sums")
@dataclass(frozen=True, slots=True)
class PrefixSums(_CountedValues):
    """The numbers of values in bins from `low` on, times the matrix of a strategy for running totals.

    A value may count in parts of 1 / `fineness`. None is above `high`.
    """

    strategy: PrefixStrategy
    low: Fraction
    width: Fraction
    high: Fraction
    whole: bool

    kind: ClassVar[str] = "prefix sums"
    averages: ClassVar[bool] = False

    @property
    def of_row(self) -> RowRange:
        return RowRange(self.expression, Fraction(0), Fraction(1), Fraction(1))

    @classmethod
    def within(cls, stability: Stability, expression: Expression, domain: Domain, *, pure: bool) -> PrefixSums:
        """Bins between the bounds of a domain; whole numbers are never split between bins.

        Guarantee: in all keys together, a unit that is added or removed moves the matrix times the bins as far as it
        moves numbers of rows, times the longest column (see `PrefixStrategy`). One that is changed moves it twice as
        far in L1, and √2 times in L2: what it had and what it has now are vectors that are not negative.
        """
        low, high = domain.ends()
        whole = domain.kind is Kind.INTEGER
        if whole:
            low, high = Fraction(ceil(low)), Fraction(floor(high))
            values = max(int(high - low) + 1, 1)
            width = Fraction(-(-values // MOST[pure]))
            size = -(-values // int(width))
        else:
            size = MOST[pure]
            width = max((high - low) / size, _NARROWEST)
        strategy = ConsistentTree.over(size) if pure else SquareRoot(size)
        fine = fineness_of(stability)
        l1, l2 = replace(stability, neighbours="add-remove").sensitivity(0, fine, binned=True)
        if stability.neighbours == "change-one":
            l1, l2 = 2 * l1, sqrt_up(Fraction(2)) * l2
        return cls(l1 * strategy.l1, l2 * strategy.l2, expression, fine, strategy, low, width, high, whole)

    @property
    def name(self) -> str:
        return f"running totals {self.of_what}"

    @property
    def sections(self) -> tuple[int, ...]:
        return self.strategy.sections

    def ask(self, inquiry: Inquiry, index: int) -> None:
        bins = self.strategy.size
        question = engines.Bins(
            inquiry.relation, inquiry.keys, self.expression, self.low, self.width, bins, inquiry.bounding, self.fineness
        )
        inquiry.add(index, question)

    def prepared(self, exact: Sensitive[Any]) -> Sensitive[Any]:
        return exact.through(self.strategy)

    def event(self, noise: RoundedNoise) -> Event:
        single = noise.event_within(self.l1, self.l2)
        return single if self.levels == 1 else events.Repeated(single, self.levels)

    def described(self, noise: RoundedNoise) -> str:
        noise_text = noise.description(self.granularity / self.strategy.fineness)
        over = f"{noise_text}, on running totals over {self.strategy.size:,} bins"
        return over if self.levels == 1 else f"{noise_text}, on each of {self.levels} levels of a tree of bins"

    def combined(
        self, steps: Floats, tails: tuple[Tail, ...], only: tuple[npt.NDArray[Any], RoundedNoise] | None
    ) -> Combined:
        unit = float(self.granularity)
        (tail,) = tails  # a measure that cannot be averaged has one release
        ends = float(self.low), float(self.width), float(self.high)
        totals = RunningTotals(self.strategy, steps, tail.times(1 / unit), unit, *ends, self.whole)
        return Combined(np.zeros(len(steps)), tails, unit / 2, distribution=totals)


FARTHEST = 1 << 62  # steps between the ends; engines compute distances in 64 bits
_NEAREST = Fraction(1, 2**380)


@final
@stored("side")
@dataclass(frozen=True, slots=True)
class Side(MeasureOfSteps):
    """The sum of the distances of values from one end of their bounds; from the upper end they are negative."""

    upper: bool

    kind: ClassVar[str] = "side"

    @property
    def joined(self) -> bool:
        return self.upper

    @property
    def name(self) -> str:
        label = self.expression.name if isinstance(self.expression, ColumnReference) else "expression"
        return f"sum of ({label} − {'upper' if self.upper else 'lower'} bound)"


@final
@stored("missing")
@dataclass(frozen=True, slots=True)
class MissingCount(_CountedValues):
    """The number of rows that have no value, each of which may count in parts of 1 / `fineness`."""

    kind: ClassVar[str] = "missing"

    @property
    def joined(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return f"rows without a value {self.of_what}"

    @property
    def of_row(self) -> RowRange:
        return RowRange(self.expression, Fraction(1), Fraction(0), Fraction(0))

    def ask(self, inquiry: Inquiry, index: int) -> None:
        missing = Call("case", (Call("is_null", (self.expression,)), Constant(1), Constant(None)))
        inquiry.add_summand(index, Summand("values", missing, fineness=self.fineness))


@final
@dataclass(frozen=True, slots=True)
class Sides:
    """The measures of one release of sides, and the weights that give the number and the sum of values."""

    low: Side
    high: Side
    missing: MissingCount | None

    @classmethod
    def within(cls, stability: Stability, expression: Expression, domain: Domain, *, missing: bool) -> Sides:
        """The sides of values of a domain; with `missing`, also the number of rows without a value."""
        quantum = quantum_of(domain, expression, centred=False)
        least, most = quantum.least, quantum.most
        coarse = quantum.granularity * 2**20 > quantum.high - quantum.low
        fine = fineness_of(stability) if coarse else 1
        l1, l2 = stability.sensitivity(0, fine * (most - least), binned=True)
        ends = (replace(quantum, shift=quantum.shift + least), replace(quantum, shift=quantum.shift + most))
        low, high = (Side(l1, l2, expression, end, fine, upper) for end, upper in zip(ends, (False, True), strict=True))
        parts = fineness_of(stability)
        missing_count = (
            MissingCount(*stability.sensitivity(0, parts, binned=True), expression, parts) if missing else None
        )
        return cls(low, high, missing_count)

    @property
    def measures(self) -> tuple[Side | MissingCount, ...]:
        """The measures, in the order in which they follow one another."""
        return (self.low, self.high) if self.missing is None else (self.low, self.high, self.missing)

    @property
    def number(self) -> tuple[Fraction, Fraction]:
        """The weights of both sides in the number of values."""
        width = (self.high.quantum.shift - self.low.quantum.shift) * self.low.quantum.granularity
        return 1 / width, -1 / width

    @property
    def rows(self) -> tuple[Fraction, ...]:
        """The weights of both sides, and of the rows without a value, in the number of rows."""
        return self.number if self.missing is None else (*self.number, Fraction(1))

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """The weights of both sides in the sum of values."""
        least = self.low.quantum.shift * self.low.quantum.granularity
        one, other = self.number
        return 1 + least * one, least * other


def has_sides(expression: Expression, domain: Domain) -> bool:
    """Whether values can be measured by sides: they have two different bounds, at most 2^62 steps apart.

    Nor may the steps be so small that doubles cannot hold one over the distance.
    """
    quantum = quantum_of(domain, expression, centred=False)
    return 0 < quantum.most - quantum.least <= FARTHEST and quantum.granularity >= _NEAREST
