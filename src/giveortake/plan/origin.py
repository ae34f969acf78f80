"""Where a question comes from: whatever it reads, it reads through the tables that were registered.

A plan is made of public values, and whoever holds one can make another: with another table, other bounds, another
person, or a part of the data in the place of another. Sensitivities are derived from plans. So before a question is
priced, every path from it to rows has to pass through one of the session's own relations, the very object, and
everything on the way has to be a node that the plan knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, final

from giveortake.errors import QueryRefused
from giveortake.plan.aggregates import Aggregate
from giveortake.plan.expressions import Call, Column, Expression, Literal
from giveortake.plan.questions import Question
from giveortake.plan.relations import (
    Derive,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    PerPerson,
    Relation,
    Scan,
    Unary,
    Union,
)
from giveortake.plan.semi_joins import SemiJoin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from giveortake.plan.tables import PrivateTable, PublicTable

_STEPS = {Filter, Derive, JoinPublic, SemiJoin, JoinPersons, Union, PerPerson, KeepParts}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The relations that questions may begin with, and the public tables that they may join, by name.

    `uncapped` are the private tables before any cap on rows, of which caps and bounds are found.
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
        """Tables, of which `rows_in` says how many rows of a person count unless a question says otherwise."""
        tables = list(private)
        return cls(
            MappingProxyType({each.name: Scan(each, rows_in(each.name)) for each in tables}),
            MappingProxyType({each.name: Scan(each, is_whole=True) for each in tables}),
            MappingProxyType({each.name: each for each in public}),
        )

    def narrowed(self, narrow: Callable[[Relation], Relation]) -> Origin:
        """The same, of which only a part is seen."""
        relations = {name: narrow(relation) for name, relation in self.relations.items()}
        return Origin(MappingProxyType(relations), MappingProxyType({}), self.public)

    def require(self, question: Question) -> None:
        """Refuse a question that was made of anything else."""
        if type(question) is not Question:
            _refuse()
        self._require(question.relation)
        for _, key in question.keys:
            _require_plain(key)
        for aggregate in question.aggregates():
            if type(aggregate) is not Aggregate:
                _refuse()
            for each in aggregate.expressions:
                _require_plain(each)

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
        if isinstance(relation, PerPerson) and any(type(each) is not Aggregate for _, each in relation.features):
            _refuse()
        if isinstance(relation, Unary):
            for expression in relation.computed():
                _require_plain(expression)
        for source in relation.sources:
            self._require(source)


def _require_plain(expression: Expression) -> None:
    if type(expression) not in {Column, Literal, Call}:
        _refuse()
    if isinstance(expression, Call):
        for argument in expression.arguments:
            _require_plain(argument)


def _refuse() -> NoReturn:
    raise QueryRefused(
        "the question was not made of this session's own tables", hint="begin with session.table() or session.sql()"
    )
