"""Features of models: columns with declared bounds or categories, for the engine and for public rows.

- Nothing of a feature comes from data: scales, categories and classes are the declared domains'.
- Means and deviations of columns by one release, so that later sums are of numbers of about the same size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from giveortake import codec
from giveortake.codec import stored
from giveortake.engines import Component
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.exact import counted
from giveortake.learn.noisy_sums import in_grains, one, value, vector_sum
from giveortake.plan import Call, ColumnReference, Kind, Literal, Value
from giveortake.plan.expressions import compared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from giveortake.engines import VectorSum
    from giveortake.learn.noisy_sums import FitContext, Released
    from giveortake.plan import Domain, Expression


Reals: TypeAlias = npt.NDArray[np.float64]


def _reals(document: Any) -> Reals:
    numbers = np.asarray(document)
    if not isinstance(document, list) or numbers.dtype.kind not in "if" or numbers.size > codec.MOST_PARTS:
        raise ValueError
    return numbers.astype(np.float64)


codec.scalar(np.ndarray, np.ndarray.tolist, _reals, {"type": "array"}, shape="list")  # arrays of floats in models

MOST_LEVELS = 1_000  # of one category in a model
_LISTED = 12  # categories in a hint


@final
@dataclass(frozen=True, slots=True)
class DesignColumn:
    """One number of a row, between -1 and 1, as the engine computes it."""

    name: str
    expression: Expression
    low: int = -1


@final
@stored("number")
@dataclass(frozen=True, slots=True)
class ScaledNumber:
    """A column of numbers between declared bounds, which become -1 and 1."""

    name: str
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidParameter(self.name, f"({self.low}, {self.high})", "are no bounds: the first is not the less")

    def design(self) -> list[DesignColumn]:
        """The column itself, scaled."""
        return [DesignColumn(self.name, self.scaled())]

    def scaled(self) -> Expression:
        """2(x − low)/(high − low) − 1."""
        from_low = Call("subtract", (ColumnReference(self.name), Literal(self.low)))
        share = Call("multiply", (from_low, Literal(2 / (self.high - self.low))))
        return Call("subtract", (share, Literal(Fraction(1))))

    def encode(self, values: npt.NDArray[Any]) -> Reals:
        """Public values scaled like this, in one column; values beyond the bounds count as the nearer bound."""
        numbers = self.numbers(values)
        low, high = float(self.low), float(self.high)
        return np.asarray(2 * (np.clip(numbers, low, high) - low) / (high - low) - 1)[:, None]

    def numbers(self, values: npt.NDArray[Any]) -> Reals:
        """Public values as numbers; refused if one is missing."""
        numbers = np.asarray(values, dtype=np.float64)
        if np.isnan(numbers).any():
            raise InvalidParameter(
                "X", math.nan, f"is a missing number of `{self.name}`", hint="fill it in, or leave the row out"
            )
        return numbers


@final
@stored("category")
@dataclass(frozen=True, slots=True)
class Category:
    """A column of declared categories. The first is the baseline of the others; unknown values are in none.

    Guarantee: a row has one category at most, because no two of them are the same to an engine (see `feature_of`).
    """

    name: str
    values: tuple[Value, ...]

    def design(self) -> list[DesignColumn]:
        """1 or 0 for each category but the first."""
        return [DesignColumn(f"{self.name}={value}", self.is_value(value), low=0) for value in self.values[1:]]

    def is_value(self, value: Value) -> Expression:
        """1 where the column has this value, else 0."""
        return Call("case", (matches(ColumnReference(self.name), value), Literal(1), Literal(0)))

    def indexes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The indexes of public values among the categories; -1 where one is missing. Others are refused."""
        known = {None: -1} | {_plain(value): index for index, value in enumerate(self.values)}
        indexes = [known.get(_plain(value)) for value in values.tolist()]
        if None in indexes:
            raise self._unknown(values.tolist()[indexes.index(None)], "is not a declared category")
        return np.array(indexes, dtype=np.int64)

    def _unknown(self, value: Any, problem: str) -> InvalidParameter:
        listed = ", ".join(repr(category) for category in self.values[:_LISTED]) + ", …" * (len(self.values) > _LISTED)
        return InvalidParameter("X", value, f"{problem} of `{self.name}`", hint=f"categories: {listed}")

    def encode(self, values: npt.NDArray[Any]) -> Reals:
        """Public values as 1 or 0, a column for each category but the first; none may be missing."""
        indexes = self.indexes(values)
        if (indexes < 0).any():
            raise self._unknown(None, "is a missing category")
        return np.asarray(indexes[:, None] == np.arange(1, len(self.values))[None, :], dtype=np.float64)


