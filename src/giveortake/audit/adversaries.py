"""Adversaries for the composition experiment. None of them knows more than what it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.audit.bounds import sampler
from giveortake.audit.game import Move, total_evidence
from giveortake.mechanisms import Gaussian, Laplace, RandomizedResponse
from giveortake.privacy import events

if TYPE_CHECKING:
    from giveortake.audit.game import Round, View

TENTH = Fraction(1, 10)
_LEAST = Fraction(1, 10**4)
_AT_ONCE = 1 << 10  # answers of a mechanism that are drawn together


@final
class Buffered:
    """A mechanism that is asked one question at a time and draws its independent answers many at once."""

    __slots__ = ("_draw", "_ready")

    def __init__(self, mechanism: Any) -> None:
        self._draw = sampler(mechanism)
        self._ready: dict[Any, list[Any]] = {}

    def __call__(self, x: Any) -> Any:
        """One answer that was never given before."""
        ready = self._ready.setdefault(x, [])
        if not ready:
            answers = self._draw(x, _AT_ONCE)
            ready.extend(answers.tolist() if isinstance(answers, np.ndarray) else answers)
        return ready.pop()


@lru_cache(maxsize=4096)
def coin(epsilon: Fraction) -> Move:
    """The worst ε-DP mechanism there is: randomized response about one bit."""
    mechanism = RandomizedResponse(epsilon, (0, 1))
    return Move(0, 1, Buffered(mechanism), mechanism.event())


@lru_cache(maxsize=64)
def noisy_count(scale: Fraction, x: int, y: int, *, normal: bool = False) -> Move:
    """A count with Laplace or normal noise."""
    mechanism: Laplace | Gaussian = Gaussian(scale) if normal else Laplace(scale)
    return Move(x, y, Buffered(mechanism), mechanism.event(abs(y - x)))


class Watching:
    """Scores a view by the sum of the evidence in its answers."""

    def score(self, view: View) -> float:
        """The evidence for experiment 1 in all answers together."""
        return total_evidence(view)


@final
@dataclass(frozen=True)
class Repeater(Watching):
    """Asks the same question until nothing is left, and adds up the answers."""

    epsilon: Fraction = TENTH

    def move(self, view: View) -> Move | None:
        return None if view and view[-1].refused else coin(self.epsilon)


@final
@dataclass(frozen=True)
class Chaser(Watching):
    """Stops once the answers are decided; until then it spends more the further they lean to one side."""

    epsilon: Fraction = TENTH
    goal: float = 3.0

    def move(self, view: View) -> Move | None:
        lead = total_evidence(view)
        if abs(lead) >= self.goal or (view and view[-1].refused):
            return None
        return coin(self.epsilon * (1 + int(abs(lead))))


@final
@dataclass(frozen=True)
class Doubler:
    """Doubles its ε after every answer 0, starts again after every answer 1, and halves it after a refusal."""

    epsilon: Fraction = Fraction(1, 50)

    def move(self, view: View) -> Move | None:
        stake = self.epsilon
        for past_round in view:
            if past_round.refused:
                stake /= 2
            elif past_round.answer == 0:
                stake *= 2
            else:
                stake = self.epsilon
        return coin(stake) if stake >= _LEAST else None

    def score(self, view: View) -> float:
        """The sum of the evidence in the answers, each weighted by its ε."""
        return sum(
            (
                _stake(past_round) * past_round.move.evidence(past_round.answer)
                for past_round in view
                if not past_round.refused
            ),
            0.0,
        )


@final
@dataclass(frozen=True)
class Mixer(Watching):
    """Spends in every currency in turn, so that each filter of a race prices only a part of it well."""

    def move(self, view: View) -> Move | None:
        if len(view) >= 3 and all(past_round.refused for past_round in view[-3:]):
            return None
        match len(view) % 3:
            case 0:
                return noisy_count(Fraction(12), 0, 3)
            case 1:
                return noisy_count(Fraction(20), 0, 3, normal=True)
            case _:
                return coin(Fraction(1, 5))


@final
@dataclass(frozen=True)
class Scraper(Watching):
    """Asks with a large ε, and after every refusal with half of it, until next to nothing is left."""

    bite: Fraction = Fraction(2, 5)

    def move(self, view: View) -> Move | None:
        refusals = sum(past_round.refused for past_round in view)
        stake = self.bite / 2**refusals
        return coin(stake) if stake >= _LEAST else None


@final
@dataclass(frozen=True)
class Hospitals(Watching):
    """Asks another database in every round, all of which hold the same person [PDP21, scenario 1]."""

    epsilon: Fraction = TENTH

    def move(self, view: View) -> Move | None:
        if view and view[-1].refused:
            return None
        beds = 100 * len(view)
        return noisy_count(1 / self.epsilon, beds, beds + 1)


@final
@dataclass(frozen=True)
class Shamer(Watching):
    """Uses mechanisms that reveal everything with a small probability, each with a δ of its own."""

    epsilon: Fraction = Fraction(1, 20)
    delta: Fraction = Fraction(1, 1000)

    def move(self, view: View) -> Move | None:
        if view and view[-1].refused:
            return None
        return Move(0, 1, self._name_and_shame, events.Approx(self.epsilon, self.delta))

    def _name_and_shame(self, bit: int) -> int:
        shames = coin(_log_odds(self.delta)).answer(0)
        return 100 * (2 * bit - 1) if shames else int(coin(self.epsilon).answer(bit))


def _stake(past_round: Round) -> float:
    return float(past_round.move.event.epsilon) if isinstance(past_round.move.event, events.RandomizedResponse) else 1.0


@lru_cache(maxsize=64)
def _log_odds(delta: Fraction) -> Fraction:
    """An ε at which randomized response lies with a probability of just about δ, and not more."""
    odds, bound = Fraction(1), Fraction(0)
    while odds < 1 / delta:
        odds, bound = odds * 2, bound + Fraction(7, 10)  # e^0.7 > 2, so that lies become rarer than 1/odds
    return bound


ALL = (Repeater(), Chaser(), Doubler(), Mixer(), Scraper(), Hospitals(), Shamer())
