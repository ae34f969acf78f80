"""Releases and entries as people read them.

An analyst reads their own entries, numbered among themselves, and nothing about others.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.answers.render import Listing
from giveortake.errors import AccessDenied, GiveOrTakeError, LedgerDamaged, NotFound
from giveortake.exact import decimal, whole
from giveortake.ledger.budgets import promise_text
from giveortake.ledger.chain.entries import INDEX, RESTORE, asked_of, entries_of, event_from_dict, promise_from_json
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.entries import Entry, Hashes
    from giveortake.ledger.chain.state import ReservationRecord
    from giveortake.ledger.chain.store import Tables
    from giveortake.privacy import Neighbours


_PAGE = 100  # numbers that are read at once


@final
@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """One charge: what was asked and what became of it. It holds no answer and no row.

    `description` says the question in words, without its constants; `record` says it exactly, constants included: what
    the front end wrote down of the question, its plan and its terms, or None if a program charged without one.
    `request` identifies it. `settled` says whether its answer is there, `has_period` whether a counter has released a
    period, `failed` whether a failure was observed, and `free` whether it was asked before at this price, so that
    nobody was charged.
    """

    id: str
    at: str
    analyst: str | None
    dataset: str
    version: str
    event: Event
    description: str | None
    record: Any
    request: Any
    key: str | None
    settled: bool
    failed: bool
    free: bool = False
    has_period: bool = False

    @property
    def tables(self) -> int:
        """How many tables can be read by its id: those of a question, batch or workload, or what was told so far.

        A run has none.
        """
        if not isinstance(self.record, dict):
            return 0
        tables = int(self.record.get("tables", 1))
        return tables if (self.has_period if _is_interactive(self.record) else self.settled) else 0

    @property
    def readable(self) -> bool:
        """Whether it can be read by its id: its tables, or the model or synthetic table of a run."""
        return self.tables > 0 or (self.settled and isinstance(self.record, dict))

    @property
    def parts(self) -> list[dict[str, Any]]:
        """What was paid for each of its questions, or for all of it: `spend`, `caps`, and `sql` if there is a text."""
        return parts_of(self.record)


def parts_of(record: Any) -> list[dict[str, Any]]:
    """The parts that a record of a release lists; none if a program charged without a record."""
    return list(record.get("parts", ())) if isinstance(record, dict) else []


def _is_interactive(record: Any) -> bool:
    """Whether a record is of what is drawn step by step, as its asker goes on."""
    return isinstance(record, dict) and bool(record.get("is_interactive"))


def listed(
    transaction: Transaction,
    *,
    analyst: str | None,
    dataset: str | None,
    after: str | None,
    limit: int,
    newest_first: bool,
) -> list[ReleaseRecord]:
    """Releases after one of them, the oldest first or the newest: of everybody, or an analyst's own alone."""
    require_admitted(transaction, analyst)
    start = None if after is None else number_of(transaction, after, analyst)
    numbers = _numbers(transaction, asked_of(analyst, dataset), start, newest_first=newest_first)
    reservations = (transaction.state.find_reservation(number) for number in numbers)
    return [
        record_of(transaction, _require_of(reserved, analyst, dataset))
        for reserved in islice(reservations, whole("limit", limit))
    ]


def _numbers(transaction: Transaction, name: str, start: int | None, *, newest_first: bool) -> Iterator[int]:
    """The numbers of reservations in a list of the database, before or after one of them, read page by page."""
    entries = transaction.state.lists.get(name)
    count = 0 if entries is None else entries.count
    indexes = range(1, count + 1)
    if newest_first:
        last = count if start is None else bisect_left(indexes, start, key=lambda index: _at(transaction, name, index))
        for stop in range(last, 0, -_PAGE):
            yield from reversed(_page(transaction, name, max(stop - _PAGE, 0), stop))
    else:
        first = 0 if start is None else bisect_right(indexes, start, key=lambda index: _at(transaction, name, index))
        for after in range(first, count, _PAGE):
            yield from _page(transaction, name, after, min(after + _PAGE, count))


