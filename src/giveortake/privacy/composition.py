"""Many promises at once: one after the other, or side by side on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import whole
from giveortake.privacy.approximate import ApproxDP
from giveortake.privacy.concentrated import ZCDP
from giveortake.privacy.gaussian import GaussianDP
from giveortake.privacy.guarantee import Guarantee, combined

if TYPE_CHECKING:
    from collections.abc import Sequence


def sequential(promises: Iterable[Guarantee]) -> Guarantee:
    """The promise of all mechanisms together, each chosen after seeing the outputs of those before it.

    Theorem [PDP21, L1.2], [Lal20, Prop. 8]: as `Guarantee.compose`. Different kinds are restated in a common
    currency one by one and then added, so that the order of the list does not matter.

    >>> import giveortake as gt
    >>> sequential([gt.PureDP("1/2"), gt.ZCDP("1/8")])
    ZCDP('0.25')
    """
    listed = _listed(promises)
    return combined(listed, len(listed))


def parallel(promises: Iterable[Guarantee], *, touched: int = 1) -> Guarantee:
    """The promise of mechanisms that each see one part of the data, when a unit's rows lie in `touched` parts.

    Theorem (parallel composition, [Har25], [Fre18, Thm 14]): adding or removing a unit changes at most `touched`
    parts, so the `touched` largest promises are composed; for one part that is the largest of all. A changed row
    may leave one part and enter another, so change-one promises are refused rather than undercharged.

    >>> from giveortake.privacy import PureDP
    >>> parallel([PureDP("0.1"), PureDP("0.3"), PureDP("0.2")], touched=2)
    PureDP('0.5')
    """
    listed = _listed(promises)
    count = min(whole("touched", touched), len(listed))
    total = combined(listed, count)
    if total.neighbours == "change-one":
        raise Unprovable(
            "a changed row may leave one part and enter another, so change-one promises do not combine in parallel",
            hint='state the parts under "add-remove" and convert the result with .under("change-one")',
        )
    return total


def together(promises: Sequence[Guarantee]) -> Guarantee:
    """The promise of releases that are shown together, such as an answer and the answers that it refines.

    Guarantee: basic composition [PDP21, L1.2], in the currency that all share. If there is an (ε, δ) promise,
    promises of Gaussian noise are stated at the same δ first.

    >>> from giveortake.privacy import ApproxDP, GaussianDP, PureDP
    >>> together([PureDP("0.25"), PureDP(1), PureDP(1)])
    PureDP('2.25')
    >>> together([GaussianDP("0.1"), ApproxDP(1, "1e-6")]).delta == 2 * ApproxDP(1, "1e-6").delta
    True
    """
    delta = max((promise.delta for promise in promises if isinstance(promise, ApproxDP)), default=None)
    if delta is not None:
        promises = [
            promise.approximate(delta) if isinstance(promise, ZCDP | GaussianDP) else promise for promise in promises
        ]
    return reduce(lambda one, other: one.compose(other), promises)


def _listed(promises: Iterable[Guarantee]) -> list[Guarantee]:
    if not isinstance(promises, Iterable):
        raise InvalidParameter("promises", promises, "is not a list of promises", hint="put it into a list")
    listed = list(promises)
    if not listed:
        raise InvalidParameter(
            "promises", listed, "is empty", hint="nothing was released, so there is nothing to state"
        )
    for promise in listed:
        if not isinstance(promise, Guarantee):
            raise InvalidParameter("promises", promise, "is not a promise")
    return listed
