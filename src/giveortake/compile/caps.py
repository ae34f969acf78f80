"""Caps: from those of the custodian and the analyst to the rows of each person that count in one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.advice import Advice
from giveortake.answers.terms import Caps
from giveortake.errors import InvalidParameter, QueryRefused, meant
from giveortake.plan import Scan
from giveortake.plan.costs import require_few_matches
from giveortake.plan.relations import Binary, Unary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from giveortake.compile.stability import Stability
    from giveortake.plan import Question, Relation

__all__ = ["Caps", "CapsRole", "CustodianCaps", "capped", "named", "nothing_to_cap", "unbounded"]

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
                hint=Advice("{rows_per_person}", rows_per_person=4),
            )
        return cls(_in_tables(caps, tables), tuple(tables), role == "maximum", of_persons)

    def __str__(self) -> str:
        if not self.caps.stated:
            return "no caps: each question says how much of a person counts"
        return f"{self.caps}{'; no question may say more' if self.are_maxima else ', unless a question says otherwise'}"

    def of_question(self, said: Caps) -> Caps:
        """The caps of a question: those that it states, and the custodian's where it states none.

        A table with a custodian's cap of one row per person keeps it, unless the question names the table.
        """
        if said.stated and not self.of_persons:
            raise nothing_to_cap()
        said = _in_tables(said, self.tables)
        rows = said.rows_per_person
        ours = self.caps.rows_per_person
        if rows is None:
            rows = ours
        elif isinstance(rows, Mapping) or isinstance(ours, Mapping):
            rows = {each: most for each in self.tables if (most := self._rows_in(each, said)) is not None}
        groups = said.groups_per_person or self.caps.groups_per_person
        found = Caps(groups, said.rows_per_group or self.caps.rows_per_group, rows)
        if self.are_maxima:
            self._require_within(found)
        return found

    def _rows_in(self, table: str, said: Caps) -> int | None:
        ours, theirs = self.caps.rows_in(table), said.rows_in(table)
        if theirs is None:
            return ours
        return 1 if ours == 1 and not isinstance(said.rows_per_person, Mapping) else theirs

    def _require_within(self, found: Caps) -> None:
        limits: dict[str, tuple[int | None, int | None]] = {
            "groups_per_person": (found.groups_per_person, self.caps.groups_per_person),
            "rows_per_group": (found.rows_per_group, self.caps.rows_per_group),
        }
        limits |= {f"rows_per_person in {each}": (found.rows_in(each), self.caps.rows_in(each)) for each in self.tables}
        for name, (wanted, most) in limits.items():
            if wanted is not None and most is not None and wanted > most:
                said: dict[str, Any] = {name.partition(" ")[0]: most}
                raise QueryRefused(
                    f"{name} = {wanted:,} is above the custodian's maximum of {most:,}",
                    hint=Advice(*(f"{{{each}}}, or less" for each in said), **said),
                )


def nothing_to_cap() -> InvalidParameter:
    """The refusal of caps where no person is protected."""
    return InvalidParameter("unit", "row", "leaves nothing to cap: every row is protected by itself")


def _in_tables(caps: Caps, tables: Collection[str]) -> Caps:
    """The caps with the exact names of the tables, which may be stated in any case of letters."""
    if not isinstance(caps.rows_per_person, Mapping):
        return caps
    known = {each.casefold(): each for each in tables}
    for name in caps.rows_per_person:
        if name.casefold() not in known:
            raise InvalidParameter(
                "rows_per_person",
                name,
                "is not a private table",
                hint=f"{meant(name, tables)}the tables are {', '.join(tables)}",
            )
    return replace(caps, rows_per_person={known[name.casefold()]: most for name, most in caps.rows_per_person.items()})


def capped(question: Question, caps: Caps) -> Question:
    """The question with tables in which each person has at most as many rows as the caps say.

    Scans of a whole table stay as they are. What follows from the caps, such as the bounds of a person's sums, is
    derived again, and a join that would multiply a person's rows too often is refused.
    """
    made: dict[int, Relation] = {}

    def cap(relation: Relation) -> Relation:
        if id(relation) not in made:
            made[id(relation)] = _with_sources(relation, cap, caps)
        return made[id(relation)]

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


_WAYS = "{cap}, or {caps_in_groups}"


def unbounded(what: str, ways: tuple[str, ...] = (_WAYS,)) -> QueryRefused:
    """The refusal of a question in which nothing bounds what one person contributes, with a hint how to bound it.

    `ways` are hints for stating the cap in the question itself.
    """
    everywhere = "{for_all} can say it for all questions, and {profiles} helps to choose"
    return QueryRefused(
        f"one person may have any number of {what}, and no noise could hide them all: say how many count",
        hint=Advice(*ways, everywhere, between="; "),
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
