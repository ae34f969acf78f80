"""Coupled runs: the same requests on two tables, with the same coins, so that only exact values differ.

The first run is recorded: each value that a mechanism protects, and what was released of it. In the second run each
mechanism gets its own exact value, which is recorded too, and releases what it released in the first run. So both runs
have the same history, which is what the proof of adaptive composition conditions on, and two things can be checked:

- what the mechanisms of a run lose between the two tables, together, is within what was charged (`Loss`);
- everything else that the two runs do or show is equal.

Noise is drawn in both runs, by the mechanisms themselves: there is no mechanism that adds nothing. A coupling belongs
to one thread, and to sessions that `conformance` made of generated tables. No other thread has it.
"""

from __future__ import annotations

import copy
import hashlib
import math
import secrets
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import mechanisms as m
from giveortake.mechanisms.additive import AdditiveNoise
from giveortake.mechanisms.marginals import InteractionResiduals, Residual, projected
from giveortake.mechanisms.mechanism import BoundedIntegers, Sensitive, opened
from giveortake.mechanisms.partition_selection import ThresholdedKeys
from giveortake.mechanisms.prefix_sums import RunningCount
from giveortake.mechanisms.selection import (
    NoisyCount,
    NoisySelection,
    PaddedThreshold,
    SparseVectorCheck,
    WorstMarginalSelection,
)
from giveortake.mechanisms.vectors import OutputPerturbation, TrustedGradients, VectorNoise
from giveortake.privacy import events
from giveortake.randomness import SystemEntropy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.privacy.events import Event

    Function: TypeAlias = Callable[..., Any]


@final
@dataclass(frozen=True, slots=True)
class Loss:
    """What releases cost, as sums that composition adds up: of ε, of μ², of ρ and of δ.

    `squares` is what releases that are priced by ε cost in ρ, where a charge is in ρ.
    """

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)

    def __add__(self, other: Loss) -> Loss:
        return Loss(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(Loss)))

    @classmethod
    def of_epsilon(cls, epsilon: Fraction, share: Fraction = Fraction(1, 2), delta: Fraction = Fraction(0)) -> Loss:
        """A release of ε, which costs `share`·ε² in ρ."""
        return cls(epsilon=epsilon, delta=delta, squares=share * epsilon**2)

    def in_rho(self) -> Loss:
        """All of it in ρ, in which everything composes [BS16, CR21]."""
        return Loss(rho=self.rho + self.mu_squared / 2 + self.squares, delta=self.delta)

    def used(self, charged: Loss) -> float:
        """The greatest part of what was charged that is lost: above 1, more is lost than was charged.

        Guarantee: pure mechanisms compose in ε and normal noise in μ² [DRS22]; in ρ, all of them do [BS16, CR21].
        """
        if charged.rho:
            parts = [(self.in_rho().rho, charged.in_rho().rho)]
        else:
            parts = [(self.epsilon, charged.epsilon), (self.mu_squared, charged.mu_squared)]
        parts.append((self.delta, charged.delta))
        return max(float(lost / paid) if paid else math.inf if lost else 0.0 for lost, paid in parts)


def charged(event: Event) -> Loss:
    """What an event pays for. A sample that holds the unit loses all that is inside; so that is what counts."""
    eighth = Fraction(1, 8)
    match event:
        case events.Laplace():
            return Loss.of_epsilon(1 / event.noise_multiplier)
        case events.Geometric():
            return Loss.of_epsilon(event.sensitivity / event.scale)
        case events.Exponential():
            return Loss.of_epsilon(event.epsilon, eighth)
        case events.Pure() | events.AboveThreshold():
            return Loss.of_epsilon(event.epsilon)
        case events.Approx() | events.DiscoveredKeys():
            return Loss.of_epsilon(event.epsilon, delta=event.delta)
        case events.Gaussian():
            return Loss(mu_squared=1 / event.noise_multiplier**2)
        case events.DiscreteGaussian():
            return Loss(mu_squared=(event.sensitivity / event.sigma) ** 2)
        case events.GaussianKeys():
            return Loss(mu_squared=1 / event.noise_multiplier**2, delta=event.delta)
        case events.ZCDP():
            return Loss(rho=event.rho)
        case events.Composed() | events.Parallel():
            return sum(map(charged, event.events), Loss())
        case events.Repeated():
            return sum([charged(event.event)] * event.times, Loss())
        case events.Subsampled() | events.InPart():
            return charged(event.event)
    raise TypeError(f"the harness has no price for {type(event).__name__}")


