"""One codec for everything that is stored or sent: values as JSON, by the fields of their dataclasses.

    @stored("laplace")
    @dataclass(frozen=True)
    class Laplace(Event):
        noise_multiplier: Fraction

`write(Laplace(Fraction(10)))` is `{"kind": "laplace", "noise_multiplier": "10/1"}`, and `read(Event, …)` makes the same
object of it. Tags are stated and never names of classes, so that a class may be renamed. A field that has its default
is not written, so that a later version can add fields without changing what is stored, or its digest; nor is one whose
metadata says `{"stored": False}`, and which has to have a default.

Guarantee: what is read is made of the types that the hint names and of classes registered below them, and each has made
its own checks, as if it had been made here. How deep a document nests, how many parts it has and how many digits its
numbers have is limited before anything is made of it. `read(hint, write(value, hint)) == value`.

How values are written: fractions as "p/q", decimals, days and times as texts; infinite floats as "inf" and "-inf";
mappings with other keys than texts as lists of pairs. Where a union could be mistaken for another of its parts, these
are wrapped: `{"fraction": "1/2"}`. A union whose parts cannot be told apart is refused.

`Annotated[str, Limits(1, 200), "its name"]` is a text of 1 to 200 characters; its schema says so, in these words.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import types
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations
from numbers import Rational
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    final,
    get_args,
    get_origin,
    get_type_hints,
)

from giveortake.errors import GiveOrTakeError, InvalidParameter, did_you_mean
from giveortake.exact import MOST_DIGITS

Json: TypeAlias = Any

KIND = "kind"  # the key of a tag
DEEPEST = 500  # levels of a document
MOST_PARTS = 1 << 20  # lists, objects, numbers and texts of a document
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)/[1-9][0-9]*")
_INFINITE = {"inf": math.inf, "-inf": -math.inf}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
_tags: dict[type, str] = {}
_complete: set[type] = set()

_Class = TypeVar("_Class", bound=type)
_Value = TypeVar("_Value")


def stored(tag: str) -> Callable[[_Class], _Class]:
    """Register a dataclass under a tag, by which `read` finds it wherever one of its bases is expected."""

    def register(kind: _Class) -> _Class:
        _tags[kind] = tag
        return kind

    return register


def complete(kind: _Class) -> _Class:
    """Write all fields of a dataclass, those that have their defaults, too: programs of others read it."""
    _complete.add(kind)
    return kind


def tag_of(kind: type) -> str:
    """The tag of a registered class."""
    return _tags[kind]


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the greatest length of a text or a list, or the least and the greatest number."""

    least: int
    most: int


class References(Protocol):
    """Objects that documents name instead of spelling them out, such as the tables of a session."""

    def name_of(self, value: object) -> Json:
        """The name to write for an object; None if it is spelled out."""

    def find(self, kind: type, document: Json) -> object:
        """The object that a document names; None if it spells one out."""


def write(value: object, hint: Any = None, *, references: References | None = None) -> Json:
    """A value as lists, dictionaries, texts and numbers. Without a hint its own class has to be registered."""
    kind: Any = type(value) if hint is None else hint
    if hint is None and kind not in _tags:
        raise TypeError(f"a {kind.__name__} is not registered")
    return _form(kind).write(value, references)


def read(hint: Any, document: Json, *, references: References | None = None, what: str = "document") -> Any:
    """Make of a document what the hint says. Whatever else it is, is refused with the place where it is wrong."""
    reader = _Reader(what, references)
    try:
        return _form(hint).read(document, reader, "")
    except RecursionError:
        raise reader.refuse("", "nests too deeply") from None


def text_of(value: object, hint: Any = None, *, references: References | None = None) -> str:
    """A value as one line of JSON, the same for equal values."""
    return _ENCODER.encode(write(value, hint, references=references))


def value_of(hint: Any, text: str, *, references: References | None = None, what: str = "document") -> Any:
    """Make of a text what the hint says."""
    return read(hint, parsed(text, what=what), references=references, what=what)


