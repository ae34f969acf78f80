"""Engines: where the rows are. An engine returns exact integers, wrapped so that only a mechanism can look at them."""

from giveortake.engines.protocol import Engine, Source
from giveortake.engines.questions import (
    Bins,
    Bounding,
    Distinct,
    Found,
    KeyColumn,
    Keys,
    Persons,
    Quantum,
    Summand,
    Tally,
)

__all__ = [
    "Bins",
    "Bounding",
    "Distinct",
    "Engine",
    "Found",
    "KeyColumn",
    "Keys",
    "Persons",
    "Quantum",
    "Source",
    "Summand",
    "Tally",
]
