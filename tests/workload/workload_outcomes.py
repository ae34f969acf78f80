"""Workloads on neighbouring tables: the outcome must be the same, and exact integers move by no more than was priced.

Everything runs as it does for an analyst, charge and reading included, but that no noise is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import GiveOrTakeError
from giveortake.mechanisms import Gaussian, Laplace, marginals
from giveortake.mechanisms.marginals import Residual
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.session import Session
from giveortake.workload.designs import ResidualDesign
from giveortake.workload.measurement import WorkloadMeasurement, WorkloadRelease

SCHEMA: dict[str, Any] = {"name": pl.String, "ill": pl.Boolean, "r": pl.String, "c": pl.Int64, "w": pl.Int64}
DOMAINS: dict[str, Any] = {
    "r": ["a", "b", "c", "d"],
    "c": {"bounds": (0, 15), "nullable": False},
    "w": (-(2**63) + 1, 2**63 - 1),
}
SPENDS: list[dict[str, Any]] = [{"mu": "1/1000"}, {"rho": "1e-6"}, {"epsilon": "1/100"}]
WHOLE = [sign * each for each in (2**62 - 1, 2**62, 2**62 + 1, 2**63 - 2, 2**63 - 1) for sign in (1, -1)]
HALF = "9223372036854775807 * 2.0"  # 2⁶⁴, in doubles
REAL = [
    "4611686018427387904 * 2.0",
    "4611686018427387904 * 2.0 - 1024.0",
    "4611686018427387904 * 2.0 + 2048.0",
    f"9223372036854775807 * ({HALF})",
    f"9223372036854775807 * ({HALF}) * 1.0000000000000003",
    f"-9223372036854775807 * ({HALF})",
]  # 2⁶³, the doubles beside it, 2¹²⁷, one beside it, and −2¹²⁷
ATTACK = f"CASE WHEN name = 'p0' AND ill THEN 1 WHEN name = 'p1' THEN {2**50 - 1} ELSE {2**50} END"


def attacked(rows: int = 8193) -> pl.DataFrame:
    """8,192 rows of 2⁵⁰ but for one that lacks 1, and the first person's, which adds that 1 if it is ill."""
    return pl.DataFrame(
        {
            "name": [f"p{place}" for place in range(rows)],
            "ill": [True] * rows,
            "r": ["abcd"[place % 4] for place in range(rows)],
            "c": [0 if rows > 100 else place % 3 for place in range(rows)],
            "w": [(-1) ** place * (2**63 - 1 - place % 3) for place in range(rows)],
        },
        schema=SCHEMA,
    )


def attack_text(table: str, sets: str = "ROLLUP (r)") -> str:
    keys = "r" if "c" not in sets else "r, c"
    return f"SELECT {keys}, SUM(x) AS total FROM (SELECT r, c, {ATTACK} AS x FROM {table}) AS d GROUP BY {sets}"


def extreme_text(table: str, sets: str = "CUBE (r, c)") -> str:
    """Sums of columns that are as large as can be derived, in one row alone, in all rows, and in all but one."""
    columns = []
    for extreme in [*map(str, WHOLE), *(f"({each})" for each in REAL)]:
        columns.append(f"CASE WHEN name = 'p0' AND ill THEN {extreme} ELSE 0 END")
        columns.append(f"CASE WHEN name = 'p0' AND ill THEN {'1' if '.' not in extreme else '1.0'} ELSE {extreme} END")
    derived = ", ".join(f"{text} AS x{place}" for place, text in enumerate(columns))
    sums = ", ".join(f"SUM(x{place}) AS s{place}" for place in range(len(columns)))
    inner = f"SELECT r, c, w, {derived} FROM {table}"
    return f"SELECT r, c, COUNT(*) AS n, SUM(w) AS s, {sums} FROM ({inner}) AS d GROUP BY {sets}"


