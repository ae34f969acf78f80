"""Audits: what samples say about a mechanism that nobody has to look inside. A finding is never called a proof."""

from giveortake.audit.bounds import check, delta_lower_bound, epsilon_lower_bound, tradeoff_upper_bound
from giveortake.audit.findings import Evidence, Finding, LowerBound, TradeoffCurve

__all__ = [
    "Evidence",
    "Finding",
    "LowerBound",
    "TradeoffCurve",
    "check",
    "delta_lower_bound",
    "epsilon_lower_bound",
    "tradeoff_upper_bound",
]
