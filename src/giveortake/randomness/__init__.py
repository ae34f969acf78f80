"""Exact randomness: operating-system entropy in, draws of exactly the stated laws out.

This is the only package that draws. Every sampler takes its parameters as fractions, returns as many independent
draws as asked for, and has exactly the law that its docstring states: no rounding, no truncation, no seed.
"""

from giveortake.randomness.distributions import (
    IntArray,
    bernoulli,
    bernoulli_exp,
    bernoulli_real,
    discrete_gaussian,
    geometric,
    integers,
    narrowed,
    noisy_argmax,
    packed_bernoulli,
    rounded_laplace,
    rounded_normal,
    two_sided_geometric,
)
from giveortake.randomness.entropy import SYSTEM_ENTROPY, Entropy, SystemEntropy, uniform_integers

__all__ = [
    "SYSTEM_ENTROPY",
    "Entropy",
    "IntArray",
    "SystemEntropy",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_real",
    "discrete_gaussian",
    "geometric",
    "integers",
    "narrowed",
    "noisy_argmax",
    "packed_bernoulli",
    "rounded_laplace",
    "rounded_normal",
    "two_sided_geometric",
    "uniform_integers",
]
