"""Caps and bounds: suggested by a profile, and checked privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import InvalidParameter
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    ColumnReference,
    Derive,
    Literal,
    Measured,
    PerPerson,
    Question,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from giveortake.answers import Answer
    from giveortake.compile import Caps
    from giveortake.plan import Expression, Origin, Relation
    from giveortake.session.profiles.profile import Profile


_MOST_DOUBLINGS = 20


@final
@dataclass(frozen=True, slots=True)
class Suggestion:
    """Caps and bounds that leave at least the wanted share of people unchanged, as far as the noise allows to tell."""

    groups_per_person: int | None
    rows_per_group: int | None
    bounds: dict[str, tuple[int | float, int | float]]
    answers: tuple[Answer, ...]
    rows_per_person: int | None = None
    profile: Profile | None = None

    def __repr__(self) -> str:
        parts = []
        if self.groups_per_person is not None:
            parts.append(f"groups_per_person={self.groups_per_person}")
        if self.rows_per_group is not None:
            parts.append(f"rows_per_group={self.rows_per_group}")
        if self.rows_per_person is not None:
            parts.append(f"rows_per_person={self.rows_per_person}")
        if self.bounds:
            parts.append(f"domains={self.bounds!r}")
        return f"gt.protect(…, {', '.join(parts)})"


def suggestion_of(profile: Profile, answers: Sequence[Answer], *, together: bool, share: Fraction) -> Suggestion:
    """The caps and bounds that a profile suggests; `together` caps all rows of a person, whatever their groups."""
    caps = profile.caps(share)
    rows = caps.get("rows_per_person")
    return Suggestion(
        caps.get("groups_per_person"),
        None if together else caps.get("rows_per_group", rows),
        profile.bounds_at(share),
        tuple(answers),
        rows if together else None,
        profile,
    )


def bounds_check(relation: Relation, caps: Caps, by: Sequence[str], columns: Sequence[str]) -> Question:
    """A question for the number of people, and of those who exceed each cap or bound."""
    if relation.person is None:
        raise InvalidParameter("check_bounds", "gt.ROW", "is about people", hint="count rows outside the bounds in SQL")
    total = caps.rows_in(relation.tables()[0].name)
    by = () if total is not None else by
    features: list[tuple[str, Expression]] = []
    inner: Relation = relation
    counted: list[tuple[str, Aggregate]] = []
    for column in columns:
        domain = relation.schema[column]
        if not domain.is_bounded:
            raise InvalidParameter("columns", column, "has no declared bounds to check")
        counted.append((f"outside {column}", Aggregate(AggregateKind.COUNT_VALUES, _outside(relation, column))))
    if by:
        pairs = PerPerson(inner, tuple(by), (("rows", Aggregate(AggregateKind.COUNT_ROWS)), *counted))
        sizes = _clamped(pairs, ["rows", *(name for name, _ in counted)])
        person: Relation = PerPerson(
            sizes,
            (),
            (
                ("groups", Aggregate(AggregateKind.COUNT_ROWS)),
                ("rows", Aggregate(AggregateKind.MAXIMUM, ColumnReference("rows"))),
                *((name, Aggregate(AggregateKind.MAXIMUM, ColumnReference(name))) for name, _ in counted),
            ),
        )
        if caps.groups_per_person is not None:
            features.append(
                ("over_groups_per_person", Call("gt", (ColumnReference("groups"), Literal(caps.groups_per_person))))
            )
    else:
        person = PerPerson(inner, (), (("rows", Aggregate(AggregateKind.COUNT_ROWS)), *counted))
    if total is not None:
        features.append(("over_rows_per_person", Call("gt", (ColumnReference("rows"), Literal(total)))))
    elif caps.rows_per_group is not None:
        features.append(("over_rows_per_group", Call("gt", (ColumnReference("rows"), Literal(caps.rows_per_group)))))
    features.extend(
        (f"outside_{column}", Call("gt", (ColumnReference(f"outside {column}"), Literal(0)))) for column in columns
    )
    if not features:
        raise InvalidParameter(
            "check_bounds", None, "has nothing to check: no caps are stated", hint="gt.protect(…, rows_per_person=10)"
        )
    outputs = [("people", Measured(Aggregate(AggregateKind.COUNT_ROWS)))]
    for name, condition in features:
        one = Call("case", (condition, Literal(1), Literal(None)))
        outputs.append((name, Measured(Aggregate(AggregateKind.COUNT_VALUES, one))))
    return Question(person, (), tuple(outputs))


def table_before_caps(origin: Origin) -> Relation:
    """The only table of a session, without caps: bounds are found for it."""
    if not origin.uncapped:
        raise InvalidParameter("bounds", "a part", "can be found for the whole table only, not for a part")
    if len(origin.uncapped) != 1:
        raise InvalidParameter("bounds", list(origin.uncapped), "can be found for one table at a time")
    (relation,) = origin.uncapped.values()
    return relation


def _outside(relation: Relation, column: str) -> Expression:
    domain = relation.schema[column]
    low, high = (Literal(end) for end in (domain.low, domain.high))
    below, above = Call("lt", (ColumnReference(column), low)), Call("gt", (ColumnReference(column), high))
    return Call("case", (Call("or", (below, above)), Literal(1), Literal(None)))


def _clamped(relation: PerPerson, names: Sequence[str]) -> Relation:
    schema = relation.schema
    most = Literal(2**_MOST_DOUBLINGS)
    return Derive(
        relation,
        tuple(
            (name, Call("clamp", (ColumnReference(name), Literal(0), most)) if name in names else ColumnReference(name))
            for name in schema
        ),
    )
