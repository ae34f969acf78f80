"""The k-fold adaptive composition experiment of [Rot11], played against a filter.

In every round the adversary names two neighbouring databases and a mechanism, having seen all earlier answers; the
filter admits the charge or refuses it; if it admits, the mechanism runs on the database of experiment b. What the
adversary has seen at the end must be as private with respect to b as the filter promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final, runtime_checkable

from giveortake import accounting
from giveortake.audit.bounds import advantage_and_check
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.exact import whole
from giveortake.mechanisms import Mechanism
from giveortake.privacy import Guarantee
from giveortake.randomness import SYSTEM_ENTROPY

if TYPE_CHECKING:
    from giveortake.audit.bounds import Evidence, Finding, Progress
    from giveortake.exact import Number
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True)
class Move:
    """Two neighbouring databases, a mechanism, and the event that it is charged as.

    `mechanism` is one of ours, whose own event is charged unless another is given, or any function of a database.
    """

    x: Any
    y: Any
    mechanism: Any
    event: Event

    def answer(self, b: int) -> Any:
        """The mechanism's answer on the database of experiment b."""
        database = self.y if b else self.x
        return self.mechanism.release(database) if isinstance(self.mechanism, Mechanism) else self.mechanism(database)

    def evidence(self, answer: Any) -> float:
        """How much an answer speaks for experiment 1: how much nearer it is to y than to x."""
        if isinstance(answer, Real) and isinstance(self.x, Real) and isinstance(self.y, Real):
            return abs(float(answer) - float(self.x)) - abs(float(answer) - float(self.y))
        return float(answer == self.y) - float(answer == self.x)


@final
class Refused:
    """The answer, in a view, to a charge that the filter refused."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<refused>"


REFUSED = Refused()


@final
@dataclass(frozen=True, slots=True)
class Round:
    """A move and its answer."""

    move: Move
    answer: Any

    @property
    def refused(self) -> bool:
        """Whether the filter refused."""
        return self.answer is REFUSED


View: TypeAlias = Sequence[Round]


@runtime_checkable
class Adversary(Protocol):
    """Chooses the next move from everything seen so far, and says at the end how much it believes in experiment 1."""

    def move(self, view: View) -> Move | None:
        """The next move, or None to stop."""

    def score(self, view: View) -> float:
        """Larger where experiment 1 is more likely."""


class Guard(Protocol):
    """What `play` needs of a filter."""

    @property
    def budget(self) -> Guarantee:
        """The promise that the filter keeps."""

    def charge(self, event: Event) -> None:
        """Count the event, or raise BudgetExceeded."""


@final
@dataclass(frozen=True, slots=True)
class Play:
    """What an adversary achieved against a promise. A high score refutes a filter; a low one proves nothing."""

    finding: Finding
    telling: Evidence
    rounds: int
    trials: int
    admitted: float

    @property
    def violated(self) -> bool:
        """Whether the adversary did what the promise says nobody can, at the stated confidence."""
        return self.finding.violated

    @property
    def promise(self) -> Guarantee:
        """What the filter promises."""
        return self.finding.promise

    @property
    def advantage(self) -> float:
        """A lower bound of the adversary's true-positive minus false-positive rate, at the stated confidence."""
        return max(0.0, self.telling.least - self.telling.greatest)

    @property
    def promised_advantage(self) -> float:
        """The greatest advantage that the promise allows anybody."""
        return float(self.promise.advantage())

    def __bool__(self) -> bool:
        return not self.violated

    def __str__(self) -> str:
        return (
            f"{self.trials:,} games of up to {self.rounds} rounds in each experiment, {self.admitted:.1f} admitted on "
            f"average; the adversary's advantage is at least {self.advantage:.4g}, and {self.promised_advantage:.4g} "
            f"at most is promised.\n{self.finding}"
        )

    __repr__ = __str__


