"""Questions and domains in words, and remarks on values that occur in no row or fall into no group.

Nothing here depends on a row: what becomes of values that no domain allows is said by the question and the domains
alone. Group keys are computed from stored values, and those that were not foreseen have no group. What they could be if
nothing had been declared tells whether there may be such rows: an hour stays an hour, and `MONTH(day)` one of twelve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused, did_you_mean
from giveortake.plan import Filter, Literal
from giveortake.plan.expressions import COMPARISONS, Call, ColumnReference, Domain, is_missing
from giveortake.plan.functions import FUNCTIONS
from giveortake.plan.relations import Derive, JoinPersons, PerPerson, Scan, Unary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from giveortake.plan import Aggregate
    from giveortake.plan.expressions import Expression, Schema
    from giveortake.plan.question import Question
    from giveortake.plan.relations import Relation


_LONGEST = 300


def with_article(name: str) -> str:
    """A name after its article.

    >>> with_article("user_id"), with_article("Employee ID")
    ('a user_id', 'an Employee ID')
    """
    return f"{'an' if name[:1].lower() in {'a', 'e', 'i', 'o'} else 'a'} {name}"


def rows_without(person: str) -> str:
    """The remark that rows in which nobody is named are in no answer."""
    return f"rows without {with_article(person)} are left out"


def capped_rows(relation: Relation) -> int | None:
    """How many rows of a person count at most, of the tables that a relation reads; None where all of them do."""
    caps = [scan.most_rows_of_person for scan in relation.scans() if scan.table.person is not None]
    return min((cap for cap in caps if cap is not None), default=None)


def described(questions: Sequence[Question]) -> str:
    """The questions of one charge, for whoever reads the ledger: aggregates, keys, tables and columns.

    It is made from the questions alone. Constants are left out: the ledger need not show what somebody looked for, and
    questions that differ only in constants have different names anyway.
    """
    text = "; ".join(map(_described, questions))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _described(question: Question) -> str:
    measured = ", ".join(dict.fromkeys(_measured(aggregate) for aggregate in question.aggregates()))
    by = f" by {', '.join(name for name, _ in question.keys)}" if question.keys else ""
    tables = ", ".join(dict.fromkeys(table.name for table in question.relation.tables()))
    conditions = dict.fromkeys(
        column for filter_step in _filters(question.relation) for column in filter_step.condition.columns()
    )
    where = f", where {', '.join(conditions)}" if conditions else ""
    return f"{measured}{by} in {tables}{where}"


def _measured(aggregate: Aggregate) -> str:
    columns = {} if aggregate.expression is None else dict.fromkeys(aggregate.expression.columns())
    return f"{aggregate.kind.value}{' of ' if columns else ''}{', '.join(columns)}"


def _filters(relation: Relation) -> Iterator[Filter]:
    if isinstance(relation, Filter):
        yield relation
    for source in relation.sources:
        yield from _filters(source)


_LOOKING = frozenset({"eq", "ne", "in"})


def undeclared_values(question: Question) -> tuple[str, ...]:
    """A sentence for each value that a column is compared with, but probably never equals.

    NULL is never equal to anything, and a value that is not among the declared categories is probably misspelt.
    """
    sentences = dict.fromkeys(_of_relation(question.relation))
    schema = question.relation.schema
    for _, key in question.keys:
        sentences |= dict.fromkeys(_of_expression(key, schema))
    for aggregate in question.aggregates():
        for expression in aggregate.expressions:
            sentences |= dict.fromkeys(_of_expression(expression, schema))
    return tuple(sentences)


def _of_relation(relation: Relation) -> Iterator[str]:
    if isinstance(relation, Unary):
        for expression in relation.computed():
            yield from _of_expression(expression, relation.source.schema)
    for source in relation.sources:
        yield from _of_relation(source)


def _of_expression(expression: Expression, schema: Mapping[str, Domain]) -> Iterator[str]:
    if not isinstance(expression, Call):
        return
    if expression.name in COMPARISONS and any(map(is_missing, expression.arguments)):
        yield "a comparison with NULL is never true: write IS NULL, or IS NOT NULL"
    if expression.name in _LOOKING:
        columns = [argument for argument in expression.arguments if isinstance(argument, ColumnReference)]
        values = [
            argument.value
            for argument in expression.arguments
            if isinstance(argument, Literal) and argument.value is not None
        ]
        for column in columns:
            known = schema[column.name].categories or ()
            for value in values if known else ():
                if value not in known:
                    close = did_you_mean(
                        str(value), [category for category in known if isinstance(category, str)]
                    ).rstrip()
                    yield (
                        f"{str(value)!r} is none of the declared categories of `{column.name}`, and has no group of "
                        f"its own{f'; {close}' if close else ''}"
                    )
    for argument in expression.arguments:
        yield from _of_expression(argument, schema)


def rows_in_no_group(question: Question) -> tuple[str, ...]:
    """A sentence for each key of which a row may have another value than those that are known beforehand."""
    schema, stored = question.relation.schema, _stored_columns(question.relation)
    declared = {
        column_domain.categories for scan in question.relation.scans() for column_domain in scan.schema.values()
    } - {None}
    sentences = []
    for name, key in question.keys:
        domain, wide = key.domain(schema), _stored(key, schema, stored)
        listed, known = domain.keys(), wide.keys()
        if listed is None:  # whatever is stored is looked for
            continue
        if known is None or not set(known) - {None} <= set(listed):
            is_category = isinstance(key, ColumnReference) and domain.categories in declared
            allowed = "the declared ones" if is_category else "the declared domain allows"
            missing = ", or with none," if None not in listed and wide.nullable else ""
            sentences.append(f"rows with another `{name}` than {allowed}{missing} are in no group")
        if any(
            _is_wider(expression, relation.schema, _stored_columns(relation))
            for expression, relation in _bucketed(key, question.relation)
        ):
            sentences.append(f"values beyond the declared bounds count in the first or the last bucket of `{name}`")
    return tuple(sentences)


def values_at_ends(question: Question) -> tuple[str, ...]:
    """A sentence for each column of numbers that were listed, and are added up: others are clamped to their ends."""
    schema, stored = question.relation.schema, _stored_columns(question.relation)
    sentences: dict[str, None] = {}
    for aggregate in question.aggregates():
        for expression in aggregate.expressions if aggregate.is_clamped else ():
            for name in expression.columns() if _is_wider(expression, schema, stored) else ():
                listed = [str(category) for category in schema[name].categories or () if category is not None]
                if listed and schema[name].is_bounded:
                    bounds = f"; a list means keys, and bounds are ({', '.join(listed)})" if len(listed) == 2 else ""
                    sentences[f"values of `{name}` beyond the declared ones count as the nearest of them{bounds}"] = (
                        None
                    )
    return tuple(sentences)


def _stored_columns(relation: Relation) -> dict[str, Domain]:
    """The columns as they would be if nothing was declared of any table. Features of a person are clamped."""
    inside = [_stored_columns(source) for source in relation.sources]
    match relation:
        case Scan():
            return {name: Domain(domain.kind, step=domain.step) for name, domain in relation.schema.items()}
        case Derive():
            columns = {
                name: _stored(expression, relation.source.schema, inside[0]) for name, expression in relation.named
            }
            return {**inside[0], **columns}
        case PerPerson():
            return {**relation.schema, **{key: inside[0][key] for key in relation.keys}}
        case JoinPersons():
            return {**inside[0], **{new: inside[1][old] for old, new in relation.taken}}
        case _:
            return {**relation.schema, **{name: domain for columns in inside for name, domain in columns.items()}}


def _stored(expression: Expression, schema: Schema, stored: Mapping[str, Domain]) -> Domain:
    """What an expression may be on stored rows, of which nothing is declared; BUCKET clamps, as nothing else does."""
    if isinstance(expression, ColumnReference):
        return stored.get(expression.name) or expression.domain(schema)
    if not isinstance(expression, Call) or expression.name == "bucket":
        return expression.domain(schema)
    try:
        parts = [_stored(argument, schema, stored) for argument in expression.arguments]
        return FUNCTIONS[expression.name].rule(expression, parts)
    except QueryRefused:  # it needs bounds
        return Domain(expression.domain(schema).kind)


def _is_wider(expression: Expression, schema: Schema, stored: Mapping[str, Domain]) -> bool:
    """Whether a stored number may lie beyond its bounds."""
    domain, wide = expression.domain(schema), _stored(expression, schema, stored)
    return domain.is_bounded and (
        not wide.is_bounded or wide.ends()[0] < domain.ends()[0] or wide.ends()[1] > domain.ends()[1]
    )


def _bucketed(expression: Expression, relation: Relation) -> Iterator[tuple[Expression, Relation]]:
    """What BUCKET is of in an expression, and of which relation: that of a subquery, where it stands there."""
    if isinstance(expression, Call):
        if expression.name == "bucket":
            yield expression.arguments[0], relation
        for argument in expression.arguments:
            yield from _bucketed(argument, relation)
    elif isinstance(expression, ColumnReference) and isinstance(relation, Unary):
        definitions = dict(relation.named) if isinstance(relation, Derive) else {expression.name: expression}
        yield from _bucketed(definitions.get(expression.name, expression), relation.source)
