"""Partition selection in a question: how groups are discovered, and with which share of the spend.

- By numbers (`aim="numbers"`): one noisy count finds a group and is its number.
- By weights (`aim="groups"`): a person shares out a weight among many groups, and numbers are measured apart.

The question, the public caps and the spend decide, never rows.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake import codec, exact
from giveortake.accounting.pricing import noise_multiplier, priced_within
from giveortake.compile.formulas import Apply, FunctionOf, Linear, Moments, QuantileOf, Ratio
from giveortake.compile.measures import MeasureOfValues, PersonCount, RowCount, ValueCount
from giveortake.compile.spend import Spend
from giveortake.engines import Found, Keys, Persons
from giveortake.engines.questions import WIDEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.mechanisms import KeySelection
from giveortake.mechanisms.partition_selection import CountedKeys, KeyCaps, WeightedKeys, weights
from giveortake.plan import Call, ColumnReference, Derive, Filter, KeepParts
from giveortake.plan import Literal as Constant
from giveortake.plan.question import free_name
from giveortake.privacy import gaussian_mu
from giveortake.privacy.definitions import rough_mu

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from giveortake.compile.design import Design
    from giveortake.compile.formulas import Formula
    from giveortake.compile.measurement import Measurement
    from giveortake.compile.measures import Measure
    from giveortake.compile.sensitivity import Stability
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.plan import Expression, Question, Relation, Value
    from giveortake.privacy.events import DiscoveredKeys, GaussianKeys
    from giveortake.randomness import Entropy

    Units = Sensitive[tuple[list[tuple[Value, ...]], BoundedIntegers]]


def with_keys(measurement: Measurement, rows: Iterable[tuple[Value, ...]]) -> Keys:
    """Found keys, as positions among all combinations of their values if these fit into 64 bits."""
    listed = in_order(rows)
    values = [_ordered({row[i] for row in listed}) for i in range(len(measurement.columns))]
    if math.prod(len(column_values) for column_values in values) >= WIDEST:
        return listed_keys(measurement, Found(len(listed), lambda: iter([listed])))
    value_indices = [{value: index for index, value in enumerate(column_values)} for column_values in values]
    codes = set()
    for row in listed:
        code = 0
        for i, value in enumerate(row):
            code = code * len(values[i]) + value_indices[i][value]
        codes.add(code)
    columns = tuple(
        replace(column, values=tuple(column_values))
        for column, column_values in zip(measurement.columns, values, strict=True)
    )
    return Keys(columns, tuple(sorted(codes)))


def in_order(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Keys ordered by their values; missing values come last."""
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def listed_keys(measurement: Measurement, discovered: Found) -> Keys:
    """Found keys, as a list."""
    return Keys(measurement.columns, discovered=discovered)


def _ordered(values: set[Value]) -> list[Value]:
    present: list[Any] = sorted((value for value in values if value is not None), key=lambda v: (type(v).__name__, v))
    return [*present, None] if None in values else present


