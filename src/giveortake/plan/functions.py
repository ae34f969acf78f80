"""The functions that a question may use, each with the domain of its result.

Guarantee: the domain of a call contains its value on every row whose columns keep their domains, so bounds that are
derived here may be used as sensitivities; what they are used for is clamped to them once more all the same. Every
function is total: where mathematics has no answer (division by zero, the logarithm of nothing, a text that is no
date) the value is missing.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.errors import QueryRefused
from giveortake.plan.domains import MOST_CHARACTERS, Domain, Kind, Value
from giveortake.plan.expressions import Call, Literal, is_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.expressions import Expression
    from giveortake.plan.tables import Schema

Rule: TypeAlias = "Callable[[Call, list[Domain]], Domain]"
Bound: TypeAlias = "Fraction | None"

_MOST_BUCKETS = 10_000
_SAFE_INTEGER = Fraction(2**53)  # whole numbers up to here are exact in arithmetic, which is done in doubles
_LARGEST_EXPONENT = 700


@final
@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, and the domain of its value."""

    least: int
    most: int | None
    rule: Rule


def domain_of_call(call: Call, schema: Schema) -> Domain:
    """The domain of a function's value, or a refusal."""
    function = FUNCTIONS.get(call.name)
    if function is None:
        raise QueryRefused(f"the function {call.name.upper()} is not available", hint=available())
    count = len(call.arguments)
    if count < function.least or (function.most is not None and count > function.most):
        raise QueryRefused(f"{call.name.upper()} does not take {count} argument{'s' if count != 1 else ''}")
    return function.rule(call, [argument.domain(schema) for argument in call.arguments])


def available() -> str:
    """The functions that there are, for hints."""
    return "available: " + ", ".join(sorted(name.upper() for name in FUNCTIONS if name not in _WRITTEN_OTHERWISE))


_CSV = "a column of a CSV file is text until its domain is declared; CAST(x AS DATE) or CAST(x AS DOUBLE) convert"
_WRITTEN_OTHERWISE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "modulo",
        "negate",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "in",
        "and",
        "or",
        "not",
        "is_null",
        "case",
        "to_real",
        "to_integer",
        "to_text",
        "to_date",
    ]
)


# -- checks ---------------------------------------------------------------------------------------------------------


def _numbers(call: Call, domains: list[Domain]) -> list[Domain]:
    for argument, domain in zip(call.arguments, domains, strict=True):
        if not domain.kind.is_number and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs numbers, and got a {domain.kind} value",
                hint="convert it: CAST(x AS DOUBLE), or CASE WHEN x THEN 1 ELSE 0 END",
            )
    return domains


def _kinds(call: Call, domains: list[Domain], *kinds: Kind) -> list[Domain]:
    for argument, domain in zip(call.arguments, domains, strict=True):
        if domain.kind not in kinds and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs {' or '.join(kinds)} values, and got {domain.kind} values",
                hint=_CSV if domain.kind is Kind.TEXT else None,
            )
    return domains


def _require_written(call: Call) -> None:
    """Refuse a function of NULL itself where engines do not know which of several functions is meant."""
    if any(map(is_missing, call.arguments)):
        raise QueryRefused(f"{call.name.upper()}(NULL) is always missing", hint="write NULL")


def _literal_number(call: Call, position: int) -> Fraction:
    value = call.arguments[position].value if isinstance(call.arguments[position], Literal) else None  # type: ignore[attr-defined]
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise QueryRefused(f"{call.name.upper()} needs a number as its argument {position + 1}, written out")


def _literal_text(call: Call, position: int) -> str:
    argument = call.arguments[position]
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value
    raise QueryRefused(f"{call.name.upper()} needs a text as its argument {position + 1}, written out")


def _nullable(domains: list[Domain]) -> bool:
    return any(domain.nullable for domain in domains)


