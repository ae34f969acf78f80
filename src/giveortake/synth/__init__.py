"""Synthetic tables: models of what was measured under a budget, and rows that are drawn from them."""

from giveortake.synth.model import Model
from giveortake.synth.mwem import WeightedTable, mwem
from giveortake.synth.quote import SynthesisQuote
from giveortake.synth.report import Report
from giveortake.synth.synthesis import quote, synthesize
from giveortake.synth.synthetic_table import SyntheticTable
from giveortake.synth.zeros import Determines

__all__ = [
    "Determines",
    "Model",
    "Report",
    "SynthesisQuote",
    "SyntheticTable",
    "WeightedTable",
    "mwem",
    "quote",
    "synthesize",
]
