"""Arguments that are missing or misspelt, told as every other mistake is."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from giveortake.errors import HIDDEN, InvalidParameter, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def told_by_name(
    missing: Mapping[str, str],
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Refuse a call that lacks an argument, or has one too many, by its name; `missing` are hints for the required.

    A function that takes any further words, `**terms`, tells itself which of them it knows.
    """

    def decorated(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        parameters = inspect.signature(function).parameters
        is_open = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
        known = [name for name in parameters if name != "self"]

        @wraps(function)
        def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            for name in kwargs:
                if name not in parameters and not is_open:
                    raise InvalidParameter(
                        name, HIDDEN, "is unknown", hint=f"{meant(name, known)}known: {', '.join(known)}"
                    )
            given = {*list(parameters)[: len(args)], *kwargs}
            for name, hint in missing.items():
                if name not in given:
                    raise InvalidParameter(name, None, "is missing", hint=hint)
            return function(*args, **kwargs)

        return called

    return decorated


def require_here(source: object) -> None:
    """Refuse the session, or the question, of a service where rows have to be at hand."""
    if getattr(source, "is_remote", False):
        raise InvalidParameter(
            "session",
            type(source).__name__,
            "is a remote session, and this needs the rows",
            hint="the custodian can run it on gt.protect(…); s.sql(…), s.batch(…) and s.workload(…) work here",
        )
