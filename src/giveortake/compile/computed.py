"""Functions of answers: the interval of the value is computed from the intervals of the arguments.

Guarantee: each part's interval gets its share of the probability to miss, so all of them hold together (union bound).
Where they hold, so does the interval of the value: a function that never falls takes both ends along, one that falls
and rises takes its extremes between them. COALESCE also asks, at a share of its own, whether the first argument may be
missing in truth; if it may, the interval holds the other one too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.outputs import Apply, Evaluated, Formula, Linear, Ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from giveortake.compile.releases import Combined
    from giveortake.compile.windows import AnswerRows

    Floats: TypeAlias = npt.NDArray[np.float64]

_WIDENING = {"round", "to_integer"}  # ends are rounded outwards
_KEEPING = {"greatest", "least", "abs"}  # these move no farther than their arguments
_LARGEST = 2.0**62


@dataclass(frozen=True, slots=True)
class OverRows(Formula):
    """A formula that is computed from several rows of the answer."""

    @abstractmethod
    def could_be_missing(self, measures: Mapping[int, Combined], miss: float, size: int) -> npt.NDArray[np.bool_]:
        """For each key, whether the true value may be missing; wrongly denied with probability at most `miss`."""


@final
@dataclass(frozen=True, slots=True)
class FunctionOf(Formula):
    """A function of formulas; `constant` is the digits of ROUND, or the exponent of POWER."""

    function: str
    parts: tuple[Formula, ...]
    constant: Fraction = Fraction(0)

    def evaluate(self, measures: Mapping[int, Combined], miss: float, size: int) -> Evaluated:
        share = miss / self.leaves
        parts = [part.evaluate(measures, share * _leaves(part), size) for part in self.parts]
        floats = [_floats(part) for part in parts]
        if self.function == "coalesce":
            doubts = [could_be_missing(part, measures, share * _leaves(part), size) for part in self.parts[:-1]]
            found = _coalesce(floats, doubts)
        elif self.function in _WITH_CONSTANT:
            found = _WITH_CONSTANT[self.function](floats[0], self.constant)
        else:
            found = _FUNCTIONS[self.function](*floats)
        return whole(found) if self.is_whole else found

    def margin(self, measures: Mapping[int, Combined], miss: float, number: float | None) -> float | None:
        if self.function not in _WIDENING | _KEEPING:
            return None
        share = miss / self.leaves
        found = [part.margin(measures, share * _leaves(part), number) for part in self.parts if _leaves(part)]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        step = 10.0 ** -int(self.constant) if self.function in _WIDENING else 0.0
        return max(known, default=0.0) + 1.5 * step  # half a step for the value, one for the end

    def margin_in_words(self, measures: Mapping[int, Combined], miss: float) -> str | None:
        if not self.has_interval:
            return "no interval"
        return self.parts[0].margin_in_words(measures, miss) if self.function in _WIDENING else None

    def bound(self, rows: AnswerRows) -> Formula:
        return replace(self, parts=tuple(part.bound(rows) for part in self.parts))

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        if self.function in {"to_integer", "sign"}:
            return True
        return self.function in _KEEPING and all(map(_is_whole, self.parts))

    @property
    def has_interval(self) -> bool:
        return all(part.has_interval for part in self.parts)

    @property
    def leaves(self) -> int:
        doubted = self.parts[:-1] if self.function == "coalesce" else ()
        return max(1, sum(map(_leaves, (*self.parts, *doubted))))


def _leaves(part: Formula) -> int:
    """The number of intervals that a part needs: none for a constant."""
    return 0 if isinstance(part, Linear) and not part.weights else part.leaves


def _is_whole(part: Formula) -> bool:
    if isinstance(part, Linear):
        return part.whole or (not part.weights and part.constant.denominator == 1)
    return isinstance(part, FunctionOf) and part.is_whole


def could_be_missing(
    formula: Formula, measures: Mapping[int, Combined], miss: float, size: int
) -> npt.NDArray[np.bool_]:
    """For each key, whether the true value may be missing; wrongly denied with probability at most `miss`.

    Sums and counts never are. A quotient is missing if its divisor is zero; a function, if a part of it is, or if its
    interval is unbounded.
    """
    match formula:
        case Linear():
            return np.zeros(size, dtype=bool)
        case Ratio():
            low = formula.under.evaluate(measures, miss, size).low
            nothing: npt.NDArray[np.bool_] = np.asarray(low, dtype=np.float64) <= 0
            return nothing
        case Apply() | FunctionOf():
            share = miss / (len(formula.parts) + 1)
            ends = _floats(formula.evaluate(measures, share, size))
            doubt: npt.NDArray[np.bool_] = ~(np.isfinite(ends.low) & np.isfinite(ends.high))
            for part in formula.parts:
                doubt = doubt | could_be_missing(part, measures, share, size)
            return doubt
        case OverRows():
            return formula.could_be_missing(measures, miss, size)
        case _:
            return np.ones(size, dtype=bool)


def _floats(part: Evaluated) -> Evaluated:
    return Evaluated(*(np.asarray(each, dtype=np.float64) for each in (part.values, part.low, part.high)))


def whole(found: Evaluated) -> Evaluated:
    """The values and ends as integers, if all of them fit."""
    arrays = (found.values, found.low, found.high)
    if all(bool((np.abs(each) < _LARGEST).all()) for each in arrays):
        return Evaluated(*(each.astype(np.int64) for each in arrays))
    return found


def _coalesce(parts: list[Evaluated], doubts: list[npt.NDArray[np.bool_]]) -> Evaluated:
    found = parts[-1]
    for part, doubt in zip(reversed(parts[:-1]), reversed(doubts), strict=True):
        missing = np.isnan(part.values)
        open_low, open_high = (
            np.where(np.isnan(part.low), -np.inf, part.low),
            np.where(np.isnan(part.high), np.inf, part.high),
        )
        either = doubt | missing
        low = np.where(either, np.minimum(open_low, found.low), part.low)
        high = np.where(either, np.maximum(open_high, found.high), part.high)
        found = Evaluated(np.where(missing, found.values, part.values), low, high)
    return found


def _null_if(a: Evaluated, b: Evaluated) -> Evaluated:
    return Evaluated(np.where(a.values == b.values, np.nan, a.values), a.low, a.high)


def _rising(function: Callable[[Floats], Floats]) -> Callable[[Evaluated], Evaluated]:
    """Apply a function that never falls, wherever it has a value."""

    def applied(a: Evaluated) -> Evaluated:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return Evaluated(*(function(each) for each in (a.values, a.low, a.high)))

    return applied


def _root(a: Evaluated) -> Evaluated:
    """The square root: missing for a negative value; the ends are those of the part that is not negative."""
    with np.errstate(invalid="ignore"):
        return Evaluated(np.sqrt(a.values), np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(np.maximum(a.high, 0.0)))


def _logarithm(a: Evaluated) -> Evaluated:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(np.where(a.values > 0, a.values, np.nan))
        return Evaluated(value, np.log(np.maximum(a.low, 0.0)), np.log(np.maximum(a.high, 0.0)))


def _absolute(a: Evaluated) -> Evaluated:
    ends = np.abs(a.low), np.abs(a.high)
    inside = (a.low <= 0) & (a.high >= 0)
    return Evaluated(np.abs(a.values), np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))


def _extreme(pick: Any) -> Callable[..., Evaluated]:
    def applied(*parts: Evaluated) -> Evaluated:
        found = parts[0]
        for part in parts[1:]:
            found = Evaluated(pick(found.values, part.values), pick(found.low, part.low), pick(found.high, part.high))
        return found

    return applied


def _rounded(a: Evaluated, digits: Fraction) -> Evaluated:
    """Round halves up, and the ends outwards, so that the interval holds the rounded value as well."""
    scale = 10.0 ** int(digits)
    with np.errstate(over="ignore", invalid="ignore"):
        return Evaluated(
            np.floor(a.values * scale + 0.5) / scale, np.floor(a.low * scale) / scale, np.ceil(a.high * scale) / scale
        )


def _power(a: Evaluated, exponent: Fraction) -> Evaluated:
    """A power with a constant exponent; missing where it is not defined."""
    power, whole = float(exponent), exponent.denominator == 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        base = a.values if whole else np.where(a.values >= 0, a.values, np.nan)
        none = np.isnan(base) | ((base == 0) & (exponent < 0))
        value = np.where(none, np.nan, np.power(base, power))
        low, high = (a.low, a.high) if whole else (np.maximum(a.low, 0.0), np.maximum(a.high, 0.0))
        ends = np.power(low, power), np.power(high, power)
        least, greatest = np.minimum(*ends), np.maximum(*ends)
        across = (low <= 0) & (high >= 0)
        if exponent < 0:  # unbounded near zero
            below = -np.inf if whole and exponent % 2 else 0.0
            return Evaluated(value, np.where(across, below, least), np.where(across, np.inf, greatest))
        if whole and exponent % 2 == 0 and exponent:
            least = np.where(across, 0.0, least)
    return Evaluated(value, least, greatest)


_FUNCTIONS: dict[str, Callable[..., Evaluated]] = {
    "abs": _absolute,
    "sign": _rising(np.sign),
    "floor": _rising(np.floor),
    "ceil": _rising(np.ceil),
    "sqrt": _root,
    "ln": _logarithm,
    "exp": _rising(np.exp),
    "nullif": _null_if,
    "greatest": _extreme(np.maximum),
    "least": _extreme(np.minimum),
}
_WITH_CONSTANT: dict[str, Callable[[Evaluated, Fraction], Evaluated]] = {
    "round": _rounded,
    "to_integer": _rounded,
    "power": _power,
}
