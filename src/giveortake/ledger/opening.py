"""Opening, backing up, moving and restoring a ledger.

After a loss the custodian records it in the chain, and pays for what may be forgotten.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import codec
from giveortake.errors import (
    HIDDEN,
    InvalidParameter,
    LedgerDamaged,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerRolledBack,
    LedgerUnavailable,
    NotFound,
    safe_text,
)
from giveortake.ledger.budgets import for_group
from giveortake.ledger.chain.chain import Chain, Filters, Transaction, clock, snapshot_of
from giveortake.ledger.chain.checkpoints import EVERY
from giveortake.ledger.chain.entries import (
    BEGIN,
    FORMAT,
    NOTHING,
    RESTORE,
    Json,
    Point,
    canonical,
    entry,
    named,
    plain,
    read_entry,
)
from giveortake.ledger.chain.state import State
from giveortake.ledger.chain.store import SQLiteStore, Store, silent, sync_folder
from giveortake.ledger.chain.watermark import FileMark, Home, Mark, MemoryMark, missing, require_unremembered, unmarked
from giveortake.ledger.ledger import Ledger
from giveortake.ledger.verification import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from giveortake.ledger.chain.state import Level
    from giveortake.ledger.chain.store import Notice, Tables
    from giveortake.privacy.events import Event


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

    >>> ledger = open_ledger(":memory:")
    >>> _ = ledger.population("patients", budget=gt.PureDP("0.3"), unit="person_id")
    >>> _ = ledger.dataset("visits", population="patients")
    >>> charge = gt.ledger.Charge(gt.privacy.events.Laplace(10), "visits", key="q1")
    >>> answer = ledger.settle(ledger.reserve(charge), {"n": 41})
    >>> ledger.population("patients").remaining
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
            point = _mark_of(store, keeper, create=create and not read_only)
        else:
            keeper, point = home.find(store, create=create and not read_only, read_only=read_only)
        if not read_only and point.number == 0:
            _begin(store, point, at, now)
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
    point = keeper.read()
    exists = store.exists()
    if point is None and exists:
        point = keeper.read()
    if point is None and exists:
        raise unmarked(store, RESTORE)
    if point is None:
        if not create:
            raise NotFound(f"there is no ledger at {store.name}", hint=BEGIN)
        return keeper.begin(Point(secrets.token_hex(16), 0, NOTHING))
    if point.number and not exists and not store.exists():
        raise missing(store, point)
    return point


def store_at(where: str | os.PathLike[str], **options: Any) -> Store:
    """The database of a ledger."""
    address = _address(where)
    if address.startswith(_SERVERS):
        from giveortake.ledger.chain.postgres import PostgresStore  # noqa: PLC0415 (an extra, heavy)

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
    mark_address = address if mark is None else _address(mark)
    if mark_address.startswith(_SERVERS):
        from giveortake.ledger.chain.postgres import PostgresMark  # noqa: PLC0415 (an extra, heavy)

        return PostgresMark(mark_address)
    path = Path(mark_address).absolute()
    if not path.parent.is_dir():
        raise LedgerUnavailable(f"the folder {path.parent} of the mark does not exist")
    return FileMark(path, at)


def _address(where: object) -> str:
    """A path as it is, or the URL of a server with its scheme in lower case."""
    address = str(where) if isinstance(where, str | os.PathLike) else ""
    scheme, separator, location = address.strip().partition("://")
    url = f"{scheme.lower()}{separator}{location}"
    is_server = url.startswith(_SERVERS)
    if not url or address == "None" or "\0" in address or (not is_server and safe_text(address) is HIDDEN):
        hint = "postgresql://host/database?schema=name, or the path of a file"
        raise InvalidParameter("ledger", where, "is neither a path nor a PostgreSQL URL", hint=hint)
    return url if is_server else address


def _begin(store: Store, mark: Point, at: Notice, now: Callable[[], str]) -> None:
    """Begin a ledger whose mark is new."""
    with store.create() as tables:
        tables.require_schema()
        if next(tables.entries(1, None), None) is None:
            tables.append(entry(1, "ledger", now(), NOTHING, {"format": FORMAT, "ledger": mark.ledger}))
            at("begun ledger written")
    at("begun ledger committed")


def indexed_anew(tables: Tables) -> State:
    """Replace whatever indexes and checkpoints there are by what the entries say, and return the state after them.

    Entries are what counts: this is how a ledger with damaged indexes gets new ones.
    """
    tables.create_indexes()
    state = State()
    for stored in tables.entries(1, NOTHING):
        state.apply(stored)
        tables.keep(state.take_rows())
    return state


def reindex(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> Point:
    """Rebuild checkpoints and indexes from the entries, which are checked in order and against the mark.

    No entry changes. It takes as long as reading all of them.
    """
    store = store_at(where)
    try:
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint=RESTORE)
        with store.writing() as tables:
            tables.require_schema()
            indexed_anew(tables)
    finally:
        store.close()
    with opened(where, mark=mark, create=False) as ledger:
        return ledger.chain.head


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
    >>> with gt.ledger.open(f"{folder}/old.ledger") as ledger:
    ...     people = ledger.population("people", budget=gt.PureDP(1))
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
        next_keeper: Mark = new.folder.mark(ledger.chain.ledger) if new is not None else mark_at(target, new_mark, at)
        same = old is not None and new is not None
        if not same and next_keeper.read() is not None:
            raise LedgerMismatch("there is already a mark where the new one should go", hint="choose another place")
        with ledger.chain.changing() as transaction:
            transaction.add("moved", {"what": "ledger", "reason": reason})
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
                new.folder.replace(new.path, head.ledger)
            if old is not None:
                old.folder.replace(old.path, head.ledger, moved_to=target)
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
    seen = home.folder.seen(home.path)
    if seen is not None and seen.ledger != ledger:
        raise LedgerMismatch(
            f"another ledger was at {home.path}, and its mark is still there", hint="choose another path"
        )


def restore(
    where: str | os.PathLike[str],
    *,
    reason: str,
    mark: str | os.PathLike[str] | None = None,
    charge: Event | None = None,
    export: Iterable[str] | None = None,
) -> Point:
    """Accept a ledger that is behind its mark, or has none, as the truth from now on. Only the custodian can do that.

    Guarantee: what the ledger has forgotten is never given out again as budget by default. Without `charge` every level
    that has a budget, and every one that is registered later, is closed until the custodian sets its budget anew; with
    `charge`, an event at least as large as all that was lost, it is charged to every level, as a group of rows where
    the level counts people. Reservations without an answer are void: their answers may have been released. The
    acknowledgement, the old mark and the reason are in the chain.

    `export` holds the lines that `giveortake ledger export` wrote, from which a lost ledger is written anew. If they
    reach as far as the mark remembers, nothing is lost, and nothing is closed or charged.
    """
    named("reason", reason)
    store = store_at(where)
    home: Home | None = None
    keeper: Mark | None = None
    try:
        home = home_of(store, mark)
        keeper = mark_at(where, mark) if home is None else None
        if export is not None:
            _write_anew(store, export)
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint="put the backup there first")
        with store.writing() as tables:
            tables.require_schema()
            state = indexed_anew(tables)
            if not state.ledger:
                raise LedgerDamaged(f"{store.name} holds no entries", hint="put a backup there first")
            remembered = _remembered(keeper) if home is None else home.remembered(state.ledger)
            if _has_forgotten_nothing(state, remembered):
                if export is None:
                    raise LedgerMismatch(
                        f"{store.name} holds everything that its mark remembers: there is nothing to restore",
                        hint="open it",
                    )
                return state.head
            transaction = Transaction(state, tables, Filters(), clock, writable=True)
            for level in state.levels.values():
                transaction.filter_of(level)  # refuses what does not match the chain
            _acknowledge(transaction, reason, remembered, charge)
            for entry in transaction.entries:
                state.apply(entry)
            transaction.keep_rows()
        if home is not None:
            home.accept(state.head)
        elif keeper is not None:
            keeper.replace(state.head)
        return state.head
    finally:
        store.close()
        if keeper is not None:
            keeper.close()


def _remembered(mark: Mark | None) -> Point | str | None:
    """What a mark at a given place, or in the ledger's own database, remembers; "damaged" if it cannot be read."""
    try:
        return None if mark is None else mark.read()
    except LedgerDamaged:
        return "damaged"