# -- what a draw loses between two tables -----------------------------------------------------------------------------


def _flat(exactly: Any) -> list[int]:
    if isinstance(exactly, BoundedIntegers):
        exactly = exactly.tolist()
    return [int(number) for number in np.asarray(exactly, dtype=object).ravel().tolist()]


def _moved(one: Any, other: Any) -> list[int]:
    before, after = _flat(one), _flat(other)
    if len(before) != len(after):
        raise ValueError("how many integers there are depends on rows")
    return [b - a for a, b in zip(before, after, strict=True)]


def _additive(noise: AdditiveNoise, one: Any, other: Any) -> Loss:
    moved = _moved(one, other)
    if isinstance(noise, m.Laplace | m.Geometric):
        return Loss.of_epsilon(sum(map(abs, moved)) / noise.scale)
    assert isinstance(noise, m.Gaussian | m.DiscreteGaussian)  # noqa: S101 (others fail here, and are found)
    return Loss(mu_squared=sum(step * step for step in moved) / noise.sigma**2)


def _vector(noise: VectorNoise, one: Any, other: Any) -> Loss:
    weights = [weight for size, weight in noise.blocks for _ in range(size)]
    moved = zip(_moved(one, other), weights, strict=True)
    return Loss(mu_squared=sum((weight * step * step for step, weight in moved), Fraction(0)) / noise.sigma**2)


def _residual(noise: Residual, one: Any, other: Any) -> Loss:
    """N·P is a whole matrix, where P takes the mean out along every axis."""
    shift = np.array(_moved(one, other), dtype=object).reshape(noise.sizes)
    for axis, size in enumerate(noise.sizes):
        shift = shift * size - shift.sum(axis=axis, keepdims=True)
    length = sum(int(step) ** 2 for step in shift.ravel().tolist())
    return Loss(mu_squared=Fraction(length, noise.cells**2) / noise.sigma**2)


def _interaction(noise: InteractionResiduals, one: Any, other: Any) -> Loss:
    shift = projected(np.array(_moved(one, other), dtype=object).reshape(noise.shape))
    length = sum(int(step) ** 2 for step in shift.ravel().tolist())
    return Loss(mu_squared=Fraction(length, noise.cells**2) / noise.sigma**2)


def _selection(selection: NoisySelection, one: Any, other: Any) -> Loss:
    greatest = max(map(abs, _moved(one, other)), default=0)
    return charged(selection.event(greatest)) if greatest else Loss()


def _comparison(guard: PaddedThreshold, one: Any, other: Any) -> Loss:
    greatest = max(map(abs, _moved(one, other)), default=0)
    return charged(guard.event(greatest)) if greatest else Loss()


def _descent(mechanism: OutputPerturbation, one: Any, other: Any) -> Loss:
    return Loss(mu_squared=sum(step * step for step in _moved(one, other)) / mechanism.sigma**2)


def _by_key(exactly: Any) -> dict[Any, int]:
    keys, counts = exactly
    return dict(zip(keys, _flat(counts), strict=True))


