"""Mechanisms: each one a file with its theorem, its event and its release.

The functions are for everyday use; the classes implement them.
"""

from giveortake.mechanisms.above_threshold import AboveThreshold
from giveortake.mechanisms.discovered_histogram import DiscoveredHistogram
from giveortake.mechanisms.discrete_gaussian import DiscreteGaussian
from giveortake.mechanisms.exponential import Exponential
from giveortake.mechanisms.gaussian import Gaussian
from giveortake.mechanisms.geometric import Geometric
from giveortake.mechanisms.histogram import Histogram
from giveortake.mechanisms.key_selection import KeySelection
from giveortake.mechanisms.laplace import Laplace
from giveortake.mechanisms.lattice import Lattice
from giveortake.mechanisms.mechanism import Mechanism, Sensitive
from giveortake.mechanisms.permute_and_flip import PermuteAndFlip
from giveortake.mechanisms.randomized_response import RandomizedResponse
from giveortake.mechanisms.releases import exponential, gaussian, histogram, laplace, margin, randomized_response
from giveortake.mechanisms.report_noisy_max import ReportNoisyMax
from giveortake.mechanisms.weighted_keys import WeightedKeys

__all__ = [
    "AboveThreshold",
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
