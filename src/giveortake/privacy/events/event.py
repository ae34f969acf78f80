"""The base of all events, which record what ran and can be kept forever, and their JSON both ways."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

from giveortake.errors import InvalidParameter
from giveortake.exact import Number, non_negative, positive
from giveortake.privacy.units import ROW, Neighbours, Unit

if TYPE_CHECKING:
    from giveortake.privacy.guarantee import Guarantee

Plain: TypeAlias = "str | int | list[Plain] | dict[str, Plain]"

DEEPEST = 32  # events nest no deeper than this
_MOST_BITS = 1 << 13  # of a numerator or denominator, so that it can be written down
_EXACT = re.compile(r"(0|[1-9][0-9]*)/[1-9][0-9]*")
_WORD = re.compile(r"[a-z]+(-[a-z]+)*")
_KINDS: dict[str, type[Event]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Event(ABC):
    """A record of a release. Events are charged and kept; accountants price them, and may price them better later.

    The JSON of an event is a contract: fields are exact, `version` grows when their meaning changes, and old versions
    stay readable. An event of a kind that is not one of the library's equals itself only.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1

    @abstractmethod
    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        """The promise that this release keeps towards `unit`; sensitivities refer to the same neighbours."""

    @property
    def depth(self) -> int:
        """How many levels of events there are."""
        return 1

    def to_dict(self) -> dict[str, Plain]:
        """This event as text, whole numbers, lists and dictionaries; fractions are written "p/q"."""
        content: dict[str, Plain] = {"event": self.kind, "version": self.version}
        for key, name in _fields_by_key(type(self)).items():
            content[key] = _plain(getattr(self, name))
        return content

    def to_json(self) -> str:
        """One line of JSON from which `from_json` makes an equal event."""
        return json.dumps(self.to_dict())

    @staticmethod
    def from_json(text: str) -> Event:
        """Read an event from a line of JSON; anything unknown, missing, inexact or too deep is refused."""
        if not isinstance(text, str):
            raise InvalidParameter("event", text, "is not a text")
        try:
            content = json.loads(text, object_pairs_hook=_without_repetition)
        except InvalidParameter:
            raise
        except (ValueError, RecursionError):
            raise InvalidParameter("event", text, "is not the JSON of an event") from None
        event = _event(content, 1)
        if event.to_dict() != content:
            raise InvalidParameter("event", text, "does not write its fields as events do")
        return event


SomeEvent = TypeVar("SomeEvent", bound=Event)


def registered(event: type[SomeEvent]) -> type[SomeEvent]:
    """Register a kind of event, so that `Event.from_json` can read it."""
    _KINDS[event.kind] = event
    return event


def exact(name: str, value: Number, *, zero: bool = False) -> Fraction:
    """Check that a number is positive (or zero, with `zero`) and short enough to be written down."""
    number = non_negative(name, value) if zero else positive(name, value)
    if max(number.numerator, number.denominator).bit_length() > _MOST_BITS:
        raise InvalidParameter(name, value, "has too many digits to be kept")
    return number


def _fields_by_key(event: type[Event]) -> dict[str, str]:
    """Names of fields by their keys in JSON, where "event" already names the kind."""
    return {field.metadata.get("key", field.name): field.name for field in fields(event)}


def _plain(value: object) -> Plain:
    match value:
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case Event():
            return value.to_dict()
        case tuple():
            return [_plain(part) for part in value]
        case int() | str():
            return value
    raise TypeError(f"an event holds a {type(value).__name__}")


def _event(content: object, depth: int) -> Event:
    if depth > DEEPEST:
        raise InvalidParameter("event", "…", f"nests deeper than {DEEPEST} levels")
    if not isinstance(content, dict):
        raise InvalidParameter("event", content, "is not an event")
    kind = content.get("event")
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidParameter("event", kind, "is of no known kind", hint=f"known kinds: {', '.join(sorted(_KINDS))}")
    version = content.get("version")
    if type(version) is not int or version != found.version:
        raise InvalidParameter("version", version, f"of `{kind}` is unknown")
    given = {key: value for key, value in content.items() if key not in {"event", "version"}}
    wanted = _fields_by_key(found)
    if set(given) != set(wanted):
        raise InvalidParameter("event", sorted(given), f"are not the fields of `{kind}`, which are {list(wanted)}")
    return found(**{wanted[key]: _value(key, value, depth) for key, value in given.items()})


def _value(name: str, value: object, depth: int) -> object:
    match value:
        case str() if len(value) <= _MOST_BITS and _EXACT.fullmatch(value):
            return Fraction(value)
        case str() if _WORD.fullmatch(value):
            return value  # a choice; where a number is expected, it is refused
        case bool() | float() | None | str():
            raise InvalidParameter(name, value, "is not written as an event writes it", hint='fractions are "p/q"')
        case list():
            return tuple(_event(part, depth + 1) for part in value)
        case dict():
            return _event(value, depth + 1)
        case _:
            return value


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise InvalidParameter("event", [name for name, _ in pairs], "names a field twice")
    return content
