"""Exact randomness: operating-system entropy in, draws of exactly the stated laws out.

This is the only room that draws. Every sampler takes its parameters as fractions, returns as many independent
draws as asked for, and has exactly the law that its docstring states: no rounding, no truncation, no seed.
"""

from giveortake.randomness.bernoulli import bernoulli, bernoulli_exp, bernoulli_real
from giveortake.randomness.certified import IntArray, integers, narrowed
from giveortake.randomness.discrete_gaussian import discrete_gaussian
from giveortake.randomness.entropy import SYSTEM_ENTROPY, Entropy, SystemEntropy
from giveortake.randomness.laplace import geometric, rounded_laplace, two_sided_geometric
from giveortake.randomness.normal import rounded_normal
from giveortake.randomness.packed import packed_bernoulli
from giveortake.randomness.selection import noisy_argmax
from giveortake.randomness.uniform import uniform_integers

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
