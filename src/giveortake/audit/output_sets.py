"""Sets of outputs, chosen on a pilot sample because they tell two inputs apart best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.audit.features import Floats, View
from giveortake.audit.scores import ByColumn, ByLabel, Score, scores

if TYPE_CHECKING:
    from collections.abc import Iterator

Objective: TypeAlias = Callable[[Floats, Floats, int], Floats]  # hits on the likelier input, on the other, trials each

_THRESHOLDS = 160
_TAILS = np.array([1, 2, 4, 8, 16, 32, 64])


@final
@dataclass(frozen=True, slots=True)
class OutputSet:
    """The outputs whose score is at least (or at most) a threshold, and on which input they are likelier."""

    score: Score
    threshold: float
    above: bool
    likelier_on_x: bool

    def holds(self, view: View) -> Any:
        """Which outputs are in the set. Not-a-number is in no set of numbers."""
        values = self.score(view)
        with np.errstate(invalid="ignore"):
            return values >= self.threshold if self.above else values <= self.threshold

    def hits(self, view: View) -> int:
        """How many outputs are in the set."""
        return int(self.holds(view).sum())

    def __str__(self) -> str:
        if isinstance(self.score, ByLabel):
            chosen = sorted(map(_short, self.score.chosen(self.threshold, above=self.above)))
            return f"the output is one of {{{', '.join(chosen[:6])}{', …' if len(chosen) > 6 else ''}}}"
        sign = "≥" if self.above else "≤"
        if isinstance(self.score, ByColumn):
            return f"{self.score} {sign} {self.threshold:.12g}"
        return f"{self.score} speaks {'for' if self.above else 'against'} x by {abs(self.threshold):.3g} or more"


def best_output_set(x: View, y: View, exact: tuple[Any, Any], objective: Objective) -> OutputSet:
    """Learn scores on one half of a pilot sample, and choose the best set of outputs on the other half."""
    learn_x, choose_x = halves(x)
    learn_y, choose_y = halves(y)
    best, greatest = None, -np.inf
    for outputs, value in _candidates(scores(learn_x, learn_y, exact), choose_x, choose_y, objective):
        if best is None or value > greatest:
            best, greatest = outputs, value
    return best if best is not None else OutputSet(ByLabel({}), 1.0, above=True, likelier_on_x=True)


def best_score(x: View, y: View, exact: tuple[Any, Any], objective: Objective) -> Score:
    """The score of the best set of outputs, from which a whole curve is made."""
    return best_output_set(x, y, exact, objective).score


def _candidates(found: Iterator[Score], x: View, y: View, objective: Objective) -> Iterator[tuple[OutputSet, float]]:
    trials = min(x.size, y.size)
    for score in found:
        values_x, values_y = (_sorted(score(view)) for view in (x, y))
        cuts = thresholds(np.concatenate([values_x, values_y]))
        if not cuts.size:
            continue
        for above in (True, False):
            hits_x, hits_y = (_hits(values, cuts, above=above) for values in (values_x, values_y))
            for likelier_on_x, (p, q) in ((True, (hits_x, hits_y)), (False, (hits_y, hits_x))):
                values = objective(p, q, trials)
                place = int(np.argmax(values))
                yield OutputSet(score, float(cuts[place]), above, likelier_on_x), float(values[place])


def thresholds(values: Floats) -> Floats:
    """The thresholds to try: quantiles, and the most extreme values, where rare outputs are."""
    if not values.size:
        return values
    ordered = np.sort(values)
    places = np.linspace(0, ordered.size - 1, _THRESHOLDS).astype(np.int64)
    tails = _TAILS[ordered.size > _TAILS]
    return np.unique(ordered[np.concatenate([places, tails - 1, ordered.size - tails])])


def halves(view: View) -> tuple[View, View]:
    """The first half, and the rest."""
    middle = view.size // 2
    return view.part(0, middle), view.part(middle, view.size)


def log_ratio(alpha: float, delta: float = 0.0) -> Objective:
    """ln((p − δ) / q), with p and q at the cautious ends of approximate intervals [Wil27]."""
    z = _cautious(alpha)

    def value(p: Floats, q: Floats, trials: int) -> Floats:
        low, high = wilson(p, trials, -z) - delta, wilson(q, trials, z)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(low > 0, np.log(np.maximum(low, 1e-300) / np.maximum(high, 1e-300)), -np.inf)

    return value


def excess(alpha: float, ratio: float) -> Objective:
    """The excess p − `ratio`·q, with p and q at the cautious ends of approximate intervals [Wil27]."""
    z = _cautious(alpha)
    return lambda p, q, trials: wilson(p, trials, -z) - ratio * wilson(q, trials, z)


def difference(p: Floats, q: Floats, trials: int) -> Floats:
    """How much likelier a set is: best for common outputs, whose search costs little."""
    return (p - q) / trials


def beyond(allowed: Callable[[Floats], Floats]) -> Objective:
    """By how many standard deviations p exceeds what a promise allows at q."""

    def value(p: Floats, q: Floats, trials: int) -> Floats:
        rate_p, rate_q = (p + 1) / (trials + 2), (q + 1) / (trials + 2)
        spread_p, spread_q = (np.sqrt(rate * (1 - rate) / trials) for rate in (rate_p, rate_q))
        slack = allowed(np.minimum(1, rate_q + spread_q)) - allowed(rate_q)
        return (rate_p - allowed(rate_q)) / np.sqrt(spread_p**2 + slack**2 + 1e-30)

    return value


def _cautious(alpha: float) -> float:
    """Standard deviations to allow for on the pilot: the best of thousands of sets looks better than it is."""
    return max(4.0, NormalDist().inv_cdf(1 - alpha / 2))


def wilson(hits: Floats, trials: int, z: float) -> Floats:
    """The lower end (z < 0) or the upper end (z > 0) of Wilson's interval."""
    rate, square = hits / trials, z * z
    centre = rate + square / (2 * trials)
    width = z * np.sqrt(rate * (1 - rate) / trials + square / (4.0 * trials * trials))
    return np.clip((centre + width) / (1 + square / trials), 0, 1)


def _sorted(values: Floats) -> Floats:
    return np.sort(values[~np.isnan(values)])


def _hits(ordered: Floats, cuts: Floats, *, above: bool) -> Floats:
    if above:
        return (ordered.size - np.searchsorted(ordered, cuts, side="left")).astype(np.float64)
    return np.searchsorted(ordered, cuts, side="right").astype(np.float64)


def _short(label: Any) -> str:
    text = repr(label)
    return text if len(text) <= 24 else f"{text[:23]}…"
