"""Lower bounds on how private a mechanism is, from its outputs alone: findings of an audit, never called a proof.

The recipe is the same for every version: draw a pilot sample on two neighbouring inputs, choose on it the set of
outputs that tells them apart best, then count that one set on fresh samples and bound its two probabilities by exact
binomial intervals [CP34]. As the set does not depend on the fresh samples, no correction for the search is needed.

The intervals are doubles that an enclosure of the binomial tail has proved. What is computed from them is a statement
about samples with a confidence, not a promise, so doubles do.

A mechanism of ours is released in bulk where it can be. A function that takes an argument named `size` is asked for
that many independent answers at once; any other function is called once for each answer. An error that the function
raises is an answer too: that it happened, and of which type, is visible to whoever asks.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.audit.attacks import (
    View,
    best_output_set,
    beyond,
    difference,
    excess,
    layout,
    log_ratio,
    thresholds,
    view,
)
from giveortake.errors import InvalidParameter, NotFound, extra
from giveortake.exact import (
    beta_cdf,
    closed_probability,
    enclosure,
    non_negative,
    open_probability,
    precision,
    upper,
    whole,
)
from giveortake.mechanisms import Mechanism, RandomizedResponse
from giveortake.mechanisms.additive import AdditiveNoise
from giveortake.privacy import Guarantee, PureDP

if TYPE_CHECKING:
    from giveortake.audit.attacks import Floats, Objective, OutputSet
    from giveortake.exact import Number


Outputs: TypeAlias = "np.ndarray[Any, Any] | list[Any]"
Sampler: TypeAlias = Callable[[Any, int], Outputs]
Progress: TypeAlias = "bool | Callable[[int, int], None]"

_CHUNK, _SMALL_CHUNK = 1 << 16, 1 << 10


def sampler(mechanism: Any) -> Sampler:
    """A function that draws many independent outputs on one input."""
    if isinstance(mechanism, AdditiveNoise):
        return lambda x, n: _bulk(mechanism, x, n)
    if isinstance(mechanism, RandomizedResponse):
        return lambda x, n: mechanism.release([x] * n)
    if isinstance(mechanism, Mechanism):
        return lambda x, n: [mechanism.release(x) for _ in range(n)]
    if not callable(mechanism):
        raise InvalidParameter("mechanism", mechanism, "is neither a mechanism nor a function of the data")
    if _takes_size(mechanism):
        return lambda x, n: mechanism(x, size=n)
    return lambda x, n: [_answer(mechanism, x) for _ in range(n)]


def drawn(mechanism: Any, x: Any, samples: int, report: Callable[[int], None] | None = None) -> Outputs:
    """`samples` independent outputs on one input, in chunks; `report` is called with the size of each."""
    draw = sampler(mechanism)
    count = whole("samples", samples)
    vectorised = isinstance(mechanism, AdditiveNoise | RandomizedResponse) or (
        not isinstance(mechanism, Mechanism) and _takes_size(mechanism)
    )
    chunk = _CHUNK if vectorised else _SMALL_CHUNK
    parts: list[Outputs] = []
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        part = draw(x, size)
        if len(part) != size:
            raise InvalidParameter("mechanism", mechanism, f"gave {len(part)} outputs where {size} were asked for")
        parts.append(part)
        if report is not None:
            report(size)
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind in "biuf"]
    if len(arrays) == len(parts) and len({(part.dtype, part.shape[1:]) for part in arrays}) == 1:
        return np.concatenate(arrays)  # of one type only: a common type may round away how they differ
    return [output for part in parts for output in part]


def reporting(progress: Progress, total: int) -> Callable[[int], None]:
    """A function that counts more as done, and shows it: to a function with (done, total), or on standard error."""
    show = progress if callable(progress) else _draw if progress else None
    done, shown = 0, -1

    def add(count: int) -> None:
        nonlocal done, shown
        done += count
        percent = 100 * done // max(1, total)
        if show is not None and percent != shown:
            shown = percent
            show(done, total)

    return add


def _draw(done: int, total: int) -> None:
    filled = 32 * done // max(1, total)
    end = "\n" if done >= total else ""
    sys.stderr.write(f"\r{'█' * filled}{'░' * (32 - filled)} {done:,} of {total:,} samples{end}")
    sys.stderr.flush()


def _bulk(mechanism: AdditiveNoise, x: Any, n: int) -> Outputs:
    if np.ndim(x) == 0:
        released = mechanism.release(np.full(n, x) if isinstance(x, int | np.integer) else [x] * n)
    else:
        flat = np.asarray(x).ravel()
        released = mechanism.release(np.tile(flat, n)).reshape(n, flat.size)
    return np.asarray(released)


def _takes_size(function: Callable[..., Any]) -> bool:
    try:
        return "size" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions may have no signature
        return False


@final
class Raised:
    """The answer of a mechanism that raised an error: the type, not the text, which `observations` compares."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and type(self.error) is type(other.error)

    def __hash__(self) -> int:
        return hash(type(self.error))

    def __repr__(self) -> str:
        return f"<raised {type(self.error).__name__}>"


