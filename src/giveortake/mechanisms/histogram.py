"""Histograms over categories that are known beforehand; [Har25]."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.exact import positive
from giveortake.mechanisms.categories import checked_categories, counts_of
from giveortake.mechanisms.laplace import Laplace
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.privacy import events
    from giveortake.randomness import Entropy


@final
@dataclass(frozen=True, slots=True)
class Histogram(Mechanism[Iterable[Any], dict[Any, int]]):
    """Count rows by category and add Laplace noise of that scale to every count, zeros included.

    Guarantee [DMNS06], [Har25, "DP histograms"]: adding or removing one row changes one count by one, so a release is
    (1 / scale)-DP; changing one row changes two counts, so it is (2 / scale)-DP. The number of categories does not
    matter. Rows that are missing or in no category count nowhere.

    >>> Histogram(["north", "south"], scale=10).event(sensitivity=2).guarantee(neighbours="change-one")
    PureDP('0.2', neighbours='change-one')
    """

    categories: tuple[Hashable, ...]
    scale: Fraction

    citation: ClassVar[str] = Laplace.citation

    def __init__(self, categories: Iterable[Hashable], scale: Number) -> None:
        object.__setattr__(self, "categories", checked_categories(categories))
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Laplace:
        """A Laplace release of that L1 sensitivity: 1 under add-remove, 2 under change-one."""
        return Laplace(self.scale).event(sensitivity)

    def release(
        self, value: Iterable[Any] | Sensitive[Iterable[Any]], entropy: Entropy | None = None
    ) -> dict[Any, int]:
        """A noisy count for every category, in the order of the categories; `value` holds the rows."""
        counts = counts_of(opened(value, self), self.categories)
        return dict(zip(self.categories, Laplace(self.scale).release(counts, entropy).tolist(), strict=True))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """How far one count is off at most, with at least that probability."""
        return Laplace(self.scale).margin(confidence)
