"""Every path of a random program, exactly, and which of its outputs are the same.

The program is run again and again. A run follows the choices written down so far and takes the first outcome of every
coin after them; then the last choice that has another outcome left is advanced, as an odometer is. Only the choices
after it are drawn anew, so a program of k paths costs k runs and about two multiplications for each.
"""

from __future__ import annotations

import datetime as dt
import inspect
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import lcm, nan
from random import Random
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar, final

import numpy as np

from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import Number, closed_probability, rational, whole
from giveortake.verify.numbers import Polynomial, never_negative

_WRITTEN_ALIKE = frozenset({bool, int, str, bytes, type(None)})  # if they are equal
_PLAIN = _WRITTEN_ALIKE | {complex, Decimal, range, dt.date, dt.timedelta}
_SCALARS = frozenset(np.sctypeDict.values()) - {np.object_, np.void}
NAN = nan  # the one not-a-number that stands for all in a table


def canonical(output: Any) -> Any:
    """The output itself, with one not-a-number in place of all floats that are none.

    Refuse an output that may differ from another in what neither `==` nor its parts nor its text show. Known are plain
    values, dates, times without a zone or in UTC, scalars of numpy, members of enums, fractions, tuples, frozen sets.
    """
    kind = type(output)
    if kind in _WRITTEN_ALIKE:
        return output
    if kind is float:
        return NAN if output != output else output  # noqa: PLR0124 (not a number)
    if kind is tuple:
        return tuple(map(canonical, output))
    if not _is_plain(output):
        _refuse(output, f"is a {kind.__name__}, which may hold more than can be compared")
    if (
        (kind is Decimal and output.is_nan())
        or output != output  # noqa: PLR0124 (not a number)
        or (kind is frozenset and NAN in map(canonical, output))
    ):
        _refuse(output, "is not a number or time, but one of several kinds of none")
    return output


def _is_plain(output: Any) -> bool:
    kind = type(output)
    if kind is Fraction:
        return type(output.numerator) is type(output.denominator) is int
    if kind in {dt.datetime, dt.time}:
        return output.tzinfo is None or output.tzinfo is dt.UTC
    return kind in _PLAIN or kind in _SCALARS or kind is frozenset or (issubclass(kind, Enum) and bool(kind.__hash__))


def _refuse(output: Any, problem: str) -> NoReturn:
    hint = "return a text, a number, or a tuple of these, such as str(answer)"
    raise InvalidParameter("output", output, problem, hint=hint)


def same(one: Any, other: Any) -> bool:
    """Whether nobody can tell them apart: equal, of the same type, with the same parts, and written alike.

    Python calls many things equal that a reader tells apart: 1.0 and 1.00, zeros of two signs, frozen sets that are
    written in two orders, members of an enum.
    """
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other) or one != other:
        return False
    if kind in {tuple, frozenset}:
        return all(map(same, one, other))
    return kind in _WRITTEN_ALIKE or (not isinstance(one, Enum) and repr(one) == repr(other))


def refuse_if_different(one: Any, other: Any) -> None:
    """Refuse two outputs that Python calls equal and a reader can tell apart."""
    if not same(one, other):
        raise InvalidParameter(
            "output",
            (one, other),
            "are two outputs that Python calls equal and a reader does not",
            hint="return plain values of one type only, such as int(answer), and tuple(sorted(answer)) for a set",
        )


_KNOWN = {"flip", "choose", "categorical", "until"}


def called(program: object) -> str:
    """The name of a program in error messages."""
    return str(getattr(program, "__name__", type(program).__name__))


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