def _keys(mechanism: Any, one: Any, other: Any) -> Loss:
    """Keys of both tables lose as their noise does; keys of one table alone, the chance that any of them is shown."""
    before, after = _by_key(one), _by_key(other)
    moved = [after[key] - count for key, count in before.items() if key in after]
    lone = [[count for key, count in a.items() if key not in b] for a, b in ((before, after), (after, before))]
    if isinstance(mechanism, m.KeySelection):
        steps = [abs(step) for step in (*moved, *lone[0], *lone[1]) if step]
        return sum((charged(mechanism.event(step)) for step in steps), Loss())
    tails = mechanism.noise
    hidden = [math.prod(1 - _tail(tails, mechanism.threshold - count) for count in counts) for counts in lone]
    shown = Fraction(max(1 - chance for chance in hidden)) * (1 - Fraction(1, 10**6))  # doubles, rounded down
    return _additive(tails, [0] * len(moved), moved) + Loss(delta=max(shown, Fraction(0)))


def _tail(noise: Any, least: int) -> float:
    """The chance that rounded noise is at least so much, and above zero."""
    z = (least - 0.5) / float(noise.scale if isinstance(noise, m.Laplace) else noise.sigma)
    return math.exp(-z) / 2 if isinstance(noise, m.Laplace) else math.erfc(z / math.sqrt(2)) / 2


# Where a value is released, and what that loses. A mechanism that is made of these loses what they lose.
FAMILIES: dict[type[Any], tuple[str, Function]] = {
    AdditiveNoise: ("release", _additive),
    VectorNoise: ("release", _vector),
    Residual: ("release", _residual),
    InteractionResiduals: ("release", _interaction),
    NoisySelection: ("release", _selection),
    PaddedThreshold: ("is_above", _comparison),
    OutputPerturbation: ("release", _descent),
    m.KeySelection: ("select", _keys),
    ThresholdedKeys: ("release_with_numbers", _keys),
}
COMPOSITES: tuple[type[Any], ...] = (
    RunningCount,
    NoisyCount,
    SparseVectorCheck,
    TrustedGradients,
    WorstMarginalSelection,
)
CALLS = ("tally", "bins", "distinct", "persons", "vectors", "in_parts", "rows_of_units")  # to an engine
_EITHER = (*FAMILIES, *COMPOSITES)


# -- the coupling -----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Draw:
    """One release: its mechanism, the exact value, and what was released of it."""

    mechanism: Any
    exact: Any
    released: Any

    def loss(self, other: Draw) -> Loss:
        """What the release loses between two tables."""
        (family,) = (family for family in FAMILIES if isinstance(self.mechanism, family))
        loss: Loss = FAMILIES[family][1](self.mechanism, self.exact, other.exact)
        return loss


