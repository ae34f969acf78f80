"""Private selection: one of several candidates, or the first value above a threshold.

The exponential mechanism [MT07], [Fre18, definition 9], permute-and-flip [MS20] and report-noisy-max [DR14, section
3.3] select a candidate by its utility; `WorstMarginalSelection` selects the table that a model fits worst, by the first
of them. `AboveThreshold` is the sparse vector technique, in one sound variant [DR14, algorithm 1]; `SparseVectorCheck`
compares counts with an expectation by it, and `NoisyCount` measures them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import HIDDEN, InvalidParameter, LedgerMismatch, MechanismSpent, SensitiveValue
from giveortake.exact import GREATEST, at_least, log_up, positive, whole
from giveortake.mechanisms import lattice
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, scale_for, source
from giveortake.privacy import events
from giveortake.randomness import noisy_argmax, rounded_laplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.additive import Gaussian
    from giveortake.mechanisms.lattice import Numeric
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.randomness import Entropy
    from giveortake.randomness.distributions import Noise, Scores

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]
    Chosen: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, init=False)
class NoisySelection(Mechanism["Numeric", int]):
    """Select the index of the greatest utility / scale + noise; the scale is what one unit of noise is worth."""

    scale: Fraction

    noise: ClassVar[Noise]

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    @classmethod
    def calibrated(cls, *, epsilon: Number, sensitivity: Number = 1) -> Self:
        """The selection by utilities of that sensitivity that is ε-DP."""
        return cls(scale_for(sensitivity, epsilon, factor=2))

    def event(self, sensitivity: Number = 1) -> events.Pure | events.Exponential:
        """The event of a selection by utilities of that sensitivity."""
        return events.Pure(2 * at_least("sensitivity", sensitivity) / self.scale)

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> int:
        """The index of the candidate selected; `value` holds the utilities, one for each candidate.

        Utilities beyond ±1e300 count as ±1e300.
        """
        utilities = lattice.read("utilities", opened(value, self)).flat
        if utilities.size == 0:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one candidate to choose from")
        return noisy_argmax(_scores(utilities), self.scale, self.noise, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100), *, candidates: int) -> Fraction:
        """How far below the best utility the selected one lies at most, with at least that probability."""
        miss = miss_probability(confidence)
        return self.scale * log_up(whole("candidates", candidates) / miss)


def _scores(utilities: npt.NDArray[Any]) -> Scores:
    if utilities.dtype != object:
        return utilities
    # Clamping moves no two utilities further apart, so it keeps the sensitivity; an error would depend on data.
    return [max(-GREATEST, min(GREATEST, Fraction(number))) for number in utilities.tolist()]


@final
@dataclass(frozen=True, slots=True, init=False)
class Exponential(NoisySelection):
    """Select candidate i with probability proportional to exp(utilityᵢ / scale).

    Guarantee [MT07]: for utilities of sensitivity d, a selection is (2d / scale)-DP, and of bounded range [DR19].
    It is drawn as the greatest utility / scale + Gumbel noise. Rounding of numbers: none; the sampler is exact.
    """

    noise: ClassVar[Noise] = "gumbel"
    citation: ClassVar[str] = "McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007"

    def event(self, sensitivity: Number = 1) -> events.Exponential:
        """The event of a selection by utilities of that sensitivity."""
        return events.Exponential(2 * at_least("sensitivity", sensitivity) / self.scale)

    def probabilities(self, utilities: Sequence[Number]) -> list[float]:
        """The probability of each candidate, correctly rounded to a double: for teaching and for tests.

        These are functions of the data: they must not be released.

        >>> twice_two = Exponential(2 / exact.log_down(exact.rational("two", 2)))  # [Fre18, example 10]: ε = ln 2
        >>> [round(21 * p, 9) for p in twice_two.probabilities([0, 4, 6, 6])]
        [1.0, 4.0, 8.0, 8.0]
        """
        numbers = [exact.rational("utilities", utility) for utility in utilities]
        if not numbers:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one candidate to choose from")
        with exact.precision():
            weights = [exact.enclosure((number - max(numbers)) / self.scale).exp() for number in numbers]
            total = sum(weights[1:], weights[0])
            return [float(exact.probability_up(weight / total)) for weight in weights]


@final
@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip(NoisySelection):
    """Visit the candidates in random order and take each with probability exp((utility − best) / scale).

    Guarantee [MS20]: for utilities of sensitivity d, a selection is (2d / scale)-DP, and the utility selected is at
    least as good, in distribution, as the exponential mechanism's. It is drawn as the greatest utility / scale +
    exponential noise, which has the same law [DKX+21]. Rounding of numbers: none; the sampler is exact.

    >>> PermuteAndFlip("2").event(1)
    Pure(epsilon=Fraction(1, 1))
    """

    noise: ClassVar[Noise] = "exponential"
    citation: ClassVar[str] = "McKenna, Sheldon: Permute-and-flip, NeurIPS 2020"


@final
@dataclass(frozen=True, slots=True, init=False)
class ReportNoisyMax(NoisySelection):
    """Add Laplace noise of that scale to every utility and release only the index of the greatest.

    Guarantee [DR14, claim 3.9, with noise doubled because utilities need not move together]: for utilities of
    sensitivity d, a selection is (2d / scale)-DP, however many candidates there are. The noisy utilities themselves
    stay secret. Rounding of numbers: none; the comparison is exact.

    >>> from giveortake.mechanisms import Sensitive
    >>> ReportNoisyMax("1/100").release(Sensitive([1, 90, 4]))
    1
    """

    noise: ClassVar[Noise] = "laplace"
    citation: ClassVar[str] = "Dwork, Roth: The algorithmic foundations of differential privacy, 2014"

    def margin(self, confidence: Number = Fraction(95, 100), *, candidates: int) -> Fraction:
        """The margin is two noises, each at most scale · ln(candidates / miss) except with probability miss."""
        miss = miss_probability(confidence)
        return 2 * self.scale * log_up(whole("candidates", candidates) / miss)


FINENESS = 64  # steps of one row, in which a model's counts are stated
_MOST = 1 << 40  # rows of a model, a weight, or a handicap in rows


@final
@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """What a model expects of one table, in steps; how much a misfit weighs; and from which misfit on it counts.

    All of this is public. Only whole numbers are compared with exact counts, so that the sensitivity is exact too.
    """

    expected: npt.NDArray[np.int64]
    weight: int = 1
    handicap: int = 0

    @classmethod
    def from_counts(cls, counts: npt.NDArray[np.float64], *, weight: int = 1, handicap: float = 0.0) -> Candidate:
        """A model's counts and a handicap in rows, put on the lattice first."""
        if not (np.isfinite(counts).all() and np.abs(counts).max(initial=0) < _MOST and abs(handicap) < _MOST):
            raise InvalidParameter("counts", "of a model", "are not numbers of rows")
        if not 1 <= weight <= _MOST:
            raise InvalidParameter("weight", weight, "is not a whole number above zero")
        return cls(np.rint(counts * FINENESS).astype(np.int64), weight, round(handicap * FINENESS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorstMarginalSelection(Mechanism["Sequence[Integers | Sensitive[Integers]]", int]):
    """Select table i with probability proportional to exp(weightᵢ·(Σ|F·xᵢ − expectedᵢ| − handicapᵢ) / scale).

    Guarantee: a selection is that of the exponential mechanism [MT07] for scores of sensitivity d: weights are at most
    w, and a row changes one cell of every table by 1, so all scores move by at most w·F where a row is added or
    removed, 2·w·F where it is changed, m times that for m rows. It is (2d/scale)-DP, and ε²/8-zCDP [CR21]. Scores are
    computed on whole numbers: nothing is rounded that depends on a row.
    """

    candidates: tuple[Candidate, ...]
    epsilon: Fraction
    rows: int
    neighbours: Neighbours

    citation: ClassVar[str] = "McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007"

    def __init__(
        self, candidates: tuple[Candidate, ...], epsilon: Number, rows: int = 1, neighbours: Neighbours = "add-remove"
    ) -> None:
        if not candidates:
            raise InvalidParameter("candidates", "[]", "is empty", hint="offer at least one table to choose")
        object.__setattr__(self, "candidates", tuple(candidates))
        object.__setattr__(self, "epsilon", exact.spendable("epsilon", epsilon))
        object.__setattr__(self, "rows", exact.whole("rows", rows))
        object.__setattr__(self, "neighbours", neighbours)

    @property
    def sensitivity(self) -> int:
        """How far one unit moves any score."""
        twice = 2 if self.neighbours == "change-one" else 1
        return twice * self.rows * FINENESS * max(candidate.weight for candidate in self.candidates)

    @property
    def selection(self) -> Exponential:
        """The mechanism that selects by the scores."""
        return Exponential(2 * self.sensitivity / self.epsilon)

    def event(self, sensitivity: Number = 1) -> events.Exponential:
        """The event of a selection; `sensitivity` is a number of units: one."""
        return self.selection.event(self.sensitivity * exact.at_least("sensitivity", sensitivity))

    def release(
        self,
        value: Sequence[Integers | Sensitive[Integers]] | Sensitive[Sequence[Integers | Sensitive[Integers]]],
        entropy: Entropy | None = None,
    ) -> int:
        """The place of the selected table."""
        tables: list[Any] = [opened(table, self) for table in opened(value, self)]
        return self.selection.release(np.array(self.scores(tables), dtype=object), entropy)

    def scores(self, tables: Sequence[Integers]) -> list[int]:
        """The exact scores: functions of the data, never to be released."""
        if len(tables) != len(self.candidates):
            raise InvalidParameter("tables", len(tables), "are not as many as candidates")
        return [
            candidate.weight * (_distance(lattice.bounded("value", table), candidate.expected) - candidate.handicap)
            for table, candidate in zip(tables, self.candidates, strict=True)
        ]


def _distance(counts: BoundedIntegers, expected: npt.NDArray[np.int64]) -> int:
    return counts.mapped(np.ravel, 1).times(FINENESS).distance(expected.ravel())


class _SparseVector(Mechanism["Numeric", bool]):
    """What the two forms of the sparse vector technique share: one event for all answers, and their noise."""

    __slots__ = ()

    citation: ClassVar[str] = "Dwork, Roth: The algorithmic foundations of differential privacy, section 3.6, 2014"

    threshold: int
    epsilon: Fraction
    sensitivity: int

    def event(self, sensitivity: Number | None = None) -> events.AboveThreshold:
        """The event of all answers together."""
        step = self.sensitivity if sensitivity is None else exact.at_least("sensitivity", sensitivity)
        return events.AboveThreshold(self.epsilon * step / self.sensitivity)

    def margin(self, confidence: Number = Fraction(95, 100), *, questions: int) -> Fraction:
        """How far from the threshold values must be for none of that many answers to be wrong [DR14, theorem 3.24]."""
        miss = miss_probability(confidence)
        questions = exact.whole("questions", questions)
        continuous = 8 * self.sensitivity * exact.log_up(2 * questions / miss) / self.epsilon
        return continuous + 1  # two roundings of at most half a step each

    def _noise(self, width: int, entropy: Entropy) -> int:
        draw: Any = rounded_laplace(width * self.sensitivity / self.epsilon, 1, entropy)[0]
        return int(draw)


@final
class AboveThreshold(_SparseVector):
    """Say of one integer after another whether it is above a threshold, until the first one that is.

    Guarantee [DR14, theorem 3.23]: for values of sensitivity d, a whole number of steps, all answers together are
    ε-DP, however many there are, if they stop at the first True: the threshold is moved once by Laplace noise of
    scale 2d/ε, each value by fresh noise of scale 4d/ε. The proof shifts the threshold's noise by d and one value's
    by 2d; both noises are on the integers, where a shift by whole steps changes no probability by more than the
    factor it needs. No noisy value is ever shown, and after the first True the object refuses to answer.

    >>> alarm = AboveThreshold(threshold=100, epsilon=50)
    >>> alarm.release(3), alarm.release(197)
    (False, True)
    """

    __slots__ = ("_lock", "_noisy_threshold", "_process", "_spent", "epsilon", "sensitivity", "threshold")

    def __init__(self, threshold: Number, epsilon: Number, sensitivity: int = 1) -> None:
        self.threshold = exact.ceiling(exact.rational("threshold", threshold))
        self.epsilon = exact.spendable("epsilon", epsilon)
        self.sensitivity = exact.whole("sensitivity", sensitivity)
        self._lock = Lock()
        self._process = os.getpid()
        self._spent = False
        self._noisy_threshold: int | None = None

    @property
    def spent(self) -> bool:
        """Whether it has said True."""
        return self._spent

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> bool:
        """Whether this value, with noise, reaches the threshold with noise."""
        coins = source(entropy)
        integer = lattice.whole_numbers("value", opened(value, self))
        if integer.shape is not None:
            raise InvalidParameter("value", HIDDEN, "is not one integer", hint="ask about one value at a time")
        with self._lock:
            self._require_unspent()
            if self._noisy_threshold is None:
                self._noisy_threshold = self.threshold + self._noise(2, coins)
            above = int(integer.flat[0]) + self._noise(4, coins) >= self._noisy_threshold
            self._spent = above
            return above

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise SensitiveValue("a copy of an AboveThreshold could say True twice with the same noise")

    def _require_unspent(self) -> None:
        if self._spent:
            raise MechanismSpent(
                "this AboveThreshold has said True and may not answer again",
                hint="make a new one: it is a new charge to the budget",
            )
        if os.getpid() != self._process:
            raise MechanismSpent(
                "this AboveThreshold belongs to the process that made it, and a fork has copied its noise",
                hint="make a new one in this process: it is a new charge to the budget",
            )


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyCount(Mechanism["Integers", int]):
    """How many rows are in the chosen cells, with normal noise.

    Guarantee: a row is in one cell, so that it moves the count by at most 1, added, removed or changed; with that
    sensitivity the release is that of `Gaussian`.
    """

    chosen: Chosen
    noise: Gaussian

    citation: ClassVar[str] = "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010"

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release; `sensitivity` is the number of rows of a unit."""
        return self.noise.event(sensitivity)

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> int:
        """The noisy count."""
        count = _count(lattice.bounded("value", opened(value, self)), self.chosen)
        return int(np.asarray(self.noise.release(count, entropy))[0])


@final
@dataclass(frozen=True, slots=True)
class PaddedThreshold(_SparseVector):
    """The sparse vector technique of `AboveThreshold`, whose noisy threshold is stored under a pad between comparisons.

    Guarantee [DR14, theorem 3.23]: `drawn` moves the threshold once, by the noise of `AboveThreshold`; every comparison
    with it has fresh noise; if they stop at the first True, all of them together are ε-DP for values of sensitivity d.
    A number below a pad of 256 secret bits, each pad used once, tells nothing to whoever does not have the pad. So no
    process has to remember it, and whoever goes on compares with the very same threshold.
    """

    threshold: int
    epsilon: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact.spendable("epsilon", self.epsilon))
        object.__setattr__(self, "sensitivity", exact.whole("sensitivity", self.sensitivity))

    def drawn(self, pad: int | Sensitive[int], entropy: Entropy | None = None) -> int:
        """The threshold with its noise, under a pad. It is drawn once."""
        noisy = self.threshold + self._noise(2, source(entropy))
        return (noisy + int(opened(pad, self))) % _PADS

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> bool:
        """It compares only with a threshold that was drawn: see `is_above`."""
        raise MechanismSpent("no threshold was drawn", hint="draw one, which is charged")

    def is_above(
        self,
        value: Numeric | Sensitive[Numeric],
        under_pad: int,
        pad: int | Sensitive[int],
        entropy: Entropy | None = None,
    ) -> bool:
        """Whether a value, with fresh noise, reaches the threshold that was drawn and stored."""
        noisy = (under_pad - int(opened(pad, self))) % _PADS
        noisy -= _PADS if noisy >= _PADS // 2 else 0
        if abs(noisy) >= _MOST_NOISY:
            raise LedgerMismatch(
                "the threshold cannot be read: the secret beside the ledger's mark is another one",
                hint="put the mark's folder back, or ask for new weights",
            )
        (number,) = lattice.whole_numbers("value", opened(value, self)).flat.tolist()
        return int(number) + self._noise(4, source(entropy)) >= noisy


_PADS = 1 << 256
_MOST_NOISY = 1 << 200  # of a threshold with its noise: what is greater was read with the wrong pad


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseVectorCheck(Mechanism["Integers", bool]):
    """Whether the number of rows in the chosen cells is far from what was expected, by the sparse vector technique.

    Guarantee: |count − expected|, of a whole number that was expected, is moved by a row by at most 1; `guard`, which
    was made for that sensitivity and charged when its threshold was drawn, says whether it reaches that threshold.
    """

    chosen: Chosen
    expected: int
    guard: PaddedThreshold
    under_pad: int
    pad: int | Sensitive[int]

    citation: ClassVar[str] = "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010"

    def event(self, sensitivity: Number = 1) -> events.AboveThreshold:
        """What the guard was charged for all its answers together."""
        return self.guard.event()

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> bool:
        """Whether the guard finds the count that far from the expected one."""
        (count,) = _count(lattice.bounded("value", opened(value, self)), self.chosen).tolist()
        return self.guard.is_above(abs(count - self.expected), self.under_pad, self.pad, entropy)


def _count(counts: BoundedIntegers, chosen: Chosen) -> BoundedIntegers:
    return counts.mapped(lambda limb: limb.ravel()[chosen.ravel()].sum(keepdims=True), int(chosen.sum()))