@dataclass(frozen=True, slots=True)
class Selection(ABC):
    """A way to find keys. Of each unit at most `touched` keys count; `sensitivity` is that of the mechanism.

    `decides` is the index of the measure that the deciding number also answers, if any: then keys come with it.
    """

    stored_name: ClassVar[str]
    mechanism: Any
    touched: int
    sensitivity: int
    decides: int | None = None

    @abstractmethod
    def event(self) -> DiscoveredKeys | GaussianKeys:
        """The event that is charged for finding keys."""

    @abstractmethod
    def as_added(self) -> Self:
        """The same selection under add-remove neighbours."""

    @abstractmethod
    def named(self) -> list[Any]:
        """What it adds to a question's name. This is a stored format."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The noise scale of the selection."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """In words, when a key is shown."""

    @property
    @abstractmethod
    def least(self) -> int:
        """The least number of `counted` with which a key has an even chance to be shown."""

    @property
    def counted(self) -> str:
        """What the deciding number counts, in words."""
        return "persons"

    @property
    def least_persons(self) -> int:
        """The least number of units with which a key can have an even chance to be shown."""
        return self.least

    @property
    def scratch_name(self) -> str:
        """A name for the file of found keys, until they are settled: everything that decides which keys are drawn."""
        parts = [self.touched, self.sensitivity, self.decides, str(self.scale), self.least, codec.text_of(self.event())]
        return json.dumps([self.stored_name, *parts, *self.named()], sort_keys=True)

    def question(self, relation: Relation, keys: Keys) -> Persons:
        """The question to an engine."""
        return Persons(relation, keys, self.touched)

    def draw(self, units: Units, entropy: Entropy | None = None) -> list[tuple[Value, ...]]:
        """Draw the keys to show, each followed by its noisy number if that is an answer."""
        if self.decides is None:
            selected_keys: list[tuple[Value, ...]] = self.mechanism.select(units, entropy)
            return selected_keys
        keys, numbers = self.mechanism.release_with_numbers(units, entropy)
        return [(*key, number) for key, number in zip(keys, numbers.tolist(), strict=True)]


@final
@dataclass(frozen=True, slots=True)
class NoisyCounts(Selection):
    """Noise on how often each key occurs; `sensitivity` is 2 under change-one, else 1.

    `measure` is what the number answers, if it is an answer, and `kind` what it counts, in words.
    """

    stored_name: ClassVar[str] = "noisy counts"
    mechanism: CountedKeys
    kind: str = "persons"
    measure: Measure | None = None

    def event(self) -> DiscoveredKeys | GaussianKeys:
        return self.mechanism.event(self.sensitivity)

    def as_added(self) -> NoisyCounts:
        return replace(self, sensitivity=1)

    def named(self) -> list[Any]:
        mechanism, counted = self.mechanism, self.mechanism.caps
        noise = [mechanism.noise.label, str(self.scale), mechanism.threshold]
        return ["noisy counts", *noise, counted.groups, counted.rows, counted.total, self.decides]

    def question(self, relation: Relation, keys: Keys) -> Persons:
        counted = _with_value(relation, self.measure)
        return Persons(counted, keys, self.touched, rows=self.mechanism.caps.rows)

    @property
    def scale(self) -> Fraction:
        return self.mechanism.noise.scale_in_steps

    @property
    def in_words(self) -> str:
        return f"a noisy number of {self.counted} reaches {self.mechanism.threshold}"

    @property
    def least(self) -> int:
        return self.mechanism.threshold

    @property
    def counted(self) -> str:
        return self.kind

    @property
    def least_persons(self) -> int:
        return -(-self.least // self.mechanism.caps.rows)

    def noise(self, fineness: int) -> RoundedNoise:
        """The noise of the deciding number, in parts of 1 / `fineness`."""
        return type(self.mechanism.noise)(self.scale * fineness)


@final
@dataclass(frozen=True, slots=True)
class OptimalChances(Selection):
    """Shows each key with the greatest probability its number of units allows; a unit touches `sensitivity` keys."""

    stored_name: ClassVar[str] = "optimal chances"
    mechanism: KeySelection

    def event(self) -> DiscoveredKeys:
        return self.mechanism.event_of_keys(self.sensitivity)

    def as_added(self) -> OptimalChances:
        return replace(self, sensitivity=self.touched)

    def named(self) -> list[Any]:
        return ["optimal chances", str(self.mechanism.epsilon), str(self.mechanism.delta), self.touched]

    @property
    def scale(self) -> Fraction:
        return 1 / self.mechanism.epsilon

    @property
    def in_words(self) -> str:
        return f"enough persons have it (one that {self.least:,} persons have is shown with a chance of 1/2)"

    @property
    def least(self) -> int:
        return self.mechanism.margin("0.5")


@final
@dataclass(frozen=True, slots=True)
class NoisyWeights(Selection):
    """Gaussian noise on weights that each unit splits among its keys; `sensitivity` is 2 under change-one, else 1."""

    stored_name: ClassVar[str] = "noisy weights"
    mechanism: WeightedKeys

    def event(self) -> GaussianKeys:
        return self.mechanism.event(self.sensitivity)

    def as_added(self) -> NoisyWeights:
        return replace(self, sensitivity=1)

    def named(self) -> list[Any]:
        mechanism = self.mechanism
        return ["noisy weights", str(mechanism.sigma), mechanism.threshold, mechanism.length, self.touched]

    def question(self, relation: Relation, keys: Keys) -> Persons:
        return Persons(relation, keys, self.touched, weights(self.mechanism.length, self.touched))

    @property
    def scale(self) -> Fraction:
        return self.mechanism.sigma

    @property
    def in_words(self) -> str:
        return (
            f"its noisy weight reaches {float(self.mechanism.threshold / self.mechanism.length):.4g}, "
            "of which a person with m keys gives 1/√m to each"
        )

    @property
    def least(self) -> int:
        return exact.ceiling(Fraction(self.mechanism.threshold, self.mechanism.length))


DEGREE = 50  # keys of a person that count in a search by weights: fewer ignore more, more raise the threshold
LENGTH = 1 << 16  # L2 norm of a person's weights; each of 50 keys gets 9,268, rounded down by less than one
_TWO_MARGINS = 2 * log(1 / 0.05)  # of Laplace noise of scale one, at 95 %
_PARTS = 64  # shares of a spend are multiples of 1 / 64
_DELTAS = tuple(Fraction(part, 16) for part in range(1, 9))  # shares of δ that are tried for finding keys
_ALIKE = 1e-6  # of a threshold: above the error of doubles
_LEAST_ROUGH = 1e-4  # below it differences of doubles are not exact enough


@final
@dataclass(frozen=True, slots=True)
class KeySearch:
    """A question whose keys have to be found, and the measures at the found keys."""

    question: Question
    stability: Stability
    measures: tuple[Measure, ...]
    formulas: tuple[tuple[str, Formula], ...]

    @classmethod
    def of(cls, question: Question, stability: Stability, chosen: Design) -> KeySearch:
        """The search for the keys of a question with the measures of a design."""
        return cls(question, stability, chosen.measures, (*chosen.formulas, *chosen.hidden))

    def selection(self, spend: Spend) -> tuple[Selection, Spend | None]:
        """The way to find keys, and the spend left for the values; None if the deciding number is the only answer."""
        relation = self.question.relation
        if relation.person is None and relation.most_rows != 1:
            raise QueryRefused(
                "keys are not found in a union of a table with itself", hint="declare the domain of the grouping column"
            )
        if spend.keys is None:
            raise InvalidParameter(
                "delta",
                None,
                "is missing: showing keys that are found in the data has a small chance to reveal one",
                hint=(
                    "declare the domain of the grouping columns, or use a budget with a δ, of which a part pays for it"
                ),
            )
        if spend.delta is not None and spend.keys >= spend.delta:
            raise InvalidParameter("key_delta", spend.keys, "is not below delta", hint="leave some of δ for the values")
        count = self.deciding_count(spend)
        if count is not None:
            return self._by_count(spend, spend.keys, count)
        return self._pure(spend, spend.keys) if spend.is_pure else self._gaussian(spend, spend.keys)

    # -- one count that finds keys and is their number -----------------------------------------------------------

    def _by_count(self, spend: Spend, delta: Fraction, count: int) -> tuple[Selection, Spend | None]:
        """The deciding count serves two purposes, and gets two equal parts of the spend; other measures get one."""
        share, measure = Fraction(2, self._levels() + 1), self.measures[count]
        if isinstance(measure, PersonCount):
            caps, kind = KeyCaps(self.stability.touched), "persons"
        else:
            stability = self.stability
            caps = KeyCaps(stability.touched, stability.most_in_group, stability.rows)
            kind = "values" if isinstance(measure, ValueCount) else "rows"
        if spend.is_pure:
            assert spend.epsilon is not None  # noqa: S101 (it is pure)
            epsilon = priced_within(spend.epsilon * share)
            mechanism = self._counted(caps, delta, epsilon=epsilon)
            left = replace(spend, epsilon=spend.epsilon - epsilon)
        else:
            square = _value_spend(spend, delta).squared_mu()
            mechanism = self._counted(caps, delta, mu=1 / noise_multiplier(square * share))
            left = Spend(rho=square * (1 - share) / 2, keys=delta) if share < 1 else spend
        kind = "persons" if (caps.rows, kind) == (1, "rows") else kind
        selection = NoisyCounts(mechanism, self.stability.touched, self._sides(), count, kind, measure)
        return selection, left if share < 1 else None

    def _counted(self, caps: KeyCaps, delta: Fraction, **noise: Fraction) -> CountedKeys:
        return CountedKeys.calibrated(caps, delta=delta, sensitivity=self._sides(), **noise)

    # -- keys apart from their numbers ---------------------------------------------------------------------------

    def _pure(self, spend: Spend, delta: Fraction) -> tuple[Selection, Spend]:
        """Laplace counts of units, or optimal chances: the way that needs fewer units."""
        assert spend.epsilon is not None  # noqa: S101 (it is pure)
        touched = self.stability.touched
        per_key = float(delta) / touched
        share = self._share(-log(2 * per_key) if per_key < 0.1 else 1.0, _TWO_MARGINS * self._levels() * self._rows())
        epsilon = priced_within(spend.epsilon * share)
        counted = self._counted(KeyCaps(touched), delta, epsilon=epsilon)
        keys = touched * self._sides()
        chances = OptimalChances(KeySelection(epsilon / keys, delta / keys), touched, keys)
        best: Selection = min((NoisyCounts(counted, touched, self._sides()), chances), key=lambda way: way.least)
        return best, replace(spend, epsilon=spend.epsilon - epsilon)

    def _gaussian(self, spend: Spend, delta: Fraction) -> tuple[Selection, Spend]:
        """Weights that units split among their keys."""
        square, degree = _value_spend(spend, delta).squared_mu(), self._degree()
        share = self._share(
            NormalDist().inv_cdf(1 - max(float(delta), 1e-15) / degree) ** 2, self._levels() * self._rows() ** 2
        )
        mechanism = WeightedKeys.calibrated(
            mu=1 / noise_multiplier(square * share),
            delta=delta,
            length=1 if degree == 1 else LENGTH,
            degree=degree,
            sensitivity=self._sides(),
        )
        return NoisyWeights(mechanism, degree, self._sides()), Spend(rho=square * (1 - share) / 2, keys=delta)

    def _degree(self) -> int:
        """How many keys of a unit count in the search: more than are measured afterwards."""
        return DEGREE if self.stability.rows is None else min(DEGREE, self.stability.rows)

    # -- shares -------------------------------------------------------------------------------------------------

    def _share(self, height: float, noise: float) -> Fraction:
        """The share of the spend for finding keys, at least as large as each measure's.

        A share s lowers the threshold and raises the noise of the values. With thresholds `height` / s and noise
        `noise` / (1 − s), in the units in which the spend adds up (ε, or μ²), both are the same where
        s / (1 − s) = height / noise. With Gaussian noise, `noise` is the standard deviation of a number of rows whose
        caps are used to the full by one row a person: most of what there is finds keys, very many more of them.
        With a pure ε it is twice the margin at 95 %: the least number that is shown is sure to half of it.
        """
        wanted = Fraction(round(_PARTS * height / (height + noise)), _PARTS)
        return max(Fraction(1, self._levels() + 1), min(wanted, Fraction(_PARTS - 1, _PARTS)))

    def _levels(self) -> int:
        return sum(measure.levels for measure in self.measures if not measure.joined)

    def _rows(self) -> int:
        """How many rows of a person count in a group; 1 if only persons are measured."""
        bounding = self.stability.bounding
        if bounding is None or all(isinstance(measure, PersonCount) for measure in self.measures):
            return 1
        return bounding.rows

    def _sides(self) -> int:
        return 2 if self.stability.neighbours == "change-one" else 1

    # -- the number that decides --------------------------------------------------------------------------------

    def deciding_count(self, spend: Spend) -> int | None:
        """The index of the measure whose noisy number finds keys and is the answer; None if keys are found apart.

        To find many groups, a count decides only where nothing else is asked and it is as good as weights: pure noise
        has no weights, and one key of a unit has one weight.
        """
        count = self._count_with_known_intervals()
        if spend.aim == "numbers" or count is None:
            return count
        return count if self._levels() == 1 and (spend.is_pure or self._degree() == 1) else None

    def _count_with_known_intervals(self) -> int | None:
        """A count that formulas use only in ways for which intervals of a number above a threshold are known.

        A number of values decides only where nothing depends on the rows without one.
        """
        for kind in (RowCount, PersonCount, ValueCount):
            for index, measure in enumerate(self.measures):
                known = all(_knows_threshold(index, formula) for _, formula in self.formulas)
                if isinstance(measure, kind) and known and (kind is not ValueCount or self._all_need(measure)):
                    return index
        return None

    def _all_need(self, measure: Measure) -> bool:
        """Whether all measures are of values that are missing wherever the counted ones are."""
        value = measure.expression if isinstance(measure, ValueCount) else None
        return all(isinstance(other, MeasureOfValues) and _needs(other.expression, value) for other in self.measures)

    def counted_rows(self, spend: Spend) -> Relation:
        """The rows that a deciding count counts, in the keys of each person by which it does; all if none decides.

        So what is measured beside it, or later, is about the rows that it counted. Which keys count is decided by the
        hash of the search (`Persons`); nothing is scaled by how many keys there are.
        """
        count = self.deciding_count(spend)
        if count is None:
            return self.question.relation
        relation = _with_value(self.question.relation, self.measures[count])
        return _within_first_keys(relation, self.question, self.stability.touched)


def _value_spend(spend: Spend, delta: Fraction) -> Spend:
    """The spend without the δ for keys."""
    return spend if spend.delta is None else replace(spend, delta=spend.delta - delta)


def _knows_threshold(index: int, formula: Formula) -> bool:
    """Whether a formula has intervals if the number at `index` was shown because it reached a threshold."""
    match formula:
        case Linear() | Ratio() | Moments():
            return True
        case QuantileOf():
            return formula.measure != index
        case Apply() | FunctionOf():
            return all(_knows_threshold(index, part) for part in formula.parts)
        case _:
            return False


_ARITHMETIC = {"add", "subtract", "multiply", "divide", "power", "clamp", "abs"}


def _needs(expression: Expression, value: Expression | None) -> bool:
    """Whether an expression is missing wherever a value is."""
    if isinstance(expression, Call) and expression.name in _ARITHMETIC:
        return expression == value or any(_needs(argument, value) for argument in expression.arguments)
    return expression == value


def _with_value(relation: Relation, measure: Measure | None) -> Relation:
    """The rows that a measure counts: those with a value, if it is a number of values."""
    if not isinstance(measure, ValueCount):
        return relation
    return Filter(relation, Call("not", (Call("is_null", (measure.expression,)),)))


def _within_first_keys(relation: Relation, question: Question, touched: int) -> Relation:
    """The rows of each person in the first keys, by the hash of person and key that engines use in a search."""
    if relation.person is None or (relation.most_rows is not None and relation.most_rows <= touched):
        return relation
    schema = relation.schema
    names: list[str] = []
    derived: list[tuple[str, Expression]] = []
    listed: list[tuple[str, Sequence[Value]]] = []
    for (name, key), domain in zip(question.keys, question.key_domains(), strict=True):
        if isinstance(key, ColumnReference):
            names.append(key.name)
        else:
            derived.append((free_name(name, "key", [*schema, *names]), key))
            names.append(derived[-1][0])
        if (values := domain.keys()) is not None:
            listed.append((names[-1], values))
    if derived:
        relation = Derive(relation, (*((column, ColumnReference(column)) for column in schema), *derived))
    for name, known in listed:  # rows with others are in no group, and take none of a person's
        relation = Filter(relation, _is_one_of(ColumnReference(name), known))
    return KeepParts(relation, tuple(names), touched)


def _is_one_of(key: Expression, values: Sequence[Value]) -> Expression:
    """Whether a key is one of the declared values, of which one may be missing."""
    present: Expression = Call("in", (key, *(Constant(value) for value in values if value is not None)))
    return Call("or", (present, Call("is_null", (key,)))) if None in values else present


def key_delta(spend: Spend, most: Fraction) -> Fraction:
    """The part of a stated δ for finding keys, at most `most`: the one with the lowest threshold of weights.

    The threshold is about z(δ_keys) / μ(ε, δ − δ_keys): both factors are public. Doubles decide, unless two parts are
    nearly equal; then exact numbers do, so that an answered question is always found again.
    """
    if spend.delta is None or spend.epsilon is None:
        return most
    epsilon, delta = spend.epsilon, spend.delta

    def height(part: Fraction, mu: float) -> float:
        chance = max(float(part * delta) / DEGREE, 1e-15)
        return NormalDist().inv_cdf(1 - chance) / mu

    try:
        rough = sorted((height(part, _rough_mu(epsilon, delta * (1 - part))), part) for part in _DELTAS)
        best = rough[0][1] if rough[0][0] * (1 + _ALIKE) < rough[1][0] else None
    except (ArithmeticError, ValueError):
        best = None
    if best is None:
        best = min(_DELTAS, key=lambda part: height(part, float(gaussian_mu(epsilon, delta * (1 - part)))))
    return min(most, best * delta)


def _rough_mu(epsilon: Fraction, delta: Fraction) -> float:
    mu = rough_mu(float(epsilon), float(delta))
    if not _LEAST_ROUGH < mu < 1 / _LEAST_ROUGH:
        raise ArithmeticError(mu)  # doubles are not exact enough
    return mu


def other_search(spend: Spend, pot: Fraction | None) -> Spend | None:
    """The spend on other noise that keeps the promise of a search: whatever is stated, the better of the two is taken.

    Guarantee: a pure ε beside the δ for keys is (ε, δ)-DP, which Gaussian noise keeps as well; Laplace noise of ε keeps
    ρ-zCDP for ρ = ε²/2 [BS16, Prop. 1.4], and (ε, δ) with all of δ for keys.
    """
    if pot is None:  # a budget without a δ
        return None
    keys = pot / 10 if spend.keys is None else spend.keys
    if spend.is_pure:
        pair = replace(spend, delta=keys, keys=None)
        return replace(pair, keys=key_delta(pair, keys))
    if spend.rho is not None:
        return replace(spend, rho=None, epsilon=exact.sqrt_down(2 * spend.rho), keys=keys)
    return None


def with_key_delta(spend: Spend, pot: Fraction | None) -> Spend:
    """The spend with a δ for finding keys: the stated one, else a tenth of the pot.

    If the spend has a δ, it is a part of that, the best one.
    """
    if spend.keys is not None or pot is None:
        return spend
    usual = pot / 10
    return replace(spend, keys=key_delta(spend, usual))