def _answer(mechanism: Callable[[Any], Any], x: Any) -> Any:
    try:
        return mechanism(x)
    except Exception as error:  # noqa: BLE001 (whatever it raises is what the asker sees)
        return Raised(error)


def error_of(outputs: Outputs) -> Exception | None:
    """The first error, if there is nothing but errors."""
    listed = [] if isinstance(outputs, np.ndarray) else outputs
    raised = [output for output in listed if isinstance(output, Raised)]
    return raised[0].error if raised and len(raised) == len(listed) else None


_SLACK = 1e-9  # of a bound, by which it is moved outwards before it is proved
_BITS = 96


def least_probability(hits: int, trials: int, alpha: float) -> float:
    """The p for which `hits` or more have probability `alpha`: a lower bound that fails with that probability.

    Guarantee [CP34]: `hits` or more have probability `alpha` at most wherever p is no more than the bound. The bound is
    found by scipy and moved down until an enclosure of that probability proves it. Rounding of numbers: downwards.

    >>> least_probability(0, 100, 0.05), round(least_probability(50, 100, 0.05), 4)
    (0.0, 0.4136)
    """
    _check(hits, trials, alpha)
    if hits == 0:
        return 0.0
    try:
        from scipy import special  # noqa: PLC0415 (heavy, and optional)
    except ImportError:
        raise NotFound("audits need scipy", hint=extra("audit")) from None
    estimate, slack = float(special.betaincinv(hits, trials - hits + 1, alpha)), _SLACK
    while slack < 1:
        bound = estimate * (1 - slack)
        if 0 <= bound < 1 and _is_proved(bound, hits, trials, alpha):
            return bound
        slack *= 8
    return 0.0


def greatest_probability(hits: int, trials: int, alpha: float) -> float:
    """The p for which `hits` or fewer have probability `alpha`: an upper bound that fails with that probability.

    >>> round(greatest_probability(0, 100, 0.05), 4), greatest_probability(100, 100, 0.05)
    (0.0295, 1.0)
    """
    if hits == trials:
        return 1.0
    return min(1.0, math.nextafter(1 - least_probability(trials - hits, trials, alpha), 2))


def _is_proved(p: float, hits: int, trials: int, alpha: float) -> bool:
    """Whether `hits` or more successes are proved to have probability `alpha` at most: I_p(hits, trials − hits + 1)."""
    with precision(_BITS):
        return upper(beta_cdf(enclosure(Fraction(p)), hits, trials - hits + 1)) <= Fraction(alpha)


def _check(hits: int, trials: int, alpha: float) -> None:
    if not 0 <= hits <= trials or trials < 1:
        raise InvalidParameter("hits", hits, f"is not between 0 and {trials}")
    if not 0 < alpha < 1:
        raise InvalidParameter("alpha", alpha, "is not strictly between 0 and 1")


def figure(number: float) -> str:
    """A number in a few digits, with 1e-6 for a millionth."""
    return f"{number:g}".replace("e-0", "e-").replace("e+0", "e+")


@final
@dataclass(frozen=True, slots=True)
class Evidence:
    """How often an event was seen on the input where it is likelier, and on the other."""

    event: str
    likelier: Any
    other: Any
    hits: int
    other_hits: int
    trials: int
    pilot: int
    confidence: float
    least: float
    greatest: float

    def __str__(self) -> str:
        return (
            f"the event “{self.event}” was chosen on a pilot of {self.pilot:,} samples of each input; on fresh ones it "
            f"occurred {self.hits:,} times in {self.trials:,} on {_short(self.likelier)} (probability at least "
            f"{self.least:.6g}) and {self.other_hits:,} times on {_short(self.other)} (at most {self.greatest:.6g})"
        )


