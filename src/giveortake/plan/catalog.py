"""The tables that a question may name, in documents as well, and the check of a question's origin.

A plan is made of public values, and whoever holds one can make another: with another table, other bounds, another
person, or another part of the data. Sensitivities are derived from plans. So before a question is priced, every path
from it to rows has to pass through one of the session's own relations (the same object, not an equal one), and
everything on the way has to be a node that the plan knows.

Plans are written and read by `giveortake.codec`. A document names its tables, with fingerprints of public ones;
everything else is spelled out, and every node checks itself when it is made.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, final

from giveortake import codec
from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.plan.aggregates import Aggregate
from giveortake.plan.expressions import Call, ColumnReference, Expression, Literal
from giveortake.plan.question import Question
from giveortake.plan.relations import (
    Derive,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    PerPerson,
    PublicTable,
    Relation,
    Scan,
    SemiJoin,
    Unary,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from giveortake.plan.relations import PrivateTable

Json: TypeAlias = Any

_NAMED = 'the tables are {}; a table to join is named first: gt.protect(…, public={{"regions": table}})'


@final
@dataclass(frozen=True, slots=True, repr=False)
class Catalog:
    """Private relations and public tables by name, in any case of letters."""

    private: Mapping[str, Relation]
    public: Mapping[str, PublicTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [name.casefold() for name in (*self.private, *self.public)]
        if len(set(names)) < len(names):
            raise InvalidParameter(
                "catalog", sorted(names), "has two tables of the same name", hint="rename one of them"
            )

    def __repr__(self) -> str:
        public = (f"{name}({', '.join(table.schema)}), public" for name, table in self.public.items())
        private = (f"{name}({', '.join(relation.schema)})" for name, relation in self.private.items())
        return f"<Catalog: {'; '.join([*private, *public])}>"

    def find(self, name: str) -> Relation | PublicTable:
        """The table of that name, or a refusal that lists the tables there are."""
        tables: dict[str, Relation | PublicTable] = {**self.private, **self.public}
        if not hasattr(name, "casefold"):
            raise InvalidParameter("table", name, "is not the name of a table", hint=_NAMED.format(", ".join(tables)))
        for known, table in tables.items():
            if known.casefold() == name.casefold():
                return table
        raise QueryRefused(
            f"there is no table `{name}`",
            hint=f"{did_you_mean(name, tables)}the tables are {', '.join(tables) or 'none'}",
        )

    def find_public(self, name: str) -> PublicTable:
        """The public table of that name."""
        table = self.find(name)
        if isinstance(table, PublicTable):
            return table
        raise QueryRefused(
            f"`{name}` is a private table, and private tables can only be joined on the person",
            hint="join them ON the person",
        )


def meet_public(
    source: Relation, public: PublicTable, on: Expression, column: str, *, optional: bool
) -> tuple[JoinPublic, dict[str, str]]:
    """The join with a public table, and the names of that table's columns in it.

    A name that is taken becomes `table.column`. The column joined on is that of the left side, if both are equal.
    """
    names: dict[str, str] = {}
    for name in public.schema:
        if name == column and not optional and isinstance(on, ColumnReference):
            continue
        names[name] = free_name(name, public.name, (*source.schema, *names.values()))
    join = JoinPublic(source, public, on, column, tuple(names.items()), optional)
    if column not in names and isinstance(on, ColumnReference):
        names[column] = on.name
    return join, names


def meet_persons(left: Relation, right: Relation, *, optional: bool) -> tuple[JoinPersons, dict[str, str]]:
    """The join of two private relations on the person, and the names of the right one's columns in it."""
    names: dict[str, str] = {}
    prefix = right.tables()[0].name
    for name in right.schema:
        if name == right.person and not optional:
            continue
        names[name] = free_name(name, prefix, (*left.schema, *names.values()))
    join = JoinPersons(left, right, tuple(names.items()), optional)
    names.setdefault(str(right.person), str(left.person))
    return join, names


def free_name(name: str, prefix: str, taken: Iterable[str]) -> str:
    """The name itself, or `prefix.name`, or that with a number: the first that nothing else has, whatever its case.

    >>> free_name("zone", "zones", ["Zone"])
    'zones.zone'
    """
    used = {taken_name.casefold() for taken_name in taken}
    candidate, number = name, 1
    while candidate.casefold() in used:
        candidate = f"{prefix}.{name}" if number == 1 else f"{prefix}.{name}.{number}"
        number += 1
    return candidate


