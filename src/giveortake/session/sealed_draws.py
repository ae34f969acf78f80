"""Draw so that no error and no traceback reveals anything about rows, whatever goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from giveortake.engines.runtime import as_one_question, failure
from giveortake.errors import LedgerError, QueryFailed, line_of

if TYPE_CHECKING:
    from collections.abc import Callable

Drawn = TypeVar("Drawn")


def sealed_question(draw: Callable[[], Drawn]) -> Drawn:
    """Call `draw` as `sealed` does, within the time limit of one question."""
    return sealed(lambda: as_one_question(draw))


def sealed(draw: Callable[[], Drawn]) -> Drawn:
    """Return what `draw` returns; let no error reveal rows.

    Any failure is raised as an error of our own, without its cause: other errors, and the variables in a traceback,
    may hold keys and exact counts. What neither a limit of the engine nor the ledger explains is a defect: one row may
    decide it. An interruption is raised without its traceback.
    """
    failed: BaseException
    try:
        return draw()
    except (QueryFailed, LedgerError) as error:
        failed = error
    except MemoryError as error:
        failed = failure("memory", type(error))
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        failed = error
    except BaseException as error:  # noqa: BLE001 (raised below, without its traceback; libraries panic by such errors)
        failed = failure("defect", type(error), line_of(error))
    failed.__context__ = None
    raise failed.with_traceback(None) from None
