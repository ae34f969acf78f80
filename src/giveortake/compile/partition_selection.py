"""Partition selection in a question: how groups are discovered, and with which share of the spend.

The question and the spend decide, never rows.
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
from giveortake.compile.formulas import Linear, QuantileOf, Ratio
from giveortake.compile.measures import PersonCount, RowCount
from giveortake.compile.spend import Spend
from giveortake.engines import Found, Keys, Persons
from giveortake.engines.questions import WIDEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.mechanisms import DiscoveredHistogram, Gaussian, KeySelection, Laplace, WeightedKeys
from giveortake.mechanisms.partition_selection import weights
from giveortake.privacy import gaussian_mu
from giveortake.privacy.definitions import rough_mu

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from giveortake.compile.design import Design
    from giveortake.compile.formulas import Formula
    from giveortake.compile.measurement import Measurement
    from giveortake.compile.measures import Measure
    from giveortake.compile.sensitivity import Stability
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.plan import Question, Relation, Value
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
        """What it adds to a question's name. This is a stored format, in which noisy counts alone add nothing."""

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
        """The least number of units with which a key has an even chance to be shown."""

    @property
    def scratch_name(self) -> str:
        """A name for the file of found keys, until they are settled: everything that decides which keys are drawn."""
        parts = [self.touched, self.sensitivity, self.decides, str(self.scale), self.least, codec.text_of(self.event())]
        return json.dumps([self.stored_name, *parts, *self.named()], sort_keys=True)

    def question(self, relation: Relation, keys: Keys) -> Persons:
        """The question to an engine."""
        return Persons(relation, keys, self.touched)

    def draw(self, units: Units, entropy: Entropy | None = None) -> list[tuple[Value, ...]]:
        """Draw the keys to show."""
        selected_keys: list[tuple[Value, ...]] = self.mechanism.select(units, entropy)
        return selected_keys

    def noise(self, fineness: int) -> RoundedNoise:
        """The noise of the deciding number, in parts of 1 / `fineness`; only for one that is an answer."""
        raise NotImplementedError(f"{type(self).__name__} has no number to show")


@dataclass(frozen=True, slots=True)
class _Counted(Selection):
    """A way to find keys whose deciding number may also be an answer."""

    def draw(self, units: Units, entropy: Entropy | None = None) -> list[tuple[Value, ...]]:
        """Draw the keys to show, each followed by its noisy number if that is an answer."""
        if self.decides is None:
            selected_keys: list[tuple[Value, ...]] = self.mechanism.select(units, entropy)
            return selected_keys
        keys, numbers = self.mechanism.release_with_numbers(units, entropy)
        return [(*key, number) for key, number in zip(keys, numbers.tolist(), strict=True)]


