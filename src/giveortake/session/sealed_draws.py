"""Drawing behind a seal: whatever goes wrong, no error and no trace tells of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from giveortake.engines.failures import failure
from giveortake.engines.time_limits import as_one_question
from giveortake.errors import GiveOrTakeError

if TYPE_CHECKING:
    from collections.abc import Callable

Drawn = TypeVar("Drawn")


def sealed_question(draw: Callable[[], Drawn]) -> Drawn:
    """What is drawn for one question, in the time that there is for one."""
    return sealed(lambda: as_one_question(draw))


def sealed(draw: Callable[[], Drawn]) -> Drawn:
    """What is drawn.

    What goes wrong is told by an error of our own alone, without what led to it: other errors, and the variables in a
    trace, may hold keys and exact counts. An interruption is told without its trace.
    """
    failed: BaseException
    try:
        return draw()
    except GiveOrTakeError as error:
        failed = error
    except MemoryError as error:
        failed = failure("memory", type(error))
    except Exception as error:  # noqa: BLE001 (raised below, without a trace of what was drawn)
        failed = failure("other", type(error))
    except BaseException as error:  # noqa: BLE001 (the same)
        failed = error
    failed.__context__ = None
    raise failed.with_traceback(None) from None
