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
from giveortake.audit.conformance import Case, Declaration, Report, compare, conform
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
from giveortake.audit.traces import Repetition, low_bits, repetition, timing

__all__ = [
    "REFUSED",
    "Adversary",
    "Case",
    "Declaration",
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
    "Report",
    "Round",
    "TradeoffCurve",
    "adversaries",
    "check",
    "compare",
    "conform",
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
