"""How wrong a model's tables are likely to be, estimated without another look at rows.

The fitted model is taken for the truth: what was measured is simulated from it with the noise it had, and fitted anew
to the end. How far the new tables are from the model's tells how far the model's are from the private ones, as far as
noise is the reason. What was never measured may be wrong for another reason, and no simulation shows that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from giveortake.randomness import SYSTEM_ENTROPY, uniform_integers
from giveortake.synth.maximum_likelihood import fit
from giveortake.synth.measured import Measured, without_low_orders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.randomness import Entropy
    from giveortake.synth.maximum_likelihood import Fitted
    from giveortake.synth.triangulation import Columns

    Floats: TypeAlias = npt.NDArray[np.float64]

_DIGITS = 1 << 53


def forecast(
    fitted: Fitted,
    measured: Sequence[Measured],
    tables: Sequence[Columns],
    *,
    zeros: Mapping[Columns, Floats],
    simulations: int,
    entropy: Entropy = SYSTEM_ENTROPY,
) -> dict[Columns, float]:
    """The expected total variation distance of each table: half the sum of all differences of shares."""
    found = dict.fromkeys(tables, 0.0)
    sizes = fitted.tree.sizes
    for _ in range(simulations):
        again = [_simulated(fitted, each, entropy) for each in measured]
        refitted = fit(sizes, again, fitted.total, zeros=zeros, start=fitted.factors)
        for table in tables:
            distance = 0.5 * float(
                np.abs(refitted.calibrated.marginal(table) - fitted.calibrated.marginal(table)).sum()
            )
            found[table] += distance / simulations
    return found


def _simulated(fitted: Fitted, measured: Measured, entropy: Entropy) -> Measured:
    noisy = fitted.counts(measured.columns) + measured.sigma * _normal(measured.counts.shape, entropy)
    return Measured(
        measured.columns, without_low_orders(noisy) if measured.residual else noisy, measured.sigma, measured.residual
    )


def _normal(shape: tuple[int, ...], entropy: Entropy) -> Floats:
    """Normal numbers in doubles: a simulation protects nobody, and needs no exact law."""
    size = int(np.prod(shape))
    first, second = ((uniform_integers(_DIGITS, size, entropy) + 0.5) / _DIGITS for _ in range(2))
    drawn: Floats = (np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)).reshape(shape)
    return drawn
