"""Exact numbers: polynomials in an unknown probability p, and logarithms, which are rounded only to print digits."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import total_ordering
from itertools import pairwise, zip_longest
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.errors import InvalidParameter
from giveortake.exact import Number, decimal, enclosure, lower, non_negative, precision, rational, upper

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.exact import Ball


ZERO, ONE = Fraction(0), Fraction(1)
Scalar: TypeAlias = "int | Fraction"

_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@final
class Polynomial:
    """The polynomial c₀ + c₁p + c₂p² + ….

    >>> p = Polynomial([0, 1])
    >>> (1 - p) * (1 - p) + p, (p * p - 1) // (p - 1), (2 - p).at("1/2")
    (1 − p + p², 1 + p, Fraction(3, 2))
    """

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Any) -> None:
        trimmed = [Fraction(c) for c in coefficients]
        while trimmed and not trimmed[-1]:
            trimmed.pop()
        self.coefficients = tuple(trimmed)

    @property
    def degree(self) -> int:
        """The highest power; −1 for zero."""
        return len(self.coefficients) - 1

    def at(self, p: Any) -> Fraction:
        """The value at one p."""
        point, value = Fraction(p), ZERO
        for c in reversed(self.coefficients):
            value = value * point + c
        return value

    def __add__(self, other: Polynomial | Scalar) -> Polynomial:
        both = zip_longest(self.coefficients, _lifted(other).coefficients, fillvalue=ZERO)
        return Polynomial(a + b for a, b in both)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return Polynomial(-c for c in self.coefficients)

    def __sub__(self, other: Polynomial | Scalar) -> Polynomial:
        return self + -_lifted(other)

    def __rsub__(self, other: Scalar) -> Polynomial:
        return -self + other

    def __mul__(self, other: Polynomial | Scalar) -> Polynomial:
        right = _lifted(other).coefficients
        out = [ZERO] * max(0, len(self.coefficients) + len(right) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(right):
                out[i + j] += a * b
        return Polynomial(out)

    __rmul__ = __mul__

    def __divmod__(self, other: Polynomial) -> tuple[Polynomial, Polynomial]:
        remainder, quotient = list(self.coefficients), [ZERO] * max(0, self.degree - other.degree + 1)
        while len(remainder) > other.degree and remainder:
            factor, shift = remainder[-1] / other.coefficients[-1], len(remainder) - 1 - other.degree
            quotient[shift] = factor
            for i, c in enumerate(other.coefficients):
                remainder[shift + i] -= factor * c
            remainder.pop()
        return Polynomial(quotient), Polynomial(remainder)

    def __floordiv__(self, other: Polynomial) -> Polynomial:
        return divmod(self, other)[0]

    def __mod__(self, other: Polynomial) -> Polynomial:
        return divmod(self, other)[1]

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial | int | Fraction) and self.coefficients == _lifted(other).coefficients

    def __hash__(self) -> int:
        return hash(self.coefficients)

    def __repr__(self) -> str:
        words = [_term(c, power) for power, c in enumerate(self.coefficients) if c]
        return " + ".join(words).replace("+ −", "− ") or "0"


def common_divisor(a: Polynomial, b: Polynomial) -> Polynomial:
    """The greatest common divisor, with leading coefficient 1, by Euclid's algorithm."""
    while b:
        a, b = b, a % b
    return a * (1 / a.coefficients[-1]) if a else Polynomial([1])


def never_negative(polynomial: Polynomial) -> bool:
    """Whether it is at least 0 for every 0 < p < 1.

    Theorem (Sturm): the roots of a square-free polynomial in (a, b] are as many as signs change at a less at b in the
    chain of remainders. Once no two roots lie between neighbouring cuts, and none on a cut, every sign that occurs
    occurs at a cut. Factors p and 1 − p, which are positive, are taken out first so that the ends are no roots.
    """
    for factor in (Polynomial([0, 1]), Polynomial([1, -1])):
        while polynomial and not polynomial % factor:
            polynomial //= factor
    if polynomial.degree <= 0:
        return not polynomial or polynomial.coefficients[0] > 0
    free = polynomial // common_divisor(polynomial, _derivative(polynomial))
    chain = [free, _derivative(free)]
    while chain[-1]:
        chain.append(-(chain[-2] % chain[-1]))
    return all(polynomial.at(cut) > 0 for cut in [ZERO, *_cuts(chain, ZERO, ONE)])


def _cuts(chain: list[Polynomial], low: Fraction, high: Fraction) -> list[Fraction]:
    """Points from `low` to `high` that are no roots, with at most one root between neighbours."""
    if _changes(chain, low) - _changes(chain, high) <= 1:
        return [high]
    middle = (low + high) / 2
    while not chain[0].at(middle):
        middle = (low + middle) / 2
    return [*_cuts(chain, low, middle), *_cuts(chain, middle, high)]


