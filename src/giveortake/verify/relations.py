"""Which inputs are neighbours, and how far apart others are."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from giveortake.errors import InvalidParameter

Relation: TypeAlias = (
    "Callable[[Any, Any], bool] | Iterable[tuple[Hashable, Hashable]] | Literal['add-remove', 'change-one'] | None"
)
Pair: TypeAlias = tuple[Hashable, Hashable]


def neighbouring_pairs(inputs: Sequence[Hashable], relation: Relation) -> tuple[Pair, ...]:
    """Every ordered pair of neighbours: whoever is a neighbour of x has x as a neighbour.

    None relates all inputs. A function says of two inputs whether they are neighbours, a list names the pairs. For
    inputs that are tuples of rows, "change-one" relates those that differ in one place, "add-remove" those of which
    one has one row more.
    """
    if relation is None:
        return tuple((x, y) for x in inputs for y in inputs if x != y)
    if isinstance(relation, str):
        relation = _named(relation)
    if callable(relation):
        related = relation
        return tuple((x, y) for x in inputs for y in inputs if x != y and (related(x, y) or related(y, x)))
    found: dict[Pair, None] = {}
    for x, y in relation:
        for end in (x, y):
            if end not in inputs:
                raise InvalidParameter("neighbours", end, "is not among the inputs")
        found |= {(x, y): None, (y, x): None}
    return tuple(found)


def within(inputs: Sequence[Hashable], pairs: Iterable[Pair], distance: int) -> tuple[Pair, ...]:
    """The ordered pairs that are joined by a path of at most `distance` steps [PDP21, L1.7]."""
    steps: dict[Hashable, list[Hashable]] = {x: [] for x in inputs}
    for x, y in pairs:
        steps[x].append(y)
    return tuple((x, y) for x in inputs for y, far in _distances(x, steps).items() if 0 < far <= distance)


def _distances(start: Hashable, steps: dict[Hashable, list[Hashable]]) -> dict[Hashable, int]:
    far, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in steps[here]:
            if there not in far:
                far[there] = far[here] + 1
                waiting.append(there)
    return far


def _named(name: str) -> Callable[[Any, Any], bool]:
    if name == "change-one":
        return lambda x, y: len(x) == len(y) and sum(a != b for a, b in zip(x, y, strict=True)) == 1
    if name == "add-remove":
        return lambda x, y: len(y) == len(x) + 1 and not Counter(x) - Counter(y)
    raise InvalidParameter("neighbours", name, "is unknown", hint='there are "add-remove" and "change-one"')
