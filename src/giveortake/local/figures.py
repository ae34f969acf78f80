"""Charts of a poll: what a report tells, and how many to ask."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.exact import Number, closed_probability, shown
from giveortake.local.margins import USUAL, quantile
from giveortake.local.poll import Poll

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPSILONS = ("0.1", "0.5", "1", "3")
_LARGEST = 6  # powers of ten of respondents


def margin_curves(
    epsilons: Sequence[Number] = _EPSILONS, *, share: Number = "1/2", confidence: Number = USUAL
) -> dict[str, list[tuple[int, float]]]:
    """The normal margin of a poll [Lal20, eq. 15] against the number of respondents, and without privacy (eq. 16)."""
    sizes = [round(10 ** (quarter / 4)) for quarter in range(4, 4 * _LARGEST + 1)]
    mean, z = closed_probability("share", share), quantile(confidence)
    curves = {
        f"ε = {shown(Fraction(str(epsilon)))}": [
            (n, z * math.sqrt(Poll(epsilon=epsilon).variance(n, mean))) for n in sizes
        ]
        for epsilon in epsilons
    }
    return curves | {"no privacy": [(n, z * math.sqrt(mean * (1 - mean) / n)) for n in sizes]}


def posterior_figure(epsilons: Sequence[Number] = ("0", "0.5", "1", "3", "10")) -> Any:
    """Figure 1 of [Lal20]: bounds on the belief after a report, for every belief before."""
    from giveortake import plot  # noqa: PLC0415 (charts are heavy and optional)

    return plot.poll_beliefs(epsilons)


def uncertainty_figure(epsilons: Sequence[Number] = _EPSILONS) -> Any:
    """Figure 2 of [Lal20]: the margin of a poll against the number of respondents, for several ε."""
    from giveortake import plot  # noqa: PLC0415 (heavy)

    return plot.uncertainty(margin_curves(epsilons))