def _page(transaction: Transaction, name: str, after: int, stop: int) -> list[int]:
    rows = transaction.tables.listed(name, after, stop)
    if [index for index, _ in rows] != list(range(after + 1, stop + 1)):
        raise LedgerDamaged(INDEX, hint=RESTORE)
    return [number for _, number in rows]


def _at(transaction: Transaction, name: str, index: int) -> int:
    return _page(transaction, name, index - 1, index)[0]


def _require_of(reserved: ReservationRecord | None, analyst: str | None, dataset: str | None) -> ReservationRecord:
    """Check that a listed release is of this analyst and data set: a wrong index shows nobody another's."""
    if reserved is None or reserved.dataset != (dataset or reserved.dataset) or analyst not in {None, reserved.analyst}:
        raise LedgerDamaged(INDEX, hint=RESTORE)
    return reserved


def number_of(transaction: Transaction, release: str, analyst: str | None) -> int:
    """The number of the reservation with this release id; another analyst's is as unknown as a false one."""
    require_admitted(transaction, analyst)
    number = transaction.state.first("id", release)
    if number is None or (analyst is not None and transaction.state.reservation(number).analyst != analyst):
        raise NotFound(f"there is no release {release!r}", hint="the ids of your releases are listed")
    return number


def require_admitted(transaction: Transaction, analyst: str | None) -> None:
    """Refuse an analyst who was revoked."""
    if analyst is not None and analyst in transaction.state.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="ask the custodian")


def record_of(transaction: Transaction, reserved: ReservationRecord) -> ReleaseRecord:
    """What the ledger says about one charge."""
    entry = transaction.stored(reserved.number)
    content = entry.content
    record = content.get("record")
    return ReleaseRecord(
        reserved.id,
        entry.at,
        reserved.analyst,
        reserved.dataset,
        reserved.version,
        event_from_dict(content["event"]),
        content.get("description"),
        record,
        content["name"],
        content["key"],
        settled=reserved.answer is not None,
        failed=reserved.failed,
        free=not content["levels"],
        has_period=_is_interactive(record) and transaction.state.first("drawn", reserved.number, 0) is not None,
    )


_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ", "keys": "δ for keys"}


@final
class Releases(Listing["ReleaseRecord"]):
    """Releases: what was asked and paid for, one line each."""

    head = ("release", "when (UTC)", "price", "asked", "state")
    nouns = ("release", "releases")

    def cells(self, record: ReleaseRecord) -> tuple[str, ...]:
        """The id of a release, its time, its price, what was asked, and its state."""
        return (record.id, minute(record.at), price_of(record), request_text(record), state_of(record))


@final
class History(Listing["Entry"]):
    """Entries: what happened, one line each."""

    head = ("entry", "when (UTC)", "kind", "what")
    nouns = ("entry", "entries")

    def __init__(self, entries: Iterable[Entry] = (), neighbours: Neighbours = "add-remove") -> None:
        super().__init__(entries)
        self._neighbours = neighbours

    def cells(self, entry: Entry) -> tuple[str, ...]:
        """The number of an entry, its time, its kind, and what it says."""
        return (str(entry.number), minute(entry.at), entry.kind, summary(entry, self._neighbours))

    def _like(self, things: list[Entry]) -> History:
        return History(things, self._neighbours)


def minute(moment: str) -> str:
    """A moment of the ledger, to the minute; in UTC, as all of them are.

    >>> minute("2027-01-31T12:34:56.789012+00:00"), minute("")
    ('2027-01-31 12:34', '')
    """
    return str(moment)[:16].replace("T", " ")


# -- releases ---------------------------------------------------------------------------------------------------------


