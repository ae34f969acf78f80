"""Profiles: released once, on the way of every question, and found again for whoever's level paid for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.compile import Spend
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import spendable, whole
from giveortake.session import stored_answers
from giveortake.session.batches import share_of_each
from giveortake.session.dimensions import dimensions_of
from giveortake.session.profile import told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.exact import Number
    from giveortake.ledger import Reservation
    from giveortake.session.dimensions import Dimension
    from giveortake.session.mechanism import InteractiveMechanism, Priced
    from giveortake.session.profile import Profile
    from giveortake.session.stored_answers import Stored


@final
@dataclass(frozen=True, slots=True, eq=False)
class ProfileRequest:
    """What a profile is to tell, at what price: one question for each dimension, under one charge."""

    mechanism: InteractiveMechanism
    said: Mapping[str, Any]
    dimensions: tuple[Dimension, ...]
    priced: tuple[Priced, ...]

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
        """Priced, and refused if it cannot be asked. Nothing is charged, and no row is looked at."""
        relation = mechanism.origin.uncapped.get(table)
        if relation is None:
            raise InvalidParameter("table", table, "is seen in part only: a profile is of the whole table")
        for name, listed in (("by", by), ("columns", columns)):
            if isinstance(listed, str):
                raise InvalidParameter(name, listed, "is a text, not a list", hint=f"{name}=[{listed!r}]")
        most = None if most_rows is None else whole("most_rows", most_rows)
        dimensions = dimensions_of(relation, by, columns, most)
        spend = Spend(epsilon=spendable("epsilon", epsilon))
        said = {
            "table": table,
            "by": list(by),
            "columns": list(columns),
            "most_rows": most,
            "epsilon": str(spend.epsilon),
        }
        questions = [each.question() for each in dimensions]
        share = share_of_each(spend, questions)
        return cls(mechanism, said, dimensions, tuple(mechanism.price_at(each, share) for each in questions))

    def release(self, key: str | None) -> Profile:
        """Charge, draw what was not drawn before, and read it."""
        reservation, parts = self.mechanism.reserve_and_draw(self.priced, key, profile=self.said)
        return self.read(parts, reservation)

    def read(self, parts: Sequence[Stored], reservation: Reservation | None = None) -> Profile:
        """The profile that follows from what is stored."""
        counts = []
        for each, part in zip(self.priced, parts, strict=True):
            _, release = stored_answers.whole(self.mechanism.spool, each, part)
            counts.append([int(count) for count in release.arrays[0]])
        (noise,) = {each.made.noises[0] for each in self.priced}  # equal shares, equal sensitivities
        budget = self.mechanism.budget
        cost = self.mechanism.event(self.priced).guarantee(unit=budget.unit, neighbours=budget.neighbours)
        charged = reservation is not None and bool(reservation.charged)
        return told(
            self.said,
            self.dimensions,
            counts,
            noise.scale_in_steps,
            cost=cost,
            release_id="" if reservation is None else reservation.id,
            notes=() if charged else ("released before at this price: nothing was charged",),
        )

    def names(self, request: Any) -> bool:
        """Whether a stored request is this one."""
        return bool(request == self.mechanism.request(self.priced, profile=self.said))


def paid_profiles(mechanism: InteractiveMechanism, table: str) -> list[Profile]:
    """The profiles of a table that the asker's own levels paid for, the newest first.

    Guarantee: they are read from the ledger alone. Whatever is chosen by them is post-processing for these levels.
    """
    found = []
    stored = mechanism.ledger.profiles(mechanism.dataset, version=mechanism.version, analyst=mechanism.analyst)
    for request, content in stored:
        said = request["profile"]
        if said["table"] != table or mechanism.part is not None:
            continue
        try:
            again = ProfileRequest.of(mechanism, **said)
        except GiveOrTakeError:  # of columns that are not there any more
            continue
        if again.names(request):
            found.append(again.read(stored_answers.parts_of(content, len(again.priced))))
    return found
