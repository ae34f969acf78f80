"""Fits to noisy counts: that they end at the minimum, say so if not, and see released values alone."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

import giveortake as gt
from giveortake.errors import InvalidParameter, NotFound
from giveortake.mechanisms import Sensitive
from giveortake.synth import maximum_likelihood
from giveortake.synth.maximum_likelihood import (
    CLOSE,
    ENTROPY,
    Fitted,
    Measured,
    combined,
    fit,
    released_total,
    without_low_orders,
)

SIZES = [3, 4, 2, 3]
ROWS = 4000


def _probabilities() -> Any:
    generator = np.random.default_rng(5)
    whole = np.exp(1.2 * generator.normal(size=SIZES))
    whole[0, 0, :, :] *= 1e-4  # counts of very different sizes are what makes fits hard
    return whole / whole.sum()


def _measured(sigma: float = 8.0, seed: int = 1) -> list[Measured]:
    generator, whole = np.random.default_rng(seed), _probabilities() * ROWS
    found = []
    for count in (1, 2):
        for columns in itertools.combinations(range(4), count):
            if columns == (1, 3):
                continue
            counts = whole.sum(axis=tuple(each for each in range(4) if each not in columns))
            noisy = counts + generator.normal(0, sigma, counts.shape)
            residual = count == 2
            found.append(Measured(columns, without_low_orders(noisy) if residual else noisy, sigma, residual))
    return found


def _objective(measured: list[Measured], total: float, shares: Any) -> float:
    """What a fit is to minimise, of the whole distribution, written out."""
    entropy = ENTROPY / float(np.median([each.sigma for each in measured]))
    value = -entropy * total * -float((shares * np.log(np.maximum(shares, 1e-300))).sum())
    for each in measured:
        others = tuple(column for column in range(4) if column not in each.columns)
        counts = shares.sum(axis=others) * total
        away = (without_low_orders(counts) if each.residual else counts) - each.counts
        value += float((away**2).sum()) / (2 * each.sigma**2)
    return value


def _shares(fitted: Fitted) -> Any:
    return fitted.calibrated.marginal((0, 1, 2, 3))


def test_a_fit_is_the_minimum_that_another_method_finds() -> None:
    measured = _measured()
    total = released_total(measured)
    fitted = fit(SIZES, measured, total)
    assert fitted.converged
    assert fitted.distance <= CLOSE

    def of_logarithms(place: Any) -> float:
        shares = np.exp(place - place.max())
        return _objective(measured, total, (shares / shares.sum()).reshape(SIZES))

    start = np.log(_shares(fitted).ravel() + 1e-12)
    other = optimize.minimize(of_logarithms, start, method="L-BFGS-B", options={"maxiter": 200, "maxfun": 40_000})
    assert _objective(measured, total, _shares(fitted)) <= other.fun + 1e-2


def test_a_fit_from_elsewhere_ends_at_the_same_tables() -> None:
    measured = _measured()
    near = fit(SIZES, measured, ROWS)
    generator = np.random.default_rng(0)
    start = {columns: factor + 0.3 * generator.normal(size=factor.shape) for columns, factor in near.factors.items()}
    far = fit(SIZES, measured, ROWS, start=start)
    for columns in itertools.combinations(range(4), 2):
        distance = 0.5 * np.abs(near.calibrated.marginal(columns) - far.calibrated.marginal(columns)).sum()
        assert distance < 4e-4  # a tenth of what noise of 8 rows does


def test_a_fit_that_stops_too_soon_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maximum_likelihood, "STEPS", 2)
    fitted = fit(SIZES, _measured(), ROWS)
    assert not fitted.converged
    assert fitted.distance > CLOSE


def test_a_fit_has_the_tables_that_were_measured_almost_without_noise() -> None:
    fitted, whole = fit(SIZES, _measured(sigma=0.05), ROWS), _probabilities()
    for columns in itertools.combinations(range(4), 2):
        truth = whole.sum(axis=tuple(column for column in range(4) if column not in columns))
        distance = 0.5 * float(np.abs(fitted.calibrated.marginal(columns) - truth).sum())
        assert (distance < 1e-4) == (columns != (1, 3))  # which was not measured


def test_a_fit_takes_released_counts_and_nothing_else() -> None:
    with pytest.raises(InvalidParameter, match="noisy"):
        fit(SIZES, [Sensitive(np.zeros(3))], ROWS)  # type: ignore[list-item]
    with pytest.raises(InvalidParameter, match="noisy"):
        Measured((0,), Sensitive(np.zeros(3)), 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):  # no noise
        Measured((0,), np.zeros(3), 0.0)
    with pytest.raises(InvalidParameter):  # nothing says how many rows there are
        released_total([Measured((0, 1), np.zeros((3, 4)), 1.0, residual=True)])


def test_what_was_measured_twice_is_averaged_by_how_exact_it_is() -> None:
    (both,) = combined([Measured((0,), np.array([10.0]), 1.0), Measured((0,), np.array([20.0]), 2.0)])
    assert both.counts.tolist() == pytest.approx([12.0])
    assert both.sigma == pytest.approx((1 + 1 / 4) ** -0.5)


def test_without_scipy_nothing_is_charged_and_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"a": ["x", "y"], "b": ["x", "y"]}
    domains = {"a": ["x", "y"], "b": ["x", "y"]}
    with gt.protect(pl.DataFrame(rows), unit=gt.ROW, budget=gt.ZCDP(1), domains=domains) as session:
        monkeypatch.setitem(sys.modules, "scipy", None)
        for buy in (gt.synth.synthesize, gt.synth.quote):
            with pytest.raises(NotFound, match=r"giveortake\[synth\]"):
                buy(session, columns=["a", "b"], epsilon=1, delta="1e-6")
        assert [entry.kind for entry in session.history() if entry.kind == "reserved"] == []
