"""How often a test repeats what it repeats: usually, and in `script/test --long`.

Parameters are chosen when tests are collected, so the tier is in the environment, for all processes of a run.
"""

from __future__ import annotations

import os
from typing import TypeVar

LONG = "GIVEORTAKE_TEST_LONG"
Amount = TypeVar("Amount")


def is_long() -> bool:
    """Whether this run is a long one."""
    return LONG in os.environ


def tiered(usual: Amount, long: Amount) -> Amount:
    """A number of repetitions, or the cases to try: the usual ones, or those of a long run."""
    return long if is_long() else usual
