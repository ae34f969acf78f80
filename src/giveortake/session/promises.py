"""What several answers promise together."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from giveortake.privacy import ZCDP, ApproxDP, GaussianDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.privacy import Guarantee


def together(promises: Sequence[Guarantee]) -> Guarantee:
    """The promise of releases that are shown together, as an answer and those that it refines.

    Guarantee: basic composition (seed 000 L1.2), in the currency that all share. Beside an (ε, δ), a promise of
    Gaussian noise is stated as one at the same δ first.

    >>> from giveortake.privacy import PureDP
    >>> together([PureDP("0.25"), PureDP(1), PureDP(1)])
    PureDP('2.25')
    >>> together([GaussianDP("0.1"), ApproxDP(1, "1e-6")]).delta == 2 * ApproxDP(1, "1e-6").delta
    True
    """
    delta = max((each.delta for each in promises if isinstance(each, ApproxDP)), default=None)
    if delta is not None:
        promises = [each.approximate(delta) if isinstance(each, ZCDP | GaussianDP) else each for each in promises]
    return reduce(lambda one, other: one.compose(other), promises)