def _has_forgotten_nothing(state: State, remembered: Point | str | None) -> bool:
    """Whether a ledger reaches as far as its mark remembers, so that there is nothing to acknowledge."""
    if not isinstance(remembered, Point) or remembered.ledger != state.ledger:
        return False
    try:
        state.agrees_with(remembered)
    except LedgerRolledBack:
        return False
    return True


def _write_anew(store: Store, export: Iterable[str]) -> None:
    """Write a ledger from exported lines, each checked and every filter decision derived again."""
    if store.exists():
        raise LedgerMismatch(f"{store.name} already exists", hint="move it away first")
    entries, replay, previous = [], Replay(), NOTHING
    for number, line in enumerate(filter(str.strip, export), start=1):
        try:
            document = json.loads(line)
            entry = read_entry(number, canonical(document["entry"]), document["hash"], previous)
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"line {number} of the export is not an entry") from error
        replay.take(entry)
        entries.append(entry)
        previous = entry.hash
    with store.create() as tables:
        for entry in entries:
            tables.append(entry)
        tables.keep(replay.state.take_rows())
        for level, guard in replay.guards.items():
            tables.keep_snapshot(level, snapshot_of(guard))


def _as_seen_by(level: Level, charge: Event, state: State) -> Event:
    """The charge in a level's unit: for as many rows of a person as any data set below it allows."""
    granted = {name for grant in state.grants.values() if grant.level is level for name in grant.datasets}
    rows = [
        dataset.rows_per_person
        for name, dataset in state.datasets.items()
        if dataset.rows_per_person is not None
        and (name in granted or (level.kind == "population" and dataset.population == level.name))
    ]
    return for_group(charge, max(rows), level.neighbours) if rows else charge


def _acknowledge(transaction: Transaction, reason: str, remembered: Point | str | None, charge: Event | None) -> None:
    charged: dict[str, Json] = {}
    filters = {}
    if charge is not None:
        for level in transaction.state.levels.values():
            level_charge = _as_seen_by(level, charge, transaction.state)
            charged[str(level.number)] = None if level_charge == charge else codec.write(level_charge)
            guard = transaction.filter_of(level)
            if guard is not None:
                guard = guard.copy()
                guard.charge(level_charge)
                filters[level.number] = guard
    capped: list[Json] = [level.number for level in transaction.state.levels.values() if level.budget is not None]
    closed = [] if charge is not None else capped
    content: dict[str, Json] = {
        "reason": reason,
        "mark": plain("mark", asdict(remembered) if isinstance(remembered, Point) else remembered),
        "event": None if charge is None else codec.write(charge),
        "levels": charged,
        "closed": closed,
    }
    transaction.add("restored", content, filters)
