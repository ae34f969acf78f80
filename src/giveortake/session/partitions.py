"""Partitions: disjoint parts of the data, which together cost as much as the most expensive of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import number_text
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.exact import counted, whole
from giveortake.plan import Call, ColumnReference, Filter, KeepParts, Literal
from giveortake.plan.expressions import compared
from giveortake.plan.relations import ROW_RULE
from giveortake.privacy.events import InPart

if TYPE_CHECKING:
    from giveortake.compile import Caps
    from giveortake.plan import Relation, Value
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.session import Session


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One part: the rows with one value of a column. `touched` is how many parts a unit can have rows in.

    `identity` identifies the partition with the rule by which caps choose rows, except for the cap on rows of a person
    in `table`.
    """

    column: str
    value: Value
    number: int
    identity: tuple[Any, ...]
    table: str
    usual_caps: Caps
    touched: int
    keep: int | None

    def partition(self, caps: Caps) -> int:
        """The number of the partition that a question with these caps belongs to.

        Which parts of a person are kept depends on the rows that count. So questions that count other rows belong to
        another partition, and the prices of both add up. If all parts are kept, there is one partition for all caps.

        Guarantee: two partitions have two numbers. Whoever asks chooses a column and a cap of up to 10⁹: too few to
        find two that share 128 bits of a hash.
        """
        rows = (self.usual_caps if self.keep is None else caps).rows_in(self.table)
        hashed = hashlib.sha256(json.dumps([*self.identity, rows]).encode()).digest()
        return int.from_bytes(hashed[:16])

    def name(self, caps: Caps) -> str:
        """The unique name of this part, for a question with these caps."""
        return f"{self.partition(caps)}/{self.number}"

    def event(self, whole: Event, added: Event, partition: int) -> InPart:
        """The event to charge for a release from this part; `added` is its event if a unit is added or removed."""
        return InPart(whole, added, partition, self.number, self.touched)

    @property
    def left_out(self) -> str | None:
        """In words, in how many parts a person counts; None if in all of them."""
        if self.keep is None:
            return None
        return (
            f"each person counts in {self.keep} of the parts, and rows in others are cut: sums over parts are too "
            "low; parts_per_person= keeps more, at a higher price"
        )

    def __str__(self) -> str:
        return f"part {number_text(key_of(self.value))} of {self.column}"

    def of(self, relation: Relation) -> Relation:
        """The rows of a table that are in this part."""
        if self.keep is not None:
            relation = KeepParts(relation, (self.column,), self.keep)
        if self.value is None:
            return Filter(relation, Call("is_null", (ColumnReference(self.column),)))
        return Filter(relation, Call("eq", (ColumnReference(self.column), Literal(self.value))))


@final
class Partition(Mapping[Any, "Session"]):
    """A session for each declared value of a column; see `Session.partition`."""

    def __init__(self, column: str, parts_per_person: int, sessions: Mapping[Any, Session]) -> None:
        self.column = column
        self.parts_per_person = parts_per_person
        self._sessions: dict[Any, Session] = dict(sessions)

    def __getitem__(self, value: Any) -> Session:
        try:
            return self._sessions[value]
        except KeyError:
            listed = ", ".join(map(repr, self._sessions))
            raise InvalidParameter(
                self.column, value, "is not one of the parts", hint=f"the parts are {listed}"
            ) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sessions)

    def __len__(self) -> int:
        return len(self._sessions)

    def __repr__(self) -> str:
        parts, unit = counted(len(self), "part"), next(iter(self.values())).budget.granted.unit
        if unit.column is None or self.parts_per_person == len(self):
            return f"<Partition by {self.column}: {parts}>"
        return f"<Partition by {self.column}: each person counts in {self.parts_per_person} of {parts}>"


def parts_of(
    mechanism: InteractiveMechanism, tables: Sequence[Relation], column: str, parts_per_person: int
) -> list[Part]:
    """The parts of all tables, one for each declared value of a column."""
    schemas = [relation.schema for relation in tables]
    if any(column not in schema for schema in schemas):
        names = set.intersection(*map(set, schemas))
        hint = f"{did_you_mean(str(column), names)}the columns are {', '.join(sorted(names))}"
        raise InvalidParameter("partition", column, "is not a column of every table", hint=hint)
    values = schemas[0][column].keys()
    if values is None or any(schema[column].keys() != values for schema in schemas):
        raise InvalidParameter(
            "partition",
            column,
            "has no declared values",
            hint="declare its domain: the parts must be known before any row is read",
        )
    if any(len({compared(value, schema[column].kind) for value in values}) < len(values) for schema in schemas):
        raise InvalidParameter(
            "partition", column, "has values that are equal as floating-point numbers", hint="round them"
        )
    most = whole("parts_per_person", parts_per_person)
    person = mechanism.budget.unit.column
    keep = None if person is None or most >= len(values) else most
    touched = 1 if person is None else min(most, len(values))
    if len(schemas) > 1 and keep is not None:
        raise InvalidParameter(
            "partition",
            column,
            "would have to keep the same parts of a person in each of several tables",
            hint="partition one table, or pass parts_per_person=<the number of parts>",
        )
    identity = (
        mechanism.engine.identity,
        mechanism.dataset,
        mechanism.version,
        column,
        touched,
        keep,
        ROW_RULE,
    )
    (table, *_), usual = (relation.tables()[0].name for relation in tables), mechanism.caps.caps
    return [Part(column, value, number, identity, table, usual, touched, keep) for number, value in enumerate(values)]


def key_of(value: Value) -> Any:
    """The key of a part in a `Partition`: its value, with fractions as floats."""
    return float(value) if isinstance(value, Fraction) else value