@final
@dataclass(slots=True)
class Trace:
    """What a run drew, the coins that it tossed beside its mechanisms, and what it asked of the engine."""

    draws: list[Draw] = field(default_factory=list)
    coins: list[bytes | str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def loss(self, other: Trace) -> Loss:
        """What all releases lose together. Comparisons up to the first True are one release [DR14]."""
        total, comparisons = Loss(), Loss()
        for one, two in zip(self.draws, other.draws, strict=True):
            loss = one.loss(two)
            if isinstance(one.mechanism, PaddedThreshold):
                comparisons = max(comparisons, loss, key=lambda compared: compared.epsilon)
                loss, comparisons = (comparisons, Loss()) if one.released else (Loss(), comparisons)
            total += loss
        return total + comparisons

    def differences(self, other: Trace) -> list[str]:
        """How the two runs differ, but for exact values."""
        differences = [f"opened by {name}, of which nothing is known" for name in (*self.strangers, *other.strangers)]
        drawn = [[parameters(draw.mechanism) for draw in trace.draws] for trace in (self, other)]
        if drawn[0] != drawn[1]:
            differences.append(f"drew by {drawn[0]} on one table and by {drawn[1]} on the other")
        if self.calls != other.calls:
            differences.append(f"asked {self.calls} of one engine and {other.calls} of the other")
        return differences


def parameters(value: Any) -> str:
    """A mechanism in text: its parameters, without pads."""
    if is_dataclass(value):
        named = [part.name for part in fields(value) if "pad" not in part.name and part.name != "code"]
        inside = ", ".join(f"{name}={parameters(getattr(value, name))}" for name in named)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    return f"({', '.join(map(parameters, value))})" if isinstance(value, tuple | list) else repr(value)


_one_coupling_at_a_time = threading.Lock()


@contextmanager
def coupled(engine: object, first: Trace | None = None) -> Iterator[Trace]:
    """Record what this thread draws and asks of such an engine; with `first`, release what was released then."""
    watch = _Watch(first)
    with _one_coupling_at_a_time, ExitStack() as stack:
        for family, (method, _) in FAMILIES.items():
            stack.enter_context(_replaced(family, method, watch.draw))
        stack.enter_context(_replaced(Sensitive, "open", watch.open))
        stack.enter_context(_replaced(SystemEntropy, "read", watch.read))
        stack.enter_context(_replaced(secrets, "token_hex", watch.name))
        for call in CALLS:
            owner = next((base for base in type(engine).__mro__ if call in vars(base)), None)
            if owner is not None:
                stack.enter_context(_replaced(owner, call, watch.call))
        yield watch.trace


@contextmanager
def _replaced(owner: Any, name: str, watched: Function) -> Iterator[None]:
    """Let one thread's calls of a method pass through `watched`."""
    original, thread = vars(owner)[name], threading.get_ident()

    def method(*arguments: Any, **options: Any) -> Any:
        if threading.get_ident() != thread:
            return original(*arguments, **options)
        return watched(original, *arguments, **options)

    setattr(owner, name, method)
    try:
        yield
    finally:
        setattr(owner, name, original)


@final
class _Watch:
    def __init__(self, first: Trace | None) -> None:
        self.trace, self._first = Trace(), first
        self._drawing, self._asking = False, False

    def draw(self, original: Function, mechanism: Any, value: Any, *more: Any, **options: Any) -> Any:
        if self._drawing:
            return original(mechanism, value, *more, **options)
        self._drawing = True
        try:
            exact = opened(value, mechanism)
            exact = mechanism.point(exact) if isinstance(mechanism, OutputPerturbation) else exact
            released = original(mechanism, value, *more, **options)
        finally:
            self._drawing = False
        index = len(self.trace.draws)
        if self._first is not None and index < len(self._first.draws):
            released = copy.deepcopy(self._first.draws[index].released)
        self.trace.draws.append(Draw(mechanism, exact, copy.deepcopy(released)))
        return released

    def open(self, original: Function, value: Any, mechanism: Any) -> Any:
        if not isinstance(mechanism, _EITHER):
            self.trace.strangers.append(type(mechanism).__name__)
        return original(value, mechanism)

    def read(self, original: Function, source: Any, count: int) -> Any:
        return original(source, count) if self._drawing else self._again(lambda: bytes(original(source, count)), count)

    def name(self, original: Function, size: int) -> Any:
        return self._again(lambda: original(size), 2 * size)

    def _again(self, draw: Callable[[], Any], length: int) -> Any:
        """The coins, or the name, of the first run at the same turn; else new ones."""
        index = len(self.trace.coins)
        first = [] if self._first is None else self._first.coins[index : index + 1]
        coins = first[0] if first and len(first[0]) == length else draw()
        self.trace.coins.append(coins)
        return coins

    def call(self, original: Function, engine: Any, *arguments: Any, **options: Any) -> Any:
        if not self._asking:
            # A gradient descent asks at points that rows decide: it is drawing, and what it asks stays inside.
            about = "" if self._drawing else hashlib.sha256(repr(arguments).encode()).hexdigest()[:8]
            self.trace.calls.append(f"{original.__name__} {about}".rstrip())
        before, self._asking = self._asking, True
        try:
            return original(engine, *arguments, **options)
        finally:
            self._asking = before
