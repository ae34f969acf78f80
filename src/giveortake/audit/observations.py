"""What anybody who asks can see besides the noisy answer: status, text, charge and shape must not depend on rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, final

import numpy as np

from giveortake.audit.neighbours import Neighbours, Rows, random_neighbours
from giveortake.audit.replay import closed, made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TABLES = 200


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """Everything about an answer that is not noise: its status, its text, its charge and its shape."""

    status: str
    text: str = ""
    charge: Any = None
    shape: Any = None


class Observable(Protocol):
    """A pipeline over one generated table."""

    def observe(self, query: Any) -> Observation:
        """Ask one query and say what can be seen besides the noise."""


@final
@dataclass(frozen=True, slots=True)
class Observations:
    """Every difference that was seen. Seeing none proves nothing."""

    differences: tuple[str, ...]
    asked: int

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.asked:,} pairs of observations are equal; that is no proof that all are"
        shown = list(dict.fromkeys(self.differences))[:10]
        return "\n".join([f"{len(self.differences)} of {self.asked:,} pairs differ:", *(f"  {each}" for each in shown)])

    __repr__ = __str__


def observations(
    factory: Callable[[Rows], Observable],
    queries: Iterable[Any],
    *,
    tables: Iterable[Neighbours] | None = None,
    neighbours: Literal["add-remove", "change-one"] = "add-remove",
) -> Observations:
    """Ask the same queries about neighbouring generated tables, and compare what can be seen.

    An error that escapes is an observation too, with its type as the status and its text. Where keys found in the data
    may be shown, the shape is allowed to differ; leave it out of the observation then.
    """
    listed = list(queries)
    differences: list[str] = []
    asked = 0
    for pair in random_neighbours(_TABLES) if tables is None else tables:
        if neighbours == "change-one" and pair.kind in {"one person more", "one row more"}:
            continue
        sides = [_observed(factory, rows, listed) for rows in (pair.x, pair.y)]
        for query, one, other in zip(listed, *sides, strict=True):
            asked += 1
            for each in fields(Observation):
                seen = getattr(one, each.name), getattr(other, each.name)
                if _visible(seen[0]) != _visible(seen[1]):
                    what = f"{query!r}: {each.name} is {seen[0]!r} on one table and {seen[1]!r} on the other"
                    differences.append(f"{what} ({pair.kind})")
                    break
    return Observations(tuple(differences), asked)


def _visible(value: Any) -> Any:
    """A value in a form that differs wherever a reader can see a difference; long arrays in full."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, [_visible(each) for each in value.reshape(-1).tolist()]
    if isinstance(value, Mapping):
        return type(value), [(_visible(key), _visible(each)) for key, each in value.items()]
    if isinstance(value, tuple | list):
        return type(value), [_visible(each) for each in value]
    return type(value), repr(value)


def _observed(factory: Callable[[Rows], Observable], rows: Rows, queries: list[Any]) -> list[Observation]:
    subject: Observable = made(factory, rows, "observe")
    try:
        return [_seen(subject, query) for query in queries]
    finally:
        closed(subject)


def _seen(subject: Observable, query: Any) -> Observation:
    try:
        return subject.observe(query)
    except Exception as error:  # noqa: BLE001 (whatever is raised is what the asker sees)
        return Observation(f"raised {type(error).__name__}", str(error))
