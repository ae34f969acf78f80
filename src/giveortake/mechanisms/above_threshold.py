"""The sparse vector technique: one sound variant [DR14, algorithm 1]."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, final

from giveortake import exact
from giveortake.errors import HIDDEN, InvalidParameter, MechanismSpent, SensitiveValue
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_laplace

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.mechanisms.shaped_numbers import Numeric
    from giveortake.randomness import Entropy


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
        given = shaped_numbers.whole_numbers("value", opened(value, self))
        if given.shape is not None:
            raise InvalidParameter("value", HIDDEN, "is not one integer", hint="ask about one value at a time")
        with self._lock:
            self._require_unspent()
            if self._noisy_threshold is None:
                self._noisy_threshold = self.threshold + self._noise(2, coins)
            above = int(given.flat[0]) + self._noise(4, coins) >= self._noisy_threshold
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
        drawn: Any = rounded_laplace(scale, 1, entropy)[0]
        return int(drawn)
