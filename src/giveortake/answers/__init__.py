"""Answers: values with intervals and where they came from, and how tables, terminals and notebooks show them."""

from giveortake.answers.answer import Answer, Estimate, Stream
from giveortake.answers.column import Column
from giveortake.answers.differences import Difference, difference

__all__ = ["Answer", "Column", "Difference", "Estimate", "Stream", "difference"]
