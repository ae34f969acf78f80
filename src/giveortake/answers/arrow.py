"""A table as an Arrow C stream (https://arrow.apache.org/docs/format/CStreamInterface.html), written with ctypes.

One record batch, columns as 64-bit integers, doubles, UTF-8 text, truth values, dates, times in microseconds and
128-bit decimals. The memory belongs to this module until the consumer calls `release` on what it was given; what is
kept for it is in `_KEPT`, so a table that nobody holds any more leaves nothing there.
"""

from __future__ import annotations

import ctypes
import datetime
import itertools
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.answers.column import plain
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.answers.column import Kind, Value, Values

NamedValues: TypeAlias = "tuple[str, Kind, Values]"

_NULLABLE = 2
_MOST_DIGITS = 38
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_EPOCH_TIME = datetime.datetime(1970, 1, 1)  # times without a zone are measured from here
_MICROSECOND = datetime.timedelta(microseconds=1)


class ArrowSchema(ctypes.Structure):
    """The C struct of that name."""


class ArrowArray(ctypes.Structure):
    """The C struct of that name."""


class ArrowArrayStream(ctypes.Structure):
    """The C struct of that name."""


_RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
_RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
_RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))
_GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))
_GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))
_GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))
_DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", _RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", _RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", _GET_SCHEMA),
    ("get_next", _GET_NEXT),
    ("get_last_error", _GET_ERROR),
    ("release", _RELEASE_STREAM),
    ("private_data", ctypes.c_void_p),
]

_KEPT: dict[int, Any] = {}  # what the consumer's structs point to, by their private_data
_numbers = itertools.count(1)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _DESTROY]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


class _Batch:
    """The columns of one stream, and whether they were handed out already."""

    def __init__(self, columns: Sequence[NamedValues]) -> None:
        self.columns = [_Encoded(*column) for column in columns]
        self.rows = len(columns[0][2])
        self.is_exported = False


class _Encoded:
    """One column in Arrow's layout."""

    def __init__(self, name: str, kind: Kind, values: Values) -> None:
        self.name = name.encode()
        self.rows = len(values)
        self.nulls = 0 if isinstance(values, np.ndarray) else sum(value is None for value in values)
        self.format, buffers = _encoded(name, kind, values)
        validity = None
        if self.nulls and kind != "nothing":
            validity = _bits(np.array([value is not None for value in plain(values)]))
        self.buffers: list[Any] = [] if kind == "nothing" else [validity, *buffers]


def stream(columns: Sequence[NamedValues]) -> object:
    """A capsule named `arrow_array_stream` over one batch with these columns."""
    exported = ArrowArrayStream(_C.get_schema, _C.get_next, _C.get_error, _C.release_stream, _keep(_Batch(columns)))
    address = ctypes.addressof(exported)
    _KEPT[-address] = exported  # the capsule points here; its destructor forgets it
    return _new_capsule(address, b"arrow_array_stream", _C.destroy)


def _keep(thing: object) -> int:
    number = next(_numbers)
    _KEPT[number] = thing
    return number


# -- encoding -------------------------------------------------------------------------------------------------


def _encoded(name: str, kind: Kind, values: Values) -> tuple[bytes, list[Any]]:
    if kind == "integer":
        return _integers(name, values)
    if kind == "float":
        return b"g", [_filled(values, np.float64, float)]
    if kind == "truth":
        return b"b", [_bits(np.array([bool(value) for value in plain(values)], dtype=np.bool_))]
    if kind == "date":
        return b"tdD", [_filled(values, np.int32, lambda day: day.toordinal() - _EPOCH)]
    if kind == "text":
        return b"u", _texts(plain(values))
    if kind == "time":
        return _times(name, plain(values))
    return (b"n", []) if kind == "nothing" else _decimals(name, plain(values))


def _integers(name: str, values: Values) -> tuple[bytes, list[Any]]:
    if isinstance(values, np.ndarray) and values.dtype != np.uint64:
        return b"l", [values.astype(np.int64)]
    listed = plain(values)
    if all(value is None or -(2**63) <= value < 2**63 for value in listed):  # type: ignore[operator]  # (whole numbers, by their kind)
        return b"l", [_filled(listed, np.int64, int)]
    return _decimals(name, listed)


