"""Ctrl-C: noticed wherever it arrives, and answered with what the ledger says about the question."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, final

from giveortake.errors import GiveOrTakeError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import FrameType

    from giveortake.ledger import Entry


@final
@dataclass(slots=True)
class Stop:
    """Whether somebody asked to stop."""

    asked: bool = False


@contextmanager
def noticed() -> Iterator[Stop]:
    """Remember a Ctrl-C, whatever becomes of its exception: an engine may turn it into another one.

    If the program handles the signal itself, or ignores it, that stays as it is.
    """
    stop = Stop()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def now() -> str:
    """What the clock says, as entries of a ledger write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def charged_since(arguments: argparse.Namespace, started: str) -> str:
    """Say whether the ledger holds a charge for a question that was interrupted."""
    from giveortake import ledger as ledgers  # noqa: PLC0415 (these take a moment that most calls do not need)
    from giveortake.cli import session_options  # noqa: PLC0415 (as above)
    from giveortake.cli.ledger import relations  # noqa: PLC0415 (as above)
    from giveortake.ledger.rules.releases import price  # noqa: PLC0415 (as above)
    from giveortake.session.ledger_discovery import MEMORY  # noqa: PLC0415 (as above)

    try:
        place = session_options.ledger_place(arguments)
        if place == MEMORY:
            return "what was charged was kept in memory only, and is forgotten"
        if "://" not in place and not Path(place).exists():
            return _NOTHING
        mark = session_options.mark_place(arguments)
        with ledgers.open(place, mark=mark, create=False) as book:  # to write: a charge may not have been marked yet
            entries = book.history()
    except GiveOrTakeError:
        return "whether it was charged is not known: the ledger cannot be read now; `giveortake ledger show` tells"
    name = session_options.expected_name(arguments)
    charge = _charge(entries, name, started)
    if charge is None:
        return _NOTHING
    cost = price(charge.content["event"], relations(entries)[name])
    return (
        f"the question was charged, {cost} (entry {charge.number} of {place}); the charge stands, and asking the same "
        "again is free"
    )


def _charge(entries: list[Entry], dataset: str, started: str) -> Entry | None:
    """The last charge for a question to a data set since `started`; None if there is none."""
    return next(
        (
            entry
            for entry in reversed(entries)
            if entry.kind == "reserved"
            and entry.at >= started
            and entry.content["dataset"] == dataset
            and entry.content["levels"]
        ),
        None,
    )


_NOTHING = "nothing was charged by this call"
