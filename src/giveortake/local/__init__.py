"""Surveys in which nobody needs to be trusted: every answer is randomised before it leaves its owner."""

from giveortake.local.hadamard import HadamardResponse
from giveortake.local.hashing import LocalHashing
from giveortake.local.oracle import Oracle, from_json
from giveortake.local.poll import Poll
from giveortake.local.randomized_response import RandomizedResponse
from giveortake.local.reports import Reports
from giveortake.local.unary import UnaryEncoding

__all__ = [
    "HadamardResponse",
    "LocalHashing",
    "Oracle",
    "Poll",
    "RandomizedResponse",
    "Reports",
    "UnaryEncoding",
    "from_json",
]