@final
class LowerBound(float):
    """A lower bound of ε or δ that holds with the stated confidence: a float with its evidence."""

    __slots__ = ("delta", "evidence", "quantity")

    quantity: str
    delta: float
    evidence: Evidence

    def __new__(cls, value: float, quantity: str, delta: float, evidence: Evidence) -> LowerBound:
        """A float with its evidence."""
        self = super().__new__(cls, value)
        self.quantity, self.delta, self.evidence = quantity, delta, evidence
        return self

    @property
    def confidence(self) -> float:
        """How likely a procedure like this one is to give a true bound."""
        return self.evidence.confidence

    @property
    def event(self) -> str:
        """The event that the bound rests on, in words."""
        return self.evidence.event

    def __str__(self) -> str:
        at = f" at δ = {figure(self.delta)}" if self.quantity == "ε" and self.delta else ""
        sure = f"with {100 * self.confidence:g} % confidence"
        return (
            f"{self.quantity} is at least {float(self):.6g}{at} {sure}: {self.evidence}. "
            "This is a statistical finding, not a proof."
        )

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return LowerBound, (float(self), self.quantity, self.delta, self.evidence)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A promise checked against samples. It is true if no violation was found, which does not prove the promise."""

    promise: Guarantee
    evidence: Evidence
    allowed: float

    @property
    def violated(self) -> bool:
        """Whether the samples contradict the promise, at the stated confidence."""
        return self.evidence.least > self.allowed

    def __bool__(self) -> bool:
        return not self.violated

    def __str__(self) -> str:
        if self.violated:
            return (
                f"VIOLATED with {100 * self.evidence.confidence:g} % confidence: {self.promise!r} allows a probability "
                f"of at most {self.allowed:.6g}, but {self.evidence}."
            )
        return (
            f"no violation of {self.promise!r} found: {self.evidence}, where {self.allowed:.6g} is allowed. "
            "That is no proof that there is none."
        )

    __repr__ = __str__


@final
@dataclass(frozen=True, slots=True)
class TradeoffCurve:
    """Points (false-positive rate, false-negative rate) that an attacker reaches, all together with the confidence."""

    points: tuple[tuple[float, float], ...]
    confidence: float
    score: str
    trials: int

    def contradicts(self, promise: Guarantee) -> tuple[float, float] | None:
        """A point that lies below what a promise leaves to attackers; None if there is none."""
        for fpr, fnr in self.points:
            if fnr < float(promise.tradeoff(min(1.0, fpr))):
                return fpr, fnr
        return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 32 else f"{text[:31]}…"


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
    score = best_output_set(*pilots, (x, y), log_ratio(alpha)).score
    values = [score(sample) for sample in fresh]
    cuts = thresholds(np.concatenate([score(sample) for sample in pilots]))
    chosen = cuts[np.linspace(0, cuts.size - 1, min(count, cuts.size)).astype(np.int64)]
    share = alpha / (2 * 2 * len(chosen))  # each cut gives two points: x is above, or y is
    curve: list[tuple[float, float]] = []
    for cut in chosen:
        hits = [int((sample >= cut).sum()) for sample in values]
        for first, second in ((0, 1), (1, 0)):
            rate = greatest_probability(hits[first], len(values[first]), share)
            missed = 1 - least_probability(hits[second], len(values[second]), share)
            curve.append((rate, missed))
    return TradeoffCurve(tuple(sorted(curve)), 1 - alpha, str(score), fresh[0].size)


def evidence_of(
    outputs: OutputSet, fresh: tuple[View, View], ends: tuple[Any, Any], alpha: float, pilot: int
) -> Evidence:
    """Exact binomial bounds for one set of outputs on fresh samples."""
    likelier = 0 if outputs.likelier_on_x else 1
    samples = fresh[likelier], fresh[1 - likelier]
    hits, other_hits = outputs.hits(samples[0]), outputs.hits(samples[1])
    return Evidence(
        str(outputs),
        ends[likelier],
        ends[1 - likelier],
        hits,
        other_hits,
        samples[0].size,
        pilot,
        1 - alpha,
        least_probability(hits, samples[0].size, alpha / 2),
        greatest_probability(other_hits, samples[1].size, alpha / 2),
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
    report = reporting(progress, 2 * total)
    outputs = [drawn(mechanism, end, pilot, report) for end in ends]
    errors = [error_of(sample_outputs) for sample_outputs in outputs]
    if errors[0] is not None and errors[1] is not None:
        raise errors[0]  # a function that never answers is called in the wrong way
    columns = layout(*outputs)
    pilots = tuple(view(sample_outputs, columns) for sample_outputs in outputs)
    fresh = tuple(view(drawn(mechanism, end, total - pilot, report), columns) for end in ends)
    return (pilots[0], pilots[1]), (fresh[0], fresh[1]), pilot


def _judged(promise: Guarantee, evidence: Evidence) -> Finding:
    return Finding(promise, evidence, 1 - float(promise.tradeoff(min(1.0, evidence.greatest))))


def _alpha(confidence: Number) -> float:
    return float(1 - open_probability("confidence", confidence))


def _allowed(promise: Guarantee) -> Callable[[Floats], Floats]:
    """1 − f(q) between points of the curve: good enough to choose a set of outputs, which is then judged exactly."""
    heights = np.array([1 - float(promise.tradeoff(float(q))) for q in _GRID])
    return lambda rates: np.interp(rates, _GRID, heights)
