"""Failures of engines: the asker is told one of few causes, and the log gets the kind of error.

Engines quote rows in their errors. So neither the asker nor the log gets these: the log has the name of the error's
class, which was chosen before there was a row. Nothing prints it unless the custodian sets up logging. A defect, an
error that no limit explains, is logged as an error, with the line where it was raised.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from giveortake.errors import QueryFailed

if TYPE_CHECKING:
    from giveortake.errors import FailureCause

_log = logging.getLogger("giveortake")
_log.addHandler(logging.NullHandler())  # without it Python would print warnings to the asker
_TOLD: dict[FailureCause, tuple[str, str]] = {
    "memory": (
        "the engine could not finish the question in the memory that it has",
        "ask for fewer groups, or for less at once; the custodian can raise memory=",
    ),
    "time": (
        "the engine could not finish the question in time",
        "ask for fewer groups, or for less at once; the custodian can raise seconds=",
    ),
    "changed": (
        "the table changed while it was read",
        "let the custodian protect it again: what changed is a new version",
    ),
    "storage": (
        "the answer could not be written",
        "make room in the folder of the ledger, or pass gt.protect(…, spool=) another one",
    ),
    "defect": (
        "an error came up that no question should lead to",
        "the custodian has to look into it first: the log names the kind of error",
    ),
    "other": (
        "the engine could not finish the question",
        "ask for less at once, or otherwise; the custodian's log names the kind of error",
    ),
}


def failure(cause: FailureCause, error: type[BaseException] | None = None, line: str | None = None) -> QueryFailed:
    """The error to raise; its cause, and the class of the error that led to it, are logged."""
    kind = "no error" if error is None else error.__name__
    level = logging.ERROR if cause == "defect" else logging.WARNING
    _log.log(level, "a question failed: %s (%s)", cause, kind if line is None else f"{kind} at {line}")
    message, hint = _TOLD[cause]
    return QueryFailed(f"{message}; what it was charged stands", cause=cause, hint=hint)


def out_of_time(error: type[BaseException] | None = None) -> QueryFailed:
    """The failure of a question whose time is over."""
    return failure("time", error)
