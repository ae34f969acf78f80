"""Samples of anything that answers: a million outputs on one input.

A mechanism of ours is released in bulk where it can be. A function that takes an argument named `size` is asked for
that many independent answers at once; any other function is called once for each answer. An error that the function
raises is an answer too: that it happened, and of which type, is visible to whoever asks.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.mechanisms import Mechanism, RandomizedResponse
from giveortake.mechanisms.additive import AdditiveNoise

Outputs: TypeAlias = "np.ndarray[Any, Any] | list[Any]"
Sampler: TypeAlias = Callable[[Any, int], Outputs]
Progress: TypeAlias = "bool | Callable[[int, int], None]"

_CHUNK, _SMALL_CHUNK = 1 << 16, 1 << 10


def sampler(mechanism: Any) -> Sampler:
    """A function that draws many independent outputs on one input."""
    if isinstance(mechanism, AdditiveNoise):
        return lambda x, n: _bulk(mechanism, x, n)
    if isinstance(mechanism, RandomizedResponse):
        return lambda x, n: mechanism.release([x] * n)
    if isinstance(mechanism, Mechanism):
        return lambda x, n: [mechanism.release(x) for _ in range(n)]
    if not callable(mechanism):
        raise InvalidParameter("mechanism", mechanism, "is neither a mechanism nor a function of the data")
    if _takes_size(mechanism):
        return lambda x, n: mechanism(x, size=n)
    return lambda x, n: [_answer(mechanism, x) for _ in range(n)]


def drawn(mechanism: Any, x: Any, samples: int, report: Callable[[int], None] | None = None) -> Outputs:
    """`samples` independent outputs on one input, in chunks; `report` is called with the size of each."""
    draw = sampler(mechanism)
    count = whole("samples", samples)
    vectorised = isinstance(mechanism, AdditiveNoise | RandomizedResponse) or (
        not isinstance(mechanism, Mechanism) and _takes_size(mechanism)
    )
    chunk = _CHUNK if vectorised else _SMALL_CHUNK
    parts: list[Outputs] = []
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        part = draw(x, size)
        if len(part) != size:
            raise InvalidParameter("mechanism", mechanism, f"gave {len(part)} outputs where {size} were asked for")
        parts.append(part)
        if report is not None:
            report(size)
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind in "biuf"]
    if len(arrays) == len(parts) and len({(part.dtype, part.shape[1:]) for part in arrays}) == 1:
        return np.concatenate(arrays)  # of one type only: a common type may round away how they differ
    return [output for part in parts for output in part]


@final
class Bar:
    """A progress bar: calls a function with (done, total), or draws one line on standard error."""

    __slots__ = ("_call", "_done", "_shown", "_total")

    def __init__(self, progress: Progress, total: int) -> None:
        self._call = progress if callable(progress) else _draw if progress else None
        self._done, self._shown, self._total = 0, -1, total

    def add(self, count: int) -> None:
        """Count `count` more as done, and show the progress if its percentage has changed."""
        self._done += count
        percent = 100 * self._done // max(1, self._total)
        if self._call is not None and percent != self._shown:
            self._shown = percent
            self._call(self._done, self._total)


def _draw(done: int, total: int) -> None:
    filled = 32 * done // max(1, total)
    end = "\n" if done >= total else ""
    sys.stderr.write(f"\r{'█' * filled}{'░' * (32 - filled)} {done:,} of {total:,} samples{end}")
    sys.stderr.flush()


def _bulk(mechanism: AdditiveNoise, x: Any, n: int) -> Outputs:
    if np.ndim(x) == 0:
        released = mechanism.release(np.full(n, x) if isinstance(x, int | np.integer) else [x] * n)
    else:
        flat = np.asarray(x).ravel()
        released = mechanism.release(np.tile(flat, n)).reshape(n, flat.size)
    return np.asarray(released)


def _takes_size(function: Callable[..., Any]) -> bool:
    try:
        return "size" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions may have no signature
        return False


@final
class Raised:
    """The answer of a mechanism that raised an error: the type, not the text, which `observations` compares."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and type(self.error) is type(other.error)

    def __hash__(self) -> int:
        return hash(type(self.error))

    def __repr__(self) -> str:
        return f"<raised {type(self.error).__name__}>"


def _answer(mechanism: Callable[[Any], Any], x: Any) -> Any:
    try:
        return mechanism(x)
    except Exception as error:  # noqa: BLE001 (whatever it raises is what the asker sees)
        return Raised(error)


def error_of(outputs: Outputs) -> Exception | None:
    """The first error, if there is nothing but errors."""
    listed = [] if isinstance(outputs, np.ndarray) else outputs
    raised = [output for output in listed if isinstance(output, Raised)]
    return raised[0].error if raised and len(raised) == len(listed) else None
