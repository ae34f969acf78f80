"""Synthetic tables: models of what was measured under a budget, and rows that are drawn from them."""

from giveortake.synth.columns import FunctionalDependency
from giveortake.synth.model import Model
from giveortake.synth.synthesis import quote, synthesize
from giveortake.synth.synthetic_table import Report, SyntheticTable

__all__ = [
    "FunctionalDependency",
    "Model",
    "Report",
    "SyntheticTable",
    "quote",
    "synthesize",
]
