"""Columns of an answer: values, and for estimates the two ends of an interval around each."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.answers.terms import LeftOut


Value: TypeAlias = "int | float | str | bool | datetime.date | datetime.datetime | Decimal | None"
Values: TypeAlias = "tuple[Value, ...] | np.ndarray[Any, np.dtype[Any]]"
Listed: TypeAlias = "Sequence[Any] | np.ndarray[Any, np.dtype[Any]]"
Kind: TypeAlias = Literal["integer", "float", "text", "truth", "date", "time", "decimal", "nothing"]

NUMBERS: frozenset[Kind] = frozenset({"integer", "float", "decimal"})

_ARRAYS: dict[str, Kind] = {"i": "integer", "u": "integer", "f": "float", "b": "truth"}
_KINDS: dict[type, Kind] = {
    int: "integer",
    float: "float",
    str: "text",
    bool: "truth",
    datetime.date: "date",
    datetime.datetime: "time",
    Decimal: "decimal",
}
_MEET: dict[frozenset[Kind], Kind] = {
    frozenset({"integer", "float"}): "float",
    frozenset({"integer", "decimal"}): "decimal",
}


@final
@dataclass(frozen=True, slots=True)
class Margins:
    """For each number, how far noise may move it, and how much farther truncation by contribution bounds may.

    None where there is no interval, or nothing is known of what the bounds leave out.
    """

    noise: tuple[Value, ...]
    truncation: tuple[Value, ...]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A named column. `low` and `high` are there for estimates, and None for keys and plain columns.

    `noise` are the ends of the part of the intervals that covers noise alone, if they also cover truncation by
    contribution bounds. `open_sides` says that truncation may move the numbers further down, or up, than they tell.

    Values are kept as a tuple of plain Python values, or as a read-only array if a numpy array of numbers or truth
    values was given. A missing value is None. `kind` is found in the values; say it where there may be none.

    >>> Column("n", [120, 80], low=[114, 74], high=[126, 86])
    Column('n', 2 integers with intervals)
    """

    name: str
    values: Values
    low: Values | None
    high: Values | None
    kind: Kind
    noise: tuple[Values, Values] | None
    open_sides: tuple[bool, bool]

    def __init__(
        self,
        name: str,
        values: Listed,
        low: Listed | None = None,
        high: Listed | None = None,
        *,
        kind: Kind = "nothing",
        noise: tuple[Listed, Listed] | None = None,
        open_sides: tuple[bool, bool] = (False, False),
    ) -> None:
        if not name or not hasattr(name, "encode"):
            raise InvalidParameter("name", name, "is not the name of a column")
        stored = _stored_values(name, values)
        if (low is None) != (high is None):
            raise InvalidParameter(name, "one end", "is not an interval", hint="give both low and high, or neither")
        ends = [None if end is None else _stored_values(name, end) for end in (low, high, *(noise or ()))]
        kinds = {kind, kind_of(name, stored), *(kind_of(name, end) for end in ends if end is not None)}
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", stored)
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "kind", _common(name, kinds))
        for end in ends:
            if end is not None and len(end) != len(stored):
                raise InvalidParameter(name, len(end), f"ends do not match {len(stored)} values")
        if ends[0] is not None and ends[1] is not None:
            _require_order(name, ends[0], ends[1])
        inner = ends[2:]
        for below, above in pairwise([ends[0], *inner, ends[1]] if inner else []):
            if below is not None and above is not None:
                _require_order(name, below, above)
        object.__setattr__(self, "noise", tuple(inner) or None)
        object.__setattr__(self, "open_sides", open_sides)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return iter(plain(self.values))

    def __getitem__(self, row: int) -> Value:
        return scalar(self.values[row])

    @property
    def has_interval(self) -> bool:
        """Whether every value comes with an interval."""
        return self.low is not None

    @property
    def margins(self) -> tuple[Value, ...]:
        """For each value, how far the farther end of its interval is; None without an interval."""
        return tuple(margin(*row) for row in self.triples())

    @property
    def apart(self) -> Margins:
        """The two parts of every margin: noise, and truncation by contribution bounds."""
        ends = list(self.noise_ends())
        noise = tuple(margin(value, *row) for value, row in zip(plain(self.values), ends, strict=True))
        if self.low is None or any(self.open_sides):
            return Margins(noise, (None,) * len(self))
        whole_ends = ((low, high) for _, low, high in self.triples())
        return Margins(noise, tuple(_farther(*row, whole) for row, whole in zip(ends, whole_ends, strict=True)))

    def truncated(self, left_out: LeftOut | None, least: float = 0.0, most: float = 1.0) -> Column:
        """The column of numbers from which caps left rows out, each of which adds from `least` to `most`.

        Intervals hold the numbers of all rows, if a limit is known of those left out, or are open on their side.
        """
        if left_out is None or left_out.rows == 0 or self.low is None or self.high is None:
            return self
        if left_out.rows is None:
            sides = left_out.open_sides(least, most)
            return Column(self.name, self.values, self.low, self.high, kind=self.kind, open_sides=sides)
        below, above = left_out.rows * min(least, 0.0), left_out.rows * max(most, 0.0)
        low, high = np.asarray(self.low) + below, np.asarray(self.high) + above
        return Column(self.name, self.values, low, high, kind=self.kind, noise=(self.low, self.high))

    def selected(self, indices: Sequence[int]) -> Column:
        """The column with some of its rows."""

        def chosen(values: Values | None) -> Any:
            if values is None or isinstance(values, np.ndarray):
                return None if values is None else values[list(indices)]
            return [values[index] for index in indices]

        return Column(
            self.name,
            chosen(self.values),
            chosen(self.low),
            chosen(self.high),
            kind=self.kind,
            noise=None if self.noise is None else (chosen(self.noise[0]), chosen(self.noise[1])),
            open_sides=self.open_sides,
        )

    def triples(self) -> Iterator[tuple[Value, Value, Value]]:
        """Value, low and high of each row; None where there is no interval."""
        nothing = (None,) * len(self)
        low = nothing if self.low is None else plain(self.low)
        high = nothing if self.high is None else plain(self.high)
        return zip(plain(self.values), low, high, strict=True)

    def noise_ends(self) -> Iterator[tuple[Value, Value]]:
        """The ends of the part of each interval that covers noise alone: the whole of it if it covers nothing else."""
        low, high = (self.low, self.high) if self.noise is None else self.noise
        nothing = (None,) * len(self)
        return zip(nothing if low is None else plain(low), nothing if high is None else plain(high), strict=True)

    def parts(self) -> dict[str, Values]:
        """The columns of a plain table: the values, and the ends under the names `…_low` and `…_high`."""
        if self.low is None or self.high is None:
            return {self.name: self.values}
        return {self.name: self.values, f"{self.name}_low": self.low, f"{self.name}_high": self.high}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        if (self.name, self.open_sides, self.noise is None) != (other.name, other.open_sides, other.noise is None):
            return False
        mine, theirs = (
            [column.values, *(end for end in (column.low, column.high, *(column.noise or ())) if end is not None)]
            for column in (self, other)
        )
        return len(mine) == len(theirs) and _same(list(map(plain, mine)), list(map(plain, theirs)))

    def __hash__(self) -> int:
        return hash((self.name, len(self)))

    def __repr__(self) -> str:
        plural = {"nothing": "missing values", "text": "texts", "truth": "truth values"}.get(self.kind, f"{self.kind}s")
        return f"Column({self.name!r}, {len(self)} {plural}{' with intervals' if self.has_interval else ''})"


