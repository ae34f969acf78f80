"""Traces that numbers, clocks and generators leave: low bits, time, and noise that comes twice."""

from __future__ import annotations

import os
import pickle
import time
import warnings
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.audit.attacks import layout, view
from giveortake.audit.bounds import drawn, epsilon_lower_bound
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.audit.bounds import LowerBound
    from giveortake.exact import Number

_LAST_BITS = 4
_DRAWS = 16
_PEEK = 200


def low_bits(
    mechanism: Any, x: Any, y: Any, *, samples: int = 100_000, confidence: Number = 0.95, delta: Number = 0
) -> LowerBound:
    """A lower bound of ε from the low bits of floating-point outputs alone [Mir12].

    Looks at which power of two every output is a multiple of, within its own binade, and at its last bits. For noise
    on a public lattice none of that depends on the value, and the bound is that of the noise's size at most.

    >>> import random
    >>> bound = gt.audit.low_bits(lambda value: value + random.random(), 0.0, 1.0, samples=2_000)
    >>> bound > 1  # sums of doubles tell what was added
    True
    """
    columns = layout(*(drawn(mechanism, end, _PEEK) for end in (x, y)))
    if not columns:
        raise InvalidParameter("mechanism", mechanism, "gives no numbers whose bits could be looked at")

    def traces(value: Any, size: int) -> npt.NDArray[np.float64]:
        outputs = view(drawn(mechanism, value, size), columns)
        return np.column_stack([column for numbers in outputs.columns.values() for column in _bits(numbers)])

    return epsilon_lower_bound(traces, x, y, samples=samples, confidence=confidence, delta=delta)


def timing(
    mechanism: Callable[[Any], Any],
    x: Any,
    y: Any,
    *,
    samples: int = 4000,
    confidence: Number = 0.95,
    clock: Callable[[], float] = time.perf_counter,
) -> LowerBound:
    """A lower bound of ε from how long an answer takes. The inputs take turns, so that slow phases of a machine cancel.

    A small positive bound on a busy machine means little; run it again. Nothing here is promised to be constant-time
    unless its documentation says so.

    >>> slower = lambda value: sum(range(20_000 * value))
    >>> gt.audit.timing(slower, 0, 1, samples=400).confidence
    0.95
    """
    waiting: dict[int, list[float]] = {0: [], 1: []}

    def seconds(input_index: int) -> float:
        if not waiting[input_index]:
            for side in (0, 1) if len(waiting[1 - input_index]) % 2 else (1, 0):
                started = clock()
                mechanism((x, y)[side])
                waiting[side].append(clock() - started)
        return waiting[input_index].pop()

    return epsilon_lower_bound(seconds, 0, 1, samples=samples, confidence=confidence)


@final
@dataclass(frozen=True, slots=True)
class Repetition:
    """Where the same noise came twice; nowhere if all is well."""

    where: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.where

    def __str__(self) -> str:
        return f"the same noise came again: {', '.join(self.where)}" if self.where else "no noise came twice"

    __repr__ = __str__


def repetition(mechanism: Any, x: Any) -> Repetition:
    """Whether noise repeats: in a row, in two threads, or in two forked children that share their parent's state.

    Sixteen draws of a mechanism with many outputs are compared as a whole. For a mechanism with few outputs pass a
    function that draws many.

    >>> print(gt.audit.repetition(lambda value: value, 1))
    the same noise came again: two runs in a row, two threads, two forked children
    """

    def draws() -> str:
        return repr(list(drawn(mechanism, x, _DRAWS)))

    runs = {"two runs in a row": (draws(), draws()), "two threads": _in_threads(draws)}
    if hasattr(os, "fork"):
        runs["two forked children"] = (_child(draws), _child(draws))
    return Repetition(tuple(where for where, (one, other) in runs.items() if one == other))


def _in_threads(draws: Callable[[], str]) -> tuple[str, str]:
    seen: list[str] = []
    threads = [Thread(target=lambda: seen.append(draws())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen[0], seen[1]


def _child(draws: Callable[[], str]) -> str:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what is being tried here
        process = os.fork()
    if process == 0:  # the child writes what it drew and leaves without cleaning up what belongs to its parent
        try:
            with os.fdopen(writing, "wb") as out:
                pickle.dump(draws(), out)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as back:
        content = back.read()
    os.waitpid(process, 0)
    return str(pickle.loads(content)) if content else ""  # noqa: S301 (our own child wrote it)


def _bits(column: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    """The power of two that each number is an odd multiple of, the same relative to its size, and its last bits."""
    words = np.ascontiguousarray(column).view(np.uint64)
    mantissa = words & np.uint64((1 << 52) - 1)
    zeros = np.where(mantissa == 0, 52, _trailing_zeros(mantissa))
    _, exponent = np.frexp(np.where(np.isfinite(column), column, 0.0))
    return [
        (exponent - 53 + zeros).astype(np.float64),
        zeros.astype(np.float64),
        (words & np.uint64((1 << _LAST_BITS) - 1)).astype(np.float64),
    ]


def _trailing_zeros(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    lowest = words & (~words + np.uint64(1))
    return np.log2(np.maximum(lowest.astype(np.float64), 1.0))
