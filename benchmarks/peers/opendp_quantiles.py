"""OpenDP's median by its exponential mechanism: reads `shape rows tables candidates epsilon`, writes a mean."""

from __future__ import annotations

import random
import sys
from bisect import bisect_left
from typing import Any

TURNS = {500: 50, 5_000: 25, 500_000: 2}
GREATEST = 500


def values(shape: str, rows: int, table: int = 0) -> list[float]:
    """Skewed or even values between the bounds: the same ones that ours gets."""
    luck = random.Random(1_000 * rows + table)  # noqa: S311 (a table for everybody)
    if shape == "even":
        return [luck.uniform(0, GREATEST) for _ in range(rows)]
    return [min(luck.lognormvariate(3.5, 1.0), float(GREATEST)) for _ in range(rows)]


def mean_error(dp: Any, shape: str, size: tuple[int, int], candidates: int, epsilon: float) -> float:
    """The mean distance of the released value's rank from the middle, over tables of one size."""
    rows, tables = size
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    listed = [GREATEST * place / (candidates - 1) for place in range(candidates)]
    scores = dp.t.make_quantile_score_candidates(domain, dp.symmetric_distance(), listed, alpha=0.5)

    def made(scale: float) -> Any:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

    release = made(dp.binary_search_param(made, d_in=1, d_out=epsilon, T=float))
    errors = []
    for number in range(tables):
        table = values(shape, rows, number)
        ordered = sorted(table)
        errors += [abs(bisect_left(ordered, listed[release(table)]) - rows / 2) for _ in range(TURNS[rows])]
    return sum(errors) / len(errors)


def main() -> None:
    try:
        import opendp.prelude as dp  # noqa: PLC0415 (it may be missing)
    except ImportError:
        print("missing", flush=True)
        return
    dp.enable_features("contrib")
    print("ready", flush=True)
    for line in sys.stdin:
        shape, rows, tables, candidates, epsilon = line.split()
        print(mean_error(dp, shape, (int(rows), int(tables)), int(candidates), float(epsilon)), flush=True)


if __name__ == "__main__":
    main()
