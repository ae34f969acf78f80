"""The rules by which a question becomes a measurement. They change between versions; answers stay readable."""

from __future__ import annotations

from enum import IntEnum


class Rules(IntEnum):
    """Which caps, measures, noise and way of finding keys a question gets.

    What is stored is noisy integers, which only those rules can read by which they were drawn. So a rule that was ever
    used stays: a session looks for an answer by the older rules first, and reads it by them.
    """

    FIRST = 1  # of 0.1
    SECOND = 2  # of 0.2


LATEST = Rules.SECOND
OLDER = tuple(rules for rules in Rules if rules is not LATEST)
