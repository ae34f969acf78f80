"""Questions whose keys have to be found: keys are drawn once and kept in a file until the answer is settled."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, final

from giveortake.compile.key_selection import in_order, listed_keys, with_keys
from giveortake.engines import Found
from giveortake.engines.duckdb.long_texts import ordered
from giveortake.engines.runtime import in_own_time
from giveortake.plan import Domain, Kind
from giveortake.session import stored_answers
from giveortake.session.stored_answers import DrawnAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from giveortake.compile import Measurement
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.stored_answers import Stored


@final
@dataclass(frozen=True, slots=True, eq=False)
class FoundDraw:
    """The draw of an answer whose keys have to be found first; `charge` names the reservation and the question."""

    mechanism: InteractiveMechanism
    made: Measurement
    charge: str

    def draw(self) -> DrawnAnswer:
        """Find the keys, and draw the values for them.

        Keys are stored as soon as they are drawn: whoever asks again after a failure, or at the same time, gets the
        same keys.
        """
        made, scratch = self.made, self._scratch_name()
        found = FoundKeys(self.mechanism.spool.first(scratch, lambda: in_own_time(self._draw_keys())))
        count = found.count()
        if count > stored_answers.MANY:
            return DrawnAnswer(self._draw_many_values(found, count), scratch)
        rows, counted = made.parted([row for rows in found.lists() for row in rows])
        release = made.release(self.mechanism.engine, with_keys(made, rows), counted=counted)
        return DrawnAnswer(stored_answers.answer_to_json(stored_answers.keys_to_json(rows), release), scratch)

    def _draw_keys(self) -> Iterator[Any]:
        """The keys found, `MANY` per line, ordered by value: the engine's order could reveal something about rows."""
        made = self.made
        lists = made.find_keys(self.mechanism.engine)
        first: stored_answers.Rows = []
        for rows in lists:
            first.extend(rows)
            if len(first) > stored_answers.MANY:
                break
        if len(first) <= stored_answers.MANY:
            yield stored_answers.keys_to_json(in_order(first))
            return
        schema = made.question.relation.schema
        domains = [column.expression.domain(schema) for column in made.columns]
        if made.selection is not None and made.selection.decides is not None:
            domains.append(Domain(Kind.INTEGER))  # the number that decided comes with each key
        for rows in ordered(chain([first], lists), domains, self.mechanism.spool.place(), stored_answers.MANY):
            yield stored_answers.keys_to_json(rows)

    def _draw_many_values(self, found: FoundKeys, count: int) -> Stored:
        """Draw the values for more than `MANY` keys, into a file; only one line is in memory at a time."""
        made = self.made
        keys = listed_keys(made, Found(count, lambda: (made.parted(rows)[0] for rows in found.lists())))
        counted = (made.parted(rows)[1] or {} for rows in found.lists())
        releases = made.releases(self.mechanism.engine, keys, found.size(), counted=counted)
        listed = (stored_answers.keys_to_json(made.parted(rows)[0]) for rows in found.lists())
        lines = zip(listed, releases, strict=True)
        portions = (stored_answers.answer_to_json(line, release) for line, release in lines)
        return {"spool": self.mechanism.spool.write(in_own_time(portions))}

    def _scratch_name(self) -> str:
        """The name of the file for found keys until they are settled, unique to this charge and question.

        Who lists the folder learns from it neither the subject nor the number of charges.
        """
        mechanism, made = self.mechanism, self.made
        assert made.selection is not None  # noqa: S101 (keys were found)
        part = None if mechanism.part is None else mechanism.part.name(made.caps)
        about = [mechanism.population, mechanism.dataset, mechanism.version, part]
        named = [*about, made.digest(), made.selection.scratch_name]
        return f"{self.charge}-{hashlib.sha256(json.dumps(named).encode()).hexdigest()[:24]}.keys"


@final
@dataclass(frozen=True, slots=True)
class FoundKeys:
    """The file of found keys that are not settled yet. All lines have equally many keys, but the last may have fewer.

    That number may differ between versions of giveortake.
    """

    path: Path

    def count(self) -> int:
        """The number of keys in the file."""
        full, last = 0, None
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                full, last = full + 1, line
        return 0 if last is None else (full - 1) * self.size() + len(json.loads(last))

    def size(self) -> int:
        """The number of keys on the first line."""
        return len(next(self.lines(), []))

    def lines(self) -> Iterator[list[Any]]:
        """The keys as JSON values, line by line."""
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def lists(self) -> Iterator[stored_answers.Rows]:
        """The keys as Python values, line by line."""
        return map(stored_answers.keys_from_json, self.lines())
