"""Caps and bounds: suggested by a profile, checked privately, and found as version 0.1 found them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.confidence import Confidence
from giveortake.compile import Rules, Spend
from giveortake.errors import InvalidParameter
from giveortake.exact import spendable
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    ColumnReference,
    Derive,
    Kind,
    Literal,
    Measured,
    PerPerson,
    Question,
)
from giveortake.session.batches import share_of_each

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.answers import Answer
    from giveortake.compile import Caps
    from giveortake.exact import Number
    from giveortake.plan import Expression, Origin, Relation
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profile import Profile

_MOST_DOUBLINGS = 20
_LARGEST = 40  # powers of two that are tried for the bounds of a column


@final
@dataclass(frozen=True, slots=True)
class Suggestion:
    """Caps and bounds that leave at least the wanted share of people unchanged, as far as the noise allows to tell.

    `profile` is the profile they come from; suggestions of 0.1 have none.
    """

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


@final
@dataclass(frozen=True, slots=True)
class BoundsSearch:
    """The search for bounds of 0.1, to read its answers: a histogram of powers of two for each cap and column.

    `together` caps all rows of a person, whatever their groups.
    """

    relation: Relation
    together: bool
    by: tuple[str, ...]
    columns: tuple[str, ...]
    share: Fraction

    def questions(self) -> dict[str, Question]:
        """The questions of the search, by their subject."""
        relation, by = self.relation, () if self.together else self.by
        asked: dict[str, Question] = {}
        if relation.person is not None:
            if by:
                asked["groups"] = _histogram(_groups(relation, by), "size", range(_MOST_DOUBLINGS + 1))
            asked["rows"] = _histogram(_rows(relation, by), "size", range(_MOST_DOUBLINGS + 1))
        for column in self.columns:
            powers = range(-_LARGEST, _LARGEST + 1)
            asked[f"column {column}"] = _histogram(_magnitude(relation, column), "size", powers)
            asked[f"below zero {column}"] = _below_zero(relation, column)
        if not asked:
            raise InvalidParameter(
                "columns",
                list(self.columns),
                "is empty, and where every row is protected by itself there are no caps",
                hint="name a column",
            )
        return asked

    def paid(self, mechanism: InteractiveMechanism, caps: Caps, epsilon: Number) -> Suggestion | None:
        """The suggestion that was paid for before, read again for free; None if there is none."""
        asked = self.questions()
        spend = share_of_each(Spend(epsilon=spendable("epsilon", epsilon)), list(asked.values()), Rules.FIRST)
        priced = [mechanism.price_at(question, caps, spend, rules=Rules.FIRST) for question in asked.values()]
        if not mechanism.knows(priced, None):
            return None
        found = mechanism.answer(priced, Confidence("0.95"), None)
        return self.suggestion(dict(zip(asked, found, strict=True)))

    def suggestion(self, answered: Mapping[str, Answer]) -> Suggestion:
        """The least powers of two that leave the wanted share of people unchanged."""
        powers = {
            name: _power(answer, self.share) for name, answer in answered.items() if not name.startswith("below zero")
        }
        bounds: dict[str, tuple[int | float, int | float]] = {}
        for column in self.columns:
            power = powers[f"column {column}"]
            reach = 2**power if power >= 0 else 2.0**power
            some = _beyond_noise(answered[f"below zero {column}"])[0] > 0
            bounds[column] = (-reach if some else 0, reach)
        rows = 2 ** powers["rows"] if "rows" in powers else None
        return Suggestion(
            2 ** powers["groups"] if "groups" in powers else None,
            None if self.together else rows,
            bounds,
            tuple(answered.values()),
            rows if self.together else None,
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


def _groups(relation: Relation, by: Sequence[str]) -> Relation:
    """The number of groups of each person."""
    pairs = PerPerson(relation, tuple(by), (("size", Aggregate(AggregateKind.COUNT_ROWS)),))
    return PerPerson(pairs, (), (("size", Aggregate(AggregateKind.COUNT_ROWS)),))


def _rows(relation: Relation, by: Sequence[str]) -> Relation:
    """The number of rows of each person, in their largest group if `by` names columns."""
    pairs = PerPerson(relation, tuple(by), (("size", Aggregate(AggregateKind.COUNT_ROWS)),))
    if not by:
        return pairs
    return PerPerson(
        _clamped(pairs, ["size"]), (), (("size", Aggregate(AggregateKind.MAXIMUM, ColumnReference("size"))),)
    )


def _magnitude(relation: Relation, column: str) -> Relation:
    """The greatest absolute value of each unit."""
    if column not in relation.schema or not relation.schema[column].kind.is_number:
        raise InvalidParameter("columns", column, "is not a column of numbers")
    away = Call(
        "clamp", (Call("abs", (Call("to_real", (ColumnReference(column),)),)), Literal(0), Literal(2**_LARGEST))
    )
    derived = Derive(relation, (("size", away),))
    if relation.person is None:
        return derived
    return PerPerson(derived, (), (("size", Aggregate(AggregateKind.MAXIMUM, ColumnReference("size"))),))


def _below_zero(relation: Relation, column: str) -> Question:
    """A question for the number of units with a value below zero."""
    size = Call("clamp", (Call("to_real", (ColumnReference(column),)), Literal(-1), Literal(0)))
    units: Relation = Derive(relation, (("size", size),))
    if relation.person is not None:
        units = PerPerson(units, (), (("size", Aggregate(AggregateKind.MINIMUM, ColumnReference("size"))),))
    below = Call("case", (Call("lt", (ColumnReference("size"), Literal(0))), Literal(1), Literal(None)))
    return Question(units, (), (("people", Measured(Aggregate(AggregateKind.COUNT_VALUES, below))),))


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


def _histogram(relation: Relation, column: str, powers: range) -> Question:
    """A question for the number of units in each bin ]2^(k−1), 2^k]."""
    arguments: list[Any] = []
    for power in powers[:-1]:
        border = Fraction(2) ** power
        edge = Literal(border.numerator if border.denominator == 1 else border)
        arguments += [Call("le", (ColumnReference(column), edge)), Literal(power)]
    key = Call("case", (*arguments, Literal(powers[-1])))
    assert key.domain(relation.schema).kind is Kind.INTEGER  # noqa: S101 (whole powers)
    return Question(relation, (("power", key),), (("people", Measured(Aggregate(AggregateKind.COUNT_ROWS))),))


def _power(answer: Answer, share: Fraction) -> int:
    """The least power of two up to which the given share of the noisy total lies."""
    powers = [int(power) for power in answer["power"].values]  # type: ignore[arg-type]  # (whole numbers: its keys)
    seen = _beyond_noise(answer)
    needed, reached = share * sum(seen), 0
    for power, count in zip(powers, seen, strict=True):
        reached += count
        if reached >= needed and count:
            return power
    return powers[-1] if sum(seen) else powers[0]


def _beyond_noise(answer: Answer) -> list[int]:
    """The noisy numbers of people, with 0 for those up to three margins, which noise alone exceeds once in 16,000."""
    counts = [int(count) for count in answer["people"].values]  # type: ignore[arg-type]  # (whole numbers: a count)
    margin = int(answer["people"].high[0]) - counts[0]  # type: ignore[index, arg-type]  # (a count has an interval)
    return [count if count > 3 * margin else 0 for count in counts]