Feature: TypeAlias = ScaledNumber | Category


def matches(column: ColumnReference, value: Value) -> Expression:
    """The condition that a column has this value; None means missing."""
    return Call("is_null", (column,)) if value is None else Call("eq", (column, Literal(value)))


def _plain(value: Any) -> Any:
    """A value in a form to look up: all missing values are the same, and 1.0 is 1."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, Fraction):
        return float(value)
    return value


def feature_of(schema: Mapping[str, Domain], name: str, called: str = "features") -> Feature:
    """The feature of a declared column; others are refused, with what to declare."""
    if name not in schema:
        raise InvalidParameter(
            called,
            name,
            "is not a column",
            hint=f"{did_you_mean(str(name), schema)}the columns are {', '.join(schema)}",
        )
    domain = schema[name]
    values = domain.categories
    if domain.kind is Kind.BOOLEAN:  # False first, whatever order they are declared in
        values = (False, True) if values is None else tuple(sorted(values, key=(False, True, None).index))
    if values is not None:
        if len(values) < 2:
            raise InvalidParameter(called, name, "has only one value, so nothing can be learned from it")
        if len(values) > MOST_LEVELS:
            raise InvalidParameter(
                called,
                name,
                f"has {len(values):,} categories, more than {MOST_LEVELS:,}",
                hint="derive a column of coarser ones, or leave it out",
            )
        if len({compared(value, domain.kind) for value in values}) < len(values):
            raise InvalidParameter(
                called, name, "has categories that are equal as floating-point numbers", hint="declare them rounded"
            )
        return Category(name, values)
    if domain.is_bounded:
        low, high = domain.ends()
        if low == high:
            raise InvalidParameter(called, name, "is constant, so nothing can be learned from it", hint="leave it out")
        return ScaledNumber(name, low, high)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        raise InvalidParameter(
            called,
            name,
            f"is a {'date' if domain.kind is Kind.DATE else 'time'}, and learners take numbers and categories",
            hint=f'derive a number of it: s.table().derive(month=gt.col("{name}").month())',
        )
    declared = "[…]" if domain.kind is Kind.TEXT else "(low, high)"
    hint = f'declare it: gt.protect(…, domains={{"{name}": {declared}}})'
    raise InvalidParameter(called, name, "has no declared bounds or categories", hint=hint)


def features_of(
    schema: Mapping[str, Domain], names: Sequence[str] | None, target: str | None = None, called: str = "features"
) -> tuple[Feature, ...]:
    """The columns that are named, or all that are declared, without the target."""
    if names is None:
        usable = [name for name, domain in schema.items() if domain.is_bounded or domain.categories is not None]
        usable += [name for name, domain in schema.items() if domain.kind is Kind.BOOLEAN and name not in usable]
        names = [name for name in schema if name in usable and name != target]
    if not names:
        raise InvalidParameter(called, names, "names no column that could be learned from", hint="declare domains")
    if isinstance(names, str) or not hasattr(names, "__iter__") or len(set(names)) < len(names) or target in names:
        suffix = "" if target is None else ", without the target"
        hint = f'["{names}"]' if isinstance(names, str) else None
        raise InvalidParameter(called, names, f"needs a list of columns, each once{suffix}", hint=hint)
    return tuple(feature_of(schema, name, called) for name in names)


def classes_of(schema: Mapping[str, Domain], target: str, called: str = "target") -> Category:
    """The declared classes of a target: at least two."""
    feature = feature_of(schema, target, called)
    if isinstance(feature, ScaledNumber):
        domain = schema[target]
        listed = domain.keys() if domain.kind is Kind.INTEGER else None
        if listed is None or len([value for value in listed if value is not None]) > MOST_LEVELS:
            raise InvalidParameter(
                called,
                target,
                "has no declared classes",
                hint=f'gt.protect(…, domains={{"{target}": [0, 1]}}); gt.learn.LinearRegression predicts numbers',
            )
        feature = Category(target, tuple(value for value in listed if value is not None))
    return feature


def complete(schema: Mapping[str, Domain], names: Iterable[str]) -> Expression | None:
    """The condition that no number is missing in some columns; None if none can be."""
    conditions = [
        Call("not", (Call("is_null", (ColumnReference(name),)),))
        for name in names
        if schema[name].nullable and schema[name].kind.is_number
    ]
    return joined("and", conditions) if conditions else None


def is_declared(category: Category, schema: Mapping[str, Domain]) -> Expression | None:
    """The condition that a column has one of its declared values; None if it can have no other."""
    column, domain = ColumnReference(category.name), schema[category.name]
    if domain.kind is Kind.BOOLEAN:
        return Call("not", (Call("is_null", (column,)),)) if domain.nullable and None not in category.values else None
    membership = Call("in", (column, *(Literal(value) for value in category.values if value is not None)))
    return Call("or", (Call("is_null", (column,)), membership)) if None in category.values else membership


def complete_and_declared(schema: Mapping[str, Domain], features: Sequence[Feature]) -> Expression | None:
    """The condition that no number is missing, and that categories are declared ones.

    Where the first category is the baseline, rows of no declared category would count as rows of the first.
    """
    declared = [is_declared(feature, schema) for feature in features if isinstance(feature, Category)]
    parts = [part for part in (complete(schema, [feature.name for feature in features]), *declared) if part is not None]
    return joined("and", parts) if parts else None


def joined(name: str, parts: Sequence[Expression]) -> Expression:
    """Join parts by a binary operation, nested as little as possible: what nests too deep is refused."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return Call(name, (joined(name, parts[:half]), joined(name, parts[half:])))


