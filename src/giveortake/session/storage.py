"""How answers are stored: in the ledger, in files beside it, and discovered groups until they are settled.

- Files for answers that are too large for the ledger, which keeps only their digests.
- A file has one line for each portion of the answer. It is written aside, made durable and renamed before its digest is
  settled; no line is shown before that. A settled answer can be read any number of times, and is never drawn again.
- How answers are stored: found keys and noisy integers, in the ledger or in a file beside it.
- Ledgers of all versions use these formats; any change to one of them is a new format.
- Questions whose keys have to be found: keys are drawn once and kept in a file until the answer is settled.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.partition_selection import in_order, listed_keys, with_keys
from giveortake.engines import Found
from giveortake.engines.duckdb.long_texts import ordered
from giveortake.engines.runtime import failure, in_own_time
from giveortake.errors import LedgerDamaged, NotFound
from giveortake.plan import Domain, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from giveortake.compile import Measurement, Release
    from giveortake.engines import Keys
    from giveortake.plan import Value
    from giveortake.session.kinds.queries import PricedQuestion
    from giveortake.session.mechanism import InteractiveMechanism


_CHUNK = 1 << 20


@final
@dataclass(slots=True)
class Spool:
    """A folder of answer files; a temporary one, which is removed with the session, if none was stated."""

    folder: Path | None
    _temporary: Path | None = field(default=None, init=False)

    def write(self, lines: Iterable[Any], charge: str) -> dict[str, Any]:
        """Write lines to a new file of a charge, durably; return its name, length and digest, for the ledger."""
        name = f"{charge}-{secrets.token_hex(4)}.answer"
        with self._aside(name) as aside:
            digest, count = _write_lines(aside, lines)
            aside.replace(self.directory() / name)
            _sync(self.directory())
        return {"file": name, "lines": count, "sha256": digest}

    def first(self, name: str, lines: Callable[[], Iterable[Any]]) -> Path:
        """Write lines to a named file, durably, unless it exists: then keep that one, whoever wrote it."""
        path = self.directory() / name
        if not path.exists():
            with self._aside(name) as aside:
                _write_lines(aside, lines())
                _put_first(aside, path)
                _sync(self.directory())
        return path

    def has(self, name: str) -> bool:
        """Whether a named file exists."""
        folder = self.folder or self._temporary
        return folder is not None and (folder / name).exists()

    def forget(self, name: str) -> None:
        """Remove a named file."""
        (self.directory() / name).unlink(missing_ok=True)

    def clear(self, charge: str, answer: Any) -> None:
        """Remove the files of a charge that its answer does not name: whoever wrote them was killed.

        Guarantee: once a charge has its answer, no other draw for it is on the disk. Whoever draws beside this process
        has not settled, and will find that answer in the ledger.
        """
        folder = self.folder or self._temporary
        if folder is None or not folder.is_dir():
            return
        parts = answer.get("parts", [answer]) if isinstance(answer, dict) else []
        named = {part["spool"]["file"] for part in parts if "spool" in part}
        for path in folder.iterdir():
            if path.name.lstrip(".").startswith(f"{charge}-") and path.name not in named:
                path.unlink(missing_ok=True)

    @contextmanager
    def _aside(self, name: str) -> Iterator[Path]:
        """A private temporary file for a named one, which is removed afterwards unless it was renamed."""
        handle, name = tempfile.mkstemp(dir=self.directory(), prefix=f".{name}-")
        os.close(handle)
        try:
            yield Path(name)
        except OSError:
            failed = True
        else:
            failed = False
        finally:
            Path(name).unlink(missing_ok=True)
        if failed:
            raise failure("storage")

    def read(self, entry: Any) -> Iterator[Any]:
        """The lines of a file, after its digest was checked."""
        path = self.directory() / Path(str(entry["file"])).name
        if not path.is_file():
            raise NotFound(
                f"the file {path.name} of a stored answer is not in the spool",
                hint="the custodian can name the folder in which answers were stored: spool=",
            )
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            if digest.hexdigest() != entry["sha256"]:
                raise LedgerDamaged(f"the file {path.name} of a stored answer is not what the ledger says")
            file.seek(0)
            for line in file:
                yield json.loads(line)

    def close(self) -> None:
        """Remove the temporary folder, if there is one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def directory(self) -> Path:
        """The folder, which is made when it is first needed."""
        if self.folder is not None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self.folder
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="giveortake-spool-"))
        return self._temporary


