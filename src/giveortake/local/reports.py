"""What respondents send: randomised answers, and the survey they belong to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.errors import DamagedReports, ForeignReports

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

_VERSION = 1


@final
class Reports:
    """Randomised answers to one survey: safe to send, to store and to publish.

    `survey` is the fingerprint of the parameters with which they were made. `data` holds one number for each report,
    or one row of bytes for reports that are many bits.
    """

    __slots__ = ("_labels", "data", "survey")

    def __init__(self, survey: str, data: np.ndarray[Any, np.dtype[Any]], labels: tuple[Hashable, ...] = ()) -> None:
        self.survey = survey
        self.data = data
        self._labels = labels

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return (self._shown(item) for item in self.data)

    def __getitem__(self, index: int) -> Any:
        return self._shown(self.data[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        found = self.data if not self._labels else np.array(self._labels)[self.data]
        return np.asarray(found, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.survey == other.survey and np.array_equal(self.data, other.data)

    def __hash__(self) -> int:
        return hash((self.survey, len(self)))

    def __repr__(self) -> str:
        return f"<{counted(len(self))} to survey {self.survey[:8]}>"

    def __add__(self, other: object) -> Reports:
        return joined([self, other]) if isinstance(other, Reports) else NotImplemented

    def to_json(self) -> str:
        """One JSON object: the survey's fingerprint and the reports, rows of bytes in hexadecimal."""
        listed = self.data.tolist() if self.data.ndim == 1 else [bytes(row).hex() for row in self.data]
        return json.dumps({"version": _VERSION, "survey": self.survey, "reports": listed})

    def with_data(self, data: np.ndarray[Any, np.dtype[Any]]) -> Reports:
        """Other reports to the same survey."""
        return Reports(self.survey, data, self._labels)

    def _shown(self, item: Any) -> Any:
        if self._labels:
            return self._labels[int(item)]
        return bytes(item).hex() if isinstance(item, np.ndarray) else int(item)


def counted(number: int) -> str:
    """How many reports, in words.

    >>> counted(1), counted(1700)
    ('1 report', '1,700 reports')
    """
    return f"{number:,} report{'' if number == 1 else 's'}"


def joined(parts: Sequence[Reports]) -> Reports:
    """All reports of several collections, which must belong to one survey."""
    first = parts[0]
    for part in parts:
        if part.survey != first.survey:
            raise ForeignReports(
                f"reports to survey {part.survey[:8]} cannot be joined with those to {first.survey[:8]}"
            )
    return first.with_data(np.concatenate([part.data for part in parts]))


def read_reports(text: str) -> tuple[str, list[Any]]:
    """The fingerprint and the reports in a JSON text, not yet checked against a survey."""
    try:
        document = json.loads(text)
        survey, listed = document["survey"], document["reports"]
    except (ValueError, TypeError, KeyError):
        raise DamagedReports("this is not a JSON object with a survey and its reports") from None
    if document.get("version") != _VERSION or not isinstance(survey, str) or not isinstance(listed, list):
        raise DamagedReports("these reports are in a form that this version does not know")
    return survey, listed


def as_array(listed: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """What a stranger sent as an array, without trusting that it is one."""
    try:
        return np.asarray(listed)
    except (ValueError, OverflowError):  # rows of different lengths, or numbers beyond all bounds
        raise DamagedReports("these are not reports", hint="pass what `randomize` returned") from None


def whole_numbers(listed: Any, below: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Reports that are numbers from 0 to below − 1; anything else was not made by the survey's randomiser."""
    found = as_array(listed)
    if found.size == 0:
        return np.zeros(0, dtype=np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DamagedReports("reports to this survey are whole numbers", hint="pass what `randomize` returned")
    if found.min() < 0 or found.max() >= below:
        raise DamagedReports(f"a report is not one of the numbers from 0 to {below - 1}")
    return found.astype(np.int64, copy=False)


def packed_rows(listed: Any, columns: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Reports that are rows of `columns` bits: bytes in an array, or texts in hexadecimal."""
    width = -(-columns // 8)
    if isinstance(listed, np.ndarray):
        rows = listed
    else:
        try:
            texts = [bytes.fromhex(item) for item in listed]
        except (ValueError, TypeError):
            raise DamagedReports("reports to this survey are rows of bits in hexadecimal") from None
        if any(len(text) != width for text in texts):
            raise DamagedReports(f"a report to this survey has {columns} bits")
        rows = np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(len(texts), width)
    if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] != width:
        raise DamagedReports(f"a report to this survey has {columns} bits")
    if columns % 8 and len(rows) and int(rows[:, -1].max()) >> (columns % 8):
        raise DamagedReports(f"a report to this survey has {columns} bits, and no bit after them is set")
    return rows
