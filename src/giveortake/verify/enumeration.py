"""Every path of a random program: each coin is taken both ways, and the probabilities stay fractions.

The program is run again and again. A run follows the choices written down so far and takes the first outcome of every
coin after them; then the last choice that has another outcome left is advanced, as an odometer is. Only the choices
after it are drawn anew, so a program of k paths costs k runs and about two multiplications for each.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, Protocol, TypeAlias, final

from giveortake.errors import GiveOrTakeError, InvalidParameter, Unprovable
from giveortake.exact import Number, closed_probability, rational, whole
from giveortake.verify.polynomials import Polynomial

Law: TypeAlias = dict[Hashable, Fraction]
Chance: TypeAlias = "Number | Polynomial"
Weights: TypeAlias = "Sequence[Number] | Mapping[Any, Number]"

HALF = Fraction(1, 2)
_COIN = ((1, 1), (0, 1))  # heads first, each with numerator 1 of 2
DEPTH, PATHS = 64, 4_000_000


class _TooDeepError(BaseException):
    """This path has tossed more coins than were allowed; its probability becomes part of the remainder."""


class Flip(Protocol):
    """The coins of a program: `flip(p)`, `flip.choose(n)`, `flip.categorical(weights)`, `flip.until(body)`.

    `flip()` is 1 or 0, each with probability ½; `flip(p)` is 1 with probability p.
    """

    def __call__(self, p: Chance = HALF) -> int:
        """1 with probability p, 0 otherwise."""

    def choose(self, options: int | Sequence[Any]) -> Any:
        """One of 0 … n − 1, or one element of a sequence, each equally likely."""

    def categorical(self, weights: Weights) -> Any:
        """A key of a mapping, or an index of a sequence, with probability proportional to its weight."""

    def until(self, body: Callable[[Flip], Any], accept: Callable[[Any], Any] = bool) -> Any:
        """Run `body(flip)` again and again until `accept` holds of its result: an endless loop, exactly."""


@final
class Coins:
    """What stands behind `flip`: the path that is being taken, and the next one."""

    __slots__ = ("_choices", "_coins", "_denominators", "_depth", "_numerators", "_replay", "_sides", "_values")

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._replay: Iterator[Any] = iter(())  # outcomes that are written down for this run and not asked for yet
        self._choices: list[int] = []  # which outcome each coin of this path takes …
        self._values: list[Any] = []  # … and the outcome itself
        self._sides: list[Sequence[tuple[Any, Any]]] = []  # the outcomes of each coin with their numerators
        self._numerators: list[Any] = [1]  # of the path's probability up to each coin; polynomials if p is unknown
        self._denominators: list[int] = [1]
        self._coins: dict[Any, tuple[Sequence[tuple[Any, Any]], int]] = {}

    def flip(self) -> Flip:
        """The coins as a plain function with attributes: calling one is twice as fast as calling an object."""

        def flip(p: Chance = HALF) -> Any:
            for value in self._replay:  # the quickest way to take one more element, if there is one
                return value
            return self._extended(_COIN, 2) if p is HALF else self._extended(*self._coin(p))

        toss: Any = flip
        toss.choose, toss.categorical, toss.until = self.choose, self.categorical, self.until
        return toss  # type: ignore[no-any-return]

    def choose(self, options: int | Sequence[Any]) -> Any:
        """One of 0 … n − 1, or one element of a sequence, each equally likely."""
        for value in self._replay:
            return value
        listed: Sequence[Any] = range(whole("options", options)) if isinstance(options, int) else options
        if not len(listed):
            raise InvalidParameter("options", options, "is empty")
        return self._extended([(option, 1) for option in listed], len(listed))

    def categorical(self, weights: Weights) -> Any:
        """A key of a mapping, or an index of a sequence, with probability proportional to its weight."""
        for value in self._replay:
            return value
        items = list(weights.items()) if isinstance(weights, Mapping) else list(enumerate(weights))
        exactly = [(key, rational("weights", weight)) for key, weight in items]
        if any(weight < 0 for _, weight in exactly) or not any(weight for _, weight in exactly):
            raise InvalidParameter("weights", weights, "is not a list of non-negative weights with a positive sum")
        common = lcm(*(weight.denominator for _, weight in exactly))
        sides = [(key, int(weight * common)) for key, weight in exactly if weight]
        return self._extended(sides, sum(numerator for _, numerator in sides))

    def until(self, body: Callable[[Flip], Any], accept: Callable[[Any], Any] = bool) -> Any:
        """Run `body(flip)` again and again until `accept` holds of its result: an endless loop, exactly.

        Theorem: with a = P[accept] > 0, round n accepts result v with probability (1 − a)^(n−1)·P[v], and the
        geometric series sums to P[v]/a: nothing remains. `body` must depend on its coins alone.
        """
        law, remainder, _ = enumerate_paths(body, depth=self._depth)
        if remainder:
            raise Unprovable(
                "the body of the loop has endless paths of its own", hint="write inner loops with flip.until too"
            )
        accepted = {value: mass for value, mass in law.items() if accept(value)}
        if not accepted:
            raise Unprovable("the loop never ends: no result of its body is accepted")
        return self.categorical(accepted)

    def _coin(self, p: Chance) -> tuple[Sequence[tuple[Any, Any]], int]:
        if isinstance(p, Polynomial):
            return ((1, p), (0, 1 - p)), 1
        known = self._coins.get(p)
        if known is None or isinstance(p, bool):
            chance = closed_probability("p", p)
            heads, tails = chance.numerator, chance.denominator - chance.numerator
            sides = _COIN if heads == tails == 1 else tuple((s, n) for s, n in ((1, heads), (0, tails)) if n)
            known = self._coins[p] = (sides, chance.denominator)
        return known

    def _extended(self, sides: Sequence[tuple[Any, Any]], total: int) -> Any:
        if len(self._values) >= self._depth:
            raise _TooDeepError
        self._choices.append(0)
        self._values.append(sides[0][0])
        self._sides.append(sides)
        self._numerators.append(self._numerators[-1] * sides[0][1])
        self._denominators.append(self._denominators[-1] * total)
        return sides[0][0]

    def _start(self) -> None:
        """Begin a run: what is written down is told again, coin by coin."""
        self._replay = iter(self._values)

    def _mass(self) -> tuple[Any, int]:
        """The probability of the path that a run has just ended, as a numerator and a denominator."""
        for _ in self._replay:
            raise InvalidParameter("program", self, "does not do the same again when its coins fall the same")
        return self._numerators[-1], self._denominators[-1]

    def _advance(self) -> bool:
        """Move to the next path; False when there is none."""
        choices, sides = self._choices, self._sides
        while choices and choices[-1] + 1 == len(sides[-1]):
            choices.pop()
            self._values.pop()
            sides.pop()
            self._numerators.pop()
            self._denominators.pop()
        if not choices:
            return False
        choices[-1] += 1
        self._values[-1] = sides[-1][choices[-1]][0]
        self._numerators[-1] = self._numerators[-2] * sides[-1][choices[-1]][1]
        return True


def enumerate_paths(run: Callable[[Flip], Any], *, depth: int = DEPTH, paths: int = PATHS) -> tuple[Law, Fraction, int]:
    """The exact law of what `run` returns, the probability of paths cut at `depth` coins, and the number of paths."""
    coins = Coins(whole("depth", depth))
    flip = coins.flip()
    sums: dict[Hashable, dict[int, Any]] = {}  # output → denominator → sum of numerators
    cut: dict[int, Any] = {}
    count = 0
    start, advance, mass = coins._start, coins._advance, coins._mass  # noqa: SLF001 (this function drives the coins)
    while True:
        start()
        try:
            tally = _tally(sums, run(flip))
        except _TooDeepError:
            tally = cut
        numerator, denominator = mass()
        tally[denominator] = tally.get(denominator, 0) + numerator
        count += 1
        if not advance():
            break
        if count >= paths:
            raise Unprovable(
                f"the program has more than {paths:,} paths", hint="toss fewer coins, or pass a larger `paths`"
            )
    return {output: _sum(tally) for output, tally in sums.items()}, _sum(cut), count


def runner(program: Callable[..., Any]) -> Callable[[Any, Flip], Any]:
    """`program(x, flip)`, with `choose` and `categorical` as further arguments if it takes them.

    An argument named choose, categorical or until is filled by its name, others by position.
    """
    names = _positional(program)
    if len(names) <= 2:
        return program
    extras = names[2:]
    if any(extra not in {"choose", "categorical", "until"} for extra in extras):
        extras = ["choose", "categorical", "until"][: len(extras)]

    def run(x: Any, flip: Flip) -> Any:
        return program(x, flip, *(getattr(flip, extra) for extra in extras))

    return run


def takes_coins(program: Callable[..., Any]) -> bool:
    """Whether a function of one value also asks for coins."""
    return len(_positional(program)) >= 2


def _positional(program: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):  # built-in functions may have no signature
        return ["value"]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds and (p.default is p.empty or p.name in _KNOWN)]


_KNOWN = {"flip", "choose", "categorical", "until"}


def _sum(tally: dict[int, Any]) -> Fraction:
    """A fraction; or, if p was unknown, a polynomial, of which only `family` knows."""
    return sum((Fraction(1, denominator) * numerator for denominator, numerator in tally.items()), Fraction(0))


def _tally(sums: dict[Hashable, dict[int, Any]], output: Any) -> dict[int, Any]:
    try:
        return sums.setdefault(output, {})
    except TypeError:
        raise GiveOrTakeError(
            f"the program returned a {type(output).__name__}, which cannot be counted", hint="return a tuple, or text"
        ) from None
