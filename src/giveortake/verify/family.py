"""A mechanism for every p at once: probabilities are polynomials in p, and ratios are compared on all of 0 < p < 1."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import Unprovable
from giveortake.exact import Number, open_probability
from giveortake.verify.enumeration import DEPTH, called, laws_of
from giveortake.verify.numbers import Polynomial, common_divisor, never_negative
from giveortake.verify.table import Pair, Relation, Table, neighbouring_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from fractions import Fraction

P = Polynomial([0, 1])


@final
class RationalFunction:
    """A ratio of two polynomials that are positive on 0 < p < 1, in lowest terms."""

    __slots__ = ("above", "below")

    def __init__(self, above: Polynomial, below: Polynomial) -> None:
        shared = common_divisor(above, below)
        above, below = above // shared, below // shared
        lead = next(c for c in below.coefficients if c)
        self.above, self.below = above * (1 / lead), below * (1 / lead)

    def at(self, p: Number) -> Fraction:
        """The value at one p."""
        point = open_probability("p", p)
        return self.above.at(point) / self.below.at(point)

    def never_exceeds(self, other: RationalFunction) -> bool:
        """Whether this is at most the other for every 0 < p < 1."""
        return never_negative(other.above * self.below - self.above * other.below)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RationalFunction) and (self.above, self.below) == (other.above, other.below)

    def __hash__(self) -> int:
        return hash((self.above, self.below))

    def __repr__(self) -> str:
        return repr(self.above) if self.below == 1 else f"({self.above!r}) / ({self.below!r})"


@final
class Family:
    """The tables of a program for all 0 < p < 1.

    Guarantee ([Fre18], the exercise after Theorem 3): for every 0 < p < 1 the tight ε is the logarithm of the greatest
    of `ratios()`. Probabilities are polynomials with exact coefficients; a ratio is dropped only if Sturm's theorem
    shows it to be at most another one everywhere.
    """

    __slots__ = ("_laws", "_pairs")

    def __init__(self, laws: Mapping[Hashable, Mapping[Hashable, Any]], pairs: Iterable[Pair]) -> None:
        self._laws: dict[Hashable, dict[Hashable, Polynomial]] = {
            x: {o: 0 * P + mass for o, mass in law.items()} for x, law in laws.items()
        }
        self._pairs = tuple(pairs)

    def probability(self, x: Any, output: Any) -> Polynomial:
        """P[output | x] as a polynomial in p."""
        return self._laws[x].get(output, 0 * P)

    def at(self, p: Number) -> Table:
        """The table at one p."""
        point = open_probability("p", p)
        laws = {x: {o: mass.at(point) for o, mass in law.items()} for x, law in self._laws.items()}
        return Table(laws, self._pairs)

    def ratios(self) -> list[RationalFunction]:
        """The ratios of which e^ε is the greatest at every p; empty if some output reveals an input."""
        candidates = set()
        for x, y in self._pairs:
            for output, mass in self._laws[x].items():
                neighbour_mass = self.probability(y, output)
                if mass and not neighbour_mass:
                    return []
                if mass:
                    candidates.add(RationalFunction(mass, neighbour_mass))
        return sorted(_greatest(candidates), key=repr)


def family(
    f: Callable[..., Any], inputs: Iterable[Hashable] = (0, 1), *, neighbours: Relation = None, depth: int = DEPTH
) -> Family:
    """Run `f(x, flip, p)` over every path, with p unknown: only `flip(p)` and polynomials in p may use it.

    >>> def randomized_response(x, flip, p):
    ...     return x if flip(p) else flip(p)
    >>> family(randomized_response).ratios()
    [(1 − p + p²) / (1 − 2p + p²), (2 − p) / (1 − p)]
    """
    listed = list(inputs)
    laws, cut, _ = laws_of({x: partial(_run, f, x) for x in listed}, called(f), depth=depth)
    if any(cut.values()):
        raise Unprovable(
            f"some paths of {called(f)} toss more than {depth} coins, and were not enumerated",
            hint="pass a larger `depth`, or write endless loops with flip.until",
        )
    return Family(laws, neighbouring_pairs(listed, neighbours))


def _run(f: Callable[..., Any], x: Any, flip: Any) -> Any:
    return f(x, flip, P)


def _greatest(ratios: set[RationalFunction]) -> list[RationalFunction]:
    return [one for one in ratios if not any(one != other and one.never_exceeds(other) for other in ratios)]
