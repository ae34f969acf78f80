"""Release profiles, through the same steps as every question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any, final

from giveortake.answers import Answer
from giveortake.answers.answer import Released
from giveortake.answers.column import Column
from giveortake.answers.terms import Confidence
from giveortake.compile import Caps, Spend
from giveortake.compile.releases import arrays_from_json
from giveortake.errors import InvalidParameter
from giveortake.exact import spendable, whole
from giveortake.mechanisms import Laplace
from giveortake.session.batches import share_of_each
from giveortake.session.dimensions import dimensions_of
from giveortake.session.profile import BEYOND_NOISE, Profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.exact import Number
    from giveortake.session.dimensions import Dimension
    from giveortake.session.mechanism import InteractiveMechanism, Priced
    from giveortake.session.stored_answers import Stored

_SURE = Confidence("0.95")
FORMAT = 1  # of the bins; other bins need a new format, and these stay readable


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfileRequest:
    """The request for a profile: one question for each dimension, under one charge."""

    mechanism: InteractiveMechanism
    said: Mapping[str, Any]
    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(
        cls,
        mechanism: InteractiveMechanism,
        table: str,
        *,
        epsilon: Number,
        by: Sequence[str],
        columns: Sequence[str],
        most_rows: Number | None,
    ) -> ProfileRequest:
        """Check a request. Nothing is charged, and no row is read.

        A column that is named twice is profiled once.
        """
        relation = mechanism.origin.uncapped.get(table)
        if relation is None:
            raise InvalidParameter(
                "table", table, "is only partly visible here, and a profile describes the whole table"
            )
        for name, listed in (("by", by), ("columns", columns)):
            if isinstance(listed, str) or not hasattr(listed, "__iter__"):
                fix = [listed] if hasattr(listed, "encode") else ["fee"]
                raise InvalidParameter(name, listed, "is not a list of columns", hint=f"{name}={fix}")
        columns = list(dict.fromkeys(columns))
        most = None if most_rows is None else whole("most_rows", most_rows)
        said = {
            "format": FORMAT,
            "table": table,
            "by": list(by),
            "columns": columns,
            "most_rows": most,
            "epsilon": str(spendable("epsilon", epsilon)),
        }
        return cls(mechanism, said, dimensions_of(relation, by, columns, most))

    @property
    def words(self) -> str:
        """A description of the request, for the ledger and for lists of releases."""
        return f"profile of {self.said['table']}: {', '.join(each.name for each in self.dimensions)} of a person"

    @property
    def noise(self) -> Laplace:
        """The noise of every count: D dimensions share ε. The charge does not use it: `price` computes that anew."""
        moved = 2 if self.mechanism.budget.neighbours == "change-one" else 1
        return Laplace(moved * len(self.dimensions) / Fraction(self.said["epsilon"]))

    def preview(self) -> str:
        """How precise it will be, in words: from the request and ε alone, before anything is paid."""
        scale = float(self.noise.scale)
        margin = f"each number of people is known to about ± {max(1.0, -scale * log(1 - float(_SURE))):,.0f}"
        seen = f"bounds of a column show only where more than about {BEYOND_NOISE * scale:,.0f} people are"
        return f"{margin} (with 95 %){f'; {seen}' if self.said['columns'] else ''}"

    def price(self) -> tuple[Priced, ...]:
        """One priced question for each dimension; all have equal shares of ε."""
        questions = [each.question() for each in self.dimensions]
        share = share_of_each(Spend(epsilon=Fraction(self.said["epsilon"])), questions)
        return tuple(self.mechanism.price_at(each, Caps(), share) for each in questions)

    def release(self, key: str | None) -> Profile:
        """Charge, draw unless that was done before, and return the profile."""
        reservation, parts = self.mechanism.reserve_and_draw(
            self.price(), key, _SURE, profile=self.said, words=self.words
        )
        return self.read(parts, reservation.id, reservation.paid_before(self.mechanism.version))

    def table(self, answer: Answer, place: int) -> Answer:
        """The table of a dimension for people: with the range of each bin instead of its number."""
        dimension = self.dimensions[place]
        (bins, *others), ranges = answer.columns, dimension.ranges()
        places = [int(str(each)) for each in bins.values]
        held = [Column(name, [ends[place] for place in places]) for name, ends in ranges.items()]
        provenance = {name: getattr(answer, name) for name in Released.__slots__}
        return Answer([*held, *others], **{**provenance, "notes": (*answer.notes, f"people by their {dimension.name}")})

    def read(self, parts: Sequence[Stored], release_id: str, paid_before: str | None = None) -> Profile:
        """The profile from what is stored; `paid_before` is the note that nothing was charged now."""
        counts = []
        for part in parts:
            (array,) = arrays_from_json(part["arrays"], 1)
            counts.append(tuple(int(count) for count in array))
        said = self.said
        return Profile(
            said["table"],
            tuple(said["by"]),
            tuple(said["columns"]),
            said["most_rows"],
            Fraction(said["epsilon"]),
            release_id,
            () if paid_before is None else (paid_before,),
            self.dimensions,
            tuple(counts),
            float(self.noise.scale),
        )
