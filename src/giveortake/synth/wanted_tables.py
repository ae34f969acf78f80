"""Which tables a synthesis may measure, as they were asked for: a workload of marginals, or lists of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from giveortake.errors import InvalidParameter, meant
from giveortake.exact import positive
from giveortake.workload import Workload

_LARGEST = 3  # columns of one table
_WEIGHTS = 1 << 10  # the whole number that the greatest weight becomes


def wanted_tables(workload: Any, names: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The tables with their weights as whole numbers, in proportion. Single columns are measured anyway.

    >>> wanted_tables([("age", "sex"), ("age", "region")], ["age", "sex", "region"])
    {('age', 'sex'): 1024, ('age', 'region'): 1024}
    """
    listed = _listed(workload)
    found: dict[tuple[str, ...], Fraction] = {}
    for table, weight in listed:
        for name in table:
            if name not in names:
                raise InvalidParameter(
                    "workload", name, "is not one of the columns", hint=meant(str(name), names) or "add it to columns="
                )
        if len(set(table)) < len(table) or len(table) > _LARGEST:
            raise InvalidParameter("workload", list(table), f"is not a table of up to {_LARGEST} different columns")
        if len(table) > 1:
            ordered = tuple(sorted(table, key=list(names).index))
            found[ordered] = found.get(ordered, Fraction(0)) + positive("weight", weight)
    if not found:
        raise InvalidParameter("workload", workload, "holds no table of two columns", hint="leave it out for all pairs")
    greatest = max(found.values())
    return {table: max(1, round(weight / greatest * _WEIGHTS)) for table, weight in found.items()}


def _listed(workload: Any) -> list[tuple[tuple[str, ...], Any]]:
    if isinstance(workload, Workload):
        wishes = workload.wishes()
        if workload.ranges or set(wishes) != {None}:
            raise InvalidParameter(
                "workload", workload, "asks for more than counts of tables", hint="gt.workload.marginals([…], up_to=2)"
            )
        return [(tuple(sorted(table)), weight) for table, weight in wishes[None].items()]
    if isinstance(workload, Mapping):
        return [(tuple(table), weight) for table, weight in workload.items()]
    if isinstance(workload, Sequence) and not isinstance(workload, str):
        if any(isinstance(table, str) or not isinstance(table, Sequence) for table in workload):
            raise InvalidParameter("workload", workload, "is not a list of lists", hint='[("age", "sex"), …]')
        return [(tuple(table), 1) for table in workload]
    raise InvalidParameter("workload", workload, "is not a workload", hint='[("age", "sex"), …]')
