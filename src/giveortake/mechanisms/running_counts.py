"""One step of a running count: a row of the square root of running totals, with noise [HUU23; FHU23]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias, final

from giveortake import exact
from giveortake.errors import LedgerMismatch
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.gaussian import Gaussian
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened
from giveortake.mechanisms.square_root import SquareRoot
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.exact import Number
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.privacy.units import Neighbours
    from giveortake.randomness import Entropy, IntArray

    Integers: TypeAlias = BoundedIntegers | IntArray

_PADS = 1 << 256
_MOST = 1 << 64  # rows


@final
@dataclass(frozen=True, slots=True)
class RunningCount(Mechanism["Integers", int]):
    """Row t of B·x + z for the counts x of the periods so far, B = `SquareRoot(horizon)`, z normal of scale `sigma`.

    Guarantee: let a unit put at most m rows into the periods of the horizon. All steps together move by B·u, which is a
    sum of m columns of B: by at most m times the length of the first one, which is the longest, and is reached where
    all m rows lie in the first period. Columns are not negative, so that √m would be false. B is lower triangular:
    step t depends on the periods up to t alone, and later rows may depend on what was released [DMRST22]. So all steps
    of the horizon together are one Gaussian release, under one charge.
    """

    horizon: int
    sigma: Fraction

    citation: ClassVar[str] = (
        "Henzinger, Upadhyay, Upadhyay: Almost tight error bounds on differentially private continual counting, "
        "SODA 2023"
    )

    @classmethod
    def calibrated(cls, horizon: int, mu: Fraction, rows: int, neighbours: Neighbours) -> RunningCount:
        """The least noise, up to a part in 2⁴⁰, for which all steps are μ-GDP, where a unit has at most `rows` rows.

        It is rounded up to few digits, so that its price is never a little above the budget that it was made for.
        """
        least = moved(horizon, rows, neighbours) / mu
        grain = exact.power_of_two_at_least(least) / 2**41
        return cls(horizon, (least // grain + 2) * grain)

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """The event of all steps together, when one unit moves B·x by at most `sensitivity` in L2."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> int:
        """The integer of the last of the periods given: exact sums, and noise drawn once."""
        return self._noisy(shaped_numbers.bounded("value", opened(value, self)).tolist(), entropy)

    def next(
        self,
        now: Integers | Sensitive[Integers],
        past: Sequence[int],
        pads: Sequence[int | Sensitive[int]],
        entropy: Entropy | None = None,
    ) -> tuple[int, int]:
        """The integer of the next period, and its exact count under a pad. `past` are earlier counts under theirs.

        There is a pad of 256 random bits for each period, this one included, and each is used once: a count under its
        pad tells nothing to whoever does not have the pad. So earlier counts never change: rows that come late do not
        count, and no answer depends on them.
        """
        (count,) = shaped_numbers.bounded("now", opened(now, self)).tolist()
        *earlier, last = (int(opened(pad, self)) for pad in pads)
        before = [(each - pad) % _PADS for each, pad in zip(past, earlier, strict=True)]
        if any(each >= _MOST for each in before):
            raise LedgerMismatch(
                "the counts of earlier periods cannot be read: the secret beside the ledger's mark is another one",
                hint="put the mark's folder back, or begin a new counter",
            )
        return self._noisy([*before, count], entropy), (count + last) % _PADS

    def _noisy(self, counts: list[int], entropy: Entropy | None) -> int:
        column = SquareRoot(self.horizon).column
        exactly = sum(count * column[len(counts) - 1 - place] for place, count in enumerate(counts))
        return int(Gaussian(self.sigma).release(exactly, entropy))


def moved(horizon: int, rows: int, neighbours: Neighbours) -> Fraction:
    """How far a unit of `rows` rows moves all steps together, in L2, rounded up."""
    once = rows * SquareRoot(horizon).l2
    return once if neighbours == "add-remove" else once * exact.sqrt_up(Fraction(2))
