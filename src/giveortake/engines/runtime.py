"""How engines run: failures, the time limit of a question, scratch folders and the private cache folder.

Engines quote rows in their errors. So the asker is told one of few causes, and the log gets the name of the error's
class, which was chosen before there was a row. Nothing prints it unless the custodian sets up logging. A defect, an
error that no limit explains, is logged as an error, with the line where it was raised.

All statements of a question share one time limit, and so does what is computed between and after them: drawing noise
and sorting keys (`own_work`). The time that others take is not counted: who waits for another's question loses nothing
by it, and is told nothing.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import shutil
import stat
import tempfile
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, final

from giveortake.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from giveortake.errors import FailureCause


_log = logging.getLogger("giveortake")
_log.addHandler(logging.NullHandler())  # without it Python would print warnings to the asker
_MESSAGES: dict[FailureCause, tuple[str, str]] = {
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
        "make room in the folder of the ledger, or name another one: gt.ledger.at(…, spool=…)",
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
    message, hint = _MESSAGES[cause]
    return QueryFailed(f"{message}; what it was charged stands", cause=cause, hint=hint)


def out_of_time(error: type[BaseException] | None = None) -> QueryFailed:
    """The failure of a question whose time is over."""
    return failure("time", error)


Item = TypeVar("Item")

_INTERRUPTION_INTERVAL = 0.1  # seconds between two interruptions: one that comes between two statements is lost


@final
@dataclass(slots=True)
class _Clock:
    """The time spent on a question so far, and since when it is being worked on again."""

    used: float = 0.0
    started: float | None = None
    is_limited: bool = True
    seconds: float | None = None  # that there are, as soon as an engine was asked


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@contextmanager
def one_question() -> Iterator[None]:
    """Treat everything that engines are asked in this block as one question with one limit; blocks may be nested."""
    if _clock.get() is not None:
        yield
        return
    token = _clock.set(_Clock())
    try:
        yield
    finally:
        _clock.reset(token)


def as_one_question(work: Callable[[], Item]) -> Item:
    """Do some work as one question."""
    with one_question():
        return work()


@contextmanager
def no_question() -> Iterator[None]:
    """Run what engines do in this block without a limit: it is for no question."""
    token = _clock.set(_Clock(is_limited=False))
    try:
        yield
    finally:
        _clock.reset(token)


@contextmanager
def own_work() -> Iterator[None]:
    """Count our own work in this block against the question's time; it is not begun if that is over."""
    limit = limit_of_question()
    limit.check()()
    with limit.counted():
        yield


def in_own_time(items: Iterable[Item]) -> Iterator[Item]:
    """The same items; each is made in the time of the question, and none once that is over."""
    iterator = iter(items)
    while True:
        with own_work():
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def limit_of_question() -> TimeLimit:
    """The time limit of this question, from the engine that was asked; none outside of questions."""
    clock = _clock.get()
    return TimeLimit(None if clock is None else clock.seconds)


@final
class TimeLimit:
    """The seconds allowed for each question; None if they are not limited."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left for this question, below zero if it is over; None if they are not limited."""
        if self._seconds is None:
            return None
        clock = _clock.get() or _Clock()
        if not clock.is_limited:
            return None
        return self._seconds - clock.used - (0.0 if clock.started is None else time.monotonic() - clock.started)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left is not None and self.left <= 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of this block against the question, once even if blocks are nested."""
        with one_question():
            clock = _clock.get()
            if clock is not None:
                clock.seconds = self._seconds
            if clock is None or clock.started is not None:
                yield
                return
            clock.started = time.monotonic()
            try:
                yield
            finally:
                clock.used += time.monotonic() - clock.started
                clock.started = None

    def check(self) -> Callable[[], None]:
        """A function that raises once the time is over, in any thread; call it between uninterruptible steps."""
        seconds_left = self.left
        end = None if seconds_left is None else time.monotonic() + seconds_left

        def require_time() -> None:
            if end is not None and time.monotonic() >= end:
                raise out_of_time()

        return require_time

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object], *, grace: float = 0.0) -> Iterator[None]:
        """Interrupt the block once the time (and a grace) is over, again and again until it has ended."""
        with self.counted():
            self.check()()
            seconds_left = self.left
            if seconds_left is None:
                yield
                return
            ended = threading.Event()
            watch = threading.Thread(target=_watch, args=(ended, seconds_left + grace, interrupt), daemon=True)
            watch.start()
            try:
                yield
            finally:
                ended.set()
                watch.join()  # so that no interruption reaches what comes next


def _watch(ended: threading.Event, seconds: float, interrupt: Callable[[], object]) -> None:
    while not ended.wait(seconds):
        interrupt()
        seconds = _INTERRUPTION_INTERVAL


_PREFIX, _LOCK = "giveortake-rows-", "lock"


@final
class ScratchFolder:
    """A folder that its user alone can read. If its process dies, the next scratch folder removes it.

    Its lock is held while the process lives, and released by the system however it dies. A process that inherits the
    lock's descriptor holds it too.
    """

    def __init__(self, *, sweep: bool = True) -> None:
        import fcntl  # noqa: PLC0415 (not on every platform)

        if sweep:
            remove_abandoned()
        folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self.lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.path = folder.rename(
            folder.with_name(folder.name.removeprefix("."))
        )  # nobody finds it before it is locked
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid())  # at the latest when the process ends

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        self._removal()
        lock, self.lock = self.lock, -1
        with suppress(OSError):  # it is closed already
            os.close(lock)


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # and not in a fork of it
        shutil.rmtree(path, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of processes that are gone."""
    import fcntl  # noqa: PLC0415 (not on every platform)

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or somebody else was faster
            lock = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


_UNUSED_DAYS = 30
_HALF_WRITTEN_DAYS = 1
_SECRET, _SECRET_SIZE = "secret", 32
_DAY = 24 * 60 * 60


@final
@dataclass(frozen=True, slots=True)
class CacheFolder:
    """The folder, 0700, and all that is in it, 0600. Several processes may use it at the same time."""

    path: Path

    def prepare(self) -> None:
        """Make the folder and its secret, if they are not there."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if not (self.path / _SECRET).exists():
            draft = self.draft()
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_SECRET_SIZE))
            with suppress(FileExistsError):  # another process was faster, and theirs is the secret
                os.link(draft, self.path / _SECRET)
            draft.unlink()

    def draft(self) -> Path:
        """A new path for a file that is still being written."""
        return self.path / f"{secrets.token_hex(8)}.draft"

    def secret(self) -> bytes:
        """The secret of the folder; OSError if there is none, or if others may read it."""
        path = self.path / _SECRET
        secret_bytes = path.read_bytes()
        if not is_own(path) or len(secret_bytes) != _SECRET_SIZE:
            raise PermissionError
        return secret_bytes

    def name_of(self, text: str) -> str:
        """A keyed hash of a text, for a file name: nobody without the secret can tell which text it is."""
        return hmac.new(self.secret(), text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:24]

    def unused(self, ending: str) -> list[Path]:
        """Files that were not used for long, and abandoned drafts."""
        now = time.time()
        old = [path for path in self.path.glob(f"*{ending}") if now - path.lstat().st_mtime > _UNUSED_DAYS * _DAY]
        return old + [
            draft for draft in self.path.glob("*.draft*") if now - draft.lstat().st_mtime > _HALF_WRITTEN_DAYS * _DAY
        ]


def is_own(path: Path) -> bool:
    """Whether a path is a file of this user to which nobody else has access."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
