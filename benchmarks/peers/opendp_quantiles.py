"""OpenDP's median by its exponential mechanism: reads `rows candidates epsilon`, writes the mean error of its rank."""

from __future__ import annotations

import random
import sys
from bisect import bisect_left
from typing import Any

TURNS = {500: 400, 5_000: 200, 500_000: 10}
GREATEST = 500


def values(rows: int) -> list[float]:
    """Skewed values between the bounds: the same ones that ours gets."""
    luck = random.Random(rows)  # noqa: S311 (a table for everybody)
    return [min(luck.lognormvariate(3.5, 1.0), float(GREATEST)) for _ in range(rows)]


def mean_error(dp: Any, rows: int, candidates: int, epsilon: float) -> float:
    """The mean distance of the released value's rank from the middle."""
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    listed = [GREATEST * place / (candidates - 1) for place in range(candidates)]
    scores = dp.t.make_quantile_score_candidates(domain, dp.symmetric_distance(), listed, alpha=0.5)

    def made(scale: float) -> Any:
        return scores >> dp.m.then_noisy_max(dp.max_divergence(), scale, negate=True)

    release = made(dp.binary_search_param(made, d_in=1, d_out=epsilon, T=float))
    table = values(rows)
    ordered = sorted(table)
    ranks = [bisect_left(ordered, listed[release(table)]) for _ in range(TURNS[rows])]
    return sum(abs(rank - rows / 2) for rank in ranks) / len(ranks)


def main() -> None:
    try:
        import opendp.prelude as dp  # noqa: PLC0415 (it may be missing)
    except ImportError:
        print("missing", flush=True)
        return
    dp.enable_features("contrib")
    print("ready", flush=True)
    for line in sys.stdin:
        rows, candidates, epsilon = line.split()
        print(mean_error(dp, int(rows), int(candidates), float(epsilon)), flush=True)


if __name__ == "__main__":
    main()
