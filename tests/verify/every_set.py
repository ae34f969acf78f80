"""The definitions, taken literally: every set of outputs of two laws is tried."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from hypothesis import strategies as st

from giveortake.verify import Table, table

Law: TypeAlias = Mapping[Any, Fraction]
ZERO = Fraction(0)


def sets(p: Law, q: Law) -> Iterator[tuple[Fraction, Fraction, int]]:
    """(P[S], Q[S], |S|) for every non-empty set S."""
    outputs = sorted({*p, *q})
    for size in range(1, len(outputs) + 1):
        for chosen in combinations(outputs, size):
            yield sum((p.get(o, ZERO) for o in chosen), ZERO), sum((q.get(o, ZERO) for o in chosen), ZERO), size


def greatest_ratio(p: Law, q: Law, delta: Fraction = ZERO) -> Fraction | float:
    found: list[Fraction | float] = []
    for a, b, _ in sets(p, q):
        if a >= delta and (a > delta or b):
            found.append((a - delta) / b if b else math.inf)
    return max(found)


def excess(p: Law, q: Law, ratio: Fraction) -> Fraction:
    return max(ZERO, *(a - ratio * b for a, b, _ in sets(p, q)))


def fewest(p: Law, q: Law, ratio: Fraction, delta: Fraction) -> int | None:
    return min((size for a, b, size in sets(p, q) if a > ratio * b + delta), default=None)


@st.composite
def laws(draw: st.DrawFn, outputs: int = 4) -> dict[int, Fraction]:
    weights = draw(st.lists(st.integers(0, 6), min_size=outputs, max_size=outputs).filter(any))
    return {o: Fraction(w, sum(weights)) for o, w in enumerate(weights)}


@st.composite
def tables(draw: st.DrawFn, inputs: int = 2, outputs: int = 4) -> Table:
    return table({x: draw(laws(outputs)) for x in range(inputs)})
