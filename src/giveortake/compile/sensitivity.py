"""Sensitivity: how much one privacy unit can move the numbers of a question.

Contribution bounds (caps), the custodian's and those that a question states, say how many rows of each person count.
They are part of the question's name in the ledger. `Stability` is how many rows and groups of a unit reach the
aggregates, and which sensitivities follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.answers.terms import Caps
from giveortake.engines.questions import Bounding
from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import sqrt_up
from giveortake.plan import Scan
from giveortake.plan.relations import Binary, Unary, require_few_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from giveortake.plan import Question, Relation
    from giveortake.privacy.guarantee import Neighbours


CapsRole: TypeAlias = Literal["default", "maximum"]

_USUAL = 4  # groups, and rows in each, in names where no cap was stated


@final
@dataclass(frozen=True, slots=True)
class CustodianCaps:
    """The custodian's caps: defaults for questions that state none, or maxima for all questions.

    Guarantee: whatever caps a question has, its noise follows from them. So these are a matter of taste, or of how
    much noise one question may get for its price, and not of privacy.
    """

    caps: Caps
    tables: tuple[str, ...]
    are_maxima: bool = False
    of_persons: bool = True  # if single rows are protected, there is nothing to cap

    @classmethod
    def of(cls, caps: Caps, tables: Collection[str], role: object, *, of_persons: bool = True) -> CustodianCaps:
        """The custodian's caps, checked against the tables."""
        if role not in {"default", "maximum"}:
            raise InvalidParameter("caps", role, "is unknown", hint='caps="default", or caps="maximum"')
        if role == "maximum" and not caps.stated:
            raise InvalidParameter(
                "caps",
                role,
                "makes caps maxima, but no cap is stated",
                hint="rows_per_person=4",
            )
        return cls(_in_tables(caps, tables), tuple(tables), role == "maximum", of_persons)

    @property
    def maxima(self) -> Caps:
        """The caps that no question may exceed, and that hold even where they lower no noise."""
        return self.caps if self.are_maxima else Caps()

    def __str__(self) -> str:
        if not self.caps.stated:
            return "no caps: each question says how much of a person counts"
        return f"{self.caps}{'; no question may say more' if self.are_maxima else ', unless a question says otherwise'}"

    def of_question(self, stated_caps: Caps) -> Caps:
        """The caps of a question: those that it states, and the custodian's where it states none.

        A table with a custodian's cap of one row per person keeps it, unless the question names the table.
        """
        if stated_caps.stated and not self.of_persons:
            raise nothing_to_cap()
        stated_caps = _in_tables(stated_caps, self.tables)
        rows = stated_caps.rows_per_person
        custodian_rows = self.caps.rows_per_person
        if rows is None:
            rows = custodian_rows
        elif isinstance(rows, Mapping) or isinstance(custodian_rows, Mapping):
            rows = {table: most for table in self.tables if (most := self._rows_in(table, stated_caps)) is not None}
        groups = stated_caps.groups_per_person or self.caps.groups_per_person
        caps = Caps(groups, stated_caps.rows_per_group or self.caps.rows_per_group, rows)
        if self.are_maxima:
            self._require_within(caps)
        return caps

    def _rows_in(self, table: str, stated_caps: Caps) -> int | None:
        custodian_rows, stated_rows = self.caps.rows_in(table), stated_caps.rows_in(table)
        if stated_rows is None:
            return custodian_rows
        return 1 if custodian_rows == 1 and not isinstance(stated_caps.rows_per_person, Mapping) else stated_rows

    def _require_within(self, caps: Caps) -> None:
        limits: dict[str, tuple[int | None, int | None]] = {
            "groups_per_person": (caps.groups_per_person, self.caps.groups_per_person),
            "rows_per_group": (caps.rows_per_group, self.caps.rows_per_group),
        }
        limits |= {
            f"rows_per_person in {table}": (caps.rows_in(table), self.caps.rows_in(table)) for table in self.tables
        }
        for name, (wanted, most) in limits.items():
            if wanted is not None and most is not None and wanted > most:
                raise QueryRefused(
                    f"{name} = {wanted:,} is above the custodian's maximum of {most:,}",
                    hint=f"{name.partition(' ')[0]}={most}, or less",
                )


def nothing_to_cap() -> InvalidParameter:
    """The refusal of caps where no person is protected."""
    return InvalidParameter("unit", "row", "leaves nothing to cap: every row is protected by itself")


def _in_tables(caps: Caps, tables: Collection[str]) -> Caps:
    """The caps with the exact names of the tables, which may be stated in any case of letters."""
    if not isinstance(caps.rows_per_person, Mapping):
        return caps
    known = {table.casefold(): table for table in tables}
    for name in caps.rows_per_person:
        if name.casefold() not in known:
            raise InvalidParameter(
                "rows_per_person",
                name,
                "is not a private table",
                hint=f"{did_you_mean(name, tables)}the tables are {', '.join(tables)}",
            )
    return replace(caps, rows_per_person={known[name.casefold()]: most for name, most in caps.rows_per_person.items()})


