"""How a program is called: by its input, and with the coins that it asks for."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.verify.enumeration import Flip

_KNOWN = {"flip", "choose", "categorical", "until"}


def called(program: object) -> str:
    """The name of a program in error messages."""
    return str(getattr(program, "__name__", type(program).__name__))


def runner(program: Callable[..., Any]) -> Callable[[Any, Flip], Any]:
    """`program(x, flip)`, with `choose` and `categorical` as further arguments if it takes them.

    An argument named choose, categorical or until is filled by its name, others by position.
    """
    names = _positional(program)
    if len(names) <= 2:
        return program
    extras = names[2:]
    if any(extra not in {"choose", "categorical", "until"} for extra in extras):
        extras = ["choose", "categorical", "until"][: len(extras)]

    def run(x: Any, flip: Flip) -> Any:
        return program(x, flip, *(getattr(flip, extra) for extra in extras))

    return run


def require_coins(program: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with an input and coins."""
    try:
        inspect.signature(program).bind_partial(None, None)
    except TypeError:
        raise InvalidParameter(
            "program", called(program), "takes no coins", hint="def f(x, flip): return x if flip() else flip()"
        ) from None
    except ValueError:  # built-in functions may have no signature
        return


def takes_coins(program: Callable[..., Any]) -> bool:
    """Whether a function of one value also asks for coins."""
    return len(_positional(program)) >= 2


def _positional(program: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):  # built-in functions may have no signature
        return ["value"]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds and (p.default is p.empty or p.name in _KNOWN)]
