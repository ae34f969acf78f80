"""Copying a ledger in a file for safety, or moving it to another path, disk or machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter, LedgerMismatch
from giveortake.ledger.entries import NOTHING, RESTORE, Point
from giveortake.ledger.files import sync_folder
from giveortake.ledger.home import Home
from giveortake.ledger.opening import home_of, mark_at, opened
from giveortake.ledger.registration import named
from giveortake.ledger.sqlite import SQLiteStore
from giveortake.ledger.store import silent

if TYPE_CHECKING:
    import os

    from giveortake.ledger.ledger import Ledger
    from giveortake.ledger.marks import Mark
    from giveortake.ledger.store import Notice


def backup(
    where: str | os.PathLike[str], to: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None
) -> Point:
    """Copy a ledger as it is at one moment, whoever writes to it, to a new file. The mark is not copied.

    A mark that is restored together with its ledger would not notice what both have lost.
    """
    with opened(where, mark=mark, create=False, read_only=True) as ledger:
        head = ledger.verify()
        _file_of(ledger).copy_to(Path(to).absolute())
    return Point(head.ledger, head.entries, head.head)


def move(
    where: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    reason: str,
    mark: str | os.PathLike[str] | None = None,
    new_mark: str | os.PathLike[str] | None = None,
    at: Notice = silent,
) -> Point:
    """Move a ledger to another path, and its mark to `new_mark`, by default to the state folder.

    Guarantee: at no moment can the ledger be opened at both places with marks that do not know of each other. The move
    and its reason are an entry, and whoever asks for the ledger at its old path is told where it went.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with gt.ledger.open(f"{folder}/old.ledger") as book:
    ...     people = book.population("people", budget=gt.PureDP(1))
    >>> gt.ledger.move(f"{folder}/old.ledger", f"{folder}/new.ledger", reason="a larger disk").number  # entries
    3
    """
    named("reason", reason)
    target = Path(to).absolute()
    with opened(where, mark=mark, create=False, at=at) as ledger:
        store, keeper = _file_of(ledger), ledger.chain.mark
        assert store.path is not None  # noqa: S101 (`_file_of` refuses a ledger in memory)
        old, new = home_of(store, mark), Home(target, at) if new_mark is None else None
        if new is not None:
            _require_free(new, ledger.chain.ledger)
        next_keeper: Mark = new.state.mark(ledger.chain.ledger) if new is not None else mark_at(target, new_mark, at)
        same = old is not None and new is not None
        if not same and next_keeper.read() is not None:
            raise LedgerMismatch("there is already a mark where the new one should go", hint="choose another place")
        with ledger.chain.changing() as draft:
            draft.add("moved", {"what": "ledger", "reason": reason})
        head = ledger.chain.head
        with store.writing():  # nobody charges anything while it is on its way
            store.copy_to(target)
            at("copied")
            if not same:
                secret = keeper.secret(create=True)
                marked = keeper.read() or head
                voided = Point(head.ledger, marked.number + 1, NOTHING)  # what the old one remembers is nowhere
                if not keeper.move(marked, voided):
                    raise LedgerMismatch("a copy of this ledger has moved its mark meanwhile", hint=RESTORE)
                at("old mark voided")
                next_keeper.begin(head)
                if secret is not None:
                    next_keeper.inherit(secret)
            if new is not None:
                new.state.replace(new.path, head.ledger)
            if old is not None:
                old.state.replace(old.path, head.ledger, moved_to=target)
            at("places noted")
            store.path.unlink()
            sync_folder(store.path)
        if not same:
            keeper.remove()
        next_keeper.close()
    return head


def _file_of(ledger: Ledger) -> SQLiteStore:
    store = ledger.chain.store
    if isinstance(store, SQLiteStore) and store.path is not None:
        return store
    raise InvalidParameter(
        "ledger",
        ledger.name,
        "is not a file",
        hint="`pg_dump` copies a ledger in PostgreSQL; `giveortake ledger export` prints every entry",
    )


def _require_free(home: Home, ledger: str) -> None:
    seen = home.state.seen(home.path)
    if seen is not None and seen.ledger != ledger:
        raise LedgerMismatch(
            f"another ledger was at {home.path}, and its mark is still there", hint="choose another path"
        )
