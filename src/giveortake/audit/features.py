"""What an attacker can look at in an output: numbers, and labels.

Whatever a mechanism returns becomes columns of numbers (one for a scalar, one for each coordinate of a vector, one for
each key of a table) and a label (a small value itself, the keys of a table). What is missing is not-a-number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.audit.sampling import Outputs

Column: TypeAlias = "npt.NDArray[np.float64]"
Labels: TypeAlias = "Callable[[int, int], list[Hashable] | Column]"

_MOST_COLUMNS, _WIDEST_LABEL = 64, 12


@final
class View:
    """Outputs as columns of numbers with their names, and as labels, which are made only where they are asked for."""

    __slots__ = ("_labels", "_start", "columns", "size")

    def __init__(self, columns: dict[str, Column], labels: Labels, size: int, start: int = 0) -> None:
        self.columns = columns
        self.size = size
        self._labels = labels
        self._start = start

    def labels(self, most: int | None = None) -> list[Hashable] | Column:
        """The labels of all outputs, or of the first so many; none if outputs of this kind have no labels."""
        count = self.size if most is None else min(most, self.size)
        return self._labels(self._start, self._start + count)

    def part(self, start: int, stop: int) -> View:
        """Some of the outputs."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return View(columns, self._labels, stop - start, self._start + start)


def view(outputs: Outputs) -> View:
    """Outputs of any kind as numbers and labels."""
    if isinstance(outputs, np.ndarray) and outputs.dtype != object:
        return _array_view(outputs)
    listed = list(outputs)
    if all(_is_number(output) for output in listed):
        return _array_view(np.array([float(output) for output in listed]))
    if all(isinstance(output, Mapping) for output in listed):
        return _table_view(listed)
    if all(_is_row(output) for output in listed):
        return _row_view(listed)
    return View({}, lambda i, j: [_label(output) for output in listed[i:j]], len(listed))


def _array_view(outputs: npt.NDArray[Any]) -> View:
    numbers = outputs.astype(np.float64)
    if numbers.ndim == 1:
        return View({"output": numbers}, lambda start, stop: numbers[start:stop], len(numbers))
    flat = numbers.reshape(len(numbers), -1)
    columns = {f"output[{i}]": np.ascontiguousarray(flat[:, i]) for i in range(min(flat.shape[1], _MOST_COLUMNS))}

    def labels(start: int, stop: int) -> list[Hashable]:
        return list(map(tuple, flat[start:stop].tolist())) if flat.shape[1] <= _WIDEST_LABEL else []

    return View(columns, labels, len(numbers))


def _table_view(outputs: list[Any]) -> View:
    keys = sorted({key for output in outputs for key in output}, key=repr)
    columns = {
        f"output[{key!r}]": np.array([_number(output.get(key)) for output in outputs]) for key in keys[:_MOST_COLUMNS]
    }
    columns["number of keys"] = np.array([float(len(output)) for output in outputs])
    return View(columns, lambda i, j: [frozenset(map(_label, output)) for output in outputs[i:j]], len(outputs))


def _row_view(outputs: list[Any]) -> View:
    width = max((len(output) for output in outputs), default=0)
    columns = {
        f"output[{i}]": np.array([_number(output[i]) if i < len(output) else np.nan for output in outputs])
        for i in range(min(width, _MOST_COLUMNS))
    }
    columns["length"] = np.array([float(len(output)) for output in outputs])
    return View(columns, lambda i, j: [tuple(map(_label, output)) for output in outputs[i:j]], len(outputs))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | list | np.ndarray)


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else np.nan


def _label(value: Any) -> Hashable:
    if isinstance(value, np.ndarray | list):
        return tuple(map(_label, value))
    if isinstance(value, Mapping):
        return frozenset((_label(key), _label(item)) for key, item in value.items())
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value if value == value else "nan"  # noqa: PLR0124 (not-a-number is one label, not many)