@final
@dataclass
class Outcomes:
    """How many outcomes and how many arrays of exact integers were compared, and what differed."""

    comparisons: int = 0
    violations: list[str] = field(default_factory=list)
    nearest: float = 0.0

    def compare(self, name: str, ask: Callable[[str], Any]) -> None:
        """Ask the same of both tables."""
        one, two = (_outcome(ask, table) for table in ("t0", "t1"))
        self.comparisons += 1
        if one.kind != two.kind or one.form != two.form:
            self.violations.append(f"{name}: {one.kind} or {two.kind}, of one form: {one.form == two.form}")
        elif one.release is not None and two.release is not None:
            self.comparisons += sum(map(len, one.release.layers)) + len(one.release.runs)
            moved = _moved(one.release, two.release)
            self.nearest = max(self.nearest, moved)
            if moved > 1 + 1e-9:
                self.violations.append(f"{name}: moved by {moved:.3g} of what was priced")


@final
@dataclass(frozen=True)
class _Outcome:
    kind: str
    form: Any = None
    release: WorkloadRelease | None = None


def _outcome(ask: Callable[[str], Any], table: str) -> _Outcome:
    drawn: list[tuple[WorkloadMeasurement, Any]] = []
    right = WorkloadMeasurement.draw

    def recorded(self: WorkloadMeasurement, *given: Any) -> Any:
        drawn.append((self, right(self, *given)))
        return drawn[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkloadMeasurement, "draw", recorded)
        try:
            answer = ask(table)
        except GiveOrTakeError as error:
            return _Outcome(f"{type(error).__name__}: {error}".split(";")[0])
    for each in answer:
        each.to_json()
    form = [[len(each), *((column.name, column.kind) for column in each.columns)] for each in answer]
    ((made, content),) = drawn
    return _Outcome("answer", form, made.read(content))


def _apart(one: Any, other: Any) -> list[int]:
    return [a - b for a, b in zip(one.tolist(), other.tolist(), strict=True)]


def _moved(one: WorkloadRelease, other: WorkloadRelease) -> float:
    """How far a neighbour moves all parts together, as a share of what was charged."""
    square, total = 0.0, 0.0
    for layer, parts in enumerate(one.layers):
        layout = one.workload.layers[layer].layout
        for part, integers in enumerate(parts):
            change = _apart(integers, other.layers[layer][part])
            if isinstance(one.design, ResidualDesign):
                residual = Residual(layout.sizes_of(layout.residuals[part]), one.design.scales[layer][part])
                estimate = residual.estimate(np.array([float(each) for each in change]))
                square += float(((estimate / float(residual.sigma)) ** 2).sum())
            else:
                total += float(Fraction(sum(map(abs, change))) / one.design.scales[layer][part])
    for noise, integers, others in zip(one.design.runs, one.runs, other.runs, strict=True):
        change = _apart(integers, others)
        square += sum(each * each for each in change) / float(noise.noise.scale_in_steps) ** 2
        total += sum(map(abs, change)) / float(noise.noise.scale_in_steps)
    multiplier = float(one.design.event.noise_multiplier)  # type: ignore[attr-defined]  # (Gaussian or Laplace)
    return (math.sqrt(square) if isinstance(one.design, ResidualDesign) else total) * multiplier


@contextmanager
def without_noise() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginals, "rounded_normal", lambda _, size, __: np.zeros(size, dtype=np.int64))
        for noise in (Gaussian, Laplace):
            patch.setattr(noise, "noise", lambda _, size, __=None: np.zeros(size, dtype=np.int64))
        yield


def neighbours(put: Callable[[str, pl.DataFrame], Any], table: pl.DataFrame, **said: Any) -> Session:
    """A session over a table without its first row (t0), and over the whole of it (t1)."""
    tables = {"t0": table.slice(1), "t1": table}
    return gt.protect(
        {name: put(name, each) for name, each in tables.items()},
        domains=dict.fromkeys(tables, DOMAINS),
        **{"unit": gt.ROW, "budget": gt.ApproxDP(1000, "1e-3"), **said},
    )


def sums_in_words(self: BoundedIntegers, sizes: Any, kept: Any) -> BoundedIntegers:
    """A planted mistake: cells of less than 2⁶² are added in words, and others as what the sum of objects is."""
    values = self.tolist()
    is_small = all(abs(each) < 2**62 for each in values)
    table = np.array(values, dtype=np.int64 if is_small else object).reshape(tuple(sizes))
    others = tuple(axis for axis in range(len(sizes)) if axis not in kept)
    left = sorted(kept)
    flat = table.sum(axis=others).transpose([left.index(axis) for axis in kept]).reshape(-1)
    return BoundedIntegers.clamped(flat, self.bound * table.size)
