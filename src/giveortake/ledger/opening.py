"""Open a ledger that exists, or begin one where there never was one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import (
    HIDDEN,
    InvalidParameter,
    LedgerForeign,
    LedgerMissing,
    LedgerUnavailable,
    NotFound,
    safe_text,
)
from giveortake.ledger.chain import Chain
from giveortake.ledger.checkpoints import EVERY
from giveortake.ledger.drafts import clock
from giveortake.ledger.entries import BEGIN, FORMAT, NOTHING, RESTORE, Point, entry
from giveortake.ledger.home import Home, require_unremembered, unmarked
from giveortake.ledger.ledger import Ledger
from giveortake.ledger.marks import FileMark, Mark, MemoryMark
from giveortake.ledger.sqlite import SQLiteStore
from giveortake.ledger.store import Store, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.ledger.store import Notice

MEMORY = ":memory:"
_SERVERS = ("postgresql://", "postgres://")


def open_ledger(
    where: str | os.PathLike[str],
    *,
    mark: str | os.PathLike[str] | None = None,
    create: bool = True,
    read_only: bool = False,
) -> Ledger:
    """Open the ledger at a path or a PostgreSQL URL (`?schema=name` chooses one of several); ":memory:" forgets.

    A new one is begun if there never was one. `mark` says where the mark is kept, a path or another PostgreSQL URL. By
    default it is in the state folder (`$GIVEORTAKE_STATE`, or the user's own), under the ledger's id; for a ledger in
    PostgreSQL, in a schema beside it.

    >>> book = open_ledger(":memory:")
    >>> _ = book.population("patients", budget=gt.PureDP("0.3"), unit="person_id")
    >>> _ = book.dataset("visits", population="patients")
    >>> held = book.settle(book.reserve(gt.privacy.events.Laplace(10), dataset="visits", key="q1"), {"n": 41})
    >>> book.population("patients").remaining
    Fraction(1, 5)
    """
    return opened(where, mark=mark, create=create, read_only=read_only)


def opened(
    where: str | os.PathLike[str],
    *,
    mark: str | os.PathLike[str] | None = None,
    create: bool = True,
    read_only: bool = False,
    at: Notice = silent,
    now: Callable[[], str] = clock,
    every: int = EVERY,
) -> Ledger:
    """Like `open_ledger`, for tests that watch every step (`at`), or change the clock or checkpoints."""
    store = store_at(where, read_only=read_only, at=at)
    keeper: Mark | None = None
    try:
        home = home_of(store, mark, at)
        if home is None:
            keeper = mark_at(where, mark, at)
            found = _mark_of(store, keeper, create=create and not read_only)
        else:
            keeper, found = home.find(store, create=create and not read_only, read_only=read_only)
        if not read_only and found.number == 0:
            _begin(store, found, at, now)
        return Ledger(Chain(store, keeper, read_only=read_only, at=at, now=now, every=every))
    except BaseException:
        store.close()
        if keeper is not None:
            keeper.close()
        raise


def rehearsal(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> Ledger:
    """A copy in memory of the ledger in a file, as it is now: what is registered or charged there is forgotten with it.

    It shows what the ledger would say. No answer that is charged to it may be shown to anybody: the charge is in no
    ledger that lasts.
    """
    with opened(where, mark=mark, create=False, read_only=True) as ledger:
        store, keeper = ledger.chain.store, MemoryMark()
        if not isinstance(store, SQLiteStore):
            raise InvalidParameter("ledger", ledger.name, "is not a file", hint="only a ledger in a file is rehearsed")
        keeper.begin(ledger.chain.head)
        secret = ledger.chain.mark.secret(create=False)
        if secret is not None:
            keeper.inherit(secret)
        copy = store.copied_to_memory()
    try:
        return Ledger(Chain(copy, keeper))
    except BaseException:
        copy.close()
        raise


def _mark_of(store: Store, keeper: Mark, *, create: bool) -> Point:
    """Read the mark, or begin it if there never was a ledger. A mark begins before its ledger, hence the order."""
    found = keeper.read()
    there = store.exists()
    if found is None and there:
        found = keeper.read()
    if found is None and there:
        raise unmarked(store, RESTORE)
    if found is None:
        if not create:
            raise NotFound(f"there is no ledger at {store.name}", hint=BEGIN)
        return keeper.begin(Point(secrets.token_hex(16), 0, NOTHING))
    if found.number and not there and not store.exists():
        raise LedgerMissing(f"the ledger {store.name} is gone; its mark remembers {found.number} entries", hint=RESTORE)
    return found


def store_at(where: str | os.PathLike[str], **options: Any) -> Store:
    """The database of a ledger."""
    address = _address(where)
    if address.startswith(_SERVERS):
        from giveortake.ledger.postgres import PostgresStore  # noqa: PLC0415 (an extra, heavy)

        return PostgresStore(address, **options)
    if address == MEMORY:
        return SQLiteStore(None, **options)
    path = Path(address).absolute()
    if not path.parent.is_dir():
        raise LedgerUnavailable(f"the folder {path.parent} of the ledger does not exist")
    if path.is_dir():
        raise LedgerForeign(f"{path} is a folder, not a ledger")
    return SQLiteStore(path, **options)


def home_of(store: Store, mark: str | os.PathLike[str] | None, at: Notice = silent) -> Home | None:
    """The home of a ledger in a file; None if it is no file, or if `mark` says that the mark is elsewhere."""
    if not isinstance(store, SQLiteStore) or store.path is None:
        return None
    if mark is None:
        return Home(store.path, at)
    require_unremembered(store.path, mark)
    return None


def mark_at(where: str | os.PathLike[str], mark: str | os.PathLike[str] | None, at: Notice = silent) -> Mark:
    """The mark in memory, at a given place, or in the ledger's own database."""
    address = _address(where)
    if address == MEMORY:
        return MemoryMark()
    place = address if mark is None else _address(mark)
    if place.startswith(_SERVERS):
        from giveortake.ledger.postgres import PostgresMark  # noqa: PLC0415 (an extra, heavy)

        return PostgresMark(place)
    path = Path(place).absolute()
    if not path.parent.is_dir():
        raise LedgerUnavailable(f"the folder {path.parent} of the mark does not exist")
    return FileMark(path, at)


def _address(where: object) -> str:
    """A path as it is, or the URL of a server with its scheme in lower case."""
    address = str(where) if isinstance(where, str | os.PathLike) else ""
    scheme, separator, rest = address.strip().partition("://")
    url = f"{scheme.lower()}{separator}{rest}"
    is_server = url.startswith(_SERVERS)
    if not url or address == "None" or "\0" in address or (not is_server and safe_text(address) is HIDDEN):
        hint = "postgresql://host/database?schema=name, or the path of a file"
        raise InvalidParameter("ledger", where, "is neither a path nor a PostgreSQL URL", hint=hint)
    return url if is_server else address


def _begin(store: Store, mark: Point, at: Notice, now: Callable[[], str]) -> None:
    """Begin a ledger whose mark is new."""
    with store.create() as transaction:
        transaction.require_schema()
        if next(transaction.entries(1, None), None) is None:
            transaction.append(entry(1, "ledger", now(), NOTHING, {"format": FORMAT, "ledger": mark.ledger}))
            at("begun ledger written")
    at("begun ledger committed")
