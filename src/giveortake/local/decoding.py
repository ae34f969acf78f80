"""Estimate which texts set the bits of Bloom filters: a weighted regression with its own standard errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.local.margins import FloatArray
    from giveortake.local.rappor import Rappor


_TOLERANCE = 4  # standard deviations


class _Cohort(NamedTuple):
    design: FloatArray
    mean: FloatArray
    covariance: FloatArray
    size: int


class Decoded(NamedTuple):
    """The share of every text, its standard error from coins, that from unlisted texts, and whether the model fits."""

    shares: FloatArray
    coins: FloatArray
    misfit: FloatArray
    fits: bool


def decoded(survey: Rappor, texts: list[str], cohorts: Any, rows: Any) -> Decoded:
    """The share of every text and its standard errors.

    In cohort i, the share of respondents whose bit j is truly set is Σ share(text)·[text sets j in i], plus a constant
    for all other texts, plus what a popular text that is not listed does to its own bits. Estimated bits are regressed
    on this with cohorts weighted by their size; the estimate is then a fixed linear function of every cohort's mean
    report, and its variance over coins is that of these means. Residuals over the cells (cohort × bit) that are larger
    than coins explain are the model's error: it counts with the same weights, as if it fell on any cell alike. The
    model fits if the mean square of residuals is within four standard deviations of what coins give.
    """
    unset, set_ = map(float, survey.reported)
    slope = set_ - unset
    cells = []
    for cohort in range(survey.cohorts):
        mine = rows[cohorts == cohort]
        if not len(mine):
            continue
        bits = np.unpackbits(mine, axis=1, bitorder="little", count=survey.size).astype(np.float64)
        mean = bits.mean(axis=0)
        centred = bits - mean
        covariance = centred.T @ centred / (len(mine) - 1) if len(mine) > 1 else np.eye(survey.size) / 4
        design = _design(survey, texts, cohort)
        cells.append(_Cohort(design, (mean - unset) / slope, covariance / slope**2, len(mine)))
    normal = sum((one.size * one.design.T @ one.design for one in cells), np.zeros((1, 1)))
    if np.linalg.matrix_rank(normal) < len(texts) + 1:
        raise InvalidParameter(
            "candidates",
            len(texts),
            "are too many to be told apart",
            hint="use more bits, more cohorts, or fewer texts",
        )
    inverse = np.linalg.inv(normal)
    weights = [one.size * inverse @ one.design.T for one in cells]
    pairs = list(zip(weights, cells, strict=True))
    shares = sum((weight @ one.mean for weight, one in pairs), np.zeros(1))
    coins = sum(
        (np.einsum("ij,jk,ik->i", weight, one.covariance, weight) / one.size for weight, one in pairs), np.zeros(1)
    )
    free = max(1, survey.size * len(cells) - len(texts) - 1)
    residual = sum(float(((one.mean - one.design @ shares) ** 2).sum()) for one in cells) / free
    noise = sum(float(np.trace(one.covariance)) / one.size for one in cells) / (survey.size * len(cells))
    spread = sum(((weight**2).sum(axis=1) for weight, _ in pairs), np.zeros(1))
    misfit = np.sqrt(max(0.0, residual - noise) * spread)
    fits = residual <= noise * (1 + _TOLERANCE * math.sqrt(2 / free))
    return Decoded(shares[:-1], np.sqrt(coins[:-1]), misfit[:-1], fits)


def _design(survey: Rappor, texts: list[str], cohort: int) -> FloatArray:
    design = np.zeros((survey.size, len(texts) + 1))
    design[:, -1] = survey.hashes / survey.size  # where all other texts are, on average
    for column, text in enumerate(texts):
        design[survey.places(text, cohort), column] = 1
    return design