_STEPS = {Filter, Derive, JoinPublic, SemiJoin, JoinPersons, Union, PerPerson, KeepParts}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The relations that questions may start from, and the public tables that they may join, by name.

    `uncapped` are the private tables without caps on rows, for profiles, which help to choose caps and bounds.

    Guarantee: a plan that `codec.read` makes with an origin as its references is made of the origin's own tables, the
    same objects, and of nodes that have checked themselves; so a document cannot change who is protected, or the
    bounds. Anything else is refused before a row is read or a budget is looked at.
    """

    relations: Mapping[str, Relation]
    uncapped: Mapping[str, Scan]
    public: Mapping[str, PublicTable]

    @classmethod
    def of(
        cls,
        private: Iterable[PrivateTable],
        public: Iterable[PublicTable],
        rows_in: Callable[[str], int | None],
    ) -> Origin:
        """The origin of the given tables; `rows_in` gives the default cap on rows per person."""
        tables = list(private)
        return cls(
            MappingProxyType({table.name: Scan(table, rows_in(table.name)) for table in tables}),
            MappingProxyType({table.name: Scan(table, is_whole=True) for table in tables}),
            MappingProxyType({table.name: table for table in public}),
        )

    def narrowed(self, narrow: Callable[[Relation], Relation]) -> Origin:
        """This origin, restricted to a part of each relation."""
        relations = {name: narrow(relation) for name, relation in self.relations.items()}
        return Origin(MappingProxyType(relations), MappingProxyType({}), self.public)

    def name_of(self, value: object) -> Json:
        """The name of a table, for documents; None for what is no table. Another's table is refused."""
        if isinstance(value, PublicTable):
            return {codec.KIND: "public table", "name": value.name, "fingerprint": value.fingerprint}
        if isinstance(value, Relation):
            for kind, tables in (("table", self.relations), ("whole table", self.uncapped)):
                for name, own in tables.items():
                    if own is value:
                        return {codec.KIND: kind, "name": name}
            if isinstance(value, Scan):
                _refuse()
        return None

    def find(self, kind: type, document: Json) -> object:
        """The table that a document names; None if it spells out something else."""
        if kind is PublicTable:
            public = _table_named("public table", document, self.public, "fingerprint")
            if public.fingerprint != document["fingerprint"]:
                raise QueryRefused(
                    f"the public table `{public.name}` holds something else now", hint="ask the question again"
                )
            return public
        tag = document.get(codec.KIND) if kind is Relation and isinstance(document, dict) else None
        if tag == "table":
            return _table_named("table", document, self.relations)
        return _table_named("whole table", document, self.uncapped) if tag == "whole table" else None

    def require(self, question: Question) -> None:
        """Refuse a question that is not made from these relations and tables."""
        if type(question) is not Question:
            _refuse()
        self._require(question.relation)
        for _, key in question.keys:
            _require_plain(key)
        for aggregate in question.aggregates():
            if type(aggregate) is not Aggregate:
                _refuse()
            for expression in aggregate.expressions:
                _require_plain(expression)

    def _require(self, relation: Relation) -> None:
        if any(relation is own for own in (*self.relations.values(), *self.uncapped.values())):
            return
        if type(relation) not in _STEPS:
            _refuse()
        if isinstance(relation, SemiJoin) and relation.condition is not None:
            _require_plain(relation.condition)
        if isinstance(relation, JoinPublic | SemiJoin) and not any(
            relation.public is own for own in self.public.values()
        ):
            _refuse()
        if isinstance(relation, PerPerson) and any(type(feature) is not Aggregate for _, feature in relation.features):
            _refuse()
        if isinstance(relation, Unary):
            for expression in relation.computed():
                _require_plain(expression)
        for source in relation.sources:
            self._require(source)


_Table = TypeVar("_Table")


def _table_named(kind: str, document: Json, tables: Mapping[str, _Table], *others: str) -> _Table:
    """The table of some kind that a document names, and nothing else."""
    if not isinstance(document, dict) or document.keys() != {codec.KIND, "name", *others} or document["kind"] != kind:
        raise QueryRefused(f"the plan does not name a {kind}")
    name = document["name"]
    if not isinstance(name, str) or name not in tables:
        hint = f"there are: {', '.join(tables) or 'none'}"
        raise QueryRefused(f"there is no {kind} `{str(name)[:40]}`", hint=hint)
    return tables[name]


@final
class _TablesByCaps:
    """Names of tables in digests: with their caps, as a measurement has them."""

    def name_of(self, value: object) -> Json:
        if isinstance(value, PublicTable):
            return [value.name, value.fingerprint]
        if isinstance(value, Scan):
            first = [] if value.first_by is None else [value.first_by]
            return [value.table.name, value.most_rows_of_person, *first]
        return None

    def find(self, kind: type, document: Json) -> object:
        raise NotImplementedError


_BY_CAPS = _TablesByCaps()


def identity(*plans: object) -> str:
    """A digest of plans, and of what is made of plans, for names in ledgers: the same for equal plans."""
    hints = (Relation if isinstance(plan, Relation) else None for plan in plans)
    documents = [codec.write(plan, hint, references=_BY_CAPS) for plan, hint in zip(plans, hints, strict=True)]
    return hashlib.sha256(codec.text_of(documents, Any).encode()).hexdigest()


def _require_plain(expression: Expression) -> None:
    if type(expression) not in {ColumnReference, Literal, Call}:
        _refuse()
    if isinstance(expression, Call):
        for argument in expression.arguments:
            _require_plain(argument)


def _refuse() -> NoReturn:
    raise QueryRefused(
        "the question was not made from this session's own tables", hint="begin with a table of it, or with SQL"
    )
