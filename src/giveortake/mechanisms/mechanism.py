"""The base of all mechanisms: values that only a mechanism may open, and the exact integers in them.

Nothing about an exact value may decide how it is computed: neither a type, nor a path, nor a failure. So magnitudes of
`BoundedIntegers` are bounded by the question alone: the greatest value of a row, times rows, times cells. The number of
rows is the public constant `MOST_ROWS`, at which sums saturate, and never the true one.

A `PrefixStrategy` adds up bins of integers x: B·x is released with noise, where B is a public matrix of whole numbers
that are not negative, and every running total of x is estimated from that. The estimate is post-processing; only B has
a price.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeAlias, TypeVar, final

import numpy as np

from giveortake.errors import InvalidParameter, SensitiveValue
from giveortake.exact import GREATEST, at_least, spendable
from giveortake.randomness import SYSTEM_ENTROPY, narrowed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]
    Words: TypeAlias = npt.NDArray[np.int64]


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


EXACT = 2**53  # whole numbers below it, and their sums below it, are exact in doubles in any order


class PrefixStrategy(ABC):
    """A matrix B over `size` bins, and unbiased running totals from B·x + noise.

    Guarantee: let one unit put whole numbers that are not negative, and are c in total, into the bins of one key. It
    moves every section of B·x by at most c·`l1` in L1 and c·`l2` in L2, because B·u is a sum of c columns of B and
    norms are convex (the bound is reached where all lie in the bin of the longest column; that several columns were
    at right angles, so that √c would do, is false: they are not negative). If a unit is changed, B·u₁ − B·u₂ has no
    more than √(‖B·u₁‖² + ‖B·u₂‖²) in L2, because the inner product of two such vectors is not negative.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bins there are."""

    @property
    @abstractmethod
    def fineness(self) -> int:
        """How much one value counts in the released integer that is nearest to its bin."""

    @property
    @abstractmethod
    def sections(self) -> tuple[int, ...]:
        """How many integers each part of B·x has; each part gets noise of its own price."""

    @property
    @abstractmethod
    def l1(self) -> Fraction:
        """The greatest L1 norm of a column, in any section."""

    @property
    @abstractmethod
    def l2(self) -> Fraction:
        """The greatest L2 norm of a column, in any section, rounded up."""

    @property
    @abstractmethod
    def growth(self) -> int:
        """The greatest sum of a row of B: no integer of B·x is farther from zero than that times the greatest of x."""

    @abstractmethod
    def transform(self, bins: Integers) -> Integers:
        """B·x for every row x of an array, exactly where it is below `EXACT`."""

    @abstractmethod
    def running_totals(self, released: Floats) -> Floats:
        """Unbiased running totals for every row of released integers: `size` + 1 of them, the first is zero.

        It is linear in what was released, and exact if there was no noise.
        """

    def weights(self) -> Floats:
        """How much every released integer (columns) counts in every running total (rows)."""
        return np.ascontiguousarray(self.running_totals(np.eye(sum(self.sections))).T)


MOST_ROWS = 1 << 37  # 137 billion: running totals of that many rows over 1,024 bins stay below 2⁵³, exact in doubles
_LIMB = 32  # bits of every limb but the highest
_MASK = (1 << _LIMB) - 1
_WORD = 1 << 62  # what a word holds, with room for one addition
_HIGHEST = 1 << 40  # what the highest limb is made to hold, with room for a sum over a million cells


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundedIntegers:
    """An array of whole numbers, none of them farther from zero than `bound`, whatever the rows.

    They are stored in limbs of 64 bits: x = Σ limbs[i]·2^(32·i), no limb farther from zero than `reach`. How many limbs
    there are is decided by bounds; below 2⁶² there is one.

    Guarantee: no sum wraps, and none fails or takes another path because of a row: a linear map of x is the same map of
    every limb, and it is applied only where the bounds show that no limb leaves 64 bits. `clamped` moves what is beyond
    the bound to it. |clamp(a) − clamp(b)| ≤ |a − b| in every coordinate, so that all sensitivities, in L1 and in L2,
    are what they were. ∎

    >>> BoundedIntegers.clamped([2**62, 2**62, -(2**70)], bound=2**65).summed((3,), ()).tolist()
    [-27670116110564327424]
    """

    limbs: tuple[Words, ...]
    bound: int
    reach: int

    @classmethod
    def clamped(cls, values: Sequence[int] | IntArray, bound: int) -> BoundedIntegers:
        """Whole numbers, moved into ±`bound`."""
        if isinstance(values, np.ndarray) and values.dtype != object:
            words = values.astype(np.int64, copy=False)
            if bound >> 63:
                return cls((words,), bound, 1 << 63)
            return cls((np.clip(words, -bound, bound),), bound, bound)
        shape = values.shape if isinstance(values, np.ndarray) else (len(values),)
        listed: list[int] = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        inside = [bound if number > bound else max(number, -bound) for number in listed]
        if bound < _WORD:
            return cls((np.array(inside, dtype=np.int64).reshape(shape),), bound, bound)
        count = bound.bit_length() // _LIMB + 1
        raw = b"".join([number.to_bytes(_LIMB // 8 * count, "little", signed=True) for number in inside])
        *lower, highest = np.frombuffer(raw, dtype="<i4").astype(np.int64).reshape(-1, count).T
        limbs = [limb & _MASK for limb in lower]
        if bound >> (_LIMB * (count - 2)) < _HIGHEST:
            highest = (highest << _LIMB) + limbs.pop()
        limbs.append(highest)
        return cls(tuple(limb.reshape(shape) for limb in limbs), bound, _HIGHEST)

    @classmethod
    def public(cls, values: IntArray) -> BoundedIntegers:
        """Whole numbers that may decide their own bound: noise, or those of a caller who knows what they tell."""
        bound = max(-int(values.min()), int(values.max()), 0) if values.size else 0
        if values.dtype == np.int64:  # nothing is beyond it
            return cls((values,), bound, bound)
        return cls.clamped(values, bound)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array, which is no secret."""
        return self.limbs[0].shape

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.limbs[0].size

    def __len__(self) -> int:
        return len(self.limbs[0])

    def __getitem__(self, part: slice) -> BoundedIntegers:
        return BoundedIntegers(tuple(limb[part] for limb in self.limbs), self.bound, self.reach)

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def mapped(self, linear: Callable[[Words], Any], growth: int, room: int = _WORD) -> BoundedIntegers:
        """A linear map with whole coefficients, whose magnitudes add up to `growth` at most for every result.

        `linear` computes it exactly for words, as long as results are below `room`.
        """
        growth = max(growth, 1)
        ready = self.carried(growth, room)
        limbs = tuple(np.asarray(linear(limb)) for limb in ready.limbs)
        return BoundedIntegers(limbs, self.bound * growth, ready.reach * growth)

    def summed(self, sizes: Sequence[int], axes: Sequence[int]) -> BoundedIntegers:
        """A table of `sizes` summed over all axes but those kept, in their order; flat."""
        summed_axes = tuple(axis for axis in range(len(sizes)) if axis not in axes)
        sorted_axes = sorted(axes)
        order = [sorted_axes.index(axis) for axis in axes]

        def total(limb: Words) -> Words:
            return np.asarray(limb.reshape(tuple(sizes)).sum(axis=summed_axes)).transpose(order).reshape(-1)

        return self.mapped(total, prod(sizes[axis] for axis in summed_axes))

    def placed(self, places: Any, shape: tuple[int, ...]) -> BoundedIntegers:
        """An array of zeros with these integers at their places."""

        def spread(limb: Words) -> Words:
            array = np.zeros(shape, dtype=np.int64)
            array[places] = limb
            return array

        return self.mapped(spread, 1)

    def times(self, factor: int) -> BoundedIntegers:
        """Every integer times a factor."""
        return self.mapped(lambda limb: limb * factor, abs(factor))

    def plus(self, other: BoundedIntegers | IntArray) -> BoundedIntegers:
        """The sum with as many other integers; an array of them is public, as noise is."""
        bounded = other if isinstance(other, BoundedIntegers) else BoundedIntegers.public(other)
        one, two = self.carried(2), bounded.carried(2)
        limbs = tuple(np.asarray(a + b) for a, b in zip_longest(one.limbs, two.limbs, fillvalue=0))
        return BoundedIntegers(limbs, one.bound + two.bound, one.reach + two.reach)

    def distance(self, expected: Words) -> int:
        """The sum of the distances from public integers."""
        apart = self.plus(-expected)
        if len(apart.limbs) > 1:
            return sum(abs(difference) for difference in apart.tolist())
        (words,) = (np.abs(limb) for limb in apart.limbs)
        return (int((words >> _LIMB).sum()) << _LIMB) + int((words & _MASK).sum())

    # -- leaving --------------------------------------------------------------------------------------------------

    def tolist(self) -> list[Any]:
        """Python's integers, which have no size."""
        if len(self.limbs) == 1:
            return list(self.limbs[0].tolist())
        parts = [limb.astype(object) << (_LIMB * index) for index, limb in enumerate(self.limbs)]
        return list(np.asarray(sum(parts[1:], start=parts[0])).tolist())

    def released(self) -> IntArray:
        """The integers as an array, once they are no secret: int64 if every one of them fits, by their own size."""
        ready = self if len(self.limbs) == 1 else self.carried(1, 1 << _LIMB)
        array: IntArray = ready.limbs[-1]
        for limb in reversed(ready.limbs[:-1]):
            if array.dtype != object and not _is_within(array, 1 << (_LIMB - 2)):
                array = array.astype(object)
            array = (array << _LIMB) + limb
        return narrowed(array)

    def carried(self, growth: int, room: int = _WORD) -> BoundedIntegers:
        """The same integers in limbs that stay below `room` where they grow: the carry of every limb is moved on."""
        if self.reach * growth < room:
            return self
        carry: Any = 0
        limbs: list[Words] = []
        for limb in self.limbs:
            total = limb + carry
            limbs.append(total & _MASK)
            carry = total >> _LIMB
        highest = (self.bound >> (_LIMB * len(limbs))) + 1
        integers = BoundedIntegers((*limbs, carry), self.bound, max(_MASK, highest))
        if _MASK * growth >= room:
            raise OverflowError(f"no limb has room to grow by {growth:,}")
        return integers.carried(growth, room)


def _is_within(words: Words, end: int) -> bool:
    return words.size == 0 or bool(words.min() >= -end and words.max() < end)