def require_coins(program: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with an input and coins."""
    try:
        inspect.signature(program).bind_partial(None, None)
    except TypeError:
        raise InvalidParameter(
            "program", called(program), "takes no coins", hint="def f(x, flip): return x if flip() else flip()"
        ) from None
    except ValueError:  # built-in functions may have no signature
        return


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


Law: TypeAlias = dict[Hashable, Fraction]
Chance: TypeAlias = "Number | Polynomial"
Weights: TypeAlias = "Sequence[Number] | Mapping[Any, Number]"

HALF = Fraction(1, 2)
_COIN = ((1, 1), (0, 1))  # heads first, each with numerator 1 of 2
DEPTH, PATHS = 64, 4_000_000


_E = TypeVar("_E", bound=BaseException)


class _TooDeepError(BaseException):
    """This path has tossed more coins than were allowed; its probability becomes part of the remainder."""


_CUT = object()  # the output of a path that was cut
_RERUN, _FEWEST_RERUN = 1000, 64
_HINT = "take every random choice from flip: flip(p), flip.choose(n), flip.categorical(weights)"


@final
class _Refusing:
    """Refuses coins where none may be tossed: after a run, and the outer coins inside a loop."""

    __slots__ = ("_coins", "_words")

    def __init__(self, coins: Coins, words: str) -> None:
        self._coins, self._words = coins, words

    def __iter__(self) -> _Refusing:
        return self

    def __next__(self) -> Any:
        raise self._coins.failed(InvalidParameter("flip", "this one", self._words))


@final
@dataclass(frozen=True, slots=True)
class _Path:
    """The coins of one path, with what was asked of each, and the output at its end."""

    script: tuple[tuple[Any, Any], ...]
    output: Any


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
    """The state behind `flip`: the path that is being taken, and how to move to the next one."""

    __slots__ = (
        "_choices", "_coins", "_denominators", "_depth", "_failure", "_numerators", "_questions", "_replay", "_sides",
        "_values",
    )  # fmt: skip

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._replay: Iterator[Any] = iter(())  # outcomes that are written down for this run and not asked for yet
        self._failure: BaseException | None = None  # what was raised to the program, which may have swallowed it
        self._choices: list[int] = []  # which outcome each coin of this path takes …
        self._values: list[Any] = []  # … and the outcome itself, as a number
        self._questions: list[Any] = []  # what the program asked for, to be compared when it asks again
        self._sides: list[Sequence[tuple[Any, Any]]] = []  # the outcomes of each coin with their numerators
        self._numerators: list[Any] = [1]  # of the path's probability up to each coin; polynomials if p is unknown
        self._denominators: list[int] = [1]
        self._coins: dict[Any, tuple[Sequence[tuple[Any, Any]], int]] = {}

    def flip(self) -> Flip:
        """The coins as a plain function with attributes: calling one is twice as fast as calling an object."""

        def flip(p: Chance = HALF) -> Any:
            for value, recorded in self._replay:  # the quickest way to take one more element, if there is one
                if recorded is p or (type(recorded) is type(p) and recorded == p):
                    return value
                raise self._other_coins()
            return self._extended(p, _COIN, 2) if p is HALF else self._extended(p, *self._coin(p))

        toss: Any = flip
        toss.choose, toss.categorical, toss.until = self.choose, self.categorical, self.until
        return toss  # type: ignore[no-any-return]  # (a function with attributes)

    def choose(self, options: int | Sequence[Any]) -> Any:
        """One of 0 … n − 1, or one element of a sequence, each equally likely."""
        listed: Sequence[Any] = range(whole("options", options)) if isinstance(options, int) else options
        count = len(listed)
        if not count:
            raise InvalidParameter("options", options, "is empty")
        index = self._replayed(("choose", count))
        if index is None:
            index = self._extended(("choose", count), [(side, 1) for side in range(count)], count)
        return listed[index]

    def categorical(self, weights: Weights) -> Any:
        """A key of a mapping, or an index of a sequence, with probability proportional to its weight."""
        items = list(weights.items()) if isinstance(weights, Mapping) else list(enumerate(weights))
        exactly = [rational("weights", weight) for _, weight in items]
        if any(weight < 0 for weight in exactly) or not any(exactly):
            raise InvalidParameter("weights", weights, "is not a list of non-negative weights with a positive sum")
        common = lcm(*(weight.denominator for weight in exactly))
        sides = [(index, int(weight * common)) for index, weight in enumerate(exactly) if weight]
        index = self._replayed(("categorical", sides))
        if index is None:
            index = self._extended(("categorical", sides), sides, sum(numerator for _, numerator in sides))
        return items[index][0]

    def until(self, body: Callable[[Flip], Any], accept: Callable[[Any], Any] = bool) -> Any:
        """Run `body(flip)` again and again until `accept` holds of its result: an endless loop, exactly.

        Theorem: with a = P[accept] > 0, round n accepts result v with probability (1 − a)^(n−1)·P[v], and the
        geometric series sums to P[v]/a: nothing remains. `body` must depend on its coins alone, and keep nothing:
        it is not run as often as the loop would run it, so that a count of rounds would be another.
        """
        outside = self._replay
        self._replay = _Refusing(self, "belongs outside of this loop: use the flip that the body is called with")
        try:
            law, remainder, _ = enumerate_paths(body, depth=self._depth)
            accepted = {value: mass for value, mass in law.items() if accept(value)}
        finally:
            self._replay = outside
        if self._failure is not None:
            raise self._failure
        if remainder:
            raise self.failed(
                Unprovable(
                    "the body of the loop has endless paths of its own", hint="write inner loops with flip.until too"
                )
            )
        if not accepted:
            raise self.failed(Unprovable("the loop never ends: no result of its body is accepted"))
        return self.categorical(accepted)

    def failed(self, error: _E) -> _E:
        """Remember an error that is about to be raised, because the program may swallow it."""
        if self._failure is None or isinstance(self._failure, _TooDeepError):
            self._failure = error
        return error

    def _coin(self, p: Chance) -> tuple[Sequence[tuple[Any, Any]], int]:
        try:
            known = self._coins.get((type(p), p))
        except TypeError:  # no number at all
            known = None
        if known is not None:
            return known
        if isinstance(p, Polynomial):
            if not never_negative(p) or not never_negative(1 - p):
                raise self.failed(InvalidParameter("p", p, "is not a probability for every 0 < p < 1"))
            known = ((1, p), (0, 1 - p)), 1
        else:
            chance = closed_probability("p", p)
            heads, tails = chance.numerator, chance.denominator - chance.numerator
            sides = _COIN if heads == tails == 1 else tuple((s, n) for s, n in ((1, heads), (0, tails)) if n)
            known = sides, chance.denominator
        self._coins[type(p), p] = known
        return known

    def _replayed(self, question: Any) -> Any:
        """The recorded outcome of the next coin; None if there is none."""
        for value, recorded in self._replay:
            if type(recorded) is tuple and recorded == question:
                return value
            raise self._other_coins()
        return None

    def _other_coins(self) -> InvalidParameter:
        return self.failed(
            InvalidParameter(
                "program", "this one", "does not do the same again when its coins fall the same", hint=_HINT
            )
        )

    def _extended(self, question: Any, sides: Sequence[tuple[Any, Any]], total: int) -> Any:
        if len(self._values) >= self._depth:
            raise self.failed(_TooDeepError())
        self._choices.append(0)
        self._values.append(sides[0][0])
        self._questions.append(question)
        self._sides.append(sides)
        self._numerators.append(self._numerators[-1] * sides[0][1])
        self._denominators.append(self._denominators[-1] * total)
        return sides[0][0]

    def run(self, run: Callable[[Flip], Any], flip: Flip) -> Any:
        """Run once: recorded coins fall as before, later ones anew. A path that is too long has the output `_CUT`."""
        self._failure = None
        replay = self._replay = zip(tuple(self._values), tuple(self._questions))  # noqa: B905 (of one length, and quicker so)
        try:
            output = run(flip)
        except _TooDeepError:
            output = _CUT
        finally:
            self._replay = _Refusing(self, "was kept after its run had ended")
        if self._failure is not None:  # the program may have swallowed it and gone on
            if not isinstance(self._failure, _TooDeepError):
                raise self._failure
            output = _CUT
        for _ in replay:
            raise self._other_coins()
        return output

    def follow(self, path: _Path, run: Callable[[Flip], Any], flip: Flip) -> Any:
        """One run along a path that was recorded."""
        self._values, self._questions = ([step[side] for step in path.script] for side in (0, 1))
        output = self.run(run, flip)
        if len(self._values) > len(path.script):
            raise self._other_coins()
        return output

    def path(self, output: Any) -> _Path:
        """The path that was just taken."""
        return _Path(tuple(zip(self._values, self._questions, strict=True)), output)

    def mass(self) -> tuple[Any, int]:
        """The probability of the path that a run has just ended, as a numerator and a denominator."""
        return self._numerators[-1], self._denominators[-1]

    def advance(self) -> bool:
        """Move to the next path; False when there is none."""
        choices, sides = self._choices, self._sides
        while choices and choices[-1] + 1 == len(sides[-1]):
            choices.pop()
            self._values.pop()
            self._questions.pop()
            sides.pop()
            self._numerators.pop()
            self._denominators.pop()
        if not choices:
            return False
        choices[-1] += 1
        self._values[-1] = sides[-1][choices[-1]][0]
        self._numerators[-1] = self._numerators[-2] * sides[-1][choices[-1]][1]
        return True


def enumerate_paths(
    run: Callable[[Flip], Any], *, depth: int = DEPTH, paths: int = PATHS, recorded: list[_Path] | None = None
) -> tuple[Law, Fraction, int]:
    """The exact law of what `run` returns, the probability of paths cut at `depth` coins, and the number of paths.

    Some of the paths, at most a thousand and evenly spread, are recorded if that is asked for.
    """
    coins = Coins(whole("depth", depth))
    flip = coins.flip()
    sums: dict[Hashable, tuple[Any, dict[int, Any]]] = {}  # output → itself, and denominator → sum of numerators
    cut: dict[int, Any] = {}
    count, stride = 0, 1
    while True:
        output = coins.run(run, flip)
        tally = cut if output is _CUT else _tally(sums, output)
        numerator, denominator = coins.mass()
        tally[denominator] = tally.get(denominator, 0) + numerator
        if recorded is not None and count % stride == 0:
            recorded.append(coins.path(output))
            if len(recorded) > _RERUN:
                del recorded[1::2]
                stride *= 2
        count += 1
        if not coins.advance():
            break
        if count >= paths:
            raise Unprovable(
                f"the program has more than {paths:,} paths", hint="toss fewer coins, or pass a larger `paths`"
            )
    return {output: _sum(tally) for output, (_, tally) in sums.items()}, _sum(cut), count


def laws_of(
    runs: Mapping[Any, Callable[[Flip], Any]], name: str, *, depth: int = DEPTH, paths: int = PATHS
) -> tuple[dict[Any, Law], dict[Any, Fraction], int]:
    """The law of each run, the probability that was cut off of each, and the number of all paths.

    Nothing can be proved about a program with other random choices, or with a memory. So up to a thousand paths are run
    again, in another order and with all inputs mixed, and must give the same; and Python's and NumPy's generators must
    be in the state they were in before. That catches mistakes, not somebody who hides what they do.
    """
    before = _generators()
    laws: dict[Any, Law] = {}
    cut: dict[Any, Fraction] = {}
    reruns: list[tuple[Any, _Path]] = []
    total = 0
    try:
        for x, run in runs.items():
            recorded: list[_Path] = []
            laws[x], cut[x], count = enumerate_paths(run, depth=depth, paths=paths, recorded=recorded)
            reruns += [(x, path) for path in recorded]
            total += count
        _run_again(runs, reruns, name, depth)
    finally:
        moved = _moved(before)
    if moved:
        raise Unprovable(f"{name} drew from {moved}, so nothing can be proved about it", hint=_HINT)
    return laws, cut, total


def _run_again(
    runs: Mapping[Any, Callable[[Flip], Any]], recorded: list[tuple[Any, _Path]], name: str, depth: int
) -> None:
    dice = Random(1)  # noqa: S311 (an order, not noise)
    some = dice.sample(recorded, min(_RERUN, len(recorded)))
    coins = Coins(depth)
    flip = coins.flip()
    for turn in range(max(1, _FEWEST_RERUN // max(1, len(some)))):
        for x, path in some if turn == 0 else dice.sample(some, len(some)):
            output = coins.follow(path, runs[x], flip)
            if not _alike(output, path.output):
                one, other = ("nothing" if outcome is _CUT else repr(outcome) for outcome in (path.output, output))
                raise Unprovable(
                    f"{name} gave {one} and then {other} on the same input and the same coins, so nothing can be "
                    "proved about it",
                    hint=_HINT,
                )


def _alike(output: Any, recorded: Any) -> bool:
    if output is recorded or _CUT is output or _CUT is recorded:
        return output is recorded
    return same(canonical(output), canonical(recorded))


def _generators() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _moved(before: tuple[Any, Any]) -> str:
    now = _generators()
    if now[0] != before[0]:
        return "Python's random"
    return "" if all(map(np.array_equal, now[1], before[1])) else "numpy.random"


def _sum(tally: dict[int, Any]) -> Fraction:
    """The sum as a fraction; if p is unknown, as a polynomial, which only `family` asks for."""
    return sum((Fraction(1, denominator) * numerator for denominator, numerator in tally.items()), Fraction(0))


def _tally(sums: dict[Hashable, tuple[Any, dict[int, Any]]], output: Any) -> dict[int, Any]:
    output = canonical(output)
    first, tally = sums.setdefault(output, (output, {}))
    if first is not output:
        refuse_if_different(first, output)
    return tally
