"""Mechanisms by family: each with its theorem, its event and its release.

The functions are for everyday use; the classes implement them.
"""

from giveortake.mechanisms.additive import DiscreteGaussian, Gaussian, Geometric, Laplace
from giveortake.mechanisms.functions import exponential, gaussian, histogram, laplace, margin, randomized_response
from giveortake.mechanisms.histogram import DiscoveredHistogram, Histogram, RandomizedResponse
from giveortake.mechanisms.lattice import Lattice
from giveortake.mechanisms.mechanism import Mechanism, Sensitive
from giveortake.mechanisms.partition_selection import CountedKeys, KeySelection, WeightedKeys
from giveortake.mechanisms.selection import AboveThreshold, Exponential, PermuteAndFlip, ReportNoisyMax

__all__ = [
    "AboveThreshold",
    "CountedKeys",
    "DiscoveredHistogram",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Histogram",
    "KeySelection",
    "Laplace",
    "Lattice",
    "Mechanism",
    "PermuteAndFlip",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Sensitive",
    "WeightedKeys",
    "exponential",
    "gaussian",
    "histogram",
    "laplace",
    "margin",
    "randomized_response",
]
