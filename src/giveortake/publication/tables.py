"""The tables that are published: those of releases, with margins, guarantee and caps as columns, and a catalogue.

Names of tables and columns come first, which every target accepts: none is cut off, none occurs twice, none is read as
SQL.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers import Answer
from giveortake.answers.codec import provenance_of
from giveortake.answers.column import NUMBERS, Column
from giveortake.answers.render import covers_truncation, printable, which_rows
from giveortake.errors import GiveOrTakeError
from giveortake.exact import percent
from giveortake.session.releases import release_of, released_tables
from giveortake.session.session import mechanism_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from giveortake.ledger import ReleaseRecord
    from giveortake.session import Session


LONGEST = 63  # bytes of a name in PostgreSQL, which cuts off the rest silently
_PLAIN = re.compile(r"[^0-9a-z]+")
_ID = 12  # letters of an id in the name of a table


def table_name(dataset: str, release_id: str, table_index: int | None) -> str:
    """The name of a release's table, which does not depend on what else is published.

    >>> table_name("Visits 2024", "8a7afee9774886ca498d9cb1", None), table_name("x", "x/4", 1)
    ('visits_2024_8a7afee97748', 'x_x_4_2')
    """
    opaque = _plain(release_id)[:_ID] if _PLAIN.search(release_id.lower()) is None else _plain(release_id)
    number = "" if table_index is None else f"_{table_index + 1}"
    return shortened(f"{_plain(dataset) or 'table'}_{opaque}{number}")


def _plain(text: str) -> str:
    return _PLAIN.sub("_", text.lower()).strip("_")


def column_names(names: Iterable[str]) -> list[str]:
    r"""Names that a database can hold: no control characters, at most 63 bytes, different whatever their case.

    >>> column_names(["n", "N", "a\0b"])
    ['n', 'N_2', 'a\\x00b']
    """
    unique_names: list[str] = []
    taken: set[str] = set()
    for name in names:
        unique_name = shortened(printable(name))
        number = 1
        while unique_name.casefold() in taken:
            number += 1
            unique_name = shortened(f"{printable(name)}_{number}")
        taken.add(unique_name.casefold())
        unique_names.append(unique_name)
    return unique_names


def shortened(name: str) -> str:
    """A name of at most 63 bytes; a longer one is cut, and ends in digits of its hash."""
    encoded = name.encode()
    if len(encoded) <= LONGEST:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:8]
    return f"{encoded[: LONGEST - 9].decode(errors='ignore')}_{digest}"


CATALOGUE = "releases"
PROVENANCE_COLUMNS = ("release_id", "confidence", "guarantee", "caps")  # the last ones of every table
_PAGE = 500


@final
@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a release as it is written: its columns, comments and metadata."""

    name: str
    record: ReleaseRecord
    table_index: int | None
    query: str
    answer: Answer
    table: Answer
    comments: tuple[tuple[str, str], ...]  # of its columns

    @property
    def comment(self) -> str:
        """The comment on the whole table."""
        answer = self.answer
        lines = [
            *self.query.split("\n"),
            f"released {moment(self.record.at):%Y-%m-%d %H:%M} UTC as {answer.release_id} by giveortake",
            *([f"numbers {which_rows(answer)}"] if which_rows(answer) else []),
            f"intervals ({_LOW}, {_HIGH}) hold {_number_in(answer)} with {sure_of(answer)}",
            *([] if answer.guarantee is None else [str(answer.guarantee)]),
            f"caps: {caps_of(answer)}",
            *dict.fromkeys(answer.notes),
        ]
        return "\n".join(map(printable, lines))

    @property
    def metadata(self) -> str:
        """What the comments say, and more, as JSON for a file's metadata."""
        provenance = json.loads(provenance_of(self.answer))
        release_fields = {"asked": self.query, "at": self.record.at, "dataset": self.record.dataset, "table": self.name}
        return json.dumps({**provenance, **release_fields, "comments": dict(self.comments)})


@final
@dataclass(frozen=True, slots=True)
class LeftOut:
    """A release that is not published, and why."""

    release_id: str
    asked: str
    why: str