def parsed(text: str, *, what: str = "document") -> Json:
    """JSON that names no key twice and holds no number that JSON does not know."""
    if not isinstance(text, str | bytes):
        raise InvalidParameter(what, type(text).__name__, "is not a text")

    def once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise InvalidParameter(what, [name for name, _ in pairs], "names a field twice")
        return content

    def refuse(constant: str) -> Json:
        raise InvalidParameter(what, constant, "is not a number of JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except InvalidParameter:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter(what, str(text)[:40], "is not JSON") from None


def schema(hint: Any) -> dict[str, Json]:
    """The JSON schema of what is written for a hint."""
    definitions: dict[str, Json] = {}
    content = _form(hint).schema(definitions)
    return {**content, **({"$defs": dict(sorted(definitions.items()))} if definitions else {})}


# -- forms ------------------------------------------------------------------------------------------------------------


@final
class _Reader:
    """One reading: what limits it, and what it says of a document that is refused."""

    def __init__(self, what: str, references: References | None) -> None:
        self.what, self.references = what, references
        self._parts = self._depth = 0

    def refuse(self, path: str, problem: str, *, hint: str | None = None) -> InvalidParameter:
        return InvalidParameter(self.what, path.removeprefix(".") or "the whole", problem, hint=hint)

    def count(self, path: str) -> None:
        """Count a part of the document."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self.refuse(path[:80], f"is beyond the first {MOST_PARTS:,} parts")

    def enter(self, path: str) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.refuse(f"{path[:80]}…", f"nests deeper than {DEEPEST} levels")

    def leave(self) -> None:
        self._depth -= 1


class _Form:
    """How values of one type hint are written, read and described."""

    shape: str = ""  # of its JSON: "null", "bool", "int", "float", "text", "list" or "object"

    def holds(self, value: object) -> bool:
        """Whether a value is of this form."""
        raise NotImplementedError

    def write(self, value: Any, references: References | None) -> Json:
        raise NotImplementedError

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        raise NotImplementedError

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        raise NotImplementedError


@final
class _Scalar(_Form):
    """A value without parts. `wrapped` is its key where a union holds texts as well."""

    def __init__(
        self,
        kind: type,
        shape: str,
        description: dict[str, Json],
        write: Callable[[Any], Json] = lambda value: value,
        read: Callable[[Any], Any] = lambda document: document,
        *,
        wrapped: str | None = None,
    ) -> None:
        self.kind, self.shape, self.wrapped = kind, shape, wrapped
        self._description, self._write, self._read = description, write, read

    def holds(self, value: object) -> bool:
        odd = bool if self.kind is int else dt.datetime if self.kind is dt.date else ()
        return isinstance(value, self.kind) and not isinstance(value, odd)

    def write(self, value: Any, _: References | None) -> Json:
        if not self.holds(value):
            raise TypeError(f"{type(value).__name__} is not a {self.kind.__name__}")
        return self._write(value)

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        try:
            return self._read(document)
        except (ValueError, TypeError, ArithmeticError):
            raise reader.refuse(
                path, f"is not {_ARTICLES.get(self.shape, 'a number')} as {self.kind.__name__} is written"
            ) from None

    def schema(self, _: dict[str, Json]) -> dict[str, Json]:
        return dict(self._description)


_ARTICLES = {"null": "nothing", "bool": "true or false", "text": "a text", "list": "a list", "object": "an object"}


def _of_type(*kinds: type) -> Callable[[Any], Any]:
    def check(document: Any) -> Any:
        if type(document) not in kinds:
            raise ValueError
        return document

    return check


def _integer(document: Any) -> int:
    number = cast("int", _of_type(int)(document))
    if number.bit_length() > 4 * MOST_DIGITS:
        raise ValueError
    return number


def _real(document: Any) -> float:
    if isinstance(document, str):
        return _INFINITE[document] if document in _INFINITE else _of_type(float)(document)
    number = float(_of_type(float, int)(document))
    if not math.isfinite(number):
        raise ValueError
    return number


def _real_as_json(number: float) -> Json:
    if math.isnan(number):
        raise ValueError("not a number cannot be written")
    return number if math.isfinite(number) else "inf" if number > 0 else "-inf"


def fraction_text(number: Rational) -> str:
    """A fraction as "p/q"."""
    return f"{number.numerator}/{number.denominator}"


def fraction_of(text: object) -> Fraction:
    """Read a fraction that `fraction_text` wrote, and nothing else: an exponent could make a huge number."""
    if not isinstance(text, str) or len(text) > 2 * MOST_DIGITS + 2 or not _FRACTION.fullmatch(text):
        raise ValueError("not a fraction")
    number = Fraction(text)
    if fraction_text(number) != text:
        raise ValueError("not in lowest terms")
    return number


def _decimal(text: Any) -> Decimal:
    number = Decimal(_of_type(str)(text))
    if len(text) > 2 * MOST_DIGITS or not number.is_finite():
        raise ValueError
    return number


_FRACTIONS = {"type": "string", "pattern": f"^{_FRACTION.pattern}$"}
_SCALARS: dict[Any, _Scalar] = {
    type(None): _Scalar(type(None), "null", {"type": "null"}, read=_of_type(type(None))),
    bool: _Scalar(bool, "bool", {"type": "boolean"}, read=_of_type(bool)),
    int: _Scalar(int, "int", {"type": "integer"}, read=_integer),
    float: _Scalar(
        float,
        "float",
        {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]},
        _real_as_json,
        _real,
        wrapped="float",
    ),
    str: _Scalar(str, "text", {"type": "string"}, read=_of_type(str)),
    **{
        kind: _Scalar(kind, "text", _FRACTIONS, fraction_text, fraction_of, wrapped="fraction")
        for kind in (Fraction, Rational)
    },
    Decimal: _Scalar(Decimal, "text", {"type": "string"}, str, _decimal, wrapped="decimal"),
    dt.datetime: _Scalar(
        dt.datetime,
        "text",
        {"type": "string", "format": "date-time"},
        dt.datetime.isoformat,
        lambda text: dt.datetime.fromisoformat(_of_type(str)(text)),
        wrapped="time",
    ),
    dt.date: _Scalar(
        dt.date,
        "text",
        {"type": "string", "format": "date"},
        dt.date.isoformat,
        lambda text: dt.date.fromisoformat(_of_type(str)(text)),
        wrapped="day",
    ),
}


def scalar(
    kind: type, write: Callable[[Any], Json], read: Callable[[Any], Any], description: dict[str, Json], *, shape: str
) -> None:
    """Register a type that is no dataclass by how it is written and read; errors of `read` are refusals."""
    _SCALARS[kind] = _Scalar(kind, shape, description, write, read)


@final
class _Anything(_Form):
    """Plain JSON, as it is."""

    def holds(self, value: object) -> bool:
        return True

    def write(self, value: Any, _: References | None) -> Json:
        return value

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        if isinstance(document, list | dict):
            reader.enter(path)
            for part in document.values() if isinstance(document, dict) else document:
                self.read(part, reader, path)
            reader.leave()
        return document

    def schema(self, _: dict[str, Json]) -> dict[str, Json]:
        return {}


@final
class _Choice(_Form):
    """One of a few stated texts, numbers or members of an enumeration."""

    def __init__(self, values: Mapping[Json, Any]) -> None:
        self._values = dict(values)
        self._documents = {value: document for document, value in self._values.items()}
        self.shape = "text" if all(isinstance(document, str) for document in self._values) else "int"

    @property
    def is_plain(self) -> bool:
        """Whether its values are written as they are, unlike members of an enumeration."""
        return all(value is document for document, value in self._values.items())

    def knows(self, document: Json) -> bool:
        """Whether a document is one of the choices."""
        return any(type(document) is type(known) and document == known for known in self._values)

    def holds(self, value: object) -> bool:
        return any(value is known or (type(value) is type(known) and value == known) for known in self._values.values())

    def write(self, value: Any, _: References | None) -> Json:
        return self._documents[value]

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        for known, value in self._values.items():
            if type(document) is type(known) and document == known:
                return value
        raise reader.refuse(path, f"is none of {', '.join(map(repr, self._values))}")

    def schema(self, _: dict[str, Json]) -> dict[str, Json]:
        return {"enum": list(self._values)}


@final
class _Limited(_Form):
    """Another form within limits, or with words about it."""

    def __init__(self, hint: Any, remarks: Sequence[Any]) -> None:
        self._form = _form(hint)
        self.shape = self._form.shape
        self._limits = next((remark for remark in remarks if isinstance(remark, Limits)), None)
        self._description = next((remark for remark in reversed(remarks) if isinstance(remark, str)), None)

    def holds(self, value: object) -> bool:
        return self._form.holds(value)

    def write(self, value: Any, references: References | None) -> Json:
        return self._form.write(value, references)

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        limits = self._limits
        if limits is not None and isinstance(document, int | str | list):
            size, unit = (document, "") if isinstance(document, int) else (len(document), _UNITS[_shape(document)])
            if not limits.least <= size <= limits.most:
                raise reader.refuse(path, f"is not within {limits.least:,} and {limits.most:,}{unit}")
        return self._form.read(document, reader, path)

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        content = self._form.schema(definitions)
        if self._limits is not None:
            least, most = _LIMITS[self.shape]
            content |= {least: self._limits.least, most: self._limits.most}
        return content if self._description is None else {**content, "description": self._description}


_UNITS = {"text": " characters", "list": " elements"}
_LIMITS = {
    "text": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "int": ("minimum", "maximum"),
}


@final
class _Listed(_Form):
    """A list, tuple, set or frozen set whose elements have one form, or a tuple with a form for each place."""

    shape = "list"

    def __init__(self, kind: Callable[[Any], Any], hints: Sequence[Any], *, fixed: bool) -> None:
        self._kind, self._hints, self._fixed = kind, hints, fixed

    def holds(self, value: object) -> bool:
        return isinstance(value, list | tuple | Set)

    @cached_property
    def _own_forms(self) -> list[_Form]:
        return list(map(_form, self._hints))

    def _forms(self, count: int) -> list[_Form]:
        return self._own_forms if self._fixed else self._own_forms * count

    def write(self, value: Any, references: References | None) -> Json:
        elements = sorted(value) if isinstance(value, Set) else value
        documents = []
        for form, element in zip(self._forms(len(elements)), elements, strict=True):
            documents.append(form.write(element, references))
        return documents

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        if not isinstance(document, list):
            raise reader.refuse(path, "is not a list")
        forms = self._forms(len(document))
        if len(forms) != len(document):
            raise reader.refuse(path, f"has {len(document)} elements, and not {len(forms)}")
        reader.enter(path)
        elements = []
        for index, (form, element) in enumerate(zip(forms, document, strict=True)):
            elements.append(form.read(element, reader, f"{path}[{index}]"))
        reader.leave()
        return self._kind(elements)

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        forms = [form.schema(definitions) for form in self._forms(1)]
        if not self._fixed:
            return {"type": "array", "items": forms[0]}
        return {"type": "array", "prefixItems": forms, "minItems": len(forms), "maxItems": len(forms)}


@final
class _Mapped(_Form):
    """A mapping: an object if its keys are texts, else a list of pairs, in its own order."""

    def __init__(self, key: Any, value: Any) -> None:
        self._key, self._value = key, value
        self._by_text = key is str
        self.shape = "object" if self._by_text else "list"

    def holds(self, value: object) -> bool:
        return isinstance(value, Mapping) and all(map(_form(self._key).holds, value))

    def write(self, value: Any, references: References | None) -> Json:
        form = _form(self._value)
        if self._by_text:
            return {_form(str).write(key, references): form.write(part, references) for key, part in value.items()}
        keys = _form(self._key)
        return [[keys.write(key, references), form.write(part, references)] for key, part in value.items()]

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        listed: Any = document
        if not isinstance(document, dict if self._by_text else list):
            raise reader.refuse(path, "is not an object" if self._by_text else "is not a list of pairs")
        reader.enter(path)
        form = _form(self._value)
        content: dict[Any, Any] = {}
        if self._by_text:
            content = {key: form.read(part, reader, f"{path}.{key}") for key, part in listed.items()}
        else:
            for index, pair in enumerate(document):
                if not isinstance(pair, list) or len(pair) != 2:
                    raise reader.refuse(f"{path}[{index}]", "is not a pair")
                key = _form(self._key).read(pair[0], reader, f"{path}[{index}]")
                content[key] = form.read(pair[1], reader, f"{path}[{index}]")
            if len(content) < len(document):
                raise reader.refuse(path, "names a key twice")
        reader.leave()
        return content

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        value = _form(self._value).schema(definitions)
        if self._by_text:
            return {"type": "object", "additionalProperties": value}
        return {
            "type": "array",
            "items": {"type": "array", "prefixItems": [_form(self._key).schema(definitions), value]},
        }


@final
class _Union(_Form):
    """One of several forms, told apart by the shape of their JSON, or by a wrapper where two have one shape."""

    def __init__(self, hints: Sequence[Any]) -> None:
        self._hints = hints

    @cached_property
    def _forms(self) -> list[_Form]:
        forms = list(map(_form, self._hints))
        scalars = [form for form in forms if isinstance(form, _Scalar) and form.wrapped is not None]
        untagged = any(form.shape == "object" and not _is_tagged(form) for form in forms)
        wraps = any(other is not form and other.shape == "text" for form in scalars for other in forms)
        if (wraps and untagged) or not all(_are_apart(*pair) for pair in combinations(forms, 2)):
            raise TypeError(f"parts of the union of {self._hints} cannot be told apart")
        return forms

    def _wrapper(self, form: _Form, shape: str) -> str | None:
        """The key under which a document of some shape is wrapped; None if nothing else of the union has the shape."""
        if not isinstance(form, _Scalar) or form.wrapped is None:
            return None
        return form.wrapped if any(other.shape == shape and other is not form for other in self._forms) else None

    def holds(self, value: object) -> bool:
        return any(form.holds(value) for form in self._forms)

    def write(self, value: Any, references: References | None) -> Json:
        form = next((form for form in self._forms if form.holds(value)), None)
        if form is None:
            raise TypeError(f"a {type(value).__name__} is none of {self._hints}")
        document = form.write(value, references)
        wrapper = self._wrapper(form, _shape(document))
        return document if wrapper is None else {wrapper: document}

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        shape = _shape(document)
        if shape == "object" and len(document) == 1:
            ((name, part),) = document.items()
            for form in self._forms:
                if self._wrapper(form, _shape(part)) == name:
                    return form.read(part, reader, path)
        for form in self._forms:
            if isinstance(form, _Choice) and form.knows(document):
                return form.read(document, reader, path)
        for form in self._forms:
            if form.shape == shape and self._wrapper(form, shape) is None and _may_be(form, document):
                return form.read(document, reader, path)
        for form in self._forms:  # whole numbers may stand for others
            if (shape, form.shape) in {("int", "float"), ("text", "float")} or isinstance(form, _Anything):
                return form.read(document, reader, path)
        raise reader.refuse(path, "is of none of the kinds that may stand here")

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        listed = []
        for form in self._forms:
            content, wrapper = form.schema(definitions), self._wrapper(form, "text")
            bare = content["anyOf"][:1] if form.shape == "float" else []
            wrapped = content["anyOf"][1] if form.shape == "float" else content
            listed += [content] if wrapper is None else [*bare, _object({wrapper: wrapped}, [wrapper])]
        return {"anyOf": listed}


def _may_be(form: _Form, document: Json) -> bool:
    """Whether a document of the right shape may be of a form; objects are told apart by their tags."""
    return form.knows(document) if isinstance(form, _Record | _Choice) else True


def _is_tagged(form: _Form) -> bool:
    return isinstance(form, _Record) and bool(form.classes())


def _are_apart(form: _Form, other: _Form) -> bool:
    """Whether what is written for two parts of a union tells of which part it is."""
    if form.shape != other.shape or any(isinstance(part, _Scalar) and part.wrapped for part in (form, other)):
        return True
    if isinstance(form, _Record) and isinstance(other, _Record):
        return _is_tagged(form) and _is_tagged(other) and not form.classes().keys() & other.classes().keys()
    choices = [part for part in (form, other) if isinstance(part, _Choice)]
    return bool(choices) and all(choice.is_plain for choice in choices)


def _shape(document: Json) -> str:
    return {type(None): "null", bool: "bool", int: "int", float: "float", str: "text", list: "list"}.get(
        type(document), "object"
    )


@final
class _Record(_Form):
    """A dataclass, or any registered class below an abstract one."""

    shape = "object"

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def classes(self) -> dict[str, type]:
        """The registered classes by their tags."""
        return _classes_below(self._kind, len(_tags))

    def knows(self, document: Json) -> bool:
        tag = document.get(KIND)
        return not self.classes() or (isinstance(tag, str) and tag in self.classes())

    def holds(self, value: object) -> bool:
        return isinstance(value, self._kind)

    def write(self, value: Any, references: References | None) -> Json:
        if references is not None and (name := references.name_of(value)) is not None:
            return name
        kind = type(value)
        if not isinstance(value, self._kind) or not (kind in _tags or kind is self._kind) or not is_dataclass(kind):
            raise TypeError(f"a {kind.__name__} is not registered as a {self._kind.__name__}")
        document: dict[str, Json] = {KIND: _tags[kind]} if kind in _tags else {}
        for part in parts_of(kind):
            content = getattr(value, part.name)
            if kind in _complete or not part.is_default(content):
                document[part.key] = part.form.write(content, references)
        return document

    def read(self, document: Json, reader: _Reader, path: str) -> Any:
        reader.count(path)
        if reader.references is not None and (named := reader.references.find(self._kind, document)) is not None:
            return named
        if not isinstance(document, dict):
            raise reader.refuse(path, "is not an object")
        kind, content = self._kind, dict(document)
        if classes := self.classes():
            tag = content.pop(KIND, None)
            if not isinstance(tag, str) or tag not in classes:
                raise reader.refuse(f"{path}.{KIND}", f"is none of {', '.join(sorted(classes))}")
            kind = classes[tag]
        parts = {part.key: part for part in parts_of(kind)}
        if missing := [key for key, part in parts.items() if key not in content and not part.has_default]:
            raise reader.refuse(path, f"lacks {', '.join(missing)}")
        if odd := [str(key) for key in content.keys() - parts.keys()]:
            known = f"known: {', '.join(parts) or 'none'}"  # a name that is not known may be anything
            raise reader.refuse(path, "has a field that is not known", hint=f"{did_you_mean(odd[0], parts)}{known}")
        reader.enter(path)
        values = {}
        for key, part in content.items():
            values[parts[key].name] = parts[key].form.read(part, reader, f"{path}.{key}")
        reader.leave()
        try:
            return kind(**values)
        except GiveOrTakeError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            raise reader.refuse(path, f"is not a {_tags.get(kind, kind.__name__)}") from None

    def schema(self, definitions: dict[str, Json]) -> dict[str, Json]:
        classes = self.classes() or {self._kind.__name__: self._kind}
        names = []
        for tag, kind in classes.items():
            name = f"{self._kind.__name__}.{tag}" if kind in _tags else tag
            names.append(name)
            if name in definitions:
                continue
            definitions[name] = {}  # so that a class may hold others of its own kind
            properties = {part.key: part.form.schema(definitions) for part in parts_of(kind)}
            required = [part.key for part in parts_of(kind) if kind in _complete or not part.has_default]
            if kind in _tags:
                properties, required = {KIND: {"const": tag}, **properties}, [KIND, *required]
            definitions[name] = _object(properties, required)
        listed = [{"$ref": f"#/$defs/{name}"} for name in names]
        return listed[0] if len(listed) == 1 else {"oneOf": listed}


@cache
def _classes_below(base: type, _registered: int) -> dict[str, type]:
    """The classes below a base by their tags, as long as no other is registered."""
    classes: dict[str, type] = {}
    for kind, tag in _tags.items():
        if issubclass(kind, base):
            if tag in classes:
                raise TypeError(f"{kind} and {classes[tag]} have one tag")
            classes[tag] = kind
    return classes


def _object(properties: dict[str, Json], required: list[str]) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@final
@dataclass(frozen=True)
class Part:
    """A field of a dataclass: its name, its key in documents, its hint and its default."""

    name: str
    key: str
    hint: Any
    default: Any

    @cached_property
    def form(self) -> _Form:
        """How it is written and read."""
        return _form(self.hint)

    @property
    def has_default(self) -> bool:
        """Whether a document may leave it out."""
        return self.default is not MISSING

    @property
    def remarks(self) -> tuple[Any, ...]:
        """What its hint is annotated with."""
        return getattr(self.hint, "__metadata__", ())

    @property
    def description(self) -> str:
        """The words about it; empty if there are none."""
        return next((remark for remark in reversed(self.remarks) if isinstance(remark, str)), "")

    def is_default(self, content: object) -> bool:
        """Whether a value need not be written."""
        return self.has_default and type(content) is type(self.default) and content == self.default


@cache
def parts_of(kind: type) -> tuple[Part, ...]:
    """The fields of a dataclass that its documents hold."""
    hints = get_type_hints(kind, include_extras=True)
    parts = tuple(
        Part(field.name, field.metadata.get("key", field.name), hints[field.name], _default(field))
        for field in fields(kind)
        if field.init and field.metadata.get("stored", True)
    )
    if len({KIND, *(part.key for part in parts)}) <= len(parts) and kind in _tags:
        raise TypeError(f"{kind} has two fields of one key, or one of the key of its tag")
    return parts


def _default(part: Field[Any]) -> Any:
    return part.default if part.default_factory is MISSING else part.default_factory()


_LISTS: dict[Any, Callable[[Any], Any]] = {list: list, tuple: tuple, set: set, frozenset: frozenset, Sequence: tuple}


@cache
def _form(hint: Any) -> _Form:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SCALARS or origin in _SCALARS:  # a scalar, or a generic one such as an array of floats
        return _SCALARS[hint if hint in _SCALARS else origin]
    if hint is Any or hint is object:
        return _Anything()
    if hint is None:
        return _SCALARS[type(None)]
    if origin is Annotated:
        return _Limited(arguments[0], arguments[1:])
    if origin in {Union, types.UnionType}:
        return _Union(arguments)
    if origin is Literal:
        return _Choice({value: value for value in arguments})
    if origin in _LISTS:
        fixed = origin is tuple and Ellipsis not in arguments
        return _Listed(_LISTS[origin], arguments if fixed else arguments[:1], fixed=fixed)
    if origin in {dict, Mapping}:
        return _Mapped(*arguments)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Choice({member.value: member for member in hint})
    if isinstance(hint, type):
        return _Record(hint)
    raise TypeError(f"{hint} cannot be written")
