"""The sparse vector technique, and counts of cells compared with an expectation by it.

- The sparse vector technique: one sound variant [DR14, algorithm 1].
- Counts of chosen cells of a table: with noise, or compared with what somebody expects of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import HIDDEN, InvalidParameter, MechanismSpent, SensitiveValue
from giveortake.mechanisms import lattice
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_laplace

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.additive import Gaussian
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.mechanisms.lattice import Numeric
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]
    Chosen: TypeAlias = npt.NDArray[np.bool_]


@final
class AboveThreshold(Mechanism["Numeric", bool]):
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

    citation: ClassVar[str] = "Dwork, Roth: The algorithmic foundations of differential privacy, section 3.6, 2014"

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

    def event(self, sensitivity: Number | None = None) -> events.AboveThreshold:
        """The event of all answers together."""
        step = self.sensitivity if sensitivity is None else exact.at_least("sensitivity", sensitivity)
        return events.AboveThreshold(self.epsilon * step / self.sensitivity)

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

    def margin(self, confidence: Number = Fraction(95, 100), *, questions: int) -> Fraction:
        """How far from the threshold values must be for none of that many answers to be wrong [DR14, theorem 3.24]."""
        miss = miss_probability(confidence)
        questions = exact.whole("questions", questions)
        continuous = 8 * self.sensitivity * exact.log_up(2 * questions / miss) / self.epsilon
        return continuous + 1  # two roundings of at most half a step each

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

    def _noise(self, width: int, entropy: Entropy) -> int:
        scale = width * self.sensitivity / self.epsilon
        draw: Any = rounded_laplace(scale, 1, entropy)[0]
        return int(draw)


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
@dataclass(frozen=True, slots=True, eq=False)
class SparseVectorCheck(Mechanism["Integers", bool]):
    """Whether the number of rows in the chosen cells is far from what was expected, by the sparse vector technique.

    Guarantee: |count − expected|, of a whole number that was expected, is moved by a row by at most 1; `guard`, which
    was made for that sensitivity and charged when it was made, says whether it reaches its threshold.
    """

    chosen: Chosen
    expected: int
    guard: AboveThreshold

    citation: ClassVar[str] = "Hardt, Rothblum: A multiplicative weights mechanism, FOCS 2010"

    def event(self, sensitivity: Number = 1) -> events.AboveThreshold:
        """What the guard was charged for all its answers together."""
        return self.guard.event()

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> bool:
        """Whether the guard finds the count that far from the expected one."""
        (count,) = _count(lattice.bounded("value", opened(value, self)), self.chosen).tolist()
        return self.guard.release(abs(count - self.expected), entropy)


def _count(counts: BoundedIntegers, chosen: Chosen) -> BoundedIntegers:
    return counts.mapped(lambda limb: limb.ravel()[chosen.ravel()].sum(keepdims=True), int(chosen.sum()))
