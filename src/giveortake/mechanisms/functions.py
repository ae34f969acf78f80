"""One call, one release: parameters are checked, noise is calibrated, and the answer is of the input's kind."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.mechanisms import lattice
from giveortake.mechanisms.additive import gaussian_on_lattice, laplace_on_lattice, mu_of
from giveortake.mechanisms.histogram import DiscoveredHistogram, Histogram, RandomizedResponse, require_delta
from giveortake.mechanisms.mechanism import scale_for
from giveortake.mechanisms.selection import Exponential
from giveortake.privacy.guarantee import checked_neighbours

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from giveortake.exact import Number
    from giveortake.mechanisms.lattice import Numeric
    from giveortake.privacy import Neighbours


Candidate = TypeVar("Candidate")


def laplace(value: Numeric, *, sensitivity: Number, epsilon: Number, granularity: Number | None = None) -> Any:
    """`value` with Laplace noise: ε-DP when one unit changes it by at most `sensitivity` in total (L1).

    `value` is what you computed from the rows: a count, a sum, an array of such numbers. It is not a column of rows.

    Args:
        value: an int, Fraction, Decimal or float, a list, a numpy array, or a Polars, pandas or Arrow column.
        sensitivity: the most by which one unit can change the value; for arrays, the sum over all coordinates.
        epsilon: the promise.
        granularity: results are multiples of it. 1 for integers; for real numbers a power of two far below the noise.
            Real numbers move to it before the noise, which costs up to one granularity of sensitivity for each of
            them: with many numbers choose it far below sensitivity / size. To round a *result* is free, at any width.

    Returns:
        A number, or an array of the same shape. `gt.margin` with the same arguments says how far off it may be.

    >>> type(gt.laplace(1234, sensitivity=1, epsilon="0.1"))
    <class 'int'>
    """
    numbers = lattice.read("value", value)
    noise = laplace_on_lattice(numbers, sensitivity, epsilon, granularity)
    return noise.release(numbers)


def gaussian(
    value: Numeric,
    *,
    sensitivity: Number,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    granularity: Number | None = None,
) -> Any:
    """`value` with Gaussian noise: (ε, δ)-DP, ρ-zCDP or μ-GDP, whichever is asked for.

    One unit changes the value by at most `sensitivity` in Euclidean distance (L2). The noise is the least that keeps
    the promise, by the exact curve of the Gaussian [BW18]. Values and granularity are as in `gt.laplace`.

    >>> type(gt.gaussian(1234.5, sensitivity=1, epsilon=1, delta="1e-6"))
    <class 'float'>
    """
    numbers = lattice.read("value", value)
    noise = gaussian_on_lattice(numbers, sensitivity, mu_of(epsilon, delta, rho, mu), granularity)
    return noise.release(numbers)


def margin(
    value: Numeric,
    *,
    sensitivity: Number,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    granularity: Number | None = None,
    confidence: Number = Fraction(95, 100),
) -> Any:
    """How far one released number is from the true one at most, with at least that probability.

    Takes the arguments of `gt.laplace`, or those of `gt.gaussian` where delta, rho or mu is given. Of `value` only the
    kind and the number of numbers matter, never what they are, so the margin may be published.

    >>> gt.margin(1234, sensitivity=1, epsilon="0.5"), gt.margin(0.0, sensitivity=1, epsilon="0.5")
    (6, 5.991465091705322)
    """
    numbers = lattice.read("value", value)
    if delta is None and rho is None and mu is None and epsilon is not None:
        return laplace_on_lattice(numbers, sensitivity, epsilon, granularity).margin(confidence)
    return gaussian_on_lattice(numbers, sensitivity, mu_of(epsilon, delta, rho, mu), granularity).margin(confidence)


def exponential(
    candidates: Sequence[Candidate], utilities: Numeric, *, sensitivity: Number, epsilon: Number
) -> Candidate:
    """One of the candidates, with probability proportional to exp(ε · utility / (2 · sensitivity)): ε-DP [MT07].

    The candidates are public: a list that was found in the data reveals what is in it.

    >>> gt.exponential(["red", "green"], [0, 10**6], sensitivity=1, epsilon=1)
    'green'
    """
    if not isinstance(candidates, Iterable):
        raise InvalidParameter("candidates", HIDDEN, "is not a list of candidates", hint='["red", "green"]')
    options = list(candidates)
    selection = Exponential.calibrated(epsilon=epsilon, sensitivity=sensitivity)
    scores = lattice.read("utilities", utilities)
    if scores.shape is None or scores.flat.size != len(options):
        raise InvalidParameter(
            "utilities",
            f"<{scores.flat.size} numbers>",
            f"does not give one number for each of {len(options)} candidates",
        )
    return options[selection.release(scores.flat)]


def randomized_response(answer: Any, *, epsilon: Number, categories: Sequence[Hashable] = (False, True)) -> Any:
    """A report that is true with probability e^ε / (e^ε + k − 1) and else any other category: ε-DP for who answers.

    >>> gt.randomized_response("yes", epsilon=200, categories=["yes", "no"])
    'yes'
    """
    return RandomizedResponse(epsilon, categories).release(answer)


def histogram(
    values: Iterable[Any],
    *,
    categories: Iterable[Hashable] | None = None,
    epsilon: Number,
    delta: Number | None = None,
    neighbours: Neighbours = "add-remove",
) -> dict[Any, int]:
    """Noisy counts of the values, one row for each unit.

    With `categories` every one of them gets a count, zeros included, and the release is ε-DP. Without, the values
    found in the data that are frequent enough are shown, and the release is (ε, δ)-DP.

    >>> sorted(gt.histogram(["a", "b", "a"], categories=["a", "b", "c"], epsilon=1))
    ['a', 'b', 'c']
    """
    changed = 1 if checked_neighbours(neighbours) == "add-remove" else 2
    scale = scale_for(changed, epsilon)
    if categories is None:
        chance = require_delta(delta)
        return DiscoveredHistogram.calibrated(
            epsilon=epsilon, delta=chance, sensitivity=changed, lone_values=1
        ).release(values)
    if delta is not None:
        raise InvalidParameter("delta", delta, "is not needed when the categories are listed", hint="leave delta out")
    return Histogram(categories, scale).release(values)