def capped(question: Question, caps: Caps) -> Question:
    """The question with tables in which each person has at most as many rows as the caps say.

    Scans of a whole table stay as they are. What follows from the caps, such as the bounds of a person's sums, is
    derived again, and a join that would multiply a person's rows too often is refused.
    """
    capped_relations: dict[int, Relation] = {}

    def cap(relation: Relation) -> Relation:
        if id(relation) not in capped_relations:
            capped_relations[id(relation)] = _with_sources(relation, cap, caps)
        return capped_relations[id(relation)]

    relation = cap(question.relation)
    require_few_matches(relation)
    return question if relation is question.relation else replace(question, relation=relation)


def _with_sources(relation: Relation, cap: Callable[[Relation], Relation], caps: Caps) -> Relation:
    """The relation with capped sources; the same object if nothing changes."""
    if isinstance(relation, Scan):
        most = (
            relation.most_rows_of_person
            if relation.is_whole or relation.person is None
            else caps.rows_in(relation.table.name)
        )
        return relation if most == relation.most_rows_of_person else replace(relation, most_rows_of_person=most)
    sources = tuple(map(cap, relation.sources))
    if all(one is other for one, other in zip(sources, relation.sources, strict=True)):
        return relation
    if isinstance(relation, Unary):
        return replace(relation, source=sources[0])
    assert isinstance(relation, Binary)  # noqa: S101 (there are no others)
    return replace(relation, left=sources[0], right=sources[1])


_WAYS = "rows_per_person=10, or groups_per_person=4 with rows_per_group=4"
_EVERYWHERE = "the custodian can say it for all questions, and a profile helps to choose"


def unbounded(what: str, ways: tuple[str, ...] = (_WAYS,)) -> QueryRefused:
    """The refusal of a question in which nothing bounds what one person contributes, with a hint how to bound it.

    `ways` are hints for stating the cap in the question itself.
    """
    return QueryRefused(
        f"one person may have any number of {what}, and no noise could hide them all: say how many count",
        hint="; ".join([*ways, _EVERYWHERE]),
    )


