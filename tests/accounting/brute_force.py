"""The interactive game of an adversary against a guard, solved exactly.

Rounds are played with mechanisms on two neighbours whose output laws are given as fractions. After every output the
adversary picks the next mechanism, among those the guard admits, or stops. `worst` is the supremum over *all* such
adversaries, computed backwards: it needs only the guard's state and the likelihood ratio Q/P of the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from giveortake.accounting.filters import Filter, Odometer
from giveortake.exact import exp_down, log_up
from giveortake.privacy import events

Reward: TypeAlias = "Callable[[Hashable, Fraction], Fraction]"  # of the guard's state and Q/P, at the end


@dataclass(frozen=True)
class Move:
    """A mechanism on two neighbours: what it is charged as, and the output laws P and Q."""

    event: events.Event
    laws: tuple[tuple[Fraction, Fraction], ...]


class Guard(Protocol):
    """Something that admits or refuses moves. States are compared by `==`."""

    start: Hashable

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        """The state once the move has been made; None if it is refused."""


def randomized_response(odds: Fraction) -> Move:
    """The worst ε-DP mechanism, ε = ln(odds) [KOV15]; charged by an ε that is the least bit larger."""
    truth, lie = odds / (1 + odds), 1 / (1 + odds)
    return Move(events.Pure(log_up(odds)), ((truth, lie), (lie, truth)))


def leaky(odds: Fraction, delta: Fraction) -> Move:
    """The worst (ε, δ)-DP mechanism [KOV15]: with probability δ it gives its input away."""
    truth, lie = (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds)
    zero = Fraction(0)
    return Move(events.Approx(log_up(odds), delta), ((truth, lie), (lie, truth), (delta, zero), (zero, delta)))


def worst(guard: Guard, moves: Sequence[Move], reward: Reward, *, rounds: int) -> Fraction:
    """The greatest expectation under P, over all adversaries, of the reward at the end."""
    known: dict[tuple[Hashable, Fraction, int], Fraction] = {}

    def value(state: Hashable, ratio: Fraction, left: int) -> Fraction:
        found = known.get((state, ratio, left))
        if found is None:
            found = reward(state, ratio)
            for move in moves if left else ():
                played = play(state, ratio, left, move)
                found = found if played is None else max(found, played)
            known[state, ratio, left] = found
        return found

    def play(state: Hashable, ratio: Fraction, left: int, move: Move) -> Fraction | None:
        total = Fraction(0)
        for outcome, (p, q) in enumerate(move.laws):
            after = guard.after(state, move, outcome)
            if after is None:
                return None
            if p:
                total += p * value(after, ratio * q / p, left - 1)
        return total

    return value(guard.start, Fraction(1), rounds)


def excess_over(epsilon: Fraction) -> Reward:
    """(1 − e^ε·Q/P)₊, whose expectation is the δ of the transcript at ε; rounded up."""
    factor = exp_down(epsilon)
    return lambda _state, ratio: max(Fraction(0), 1 - factor * ratio)


@dataclass(frozen=True)
class Frozen:
    """A filter, or an odometer, that is never changed again, as a state of the game."""

    inside: Filter | Odometer
    key: Hashable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Guarded:
    """A filter as the guard of the game."""

    def __init__(self, fresh: Filter) -> None:
        self.start: Hashable = frozen(fresh)

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        assert isinstance(state, Frozen)
        assert isinstance(state.inside, Filter)
        if not state.inside.admits(move.event):
            return None
        twin = state.inside.copy()
        twin.charge(move.event)
        return frozen(twin)


def frozen(guard: Filter) -> Frozen:
    return Frozen(guard, tuple((total.spent, total.alive) for total in (*guard._totals, *guard._pots)))


class Composing:
    """UNSOUND: composes the exact privacy-loss distributions along the path and stops at the curve.

    It admits whenever the moves so far, had they been declared together, would be (ε, δ)-DP.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        self.start: Hashable = ()
        self.delta = delta
        self.reward = excess_over(epsilon)
        self.known: dict[Hashable, Fraction] = {}

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        assert isinstance(state, tuple)
        together = tuple(sorted((*state, move), key=repr))
        if together not in self.known:
            ratios: dict[Fraction, Fraction] = {Fraction(1): Fraction(1)}
            for made in together:
                ratios = _composed(ratios, made)
            self.known[together] = sum((p * self.reward((), ratio) for ratio, p in ratios.items()), Fraction(0))
        return together if self.known[together] <= self.delta else None


class Refunding:
    """UNSOUND: gives a charge back when the answer was the first one, as if the release had failed."""

    def __init__(self, sound: Guarded) -> None:
        self.sound = sound
        self.start = sound.start

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        after = self.sound.after(state, move, outcome)
        return state if after is not None and outcome == 0 else after


class Forgiving:
    """UNSOUND: a race in which filters that a query exceeds live on, having counted only what they admitted."""

    def __init__(self, *filters: Filter) -> None:
        self.filters = [Guarded(each) for each in filters]
        self.start: Hashable = tuple(each.start for each in self.filters)

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        assert isinstance(state, tuple)
        stepped = [each.after(part, move, outcome) for each, part in zip(self.filters, state, strict=True)]
        if all(part is None for part in stepped):
            return None
        return tuple(old if new is None else new for old, new in zip(state, stepped, strict=True))


def _composed(ratios: dict[Fraction, Fraction], move: Move) -> dict[Fraction, Fraction]:
    after: dict[Fraction, Fraction] = {}
    for ratio, weight in ratios.items():
        for p, q in move.laws:
            if p:
                after[ratio * q / p] = after.get(ratio * q / p, Fraction(0)) + weight * p
    return after
