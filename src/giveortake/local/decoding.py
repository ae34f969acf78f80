"""Which texts stand behind the bits of Bloom filters: a weighted regression with its own standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.local.margins import FloatArray
    from giveortake.local.rappor import Rappor


def decoded(survey: Rappor, texts: list[str], cohorts: Any, rows: Any) -> tuple[FloatArray, FloatArray]:
    """The share of every text and its standard error.

    In cohort i, the share of respondents whose bit j is truly set is Σ share(text)·[text sets j in i], plus a constant
    for all other texts. Estimated bits are regressed on this with cohorts weighted by their size; the estimate is then
    a fixed linear function of every cohort's mean report, and its variance is that of these means.
    """
    unset, set_ = map(float, survey.reported)
    present = [cohort for cohort in range(survey.cohorts) if (cohorts == cohort).any()]
    designs, means, covariances, sizes = [], [], [], []
    for cohort in present:
        mine = rows[cohorts == cohort]
        bits = np.unpackbits(mine, axis=1, bitorder="little", count=survey.size).astype(np.float64)
        mean = bits.mean(axis=0)
        centred = bits - mean
        designs.append(_design(survey, texts, cohort))
        means.append((mean - unset) / (set_ - unset))
        covariances.append(centred.T @ centred / max(1, len(mine) - 1) / (set_ - unset) ** 2)
        sizes.append(len(mine))
    normal = sum((size * design.T @ design for size, design in zip(sizes, designs, strict=True)), np.zeros((1, 1)))
    if np.linalg.matrix_rank(normal) < len(texts) + 1:
        raise InvalidParameter(
            "candidates",
            len(texts),
            "are too many to be told apart",
            hint="use more bits, more cohorts, or fewer texts",
        )
    inverse = np.linalg.inv(normal)
    shares, variances = np.zeros(len(texts) + 1), np.zeros(len(texts) + 1)
    for design, mean, covariance, size in zip(designs, means, covariances, sizes, strict=True):
        weights = size * inverse @ design.T
        shares += weights @ mean
        variances += np.einsum("ij,jk,ik->i", weights, covariance, weights) / size
    return shares[:-1], np.sqrt(variances[:-1])


def _design(survey: Rappor, texts: list[str], cohort: int) -> FloatArray:
    design = np.zeros((survey.size, len(texts) + 1))
    design[:, -1] = survey.hashes / survey.size  # where all other texts are, on average
    for column, text in enumerate(texts):
        design[survey.places(text, cohort), column] = 1
    return design