def _is_int(domain: Domain) -> bool:
    """Whole numbers that double arithmetic keeps whole."""
    return domain.kind is Kind.INTEGER and domain.is_bounded


def _real(low: Bound, high: Bound, *, nullable: bool, integer: bool = False) -> Domain:
    if integer and low is not None and high is not None and max(abs(low), abs(high)) <= _SAFE_INTEGER:
        return Domain(Kind.INTEGER, low, high, nullable=nullable)
    return Domain(Kind.REAL, _outwards(low, up=False), _outwards(high, up=True), nullable=nullable)


def _outwards(bound: Bound, *, up: bool) -> Bound:
    """A bound moved by more than the rounding of one operation on doubles."""
    if bound is None or bound == 0:
        return bound
    slack = abs(bound) / 2**50
    return bound + slack if up else bound - slack


# -- arithmetic -----------------------------------------------------------------------------------------------------


def _add(call: Call, domains: list[Domain]) -> Domain:
    a, b = _numbers(call, domains)
    low = None if a.low is None or b.low is None else a.low + b.low
    high = None if a.high is None or b.high is None else a.high + b.high
    return _real(
        low, high, nullable=_nullable(domains) or low is None or high is None, integer=_is_int(a) and _is_int(b)
    )


def _subtract(call: Call, domains: list[Domain]) -> Domain:
    a, b = _numbers(call, domains)
    return _add(call, [a, replace(b, low=_minus(b.high), high=_minus(b.low))])


def _minus(bound: Bound) -> Bound:
    return None if bound is None else -bound


def _multiply(call: Call, domains: list[Domain]) -> Domain:
    a, b = _numbers(call, domains)
    if not (a.is_bounded and b.is_bounded):
        return Domain(Kind.REAL, nullable=True)
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
    return _real(min(corners), max(corners), nullable=_nullable(domains), integer=_is_int(a) and _is_int(b))


