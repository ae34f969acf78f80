"""Events: records of what ran. They are charged and kept; accountants price them.

>>> Repeated(Laplace(noise_multiplier=10), times=5).guarantee()
PureDP('0.5')
>>> Event.from_json(Laplace(10).to_json()) == Laplace(10)
True
"""

from giveortake.privacy.events.combinations import Composed, InPart, Parallel, Repeated
from giveortake.privacy.events.event import Event
from giveortake.privacy.events.releases import (
    ZCDP,
    AboveThreshold,
    Approx,
    DiscoveredKeys,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    GaussianKeys,
    Geometric,
    Laplace,
    Pure,
    RandomizedResponse,
)
from giveortake.privacy.events.sampling import Subsampled

event_from_json = Event.from_json

__all__ = [
    "ZCDP",
    "AboveThreshold",
    "Approx",
    "Composed",
    "DiscoveredKeys",
    "DiscreteGaussian",
    "Event",
    "Exponential",
    "Gaussian",
    "GaussianKeys",
    "Geometric",
    "InPart",
    "Laplace",
    "Parallel",
    "Pure",
    "RandomizedResponse",
    "Repeated",
    "Subsampled",
    "event_from_json",
]
