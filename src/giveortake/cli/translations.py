"""What is done in Python, and the command that does the same."""

from __future__ import annotations

import re

_PROFILE = "`giveortake profile FILE --epsilon 0.1 --most-rows N`"
_COMMANDS = (
    (r"[,;] or pass owner_confirms=, which is recorded", ""),  # a TOML configuration can say it
    (r"gt\.protect\(…, rows_per_person=\d+\) says it", "a TOML configuration says it"),
    (r"s\.profile\(epsilon=[^)]*\)", _PROFILE),
    (r"s\.profile\(…, most_rows=…\)", "`giveortake profile FILE --most-rows N`"),
    (r"\bsession\.profile finds", f"{_PROFILE} finds"),
    (r"`ledger\.affordable\([^`]*\)`", "`giveortake ledger show PATH`"),
    (r"`ledger\.change_budget`", "`giveortake admin budget change`"),
)


def in_commands(text: str) -> str:
    """What Python does, as commands do it.

    >>> in_commands('s.profile(epsilon="0.1") makes one, once')
    '`giveortake profile FILE --epsilon 0.1 --most-rows N` makes one, once'
    """
    for pattern, instead in _COMMANDS:
        text = re.sub(pattern, instead, text)
    return text
