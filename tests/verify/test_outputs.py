"""Outputs that may hold more than can be compared, by the kinds that look plain."""

from __future__ import annotations

import datetime as dt
import functools
import io
import struct
import time
from dataclasses import dataclass, field
from enum import Enum, Flag, IntEnum, StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.verify import program

T = TypeVar("T")


class Note(str):
    """A text that can hold more than its letters."""

    about: object = None


class Days(dt.timedelta):
    """A duration that can hold more than its length."""

    about: object = None


class Whole(int):
    """A number that can hold more than its value."""

    about: object = None
    numerator = property(lambda self: self)  # so that a fraction keeps it


class Alike(Enum):
    """Members that call each other equal."""

    NO, YES = 0, 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Alike"


class Unhashable(Enum):
    """Members without a hash."""

    NO, YES = 0, 1

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]  # (that is the point)


class Ones(int, Enum):
    """Members that are one number and written alike."""

    NO, YES = 0, 1

    def __new__(cls, value: int) -> Ones:
        made = int.__new__(cls, 1)
        made._value_ = value
        return made

    def __repr__(self) -> str:
        return "Ones"


class Pocket:
    """A base with a slot that is no field."""

    __slots__ = ("hidden",)


@dataclass(frozen=True, slots=True)
class Slotted(Pocket):
    """It holds more than its fields."""

    value: int


@dataclass(frozen=True, init=False)
class Numbered(int):
    """A number that equals all others."""

    def __repr__(self) -> str:
        return "Numbered"


@dataclass(frozen=True, slots=True)
class Narrow:
    """It holds its field in a slot."""

    value: int


class Box(Narrow):
    """It can hold the field as an attribute too."""


@dataclass(frozen=True)
class Veiled:
    """A field that is read otherwise than it is held."""

    value: int = field(compare=False)

    def __getattribute__(self, name: str) -> Any:
        return 1 if name == "value" else object.__getattribute__(self, name)


@dataclass(frozen=True)
class Unset:
    """A field that nobody sets."""

    value: int = field(init=False, repr=False, compare=False)


@dataclass(frozen=True)
class Unkeyed:
    """An output without a hash."""

    value: int
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # (that is the point)


class Point(NamedTuple):
    """A tuple with names."""

    x: object


class Place(Point):
    """A tuple with names that can have attributes, and has none."""


class Closed(Point):
    """A named tuple that shows no items."""

    def __iter__(self) -> Any:
        return iter(())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closed)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Closed)

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Boxed(Generic[T]):
    """It holds its fields only."""

    value: T
    unit: str = field(init=False, default="cm")


@dataclass(frozen=True)
class Measured:
    """A field that all outputs take from the class."""

    value: int
    unit: str = field(init=False, default="cm")


class Level(IntEnum):
    """Numbers with names."""

    LOW, HIGH = 0, 1


class Size(StrEnum):
    """Texts with names."""

    SMALL, LARGE = "small", "large"


class Right(Flag):
    """Members that can be joined."""

    READ, WRITE = 1, 2


class Planet(Enum):
    """Members with attributes."""

    EARTH, MARS = (1, "blue"), (2, "red")

    def __init__(self, place: int, colour: str) -> None:
        self.place, self.colour = place, colour


def _with(made: T, name: str, value: object) -> T:
    object.__setattr__(made, name, value)
    return made


def _held_twice(x: object) -> Box:
    made = Box(1)
    vars(made)["value"] = x
    return made


def _noon(zone: dt.tzinfo) -> dt.datetime:
    return dt.datetime(2020, 1, 1, 12, tzinfo=zone)


def _zone_of_a_file(letters: bytes) -> ZoneInfo:
    """A zone without transitions, which calls its one kind of time by these letters."""
    header = struct.pack(">4s16x6l", b"TZif", 0, 0, 0, 0, 1, 4)
    return ZoneInfo.from_file(io.BytesIO(header + struct.pack(">lbb4s", 0, 0, 0, letters)), key="UTC")


def _third(x: Any) -> Fraction:
    """A fraction that holds an integer of numpy."""
    one: Any = np.int64(x)
    return Fraction(one, 3)


def _record(x: Any, *, writeable: bool) -> Any:
    records = np.rec.array(np.array([(x, 2.0)], dtype=[("a", object), ("b", "f8")]))
    records.flags.writeable = writeable
    return records[0]