def named(caps: Caps, stability: Stability, question: Question) -> list[Any]:
    """The caps as part of a question's name in the ledger.

    This is a stored format: `[groups, rows, total]`, with four groups of four rows if nothing was stated, and one cap
    on all rows of a person for every table; caps in groups that lower a bound on all rows are marked `"each"`.
    """
    groups, rows = caps.groups_per_person, caps.rows_per_group
    total: Any = caps.rows_per_person
    if isinstance(total, Mapping):
        used = {scan.most_rows_of_person for scan in question.relation.scans() if not scan.is_whole}
        total = used.pop() if len(used) == 1 else sorted(total.items())
    if not stability.is_cut:
        return [_USUAL, _USUAL, total] if total is not None else [groups or _USUAL, rows or _USUAL, None]
    if stability.rows is not None:
        return [groups, rows, total, "each"]
    if groups is None and stability.touched <= _USUAL:
        groups = _USUAL
    return [groups, stability.rows_in_group or _USUAL, total]


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """How many rows and groups of one unit reach the aggregates.

    At most `rows`, by the structure of the question and the caps on its tables; in at most `groups` groups, with at
    most `rows_in_group` in each. None means that nothing bounds the number: whatever needs the bound is refused.
    `is_cut` says that the engine has to enforce the last two, because nothing else does.
    """

    rows: int | None
    groups: int | None
    rows_in_group: int | None
    is_cut: bool
    neighbours: Neighbours
    grouped: bool
    keys: int | None

    @classmethod
    def of(cls, question: Question, caps: Caps, neighbours: Neighbours, keys: int | None) -> Stability:
        """The stability from the structure of the question and the caps on its tables; further caps only lower it."""
        relation = question.relation
        grouped = bool(question.keys)
        most = relation.most_rows
        possible = _least(most, None if keys is None else max(keys, 1)) if grouped else 1
        groups, rows = possible, most
        if relation.person is not None:
            groups = _least(possible, caps.groups_per_person) if grouped else 1
            rows = 1 if question.has_one_row_in_group else _least(most, caps.rows_per_group)
        is_cut = most is None or groups != possible or rows != most
        return cls(most, groups, rows, is_cut, neighbours, grouped, keys)

    @property
    def bounding(self) -> Bounding | None:
        """The bounds that an engine has to enforce; one row per group is enough if only persons are counted."""
        return Bounding(self.touched, self.rows_in_group or 1) if self.is_cut else None

    def binding_caps(self, caps: Caps, relation: Relation, *, rows_count: bool) -> Caps | None:
        """The caps that affect an answer; None if everything counts. `rows_count` is False if only persons count."""
        read = {scan.table.name: scan.most_rows_of_person for scan in relation.scans()}
        rows = {name: most for name, most in read.items() if most is not None}
        total = rows if len(read) > 1 and rows else next(iter(rows.values()), None)
        groups = rows_in_group = None
        if self.is_cut and caps.rows_per_group and rows_count:
            groups, rows_in_group = self.groups if self.grouped else None, self.rows_in_group
        elif self.is_cut and self.grouped and (self.keys is None or self.touched < self.keys):
            groups = self.groups
        binding = Caps(groups, rows_in_group, total)
        return binding if binding.stated else None

    @property
    def scales(self) -> bool:
        """Whether only a part of a contribution may count."""
        return self.is_cut

    @property
    def touched(self) -> int:
        """How many groups one unit can be in."""
        if self.groups is None:
            raise unbounded("groups")
        return self.groups

    @property
    def most_in_group(self) -> int:
        """How many rows of a unit can count in one group."""
        if self.rows_in_group is None:
            raise unbounded("rows")
        return self.rows_in_group

    def sensitivity(self, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of sums of values between `least` and `most` steps.

        Guarantee ([Fre18], global sensitivity of count and bounded sum; [Har25], histograms under both relations):
        with X = max(|least|, |most|), a unit of at most s rows moves sums by at most s·X when it is added or removed;
        for bounded persons see `giveortake.engines.questions`. When a unit is changed, it is removed and another added:
        twice that. One row that is changed moves X in two groups, so 2X in L1 and √2·X in L2, or stays in its group
        and moves most − least there; that alone if there is but one group. Any row may be left out or have no value,
        whatever the schema says (a missing value is found where none was declared, 1/x is missing where x is zero
        against its bounds), so that zero is always among the values.
        """
        reach = max(abs(least), abs(most))
        spread = max(most, 0) - min(least, 0)
        changed = self.neighbours == "change-one"
        alone = not self.grouped and not binned
        if self.is_cut:
            if changed and alone:
                return Fraction(self.most_in_group * spread), Fraction(self.most_in_group * spread)
            twice = 2 if changed else 1
            l1, l2 = self._counted()
            return twice * l1 * reach, twice * l2 * reach
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        if not changed:
            return Fraction(self.rows * reach), Fraction(self.rows * reach)
        if self.rows > 1:
            return Fraction(2 * self.rows * reach), Fraction(2 * self.rows * reach)
        if alone:
            return Fraction(spread), Fraction(spread)
        return Fraction(2 * reach), max(reach * sqrt_up(Fraction(2)), Fraction(spread))

    def _counted(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 norm of the numbers of rows of a unit that count in each group, if the engine cuts the rest.

        Guarantee: with R rows in each of G groups and n = min(s, G·R) of the s that a unit has, n in L1 and the root of
        ⌊n/R⌋·R² + (n mod R)² in L2. Proof: a unit with c rows in each of m groups counts t = min(c, R) there, times
        min(1, G/m) (see `giveortake.engines.questions`), and the t add up to at most min(s, m·R). If m ≤ G, they add up
        to at most n, and squares of numbers up to R that add up to n are greatest when as many of them as possible are
        R. If m > G, each is multiplied by G/m: what was at most min(s, m·R) is at most n then; of the squares, if
        s ≤ G·R they were within the bound before, and else their sum is at most R·m·R·(G/m)² < G·R². ∎
        """
        groups, rows = self.touched, self.most_in_group
        most = groups * rows if self.rows is None else min(self.rows, groups * rows)
        full, rest = divmod(most, rows)
        l2 = rows * sqrt_up(Fraction(full)) if rest == 0 else sqrt_up(Fraction(full * rows**2 + rest**2))
        return Fraction(most), l2

    def of_persons(self, fineness: int) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of persons: a person counts one in each of their groups."""
        touched = self.touched if self.grouped else 1
        twice = 2 if self.neighbours == "change-one" and self.grouped else 1
        return Fraction(twice * touched * fineness), twice * fineness * sqrt_up(Fraction(touched))

    def of_distinct(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of distinct values: one for each value of a unit in a group."""
        twice = 2 if self.neighbours == "change-one" else 1
        if self.is_cut:
            l1, l2 = self._counted()
            return twice * l1, twice * l2
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        return Fraction(twice * self.rows), Fraction(twice * self.rows)


def _least(one: int | None, other: int | None) -> int | None:
    """The lesser of two bounds; None stands for no bound."""
    known = [bound for bound in (one, other) if bound is not None]
    return min(known) if known else None