def collected(
    session: Session, release: str | Sequence[str] | None = None
) -> tuple[list[PublishedTable], list[LeftOut]]:
    """The tables of all releases of a session that have some, or of the named ones, which then all need some.

    A question that was asked again for free is the release that was paid for, and is listed once.
    """
    if release is not None:
        release_ids = [release] if isinstance(release, str) else list(dict.fromkeys(release))
        return [
            table
            for release_id in release_ids
            for table in _tables(session, release_of(mechanism_of(session), release_id))
        ], []
    tables: list[PublishedTable] = []
    omissions: list[LeftOut] = []
    seen_requests: set[str] = set()
    for record in _records(session):
        request = json.dumps(record.request, sort_keys=True)
        if record.free and request in seen_requests:
            continue
        seen_requests.add(request)
        try:
            tables += _tables(session, record)
        except GiveOrTakeError as error:
            omissions.append(LeftOut(record.id, record.description or "", error.message))
    return tables, omissions


def _records(session: Session) -> Iterator[ReleaseRecord]:
    after = None
    while page := session.releases(after=after, limit=_PAGE):
        yield from page
        after = page[-1].id


def _tables(session: Session, record: ReleaseRecord) -> Iterator[PublishedTable]:
    answers = list(released_tables(mechanism_of(session), record.id))
    texts = [part.get("sql") for part in record.parts]
    for table_index, answer in enumerate(answers):
        query = texts[table_index] if table_index < len(texts) else None
        number = table_index if len(answers) > 1 else None
        yield published(record, answer, query or _query_in_words(record, table_index, len(answers), answer), number)


def _query_in_words(record: ReleaseRecord, table_index: int, count: int, answer: Answer) -> str:
    """The question in words; of several that were asked together, with the number of this one."""
    query = record.description or "what was asked is not known"
    if count == 1:
        return query
    keys = ", ".join(column.name for column in answer.keys if not column.name.endswith("_consistent"))
    return f"{query}: table {table_index + 1} of {count}{f', by {keys}' if keys else ''}"


def published(record: ReleaseRecord, answer: Answer, query: str, table_index: int | None) -> PublishedTable:
    """Build the published table of one answer of a release."""
    columns: list[tuple[Column, str]] = []
    for column in answer.columns:
        columns += _with_margin(column, answer)
    rows = len(answer)
    provenance: tuple[tuple[Any, str], ...] = (
        (answer.release_id or record.id, "the release that these numbers belong to"),
        (float(Fraction(answer.confidence)), f"confidence of the intervals: {sure_of(answer)}"),
        ("" if answer.guarantee is None else str(answer.guarantee), "what was promised to whom"),
        (caps_of(answer), f"how much of one person counts; intervals hold {_number_in(answer)}"),
    )
    for name, (value, comment) in zip(PROVENANCE_COLUMNS, provenance, strict=True):
        columns.append((Column(name, [value] * rows, kind="float" if name == "confidence" else "text"), comment))
    names = column_names(column.name for column, _ in columns)
    published_columns = [
        Column(name, column.values, kind=column.kind) for name, (column, _) in zip(names, columns, strict=True)
    ]
    comments = tuple((name, comment) for name, (_, comment) in zip(names, columns, strict=True))
    name = table_name(record.dataset, record.id, table_index)
    return PublishedTable(name, record, table_index, in_lines(query), answer, Answer(published_columns), comments)


def _with_margin(column: Column, answer: Answer) -> list[tuple[Column, str]]:
    """A column, and for an estimate the ends of its intervals and its margin."""
    if column.low is None or column.high is None:
        return [(column, "a key" if column in answer.keys and column.kind != "float" else "made of the release")]
    name, confidence = column.name, sure_of(answer)
    columns = [
        (
            Column(name, column.values, kind=column.kind),
            f"with noise: the number is between {name}{_LOW} and {name}{_HIGH}",
        ),
        (Column(f"{name}{_LOW}", column.low, kind=column.kind), f"least {name} with {confidence}"),
        (Column(f"{name}{_HIGH}", column.high, kind=column.kind), f"greatest {name} with {confidence}"),
    ]
    if column.kind in NUMBERS:
        columns.append(
            (
                Column(f"{name}_margin", _floats(column.margins), kind="float"),
                f"how far the farther end of the interval of {name} is",
            )
        )
        if column.noise is not None or any(column.open_sides):
            parts = column.apart
            beyond = "how much farther rows that caps cut may move it"
            beyond += "; nothing limits that" if any(column.open_sides) else ""
            columns += [
                (Column(f"{name}_noise", _floats(parts.noise), kind="float"), f"how far noise may move {name}"),
                (Column(f"{name}_truncation", _floats(parts.truncation), kind="float"), beyond),
            ]
    return columns


