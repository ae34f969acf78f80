"""What an attacker can look at in an output: numbers, and a label.

Every number and every label is a function of one output alone, whatever the outputs beside it are; otherwise an event
would mean one thing on the pilot sample and another on fresh ones, and a bound would mean nothing. Which columns
there are (one for a scalar, one for each coordinate of a vector, one for each key of a table) is fixed by the pilot
sample and never changes after it. What an output does not have is not-a-number there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.audit.sampling import Outputs

Floats: TypeAlias = "npt.NDArray[np.float64]"
Labels: TypeAlias = "Callable[[int, int], list[Hashable] | npt.NDArray[Any]]"
Layout: TypeAlias = "Mapping[str, Callable[[Any], float]]"  # the name of a column, and how to read it off one output

_MOST_COLUMNS = 64
_NUMERIC = "biuf"  # kinds of arrays whose elements are real numbers
_PLAIN = frozenset({bool, int, str, bytes})  # types whose equal values are written alike


@final
class View:
    """Outputs as columns of numbers with their names, and as labels, which are made only where they are asked for."""

    __slots__ = ("_labels", "_start", "columns", "size")

    def __init__(self, columns: dict[str, Floats], labels: Labels, size: int, start: int = 0) -> None:
        self.columns = columns
        self.size = size
        self._labels = labels
        self._start = start

    def labels(self, most: int | None = None) -> list[Hashable] | npt.NDArray[Any]:
        """The labels of all outputs, or of the first `most`; for an array of numbers, the numbers themselves."""
        count = self.size if most is None else min(most, self.size)
        return self._labels(self._start, self._start + count)

    def part(self, start: int, stop: int) -> View:
        """Some of the outputs."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return View(columns, self._labels, stop - start, self._start + start)


def layout(*samples: Outputs) -> Layout:
    """The columns of these outputs, of all kinds that occur among them."""
    found: dict[str, Callable[[Any], float]] = {}
    widths: set[int] = set()
    sizes: set[int] = set()
    keys: dict[Hashable, None] = {}
    scalar = False
    for outputs in samples:
        if _is_numeric(outputs):
            scalar = scalar or outputs.ndim == 1
            widths |= {math.prod(outputs.shape[1:])} if outputs.ndim > 1 else set()
            continue
        for output in outputs:
            scalar = scalar or _is_number(output)
            if isinstance(output, Mapping):
                sizes.add(len(output))
                keys.update(dict.fromkeys(output))
            elif _is_row(output):
                widths.add(len(_coordinates(output)))
    if scalar:
        found["output"] = _number
    for place in range(min(_MOST_COLUMNS, max(widths, default=0))):
        found[f"output[{place}]"] = _Item(place)
    for key in sorted(keys, key=repr)[:_MOST_COLUMNS]:
        found[f"output[{key!r}]"] = _Item(key)
    if len(widths) > 1:
        found["length"] = _length
    if len(sizes) > 1:
        found["number of keys"] = _keys
    return found


def view(outputs: Outputs, columns: Layout | None = None) -> View:
    """Outputs of any kind as numbers and labels, in the columns of a pilot sample, or in their own."""
    columns = layout(outputs) if columns is None else columns
    if _is_numeric(outputs):
        return _array_view(outputs, columns)
    listed = list(outputs)
    found = {name: np.array([read(output) for output in listed], dtype=np.float64) for name, read in columns.items()}
    return View(found, lambda start, end: [label(output) for output in listed[start:end]], len(listed))


@final
class Label(NamedTuple):
    """An output by its type and by how it is written: 1, 1.0 and True are three, as they are to a reader."""

    kind: type
    written: Hashable

    def __repr__(self) -> str:
        is_text = isinstance(self.written, str) and self.kind is not str
        return str(self.written) if is_text else repr(self.written)


def label(output: Any) -> Hashable:
    """The label of an output, which outputs share that nobody can tell apart; of a table, its keys."""
    return frozenset(map(_label, output)) if isinstance(output, Mapping) else _label(output)


def _array_view(outputs: npt.NDArray[Any], columns: Layout) -> View:
    """What `view` makes of a list of the elements, but quicker."""
    size = len(outputs)
    if outputs.ndim == 1:
        numbers = outputs.astype(np.float64)
        found = {name: numbers if name == "output" else np.full(size, np.nan) for name in columns}
        return View(found, lambda start, stop: outputs[start:stop], size)
    flat = outputs.reshape(size, -1)
    found = {}
    for name, read in columns.items():
        place = read.key if isinstance(read, _Item) else None
        if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < flat.shape[1]:
            found[name] = flat[:, place].astype(np.float64)
        else:
            found[name] = np.full(size, float(flat.shape[1]) if name == "length" else np.nan)

    return View(found, lambda start, stop: list(map(_array_label, outputs[start:stop])), size)


def distinct(numbers: npt.NDArray[Any]) -> tuple[list[Any], npt.NDArray[np.intp], list[int]]:
    """The different numbers of an array, zeros by their signs; which of them each is; and how often they occur."""
    by_bits = numbers.dtype.kind == "f" and numbers.itemsize <= 8
    bits = numbers.view(f"u{numbers.itemsize}") if by_bits else numbers
    _, first, places, counts = np.unique(bits, return_index=True, return_inverse=True, return_counts=True)
    return numbers[first].tolist(), places, counts.tolist()


@final
class _Item:
    """Reads one coordinate of a vector, or one key of a table."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key

    def __call__(self, output: Any) -> float:
        if isinstance(output, Mapping):
            return _number(output.get(self.key))
        if not _is_row(output) or not isinstance(self.key, int) or isinstance(self.key, bool):
            return math.nan
        row = _coordinates(output)
        return _number(row[self.key]) if 0 <= self.key < len(row) else math.nan


def _length(output: Any) -> float:
    return float(len(_coordinates(output))) if _is_row(output) else math.nan


def _keys(output: Any) -> float:
    return float(len(output)) if isinstance(output, Mapping) else math.nan


def _is_numeric(outputs: Any) -> TypeGuard[npt.NDArray[Any]]:
    return isinstance(outputs, np.ndarray) and outputs.ndim > 0 and outputs.dtype.kind in _NUMERIC


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal | np.bool_) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in _NUMERIC
    )


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | list) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _coordinates(row: Any) -> Any:
    return row.reshape(-1) if isinstance(row, np.ndarray) else row


def _number(value: Any) -> float:
    if not _is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond all doubles
        return math.inf if value > 0 else -math.inf


def _label(value: Any) -> Hashable:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        value = value.item()  # the same, whether it comes in an array or alone
    if isinstance(value, np.ndarray):
        return _array_label(value)
    kind: Any = type(value)
    if isinstance(value, tuple | list):
        return Label(kind, tuple(map(_label, value)))
    if isinstance(value, Mapping):
        return Label(kind, frozenset((_label(key), _label(item)) for key, item in value.items()))
    if isinstance(value, set | frozenset):
        return Label(kind, frozenset(map(_label, value)))
    if kind in _PLAIN or (kind.__repr__ is object.__repr__ and kind.__hash__ is not None):
        return Label(kind, value)  # the repr of such objects is only their place in memory
    return Label(kind, repr(value))


def _array_label(value: npt.NDArray[Any]) -> Label:
    """By its elements and its shape, which the brackets show unless there are no elements."""
    return Label(np.ndarray, repr(value.tolist()) if value.size else f"[] of shape {value.shape}")