def _filled(values: Values, dtype: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(values, np.ndarray):
        return values.astype(dtype)
    return np.array([0 if value is None else convert(value) for value in values], dtype=dtype)


def _texts(values: tuple[Value, ...]) -> list[Any]:
    encoded = [b"" if value is None else str(value).encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    if offsets[-1] >= 2**31:
        raise InvalidParameter("text", int(offsets[-1]), "bytes in one column are too many for one batch")
    return [offsets.astype(np.int32), np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)]


def _times(name: str, values: tuple[Value, ...]) -> tuple[bytes, list[Any]]:
    times = [value for value in values if isinstance(value, datetime.datetime)]
    aware = {value.tzinfo is not None for value in times}
    if len(aware) > 1:
        raise InvalidParameter(name, "times", "have a time zone in some rows and none in others")
    zone = b"UTC" if True in aware else b""

    def microseconds(value: datetime.datetime) -> int:
        naive = value.astimezone(datetime.UTC).replace(tzinfo=None) if zone else value
        return (naive - _EPOCH_TIME) // _MICROSECOND

    return b"tsu:" + zone, [_filled(values, np.int64, microseconds)]


def _decimals(name: str, values: tuple[Value, ...]) -> tuple[bytes, list[Any]]:
    exact = [Decimal(0) if value is None else Decimal(value) for value in values]  # type: ignore[arg-type]  # (numbers, by their kind)
    if not all(value.is_finite() for value in exact):
        raise InvalidParameter(name, "a decimal", "is not finite")
    scale = max([0, *(-int(value.as_tuple().exponent) for value in exact)])
    steps = [int(value.as_integer_ratio()[0] * 10**scale // value.as_integer_ratio()[1]) for value in exact]
    if any(abs(step) >= 10**_MOST_DIGITS for step in steps):
        raise InvalidParameter(name, "a number", "has more than 38 digits", hint="read it with answer.to_dict()")
    packed = b"".join(step.to_bytes(16, "little", signed=True) for step in steps)
    return f"d:{_MOST_DIGITS},{scale}".encode(), [np.frombuffer(packed or bytes(16), dtype=np.uint8)]


def _bits(flags: Any) -> Any:
    packed = np.packbits(flags, bitorder="little")
    return packed if packed.size else np.zeros(1, dtype=np.uint8)


# -- what the consumer calls ----------------------------------------------------------------------------------


def _fill_schema(schema: Any, layout: bytes, name: bytes, children: Sequence[_Encoded]) -> None:
    structs = (ArrowSchema * max(1, len(children)))()
    pointers = (ctypes.POINTER(ArrowSchema) * max(1, len(children)))()
    for index, child in enumerate(children):
        _fill_schema(structs[index], child.format, child.name, ())
        pointers[index] = ctypes.pointer(structs[index])
    schema.format, schema.name, schema.metadata = layout, name, None
    schema.flags = 0 if children else _NULLABLE
    schema.n_children = len(children)
    schema.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(ArrowSchema)))
    schema.dictionary = None
    schema.release = _C.release_schema
    schema.private_data = _keep((layout, name, structs, pointers))


def _fill_array(array: Any, rows: int, nulls: int, buffers: Sequence[Any], children: Sequence[_Encoded]) -> None:
    structs = (ArrowArray * max(1, len(children)))()
    pointers = (ctypes.POINTER(ArrowArray) * max(1, len(children)))()
    for index, child in enumerate(children):
        _fill_array(structs[index], child.rows, child.nulls, child.buffers, ())
        pointers[index] = ctypes.pointer(structs[index])
    addresses = (ctypes.c_void_p * max(1, len(buffers)))()
    for index, buffer in enumerate(buffers):
        addresses[index] = None if buffer is None else buffer.ctypes.data
    array.length, array.null_count, array.offset = rows, nulls, 0
    array.n_buffers, array.n_children = len(buffers), len(children)
    array.buffers = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
    array.children = ctypes.cast(pointers, ctypes.POINTER(ctypes.POINTER(ArrowArray)))
    array.dictionary = None
    array.release = _C.release_array
    array.private_data = _keep((structs, pointers, addresses, list(buffers)))


def _get_schema(exported: Any, out: Any) -> int:
    _fill_schema(out.contents, b"+s", b"", _KEPT[exported.contents.private_data].columns)
    return 0


def _get_next(exported: Any, out: Any) -> int:
    batch = _KEPT[exported.contents.private_data]
    if batch.is_exported or not batch.rows:
        out.contents.release = _RELEASE_ARRAY()
    else:
        _fill_array(out.contents, batch.rows, 0, [None], batch.columns)
        batch.is_exported = True
    return 0


def _released(struct: Any, empty: Any) -> None:
    """Free what a struct points to: its children first, unless the consumer has moved them elsewhere."""
    for index in range(getattr(struct, "n_children", 0)):
        child = struct.children[index]
        if child and child.contents.release:
            child.contents.release(child)
    _KEPT.pop(struct.private_data, None)
    struct.release = empty


def _destroy(capsule: int) -> None:
    """When the capsule is destroyed, release the stream unless a consumer took it over, and forget its address."""
    address = _capsule_pointer(capsule, b"arrow_array_stream")
    exported = _KEPT.pop(-address)
    if exported.release:
        exported.release(ctypes.pointer(exported))


class _Functions:
    """The functions above as C sees them.

    A consumer may release memory while the interpreter shuts down, after this module is gone: they are never freed.
    """

    def __init__(self) -> None:
        self.get_schema = _GET_SCHEMA(_get_schema)
        self.get_next = _GET_NEXT(_get_next)
        self.get_error = _GET_ERROR(lambda _exported: None)
        self.release_schema = _RELEASE_SCHEMA(lambda struct: _released(struct.contents, _RELEASE_SCHEMA()))
        self.release_array = _RELEASE_ARRAY(lambda struct: _released(struct.contents, _RELEASE_ARRAY()))
        self.release_stream = _RELEASE_STREAM(lambda struct: _released(struct.contents, _RELEASE_STREAM()))
        self.destroy = _DESTROY(_destroy)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


_C = _Functions()