@all_cases(
    "make",
    [
        pytest.param(Alike, id="members that call each other equal"),
        pytest.param(lambda x: (Alike(x),), id="a tuple of such"),
        pytest.param(Unhashable, id="members without a hash"),
        pytest.param(lambda x: _record(x, writeable=False), id="a record"),
        pytest.param(lambda x: _record(x, writeable=True), id="a record that can be changed"),
        pytest.param(lambda x: type("int64", (np.int64,), {"__module__": "numpy"})(1), id="in the name of numpy"),
        pytest.param(lambda x: _with(Slotted(1), "hidden", x), id="a slot of a base"),
        pytest.param(_held_twice, id="a slot and an attribute of one name"),
        pytest.param(Numbered, id="a number with fields"),
        pytest.param(Veiled, id="a field that is read otherwise"),
        pytest.param(lambda x: Unset(), id="a field that nobody sets"),
        pytest.param(Closed, id="a named tuple that shows no items"),
        pytest.param(lambda x: time.struct_time((*[1] * 9, "CET", x)), id="a tuple that hides items"),
        pytest.param(lambda x: _noon(dt.timezone(dt.timedelta(0), _with(Note("a"), "about", x))), id="a zone's name"),
        pytest.param(lambda x: _noon(dt.timezone(_with(Days(0, 60), "about", x))), id="a zone's offset"),
        pytest.param(lambda x: dt.time(12, tzinfo=dt.timezone(_with(Days(0, 60), "about", x))), id="of a time"),
        pytest.param(lambda x: _noon(ZoneInfo.no_cache(_with(Note("UTC"), "about", x))), id="a zone's key"),
        pytest.param(lambda x: _noon(_zone_of_a_file(b"NO\0\0" if x else b"YES\0")), id="a zone of a file"),
        pytest.param(lambda x: Fraction(_with(Whole(1), "about", x)), id="a numerator"),
    ],
)
def test_kinds_that_only_look_plain_are_refused(make: Any) -> None:
    """Else ε = 0 was claimed where everything was given away."""
    with pytest.raises(InvalidParameter, match="compared"):
        program(lambda x, flip: make(x), [0, 1])
    with pytest.raises(InvalidParameter, match="compared"):
        program(lambda x, flip: x, [0, 1]).post_process(make)


@all_cases("make", [memoryview, slice, functools.partial, type, iter, bytearray])
def test_kinds_that_are_not_known_are_refused(make: Any) -> None:
    given = {memoryview: b"a", functools.partial: print, iter: (), type: 1}
    with pytest.raises(InvalidParameter, match="compared"):
        program(lambda x, flip: make(given.get(make, x)), [0, 1])


@all_cases("pair", [(Ones.NO, Ones.YES), (Fraction(1, 3), _third(1))])
def test_equal_outputs_that_are_written_alike_are_told_apart_by_what_they_are(pair: tuple[object, object]) -> None:
    with pytest.raises(InvalidParameter, match="calls equal"):
        program(lambda x, flip: pair[x], [0, 1])


@all_cases("make", [Unkeyed, lambda x: (1, Unkeyed(x))])
def test_an_output_without_a_hash_is_refused_with_a_hint(make: Any) -> None:
    with pytest.raises(InvalidParameter, match="hash"):
        program(lambda x, flip: make(x), [0, 1])


@all_cases(
    "make",
    [
        Level,
        lambda x: (Size.SMALL, Size.LARGE)[x],
        lambda x: (Right.READ | Right.WRITE, Right.READ)[x],
        lambda x: (Planet.EARTH, Planet.MARS)[x],
        _third,
        lambda x: Fraction(x, 3),
        Place,
        Boxed,
        Measured,
        lambda x: Boxed(Point(Size.SMALL if x else Level.LOW)),
        lambda x: _noon(ZoneInfo(("UTC", "Europe/Berlin")[x])),
        lambda x: _noon(ZoneInfo.no_cache(("UTC", "Europe/Berlin")[x])),
        lambda x: dt.time(12, tzinfo=dt.timezone(dt.timedelta(hours=x), "a")),
        np.str_,
        np.longlong,
        np.bool_,
        lambda x: np.timedelta64(x, "s"),
    ],
)
def test_kinds_that_are_plain_are_told_apart(make: Any) -> None:
    t = program(lambda x, flip: (make(x), flip())[0], [0, 1])
    assert len(t.outputs) == 2
    assert t.delta(5) == 1
