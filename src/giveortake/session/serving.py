"""Whoever asks is served from a cache of their own (`giveortake.caching`)."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from giveortake.caching import serving

if TYPE_CHECKING:
    from collections.abc import Callable

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
