"""Answers: values with intervals and where they came from, and their faces for tables, terminals and notebooks."""

from giveortake.answers.answer import Answer
from giveortake.answers.column import Column
from giveortake.answers.estimate import Estimate
from giveortake.answers.stream import Stream

__all__ = ["Answer", "Column", "Estimate", "Stream"]