def _changes(chain: list[Polynomial], point: Fraction) -> int:
    signs = [value for value in (polynomial.at(point) for polynomial in chain) if value]
    return sum(a * b < 0 for a, b in pairwise(signs))


def _derivative(polynomial: Polynomial) -> Polynomial:
    return Polynomial(power * c for power, c in enumerate(polynomial.coefficients) if power)


def _lifted(value: Polynomial | Scalar) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial([value])


def _term(c: Fraction, power: int) -> str:
    sign, size = ("−", -c) if c < 0 else ("", c)
    unknown = "" if power == 0 else "p" if power == 1 else f"p{str(power).translate(_POWERS)}"
    return sign + (unknown if size == 1 and power else f"{size}{unknown}")


Ratio: TypeAlias = "Fraction | float"  # a float is infinity, and nothing else

_SAME = Fraction(1, 2**150)  # sums of logarithms that agree this closely are called equal
_LOG = re.compile(r"\s*(?:ln|log)\s*\(?\s*([^()]+?)\s*\)?\s*")


class _ExactReal(ABC):
    """A number with certified bounds; with numbers of another kind it is added and multiplied as a float."""

    __slots__ = ()

    @abstractmethod
    def _ball(self) -> Ball:
        """An enclosure, narrow enough for every use here."""

    @abstractmethod
    def __float__(self) -> float: ...

    def up(self) -> Fraction:
        """A fraction that is at least this number, and hardly more: what a promise may state."""
        return upper(self._ball())

    def down(self) -> Fraction:
        """A fraction that is at most this number, and hardly less."""
        return lower(self._ball())

    def __format__(self, specification: str) -> str:
        return format(float(self), specification) if specification else repr(self)

    def __hash__(self) -> int:
        return hash(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def __add__(self, other: Any) -> Any:
        return float(self) + float(other) if isinstance(other, Real) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return float(self) - float(other) if isinstance(other, Real) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return float(other) - float(self) if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return float(self) * float(other) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return self * other


Real.register(_ExactReal)  # type: ignore[type-abstract]  # (an abstract class may be registered)


@final
@total_ordering
class Log(_ExactReal):
    """The natural logarithm of a ratio between 0 and ∞, exactly.

    It prints as `ln 3`, compares exactly with other logarithms, fractions and integers, and with floats as a float.
    Logarithms add exactly: ln 3 + ln 2 is ln 6.

    >>> Log(3), float(Log(3)), Log(3) + Log(2), 2 * Log(3), Log(3) < Log("10/3"), Log(math.inf)
    (ln 3, 1.0986122886681098, ln 6, ln 9, True, ∞)
    """

    __slots__ = ("ratio",)

    def __init__(self, ratio: Number) -> None:
        infinite = isinstance(ratio, float) and math.isinf(ratio)
        self.ratio: Ratio = math.inf if infinite else rational("ratio", ratio)
        if self.ratio < 0:
            raise InvalidParameter("ratio", ratio, "is negative and has no logarithm")

    def _ball(self) -> Ball:
        if not 0 < self.ratio < math.inf:
            raise InvalidParameter("ratio", self.ratio, "has no finite logarithm")
        exactly = Fraction(self.ratio)
        with precision(192 + exactly.numerator.bit_length() + exactly.denominator.bit_length()):
            return enclosure(exactly).log()

    def __float__(self) -> float:
        if self.ratio == 1:
            return 0.0
        if not 0 < self.ratio < math.inf:
            return -math.inf if self.ratio == 0 else math.inf
        return float(self.up())

    def __repr__(self) -> str:
        if not 0 < self.ratio < math.inf:
            return "−∞" if self.ratio == 0 else "∞"
        if self.ratio == 1:
            return "0"
        exactly = Fraction(self.ratio)
        if max(exactly.numerator, exactly.denominator) < 10**9:
            return f"ln {exactly}" if exactly.denominator == 1 else f"ln({exactly})"
        return f"ln({decimal(exactly)}…)"

    def __bool__(self) -> bool:
        return self.ratio != 1

    __hash__ = _ExactReal.__hash__

    def __eq__(self, other: object) -> bool:
        comparison = self._compared(other)
        return NotImplemented if comparison is None else comparison == 0

    def __lt__(self, other: object) -> bool:
        comparison = self._compared(other)
        return NotImplemented if comparison is None else comparison < 0

    def _compared(self, other: object) -> int | None:
        """−1, 0 or 1; None if `other` is no number."""
        if isinstance(other, Log):
            return (self.ratio > other.ratio) - (self.ratio < other.ratio)
        if isinstance(other, float):
            return (float(self) > other) - (float(self) < other)
        if isinstance(other, int | Fraction):
            if 0 < self.ratio < math.inf:
                return -compared_with_exp(self.ratio, Fraction(other))
            return -1 if self.ratio == 0 else 1
        return None

    def __add__(self, other: Any) -> Any:
        return Log(self.ratio * other.ratio) if isinstance(other, Log) else super().__add__(other)

    def __mul__(self, other: Any) -> Any:
        return Log(self.ratio**other) if isinstance(other, int) else super().__mul__(other)


@final
@total_ordering
class LogSum(_ExactReal):
    """Σ cᵢ·ln rᵢ with exact cᵢ and rᵢ, such as a Kullback–Leibler divergence.

    >>> LogSum([(Fraction(3, 4), Fraction(3)), (Fraction(1, 4), Fraction(1, 3))])
    1/2·ln 3
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Iterable[tuple[Fraction, Fraction]]) -> None:
        factors: dict[Fraction, Fraction] = {}
        for factor, ratio in terms:
            base, sign = (ratio, 1) if ratio >= 1 else (1 / ratio, -1)
            factors[base] = factors.get(base, Fraction(0)) + sign * factor
        self.terms = {ratio: factor for ratio, factor in factors.items() if factor and ratio != 1}

    def _ball(self) -> Ball:
        bits = max((ratio.denominator.bit_length() for ratio in self.terms), default=0)
        with precision(192 + 2 * bits):
            return sum((enclosure(c) * enclosure(r).log() for r, c in self.terms.items()), enclosure(0))

    def __float__(self) -> float:
        return float(self.up()) if self.terms else 0.0

    __hash__ = _ExactReal.__hash__

    def __le__(self, other: Any) -> bool:
        """Certified: true only if this is at most the other for sure."""
        if self.terms == (other.terms if isinstance(other, LogSum) else None):
            return True
        if isinstance(other, float) and not math.isfinite(other):
            return other == math.inf
        return self.up() <= (other.down() if isinstance(other, _ExactReal) else Fraction(other))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LogSum):
            return self.terms == other.terms or abs(self.up() - other.up()) < _SAME
        return float(self) == float(other) if isinstance(other, int | float | Fraction | Log) else NotImplemented

    def __repr__(self) -> str:
        if not self.terms:
            return "0"
        words = [f"{'' if times == 1 else f'{times}·'}{Log(ratio)!r}" for ratio, times in sorted(self.terms.items())]
        text = " + ".join(words).replace("+ -", "− ")
        return text if len(text) <= 80 else f"≈{float(self):.9g}"


@final
class StatedEpsilon:
    """An ε as it was asked for: ln of a rational, so that e^ε is exact, or a rational, so that e^ε is enclosed."""

    __slots__ = ("epsilon", "ratio")

    def __init__(self, epsilon: Log | Number) -> None:
        text = _LOG.fullmatch(epsilon) if isinstance(epsilon, str) else None
        if text is not None:
            epsilon = Log(rational("epsilon", text[1]))
        if isinstance(epsilon, float) and math.isinf(epsilon):
            epsilon = Log(epsilon)
        if isinstance(epsilon, Log):
            if epsilon.ratio < 1:
                raise InvalidParameter("epsilon", epsilon, "is negative")
            self.ratio: Ratio | None = epsilon.ratio
            self.epsilon: Log | Fraction = epsilon
        else:
            self.epsilon = non_negative("epsilon", epsilon)
            self.ratio = Fraction(1) if self.epsilon == 0 else None

    def between(self, bits: int = 192) -> tuple[Fraction, Fraction]:
        """Two fractions that enclose e^ε, equal if it is rational."""
        if self.ratio is not None:
            return Fraction(self.ratio), Fraction(self.ratio)
        with precision(bits):
            ball = enclosure(Fraction(self.epsilon)).exp()  # type: ignore[arg-type]  # (one of the two is there)
            return lower(ball), upper(ball)

    @property
    def infinite(self) -> bool:
        """Whether this ε allows everything."""
        return self.ratio == math.inf

    def __repr__(self) -> str:
        if isinstance(self.epsilon, Log):
            return repr(self.epsilon)
        text = decimal(self.epsilon, 12)
        return text if rational("epsilon", text) == self.epsilon else str(self.epsilon)


def compared_with_exp(ratio: Ratio, exponent: Fraction) -> int:
    """−1, 0 or 1 as e^exponent is below, equal to or above a finite positive ratio; equal only at e⁰ = 1."""
    if exponent == 0:
        return (ratio < 1) - (ratio > 1)
    bits = 64
    while True:
        with precision(bits):
            ball = enclosure(exponent).exp()
            if lower(ball) > ratio:
                return 1
            if upper(ball) < ratio:
                return -1
        bits *= 2  # e^x is irrational for rational x ≠ 0, so that this ends