def play(
    adversary: Any,
    filter: Any,  # noqa: A002 (a held name)
    *,
    rounds: int = 20,
    trials: int = 4000,
    confidence: Number = 0.95,
    progress: Progress = False,
) -> Play:
    """Play the k-fold adaptive composition experiment against a filter, `trials` times in each experiment.

    `adversary` has `move(view)` and `score(view)`, or is a function of the view that returns a `Move`, a tuple
    (x, y, mechanism, event) or None, scored by how near answers are to the two databases; a class is made anew for
    every game. `filter` is a budget, a filter (every game begins with a copy) or a function that makes a new guard.

    Guarantee [CP34], [Rot11, Algorithm 1]: a filter that keeps its promise is called violated with probability at most
    1 − confidence, whatever the adversary does, as long as it keeps nothing between games and is charged truthfully.
    Every game is played by a copy of the adversary, and games of the two experiments come in a random order.
    """
    most, fresh = whole("rounds", rounds), _factory(filter)
    promise = fresh().budget
    counts = [0, 0]
    played: tuple[list[tuple[float, int, int]], ...] = ([], [])

    def experiment(b: int) -> tuple[float, int, int]:
        while not played[b]:  # whatever leaks from game to game tells nothing about b
            toss = SYSTEM_ENTROPY.read(1)[0] % 2
            played[toss].append(game(toss))
        return played[b].pop(0)

    def game(b: int) -> tuple[float, int, int]:
        player = adversary() if isinstance(adversary, type) else deepcopy(adversary)
        move, score = _methods(player)
        view = _game(move, fresh(), b, most)
        admitted = sum(not past_round.refused for past_round in view)
        counts[0] += 1
        counts[1] += admitted
        return score(view), admitted, len(view) - admitted

    telling, finding = advantage_and_check(experiment, promise, trials, confidence, progress)
    return Play(finding, telling, most, whole("trials", trials), counts[1] / max(1, counts[0]))


def _game(move: Callable[[View], Any], guard: Guard, b: int, rounds: int) -> list[Round]:
    view: list[Round] = []
    for _ in range(rounds):
        chosen = move(view)
        if chosen is None:
            break
        if isinstance(chosen, tuple):
            chosen = _as_move(*chosen)
        try:
            guard.charge(chosen.event)
        except BudgetExceeded:
            view.append(Round(chosen, REFUSED))
        else:
            view.append(Round(chosen, chosen.answer(b)))
    return view


def _as_move(x: Any, y: Any, mechanism: Any, event: Event | None = None) -> Move:
    """A move written as (x, y, mechanism) or (x, y, mechanism, event)."""
    if event is None:
        if not isinstance(mechanism, Mechanism):
            raise InvalidParameter(
                "move", mechanism, "says not what it is charged as", hint="add the event to the move"
            )
        event = mechanism.event()
    return Move(x, y, mechanism, event)


def total_evidence(view: View) -> float:
    """The sum of the evidence for experiment 1 in all answers."""
    return sum(past_round.move.evidence(past_round.answer) for past_round in view if not past_round.refused)


def _methods(player: Any) -> tuple[Callable[[View], Move | None], Callable[[View], float]]:
    if isinstance(player, Adversary):
        return player.move, player.score
    if not callable(player):
        raise InvalidParameter(
            "adversary", player, "has no methods `move` and `score`, and is not a function of the view"
        )
    return player, getattr(player, "score", total_evidence)


def _factory(filter_source: Any) -> Callable[[], Guard]:
    if isinstance(filter_source, Guarantee):
        return lambda: accounting.filter(filter_source)
    if isinstance(filter_source, accounting.Filter):
        snapshot = filter_source.snapshot()
        return lambda: accounting.filter(filter_source.budget, snapshot=snapshot)
    if not callable(filter_source):
        raise InvalidParameter(
            "filter", filter_source, "is neither a budget nor a filter nor a function that makes one"
        )
    factory: Callable[[], Guard] = filter_source  # what it makes is tried
    return factory
