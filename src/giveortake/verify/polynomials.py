"""Polynomials in one unknown probability p, with fractions as coefficients, and which of two is greater."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias, final

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
        found = [Fraction(c) for c in coefficients]
        while found and not found[-1]:
            found.pop()
        self.coefficients = tuple(found)

    @property
    def degree(self) -> int:
        """The highest power; −1 for zero."""
        return len(self.coefficients) - 1

    def at(self, p: Any) -> Fraction:
        """The value at one p."""
        place, value = Fraction(p), ZERO
        for c in reversed(self.coefficients):
            value = value * place + c
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
        rest, quotient = list(self.coefficients), [ZERO] * max(0, self.degree - other.degree + 1)
        while len(rest) > other.degree and rest:
            factor, shift = rest[-1] / other.coefficients[-1], len(rest) - 1 - other.degree
            quotient[shift] = factor
            for i, c in enumerate(other.coefficients):
                rest[shift + i] -= factor * c
            rest.pop()
        return Polynomial(quotient), Polynomial(rest)

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


def _changes(chain: list[Polynomial], place: Fraction) -> int:
    signs = [value for value in (each.at(place) for each in chain) if value]
    return sum(a * b < 0 for a, b in pairwise(signs))


def _derivative(polynomial: Polynomial) -> Polynomial:
    return Polynomial(power * c for power, c in enumerate(polynomial.coefficients) if power)


def _lifted(value: Polynomial | Scalar) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial([value])


def _term(c: Fraction, power: int) -> str:
    sign, size = ("−", -c) if c < 0 else ("", c)
    unknown = "" if power == 0 else "p" if power == 1 else f"p{str(power).translate(_POWERS)}"
    return sign + (unknown if size == 1 and power else f"{size}{unknown}")
