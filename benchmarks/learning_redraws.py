"""Passes of a fit over rows that are drawn here: the integers that engines sum, in numpy, so that fits can be repeated.

For claims about thousands of fits. Rows are units, and vectors Gram matrices or uncut; a test holds that the integers
are an engine's. The noise is numpy's: these are the caller's own numbers, and nobody's secret.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.learn.noisy_sums import Released
from giveortake.plan import Call, ColumnReference, Derive, Filter, Literal

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.engines import VectorSum
    from giveortake.plan import Expression, Relation

    Columns: TypeAlias = dict[str, npt.NDArray[Any]]

_LESS = 1 - 2.0**-48


@final
class DrawnSums:
    """What a plan asks of noisy sums, over columns in memory."""

    charged = True
    release_id = "redrawn"

    def __init__(self, rows: Columns, mu: float, random: np.random.Generator) -> None:
        self._rows, self._mu, self._random = rows, mu, random
        self.released: list[Released] = []

    def add_up(self, name: str, asked: VectorSum, share: Fraction) -> Released:
        """A sum with noise, for a part of μ²."""
        mu = self._mu * math.sqrt(share)
        sigma = math.sqrt(asked.moved_squared(changed=False)) / mu
        deviations = sigma / np.sqrt([each.weight for each in asked.components])
        noise = np.rint(self._random.normal(size=len(deviations)) * deviations)
        made = Released(asked, name, integers(asked, self._rows) + noise, Fraction(sigma), Fraction(mu))
        self.released.append(made)
        return made


def integers(asked: VectorSum, rows: Columns) -> npt.NDArray[np.float64]:
    """The sums of products of values in steps, in doubles: exact, because they are below 2⁵³."""
    count = len(next(iter(rows.values())))
    rows = _derived(asked.relation, rows)
    steps = np.empty((count, len(asked.values)))
    for place, each in enumerate(asked.values):
        if each.expression is None or each.quantum is None:
            raise NotImplementedError(each)
        low, high = float(each.quantum.low), float(each.quantum.high)
        found = np.clip(np.broadcast_to(_value(each.expression, rows), (count,)).astype(float), low, high)
        steps[:, place] = np.floor(found * float(1 / each.quantum.granularity) + 0.5)
    if asked.is_gram:
        lengths = (steps**2).sum(axis=1)
        factors = np.where(lengths > asked.bound, np.sqrt(asked.bound / np.maximum(lengths, 1)) * _LESS, 1.0)
        steps = np.trunc(steps * factors[:, None])
        products = steps.T @ steps
        return np.array([products[each.factors] for each in asked.components])
    if not asked.is_dense:
        raise NotImplementedError(asked)
    vectors = np.column_stack([steps[:, list(each.factors)].prod(axis=1) for each in asked.components])
    if (vectors**2).sum(axis=1).max() > asked.bound**2:
        raise NotImplementedError("a row would be made shorter")
    return np.asarray(vectors.sum(axis=0))


def _derived(relation: Relation, rows: Columns) -> Columns:
    """The columns of a relation; its filters leave nothing out here."""
    if isinstance(relation, Derive):
        inside = _derived(relation.source, rows)
        return {name: np.asarray(_value(each, inside)) for name, each in relation.named}
    return _derived(relation.source, rows) if isinstance(relation, Filter) else rows


def _value(expression: Expression, rows: Columns) -> Any:
    """What an expression is of all rows."""
    if isinstance(expression, ColumnReference):
        return rows[expression.name]
    if isinstance(expression, Literal):
        return float(expression.value) if isinstance(expression.value, Fraction) else expression.value
    if not isinstance(expression, Call):
        raise NotImplementedError(expression)
    parts = [_value(each, rows) for each in expression.arguments]
    match expression.name:
        case "add":
            return parts[0] + parts[1]
        case "subtract":
            return parts[0] - parts[1]
        case "multiply":
            return parts[0] * parts[1]
        case "gt":
            return parts[0] > parts[1]
        case "eq":
            return parts[0] == parts[1]
        case "case":
            return np.where(parts[0], parts[1], parts[2])
        case other:
            raise NotImplementedError(other)
