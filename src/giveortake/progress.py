"""Progress of work that takes longer than a second, shown on a terminal only."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATIENCE = 1.0  # seconds


@final
class Progress:
    """A line on standard error: what is being done, how much of it is done, and for how long."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar

    def says(self, text: str) -> None:
        """Show another text for what is being done."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=text)

    def reaches(self, done: int, total: int) -> None:
        """Show that `done` of `total` parts are done."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def advance(self) -> None:
        """Show that one more part is done."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Progress]:
    """Show progress while something is done that has `total` parts, if that is known.

    It is shown on a terminal only, after a second, and removed in the end: it never changes what is written to
    standard output or to a file.
    """
    if not sys.stderr.isatty():
        yield Progress()
        return
    bar = _bar(text, total)
    lock = threading.Lock()
    ended = False

    def begin() -> None:
        with lock:
            if not ended:
                bar.start()

    timer = threading.Timer(_PATIENCE, begin)
    timer.daemon = True
    timer.start()
    try:
        yield Progress(bar)
    finally:
        timer.cancel()
        with lock:
            ended = True
            if bar.live.is_started:
                bar.stop()


@contextmanager
def rounds_shown(text: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress of rounds whose number is not known beforehand; call the result with done and total."""
    with progress(text, 0) as bar:
        yield bar.reaches


@contextmanager
def rows_shown(text: str) -> Iterator[Callable[[int], None]]:
    """Show the number of rows read, if the total is not known; call the result with that number."""
    with progress(text) as bar:
        yield lambda rows: bar.says(f"{text}: {rows:,} rows")


def _bar(text: str, total: int | None) -> Any:
    from rich.console import Console  # noqa: PLC0415 (for people only)
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 (heavy)
    from rich.progress import Progress as Bar  # noqa: PLC0415 (heavy)

    parts = (SpinnerColumn(),) if total is None else (BarColumn(), MofNCompleteColumn())
    words = TextColumn("{task.description}", markup=False)
    bar = Bar(
        *parts,
        TimeElapsedColumn(),
        words,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task(text, total=total)
    return bar
