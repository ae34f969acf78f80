"""One small survey of each kind, whose reports can all be listed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from giveortake.local import (
    CountMeanSketch,
    HadamardResponse,
    HeavyHitters,
    LocalHashing,
    Mean,
    Oracle,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
)

COLOURS = ("red", "green", "blue", "grey")


class Case(NamedTuple):
    """A survey, some answers to it, and whether two of them reach the largest ratio."""

    survey: Any
    answers: tuple[Any, ...]
    tight: bool = True


def small(epsilon: Any = 1) -> dict[str, Case]:
    """Surveys that promise ε, each with answers between which its promise is tight, where that is possible."""
    return {
        "poll": Case(Poll(epsilon=epsilon), (True, False)),
        "two coins": Case(Poll(epsilon=epsilon, otherwise="1/3"), (True, False)),
        "randomized response": Case(RandomizedResponse(COLOURS, epsilon), COLOURS),
        "unary encoding, optimised": Case(UnaryEncoding(COLOURS, epsilon), COLOURS),
        "unary encoding, symmetric": Case(UnaryEncoding(COLOURS, epsilon, symmetric=True), COLOURS),
        "local hashing, optimised": Case(LocalHashing(COLOURS[:3], epsilon), COLOURS[:3]),
        "local hashing, binary": Case(LocalHashing(COLOURS, epsilon, buckets=2), COLOURS),
        "Hadamard response": Case(HadamardResponse(COLOURS, epsilon), COLOURS),
        "mean, stochastic rounding": Case(Mean((-1, 3), epsilon, method="stochastic-rounding"), (-1, 0.3, 2, 3)),
        "mean, piecewise": Case(Mean((-1, 3), epsilon, method="piecewise"), (-1, 0.3, 2, 3)),
        "rappor": Case(Rappor(epsilon, bits=6, hashes=2, cohorts=3), ("a", "b", "c"), tight=False),
        "count-mean sketch": Case(CountMeanSketch(epsilon, functions=3, buckets=4, seed="s"), ("a", "b", "c", "d")),
        "heavy hitters": Case(
            HeavyHitters(epsilon, length=2, alphabet="ab", prime=13), ("a", "ab", "b", "bb"), tight=True
        ),
    }


NAMES = tuple(small())
MAKERS: tuple[Callable[[Any], Any], ...] = (  # of ε alone
    *(partial(kind, COLOURS) for kind in (RandomizedResponse, UnaryEncoding, LocalHashing, HadamardResponse)),
    *(Rappor, CountMeanSketch, HeavyHitters, partial(Mean, (-1, 3))),
)


def outcome(survey: Oracle, report: Any) -> Any:
    """A report as the key under which the survey's law lists it."""
    if isinstance(survey, UnaryEncoding):
        return _bits(bytes.fromhex(report), len(survey.categories))
    if isinstance(survey, Rappor):
        raw = bytes.fromhex(report)
        return int.from_bytes(raw[:2], "little"), _bits(raw[2:], survey.bits)
    if isinstance(survey, CountMeanSketch):
        raw = bytes.fromhex(report)
        return int.from_bytes(raw[:2], "little"), _bits(raw[2:], survey.buckets)
    if isinstance(survey, HeavyHitters):
        raw = bytes.fromhex(report)
        return tuple(int.from_bytes(raw[4 * word : 4 * word + 4], "little") for word in range(4))
    return report


def _bits(raw: bytes, count: int) -> tuple[int, ...]:
    return tuple((raw[place // 8] >> (place % 8)) & 1 for place in range(count))
