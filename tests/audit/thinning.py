"""Another way to test the same claim, from the literature [DWWZK18]: thin the larger count by e^−ε, then compare.

An oracle with nothing of ours in it: the events are single outputs and unions of the most telling ones, chosen on one
sample; on another, hits on x are kept with probability e^−ε each, and Fisher's exact test asks whether more are
left than on y.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats


def rejects(
    mechanism: Callable[..., Any], x: Any, y: Any, epsilon: float, *, samples: int, alpha: float, seed: int = 0
) -> bool:
    """Whether the claim ε is rejected in one of the two directions."""
    dice = np.random.default_rng(seed)
    pilot = [_counted(mechanism(end, size=samples)) for end in (x, y)]
    fresh = [_counted(mechanism(end, size=samples)) for end in (x, y)]
    for one, other in ((0, 1), (1, 0)):
        event = _telling(pilot[one], pilot[other], epsilon)
        hits, others = (sum(fresh[side][row] for row in event) for side in (one, other))
        kept = int(dice.binomial(hits, math.exp(-epsilon)))
        if stats.hypergeom.sf(kept - 1, 2 * samples, kept + others, samples) < alpha / 2:
            return True
    return False


def _counted(outputs: Any) -> Counter[bytes]:
    """How often each output occurs, by the bytes of its numbers."""
    rows = np.ascontiguousarray(np.round(np.asarray(outputs)).astype(np.int32))
    seen, counts = np.unique(rows.view(f"V{rows.shape[1] * rows.itemsize}"), return_counts=True)
    return Counter(dict(zip(seen.tolist(), counts.tolist(), strict=True)))


def _telling(x: Counter[bytes], y: Counter[bytes], epsilon: float) -> set[bytes]:
    """The outputs that are seen more often on x than e^ε times on y, by more than chance would have it."""
    ratio = math.exp(epsilon)
    return {row for row, hits in x.items() if hits - ratio * y[row] > 2 * math.sqrt(hits + ratio**2 * y[row])}
