"""A private cache folder of one user, and the secret by which it recognises its own files."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from pathlib import Path

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
        place = self.path / _SECRET
        found = place.read_bytes()
        if not is_own(place) or len(found) != _SECRET_SIZE:
            raise PermissionError
        return found

    def name_of(self, text: str) -> str:
        """A keyed hash of a text, for a file name: nobody without the secret can tell which text it is."""
        return hmac.new(self.secret(), text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:24]

    def unused(self, ending: str) -> list[Path]:
        """Files that were not used for long, and abandoned drafts."""
        now = time.time()
        old = [each for each in self.path.glob(f"*{ending}") if now - each.lstat().st_mtime > _UNUSED_DAYS * _DAY]
        return old + [
            draft for draft in self.path.glob("*.draft*") if now - draft.lstat().st_mtime > _HALF_WRITTEN_DAYS * _DAY
        ]


def is_own(path: Path) -> bool:
    """Whether a path is a file of this user to which nobody else has access."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