def request_text(record: ReleaseRecord) -> str:
    """The question as it was written, or else in words; of a batch how many there are, and the first."""
    parts = record.parts
    first = parts[0].get("sql") if parts else None
    part = record.record.get("part") if isinstance(record.record, dict) else None
    scope = "" if part is None else f" ({part['column']} = {part['value']})"
    if first is None:
        return f"{record.description or '–'}{scope}"
    return f"{first}{scope}" if len(parts) < 2 else f"{len(parts)} questions: {first}, …{scope}"


def price_of(record: ReleaseRecord) -> str:
    """What was spent, as it was stated; where nothing was stated, what was charged."""
    spends = [part["spend"] for part in record.parts]
    if record.free:
        return "free: read again"
    if not spends:
        with suppress(GiveOrTakeError):
            return promise_text(record.event.guarantee())
        return "–"
    if len(spends) > 1 and all(set(spend) == {"epsilon"} for spend in spends):
        return stated({"epsilon": str(sum(Fraction(spend["epsilon"]) for spend in spends))})
    return stated(spends[0]) + (f", and {len(spends) - 1} more" if len(spends) > 1 else "")


def without_repeats(records: Sequence[ReleaseRecord]) -> list[tuple[ReleaseRecord, int]]:
    """Each answer once, and how often it was asked for again for free; in the order in which they stand.

    The charge stands for its repeats where it is among the records, and else the first of them does.
    """
    groups: dict[str, list[ReleaseRecord]] = {}
    for record in records:
        identity = [record.analyst, record.version, record.request, codec.write(record.event)]
        same = json.dumps(identity, sort_keys=True) if record.settled and not record.failed else record.id
        groups.setdefault(same, []).append(record)
    repeat_counts = {
        next((record for record in same if not record.free), same[0]).id: len(same) - 1 for same in groups.values()
    }
    return [(record, repeat_counts[record.id]) for record in records if record.id in repeat_counts]


def state_of(record: ReleaseRecord) -> str:
    """What became of a release, in one to three words."""
    if record.failed:
        return "failed"
    if record.readable:
        return "readable"
    return "settled" if record.settled else "not answered yet"


def stated(spend: Mapping[str, Any]) -> str:
    """A spend as it was stated, in signs.

    >>> stated({"epsilon": "1/10", "delta": "1/1000000"})
    'ε = 0.1, δ = 0.000001'
    """
    texts = [f"{_SIGNS[name]} = {_decimal(value)}" for name, value in spend.items() if name in _SIGNS and value]
    return ", ".join(texts) or "–"


def _decimal(number: object) -> str:
    try:
        return decimal(Fraction(str(number)))
    except (ValueError, ZeroDivisionError):
        return str(number)


# -- entries ----------------------------------------------------------------------------------------------------------


def summary(entry: Entry, neighbours: Neighbours) -> str:
    """What an entry says, in a line."""
    content = entry.content
    match entry.kind:
        case "ledger":
            return "begun"
        case "reserved":
            asker = "" if content.get("analyst") is None else f"{content['analyst']} asks "
            question = str(content.get("description", "")).replace(f" in {content['dataset']}", "")
            is_free = not content.get("levels", True)  # it was asked before, and nobody is charged
            cost = "free, asked before" if is_free else price(content["event"], neighbours)
            return f"{asker}{content['dataset']}: {cost}{', ' if question else ''}{question}"
        case "settled":
            return f"the answer to {_reserved(content)}"
        case "drawn":
            return f"draw {content['place'] + 1} for {_reserved(content)}" if "place" in content else _reserved(content)
        case "population":
            return f"{content['name']}: {promise_text(promise_from_json(content['budget']))}"
        case "dataset":
            return f"{content['name']}, of the population {content['population']}"
        case "analyst":
            budget = content.get("budget")
            cap = "" if budget is None else f", up to {promise_text(promise_from_json(budget))}"
            return f"{content.get('name', 'you')} may ask {', '.join(content['datasets'])}{cap}"
        case "declared":
            return f"{content['name']}: domains declared, version {content['version']}"
        case "version":
            return f"{content['name']}, version {content['version']}"
        case "token":
            return str(content.get("analyst") or "for the custodian")
        case _:
            release = f"release {content['release']} again, free" if "release" in content else ""
            return str(content.get("reason") or release or content.get("analyst") or "")


