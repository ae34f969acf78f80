"""Numbers as whole steps: clamped to their bounds, then moved to a public lattice or into bins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.engines.sql.expressions import some
from giveortake.exact import power_of_two_at_least
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from giveortake.engines.questions import Quantum
    from giveortake.engines.sql.dialect import Dialect

_FEATURE_STEPS = 2**30


def quantised(dialect: Dialect, column: str, kind: Kind, quantum: Quantum) -> str:
    """A column of numbers as whole steps: clamped, then moved to the lattice. Missing stays missing."""
    shift = f" - ({quantum.shift})" if quantum.shift else ""
    if quantum.is_whole and kind is Kind.INTEGER:
        low, high = quantum.least + quantum.shift, quantum.most + quantum.shift
        clamped = f"CAST({dialect.between(column, str(low), str(high))} AS BIGINT){shift}"
    else:
        real = dialect.between(dialect.real(column), dialect.double(quantum.low), dialect.double(quantum.high))
        stored = "INTEGER" if quantum.reach + abs(quantum.shift) < 2**31 - 1 else "BIGINT"
        clamped = f"CAST({dialect.lattice(real, quantum.granularity)} AS {stored}){shift}"
    return f"CASE WHEN {column} IS NULL THEN NULL ELSE {clamped} END"


def feature_steps(dialect: Dialect, of: str, domain: Domain) -> str:
    """The same for the features of persons, whose values are not released."""
    low, high = some(domain.low), some(domain.high)
    if domain.kind is Kind.INTEGER:
        clamped = dialect.between(of, str(math.ceil(low)), str(math.floor(high)))
    else:
        real = dialect.between(dialect.real(of), dialect.double(low), dialect.double(high))
        clamped = dialect.lattice(real, feature_granularity(domain))
    return f"CASE WHEN {of} IS NULL THEN NULL ELSE CAST({clamped} AS BIGINT) END"


def feature_granularity(domain: Domain) -> Fraction:
    """The lattice of a person's sums: whole numbers, or a power of two far below the bounds."""
    if domain.kind is Kind.INTEGER:
        return Fraction(1)
    greatest = max(abs(some(domain.low)), abs(some(domain.high)), Fraction(1, 2**60))
    return power_of_two_at_least(greatest / _FEATURE_STEPS)


def feature_reach(domain: Domain) -> int:
    """How far from zero a value of a feature is at most, in steps."""
    return math.ceil(max(abs(some(domain.low)), abs(some(domain.high))) / feature_granularity(domain))


def bin_index(dialect: Dialect, real: str, low: Fraction, width: Fraction, count: int) -> str:
    """Which of `count` bins a double falls into; those beyond the ends fall into the first and the last."""
    from_low = dialect.subtract(real, dialect.double(low))
    place = dialect.divide(from_low, dialect.double(width))
    return f"CAST(floor({dialect.between(place, dialect.double(0), dialect.double(count - 1))}) AS INTEGER)"
