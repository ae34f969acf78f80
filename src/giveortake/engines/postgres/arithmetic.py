"""Arithmetic of doubles for PostgreSQL, which raises where others give infinity or zero.

PostgreSQL refuses a sum, product or quotient that overflows, and a product or quotient that is rounded to zero. What is
written here asks first whether that would happen, by multiplications with powers of two that are exact and in range
for every pair of arguments, and gives what IEEE 754 says. One case is settled otherwise: a product above half of the
least number, 2^-1075, by less than a part of 2^-53 is 0 here.

Conditions are tested in the order of a CASE, also where arguments are constants that PostgreSQL computes beforehand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = r'(?:\w+\.)?(?:"(?:[^"]|"")*"|\w+)'
_TYPE = r"[A-Z ]+"
_CONSTANT = re.compile(rf"NULL|CAST\('[^']*' AS {_TYPE}\)")
_SIMPLE = re.compile(rf"{_CONSTANT.pattern}|{_NAME}|CAST\({_NAME} AS {_TYPE}\)")
_LARGEST_EXPONENT, _LEAST_EXPONENT = 709.782712893384, -745.1332191019411  # e to these is finite, and not zero


def once(printed: list[str], write: Callable[[list[str]], str]) -> str:
    """SQL that `write` makes of arguments, each computed once however often it is needed.

    OFFSET 0 keeps PostgreSQL from putting the arguments back into the places where they are needed.
    """
    if all(_SIMPLE.fullmatch(text) for text in printed):
        return write(printed)
    names = [text if _CONSTANT.fullmatch(text) else f"v.a{index}" for index, text in enumerate(printed)]
    bound = [f"{text} AS a{index}" for index, text in enumerate(printed) if not _CONSTANT.fullmatch(text)]
    return f"(SELECT {write(names)} FROM (SELECT {', '.join(bound)} OFFSET 0) AS v)"


def double(value: float) -> str:
    """A double as SQL."""
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def two_to(power: int) -> str:
    """A power of two as SQL."""
    return double(2.0**power)


_INFINITY = double(float("inf"))


def total(a: str, b: str) -> str:
    """The sum. Halves of numbers that large are exact, and their sum is rounded as the sum is."""
    halves = f"abs(trunc({a}) * {double(0.5)} + trunc({b}) * {double(0.5)})"
    return (
        f"CASE WHEN abs({a}) < {two_to(1022)} AND abs({b}) < {two_to(1022)} THEN {a} + {b} "
        f"WHEN abs({a}) = {_INFINITY} OR abs({b}) = {_INFINITY} THEN {a} + {b} "
        f"WHEN {halves} >= {two_to(1023)} THEN sign({a}) * {_INFINITY} ELSE {a} + {b} END"
    )


def _usual(a: str, b: str) -> str:
    """Whether neither the product nor the quotient of two numbers can leave the doubles."""
    return " AND ".join(f"abs({each}) BETWEEN {two_to(-500)} AND {two_to(500)}" for each in (a, b))


def _special(a: str, b: str) -> str:
    """Whether one of two numbers is zero or infinite: PostgreSQL does not raise then."""
    return f"{a} = 0 OR {b} = 0 OR abs({a}) = {_INFINITY} OR abs({b}) = {_INFINITY}"


def product(a: str, b: str) -> str:
    """The product.

    Too large: the larger is above 2^511 and the other above 1. Too small: the smaller is below 2^-537, none
    above 1. Both conditions are tested on arguments that are moved to where they may hold.
    """
    larger, smaller = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    high = f"greatest({larger}, {two_to(511)}) * {two_to(-600)} * greatest(least({smaller}, {two_to(513)}), 1)"
    low = f"least({smaller}, {two_to(-537)}) * {two_to(600)} * least(greatest({larger}, {two_to(-600)}), 1)"
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {_usual(a, b)} OR {_special(a, b)} THEN {a} * {b} "
        f"WHEN {high} >= {two_to(424)} THEN sign({a}) * sign({b}) * {_INFINITY} "
        f"WHEN {low} <= {two_to(-475)} THEN {double(0.0)} ELSE {a} * {b} END"
    )


def quotient(a: str, b: str) -> str:
    """The quotient.

    Too large: |a| ≥ |b| · 2^1024, for no quotient of doubles lies halfway. Too small: |a| ≤ |b| · 2^-1075.
    """
    high = f"greatest(abs({a}), {two_to(-60)}) * {two_to(-512)} >= least(abs({b}), 1) * {two_to(512)}"
    low = f"least(abs({a}), 1) * {two_to(512)} <= greatest(abs({b}), 1) * {two_to(-563)}"
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL OR {b} = 0 THEN NULL "
        f"WHEN {_usual(a, b)} OR {_special(a, b)} THEN {a} / {b} "
        f"WHEN {high} THEN sign({a}) * sign({b}) * {_INFINITY} WHEN {low} THEN {double(0.0)} ELSE {a} / {b} END"
    )


def exponential(a: str) -> str:
    """The exponential."""
    return (
        f"CASE WHEN {a} > {double(_LARGEST_EXPONENT)} THEN {_INFINITY} "
        f"WHEN {a} < {double(_LEAST_EXPONENT)} THEN {double(0.0)} ELSE exp({a}) END"
    )
