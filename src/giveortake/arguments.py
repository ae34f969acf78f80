"""Errors for arguments that are missing, misspelt or passed without their name, like those for other mistakes."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from giveortake.errors import HIDDEN, InvalidParameter, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

TO_SAVE: Mapping[str, str] = dict.fromkeys(  # hints for functions that draw charts
    ("save", "path", "file", "filename"), 'plot("chart.svg") saves the picture; .png and .html do, too'
)
NO_STYLE = "plot takes title= alone; it gives an Altair chart: answer.plot().properties(width=600)"


def told_by_name(
    missing: Mapping[str, str] = MappingProxyType({}),
    *,
    beyond: str | None = None,
    elsewhere: Mapping[str, str] = MappingProxyType({}),
    unknown: str | None = None,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Refuse a call that lacks an argument, has one too many or one without its name; `missing` has hints.

    A function that takes `**terms` checks their names itself; the first is ε. `beyond` is the hint for too many
    arguments without a name, if it is not to name them; `elsewhere` has hints for names that belong to another call,
    and `unknown` is the hint for all other names.

    >>> told_by_name()(lambda *, epsilon: epsilon)(0.1)
    Traceback (most recent call last):
    giveortake.errors.InvalidParameter: epsilon takes its value by name
    <BLANKLINE>
      hint: write <lambda>(epsilon=…)
    """

    def decorated(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        parameters = inspect.signature(function).parameters
        kinds = {name: parameter.kind for name, parameter in parameters.items()}
        is_open = inspect.Parameter.VAR_KEYWORD in kinds.values()
        known = [name for name in parameters if name != "self"]
        by_place = [name for name, kind in kinds.items() if kind < inspect.Parameter.VAR_POSITIONAL]
        by_name = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY and name != "key"]

        most = sys.maxsize if inspect.Parameter.VAR_POSITIONAL in kinds.values() else len(by_place)

        def spoken(args: tuple[object, ...]) -> str:
            is_constructor = function.__name__ == "__init__"
            return type(args[0]).__name__ if is_constructor else function.__qualname__.rpartition(".")[2]

        @wraps(function)
        def called(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            for name in kwargs:
                if name not in parameters and not is_open:
                    hint = elsewhere.get(name) or unknown or f"{did_you_mean(name, known)}known: {', '.join(known)}"
                    raise InvalidParameter(name, HIDDEN, f"is unknown to {spoken(args)}", hint=hint)
            twice = [name for name in by_place[: len(args)] if name in kwargs]
            if len(args) > most or twice:
                unnamed = [name for name in by_name if name not in kwargs]
                words = (unnamed or by_name or ["epsilon"] * (is_open and beyond is None))[: max(len(args) - most, 0)]
                example = ", ".join([*["…"][: len({*by_place} - {"self"})], *(f"{word}=…" for word in words)])
                hint = beyond or f"write {spoken(args)}({example if words else ', '.join(known)})"
                if twice:
                    raise InvalidParameter(twice[0], None, "takes one value, and has two", hint=hint)
                if words:
                    raise InvalidParameter(words[0], None, "takes its value by name", hint=hint)
                problem = "takes its values by name" if is_open else f"takes {' and '.join(known)}, and no more"
                raise InvalidParameter(spoken(args), None, problem, hint=hint)
            present = {*by_place[: len(args)], *kwargs}
            for name, hint in missing.items():
                if name not in present:
                    raise InvalidParameter(name, None, "is missing", hint=hint)
            return function(*args, **kwargs)

        return called

    return decorated
