"""The index of the greatest noisy score, decided exactly.

argmax of xᵢ + Nᵢ with independent continuous noise: Gumbel noise gives probabilities proportional to exp(xᵢ) (the
exponential mechanism), exponential noise gives permute-and-flip [DKX+21], Laplace noise gives report-noisy-max.
Scores are computed in doubles with an error bound; if more than one candidate may have won, those are compared in
arbitrary precision with the same random digits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from giveortake import exact
from giveortake.randomness import certified
from giveortake.randomness.entropy import Uniform, settle, words

if TYPE_CHECKING:
    from giveortake.exact import Ball
    from giveortake.randomness.certified import FloatArray, WordArray
    from giveortake.randomness.entropy import Entropy

Noise: TypeAlias = Literal["gumbel", "exponential", "laplace"]

Scores: TypeAlias = "list[Fraction] | FloatArray | WordArray"

_NOISE_ERROR = 4 * certified.GUMBEL_ERROR  # of the noise and of the sum, which is of moderate size where it matters
_SCORE_ERROR = 2.0**-49  # of (score − top) / scale, relative to (|score| + |top|) / scale


def noisy_argmax(scores: Scores, scale: Fraction, noise: Noise, entropy: Entropy) -> int:
    """The index i of the greatest scores[i] / scale + Nᵢ."""
    sources = _Sources(len(scores), noise, entropy)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows stays a contender and is compared exactly
        approximate = np.asarray(scores, dtype=np.float64)
        top = float(approximate.max())
        error = (np.abs(approximate) + abs(top)) / float(scale) * _SCORE_ERROR + _NOISE_ERROR
        total = (approximate - top) / float(scale) + sources.noises
        bar = np.nanmax(total - error)
        contenders = [int(index) for index in np.flatnonzero(~(total + error < bar))]
    if len(contenders) == 1:
        return contenders[0]
    exactly = {index: exact_score(scores, index) for index in contenders}
    best = max(exactly.values())
    distances = {index: (score - best) / scale for index, score in exactly.items()}
    uniforms = {index: sources.uniform(index) for index in contenders}

    def winner() -> int | None:
        totals = {i: exact.enclosure(distances[i]) + sources.ball(i, uniforms[i]) for i in contenders}
        leader = max(contenders, key=lambda i: exact.midpoint(totals[i]))
        beaten = all(exact.difference_is_positive(totals[leader], totals[i]) for i in contenders if i != leader)
        return leader if beaten else None

    return settle(winner, *uniforms.values())


def exact_score(scores: Scores, index: int) -> Fraction:
    """A score as an exact fraction."""
    score = scores[index]
    return score if isinstance(score, Fraction) else Fraction(score.item())


class _Sources:
    """The noise of every candidate: in doubles within _NOISE_ERROR, and on demand with all the digits it needs."""

    def __init__(self, size: int, noise: Noise, entropy: Entropy) -> None:
        self._noise = noise
        self._entropy = entropy
        self._words = words(entropy, size)
        self._uniforms: dict[int, Uniform] = {}
        magnitudes = self._words & certified.MAGNITUDE
        noises = certified.exponential(magnitudes)
        uncertain = magnitudes < certified.LEAST_WORD
        if noise == "gumbel":
            uncertain |= noises < certified.LEAST_EXPONENTIAL
            noises = -certified.log_ratio(np.maximum(noises, certified.LEAST_EXPONENTIAL), 0)
        elif noise == "laplace":
            np.negative(noises, out=noises, where=self._words < 0)
        for index in map(int, np.flatnonzero(uncertain)):
            noises[index] = self._evaluated(index)
        self.noises = noises

    def uniform(self, index: int) -> Uniform:
        """The uniform behind one candidate's noise, with the digits drawn so far."""
        if index not in self._uniforms:
            magnitude = int(self._words[index]) & int(certified.MAGNITUDE)
            self._uniforms[index] = Uniform(self._entropy, magnitude, certified.WORD_BITS)
        return self._uniforms[index]

    def ball(self, index: int, uniform: Uniform) -> Ball:
        """The noise of one candidate, as far as the digits of its uniform tell."""
        if self._noise == "gumbel":
            return -uniform.exponential().log()
        return -uniform.exponential() if self._noise == "laplace" and self._words[index] < 0 else uniform.exponential()

    def _evaluated(self, index: int) -> float:
        uniform = self.uniform(index)
        return settle(lambda: exact.float_if_within(self.ball(index, uniform), certified.GUMBEL_ERROR), uniform)
