"""A cache of parsed questions on disk: importing the parser takes longer than parsing.

A reading is a plan, as `plan.documents` writes it, and the options in the text. It is a function of the text, of what
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

from giveortake import exact, sql
from giveortake import plan as plan_room
from giveortake.engines.runtime import is_own
from giveortake.errors import GiveOrTakeError
from giveortake.plan.codec import question_from_json, question_to_json
from giveortake.sql import Read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.engines.runtime import CacheFolder
    from giveortake.plan.catalog import Origin


_ENDING = ".reading"
_LONGEST = 1 << 20  # bytes of one reading


@final
@dataclass(frozen=True, slots=True, eq=False)
class KeptReadings:
    """Cached readings of questions to the tables of an origin; `declared` is what is declared about these tables.

    If anything goes wrong with the folder or a file, the text is parsed.
    """

    folder: CacheFolder
    origin: Origin
    declared: str

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """The cached reading of a text; if there is none, call `read` and cache its result."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, GiveOrTakeError):
            return self._found(self._place(text))
        found = read()
        with suppress(OSError, GiveOrTakeError):
            self.folder.prepare()
            self._keep(self._place(text), found)
        return found

    def _place(self, text: str) -> Path:
        content = json.dumps([self.declared, text, list(_versions())])
        return self.folder.path / f"{self.folder.name_of(f'reading {content}')}{_ENDING}"

    def _found(self, place: Path) -> Read:
        seal, _, content = place.read_bytes().partition(b"\n")
        if not is_own(place) or not hmac.compare_digest(seal, self._seal(place, content)):
            raise PermissionError
        document = json.loads(content)
        question = question_from_json(document["plan"], self.origin)
        os.utime(place)
        return Read(question, {name: _option(each) for name, each in document["options"].items()})

    def _keep(self, place: Path, found: Read) -> None:
        options = {name: [type(each).__name__, str(each)] for name, each in found.options.items()}
        plan = question_to_json(found.question, self.origin)
        content = json.dumps({"plan": plan, "options": options}).encode()
        if len(content) > _LONGEST:
            return
        draft = self.folder.draft()
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(self._seal(place, content) + b"\n" + content)
        draft.replace(place)
        for each in self.folder.unused(_ENDING):
            each.unlink(missing_ok=True)

    def _seal(self, place: Path, content: bytes) -> bytes:
        return hmac.new(self.folder.secret(), place.name.encode() + content, hashlib.sha256).hexdigest().encode()


def _option(said: Any) -> Fraction | str:
    kind, text = said
    return Fraction(text) if kind == "Fraction" else str(text)


def _versions() -> Iterator[tuple[str, int, int]]:
    """Names, dates and sizes of the files of the parsing code: a new version ignores older readings."""
    parsers = [
        found.origin for name in ("sqlglot", "sqlglotc") if (found := find_spec(name)) is not None
    ]  # not imported
    rooms = [Path(each).parent for each in (sql.__file__, plan_room.__file__, exact.__file__, *parsers) if each]
    files = [Path(each) for room in rooms for each in os.scandir(room) if each.name.endswith((".py", ".so", ".pyd"))]
    for place in sorted(files):
        known = place.stat()
        yield place.name, known.st_mtime_ns, known.st_size
