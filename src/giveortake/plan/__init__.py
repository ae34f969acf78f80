"""Plans of questions: columns with domains, expressions that cannot fail, relations whose rows belong to units.

A plan is immutable and knows nothing of SQL, engines or budgets. Both front ends build it, `compile` prices it.
"""

from giveortake.plan.aggregates import Aggregate, AggregateKind
from giveortake.plan.catalog import (
    Catalog,
    Origin,
    free_name,
    identity,
    meet_persons,
    meet_public,
)
from giveortake.plan.domains import Domain, Kind, Schema, Value
from giveortake.plan.expressions import Call, ColumnReference, Expression, Literal
from giveortake.plan.question import Computed, Measured, Question, Quotient, Window
from giveortake.plan.relations import (
    Derive,
    Filter,
    JoinPersons,
    JoinPublic,
    KeepParts,
    PerPerson,
    PrivateTable,
    PublicTable,
    Relation,
    Scan,
    SemiJoin,
    Union,
    require_few_steps,
    require_name,
)

__all__ = [
    "Aggregate",
    "AggregateKind",
    "Call",
    "Catalog",
    "ColumnReference",
    "Computed",
    "Derive",
    "Domain",
    "Expression",
    "Filter",
    "JoinPersons",
    "JoinPublic",
    "KeepParts",
    "Kind",
    "Literal",
    "Measured",
    "Origin",
    "PerPerson",
    "PrivateTable",
    "PublicTable",
    "Question",
    "Quotient",
    "Relation",
    "Scan",
    "Schema",
    "SemiJoin",
    "Union",
    "Value",
    "Window",
    "free_name",
    "identity",
    "meet_persons",
    "meet_public",
    "require_few_steps",
    "require_name",
]
