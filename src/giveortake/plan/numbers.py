"""Domains of arithmetic: bounds of numbers from bounds of numbers, rounded outwards."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from giveortake.errors import QueryRefused
from giveortake.plan.expressions import (
    SAFE_INTEGER,
    Bound,
    Domain,
    Kind,
    any_nullable,
    is_int,
    literal_number,
    number_arguments,
    number_between,
)
from giveortake.plan.times import MOMENTS, difference, in_days, moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.expressions import Call


Rule: TypeAlias = "Callable[[Call, list[Domain]], Domain]"

_MOST_BUCKETS = 10_000
_WIDEST_DECIMAL = 10**9  # width of buckets that has decimals: engines multiply 18 digits, nine of them decimals
_INT64 = 1 << 63
_LARGEST_EXPONENT = 700
_LARGEST_POWER = 2**1000  # far below the greatest double
MOST_POWER = 32
MOST_DIGITS = 9


def add(call: Call, domains: list[Domain]) -> Domain:
    """The sum a + b, also of a day and a number of days."""
    dated = in_days(call, domains)
    if dated is not None:
        return moved(dated, [domains[0] if domains[0].kind in MOMENTS else domains[1]])
    return _total(call, domains)


def _total(call: Call, domains: list[Domain]) -> Domain:
    a, b = number_arguments(call, domains)
    low = None if a.low is None or b.low is None else a.low + b.low
    high = None if a.high is None or b.high is None else a.high + b.high
    return number_between(
        low, high, nullable=any_nullable(domains) or low is None or high is None, integer=is_int(a) and is_int(b)
    )


def subtract(call: Call, domains: list[Domain]) -> Domain:
    """The difference a − b, also of a day and a number of days, or of two days."""
    dated = in_days(call, domains)
    if dated is not None and dated.name == "date_diff":
        return difference(dated, [domains[0], *reversed(domains)])
    if dated is not None:
        return moved(dated, domains)
    a, b = number_arguments(call, domains)
    return _total(call, [a, replace(b, low=_minus(b.high), high=_minus(b.low))])


def _minus(bound: Bound) -> Bound:
    return None if bound is None else -bound


def multiply(call: Call, domains: list[Domain]) -> Domain:
    """The product a · b."""
    a, b = number_arguments(call, domains)
    if not (a.is_bounded and b.is_bounded):
        return Domain(Kind.REAL, nullable=True)
    corners = [x * y for x in a.ends() for y in b.ends()]
    return number_between(min(corners), max(corners), nullable=any_nullable(domains), integer=is_int(a) and is_int(b))


def divide(call: Call, domains: list[Domain]) -> Domain:
    """The quotient a / b, missing where b is zero."""
    a, b = number_arguments(call, domains)
    if not (a.is_bounded and b.is_bounded) or b.low <= 0 <= b.high:  # type: ignore[operator]  # (it is bounded)
        return Domain(Kind.REAL, nullable=True)
    corners = [x / y for x in a.ends() for y in b.ends()]
    return number_between(min(corners), max(corners), nullable=any_nullable(domains))


def modulo(call: Call, domains: list[Domain]) -> Domain:
    """The remainder of whole numbers."""
    a, b = number_arguments(call, domains)
    if not is_int(a) or not is_int(b):
        raise QueryRefused("the remainder % is for whole numbers with bounds", hint="FLOOR(x) and CLAMP give both")
    (low, high), (least, greatest) = a.ends(), b.ends()
    most = max(abs(least), abs(greatest)) - 1
    nullable = any_nullable(domains) or least <= 0 <= greatest
    zero = Fraction(0)
    return Domain(Kind.INTEGER, min(max(low, -most), zero), max(min(high, most), zero), nullable=nullable)


def power(call: Call, domains: list[Domain]) -> Domain:
    """A power with a literal exponent, missing where it is not defined.

    Whole powers are products, which engines round alike; each factor may move a bound by as much as one operation.
    """
    number_arguments(call, domains)
    exponent, a = _exponent(call), domains[0]
    missing = a.nullable or ((exponent < 0 or exponent.denominator != 1) and (a.low is None or a.low <= 0))
    if exponent.denominator != 1:
        return _root_or_power(a, exponent, nullable=missing)
    if not a.is_bounded or (exponent < 0 and a.low <= 0 <= a.high):  # type: ignore[operator]  # (it is bounded)
        return Domain(Kind.REAL, nullable=True)
    low, high = a.ends()
    corners = [end ** int(exponent) for end in (low, high)]
    if exponent > 0 and exponent % 2 == 0 and low <= 0 <= high:
        corners.append(Fraction(0))
    if max(map(abs, corners)) > _LARGEST_POWER:
        return Domain(Kind.REAL, nullable=True)
    if is_int(a) and exponent >= 0:
        whole = number_between(min(corners), max(corners), nullable=missing, integer=True)
        if whole.kind is Kind.INTEGER:
            return whole
    slack = Fraction(int(abs(exponent)) + 1, 2**50)
    return Domain(
        Kind.REAL,
        min(corners) - abs(min(corners)) * slack,
        max(corners) + abs(max(corners)) * slack,
        nullable=missing,
    )


def _exponent(call: Call) -> Fraction:
    try:
        exponent = literal_number(call, 1)
    except QueryRefused as refusal:
        raise QueryRefused(refusal.message, hint="EXP(y * LN(x)) is a power of another column") from None
    if abs(exponent) > MOST_POWER:
        raise QueryRefused(f"POWER takes exponents up to {MOST_POWER}", hint="EXP(y * LN(x))")
    return exponent


def _root_or_power(a: Domain, exponent: Fraction, *, nullable: bool) -> Domain:
    """The power e^(exponent · ln a), with bounds computed in doubles and widened."""
    zero = Fraction(0)
    if a.high is None or (exponent < 0 and (a.low is None or a.low <= 0)):
        return Domain(Kind.REAL, zero, nullable=True)
    ends = [max(zero, zero if a.low is None else a.low), max(zero, a.high)]
    logs = [float(exponent) * math.log(end) for end in ends if end > 0]
    if any(log > _LARGEST_EXPONENT for log in logs):
        return Domain(Kind.REAL, zero, nullable=True)
    powers = [math.exp(log) for log in logs] or [0.0]
    low = zero if len(logs) < 2 else max(zero, _float_bound(min(powers), up=False))
    return Domain(Kind.REAL, low, _float_bound(max(powers), up=True), nullable=nullable)


def sign(call: Call, domains: list[Domain]) -> Domain:
    """The sign of a: −1, 0 or 1."""
    (a,) = number_arguments(call, domains)
    low = -1 if a.low is None else _sign(a.low)
    high = 1 if a.high is None else _sign(a.high)
    return Domain(Kind.INTEGER, Fraction(low), Fraction(high), nullable=a.nullable)


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def negate(call: Call, domains: list[Domain]) -> Domain:
    """−a."""
    (a,) = number_arguments(call, domains)
    return number_between(_minus(a.high), _minus(a.low), nullable=a.nullable, integer=is_int(a))


def absolute(call: Call, domains: list[Domain]) -> Domain:
    """|a|."""
    (a,) = number_arguments(call, domains)
    if not a.is_bounded:
        return Domain(Kind.REAL, low=Fraction(0), nullable=True)
    low, high = a.ends()
    inside = low <= 0 <= high
    ends = sorted([abs(low), abs(high)])
    return number_between(Fraction(0) if inside else ends[0], ends[1], nullable=a.nullable, integer=is_int(a))


def rounded(rounding: Callable[[Fraction], int]) -> Rule:
    """The rule for rounding a number to a whole one by the given function."""

    def rule(call: Call, domains: list[Domain]) -> Domain:
        (a,) = number_arguments(call, domains)
        if not a.is_bounded:
            raise QueryRefused(
                f"{call.name.upper()} needs a bounded number", hint="narrow it first: CLAMP(x, lower, upper)"
            )
        low, high = a.ends()
        if max(abs(low), abs(high)) > SAFE_INTEGER:
            raise QueryRefused(f"{call.name.upper()} needs numbers below 2^53", hint="CLAMP(x, lower, upper)")
        return Domain(Kind.INTEGER, Fraction(rounding(low)), Fraction(rounding(high)), nullable=a.nullable)

    return rule


def rounded_to_digits(call: Call, domains: list[Domain]) -> Domain:
    """A number rounded to whole ones, or to digits after the point (before it, if negative)."""
    if len(call.arguments) == 1:
        return rounded(half_up)(call, domains)
    number_arguments(call, domains)
    digits, a = literal_number(call, 1), domains[0]
    if digits.denominator != 1 or abs(digits) > MOST_DIGITS:
        raise QueryRefused(f"ROUND takes up to {MOST_DIGITS} digits", hint="ROUND(x, 2)")
    step = Fraction(10) ** -int(digits)
    low = None if a.low is None else math.floor(a.low / step) * step  # a product of doubles may miss a half
    high = None if a.high is None else math.ceil(a.high / step) * step
    return number_between(low, high, nullable=a.nullable, integer=digits <= 0 and is_int(a))


def half_up(number: Fraction) -> int:
    """The nearest whole number, halves upwards."""
    return math.floor(number + Fraction(1, 2))


def square_root(call: Call, domains: list[Domain]) -> Domain:
    """√a, missing below zero."""
    (a,) = number_arguments(call, domains)
    high = None if a.high is None else Fraction(math.isqrt(math.ceil(max(a.high, Fraction(0)))) + 1)
    return Domain(Kind.REAL, Fraction(0), high, nullable=a.nullable or a.low is None or a.low < 0)


def logarithm(call: Call, domains: list[Domain]) -> Domain:
    """The natural logarithm, missing for a ≤ 0."""
    (a,) = number_arguments(call, domains)
    if a.low is None or a.high is None or a.low <= 0:
        return Domain(Kind.REAL, nullable=True)
    return Domain(
        Kind.REAL, _float_bound(math.log(a.low), up=False), _float_bound(math.log(a.high), up=True), nullable=a.nullable
    )


def exponential(call: Call, domains: list[Domain]) -> Domain:
    """e^a."""
    (a,) = number_arguments(call, domains)
    if a.low is None or a.high is None or a.high > _LARGEST_EXPONENT:
        return Domain(Kind.REAL, low=Fraction(0), nullable=True)
    low = (
        _float_bound(math.exp(max(a.low, Fraction(-_LARGEST_EXPONENT))), up=False)
        if a.low > -_LARGEST_EXPONENT
        else Fraction(0)
    )
    return Domain(Kind.REAL, max(Fraction(0), low), _float_bound(math.exp(a.high), up=True), nullable=a.nullable)


def _float_bound(number: float, *, up: bool) -> Fraction:
    """A bound widened by a millionth: far more than the libraries of engines differ by."""
    exact = Fraction(number)
    slack = abs(exact) / 10**6 + Fraction(1, 10**9)
    return exact + slack if up else exact - slack


def clamp(call: Call, domains: list[Domain]) -> Domain:
    """A number clamped to two literal bounds, which narrow its domain."""
    number_arguments(call, domains)
    low, high = literal_number(call, 1), literal_number(call, 2)
    if low > high:
        raise QueryRefused(
            "CLAMP has its lower bound above its upper one", hint="CLAMP(x, 0, 100): the lower one is first"
        )
    a = domains[0]
    whole = a.kind is Kind.INTEGER and low.denominator == 1 == high.denominator
    new_low = low if a.low is None else min(max(a.low, low), high)
    new_high = high if a.high is None else max(min(a.high, high), low)
    if whole:
        return replace(a, low=new_low, high=new_high, categories=None)
    return Domain(Kind.REAL, new_low, new_high, nullable=a.nullable)


def extreme(pick: Callable[[Fraction, Fraction], Fraction]) -> Rule:
    """The least or the greatest of several."""

    def rule(call: Call, domains: list[Domain]) -> Domain:
        number_arguments(call, domains)
        if not all(domain.is_bounded for domain in domains):
            return Domain(Kind.REAL, nullable=True)
        low, high = domains[0].ends()
        for domain in domains[1:]:
            least, greatest = domain.ends()
            low, high = pick(low, least), pick(high, greatest)
        return number_between(
            low, high, nullable=any_nullable(domains), integer=all(is_int(domain) for domain in domains)
        )

    return rule


def bucket(call: Call, domains: list[Domain]) -> Domain:
    """The lower edge of the bucket that a bounded number falls into."""
    number_arguments(call, domains)
    width, a = literal_number(call, 1), domains[0]
    if width <= 0:
        raise QueryRefused("BUCKET needs a positive width")
    if not a.is_bounded:
        raise QueryRefused("BUCKET needs a bounded number", hint="BUCKET(CLAMP(x, lower, upper), width)")
    if 10**9 % width.denominator:
        raise QueryRefused("BUCKET needs a width with at most nine decimals")
    first, last = (math.floor(end / width) for end in a.ends())
    if max(abs(first), abs(last)) > SAFE_INTEGER:
        raise QueryRefused("BUCKET needs a width of at least 2^-53 of the bounds", hint="take a greater width")
    if last - first >= _MOST_BUCKETS:
        raise QueryRefused(f"BUCKET makes more than {_MOST_BUCKETS:,} buckets", hint="take a greater width")
    edges = [width * index for index in range(first, last + 1)]
    whole = width.denominator == 1
    if max(abs(edges[0]), abs(edges[-1])) >= _INT64 or (not whole and width >= _WIDEST_DECIMAL):
        raise QueryRefused(
            "BUCKET makes edges beyond 64 bits, or has a width above a billion with decimals",
            hint="take a width whose multiples stay below 2^63: BUCKET(CLAMP(x, lower, upper), width)",
        )
    return Domain(
        Kind.INTEGER if whole else Kind.DECIMAL,
        edges[0],
        edges[-1],
        (*(edge.numerator if whole else edge for edge in edges), *((None,) if a.nullable else ())),
        nullable=a.nullable,
        step=None if whole else width,
    )
