"""What an engine is asked for a measurement: all sums in one tally, everything else by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from giveortake.engines import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.engines import Bins, Bounding, Distinct, Engine, Keys, Summand
    from giveortake.mechanisms import Sensitive
    from giveortake.plan import Relation


@final
class Inquiry:
    """Questions about the keys of a relation, which measures add to. Each measure is known by its place."""

    def __init__(self, relation: Relation, keys: Keys, bounding: Bounding | None) -> None:
        self.relation = relation
        self.keys = keys
        self.bounding = bounding
        self._summands: dict[int, Summand] = {}
        self._others: dict[int, Bins | Distinct] = {}

    def add_summand(self, index: int, summand: Summand) -> None:
        """A measure that is a sum over rows or persons."""
        self._summands[index] = summand

    def add(self, index: int, question: Bins | Distinct) -> None:
        """A measure that is asked for by itself."""
        self._others[index] = question

    def questions(self) -> list[Tally | Bins | Distinct]:
        """What an engine is asked: the tally first, if anything is summed."""
        tally = Tally(self.relation, self.keys, tuple(self._summands.values()), self.bounding)
        return [*([tally] if self._summands else []), *self._others.values()]

    def parts(self, engine: Engine, size: int) -> Iterator[dict[int, Sensitive[Any]]]:
        """The exact integers of all measures, for so many keys at a time."""
        for parts in zip(*(engine.in_parts(question, size) for question in self.questions()), strict=True):
            found = {index: parts[0].item(place) for place, index in enumerate(self._summands)}
            yield found | dict(zip(self._others, parts[-len(self._others) :] if self._others else (), strict=True))
