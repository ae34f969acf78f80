"""Values are written as JSON and read as equal values; whatever else a document is, is refused with its place."""

from __future__ import annotations

import datetime as dt
import json
import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import codec
from giveortake.codec import DEEPEST, parsed, read, schema, stored, tag_of, text_of, value_of, write
from giveortake.errors import InvalidParameter
from giveortake.exact import MOST_DIGITS


class Shape(ABC):  # noqa: B024 (only its subclasses are made)
    """A family of registered classes."""


@stored("circle")
@dataclass(frozen=True)
class Circle(Shape):
    radius: Fraction
    name: str = ""
    centre: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.radius < 0:
            raise ValueError("a radius is at least 0")


@stored("group")
@dataclass(frozen=True)
class Group(Shape):
    shapes: tuple[Shape, ...]
    sizes: frozenset[int] = frozenset()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Margins:
    """Not registered: it is read only where a hint names it."""

    low: float
    high: float | str | None = None


@stored("picture")
@dataclass(frozen=True)
class Picture:
    shape: Shape
    made: dt.datetime | dt.date | None
    mode: Literal["fast", "exact", 3]
    colour: Colour | None = None
    amounts: tuple[int | float | Fraction | str | dt.date, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    counts: dict[int, list[bool]] = field(default_factory=dict)
    margins: Margins | Literal["unknown"] = "unknown"
    size: Literal["auto"] | str | int = "auto"
    width: float = field(default=1.0, metadata={"key": "w"})
    anything: Any = None


fractions = st.fractions()
finite = st.floats(allow_nan=False)  # and the infinite ones
texts = st.text(max_size=6)
days = st.dates()
times = st.datetimes(timezones=st.sampled_from([None, dt.UTC]))
circles = st.builds(Circle, st.fractions(min_value=0), texts, st.tuples(finite, finite))
shapes: st.SearchStrategy[Shape] = st.recursive(
    circles,
    lambda inner: st.builds(Group, st.lists(inner, max_size=3).map(tuple), st.frozensets(st.integers(), max_size=3)),
    max_leaves=8,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
pictures = st.builds(
    Picture,
    shapes,
    st.none() | days | times,
    st.sampled_from(["fast", "exact", 3]),
    st.none() | st.sampled_from(Colour),
    st.lists(st.integers() | finite | fractions | texts | days, max_size=4).map(tuple),
    st.dictionaries(texts, st.integers(), max_size=3),
    st.dictionaries(st.integers(), st.lists(st.booleans(), max_size=2), max_size=3),
    st.just("unknown") | st.builds(Margins, finite, st.none() | finite | texts | st.sampled_from(["inf", "-inf"])),
    texts | st.integers() | st.just("auto"),
    finite,
    plain,
)
SMALL = Picture(Circle(Fraction(1, 2)), None, "fast")
DOCUMENT = {
    "kind": "picture",
    "shape": {"kind": "circle", "radius": "1/2"},
    "made": None,
    "mode": "fast",
}


# -- what is written is read ------------------------------------------------------------------------------------------


@some_examples
@given(pictures)
def test_a_value_is_read_as_it_was_written_with_the_types_of_its_parts(picture: Picture) -> None:
    document = write(picture)
    again = read(Picture, document)
    assert again == picture
    assert list(map(type, again.amounts)) == list(map(type, picture.amounts))  # 1 is not 1.0
    assert value_of(Picture, text_of(picture)) == picture


@some_examples
@given(pictures)
def test_what_is_written_is_valid_by_its_schema(picture: Picture) -> None:
    content = schema(Picture)
    jsonschema.Draft202012Validator.check_schema(content)
    jsonschema.validate(json.loads(text_of(picture)), content, cls=jsonschema.Draft202012Validator)


@some_examples
@given(shapes)
def test_a_text_is_the_same_for_equal_values_and_is_written_again_as_it_was(shape: Shape) -> None:
    text = text_of(shape, Shape)
    assert text_of(value_of(Shape, text), Shape) == text
    assert parsed(text) == write(shape)


def test_fields_that_have_their_default_are_not_written() -> None:
    assert write(SMALL) == DOCUMENT
    assert read(Picture, DOCUMENT) == SMALL
    assert write(Circle(Fraction(3), name="a")) == {"kind": "circle", "radius": "3/1", "name": "a"}
    assert read(Picture, {**DOCUMENT, "w": 1, "sizes": {}}) == SMALL  # an earlier version may have written them
    assert "w" in write(Picture(Circle(Fraction(1)), None, 3, width=2.0))


def test_tags_are_stated_and_do_not_follow_the_names_of_classes() -> None:
    @stored("square")
    @dataclass(frozen=True)
    class Square(Shape):
        side: int

    text = text_of(Square(2))
    Square.__name__ = Square.__qualname__ = "Circle"
    assert (text_of(Square(2)), tag_of(Square)) == (text, "square")
    assert value_of(Shape, text) == Square(2)


@all_cases(
    ("hint", "value", "document"),
    [
        (Fraction, Fraction(-1, 3), "-1/3"),
        (Fraction | None, Fraction(1, 2), "1/2"),
        (Fraction | str, Fraction(1, 2), {"fraction": "1/2"}),
        (Fraction | str, "1/2", "1/2"),
        (dt.date | dt.datetime, dt.date(2024, 1, 2), {"day": "2024-01-02"}),
        (dt.date | dt.datetime, dt.datetime(2024, 1, 2), {"time": "2024-01-02T00:00:00"}),
        (dt.date | None, dt.date(2024, 1, 2), "2024-01-02"),
        (float | None, math.inf, "inf"),
        (float | str, -math.inf, {"float": "-inf"}),
        (float | str, "-inf", "-inf"),
        (float | Fraction, math.inf, {"float": "inf"}),
        (float | str, 1.5, 1.5),
        (int | float, 1, 1),
        (bool | int, True, True),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, str], {2: "b", 1: "a"}, [[2, "b"], [1, "a"]]),
        (set[int], {3, 1}, [1, 3]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (Colour, Colour.RED, "red"),
        (Literal["a"] | str, "b", "b"),
        (Literal["a", 1] | None, "a", "a"),
    ],
)
def test_one_value_has_one_document(hint: Any, value: object, document: object) -> None:
    assert write(value, hint) == document
    again = read(hint, document)
    assert (again, type(again)) == (value, type(value))


# -- what is refused --------------------------------------------------------------------------------------------------


def nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {"kind": "circle", "radius": "1/1"}
    for _ in range(levels):
        document = {"kind": "group", "shapes": [document]}
    return document


CIRCLE = {"kind": "circle", "radius": "1/2"}


@all_cases(
    ("hint", "document", "path"),
    [
        (Shape, {**CIRCLE, "kind": "cube"}, "kind"),
        (Shape, {**CIRCLE, "kind": "picture"}, "kind"),  # registered, but of another family
        (Shape, {**CIRCLE, "kind": "Circle"}, "kind"),
        (Shape, {**CIRCLE, "kind": ["circle"]}, "kind"),
        (Shape, {"radius": "1/2"}, "kind"),
        (Shape, {"kind": "circle"}, "the whole"),  # lacks a field
        (Shape, {**CIRCLE, "colour": "red"}, "the whole"),  # has one that is not known
        (Shape, [CIRCLE], "the whole"),
        (Shape, {**CIRCLE, "radius": "-1/2"}, "the whole"),  # refused by its own check
        (Shape, {"kind": "group", "shapes": [CIRCLE, {**CIRCLE, "radius": 1}]}, "shapes[1].radius"),
        (Shape, {"kind": "group", "shapes": CIRCLE}, "shapes"),
        (Shape, {**CIRCLE, "centre": [0.0]}, "centre"),
        (Shape, {**CIRCLE, "centre": [0.0, True]}, "centre[1]"),
        (Margins, {"low": 0, "kind": "margins"}, "the whole"),  # not registered: it has no tag
        (Picture, {**DOCUMENT, "width": 2.0}, "the whole"),  # its key is "w"
        (Picture, {**DOCUMENT, "mode": 3.0}, "mode"),
        (Picture, {**DOCUMENT, "mode": "slow"}, "mode"),
        (Picture, {**DOCUMENT, "colour": "RED"}, "colour"),
        (Picture, {**DOCUMENT, "amounts": [None]}, "amounts[0]"),
        (Picture, {**DOCUMENT, "counts": [[1, []], [1, [True]]]}, "counts"),
        (Picture, {**DOCUMENT, "counts": [[1]]}, "counts[0]"),
        (Picture, {**DOCUMENT, "made": "2024-01-02"}, "made"),  # a day or a time?
        *(
            (Fraction, wrong, "the whole")
            for wrong in ("2/4", "1/0", "1", "1e9/1", "+1/2", " 1/2", "1/-2", 0.5, 1, None)
        ),
        *((float, wrong, "the whole") for wrong in (math.nan, math.inf, "nan", "Infinity", "1", None, True, 10**400)),
        *((int, wrong, "the whole") for wrong in (1.0, "1", True, None, 10 ** (4 * MOST_DIGITS))),
        (Fraction, f"1/1{'0' * 2 * MOST_DIGITS}", "the whole"),
        (Fraction | str, {"fraction": "2/4"}, "the whole"),
        (Fraction | str, {"day": "2024-01-02"}, "the whole"),
        (Fraction | str, {"fraction": "1/2", "more": 1}, "the whole"),
        (Fraction | None, {"fraction": "1/2"}, "the whole"),  # nothing else could be meant, so nothing is wrapped
        (float | str, {"float": 1.5}, "the whole"),
        (bool | str, 1, "the whole"),
        (str, b"a", "the whole"),
        (dict[str, int], {"a": "b"}, "a"),
        (Any, [[[]]] * 2 + [{"a": [1]}] * 60, "the whole"),
    ],
)
def test_a_document_is_refused_with_the_place_where_it_is_wrong(
    hint: Any, document: object, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as limited:
        limited.setattr(codec, "MOST_PARTS", 100)
        with pytest.raises(InvalidParameter) as refused:
            read(hint, document, what="quote")
    assert refused.value.name == "quote"
    assert refused.value.value == path


@all_cases(("levels", "fits"), [(DEEPEST // 2, True), (DEEPEST // 2 + 1, False), (10 * DEEPEST, False)])
def test_a_document_nests_only_so_deep(levels: int, fits: bool) -> None:
    document = nested(levels - 1) if fits else nested(levels)
    if fits:
        assert write(read(Shape, document)) == document
        return
    with pytest.raises(InvalidParameter, match=f"deeper than {DEEPEST}"):
        read(Shape, document)
    anything: Any = []
    for _ in range(levels):
        anything = [[anything]]
    with pytest.raises(InvalidParameter, match=f"deeper than {DEEPEST}"):
        read(Any, anything)


@all_cases(
    "text", ["[" * 100_000, '{"a": 1, "a": 2}', "[NaN]", "[Infinity]", "[-Infinity]", "[1,]", "", "1" * 5000, None]
)
def test_a_text_that_is_no_clear_json_is_refused(text: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        parsed(text, what="quote")
    assert refused.value.name == "quote"


@all_cases(
    ("value", "hint"),
    [
        (math.nan, float),
        (True, int),
        (1, float),
        (dt.datetime(2024, 1, 1), dt.date),
        ("a", int | None),
        (Margins(0.0), None),  # not registered, and no hint names it
        (Margins(0.0), Shape),
        (SMALL, Shape),
        (Circle, None),
        ({1: 2}, dict[str, int]),
        (1, Fraction | str),
    ],
)
def test_a_value_that_could_not_be_read_is_not_written(value: object, hint: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        write(value, hint)


@all_cases(
    "hint",
    [
        list[int] | tuple[str, ...],
        dict[str, int] | Margins,
        Fraction | str | dict[str, str],  # {"fraction": "1/2"} may be either
        Fraction | str | Margins,
        Colour | str,  # "red" may be either
        dict[int, int] | list[int],
    ],
)
def test_a_union_whose_parts_cannot_be_told_apart_is_refused(hint: Any) -> None:
    for call in (lambda: write(1, hint), lambda: read(hint, 1), lambda: schema(hint)):
        with pytest.raises(TypeError):
            call()


def test_two_classes_of_a_family_need_two_tags_and_no_field_the_key_of_the_tag() -> None:
    class Family(ABC):  # noqa: B024 (only its subclasses are made)
        """A family of its own."""

    @stored("one")
    @dataclass(frozen=True)
    class One(Family):
        kind: str

    with pytest.raises(TypeError):
        write(One("a"))

    @stored("one")
    @dataclass(frozen=True)
    class Another(Family):
        number: int

    with pytest.raises(TypeError):
        read(Family, {"kind": "one", "number": 1})


# -- what documents name ----------------------------------------------------------------------------------------------


class Named:
    """Circles that documents name instead of spelling them out."""

    def __init__(self, **circles: Circle) -> None:
        self.circles = circles

    def name_of(self, value: object) -> Any:
        return next((["named", name] for name, circle in self.circles.items() if circle is value), None)

    def find(self, kind: type, document: Any) -> object:
        match document:
            case ["named", str(name)] if name in self.circles and isinstance(self.circles[name], kind):
                return self.circles[name]
        return None


def test_a_document_may_name_an_object_of_the_reader_and_no_other() -> None:
    sun = Circle(Fraction(10))
    group, references = Group((sun, Circle(Fraction(1)))), Named(sun=sun)
    document = write(group, Shape, references=references)
    assert document["shapes"] == [["named", "sun"], {"kind": "circle", "radius": "1/1"}]
    again = read(Shape, document, references=references)
    assert isinstance(again, Group)
    assert again.shapes[0] is sun
    for without in (None, Named(moon=sun)):
        with pytest.raises(InvalidParameter):
            read(Shape, document, references=without)
