"""Lists for people: the entries of a ledger, and its releases."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import Listing
from giveortake.errors import GiveOrTakeError
from giveortake.exact import shown
from giveortake.ledger.promises import promise_from_json
from giveortake.privacy.events import event_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from giveortake.ledger.entries import Entry
    from giveortake.ledger.releases import ReleaseRecord
    from giveortake.privacy import Neighbours

_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ", "keys": "δ for keys"}


@final
class Releases(Listing["ReleaseRecord"]):
    """Releases: what was asked and paid for, one line each."""

    head = ("release", "when (UTC)", "price", "asked", "state")
    nouns = ("release", "releases")

    def cells(self, each: ReleaseRecord) -> tuple[str, ...]:
        """The id of a release, its time, its price, what was asked, and its state."""
        return (each.id, minute(each.at), price_of(each), asked_of(each), state_of(each))


@final
class History(Listing["Entry"]):
    """Entries: what happened, one line each."""

    head = ("entry", "when (UTC)", "kind", "what")
    nouns = ("entry", "entries")

    def __init__(self, entries: Iterable[Entry] = (), neighbours: Neighbours = "add-remove") -> None:
        super().__init__(entries)
        self._neighbours = neighbours

    def cells(self, each: Entry) -> tuple[str, ...]:
        """The number of an entry, its time, its kind, and what it says."""
        return (str(each.number), minute(each.at), each.kind, summary(each, self._neighbours))

    def _like(self, things: list[Entry]) -> History:
        return History(things, self._neighbours)


def minute(moment: str) -> str:
    """A moment of the ledger, to the minute; in UTC, as all of them are.

    >>> minute("2027-01-31T12:34:56.789012+00:00"), minute("")
    ('2027-01-31 12:34', '')
    """
    return str(moment)[:16].replace("T", " ")


# -- releases ---------------------------------------------------------------------------------------------------------


def asked_of(record: ReleaseRecord) -> str:
    """The question as it was written, or else in words; of a batch how many there are, and the first."""
    questions = _questions(record)
    first = questions[0].get("sql") if questions else None
    if first is None:
        return record.asked or "–"
    return str(first) if len(questions) < 2 else f"{len(questions)} questions: {first}, …"


def price_of(record: ReleaseRecord) -> str:
    """What was spent, as it was stated; where nothing was stated, what was charged."""
    spends = [each["spend"] for each in _questions(record) if each.get("spend")]
    if record.free:
        return "free: read again"
    if not spends:
        with suppress(GiveOrTakeError):
            return promised(record.event.guarantee())
        return "–"
    if len(spends) > 1 and all(set(spend) == {"epsilon"} for spend in spends):
        return stated({"epsilon": str(sum(Fraction(spend["epsilon"]) for spend in spends))})
    return stated(spends[0]) + (f", and {len(spends) - 1} more" if len(spends) > 1 else "")


def without_repeats(records: Sequence[ReleaseRecord]) -> list[tuple[ReleaseRecord, int]]:
    """Each answer once, and how often it was asked for again for free; in the order in which they stand.

    The charge stands for its repeats where it is among the records, and else the first of them does.
    """
    found: dict[str, list[ReleaseRecord]] = {}
    for each in records:
        told = [each.analyst, each.version, each.request, each.event.to_dict()]
        same = json.dumps(told, sort_keys=True) if each.settled and not each.failed else each.id
        found.setdefault(same, []).append(each)
    shown = {next((each for each in same if not each.free), same[0]).id: len(same) - 1 for same in found.values()}
    return [(each, shown[each.id]) for each in records if each.id in shown]


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
    told = [f"{_SIGNS[name]} = {_decimal(value)}" for name, value in spend.items() if name in _SIGNS and value]
    return ", ".join(told) or "–"


def _decimal(number: object) -> str:
    try:
        return shown(Fraction(str(number)))
    except (ValueError, ZeroDivisionError):
        return str(number)


def _questions(record: ReleaseRecord) -> list[dict[str, Any]]:
    found = record.record.get("questions") if isinstance(record.record, dict) else None
    return list(found or ())


# -- entries ----------------------------------------------------------------------------------------------------------


def promised(budget: object) -> str:
    """A budget's numbers, without the sentence around them.

    >>> promised(gt.PureDP("0.5")), promised(gt.ApproxDP(1, "1e-6"))
    ('ε = 0.5', 'ε = 1, δ = 1e-6')
    """
    return str(budget).partition(" (")[0]


def summary(entry: Entry, neighbours: Neighbours) -> str:
    """What an entry says, in a line."""
    content = entry.content
    match entry.kind:
        case "ledger":
            return "begun"
        case "reserved":
            who = "" if content.get("analyst") is None else f"{content['analyst']} asks "
            asked = str(content.get("asked", "")).replace(f" in {content['dataset']}", "")
            is_free = not content.get("levels", True)  # it was asked before, and nobody is charged
            cost = "free, asked before" if is_free else price(content["event"], neighbours)
            return f"{who}{content['dataset']}: {cost}{', ' if asked else ''}{asked}"
        case "settled":
            return f"the answer to {_reserved(content)}"
        case "drawn":
            return f"draw {content['place'] + 1} for {_reserved(content)}" if "place" in content else _reserved(content)
        case "population":
            return f"{content['name']}: {promised(promise_from_json(content['budget']))}"
        case "dataset":
            return f"{content['name']}, of the population {content['population']}"
        case "analyst":
            cap = "" if content.get("budget") is None else f", up to {promised(promise_from_json(content['budget']))}"
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

    >>> price({"event": "laplace", "version": 1, "noise_multiplier": "10/1"}, "add-remove")
    'ε = 0.1'
    """
    with suppress(GiveOrTakeError):
        return promised(event_from_json(json.dumps(event)).guarantee(neighbours=neighbours))
    return _event(event)


def _event(event: dict[str, Any]) -> str:
    """A mechanism and its parameters, in a few words.

    >>> _event({"event": "laplace", "version": 1, "noise_multiplier": "10/1"})
    'laplace, noise multiplier 10'
    """
    words = [str(event["event"])]
    for name, value in event.items():
        if isinstance(value, list):
            words.append(f"{len(value)} {name}")
        elif isinstance(value, dict):
            words.append(f"{name} {_event(value)}")
        elif name not in {"event", "version"}:
            words.append(f"{name.replace('_', ' ')} {str(value).removesuffix('/1')}")
    return ", ".join(words)
