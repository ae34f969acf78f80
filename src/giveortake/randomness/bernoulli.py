"""Coins whose probability is any real number that can be enclosed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from giveortake import exact
from giveortake.randomness import certified
from giveortake.randomness.entropy import words
from giveortake.randomness.lazy import Uniform, settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from giveortake.exact import Ball
    from giveortake.randomness.certified import BoolArray, FloatArray
    from giveortake.randomness.entropy import Entropy


def bernoulli(probability: Fraction, size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with exactly that probability."""
    return bernoulli_real(partial(exact.enclosure, probability), size, entropy)


def bernoulli_exp(gamma: Fraction, size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with probability exactly exp(−gamma), gamma ≥ 0."""

    def probability() -> Ball:
        return (-exact.enclosure(gamma)).exp()

    return bernoulli_real(probability, size, entropy)


def bernoulli_real(probability: Callable[[], Ball], size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with the probability enclosed, evaluated at the ambient precision."""
    with exact.precision():
        ball = probability()
        surely = int(exact.probability_down(ball) * 2**certified.WORD_BITS)
        possibly = int(exact.probability_up(ball) * 2**certified.WORD_BITS)
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, certified.BLOCK):
        block = words(entropy, min(certified.BLOCK, size - start)) & certified.MAGNITUDE
        coins = out[start : start + block.size]
        np.less(block, surely, out=coins)
        for index in np.flatnonzero((block >= surely) & (block <= possibly)):
            coins[index] = _exceeds(probability, Uniform(entropy, int(block[index]), certified.WORD_BITS))
    return out


def survives(
    gammas: FloatArray,
    error: float,
    exact_gamma: Callable[[int], tuple[Callable[[], Ball], *tuple[Uniform, ...]]],
    entropy: Entropy,
) -> BoolArray:
    """Independent coins, the i-th True with probability exactly exp(−γᵢ).

    `gammas` approximates every γᵢ within `error` · (1 + γᵢ); `exact_gamma(i)` gives an enclosure of γᵢ at the ambient
    precision, followed by the uniforms it is a function of. The coin is True when an exponential variable
    exceeds γᵢ.
    """
    block = words(entropy, gammas.size) & certified.MAGNITUDE
    margin = certified.exponential(block)
    margin -= gammas
    out: BoolArray = margin > 0
    undecided = np.abs(margin) <= error * (1 + gammas) + certified.EXPONENTIAL_ERROR
    undecided |= block < certified.LEAST_WORD
    for index in map(int, np.flatnonzero(undecided)):
        gamma, *sources = exact_gamma(index)
        out[index] = _outlives(gamma, Uniform(entropy, int(block[index]), certified.WORD_BITS), *sources)
    return out


def _exceeds(probability: Callable[[], Ball], uniform: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(probability(), uniform.ball()), uniform)


def _outlives(gamma: Callable[[], Ball], uniform: Uniform, *sources: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(uniform.exponential(), gamma()), uniform, *sources)