def _write_lines(path: Path, lines: Iterable[Any]) -> tuple[str, int]:
    """Write lines of JSON, durably; return their digest and their number."""
    digest, count = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in lines:
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(text)
            file.write(text)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), count


def _put_first(aside: Path, path: Path) -> None:
    """Rename a file unless the name is taken; on a file system without links the later file may win."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return
    except OSError:
        aside.replace(path)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Rows: TypeAlias = "list[tuple[Value, ...]]"
Stored: TypeAlias = "dict[str, Any]"  # of one question: keys and arrays, or the file in the spool that holds them

FORMAT = 1
MANY = 1 << 16  # keys per portion: answers with more are found, noised, stored and shown in portions


@final
@dataclass(frozen=True, slots=True, eq=False)
class DrawnAnswer:
    """A drawn answer in the form that will be stored, and the file of its keys until then."""

    stored: Stored
    scratch: str | None = None


# -- writing ----------------------------------------------------------------------------------------------------------


def content_of(stored: list[Stored]) -> dict[str, Any]:
    """What the ledger stores for a charge: one item for each question."""
    return {"format": FORMAT, "parts": stored}


def answer_to_json(keys: list[Any] | None, release: Release) -> Stored:
    """One question's noisy integers, and its keys in JSON if they were found."""
    return {"keys": keys, "arrays": release.to_json()}


def keys_to_json(rows: Rows) -> list[list[list[Any]]]:
    """Keys as JSON, each value with its kind."""
    return [[_to_json(value) for value in row] for row in rows]


# -- reading ----------------------------------------------------------------------------------------------------------


def stored_of(content: Any, count: int) -> list[Stored]:
    """The stored items of a charge, one for each question; checked."""
    if not isinstance(content, dict) or content.get("format") != FORMAT or len(content["parts"]) != count:
        raise LedgerDamaged("a stored answer is not one to this question")
    stored: list[Stored] = content["parts"]
    return stored


def whole(spool: Spool, priced: PricedQuestion, stored: Stored) -> tuple[Keys, Release]:
    """All keys and noisy integers of a question at once."""
    measurement = priced.made
    if "spool" not in stored:
        keys = priced.keys if priced.keys is not None else with_keys(measurement, keys_from_json(stored["keys"]))
        return keys, measurement.read(stored["arrays"])
    lists, releases = [], []
    for line in spool.read(stored["spool"]):
        lists.append(keys_from_json(line["keys"]))
        releases.append(measurement.read(line["arrays"]))
    arrays = zip(*(release.arrays for release in releases), strict=True)
    joined_release = measurement.released(tuple(np.concatenate(portions) for portions in arrays))
    return listed_keys(measurement, Found(sum(map(len, lists)), lambda: iter(lists))), joined_release


def portions_of(spool: Spool, priced: PricedQuestion, stored: Stored) -> Iterator[tuple[Keys, Release]]:
    """The keys and noisy integers of a question, portion by portion."""
    if "spool" not in stored:
        yield whole(spool, priced, stored)
        return
    for line in spool.read(stored["spool"]):
        rows = keys_from_json(line["keys"])
        keys = listed_keys(priced.made, Found(len(rows), lambda rows=rows: iter([rows])))  # type: ignore[misc]  # (of this turn of the loop)
        yield keys, priced.made.read(line["arrays"])


def keys_from_json(content: Any) -> Rows:
    """The keys that `keys_to_json` wrote."""
    return [tuple(_from_json(value) for value in row) for row in content]


# -- values -----------------------------------------------------------------------------------------------------------


def _to_json(value: Any) -> list[Any]:
    match value:
        case None:
            return ["null", ""]
        case bool():
            return ["bool", str(int(value))]
        case int():
            return ["int", str(value)]
        case str():
            return ["str", value]
        case dt.date() if not isinstance(value, dt.datetime):
            return ["date", value.isoformat()]
    return ["decimal", str(Fraction(str(value)))]


