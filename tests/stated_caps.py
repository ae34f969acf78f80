"""Caps for tests that are about something else."""

from __future__ import annotations

from typing import Any

import giveortake as gt
from giveortake.configuration import protection_arguments

FOUR: dict[str, int] = {"groups_per_person": 4, "rows_per_group": 4}
_CAPS = {*FOUR, "rows_per_person"}


def stating_caps(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `gt.protect`: four rows in each of four groups of a person count, unless something else is said.

    Options that `gt.protect` takes in groups may stand beside one another, as in a TOML file.
    """
    stated = options.get("unit") == gt.ROW or _CAPS & set(options) or "caps" in options
    return protection_arguments(options if stated else {**options, **FOUR})
