"""The base of all mechanisms: values that only a mechanism may open, and noise scales.

The noise scale that a promise asks for; refused if it is beyond the supported range.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, final

from giveortake.errors import InvalidParameter, SensitiveValue
from giveortake.exact import GREATEST, at_least, spendable
from giveortake.mechanisms.bounded_integers import EXACT, BoundedIntegers, PrefixStrategy
from giveortake.randomness import SYSTEM_ENTROPY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from giveortake.exact import Number
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy


Private = TypeVar("Private")
Other = TypeVar("Other")
Private_contra = TypeVar("Private_contra", contravariant=True)
Public_co = TypeVar("Public_co", covariant=True)
Value_co = TypeVar("Value_co", covariant=True)


class Mechanism(ABC, Generic[Private_contra, Public_co]):
    """A random function whose promise is a theorem.

    `event` says what a release is, for accountants; `release` runs it. A mechanism is calibrated before it sees
    data, and the event depends on its parameters alone.

    >>> from giveortake.mechanisms import Geometric
    >>> isinstance(Geometric("2"), Mechanism)
    True
    """

    __slots__ = ()

    citation: ClassVar[str]

    @abstractmethod
    def event(self, sensitivity: Number = 1) -> Event:
        """The event of one release, when one unit changes the value by at most `sensitivity`."""

    @abstractmethod
    def release(self, value: Private_contra | Sensitive[Private_contra], entropy: Entropy | None = None) -> Public_co:
        """Draw from the mechanism; `entropy` is the operating system's unless a test passes another source."""


@final
class Sensitive(Generic[Value_co]):
    """A value that prints as `<sensitive>` and opens for a mechanism only: a guard against accidents, not malice.

    Its methods compute what may be computed from it, and the results stay sensitive. No caller ever sees the value.

    >>> Sensitive(5)
    <sensitive>
    """

    __slots__ = ("_hidden",)

    def __init__(self, value: Value_co) -> None:
        self._hidden = value

    def open(self, mechanism: Mechanism[Any, Any]) -> Value_co:
        """The value itself, for a mechanism that is about to protect it."""
        if not isinstance(mechanism, Mechanism):
            raise SensitiveValue(
                f"a {type(mechanism).__name__} may not look inside a sensitive value",
                hint="hand it to a mechanism's release",
            )
        return self._hidden

    def item(self: Sensitive[list[Other]], index: int) -> Sensitive[Other]:
        """One of the values in a list, whose length is no secret; sensitive as before."""
        if not isinstance(self._hidden, list):
            raise SensitiveValue("only a list of sensitive values has items")
        return Sensitive(self._hidden[index])

    def part(self: Sensitive[BoundedIntegers], start: int, end: int) -> Sensitive[BoundedIntegers]:
        """Some places of an array, whose length is no secret; sensitive as before."""
        return Sensitive(_integers(self._hidden)[start:end])

    def through(self: Sensitive[BoundedIntegers], strategy: PrefixStrategy) -> Sensitive[BoundedIntegers]:
        """An array of bins times the matrix of a strategy for running totals, sensitive as before."""
        if not isinstance(strategy, PrefixStrategy):
            raise SensitiveValue(f"a {type(strategy).__name__} may not look inside a sensitive value")
        return Sensitive(_integers(self._hidden).mapped(strategy.transform, strategy.growth, EXACT))

    def summed(
        self: Sensitive[BoundedIntegers], sizes: Sequence[int], axes: Sequence[int]
    ) -> Sensitive[BoundedIntegers]:
        """A table of `sizes` summed over all axes but those kept, in their order; flat, and sensitive as before."""
        return Sensitive(_integers(self._hidden).summed(sizes, axes))

    def __repr__(self) -> str:
        return "<sensitive>"

    __str__ = __repr__

    def __format__(self, _specification: str) -> str:
        return "<sensitive>"

    def __bool__(self) -> NoReturn:
        raise SensitiveValue("a sensitive value may not decide what happens next")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise SensitiveValue("a sensitive value may not be copied or stored")


def _integers(hidden: object) -> BoundedIntegers:
    if not isinstance(hidden, BoundedIntegers):
        raise SensitiveValue("only an array of integers with a bound has parts and sums")
    return hidden


def opened(value: Private | Sensitive[Private], mechanism: Mechanism[Any, Any]) -> Private:
    """The value itself, unwrapped if it is `Sensitive`."""
    return value.open(mechanism) if isinstance(value, Sensitive) else value


def source(entropy: Entropy | None) -> Entropy:
    """The source given, or the operating system's."""
    return SYSTEM_ENTROPY if entropy is None else entropy


def scale_for(sensitivity: Number, epsilon: Number, *, factor: int = 1) -> Fraction:
    """Sensitivity / ε, times `factor`; refused if it is beyond the supported range."""
    scale = factor * at_least("sensitivity", sensitivity) / spendable("epsilon", epsilon)
    if scale > GREATEST:
        raise InvalidParameter(
            "epsilon", epsilon, "asks for noise beyond the supported range", hint="ask for more epsilon"
        )
    return scale