def public_columns(rows: Any, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Columns of public rows: a frame of Polars or pandas, a mapping, or an array with one column for each name."""
    hint = f"columns: {', '.join(names)}"
    if hasattr(rows, "columns") or isinstance(rows, dict):
        missing = [name for name in names if name not in rows]
        if missing:
            raise InvalidParameter("X", missing[0], "is not a column of the rows", hint=hint)
        columns = {name: np.asarray(rows[name]) for name in names}
        for name, column in columns.items():
            if column.ndim != 1:
                raise InvalidParameter("X", name, "is not a list of values", hint=f'{{"{name}": [1, 2]}}')
        return columns
    table = np.asarray(rows)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise InvalidParameter("X", table.shape, f"is not a table of {counted(len(names), 'column')}", hint=hint)
    return {name: table[:, index] for index, name in enumerate(names)}


def encoded(columns: Mapping[str, npt.NDArray[Any]], features: Sequence[Feature]) -> Reals:
    """Public columns as the design columns of features, between -1 and 1."""
    return np.hstack([feature.encode(columns[feature.name]) for feature in features])


def weighted(features: Sequence[Feature], coefficients: Reals) -> Expression:
    """θ·(1, x) of a row's design columns, as the engine computes it."""
    constant, column_index = Fraction(float(coefficients[0])), 1
    terms: list[Expression] = []
    for feature in features:
        if isinstance(feature, ScaledNumber):
            slope = Fraction(float(coefficients[column_index])) * 2 / (feature.high - feature.low)
            terms.append(Call("multiply", (ColumnReference(feature.name), Literal(Fraction(float(slope))))))
            constant -= slope * (feature.low + feature.high) / 2
            column_index += 1
        else:
            count = len(feature.values)
            terms.append(looked_up(feature, [0.0, *coefficients[column_index : column_index + count - 1].tolist()]))
            column_index += count - 1
    return added([Literal(Fraction(float(constant))), *terms])


def looked_up(category: Category, effects: Sequence[float]) -> Expression:
    """The number that belongs to a row's category, or 0 for undeclared ones."""
    branches: list[Expression] = []
    for label, effect in zip(category.values, effects, strict=True):
        if effect:
            branches += [matches(ColumnReference(category.name), label), Literal(Fraction(effect))]
    return Call("case", (*branches, Literal(Fraction(0)))) if branches else Literal(Fraction(0))


def added(terms: Sequence[Expression]) -> Expression:
    """A balanced sum: engines and their printer fail at deep ones."""
    return joined("add", terms)


FEWEST = 10.0  # a released number of rows counts as at least this
FARTHEST = 16  # deviations from the mean; numbers farther away are moved there


@final
@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """About how many rows there are, and the mean and deviation of each column; all of it was released."""

    n: float
    mean: Reals
    deviation: Reals

    def expressions(self, columns: Sequence[Expression]) -> list[Expression]:
        """(x − mean)/deviation of each column, as the engine computes it."""
        pairs = zip(columns, self.mean.tolist(), self.deviation.tolist(), strict=True)
        return [
            Call("multiply", (Call("subtract", (column, Literal(Fraction(mean)))), Literal(Fraction(1 / deviation))))
            for column, mean, deviation in pairs
        ]

    def apply(self, columns: Reals) -> Reals:
        """(x − mean)/deviation of public rows, within ±FARTHEST."""
        return np.asarray(np.clip((columns - self.mean) / self.deviation, -FARTHEST, FARTHEST))


def standardisation_sum(context: FitContext, features: Sequence[Feature]) -> VectorSum:
    """The sum of (1, x, x²) over rows, for all design columns x of some features.

    Guarantee: a number lies between -1 and 1, and of the columns of one category one at most is 1. So a row's vector
    has length √(1 + 2d) at most for d features. The number of rows is one of the products: all have the same lattice.
    """
    columns = [column for feature in features for column in feature.design()]
    values = [one(), *(value(column.expression, column.low) for column in columns)]
    indexes = range(1, len(values))
    components = [Component((0, 0)), *(Component((0, j)) for j in indexes), *(Component((j, j)) for j in indexes)]
    return vector_sum(context.relation, values, components, context.rows, longest=math.sqrt(1 + 2 * len(features)))


def standardisation_of(released: Released, columns: Sequence[DesignColumn]) -> Standardisation:
    """Means and deviations of released sums; a deviation that is mostly noise is taken to be larger than it seems.

    Numbers are rounded to 20 binary digits after the point, so that engines and public rows are given the same.
    """
    count = len(columns)
    sums = np.array([released.cells(index)[0] for index in range(1 + 2 * count)])
    n = max(float(sums[0]), FEWEST)
    lows = np.array([column.low for column in columns], dtype=float)
    mean = np.clip(sums[1 : 1 + count] / n, lows, 1)
    square = np.clip(sums[1 + count :] / n, 0, 1)
    doubt = min(max(0.02, 2 * released.deviation() / n), 1.0)  # of a mean, by the noise
    least = max(doubt, min(1.0, math.sqrt(doubt) / 4))
    deviation = np.maximum(np.sqrt(np.maximum(square - mean**2, 0)), least)
    return Standardisation(n, in_grains(mean), in_grains(deviation))