def _from_json(content: list[Any]) -> Value:
    kind, text = map(str, content)
    match kind:
        case "null":
            return None
        case "bool":
            return text == "1"
        case "int":
            return int(text)
        case "str":
            return str(text)
        case "date":
            return dt.date.fromisoformat(text)
        case _:
            return Fraction(text)


@final
@dataclass(frozen=True, slots=True, eq=False)
class DiscoveryDraw:
    """The draw of an answer whose keys have to be found first; `charge` names the reservation and the question."""

    mechanism: InteractiveMechanism
    measurement: Measurement
    charge: str

    def draw(self) -> DrawnAnswer:
        """Find the keys, and draw the values for them.

        Keys are stored as soon as they are drawn: whoever asks again after a failure, or at the same time, gets the
        same keys.
        """
        measurement, scratch = self.measurement, self._scratch_name()
        keys_file = KeysFile(self.mechanism.spool.first(scratch, lambda: in_own_time(self._draw_keys())))
        count = keys_file.count()
        if count > MANY:
            return DrawnAnswer(self._draw_many_values(keys_file, count), scratch)
        rows, counted = measurement.parted([row for rows in keys_file.lists() for row in rows])
        release = measurement.release(self.mechanism.engine, with_keys(measurement, rows), counted=counted)
        return DrawnAnswer(answer_to_json(keys_to_json(rows), release), scratch)

    def _draw_keys(self) -> Iterator[Any]:
        """The keys found, `MANY` per line, ordered by value: the engine's order could reveal something about rows."""
        measurement = self.measurement
        lists = measurement.find_keys(self.mechanism.engine)
        first: Rows = []
        for rows in lists:
            first.extend(rows)
            if len(first) > MANY:
                break
        if len(first) <= MANY:
            yield keys_to_json(in_order(first))
            return
        schema = measurement.question.relation.schema
        domains = [column.expression.domain(schema) for column in measurement.columns]
        if measurement.selection is not None and measurement.selection.decides is not None:
            domains.append(Domain(Kind.INTEGER))  # the number that decided comes with each key
        for rows in ordered(chain([first], lists), domains, self.mechanism.spool.directory(), MANY):
            yield keys_to_json(rows)

    def _draw_many_values(self, keys_file: KeysFile, count: int) -> Stored:
        """Draw the values for more than `MANY` keys, into a file; only one line is in memory at a time."""
        measurement = self.measurement
        keys = listed_keys(
            measurement, Found(count, lambda: (measurement.parted(rows)[0] for rows in keys_file.lists()))
        )
        counted = (measurement.parted(rows)[1] or {} for rows in keys_file.lists())
        releases = measurement.releases(self.mechanism.engine, keys, keys_file.size(), counted=counted)
        listed = (keys_to_json(measurement.parted(rows)[0]) for rows in keys_file.lists())
        lines = zip(listed, releases, strict=True)
        portions = (answer_to_json(line, release) for line, release in lines)
        return {"spool": self.mechanism.spool.write(in_own_time(portions), self.charge)}

    def _scratch_name(self) -> str:
        """The name of the file for found keys until they are settled, unique to this charge and question.

        Who lists the folder learns from it neither the subject nor the number of charges.
        """
        mechanism, measurement = self.mechanism, self.measurement
        assert measurement.selection is not None  # noqa: S101 (keys were found)
        part = None if mechanism.part is None else mechanism.part.name(measurement.caps)
        subject = [mechanism.population, mechanism.dataset, mechanism.version, part]
        identity = [*subject, measurement.digest(), measurement.selection.scratch_name]
        return f"{self.charge}-{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:24]}.keys"


@final
@dataclass(frozen=True, slots=True)
class KeysFile:
    """The file of found keys that are not settled yet. All lines have equally many keys, but the last may have fewer.

    That number may differ between versions of giveortake.
    """

    path: Path

    def count(self) -> int:
        """The number of keys in the file."""
        full, last = 0, None
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                full, last = full + 1, line
        return 0 if last is None else (full - 1) * self.size() + len(json.loads(last))

    def size(self) -> int:
        """The number of keys on the first line."""
        return len(next(self.lines(), []))

    def lines(self) -> Iterator[list[Any]]:
        """The keys as JSON values, line by line."""
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def lists(self) -> Iterator[Rows]:
        """The keys as Python values, line by line."""
        return map(keys_from_json, self.lines())
