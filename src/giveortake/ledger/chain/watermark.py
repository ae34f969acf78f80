"""The high-water mark, which reveals a rolled-back ledger, and the state folder in which it lies.

The mark says how far the ledger has come, and is kept apart from it. The order is always: commit, then mark, then
release. A ledger ahead of its mark crashed between the first two, and the mark is moved; a ledger behind its mark has
lost entries whose answers may be out, and is refused.

A ledger that is copied with its folder and put back later would bring an old mark along. So marks and secrets lie in
the state folder, under the ledger's own id; and because a deleted ledger has no id to read, its path is remembered too:

| the path was | the file is | and then |
|---|---|---|
| never seen | not there | the mark of a new id begins at 0, the id claims the path, then the ledger is created |
| never seen | a ledger | the mark of its id decides |
| never seen | a copy of a ledger that is where it was seen | it is foreign to whoever would write to it |
| seen | the ledger that was seen | its mark decides |
| seen | not there | it is missing, unless its mark is still at 0 |
| seen | another ledger | it is foreign |

A `mark=` elsewhere is refused if the path was seen and its mark is in the state folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, final

from giveortake.errors import (
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerUnavailable,
    NotFound,
)
from giveortake.ledger.chain.entries import BEGIN, NOTHING, RESTORE, Point, canonical, digest
from giveortake.ledger.chain.store import (
    CHOOSE,
    VARIABLE,
    SQLiteStore,
    content_of,
    is_ledger,
    locked,
    silent,
    sync,
    write_once,
    write_over,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from giveortake.ledger.chain.store import Notice, Store


_SECRET = 32  # bytes
_SLOT = 512  # one sector: a write of it is whole or not there on nearly all disks, and checked where it is not


class Mark(Protocol):
    """A place that remembers one point. Writers of one ledger are serialised by its own lock, copies of it are not."""

    def read(self) -> Point | None:
        """The point, or None if there never was one."""

    def begin(self, point: Point) -> Point:
        """Remember a first point, unless another process was faster; whichever is remembered is returned."""

    def move(self, before: Point, point: Point) -> bool:
        """Replace one point by another, durably and in one step; False if something else is remembered."""

    def replace(self, point: Point) -> None:
        """Begin anew at a point that the custodian has acknowledged."""

    def secret(self, *, create: bool) -> bytes | None:
        """The secret that keys fingerprints. It lies beside the mark, never in the ledger; None if there is none."""

    def inherit(self, secret: bytes) -> None:
        """Take over the secret of the mark that this one replaces."""

    def turn(self, name: str) -> AbstractContextManager[bool]:
        """Hold a lock that one thread of one process can hold; it is released when the process ends.

        It yields whether somebody else held it.
        """

    def remove(self) -> None:
        """Forget everything: another mark replaces this one."""

    def abandon(self) -> None:
        """Forget what belongs to the parent process."""

    def close(self) -> None:
        """Close whatever is open."""


@final
class MemoryMark:
    """The mark of a ledger that lives in memory and ends with it."""

    def __init__(self) -> None:
        self._point: Point | None = None
        self._secret = secrets.token_bytes(_SECRET)
        self._turns: dict[str, Lock] = {}
        self._lock = Lock()

    def read(self) -> Point | None:
        return self._point

    def begin(self, point: Point) -> Point:
        self._point = self._point or point
        return self._point

    def move(self, before: Point, point: Point) -> bool:
        with self._lock:
            if self._point != before:
                return False
            self._point = point
            return True

    def replace(self, point: Point) -> None:
        self._point = point

    def secret(self, *, create: bool) -> bytes | None:
        return self._secret

    def inherit(self, secret: bytes) -> None:
        self._secret = secret

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        with self._lock:
            lock = self._turns.setdefault(name, Lock())
        waited = not lock.acquire(blocking=False)
        if waited:
            lock.acquire()
        try:
            yield waited
        finally:
            lock.release()

    def remove(self) -> None:
        self._point = None

    def abandon(self) -> None:
        """Do nothing: it was copied with the process."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


