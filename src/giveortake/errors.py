"""Every exception that giveortake raises on purpose.

The text of an error may depend on parameters, schemas, plans and budgets; it never depends on protected rows.
An error ends in a hint when there is something the reader can do about it.
"""

from __future__ import annotations

__all__ = [
    "GiveOrTakeError",
    "InvalidParameter",
    "MechanismSpent",
    "MismatchedPromises",
    "NotFound",
    "SensitiveValue",
    "Unprovable",
]


class GiveOrTakeError(Exception):
    """The base of all errors raised by giveortake on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\n\n  hint: {hint}")


class Hidden:
    """Stands in an error for a value that must not be told."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


HIDDEN = Hidden()


class InvalidParameter(GiveOrTakeError, ValueError):
    """A parameter has a value that no guarantee can be proved for; nothing was drawn.

    Where the value is or may be data, `HIDDEN` is told instead.
    """

    def __init__(self, name: str, value: object, problem: str, *, hint: str | None = None) -> None:
        self.name = name
        self.value = value
        super().__init__(f"{name} = {_shortened(value)} {problem}", hint=hint)


class MismatchedPromises(GiveOrTakeError, ValueError):
    """Two promises protect different units, or count neighbours differently, and cannot be combined."""


class Unprovable(GiveOrTakeError, ValueError):
    """The statement that was asked for does not follow from the promise at hand."""


class NotFound(GiveOrTakeError, LookupError):
    """A file or folder that a command needs is not there."""


class MechanismSpent(GiveOrTakeError, RuntimeError):
    """A mechanism that answers only until its promise is used up was asked again."""


class SensitiveValue(GiveOrTakeError, TypeError):
    """Something other than a mechanism tried to look inside a protected value."""


def _shortened(value: object, limit: int = 60) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
