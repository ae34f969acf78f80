"""A cache of parsed questions on disk: importing the parser takes longer than parsing.

A reading is a plan, as `giveortake.codec` writes it, and the options in the text. It is a function of the text, of what
is declared about the tables, and of the parsing code; its file name is a keyed hash of all three, and its first line a
keyed hash of the rest. A file that is damaged, or that somebody else has changed or written, fails this check: then
the text is parsed again. Nothing in it depends on a row.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from giveortake import codec, exact, sql
from giveortake import plan as plan_package
from giveortake.engines.runtime import is_own
from giveortake.errors import GiveOrTakeError
from giveortake.plan import Question
from giveortake.sql import Read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.engines.runtime import CacheFolder
    from giveortake.plan.question import Origin


_ENDING = ".reading"
_LONGEST = 1 << 20  # bytes of one reading


@final
@dataclass(frozen=True, slots=True, eq=False)
class ReadingCache:
    """Cached readings of questions to the tables of an origin; `declared` is what is declared about these tables.

    If anything goes wrong with the folder or a file, the text is parsed.
    """

    folder: CacheFolder
    origin: Origin
    declared: str

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """The cached reading of a text; if there is none, call `read` and cache its result."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, GiveOrTakeError):
            return self._cached(self._path(text))
        reading = read()
        with suppress(OSError, GiveOrTakeError):
            self.folder.prepare()
            self._keep(self._path(text), reading)
        return reading

    def _path(self, text: str) -> Path:
        content = json.dumps([self.declared, text, list(_versions())])
        return self.folder.path / f"{self.folder.name_of(f'reading {content}')}{_ENDING}"

    def _cached(self, path: Path) -> Read:
        seal, _, content = path.read_bytes().partition(b"\n")
        if not is_own(path) or not hmac.compare_digest(seal, self._seal(path, content)):
            raise PermissionError
        document = json.loads(content)
        question = codec.read(Question, document["plan"], references=self.origin)
        os.utime(path)
        return Read(question, {name: _option(option) for name, option in document["options"].items()})

    def _keep(self, path: Path, reading: Read) -> None:
        options = {name: [type(option).__name__, str(option)] for name, option in reading.options.items()}
        plan = codec.write(reading.question, references=self.origin)
        content = json.dumps({"plan": plan, "options": options}).encode()
        if len(content) > _LONGEST:
            return
        draft = self.folder.draft()
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(self._seal(path, content) + b"\n" + content)
        draft.replace(path)
        for unused_path in self.folder.unused(_ENDING):
            unused_path.unlink(missing_ok=True)

    def _seal(self, path: Path, content: bytes) -> bytes:
        return hmac.new(self.folder.secret(), path.name.encode() + content, hashlib.sha256).hexdigest().encode()


def _option(document: Any) -> Fraction | str:
    kind, text = document
    return Fraction(text) if kind == "Fraction" else str(text)


def _versions() -> Iterator[tuple[str, int, int]]:
    """Names, dates and sizes of the files of the parsing code: a new version ignores older readings."""
    parsers = [spec.origin for name in ("sqlglot", "sqlglotc") if (spec := find_spec(name)) is not None]  # not imported
    packages = [Path(file).parent for file in (sql.__file__, plan_package.__file__, exact.__file__, *parsers) if file]
    files = [
        Path(entry)
        for package in packages
        for entry in os.scandir(package)
        if entry.name.endswith((".py", ".so", ".pyd"))
    ]
    for path in sorted(files):
        status = path.stat()
        yield path.name, status.st_mtime_ns, status.st_size