def _reserved(content: Mapping[str, Any]) -> str:
    """The charge that an entry is about: by its number, or by its id where the chain's numbers are hidden."""
    return f"entry {content['reservation']}" if "reservation" in content else f"release {content.get('id', '?')}"


def price(event: dict[str, Any], neighbours: Neighbours) -> str:
    """The promise of one charge, or the mechanism's name and parameters if that has no short form.

    >>> price({"kind": "laplace", "noise_multiplier": "10/1"}, "add-remove")
    'ε = 0.1'
    """
    with suppress(GiveOrTakeError):
        return promise_text(codec.read(Event, event).guarantee(neighbours=neighbours))
    return _event(event)


def _event(event: dict[str, Any]) -> str:
    """A mechanism and its parameters, in a few words.

    >>> _event({"kind": "laplace", "noise_multiplier": "10/1"})
    'laplace, noise multiplier 10'
    """
    parts = [str(event["kind"])]
    for name, value in event.items():
        if isinstance(value, list):
            parts.append(f"{len(value)} {name}")
        elif isinstance(value, dict):
            parts.append(f"{name} {_event(value)}")
        elif name != "kind":
            parts.append(f"{name.replace('_', ' ')} {str(value).removesuffix('/1')}")
    return ", ".join(parts)


PAGE = 1000  # entries that are read at once


@final
@dataclass(frozen=True, slots=True)
class View:
    """A ledger up to an entry that the mark vouches for, as it is read without blocking writers.

    Guarantee: every entry that it gives out is checked against the chain; an analyst is given entries of their own
    alone, whatever the index says.
    """

    hashes: Hashes
    head: int
    levels: frozenset[int] = frozenset()  # of the analyst
    owned: int = 0  # entries of the analyst

    def entries(self, reader: Tables, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries, at most a page of them, with numbers greater than `after`."""
        stop = min(after + min(limit, PAGE), self.head)
        return self.hashes.page(after + 1, stop, reader) if after < stop else []

    def of_analyst(self, reader: Tables, analyst: str, after: int, limit: int) -> list[Entry]:
        """The entries of one analyst. Numbers, hashes and levels of the chain would reveal how busy others are."""
        stop = min(after + min(limit, PAGE), self.owned)
        rows = reader.listed(entries_of(analyst), after, stop) if after < stop else []
        if [index for index, _ in rows] != list(range(after + 1, stop + 1)):
            raise LedgerDamaged(INDEX, hint=RESTORE)
        return list(self._visible(rows, analyst, reader))

    def _visible(self, rows: list[tuple[int, int]], analyst: str, reader: Tables) -> Iterator[Entry]:
        for index, number in rows:
            if not 0 < number <= self.head:
                raise LedgerDamaged(INDEX, hint=RESTORE)
            entry = self.hashes.entry(number, reader)
            entry_type, subject = ENTRY_TYPES[entry.kind], entry
            if entry_type.owner == "reservation":
                subject = self.hashes.entry(entry.content["reservation"], reader)
            if not self._is_of(analyst, entry, subject):
                raise LedgerDamaged(INDEX, hint=RESTORE)
            content: dict[str, Any] = {
                name: entry.content[name] for name in entry_type.readable if name in entry.content
            }
            if subject.kind == "reserved":
                content["id"] = subject.content["id"]
            yield replace(entry, number=index, content=content, previous="", body="", hash="")

    def _is_of(self, analyst: str, entry: Entry, subject: Entry) -> bool:
        match ENTRY_TYPES[entry.kind].owner:
            case None:
                return False
            case "level":
                return entry.content["level"] in self.levels
            case owner:
                return bool(subject.content.get("name" if owner == "name" else "analyst") == analyst)
