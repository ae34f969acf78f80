"""One call, one release: parameters are checked, noise is calibrated, the answer comes back in kind."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import columns
from giveortake.mechanisms.discovered_histogram import DiscoveredHistogram, require_delta
from giveortake.mechanisms.exponential import Exponential
from giveortake.mechanisms.gaussian import Gaussian
from giveortake.mechanisms.histogram import Histogram
from giveortake.mechanisms.laplace import Laplace
from giveortake.mechanisms.lattice import Lattice
from giveortake.mechanisms.randomized_response import RandomizedResponse
from giveortake.privacy import gaussian_mu
from giveortake.privacy.units import checked_neighbours

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from giveortake.exact import Number
    from giveortake.mechanisms.columns import Numeric
    from giveortake.privacy import Neighbours

Candidate = TypeVar("Candidate")

_INVISIBLE = Fraction(1, 1400)  # noise of a smaller scale, in steps, is nothing but zeros: P[noise ≠ 0] < 1e-300


def laplace(value: Numeric, *, sensitivity: Number, epsilon: Number, granularity: Number | None = None) -> Any:
    """`value` with Laplace noise: ε-DP when one unit changes it by at most `sensitivity` in total (L1).

    Args:
        value: an int, Fraction, Decimal or float, a list, a numpy array, or a Polars, pandas or Arrow column.
        sensitivity: the most by which one unit can change the value; for arrays, the sum over all coordinates.
        epsilon: the promise.
        granularity: results are multiples of it. 1 for integers; for real numbers a power of two far below the noise.

    Returns:
        A number, or an array of the same shape.

    >>> type(gt.laplace(1234, sensitivity=1, epsilon="0.1"))
    <class 'int'>
    """
    column = columns.read("value", value)
    spread, promise = _sensitivity(sensitivity), exact.positive("epsilon", epsilon)
    lattice, noise = _laplace_plan(column.is_whole, column.numbers.size, spread, promise, _unit(granularity))
    return lattice.values(columns.added(lattice.steps(column), noise.noise(column.numbers.size)), column)


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
    the promise, by the exact curve of the Gaussian [BW18].

    >>> type(gt.gaussian(1234.5, sensitivity=1, epsilon=1, delta="1e-6"))
    <class 'float'>
    """
    column = columns.read("value", value)
    spread, promise = _sensitivity(sensitivity), _mu(epsilon, delta, rho, mu)
    lattice, noise = _gaussian_plan(column.is_whole, column.numbers.size, spread, promise, _unit(granularity))
    return lattice.values(columns.added(lattice.steps(column), noise.noise(column.numbers.size)), column)


def exponential(
    candidates: Sequence[Candidate], utilities: Numeric, *, sensitivity: Number, epsilon: Number
) -> Candidate:
    """One of the candidates, with probability proportional to exp(ε · utility / 2 · sensitivity): ε-DP [MT07].

    >>> gt.exponential(["red", "green"], [0, 10**6], sensitivity=1, epsilon=1)
    'green'
    """
    options = list(candidates)
    spread, promise = _sensitivity(sensitivity), exact.positive("epsilon", epsilon)
    scores = columns.read("utilities", utilities)
    if scores.shape is None or scores.numbers.size != len(options):
        raise InvalidParameter(
            "utilities",
            f"<{scores.numbers.size} numbers>",
            f"does not give one number for each of {len(options)} candidates",
        )
    return options[Exponential(2 * spread / promise).release(scores.numbers)]


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
    promise = exact.positive("epsilon", epsilon)
    if categories is None:
        chance = require_delta(delta)
        return DiscoveredHistogram.calibrated(epsilon=promise, delta=chance, sensitivity=changed).release(values)
    if delta is not None:
        raise InvalidParameter("delta", delta, "is not needed when the categories are listed", hint="leave delta out")
    return Histogram(categories, changed / promise).release(values)


def _sensitivity(sensitivity: Number) -> Fraction:
    """A float stands for its shortest decimal or for the double it is, whichever is greater."""
    number = exact.positive("sensitivity", sensitivity)
    return max(number, Fraction(sensitivity)) if isinstance(sensitivity, float) else number


def _unit(granularity: Number | None) -> Fraction | None:
    return None if granularity is None else exact.positive("granularity", granularity)


@lru_cache(maxsize=1024)
def _laplace_plan(
    whole: bool, size: int, sensitivity: Fraction, epsilon: Fraction, granularity: Fraction | None
) -> tuple[Lattice, Laplace]:
    """Where to put such values, and the noise that keeps the promise there; prepared once for equal parameters."""
    lattice = _lattice(granularity, whole, sensitivity, sensitivity / epsilon, Fraction(max(size, 1)))
    scale = lattice.l1_steps(sensitivity, whole=whole, size=size) / epsilon
    _require_visible("epsilon", epsilon, scale)
    return lattice, Laplace(scale)


@lru_cache(maxsize=1024)
def _gaussian_plan(
    whole: bool, size: int, sensitivity: Fraction, mu: Fraction, granularity: Fraction | None
) -> tuple[Lattice, Gaussian]:
    """The same for Gaussian noise."""
    root = exact.sqrt_up(Fraction(size)) if size > 1 else Fraction(1)
    lattice = _lattice(granularity, whole, sensitivity, sensitivity / mu, root)
    sigma = lattice.l2_steps(sensitivity, whole=whole, size=size) / mu
    _require_visible("mu", mu, sigma)
    return lattice, Gaussian(sigma)


def _lattice(
    granularity: Fraction | None, whole: bool, sensitivity: Fraction, scale: Fraction, coordinates: Fraction
) -> Lattice:
    if granularity is not None:
        return Lattice(granularity)
    return Lattice.for_noise(whole=whole, sensitivity=sensitivity, scale=scale, coordinates=coordinates)


def _mu(epsilon: Number | None, delta: Number | None, rho: Number | None, mu: Number | None) -> Fraction:
    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) != 1:
        raise InvalidParameter(
            "epsilon, rho, mu", given, "does not name exactly one promise", hint="pass epsilon and delta, or rho, or mu"
        )
    if epsilon is not None:
        if delta is None:
            raise InvalidParameter(
                "delta",
                delta,
                "is missing: Gaussian noise keeps no pure promise",
                hint='pass delta="1e-6", or use gt.laplace',
            )
        return gaussian_mu(exact.positive("epsilon", epsilon), exact.open_probability("delta", delta))
    if delta is not None:
        raise InvalidParameter("delta", delta, "goes with epsilon only")
    if rho is not None:
        return _mu_of_rho(exact.positive("rho", rho))
    return exact.positive("mu", mu) if mu is not None else Fraction(0)


@lru_cache(maxsize=1024)
def _mu_of_rho(rho: Fraction) -> Fraction:
    return exact.sqrt_down(2 * rho)


def _require_visible(name: str, value: Fraction, scale: Fraction) -> None:
    if scale < _INVISIBLE:
        raise InvalidParameter(
            name,
            exact.shown(value),
            "leaves no noise: it would round to zero steps of the lattice",
            hint="ask for a smaller epsilon, or pass a finer granularity",
        )
