"""Answers: values with intervals and where they came from, and how tables, terminals and notebooks show them."""

from giveortake.answers.answer import Answer, Difference, Estimate, Stream, difference
from giveortake.answers.column import Column

__all__ = ["Answer", "Column", "Difference", "Estimate", "Stream", "difference"]
