"""Bounds from below on how private a mechanism is, from its outputs alone.

The recipe is the same for every version: draw a pilot sample on two neighbouring inputs, choose on it the set of
outputs that tells them apart best, then count that one set on fresh samples and bound its two probabilities by exact
binomial intervals [CP34]. As the set does not depend on the fresh samples, no correction for the search is needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.audit.binomial import greatest_probability, least_probability
from giveortake.audit.features import View, layout, view
from giveortake.audit.findings import Evidence, Finding, LowerBound, TradeoffCurve
from giveortake.audit.output_sets import best_output_set, best_score, beyond, difference, excess, log_ratio, thresholds
from giveortake.audit.sampling import Bar, drawn, error_of
from giveortake.errors import InvalidParameter
from giveortake.exact import closed_probability, non_negative, open_probability, whole
from giveortake.privacy import Guarantee, PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.audit.features import Floats
    from giveortake.audit.output_sets import Objective, OutputSet
    from giveortake.audit.sampling import Progress
    from giveortake.exact import Number

SAMPLES = 100_000
_FEWEST = 200
_GRID = np.unique(np.concatenate([[0.0], np.logspace(-7, 0, 64), 1 - np.logspace(-4, -0.3, 12)]))


def epsilon_lower_bound(
    mechanism: Any,
    x: Any,
    y: Any,
    *,
    samples: int = SAMPLES,
    confidence: Number = 0.95,
    delta: Number = 0,
    progress: Progress = False,
) -> LowerBound:
    """A lower bound of every ε for which the mechanism is (ε, δ)-DP, from samples on two neighbouring inputs.

    Guarantee [CP34]: if the mechanism is (ε, δ)-DP, the bound exceeds ε with probability at most 1 − confidence. With
    P[S] ≥ p and Q[S] ≤ q, each wrong with probability at most (1 − confidence)/2, (ε, δ)-DP needs
    p ≤ e^ε·q + δ, hence ε ≥ ln((p − δ)/q). A large bound refutes a claim; a small one proves nothing.

    Args:
        mechanism: a mechanism of ours, or any function of the data; one that takes `size` is asked in bulk.
        x: an input.
        y: a neighbour of it.
        samples: how many outputs to draw on each input, a quarter of them for the pilot.
        confidence: how likely the bound is to be true.
        delta: the δ of the claim.
        progress: True draws a bar on standard error; a function is called with (done, total).

    >>> bound = epsilon_lower_bound(gt.mechanisms.Laplace(1), 0, 1, samples=200_000)
    >>> bool(0.9 < bound < 1.05)
    True
    """
    alpha, allowed = _alpha(confidence), float(closed_probability("delta", delta))
    evidence = _evidence(
        mechanism, (x, y), samples, alpha=alpha, objective=log_ratio(alpha, allowed), progress=progress
    )
    gain = evidence.least - allowed
    bound = max(0.0, math.log(gain / evidence.greatest)) if gain > 0 and evidence.greatest > 0 else 0.0
    return LowerBound(bound, "ε", allowed, evidence)


def delta_lower_bound(
    mechanism: Any,
    x: Any,
    y: Any,
    *,
    epsilon: Number,
    samples: int = SAMPLES,
    confidence: Number = 0.95,
    progress: Progress = False,
) -> LowerBound:
    """A lower bound of every δ for which the mechanism is (ε, δ)-DP: p − e^ε·q, as in `epsilon_lower_bound`.

    >>> import random
    >>> found = gt.audit.delta_lower_bound(lambda value: value + random.random(), 0, 1, epsilon=1, samples=2_000)
    >>> found > 0.9  # who sees a number above 1 knows everything
    True
    """
    alpha, ratio = _alpha(confidence), math.exp(min(700.0, float(non_negative("epsilon", epsilon))))
    evidence = _evidence(mechanism, (x, y), samples, alpha=alpha, objective=excess(alpha, ratio), progress=progress)
    bound = max(0.0, evidence.least - ratio * evidence.greatest)
    return LowerBound(bound, "δ", bound, evidence)


def advantage_and_check(
    mechanism: Any, promise: Guarantee, samples: int, confidence: Number, progress: Progress
) -> tuple[Evidence, Finding]:
    """Evidence about the outputs whose probabilities differ most, and about those that contradict the promise most.

    The inputs are 0 and 1, and the samples the same for both; each of the two statements has the confidence by itself.
    """
    alpha = _alpha(confidence)
    pilots, fresh, pilot = _samples(mechanism, (0, 1), samples, progress)
    telling = best_output_set(*pilots, (0, 1), difference)
    damning = best_output_set(*pilots, (0, 1), beyond(_allowed(promise)))
    evidence = [evidence_of(outputs, fresh, (0, 1), alpha, pilot) for outputs in (telling, damning)]
    return evidence[0], _judged(promise, evidence[1])


def check(
    mechanism: Any,
    x: Any,
    y: Any,
    promise: Guarantee | Number,
    *,
    samples: int = SAMPLES,
    confidence: Number = 0.95,
    progress: Progress = False,
) -> Finding:
    """Check any promise against samples: its whole trade-off curve, not one pair (ε, δ).

    Guarantee [CP34], [DRS22]: a mechanism that keeps the promise is called violated with probability at most
    1 − confidence. A test that says x on the outputs S has a false-positive rate of Q[S] and misses 1 − P[S]; the
    promise leaves P[S] ≤ 1 − f(Q[S]), so p > 1 − f(q) contradicts it. A number is the ε of a pure promise.
    """
    alpha = _alpha(confidence)
    promise = promise if isinstance(promise, Guarantee) else PureDP(promise)
    allowed = _allowed(promise)
    evidence = _evidence(mechanism, (x, y), samples, alpha=alpha, objective=beyond(allowed), progress=progress)
    return _judged(promise, evidence)


def tradeoff_upper_bound(
    mechanism: Any,
    x: Any,
    y: Any,
    *,
    samples: int = SAMPLES,
    confidence: Number = 0.95,
    points: int = 12,
    progress: Progress = False,
) -> TradeoffCurve:
    """Points (false-positive rate, false-negative rate) that an attacker reaches, together with the confidence.

    Guarantee [CP34]: with that confidence every point lies on or above the mechanism's trade-off curve; each of the
    2·points bounds has an equal share of the failure probability.

    >>> import random
    >>> curve = gt.audit.tradeoff_upper_bound(lambda value: value + random.gauss(0, 0.1), 0, 1, samples=2_000)
    >>> min(errors + misses for errors, misses in curve.points) < 0.2  # of a promise it would be near 1
    True
    """
    count, alpha = whole("points", points), _alpha(confidence)
    pilots, fresh, _pilot = _samples(mechanism, (x, y), samples, progress)
    score = best_score(*pilots, (x, y), log_ratio(alpha))
    values = [score(sample) for sample in fresh]
    cuts = thresholds(np.concatenate([score(sample) for sample in pilots]))
    chosen = cuts[np.linspace(0, cuts.size - 1, min(count, cuts.size)).astype(np.int64)]
    share = alpha / (2 * 2 * len(chosen))  # each cut gives two points: x is above, or y is
    found: list[tuple[float, float]] = []
    for cut in chosen:
        hits = [int((sample >= cut).sum()) for sample in values]
        for first, second in ((0, 1), (1, 0)):
            rate = greatest_probability(hits[first], len(values[first]), share)
            missed = 1 - least_probability(hits[second], len(values[second]), share)
            found.append((rate, missed))
    return TradeoffCurve(tuple(sorted(found)), 1 - alpha, str(score), fresh[0].size)


def evidence_of(
    outputs: OutputSet, fresh: tuple[View, View], ends: tuple[Any, Any], alpha: float, pilot: int
) -> Evidence:
    """Exact binomial bounds for one set of outputs on fresh samples."""
    likelier = 0 if outputs.likelier_on_x else 1
    samples = fresh[likelier], fresh[1 - likelier]
    hits, other = outputs.hits(samples[0]), outputs.hits(samples[1])
    return Evidence(
        str(outputs),
        ends[likelier],
        ends[1 - likelier],
        hits,
        other,
        samples[0].size,
        pilot,
        1 - alpha,
        least_probability(hits, samples[0].size, alpha / 2),
        greatest_probability(other, samples[1].size, alpha / 2),
    )


def _evidence(
    mechanism: Any, ends: tuple[Any, Any], samples: int, *, alpha: float, objective: Objective, progress: Progress
) -> Evidence:
    pilots, fresh, pilot = _samples(mechanism, ends, samples, progress)
    outputs = best_output_set(*pilots, ends, objective)
    return evidence_of(outputs, fresh, ends, alpha, pilot)


def _samples(
    mechanism: Any, ends: tuple[Any, Any], samples: int, progress: Progress
) -> tuple[tuple[View, View], tuple[View, View], int]:
    total = whole("samples", samples)
    if total < _FEWEST:
        raise InvalidParameter("samples", samples, f"is below {_FEWEST}, which no bound can rest on")
    pilot = total // 4
    bar = Bar(progress, 2 * total)
    outputs = [drawn(mechanism, end, pilot, bar.add) for end in ends]
    errors = [error_of(each) for each in outputs]
    if errors[0] is not None and errors[1] is not None:
        raise errors[0]  # a function that never answers is called in the wrong way
    columns = layout(*outputs)
    pilots = tuple(view(each, columns) for each in outputs)
    fresh = tuple(view(drawn(mechanism, end, total - pilot, bar.add), columns) for end in ends)
    return (pilots[0], pilots[1]), (fresh[0], fresh[1]), pilot


def _judged(promise: Guarantee, evidence: Evidence) -> Finding:
    return Finding(promise, evidence, 1 - float(promise.tradeoff(min(1.0, evidence.greatest))))


def _alpha(confidence: Number) -> float:
    return float(1 - open_probability("confidence", confidence))


def _allowed(promise: Guarantee) -> Callable[[Floats], Floats]:
    """1 − f(q) between points of the curve: good enough to choose a set of outputs, which is then judged exactly."""
    heights = np.array([1 - float(promise.tradeoff(float(q))) for q in _GRID])
    return lambda rates: np.interp(rates, _GRID, heights)
