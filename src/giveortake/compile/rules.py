"""The rules by which a question becomes a measurement. They change between versions; answers stay readable."""

from __future__ import annotations

from enum import IntEnum


class Rules(IntEnum):
    """A version of the rules for caps, measures, noise and the search for keys.

    Ledgers store noisy integers, which can be read only by the rules under which they were drawn. So all rules that
    were ever used stay: a session looks for an answer under the older rules first, and reads it by them.
    """

    FIRST = 1  # of 0.1
    SECOND = 2  # of 0.2


LATEST = Rules.SECOND
OLDER = tuple(rules for rules in Rules if rules is not LATEST)
