"""Caches that belong to whoever asks.

How long an analyst waits must not tell what another has asked. A cache of the process that is keyed by spends or by
questions would tell. So results are cached for the asker who is being served: every session holds a `Cache` of its own,
and `serving` names the one to use. Outside of sessions there is one cache for the process.

`functools.lru_cache` is for functions whose arguments no analyst can choose.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_MISSING = object()


@final
class Cache:
    """The latest results of `cached` functions, for one asker. Threads may share it."""

    def __init__(self) -> None:
        self._results: dict[Callable[..., Any], OrderedDict[Hashable, Any]] = {}
        self._lock = Lock()

    def get(self, function: Callable[..., Any], key: Hashable) -> Any:
        """The result of a function for these arguments, or a placeholder."""
        with self._lock:
            results = self._results.get(function)
            if results is None or key not in results:
                return _MISSING
            results.move_to_end(key)
            return results[key]

    def put(self, function: Callable[..., Any], key: Hashable, result: Any, size: int) -> None:
        """Store a result; the least recently used one goes when there are more than `size`."""
        with self._lock:
            results = self._results.setdefault(function, OrderedDict())
            results[key] = result
            if len(results) > size:
                results.popitem(last=False)


_current: ContextVar[Cache] = ContextVar("cache", default=Cache())  # noqa: B039 (one for the process is meant)


@contextmanager
def serving(cache: Cache) -> Iterator[None]:
    """Use this cache, which is the asker's, until the block ends."""
    token = _current.set(cache)
    try:
        yield
    finally:
        _current.reset(token)


def cached(size: int) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Cache the latest `size` results of a function of hashable arguments, for each asker apart.

    >>> calls = []
    >>> @cached(2)
    ... def square(number):
    ...     calls.append(number)
    ...     return number**2
    >>> ann, ben = Cache(), Cache()
    >>> for cache in (ann, ann, ben):
    ...     with serving(cache):
    ...         _ = square(3)
    >>> calls
    [3, 3]
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @wraps(function)
        def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            cache = _current.get()
            key = (args, tuple(kwargs.items())) if kwargs else args
            result = cache.get(function, key)
            if result is _MISSING:
                result = function(*args, **kwargs)
                cache.put(function, key, result, size)
            return result  # type: ignore[no-any-return]  # (of this function)

        return call

    return decorate
