"""Answers: values with intervals and where they came from, and how tables, terminals and notebooks show them."""

from giveortake.answers.answer import Answer
from giveortake.answers.column import Column
from giveortake.answers.estimate import Estimate
from giveortake.answers.stream import Stream

__all__ = ["Answer", "Column", "Estimate", "Stream"]
