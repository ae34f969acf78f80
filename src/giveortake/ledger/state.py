"""The state folder: marks and secrets of ledgers, kept apart from the ledgers, and which ledger was last seen where.

A ledger that is copied with its folder and put back later would bring an old mark along. So the marks lie elsewhere,
under the ledger's own id; and because a deleted ledger has no id to read, its path is remembered too.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, final

from giveortake.errors import LedgerDamaged, LedgerUnavailable
from giveortake.ledger.entries import RESTORE, canonical
from giveortake.ledger.files import CHOOSE, VARIABLE, content_of, write_once, write_over
from giveortake.ledger.marks import FileMark
from giveortake.ledger.store import silent

if TYPE_CHECKING:
    from giveortake.ledger.store import Notice

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
class State:
    """A folder with one folder for each ledger, named by its id, and one small file for each path."""

    def __init__(self, folder: Path, at: Notice = silent) -> None:
        self.folder = folder
        self._at = at

    def mark(self, ledger: str) -> FileMark:
        """The mark of a ledger, whether it was begun or not."""
        if not _ID.fullmatch(ledger):
            raise LedgerDamaged("the ledger's first entry does not name it", hint=RESTORE)
        return FileMark(self.folder / "ledgers" / ledger / "mark", self._at)

    def seen(self, path: Path) -> Seen | None:
        """The ledger that was last seen at a path; None if none was."""
        return self.read(self._place(path))

    def places(self) -> list[Path]:
        """The small files of all paths at which a ledger was ever seen."""
        return sorted((self.folder / "paths").glob("*"))

    def read(self, place: Path) -> Seen | None:
        """Read one of the files in `places`; None if it is not there."""
        content = content_of(place)
        try:
            return None if content is None else Seen(**json.loads(content))
        except (TypeError, ValueError) as error:
            raise LedgerDamaged(f"{place}, which records where ledgers are, is damaged", hint=RESTORE) from error

    def claim(self, path: Path, ledger: str) -> Seen:
        """Record that a ledger is at a path, unless something is recorded already; return what is recorded."""
        if self.seen(path) is None:
            write_once(self._place(path), _written(Seen(str(path), ledger)))
            self._at("path claimed")
        return self.seen(path) or Seen(str(path), ledger)

    def replace(self, path: Path, ledger: str, moved_to: Path | None = None) -> None:
        """Record, on the custodian's word, which ledger is at a path from now on, or where it went."""
        write_over(self._place(path), _written(Seen(str(path), ledger, None if moved_to is None else str(moved_to))))

    def _place(self, path: Path) -> Path:
        return self.folder / "paths" / sha256(os.fsencode(path)).hexdigest()


def _written(seen: Seen) -> bytes:
    return canonical(asdict(seen)).encode("ascii")
