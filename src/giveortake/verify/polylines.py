"""Lines that are straight between their bends: envelopes and corners, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def envelope(left: Fraction, right: Fraction, lines: set[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """The places inside at which the upper envelope of straight lines, given by their two ends, bends."""
    if not lines:
        return []
    first, last = max(lines), max(lines, key=lambda line: (line[1], line[0]))
    if first[0] == last[0] or first[1] == last[1]:
        return []
    share = (first[0] - last[0]) / ((first[0] - last[0]) + (last[1] - first[1]))
    height = first[0] + share * (first[1] - first[0])
    middle = left + share * (right - left)
    above = {line for line in lines if line[0] + share * (line[1] - line[0]) > height}
    if not above:
        return [middle]
    halves = [(a, a + share * (b - a), b) for a, b in lines]
    return [
        *envelope(left, middle, {(a, m) for a, m, _ in halves}),
        middle,
        *envelope(middle, right, {(m, b) for _, m, b in halves}),
    ]


def corners(points: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The points at which the line through them bends, and the two ends."""
    kept: list[tuple[Fraction, Fraction]] = []
    for point in points:
        while len(kept) >= 2 and _straight(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _straight(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) == (c[1] - b[1]) * (b[0] - a[0])
