"""Audits: what samples say about a mechanism, without looking inside it. A finding is never called a proof."""

from giveortake.audit import adversaries
from giveortake.audit.bounds import (
    Evidence,
    Finding,
    LowerBound,
    TradeoffCurve,
    check,
    delta_lower_bound,
    epsilon_lower_bound,
    tradeoff_upper_bound,
)
from giveortake.audit.game import REFUSED, Adversary, Move, Play, Round, play
from giveortake.audit.replay import (
    Excess,
    NeighbouringTables,
    Observation,
    Observations,
    Recorded,
    Replay,
    observations,
    random_neighbours,
    replay,
)
from giveortake.audit.sessions import Sessions
from giveortake.audit.traces import Repetition, low_bits, repetition, timing

__all__ = [
    "REFUSED",
    "Adversary",
    "Evidence",
    "Excess",
    "Finding",
    "LowerBound",
    "Move",
    "NeighbouringTables",
    "Observation",
    "Observations",
    "Play",
    "Recorded",
    "Repetition",
    "Replay",
    "Round",
    "Sessions",
    "TradeoffCurve",
    "adversaries",
    "check",
    "delta_lower_bound",
    "epsilon_lower_bound",
    "low_bits",
    "observations",
    "play",
    "random_neighbours",
    "repetition",
    "replay",
    "timing",
    "tradeoff_upper_bound",
]
