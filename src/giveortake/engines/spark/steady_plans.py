"""Whether a plan of Spark gives the same rows each time it is read.

What user-defined functions do, and how the rows came about that a plan begins with, is in no plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHOOSING = {"Sample", "GlobalLimit", "LocalLimit", "Offset", "Tail", "AsOfJoin", "AttachDistributedSequence"}
_CLOCKS = {"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now"}
_BUILT_IN = "org.apache.spark.sql.catalyst.expressions.aggregate."
_OF_ANY_ORDER = {  # aggregates that are the same, but for the last bits of doubles, in whatever order their rows come
    *("Count", "CountIf", "Sum", "Average", "Min", "Max", "Product", "HyperLogLogPlusPlus", "PivotFirst"),
    *("BoolAnd", "BoolOr", "BitAndAgg", "BitOrAgg", "BitXorAgg"),
    *("Median", "Percentile", "PercentileCont", "PercentileDisc"),
    *("StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "Skewness", "Kurtosis"),
    *("Corr", "CovPopulation", "CovSample", "RegrCount", "RegrAvgX", "RegrAvgY", "RegrR2", "RegrReplacement"),
    *("RegrSXX", "RegrSXY", "RegrSYY", "RegrSlope", "RegrIntercept", "AggregateExpression"),
}
_OF_PEERS = {"Rank", "DenseRank", "PercentRank", "CumeDist"}  # the same for all rows that are ordered alike
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_TOLD_APART = {  # types of which what is ordered alike is the same; zeros have signs, and collations take texts for one
    *("tinyint", "smallint", "int", "bigint", "boolean", "string", "date", "timestamp", "timestamp_ntz"),
}


def is_computed_anew(plan: Any, machine: Any) -> bool:
    """Whether luck or a clock decides about it."""
    plans = list(_with_subqueries(plan))
    if not all(each.deterministic() for each in plans):
        return True
    if not plan.containsPattern(machine.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()):
        return False  # nothing of now or here, as users and clocks are: expressions are many to look at
    return any(_class(each) in _CLOCKS for part in plans for node in _nodes(part) for each in _expressions(node))


def chooses_rows(plan: Any) -> bool:
    """Whether any part of it takes some rows of many, where nothing says which."""
    return any(_chooses(each) for part in _with_subqueries(plan) for each in _nodes(part))


def _with_subqueries(plan: Any) -> Iterator[Any]:
    yield plan
    yield from _members(plan.subqueriesAll())


def _chooses(operator: Any) -> bool:
    match operator.nodeName():
        case "Deduplicate":
            return bool(operator.keys().size() < operator.child().output().size())
        case "Aggregate":
            return any(map(_depends_on_order, _expressions(operator)))
        case "Window":
            return not _orders_all(operator) and any(map(_depends_on_peers, _expressions(operator)))
        case name:
            return name in _CHOOSING


def _depends_on_order(expression: Any) -> bool:
    name = str(expression.getClass().getName())
    return name.startswith(_BUILT_IN) and name.removeprefix(_BUILT_IN) not in _OF_ANY_ORDER


def _depends_on_peers(expression: Any) -> bool:
    """Whether the function of a window tells rows apart that its order does not."""
    if _class(expression) != "WindowExpression":
        return _depends_on_order(expression)
    function, specification = _members(expression.children())
    *_, frame = _members(specification.children())
    written = str(frame.sql())
    of_peers = _class(function) == "AggregateExpression" and (written == _WHOLE or written.startswith("RANGE"))
    return _class(function) not in _OF_PEERS and not of_peers


def _orders_all(window: Any) -> bool:
    """Whether rows that a window's order does not tell apart are the same in all columns."""
    by = [*_members(window.partitionSpec()), *(each.child() for each in _members(window.orderSpec()))]
    ordered = {each.exprId().id() for each in by if _class(each) == "AttributeReference"}
    return all(
        each.exprId().id() in ordered and each.dataType().simpleString().partition("(")[0] in {*_TOLD_APART, "decimal"}
        for each in _members(window.child().output())
    )


def _expressions(operator: Any) -> Iterator[Any]:
    for expression in _members(operator.expressions()):
        yield from _nodes(expression)


def _nodes(tree: Any) -> Iterator[Any]:
    """A plan or an expression, and all that is below it."""
    yield tree
    for child in _members(tree.children()):
        yield from _nodes(child)


def _members(found: Any) -> Iterator[Any]:
    for place in range(found.size()):
        yield found.apply(place)


def _class(node: Any) -> str:
    return str(node.getClass().getSimpleName())