def _divide(call: Call, domains: list[Domain]) -> Domain:
    a, b = _numbers(call, domains)
    if not (a.is_bounded and b.is_bounded) or b.low <= 0 <= b.high:  # type: ignore[operator]
        return Domain(Kind.REAL, nullable=True)
    corners = [x / y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
    return _real(min(corners), max(corners), nullable=_nullable(domains))


def _modulo(call: Call, domains: list[Domain]) -> Domain:
    a, b = _numbers(call, domains)
    if not _is_int(a) or not _is_int(b):
        raise QueryRefused("the remainder % is for whole numbers with bounds", hint="FLOOR(x) and CLAMP give both")
    (low, high), (least, greatest) = _ends(a), _ends(b)
    most = max(abs(least), abs(greatest)) - 1
    nullable = _nullable(domains) or least <= 0 <= greatest
    zero = Fraction(0)
    return Domain(Kind.INTEGER, min(max(low, -most), zero), max(min(high, most), zero), nullable=nullable)


def _ends(domain: Domain) -> tuple[Fraction, Fraction]:
    assert domain.low is not None and domain.high is not None  # noqa: S101, PT018 (bounded)
    return domain.low, domain.high


def _negate(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _numbers(call, domains)
    return _real(_minus(a.high), _minus(a.low), nullable=a.nullable, integer=_is_int(a))


def _absolute(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _numbers(call, domains)
    if not a.is_bounded:
        return Domain(Kind.REAL, low=Fraction(0), nullable=True)
    assert a.low is not None and a.high is not None  # noqa: S101, PT018 (bounded)
    inside = a.low <= 0 <= a.high
    ends = sorted([abs(a.low), abs(a.high)])
    return _real(Fraction(0) if inside else ends[0], ends[1], nullable=a.nullable, integer=_is_int(a))


def _whole(rounding: Callable[[Fraction], int]) -> Rule:
    def rule(call: Call, domains: list[Domain]) -> Domain:
        (a,) = _numbers(call, domains)
        if not a.is_bounded:
            raise QueryRefused(
                f"{call.name.upper()} needs a bounded number", hint="narrow it first: CLAMP(x, lower, upper)"
            )
        if max(abs(a.low), abs(a.high)) > _SAFE_INTEGER:  # type: ignore[arg-type]
            raise QueryRefused(f"{call.name.upper()} needs numbers below 2^53", hint="CLAMP(x, lower, upper)")
        low, high = Fraction(rounding(a.low)), Fraction(rounding(a.high))  # type: ignore[arg-type]
        return Domain(Kind.INTEGER, low, high, nullable=a.nullable)

    return rule


def _half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


def _square_root(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _numbers(call, domains)
    high = None if a.high is None else Fraction(math.isqrt(math.ceil(max(a.high, Fraction(0)))) + 1)
    return Domain(Kind.REAL, Fraction(0), high, nullable=a.nullable or a.low is None or a.low < 0)


def _logarithm(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _numbers(call, domains)
    if a.low is None or a.high is None or a.low <= 0:
        return Domain(Kind.REAL, nullable=True)
    return Domain(
        Kind.REAL, _float_bound(math.log(a.low), up=False), _float_bound(math.log(a.high), up=True), nullable=a.nullable
    )


def _exponential(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _numbers(call, domains)
    if a.low is None or a.high is None or a.high > _LARGEST_EXPONENT:
        return Domain(Kind.REAL, low=Fraction(0), nullable=True)
    low = (
        _float_bound(math.exp(max(a.low, Fraction(-_LARGEST_EXPONENT))), up=False)
        if a.low > -_LARGEST_EXPONENT
        else Fraction(0)
    )
    return Domain(Kind.REAL, max(Fraction(0), low), _float_bound(math.exp(a.high), up=True), nullable=a.nullable)


def _float_bound(number: float, *, up: bool) -> Fraction:
    """Libraries of engines may differ in the last bits; a millionth part is far more than they do."""
    exact = Fraction(number)
    slack = abs(exact) / 10**6 + Fraction(1, 10**9)
    return exact + slack if up else exact - slack


def _clamp(call: Call, domains: list[Domain]) -> Domain:
    _numbers(call, domains)
    low, high = _literal_number(call, 1), _literal_number(call, 2)
    if low > high:
        raise QueryRefused("CLAMP has its lower bound above its upper one")
    a = domains[0]
    whole = a.kind is Kind.INTEGER and low.denominator == 1 == high.denominator
    new_low = low if a.low is None else min(max(a.low, low), high)
    new_high = high if a.high is None else max(min(a.high, high), low)
    if whole or a.kind is Kind.DECIMAL:
        return replace(a, low=new_low, high=new_high, categories=None)
    return Domain(Kind.REAL, new_low, new_high, nullable=a.nullable)


def _extreme(pick: Callable[[Fraction, Fraction], Fraction]) -> Rule:
    def rule(call: Call, domains: list[Domain]) -> Domain:
        _numbers(call, domains)
        if not all(domain.is_bounded for domain in domains):
            return Domain(Kind.REAL, nullable=True)
        low, high = domains[0].low, domains[0].high
        for domain in domains[1:]:
            low, high = pick(low, domain.low), pick(high, domain.high)  # type: ignore[arg-type]
        return _real(low, high, nullable=_nullable(domains), integer=all(_is_int(each) for each in domains))

    return rule


def _bucket(call: Call, domains: list[Domain]) -> Domain:
    _numbers(call, domains)
    width, a = _literal_number(call, 1), domains[0]
    if width <= 0:
        raise QueryRefused("BUCKET needs a positive width")
    if not a.is_bounded:
        raise QueryRefused("BUCKET needs a bounded number", hint="BUCKET(CLAMP(x, lower, upper), width)")
    if 10**9 % width.denominator:
        raise QueryRefused("BUCKET needs a width with at most nine decimals")
    first, last = math.floor(a.low / width), math.floor(a.high / width)  # type: ignore[operator]
    if max(abs(first), abs(last)) > _SAFE_INTEGER:
        raise QueryRefused("BUCKET needs a width of at least 2^-53 of the bounds", hint="take a greater width")
    if last - first >= _MOST_BUCKETS:
        raise QueryRefused(f"BUCKET makes more than {_MOST_BUCKETS:,} buckets", hint="take a greater width")
    edges = [width * index for index in range(first, last + 1)]
    whole = width.denominator == 1
    return Domain(
        Kind.INTEGER if whole else Kind.DECIMAL,
        edges[0],
        edges[-1],
        (*(edge.numerator if whole else edge for edge in edges), *((None,) if a.nullable else ())),
        nullable=a.nullable,
        step=None if whole else width,
    )


# -- truth ----------------------------------------------------------------------------------------------------------


def _truth(domains: list[Domain]) -> Domain:
    return Domain(Kind.BOOLEAN, nullable=_nullable(domains))


def comparable(one: Domain, other: Domain) -> bool:
    """Whether values of the two may be compared."""
    moments = {Kind.DATE, Kind.TIMESTAMP}
    return one.kind is other.kind or (one.kind.is_number and other.kind.is_number) or {one.kind, other.kind} <= moments


def _compare(call: Call, domains: list[Domain]) -> Domain:
    present = [domain for argument, domain in zip(call.arguments, domains, strict=True) if not is_missing(argument)]
    for domain in present[1:]:
        if not comparable(present[0], domain):
            text = Kind.TEXT in {present[0].kind, domain.kind}
            raise QueryRefused(
                f"{present[0].kind} values cannot be compared with {domain.kind} values", hint=_CSV if text else None
            )
    return _truth(domains)


def _logic(call: Call, domains: list[Domain]) -> Domain:
    return _truth(_kinds(call, domains, Kind.BOOLEAN))


def _is_null(_call: Call, _domains: list[Domain]) -> Domain:
    return Domain(Kind.BOOLEAN, nullable=False)


def _like(call: Call, domains: list[Domain]) -> Domain:
    _literal_text(call, 1)
    return _truth(_kinds(call, domains, Kind.TEXT))


# -- choices --------------------------------------------------------------------------------------------------------


def _case(call: Call, domains: list[Domain]) -> Domain:
    """condition, value, condition, value, …, otherwise."""
    conditions, values = domains[:-1:2], [*domains[1:-1:2], domains[-1]]
    if len(call.arguments) % 2 == 0 or any(each.kind is not Kind.BOOLEAN for each in conditions):
        raise QueryRefused("CASE needs conditions and values")
    parts = [*call.arguments[1:-1:2], call.arguments[-1]]
    return _hull(call, parts, values)


def _hull(call: Call, parts: list[Expression] | tuple[Expression, ...], values: list[Domain]) -> Domain:
    present = [domain for part, domain in zip(parts, values, strict=True) if not is_missing(part)]
    if not present:
        raise QueryRefused(f"{call.name.upper()} has no value that is not NULL")
    nullable = _nullable(values)
    kinds = {domain.kind for domain in present}
    if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
        raise QueryRefused(f"{call.name.upper()} mixes {' and '.join(sorted(kinds))} values")
    if not all(kind.is_number for kind in kinds):
        return Domain(
            present[0].kind, categories=_union(present, missing=len(present) < len(values)), nullable=nullable
        )
    low = None if any(domain.low is None for domain in present) else min(domain.low for domain in present)  # type: ignore[type-var]
    high = None if any(domain.high is None for domain in present) else max(domain.high for domain in present)  # type: ignore[type-var]
    whole = kinds == {Kind.INTEGER}
    return Domain(Kind.INTEGER if whole else Kind.REAL, low, high, nullable=nullable)


def _union(domains: list[Domain], *, missing: bool) -> tuple[Value, ...] | None:
    found: dict[Value, None] = {}
    for domain in domains:
        if domain.categories is None:
            return None
        found.update(dict.fromkeys(domain.categories))
    if missing:
        found[None] = None
    return tuple(found)


def _coalesce(call: Call, domains: list[Domain]) -> Domain:
    hull = _hull(call, call.arguments, domains)
    return replace(hull, nullable=all(domain.nullable for domain in domains))


def _null_if(call: Call, domains: list[Domain]) -> Domain:
    _compare(call, domains)
    return domains[0].maybe_missing()


# -- text and dates -------------------------------------------------------------------------------------------------


def _text(call: Call, domains: list[Domain]) -> Domain:
    _kinds(call, domains, Kind.TEXT)
    return Domain(Kind.TEXT, nullable=_nullable(domains))


def _length(call: Call, domains: list[Domain]) -> Domain:
    (a,) = _kinds(call, domains, Kind.TEXT)
    high = None if a.longest is None else Fraction(a.longest)
    return Domain(Kind.INTEGER, Fraction(0), high, nullable=a.nullable)


def _substring(call: Call, domains: list[Domain]) -> Domain:
    _kinds(Call(call.name, call.arguments[:1]), domains[:1], Kind.TEXT)
    for position in range(1, len(call.arguments)):
        place = _literal_number(call, position)
        if place.denominator != 1 or not 2 - position <= place <= MOST_CHARACTERS:
            raise QueryRefused(f"SUBSTRING starts at 1 and takes whole numbers up to {MOST_CHARACTERS:,}")
    return Domain(Kind.TEXT, nullable=domains[0].nullable)


def _year(call: Call, domains: list[Domain]) -> Domain:
    _require_written(call)
    (a,) = _kinds(call, domains, Kind.DATE, Kind.TIMESTAMP)
    first = dt.MINYEAR if a.low is None else dt.date.fromordinal(int(a.low)).year
    last = dt.MAXYEAR if a.high is None else dt.date.fromordinal(int(a.high)).year
    return Domain(Kind.INTEGER, Fraction(first), Fraction(last), nullable=True)


def _part(low: int, high: int, *, of_time: bool = False) -> Rule:
    def rule(call: Call, domains: list[Domain]) -> Domain:
        _require_written(call)
        (a,) = _kinds(call, domains, *((Kind.TIMESTAMP,) if of_time else (Kind.DATE, Kind.TIMESTAMP)))
        return Domain(Kind.INTEGER, Fraction(low), Fraction(high), nullable=a.nullable)

    return rule


TRUNCATIONS = ("year", "quarter", "month", "week", "day")


def _truncate(call: Call, domains: list[Domain]) -> Domain:
    if _literal_text(call, 0) not in TRUNCATIONS:
        raise QueryRefused("DATE_TRUNC knows no such part", hint=f"it knows {', '.join(TRUNCATIONS)}")
    if domains[1].kind not in {Kind.DATE, Kind.TIMESTAMP}:
        raise QueryRefused("DATE_TRUNC needs a date", hint=_CSV if domains[1].kind is Kind.TEXT else None)
    return Domain(Kind.DATE, nullable=True)


# -- conversions ----------------------------------------------------------------------------------------------------


def _to_real(_call: Call, domains: list[Domain]) -> Domain:
    (a,) = domains
    if a.kind.is_number:
        return Domain(Kind.REAL, a.low, a.high, nullable=a.nullable)
    if a.kind is Kind.BOOLEAN:
        return Domain(Kind.REAL, Fraction(0), Fraction(1), nullable=a.nullable)
    if a.kind is not Kind.TEXT:
        raise QueryRefused(f"a {a.kind} value is no number", hint="take a part of it: YEAR(x), MONTH(x)")
    return Domain(Kind.REAL, nullable=True)


def _to_integer(call: Call, domains: list[Domain]) -> Domain:
    (a,) = domains
    if a.kind is Kind.INTEGER:
        return a
    if a.kind is Kind.BOOLEAN:
        return Domain(Kind.INTEGER, Fraction(0), Fraction(1), nullable=a.nullable)
    if not a.kind.is_number:
        raise QueryRefused(
            f"a {a.kind} value is not converted to a whole number", hint="FLOOR(CLAMP(CAST(x AS DOUBLE), lower, upper))"
        )
    return _whole(_half_up)(call, domains)


def _to_text(_call: Call, domains: list[Domain]) -> Domain:
    (a,) = domains
    if a.kind in {Kind.REAL, Kind.DECIMAL}:
        raise QueryRefused(
            "numbers with decimals are not made into text: engines write them differently", hint="ROUND(x) first"
        )
    return a if a.kind is Kind.TEXT else Domain(Kind.TEXT, nullable=a.nullable)


def _to_date(_call: Call, domains: list[Domain]) -> Domain:
    (a,) = domains
    if a.kind is Kind.DATE:
        return a
    if a.kind not in {Kind.TIMESTAMP, Kind.TEXT}:
        raise QueryRefused(f"a {a.kind} value is no date")
    return Domain(Kind.DATE, nullable=True)


_ANY = None
FUNCTIONS: dict[str, Function] = {
    "add": Function(2, 2, _add),
    "subtract": Function(2, 2, _subtract),
    "multiply": Function(2, 2, _multiply),
    "divide": Function(2, 2, _divide),
    "modulo": Function(2, 2, _modulo),
    "negate": Function(1, 1, _negate),
    "abs": Function(1, 1, _absolute),
    "floor": Function(1, 1, _whole(math.floor)),
    "ceil": Function(1, 1, _whole(math.ceil)),
    "round": Function(1, 1, _whole(_half_up)),
    "sqrt": Function(1, 1, _square_root),
    "ln": Function(1, 1, _logarithm),
    "exp": Function(1, 1, _exponential),
    "clamp": Function(3, 3, _clamp),
    "greatest": Function(2, _ANY, _extreme(max)),
    "least": Function(2, _ANY, _extreme(min)),
    "bucket": Function(2, 2, _bucket),
    "eq": Function(2, 2, _compare),
    "ne": Function(2, 2, _compare),
    "lt": Function(2, 2, _compare),
    "le": Function(2, 2, _compare),
    "gt": Function(2, 2, _compare),
    "ge": Function(2, 2, _compare),
    "in": Function(2, _ANY, _compare),
    "and": Function(2, 2, _logic),
    "or": Function(2, 2, _logic),
    "not": Function(1, 1, _logic),
    "is_null": Function(1, 1, _is_null),
    "like": Function(2, 2, _like),
    "ilike": Function(2, 2, _like),
    "case": Function(3, _ANY, _case),
    "coalesce": Function(1, _ANY, _coalesce),
    "nullif": Function(2, 2, _null_if),
    "lower": Function(1, 1, _text),
    "upper": Function(1, 1, _text),
    "trim": Function(1, 1, _text),
    "concat": Function(2, _ANY, _text),
    "substring": Function(2, 3, _substring),
    "length": Function(1, 1, _length),
    "year": Function(1, 1, _year),
    "quarter": Function(1, 1, _part(1, 4)),
    "month": Function(1, 1, _part(1, 12)),
    "week": Function(1, 1, _part(1, 53)),
    "day": Function(1, 1, _part(1, 31)),
    "dayofweek": Function(1, 1, _part(1, 7)),
    "dayofyear": Function(1, 1, _part(1, 366)),
    "hour": Function(1, 1, _part(0, 23, of_time=True)),
    "minute": Function(1, 1, _part(0, 59, of_time=True)),
    "date_trunc": Function(2, 2, _truncate),
    "to_real": Function(1, 1, _to_real),
    "to_integer": Function(1, 1, _to_integer),
    "to_text": Function(1, 1, _to_text),
    "to_date": Function(1, 1, _to_date),
}