def _floats(margins: Sequence[Any]) -> list[float | None]:
    return [None if margin is None else float(margin) for margin in margins]


def in_lines(text: str) -> str:
    """A text with hidden characters escaped, and its line ends kept."""
    return "\n".join(map(printable, text.strip().splitlines()))


def sure_of(answer: Answer) -> str:
    """How sure the intervals of an answer are, in words."""
    over = "each" if answer.confidence.over == "cell" else "all together"
    return f"{percent(Fraction(answer.confidence))}, {over}"


def for_rows(answer: Answer) -> str:
    """That intervals are about all rows, where they cover truncation."""
    return " for all rows" if covers_truncation(answer.columns) else ""


def _number_in(answer: Answer) -> str:
    """What intervals hold: the number of all rows, or of those that count."""
    if covers_truncation(answer.columns):
        return "the number of all rows"
    return "the number without noise, of the rows that count" if answer.caps is not None else "the number without noise"


def caps_of(answer: Answer) -> str:
    """How much of one person counts, in words."""
    return "everything of a person counts" if answer.caps is None else str(answer.caps)


def moment(at: str) -> dt.datetime:
    """A time of the ledger, in UTC and without a zone, as tables hold it."""
    timestamp = dt.datetime.fromisoformat(at)
    return timestamp if timestamp.tzinfo is None else timestamp.astimezone(dt.UTC).replace(tzinfo=None)


def catalogue(
    tables: Sequence[PublishedTable], omissions: Sequence[LeftOut]
) -> tuple[Answer, tuple[tuple[str, str], ...]]:
    """The table of all releases, published or not and why, and the comments on its columns."""
    rows: list[tuple[Any, ...]] = [
        (
            table.name,
            table.record.id,
            table.record.dataset,
            table.record.version,
            table.query,
            moment(table.record.at),
            None if table.answer.guarantee is None else str(table.answer.guarantee),
            None if table.answer.cost is None else str(table.answer.cost).partition(":")[0],
            float(Fraction(table.answer.confidence)),
            "each" if table.answer.confidence.over == "cell" else "all together",
            caps_of(table.answer),
            "\n".join(table.answer.notes),
            len(table.answer),
            None,
        )
        for table in tables
    ]
    rows += [
        (None, omission.release_id, *(None,) * 2, omission.asked, *(None,) * 8, omission.why) for omission in omissions
    ]
    columns = [
        Column(name, [row[index] for row in rows], kind=kind)  # type: ignore[arg-type]  # (kinds of answers)
        for index, (name, kind, _) in enumerate(_CATALOGUE)
    ]
    return Answer(columns), tuple((name, comment) for name, _, comment in _CATALOGUE)


_LOW, _HIGH = "_low", "_high"
_CATALOGUE = (
    ("table_name", "text", "where the numbers are; empty if this release is not published"),
    ("release_id", "text", "the id under which the ledger keeps it"),
    ("dataset", "text", "the data set that was asked"),
    ("version", "text", "its version then"),
    ("asked", "text", "the question, constants included"),
    ("released_at", "time", "when it was charged, in UTC"),
    ("guarantee", "text", "what was promised, in words"),
    ("spend", "text", "what it cost"),
    ("confidence", "float", "of the intervals"),
    ("confidence_over", "text", "whether each interval holds with that confidence, or all together"),
    ("caps", "text", "how much of one person counts"),
    ("notes", "text", "what else has to be said of the numbers"),
    ("row_count", "integer", "rows of the table"),
    ("why_not", "text", "why it is not published, if it is not"),
)
