"""OpenDP's noise, one timing at a time: reads names of cases, writes seconds per draw. Needs nothing but opendp."""

from __future__ import annotations

import sys
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 100_000
SCALE = 10.0
CALLS, BATCHES = 50, 21  # of a scalar release: as many as ours


def works(dp: Any) -> dict[str, tuple[Callable[[], object], int, int, int]]:
    """For every case what to call, how many draws one call makes, and how many calls and batches to measure."""
    dp.enable_features("contrib")
    found: dict[str, tuple[Callable[[], object], int, int, int]] = {}
    for kind, zero in (("i64", 0), ("f64", 0.0)):
        atom = dp.atom_domain(T=kind, nan=False) if kind == "f64" else dp.atom_domain(T=kind)
        zeros = [zero] * DRAWS
        laplace = dp.m.make_laplace(dp.vector_domain(atom), dp.l1_distance(T=kind), scale=SCALE)
        gaussian = dp.m.make_gaussian(dp.vector_domain(atom), dp.l2_distance(T=kind), scale=SCALE)
        scalar = dp.m.make_laplace(atom, dp.absolute_distance(T=kind), scale=SCALE)
        found[f"laplace {kind}"] = (partial(laplace, zeros), DRAWS, 1, 1)
        found[f"gaussian {kind}"] = (partial(gaussian, zeros), DRAWS, 1, 1)
        found[f"scalar {kind}"] = (partial(scalar, zero), 1, CALLS, BATCHES)
    return found


def seconds(work: Callable[[], object], draws: int, calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - started) / (calls * draws)


def main() -> None:
    try:
        import opendp.prelude as dp  # noqa: PLC0415 (its absence is an answer)
    except ImportError:
        print("missing", flush=True)
        return
    cases = works(dp)
    print("ready", flush=True)
    for line in sys.stdin:
        work, draws, calls, batches = cases[line.strip()]
        print(median(seconds(work, draws, calls) for _ in range(batches)), flush=True)


if __name__ == "__main__":
    main()