@final
@dataclass(frozen=True, slots=True)
class NoisyCounts(_Counted):
    """Laplace noise on the number of units; one unit moves the numbers of all keys together by `sensitivity`."""

    stored_name: ClassVar[str] = "noisy counts"
    mechanism: DiscoveredHistogram

    def event(self) -> DiscoveredKeys:
        return self.mechanism.event(self.sensitivity, lone_values=self.touched)

    def as_added(self) -> NoisyCounts:
        return replace(self, sensitivity=self.touched)

    def named(self) -> list[Any]:
        if self.decides is None:
            return []
        mechanism = self.mechanism
        return ["one count", str(mechanism.scale), mechanism.threshold, self.touched, self.decides]

    @property
    def scale(self) -> Fraction:
        return self.mechanism.scale

    @property
    def in_words(self) -> str:
        return f"a noisy number of persons reaches {self.mechanism.threshold}"

    @property
    def least(self) -> int:
        return self.mechanism.threshold

    def noise(self, fineness: int) -> Laplace:
        return Laplace(self.mechanism.scale * fineness)


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
class NoisyWeights(_Counted):
    """Gaussian noise on weights that each unit splits among its keys; `sensitivity` is 2 under change-one, else 1."""

    stored_name: ClassVar[str] = "noisy weights"
    mechanism: WeightedKeys

    def event(self) -> GaussianKeys:
        return self.mechanism.event(self.sensitivity)

    def as_added(self) -> NoisyWeights:
        return replace(self, sensitivity=1)

    def named(self) -> list[Any]:
        mechanism = self.mechanism
        decides = [] if self.decides is None else [self.decides]
        return ["noisy weights", str(mechanism.sigma), mechanism.threshold, mechanism.length, self.touched, *decides]

    def question(self, relation: Relation, keys: Keys) -> Persons:
        if self.touched == 1:
            return Persons(relation, keys, 1)
        return Persons(relation, keys, self.touched, weights(self.mechanism.length, self.touched))

    @property
    def scale(self) -> Fraction:
        return self.mechanism.sigma

    @property
    def in_words(self) -> str:
        if self.touched == 1:
            return f"a noisy number of persons reaches {self.mechanism.threshold}"
        return (
            f"its noisy weight reaches {float(self.mechanism.threshold / self.mechanism.length):.4g}, "
            "of which a person with m keys gives 1/√m to each"
        )

    @property
    def least(self) -> int:
        return exact.ceiling(Fraction(self.mechanism.threshold, self.mechanism.length))

    def noise(self, fineness: int) -> Gaussian:
        return Gaussian(self.mechanism.sigma * fineness)


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
        return self._pure(spend, spend.keys) if spend.is_pure else self._gaussian(spend, spend.keys)

    # -- a pure ε -----------------------------------------------------------------------------------------------

    def _pure(self, spend: Spend, delta: Fraction) -> tuple[Selection, Spend | None]:
        """One Laplace count that finds keys and is the answer, if possible; else the way that needs fewer persons."""
        assert spend.epsilon is not None  # noqa: S101 (it is pure)
        count = self._deciding_count()
        if count is not None:
            epsilon = priced_within(spend.epsilon / self._levels())
            left = spend.epsilon - epsilon
            return self._noisy_counts(epsilon, delta, count), replace(spend, epsilon=left) if left else None
        per_key = float(delta) / self.stability.touched
        share = self._share(-log(2 * per_key) if per_key < 0.1 else 1.0, _TWO_MARGINS * self._levels() * self._rows())
        epsilon = priced_within(spend.epsilon * share)
        counts = self._noisy_counts(epsilon, delta)
        keys = self.stability.touched * self._sides()
        chances = OptimalChances(KeySelection(epsilon / keys, delta / keys), self.stability.touched, keys)
        best = min((counts, chances), key=lambda way: way.least)
        return best, replace(spend, epsilon=spend.epsilon - epsilon)

    def _noisy_counts(self, epsilon: Fraction, delta: Fraction, decides: int | None = None) -> NoisyCounts:
        touched = self.stability.touched
        sensitivity = touched * self._sides()
        mechanism = DiscoveredHistogram.calibrated(
            epsilon=epsilon, delta=delta, sensitivity=sensitivity, lone_values=touched
        )
        return NoisyCounts(mechanism, touched, sensitivity, decides)

    # -- Gaussian noise -----------------------------------------------------------------------------------------

    def _gaussian(self, spend: Spend, delta: Fraction) -> tuple[Selection, Spend | None]:
        """Weights that persons split among keys; with one key per person, a count that may also be the answer."""
        value_spend = spend if spend.delta is None else replace(spend, delta=spend.delta - delta)
        square = value_spend.squared_mu()
        count = self._deciding_count() if self.decides(pure=False) else None
        degree = 1 if count is not None else self._degree()
        if count is not None:
            share = Fraction(1, self._levels())
        else:
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
        left = Spend(rho=square * (1 - share) / 2, keys=delta) if share < 1 else None
        return NoisyWeights(mechanism, degree, self._sides(), count), left

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

    def decides(self, *, pure: bool) -> bool:
        """Whether one number can both find keys and be the answer."""
        return self._deciding_count() is not None and (pure or self.stability.touched == 1)

    def _deciding_count(self) -> int | None:
        """The index of a measure that counts the units of a key and is an answer by itself; None if there is none."""
        for index, measure in enumerate(self.measures):
            if self._counts_units(measure) and all(_is_alone(index, formula) for _, formula in self.formulas):
                return index
        return None

    def _counts_units(self, measure: Measure) -> bool:
        match measure:
            case PersonCount():
                return True
            case RowCount():
                bounding = self.stability.bounding
                return self.stability.rows == 1 if bounding is None else bounding.rows == 1
            case _:
                return False


def _is_alone(measure_index: int, formula: Formula) -> bool:
    """Whether a formula is just this measure, or does not use it; formulas of unknown kinds may use every measure.

    Only then is the law of a deciding number known.
    """
    match formula:
        case Linear():
            return measure_index not in formula.weights or (
                formula.weights == {measure_index: 1} and formula.constant == 0
            )
        case Ratio():
            return measure_index not in {*formula.over.weights, *formula.under.weights}
        case QuantileOf():
            return formula.measure != measure_index
        case _:
            return False


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


def with_key_delta(spend: Spend, pot: Fraction | None) -> Spend:
    """The spend with a δ for finding keys: the stated one, else a tenth of the pot.

    If the spend has a δ, it is a part of that, the best one.
    """
    if spend.keys is not None or pot is None:
        return spend
    usual = pot / 10
    return replace(spend, keys=key_delta(spend, usual))
