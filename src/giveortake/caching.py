"""Caches of results, one for each session.

How long an analyst waits must not tell what another has asked. A cache of the process that is keyed by spends or by
questions would tell. So every session holds a `Cache` of its own, and `serving` names the one to use. Outside of
sessions there is one cache for the process.

`functools.lru_cache` is for functions whose arguments no analyst can choose.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@final
class Cache:
    """The latest results of `cached` functions, for one session. Threads may share it."""

    def __init__(self) -> None:
        self._functions: dict[Callable[..., Any], Callable[..., Any]] = {}

    def remembering(self, function: Callable[_Parameters, _Result], size: int) -> Callable[_Parameters, _Result]:
        """The function with its latest results."""
        own = self._functions.get(function)
        return self._functions.setdefault(function, lru_cache(size)(function)) if own is None else own


_current: ContextVar[Cache] = ContextVar("cache", default=Cache())  # noqa: B039 (one for the process is meant)


@contextmanager
def serving(cache: Cache) -> Iterator[None]:
    """Use this cache, which is a session's, until the block ends."""
    token = _current.set(cache)
    try:
        yield
    finally:
        _current.reset(token)


_Class = TypeVar("_Class", bound=type)


def served(kind: _Class) -> _Class:
    """Let every public method and property of a class use the cache of the mechanism that its instances hold."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(kind, name, _served(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(_served(member.fget), doc=member.__doc__))
    return kind


def _served(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with serving(self._mechanism.cache):
            return method(self, *args, **kwargs)

    return call


def cached(size: int) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Cache the latest `size` results of a function of hashable arguments, for each session apart.

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
            return _current.get().remembering(function, size)(*args, **kwargs)

        return call

    return decorate
