"""Events made of events: one after the other, many times, or side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.privacy.combining import parallel, sequential
from giveortake.privacy.events.event import DEEPEST, Event, registered
from giveortake.privacy.guarantee import Guarantee, combined, store
from giveortake.privacy.units import ROW, Neighbours, Unit


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Composed(Event):
    """Several releases from the same data, each chosen after seeing those before it.

    Guarantee [PDP21, L1.2], [Lal20, Prop. 8]: the promises add, as in `sequential`.
    """

    kind: ClassVar[str] = "composed"
    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        store(self, events=checked_parts(events))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        return sequential(part.guarantee(unit=unit, neighbours=neighbours) for part in self.events)

    @property
    def depth(self) -> int:
        return 1 + max(part.depth for part in self.events)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Repeated(Event):
    """The same kind of release `times` times, queries chosen adaptively.

    Guarantee [PDP21, L1.2]: the promise adds, as in `Guarantee.repeat`.
    """

    kind: ClassVar[str] = "repeated"
    event: Event = field(metadata={"key": "of"})
    times: int

    def __init__(self, event: Event, times: int) -> None:
        store(self, event=checked_parts([event])[0], times=whole("times", times))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        return self.event.guarantee(unit=unit, neighbours=neighbours).repeat(self.times)

    @property
    def depth(self) -> int:
        return 1 + self.event.depth


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Parallel(Event):
    """Releases from disjoint parts of the data, of which one unit touches at most `touched`.

    Guarantee [Har25], [Fre18, Thm 14]: the largest promises, as in `parallel`.
    """

    kind: ClassVar[str] = "parallel"
    events: tuple[Event, ...]
    touched: int

    def __init__(self, events: Iterable[Event], touched: int = 1) -> None:
        store(self, events=checked_parts(events), touched=whole("touched", touched))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        parts = (part.guarantee(unit=unit, neighbours=neighbours) for part in self.events)
        return parallel(parts, touched=self.touched)

    @property
    def depth(self) -> int:
        return 1 + max(part.depth for part in self.events)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class InPart(Event):
    """A release from one part of a partition of the data; one unit touches at most `touched` of its parts.

    `event` is the release under the neighbours at hand, `added` the release when a unit is added or removed;
    under add-remove they are the same. `partition` and `part` are numbers that name them.

    Guarantee: alone it promises the weaker of what its `cases` promise, and several of them compose like any other
    releases. Filters charge all parts of a partition together, by the exact rule of parallel composition: see
    `giveortake.accounting.partitions`.
    """

    kind: ClassVar[str] = "in-part"
    event: Event = field(metadata={"key": "of"})
    added: Event
    partition: int
    part: int
    touched: int

    def __init__(self, event: Event, added: Event, partition: int, part: int, touched: int = 1) -> None:
        inner = checked_parts([event, added])
        if any(isinstance(each, InPart) for each in inner):
            raise InvalidParameter("event", event, "is in a part already", hint="parts of parts are parts")
        store(
            self,
            event=inner[0],
            added=inner[1],
            partition=whole("partition", partition, least=0),
            part=whole("part", part, least=0),
            touched=whole("touched", touched),
        )

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        promises = [case.guarantee(unit=unit, neighbours=relation) for case, relation in self.cases(neighbours)]
        return combined([replace(promise, neighbours=neighbours) for promise in promises], 1)

    def cases(self, neighbours: Neighbours) -> tuple[tuple[Event, Neighbours], ...]:
        """The events that this release can be between two neighbours, each with the relation it is priced under.

        Theorem. Under change-one the unit that differs stays in this part, and the release is `event`; or it enters or
        leaves the part, and the release is `added`; or it touches the part in neither table, and both laws are equal.
        So in every currency the dearer of the two bounds one release, wherever nobody remembers what was released
        from the other parts, and such bounds add up as those of other releases do. ∎
        """
        if neighbours == "add-remove":
            return ((self.event, "add-remove"),)
        return (self.event, "change-one"), (self.added, "add-remove")

    @property
    def depth(self) -> int:
        return 1 + max(self.event.depth, self.added.depth)


def checked_parts(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events inside another one; anything that is no event or nests too deep is refused."""
    if not isinstance(events, Iterable):
        raise InvalidParameter("events", events, "is not a list of events")
    parts = tuple(events)
    if not parts:
        raise InvalidParameter("events", parts, "is empty", hint="an event says what ran; nothing did")
    for part in parts:
        if not isinstance(part, Event):
            raise InvalidParameter("events", part, "is not an event")
    if max(part.depth for part in parts) >= DEEPEST:
        raise InvalidParameter("events", "…", f"nests deeper than {DEEPEST} levels", hint="compose in one flat list")
    return parts
