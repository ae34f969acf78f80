"""Every exception that giveortake raises on purpose.

The text of an error may depend on parameters, schemas, plans and budgets; it never depends on protected rows.
An error ends in a hint when there is something the reader can do about it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


__all__ = [
    "AccessDenied",
    "AllowanceExceeded",
    "ApprovalDenied",
    "ApprovalRequired",
    "BudgetExceeded",
    "DamagedReports",
    "ForeignReports",
    "GiveOrTakeError",
    "IdempotencyConflict",
    "InvalidParameter",
    "LedgerBusy",
    "LedgerDamaged",
    "LedgerError",
    "LedgerForeign",
    "LedgerMismatch",
    "LedgerMissing",
    "LedgerRolledBack",
    "LedgerTooNew",
    "LedgerTooOld",
    "LedgerUnavailable",
    "MechanismSpent",
    "MismatchedPromises",
    "NotFitted",
    "NotFound",
    "PopulationClosed",
    "QueryFailed",
    "QueryRefused",
    "SameTable",
    "SensitiveValue",
    "Unavailable",
    "Unpriced",
    "Unprovable",
]


class GiveOrTakeError(Exception):
    """The base of all errors raised by giveortake on purpose."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\n\n  hint: {hint}")

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows of a refusal (a hook of IPython): the message and the hint, and no frames."""
        hint = [] if self.hint is None else [f"  hint: {self.hint}"]
        return [f"{type(self).__name__}: {self.message}", *hint]


class Hidden:
    """A placeholder in an error for a value that must not be shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hidden>"


HIDDEN = Hidden()
_ADDRESS = re.compile(r"://|\b[a-z][a-z0-9+.-]+:/|\bjdbc:|(password|passwd|pwd|secret|token)\s*=", re.IGNORECASE)


def safe_text(value: object) -> object:
    """The value as an error may show it: `HIDDEN` if it is or holds an address or a connection string.

    >>> safe_text("trips.csv"), safe_text(["postgresql://ann:secret@db"]), safe_text("host=db Password=secret")
    ('trips.csv', <hidden>, <hidden>)
    """
    return HIDDEN if _ADDRESS.search(_value_text(value)) else value


def _is_table(value: object) -> bool:
    """Whether a value is or holds a table of some library: a frame, a column, an array of several numbers."""
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_is_table, value))
    if isinstance(value, Mapping):
        return any(map(_is_table, value.values()))
    return getattr(value, "shape", ()) != () or hasattr(value, "__arrow_c_stream__")


def extra(name: str) -> str:
    """How to add an extra."""
    return package(f"'giveortake[{name}]'")


def package(name: str) -> str:
    """How to add a package."""
    return f"pip install {name}"


def did_you_mean(name: str, known: Iterable[str], quote: Callable[[str], str] = str) -> str:
    """The start of a hint if a name is probably a misspelt known one; empty if it resembles none.

    Names that differ only in case or blanks at the ends come first, then names that continue it. `quote` quotes names
    where that is needed.

    >>> did_you_mean("regoin", ["user_id", "region"]), did_you_mean("colour", ["user_id", "region"])
    ('did you mean `region`? ', '')
    >>> did_you_mean("loaned on", ["Loaner", " Loaned On"]), did_you_mean("Fee", ["Free", "Fee (EUR)"])
    ('did you mean ` Loaned On`? ', 'did you mean `Fee (EUR)`? ')
    """
    wanted, names = name.strip().casefold(), list(known)
    same = [candidate for candidate in names if candidate.strip().casefold() == wanted]
    longer = [
        candidate
        for candidate in names
        if len(wanted) >= _SHORTEST and _is_longer(candidate.strip().casefold(), wanted)
    ]
    folded = {candidate.strip().casefold(): candidate for candidate in reversed(names)}
    close = same or sorted(longer, key=len) or [folded[match] for match in get_close_matches(wanted, folded, n=1)]
    return f"did you mean `{quote(close[0])}`? " if close else ""


_SHORTEST = 3  # the least letters of a name that may be the beginning of another


def _is_longer(name: str, prefix: str) -> bool:
    """Whether a name adds further words to `prefix`: `fee` may mean `fee (EUR)`, but `note` not `notebook`."""
    return name.startswith(prefix) and not name[len(prefix) : len(prefix) + 1].isalnum()


def line_of(error: BaseException) -> str:
    """The module and line of an error, which say enough to find the mistake."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"


class InvalidParameter(GiveOrTakeError, ValueError):
    """A parameter has a value that no guarantee can be proved for; nothing was drawn.

    If the value is or may be data or an address, `HIDDEN` is shown instead; the content of a table never is.
    """

    def __init__(self, name: str, value: object, problem: str, *, hint: str | None = None) -> None:
        self.name = name
        self.value = safe_text(value)
        self.problem = problem
        super().__init__(self.named(name), hint=hint)

    def named(self, name: str) -> str:
        """What is wrong, where the parameter is called something else. Of what is missing no value is told."""
        if self.problem.startswith(("is missing", "takes ")):
            return f"{name} {self.problem}"
        return f"{name} = {_shortened(HIDDEN if _is_table(self.value) else self.value)} {self.problem}"

    def called(self, label: str) -> str:
        """The message with the parameter called something else; as it is if it was reworded since."""
        return self.named(label) if self.message == self.named(self.name) else self.message


class MismatchedPromises(GiveOrTakeError, ValueError):
    """Two promises protect different units, or count neighbours differently, and cannot be combined."""


class Unprovable(GiveOrTakeError, ValueError):
    """What was asked for does not follow from the promise or the record at hand."""


class NotFound(GiveOrTakeError, LookupError):
    """Something that was named does not exist, or is not the analyst's: a file, a table, a release, an analyst."""


