"""The files that `giveortake survey` reads and writes."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from giveortake.errors import InvalidParameter, NotFound
from giveortake.local import from_json
from giveortake.local.pages import reports_of
from giveortake.local.survey import counted, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.local import Oracle, Reports

REPORT_COLUMNS = ("survey", "report")  # of a file of reports


class Cells(NamedTuple):
    """One column of a file, and the line of each of its cells."""

    texts: list[str]
    lines: list[int]
    where: str

    def place(self, index: int) -> str:
        """The place of a cell, in words."""
        return f"line {self.lines[index]}, {self.where}"


def read_survey(path: str) -> Any:
    """The survey whose parameters a file holds."""
    return from_json(read_text(path))


def read_text(path: str) -> str:
    """Read a file as text, with or without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read as text: {type(error).__name__}") from None


def read_lines(path: str, name: str) -> list[str]:
    """Read the texts of a file, one a line; a text that occurs twice is refused."""
    texts = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not texts:
        raise InvalidParameter(name, path, "is empty", hint="write one text a line")
    twice = next((text for text, times in Counter(texts).items() if times > 1), None)
    if twice is not None:
        raise InvalidParameter(name, twice, "occurs twice", hint="list every text once")
    return texts


def read_column(path: str, name: str) -> Cells:
    """One column of a table; an empty table is refused."""
    return read_columns(read_text(path), path, (name,))[0]


def read_columns(text: str, path: str, names: Sequence[str]) -> list[Cells]:
    """Some columns of a table that is given as text."""
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    for name in names:
        if name not in header:
            cut = any(";" in cell for cell in header)
            hint = "the columns seem to be separated by ;" if cut else f"its columns are {', '.join(header)}"
            raise NotFound(f"{path} has no column {name!r}", hint=hint if header else "it is empty")
    found = [Cells([], [], f"column {name!r} of {path}") for name in names]
    for row in reader:
        if not row:
            continue
        for name, cells in zip(names, found, strict=True):
            place = header.index(name)
            cells.texts.append(row[place] if place < len(row) else "")
            cells.lines.append(reader.line_num)
    if not found[0].texts:
        raise InvalidParameter("file", path, "has a header and no lines below it")
    return found


def read_reports(survey: Oracle, paths: Sequence[str]) -> Reports:
    """All reports in some files: tables with two columns, or the JSON that `Reports.to_json` writes."""
    seen: set[Path] = set()
    parts = []
    for path in paths:
        if Path(path).resolve() in seen:
            raise InvalidParameter("reports", path, "is named twice", hint="every report counts once")
        seen.add(Path(path).resolve())
        text = read_text(path)
        if text.lstrip().startswith("{"):
            parts.append(survey.read(text))
        else:
            names, reports = read_columns(text, path, REPORT_COLUMNS)
            parts.append(reports_of(survey, list(zip(names.texts, reports.texts, strict=True))))
    return joined(parts)


def refuse_overwriting(out: str | None, *inputs: str | None) -> None:
    """Refuse to write to a file that is read."""
    if out is not None and any(path is not None and Path(path).resolve() == Path(out).resolve() for path in inputs):
        raise InvalidParameter("out", out, "is a file that is read", hint="give another name: it would be lost")


def write_reports(path: str | None, rows: Sequence[tuple[str, str]]) -> str:
    """Write reports as a table, and say how many."""
    with target(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(REPORT_COLUMNS)
        writer.writerows(rows)
    return f"{counted(len(rows))} written to {path}"


def target(path: str | None) -> Any:
    """A file to write to, or standard output, which stays open."""
    if path is None:
        return _Standard()
    return Path(path).open("w", encoding="utf-8", newline="")


class _Standard:
    """Standard output as a context."""

    def __enter__(self) -> Any:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
