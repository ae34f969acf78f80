"""From a question to a measurement: what the engine is asked, how much noise it gets, and what that costs.

Everything here is a function of the question, the schema and the custodian's bounds; no row is read.
"""

from giveortake.answers.terms import Caps
from giveortake.compile.formulas import Evaluated
from giveortake.compile.measurement import Joint, Measurement, composed, event_of, joint, measurement
from giveortake.compile.measures import Release, combined
from giveortake.compile.sensitivity import CustodianCaps
from giveortake.compile.spend import Spend, Terms, spend_of

__all__ = [
    "Caps",
    "CustodianCaps",
    "Evaluated",
    "Joint",
    "Measurement",
    "Release",
    "Spend",
    "Terms",
    "combined",
    "composed",
    "event_of",
    "joint",
    "measurement",
    "spend_of",
]