class ForeignReports(GiveOrTakeError, ValueError):
    """Reports were made with other parameters than the survey that is to be estimated."""


class DamagedReports(GiveOrTakeError, ValueError):
    """A report could not have been made by the survey's randomiser."""


class MechanismSpent(GiveOrTakeError, RuntimeError):
    """A mechanism that answers only until its promise is used up was asked again."""


class NotFitted(GiveOrTakeError, ValueError, AttributeError):
    """A model was asked before it was fitted."""


class SensitiveValue(GiveOrTakeError, TypeError):
    """Something other than a mechanism tried to read a protected value."""


class QueryRefused(GiveOrTakeError, ValueError):
    """A question holds something that is not answered. No row was read, and nothing was charged."""


FailureCause: TypeAlias = Literal["memory", "time", "changed", "storage", "defect", "other"]


class QueryFailed(GiveOrTakeError, RuntimeError):
    """The engine gave up on a question that was charged; the charge stands.

    `cause` is all that is shown: memory or time ran out, the table changed while it was read, the answer could not be
    stored, an error came that no question should lead to (a defect), or something else. The engine's own message may
    quote rows, and is left out.
    """

    def __init__(self, message: str, *, cause: FailureCause = "other", hint: str | None = None) -> None:
        self.cause: FailureCause = cause
        super().__init__(message, hint=hint)


class BudgetExceeded(GiveOrTakeError):
    """A charge does not fit what is left of a budget. It was refused, and nothing has changed.

    `cost` and `remaining` are what the message says, for programs.
    """

    def __init__(self, message: str, *, cost: object = None, remaining: object = None, hint: str | None = None) -> None:
        self.cost = cost
        self.remaining = remaining
        super().__init__(message, hint=hint)


class Unpriced(BudgetExceeded):
    """An event has no price in the currency of a budget, however large the budget is. Nothing has changed."""


class Unavailable(GiveOrTakeError, ConnectionError):
    """A service cannot be reached, or did not answer in time. With the same key the same request is charged once."""


class LedgerError(GiveOrTakeError):
    """A ledger refused: nothing was released, and nothing was charged unless the error says so."""


class LedgerMissing(LedgerError, LookupError):
    """The ledger that a mark belongs to is missing. It is never re-created silently."""


class LedgerForeign(LedgerError, ValueError):
    """The file or schema is not a ledger, or not the ledger that the mark belongs to."""


class LedgerDamaged(LedgerError, RuntimeError):
    """The stored content contradicts its own hashes."""


class LedgerRolledBack(LedgerError, RuntimeError):
    """The ledger lacks entries that its mark remembers, like an old backup."""


class LedgerTooNew(LedgerError, RuntimeError):
    """A later version of giveortake wrote this ledger."""


class LedgerTooOld(LedgerError, RuntimeError):
    """A version of giveortake before 0.3 wrote this ledger."""


class LedgerBusy(LedgerError, TimeoutError):
    """Other writers held the ledger for too long, or its server was lost before a commit; try again."""


class LedgerUnavailable(LedgerError, OSError):
    """The ledger cannot be read or written now: read-only, full, or out of reach."""


class LedgerMismatch(LedgerError, ValueError):
    """Something was opened again with another budget, unit, domain or table than the ledger holds.

    `field` names what was registered otherwise, if it is that.
    """

    field: str | None = None

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        self.field = field
        super().__init__(message, hint=hint)


class SameTable(LedgerError, ValueError):
    """A table may be about people who are in the ledger already; the custodian has to say whose people they are."""


class IdempotencyConflict(LedgerError, ValueError):
    """The same idempotency key came with a different request."""


class AccessDenied(LedgerError, PermissionError):
    """The analyst has no access, for example after they were revoked. What belongs to others is `NotFound`."""


class AllowanceExceeded(LedgerError, PermissionError):
    """More questions have failed than are allowed, or more were asked than were granted. Nothing was charged."""


class ApprovalRequired(LedgerError, PermissionError):
    """The spend is large and waits for the custodian; `request` is the number to approve."""

    def __init__(self, message: str, *, request: int, hint: str | None = None) -> None:
        self.request = request
        super().__init__(message, hint=hint)


class ApprovalDenied(LedgerError, PermissionError):
    """The custodian has refused a large spend, for `reason`. Nothing was charged."""

    def __init__(self, message: str, *, request: int, reason: str, hint: str | None = None) -> None:
        self.request = request
        self.reason = reason
        super().__init__(message, hint=hint)


class PopulationClosed(LedgerError, RuntimeError):
    """After a restore it is unknown what was spent; the custodian has to set the budget again."""


def _shortened(value: object, limit: int = 60) -> str:
    text = _value_text(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _value_text(value: object) -> str:
    try:
        return _fraction(value) if isinstance(value, Fraction) else repr(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        return f"a very long {type(value).__name__}"


def _fraction(value: Fraction) -> str:
    """A number as people write it: a decimal with few digits if that is exact, else a fraction.

    >>> _fraction(Fraction(1)), _fraction(Fraction(1, 10**8)), _fraction(Fraction(1, 3))
    ('1', '1e-8', '1/3')
    """
    with suppress(OverflowError):
        mantissa, sign, exponent = f"{float(value):.6g}".partition("e")
        text = f"{mantissa}e{int(exponent)}" if sign else mantissa
        if Fraction(text) == value:
            return text
    return f"{value.numerator}/{value.denominator}"