def kind_of(name: str, values: Values) -> Kind:
    """The kind of all values; None fits every kind, and integers beside floats are floats."""
    if isinstance(values, np.ndarray):
        return _ARRAYS[values.dtype.kind]
    kinds: set[Kind] = set()
    for value in set(map(type, values)) - {type(None)}:
        if value not in _KINDS:
            raise InvalidParameter(name, value.__name__, "is not a type that an answer can hold")
        kinds.add(_KINDS[value])
    return _common(name, kinds)


def plain(values: Values) -> tuple[Value, ...]:
    """The values as plain Python ones."""
    return tuple(values.tolist()) if isinstance(values, np.ndarray) else values


def scalar(value: Any) -> Value:
    """A numpy scalar as a plain Python value; other values unchanged."""
    python_value: Value = value.item() if isinstance(value, np.generic) else value
    return python_value


def margin(value: Value, low: Value, high: Value) -> Value:
    """How far the farther end of an interval is from the value."""
    numbers = (value, low, high)
    if any(number is None or isinstance(number, str | datetime.date) for number in numbers):
        return None
    middle, below, above = (number if isinstance(number, int | float) else float(number) for number in numbers)  # type: ignore[arg-type]  # (numbers, by their kind)
    return max(above - middle, middle - below)


def _farther(low: Value, high: Value, whole: tuple[Value, Value]) -> Value:
    """How much farther the wider of two intervals reaches."""
    sides = margin(high, high, whole[1]), margin(low, whole[0], low)
    return None if None in sides else max(sides)  # type: ignore[type-var]  # (numbers)


def _stored_values(name: str, values: Listed) -> Values:
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InvalidParameter(name, values.shape, "is not one column")
        if values.dtype.kind in _ARRAYS and values.dtype.itemsize <= 8:
            copy = values.copy()
            copy.flags.writeable = False
            return copy
        return _stored_values(name, values.tolist())
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise InvalidParameter(name, values, "is not a list of values")
    stored = tuple(values)
    if any(issubclass(value_type, np.generic) for value_type in set(map(type, stored))):
        return tuple(map(scalar, stored))
    return stored


def _common(name: str, kinds: set[Kind]) -> Kind:
    known = frozenset(kinds - {"nothing"})
    if len(known) <= 1:
        return next(iter(known), "nothing")
    if known not in _MEET:
        raise InvalidParameter(name, sorted(known), "are different kinds of values in one column")
    return _MEET[known]


def _require_order(name: str, low: Values, high: Values) -> None:
    if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
        crossed = bool((low > high).any())
    else:
        pairs = zip(plain(low), plain(high), strict=True)
        crossed = any(below is not None and above is not None and below > above for below, above in pairs)  # type: ignore[operator]  # (of one kind, which has an order)
    if crossed:
        raise InvalidParameter(name, "low above high", "is not an interval")


def _same(mine: Sequence[tuple[Value, ...]], theirs: Sequence[tuple[Value, ...]]) -> bool:
    return len(mine) == len(theirs) and all(
        left == right or _both_nan(left, right)
        for a, b in zip(mine, theirs, strict=True)
        for left, right in zip(a, b, strict=True)
    )


def _both_nan(left: Value, right: Value) -> bool:
    return isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right)