@final
class FileMark:
    """A file with two slots that are written in turns, each with a checksum.

    Guarantee: after `move` returns, the point survives a power failure. A write that is torn spoils the older slot
    only, so that the point before it remains, which is behind the ledger and will be moved.
    """

    def __init__(self, path: Path, at: Notice = silent) -> None:
        self.path = path
        self._secret = path.with_name(f"{path.name}.secret")
        self._at = at
        self._last: tuple[bytes, Point] | None = None  # what was read, and what it says

    def read(self) -> Point | None:
        content, last = content_of(self.path), self._last
        if content is None:
            return None
        if last is None or last[0] != content:
            points = [point for slot in (0, 1) if (point := _read_slot(content, slot)) is not None]
            if not points:
                raise LedgerDamaged(f"the mark {self.path} is damaged", hint=RESTORE)
            last = self._last = content, max(points, key=lambda point: point.number)
        return last[1]

    def begin(self, point: Point) -> Point:
        write_once(self.path, _slot(point) * 2)
        self._at("mark begun")
        return self.read() or point

    def move(self, before: Point, point: Point) -> bool:
        import fcntl  # noqa: PLC0415 (not on every platform)

        try:
            with self.path.open("r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # of the mark's own: copies of a ledger have no other lock in common
                content = file.read(2 * _SLOT)
                first, second = _read_slot(content, 0), _read_slot(content, 1)
                older = 0 if first is None or (second is not None and first.number <= second.number) else 1
                if before != (second if older == 0 else first):
                    return False
                file.seek(older * _SLOT)
                file.write(_slot(point))
                self._at("mark written")
                sync(file.fileno())
                return True
        except OSError as error:
            raise LedgerUnavailable(
                f"the mark {self.path} cannot be written: {error.strerror}",
                hint="what was being charged stays charged; its answer was not released",
            ) from error

    def replace(self, point: Point) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()
        self.begin(point)

    def secret(self, *, create: bool) -> bytes | None:
        secret = content_of(self._secret)
        if secret is None and create:
            write_once(self._secret, secrets.token_bytes(_SECRET))
            secret = content_of(self._secret)
        if secret is not None and len(secret) != _SECRET:
            raise LedgerDamaged(f"the secret {self._secret} is damaged", hint=RESTORE)
        return secret

    def inherit(self, secret: bytes) -> None:
        write_once(self._secret, secret)

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        with locked(self.path.with_name(f"{self.path.name}.{name[:32]}.turn")) as waited:
            yield waited

    def remove(self) -> None:
        for path in (self.path, self._secret):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()  # unless there is something else

    def abandon(self) -> None:
        """Do nothing: nothing is open between calls."""

    def close(self) -> None:
        """Do nothing: nothing is open between calls."""


def _slot(point: Point) -> bytes:
    body = canonical(asdict(point))
    line = f"{body} {digest(body)}"
    return line.ljust(_SLOT - 1).encode("ascii") + b"\n"


def _read_slot(content: bytes, slot: int) -> Point | None:
    try:
        body, _, check = content[slot * _SLOT : (slot + 1) * _SLOT].decode("ascii").rstrip().rpartition(" ")
    except UnicodeDecodeError:
        return None
    return Point(**json.loads(body)) if body and digest(body) == check else None


_ID = re.compile("[0-9a-f]{32}")


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """The ledger that was last seen at a path, and where its custodian has moved it since, if they did."""

    path: str
    ledger: str
    moved_to: str | None = None


def state_folder() -> Path:
    """`$GIVEORTAKE_STATE`, else `giveortake` in the user's own state folder, as the XDG specification says."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    stated = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(stated) if Path(stated).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        raise LedgerUnavailable("this user has no home folder for the marks of ledgers", hint=CHOOSE) from None
    return base / "giveortake"


@final
class StateFolder:
    """A folder with one folder for each ledger, named by its id, and one small file for each path."""

    def __init__(self, path: Path, at: Notice = silent) -> None:
        self.path = path
        self._at = at

    def mark(self, ledger: str) -> FileMark:
        """The mark of a ledger, whether it was begun or not."""
        if not _ID.fullmatch(ledger):
            raise LedgerDamaged("the ledger's first entry does not name it", hint=RESTORE)
        return FileMark(self.path / "ledgers" / ledger / "mark", self._at)

    def seen(self, path: Path) -> Seen | None:
        """The ledger that was last seen at a path; None if none was."""
        return self.read(self._record_path(path))

    def record_paths(self) -> list[Path]:
        """The small files of all paths at which a ledger was ever seen."""
        return sorted((self.path / "paths").glob("*"))

    def read(self, path: Path) -> Seen | None:
        """Read one of the files in `record_paths`; None if it is not there."""
        content = content_of(path)
        try:
            return None if content is None else Seen(**json.loads(content))
        except (TypeError, ValueError) as error:
            raise LedgerDamaged(f"{path}, which records where ledgers are, is damaged", hint=RESTORE) from error

    def claim(self, path: Path, ledger: str) -> Seen:
        """Record that a ledger is at a path, unless something is recorded already; return what is recorded."""
        if self.seen(path) is None:
            write_once(self._record_path(path), _encoded(Seen(str(path), ledger)))
            self._at("path claimed")
        return self.seen(path) or Seen(str(path), ledger)

    def replace(self, path: Path, ledger: str, moved_to: Path | None = None) -> None:
        """Record, on the custodian's word, which ledger is at a path from now on, or where it went."""
        write_over(
            self._record_path(path), _encoded(Seen(str(path), ledger, None if moved_to is None else str(moved_to)))
        )

    def _record_path(self, path: Path) -> Path:
        return self.path / "paths" / sha256(os.fsencode(path)).hexdigest()


def _encoded(seen: Seen) -> bytes:
    return canonical(asdict(seen)).encode("ascii")


ELSEWHERE = "leave mark= out; `giveortake ledger move` with `--new-mark` keeps it elsewhere from then on"
UNMARKED = f"{RESTORE}; if its mark is kept elsewhere, pass mark= or set {VARIABLE}"

USUAL = ".ledger"  # how the name of a ledger ends, unless somebody chose another


@final
class Home:
    """What the state folder knows about the ledger at one path."""

    def __init__(self, path: Path, at: Notice) -> None:
        self.path = Path(os.path.realpath(path))  # however it was spelled
        self.folder = StateFolder(state_folder(), at)

    def find(self, store: Store, *, create: bool, read_only: bool) -> tuple[FileMark, Point]:
        """The mark of the ledger at this path, begun now if there never was a ledger."""
        seen = self.folder.seen(self.path)
        exists = store.exists()
        if seen is None and exists:
            seen = self.folder.seen(self.path)  # a path is claimed before its ledger is created
        if seen is None and exists:
            return self._by_id(store, read_only=read_only)
        if seen is None:
            seen = self._claim(store, create=create)
        return self._by_path(store, seen, exists)

    def remembered(self, ledger: str) -> Point | str | None:
        """The mark of the ledger seen at this path, else of the one there; "damaged" if it cannot be read."""
        seen = self.folder.seen(self.path)
        marks = [self.folder.mark(ledger_id) for ledger_id in ([] if seen is None else [seen.ledger]) + [ledger]]
        for mark in marks:
            try:
                point = mark.read()
            except LedgerDamaged:
                return "damaged"
            if point is not None:
                return point
        return None

    def accept(self, head: Point) -> None:
        """Accept this ledger up to `head` as the one at this path from now on, on the custodian's word."""
        self.folder.mark(head.ledger).replace(head)
        self.folder.replace(self.path, head.ledger)

    # -- inside ------------------------------------------------------------------------------------------------

    def _claim(self, store: Store, *, create: bool) -> Seen:
        if not create:
            raise NotFound(f"there is no ledger at {store.name}", hint=BEGIN)
        first = Point(secrets.token_hex(16), 0, NOTHING)
        mark = self.folder.mark(first.ledger)
        mark.begin(first)  # before the path is claimed: a path without a mark has lost it
        seen = self.folder.claim(self.path, first.ledger)
        if seen.ledger != first.ledger:  # another process was faster
            mark.remove()
        return seen

    def _by_path(self, store: Store, seen: Seen, exists: bool) -> tuple[FileMark, Point]:
        mark = self.folder.mark(seen.ledger)
        point = mark.read()
        if point is None:
            if exists:
                raise unmarked(store)
            raise LedgerMissing(f"the ledger {store.name} is gone, and its mark as well", hint=RESTORE)
        if point.number and not exists and not store.exists():
            if seen.moved_to is not None:
                raise LedgerMissing(f"the ledger {store.name} was moved to {seen.moved_to}", hint="open it there")
            raise missing(store, point)
        return mark, point

    def _by_id(self, store: Store, *, read_only: bool) -> tuple[FileMark, Point]:
        """Find the mark of a ledger at a path where none was seen before: it was moved here."""
        ledger = self._id(store)
        mark = self.folder.mark(ledger)
        point = mark.read()
        if point is None:
            raise unmarked(store)
        if not read_only:
            other = self._other(point)
            if other is not None:
                raise LedgerForeign(
                    f"{store.name} is a copy of the ledger {other}, which would be out of date after a charge here",
                    hint=f'use {other}, or ledger=":memory:" to try what nobody else will see',
                )
            self.folder.claim(self.path, ledger)
        return mark, point

    def _other(self, mark: Point) -> Path | None:
        """Another file that holds what the mark remembers, where the state folder last saw it, if this one does too.

        Writing here would make that one an old copy. Whatever cannot be read decides nothing: the mark still does.
        """
        for record_path in self.folder.record_paths() if _holds(self.path, mark) else ():
            with suppress(LedgerDamaged, OSError):
                seen = self.folder.read(record_path)
                if seen is not None and seen.ledger == mark.ledger and seen.moved_to is None:
                    path = Path(seen.path)
                    if not path.samefile(self.path) and _holds(path, mark):
                        return path
        return None

    def _id(self, store: Store) -> str:
        if not is_ledger(self.path):
            raise unmarked(store)
        try:
            with store.reading() as tables:
                tables.require_schema()
                first = next(tables.entries(1, NOTHING), None)
        except LedgerDamaged as error:
            raise LedgerForeign(f"{store.name} is not a ledger, or its beginning is damaged", hint=RESTORE) from error
        if first is None:
            raise unmarked(store)
        return str(first.content.get("ledger"))


def require_unremembered(path: Path, mark: str | os.PathLike[str]) -> None:
    """Refuse a mark elsewhere for a path whose mark is in the state folder: that one may remember more.

    Guarantee: of a path that this state folder has a mark for, no other mark is believed, neither by whoever opens the
    ledger nor by whoever restores it. A folder that this user cannot read, or does not have, remembers nothing.
    """
    with suppress(LedgerUnavailable):
        home = Home(path, silent)
        seen = home.folder.seen(home.path)
        own_mark = None if seen is None or seen.moved_to is not None else home.folder.mark(seen.ledger)
        point = None if own_mark is None else own_mark.read()
        if own_mark is None or point is None or point.hash == NOTHING:  # begun, or moved away
            return
        if os.path.realpath(own_mark.path) == os.path.realpath(mark):
            return
        raise LedgerMismatch(
            f"the mark of {path} is in the state folder {home.folder.path} and remembers {point.number} entries; "
            "another one is not believed",
            hint=ELSEWHERE,
        )


def _holds(path: Path, mark: Point) -> bool:
    """Whether the ledger in a file has the entry that a mark remembers."""
    with suppress(LedgerError, OSError):
        if is_ledger(path):
            with closing(SQLiteStore(path, read_only=True)) as store, store.reading() as tables:
                return tables.entry(mark.number).hash == mark.hash
    return False


def missing(store: Store, mark: Point) -> LedgerMissing:
    """The error about a ledger that is gone, although its mark is there."""
    return LedgerMissing(f"the ledger {store.name} is gone; its mark remembers {mark.number} entries", hint=RESTORE)


def unmarked(store: Store, hint: str = UNMARKED) -> LedgerForeign:
    """The error about a file that nobody here remembers as a ledger: the table itself, say, or a copy."""
    path = store.path if isinstance(store, SQLiteStore) else None
    if path is not None and path.suffix != USUAL and not is_ledger(path):
        usual = path.with_name(f"{path.name}{USUAL}")
        suggestion = (
            f"did you mean {usual.name}?" if usual.exists() else f"there is none at {usual.name} either: {BEGIN}"
        )
        return LedgerForeign(f"{store.name} is not a ledger", hint=suggestion)
    return LedgerForeign(
        f"{store.name} has no mark here: it is not a ledger, or a copy, or its mark is lost", hint=hint
    )
