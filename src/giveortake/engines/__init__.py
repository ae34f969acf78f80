"""Engines: where the rows are. An engine returns exact integers, wrapped so that only a mechanism can look at them."""

from giveortake.engines.protocol import Backend, Engine, FoundUnits, HandsOverRows, Limits, Source
from giveortake.engines.public_tables import PublicColumn, PublicContent, PublicRows, read_public_table
from giveortake.engines.questions import (
    Asked,
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
from giveortake.engines.vector_sums import Component, Sample, VectorSum

__all__ = [
    "Asked",
    "Backend",
    "Bins",
    "Bounding",
    "Component",
    "Distinct",
    "Engine",
    "Found",
    "FoundUnits",
    "HandsOverRows",
    "KeyColumn",
    "Keys",
    "Limits",
    "Persons",
    "PublicColumn",
    "PublicContent",
    "PublicRows",
    "Quantum",
    "Sample",
    "Source",
    "Summand",
    "Tally",
    "VectorSum",
    "read_public_table",
]
