"""Why a request was refused: a fixed list of causes, each with its status over HTTP and its error in Python.

A server turns an error into a cause and a client turns the cause into the same error, so that code which handles
`gt.errors.BudgetExceeded` of a local session handles that of a service too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake import errors
from giveortake.errors import GiveOrTakeError
from giveortake.hints import parameter, rendered

if TYPE_CHECKING:
    from giveortake.hints import Face


@final
@dataclass(frozen=True, slots=True)
class Cause:
    """A reason for a refusal: its HTTP status, and the error that a client raises."""

    name: str
    status: int
    error: type[GiveOrTakeError]
    message: str | None = None  # instead of the error's own message, which could reveal what the asker may not know
    hint: str | None = None
    retryable: bool = False  # whether the same request, with the same key, may be sent again


_KEY = "send the same request with the same key: it is charged once, and gives one answer"

_PRINTED = "tell the custodian: the service has printed why, where it was started"
_STRICT = "each name once, in double quotes; no comments, no NaN, and numbers of many digits as texts"

CAUSES = (
    # -- the guard: nothing that was sent is repeated
    Cause("unauthenticated", 401, errors.AccessDenied, "a valid token is needed", "Authorization: Bearer got_…"),
    Cause("role", 403, errors.AccessDenied, "this is for another role"),
    Cause("foreign_page", 403, errors.AccessDenied, "a page of another site asked for this"),
    Cause("revoked", 403, errors.AccessDenied, "the analyst was revoked", "the custodian can readmit them"),
    Cause("not_found", 404, errors.NotFound, "there is nothing here, or nothing for you"),
    Cause("method", 405, errors.InvalidParameter, "this method is not known here"),
    Cause("slow", 408, errors.Unavailable, "the request did not arrive in time", retryable=True),
    Cause("too_large", 413, errors.InvalidParameter, "the request is larger than 64 KB", "ask for less at once"),
    Cause("media_type", 415, errors.InvalidParameter, "the content type is not the expected one", "application/json"),
    Cause("not_json", 400, errors.InvalidParameter, "the body is not strict JSON", _STRICT),
    Cause("malformed", 400, errors.InvalidParameter),
    Cause("too_many", 429, errors.Unavailable, "too many requests", "wait a moment", retryable=True),
    # -- the session: the error's own message, which depends on question, schema and budget, never on rows
    Cause("refused", 422, errors.QueryRefused),
    Cause("invalid", 422, errors.InvalidParameter),
    Cause("unprovable", 422, errors.Unprovable),
    Cause("mismatched_promises", 422, errors.MismatchedPromises),
    Cause("unpriced", 402, errors.Unpriced),
    Cause("budget", 402, errors.BudgetExceeded),
    Cause("allowance", 402, errors.AllowanceExceeded),
    Cause("approval_required", 409, errors.ApprovalRequired),
    Cause("approval_denied", 409, errors.ApprovalDenied),
    Cause("key_conflict", 409, errors.IdempotencyConflict),
    Cause("table_changed", 409, errors.LedgerMismatch),
    Cause("closed", 409, errors.PopulationClosed),
    Cause("same_table", 409, errors.SameTable),
    Cause("spent", 409, errors.MechanismSpent),
    # -- failures of the service
    Cause("failed", 500, errors.QueryFailed),
    Cause("busy", 503, errors.LedgerBusy, "the ledger is busy", retryable=True),
    Cause("ledger", 503, errors.LedgerError, "the ledger cannot be used now", _PRINTED),
    Cause("overloaded", 503, errors.Unavailable, "no worker is free", "try again in a moment", retryable=True),
    Cause("worker_lost", 503, errors.Unavailable, "the worker was lost before it could answer", _KEY, retryable=True),
    Cause("draining", 503, errors.Unavailable, "the service is stopping", "try again in a moment", retryable=True),
    Cause("deadline", 504, errors.Unavailable, "the question took too long, and was ended", _KEY),
    Cause("internal", 500, GiveOrTakeError, "something went wrong here", _PRINTED),
)
_CLIENT = "hint_in_python"
BY_NAME = {cause.name: cause for cause in CAUSES}
_FIELDS = {  # further fields of an error, for programs
    "approval_required": {"request": "request"},
    "approval_denied": {"request": "request", "reason": "reason"},
    "failed": {"failure": "cause"},
}


def cause_of(error: GiveOrTakeError) -> Cause:
    """The cause of an error: that of its nearest class that has one."""
    for kind in type(error).__mro__:
        for cause in CAUSES:
            if cause.error is kind and kind is not GiveOrTakeError:
                return _SPOKEN.get(cause.name, cause)
    return BY_NAME["internal"]


_SPOKEN = {  # the first causes of these errors belong to the guard; a session that raises them means these
    "unauthenticated": BY_NAME["revoked"],
    "method": BY_NAME["invalid"],
    "slow": BY_NAME["overloaded"],
}


def document_of(cause: Cause, message: str | None = None, hint: str | None = None, **more: Any) -> dict[str, Any]:
    """The document of a refusal. If the cause has a message of its own, that of the error is left out."""
    texts = (message or cause.name, hint) if cause.message is None else (cause.message, cause.hint)
    return {"error": {"cause": cause.name, "message": texts[0], "hint": texts[1]} | more}


def refusal_of(error: GiveOrTakeError, face: Face = "python") -> tuple[Cause, dict[str, Any]]:
    """The cause of an error, and its document in the words of a face.

    The asker may use the Python client: the document also has the hint for Python, if that differs.
    """
    cause, message = cause_of(error), error.message
    if face == "console" and type(error) is errors.InvalidParameter:
        message = error.called(parameter(error.name, face))
    fields = {field: getattr(error, name) for field, name in _FIELDS.get(cause.name, {}).items()}
    hint = rendered(error.hint, face)
    if face == "service" and cause.message is None and error.hint != hint:
        fields[_CLIENT] = error.hint
    return cause, document_of(cause, message, hint, **fields)


_IN_PYTHON = {  # hints for clients, which pass an argument instead of a header
    "unauthenticated": 'gt.connect(…, token="got_…"); the custodian issues tokens, and they expire',
}


def error_of(content: Any) -> tuple[GiveOrTakeError, bool]:
    """The error that a refusal document means, and whether the same request may be sent again."""
    fields = content.get("error") if isinstance(content, dict) else None
    if not isinstance(fields, dict):
        return errors.Unavailable("the service answered with something else than giveortake does"), False
    cause = BY_NAME.get(str(fields.get("cause")), BY_NAME["internal"])
    hint = _IN_PYTHON.get(cause.name, fields.get(_CLIENT, fields.get("hint")))
    error = cause.error.__new__(cause.error)
    GiveOrTakeError.__init__(error, str(fields.get("message")), hint=None if hint is None else str(hint))
    for name, value in _error_attributes(cause, fields).items():
        setattr(error, name, value)
    return error, cause.retryable


def _error_attributes(cause: Cause, fields: dict[str, Any]) -> dict[str, Any]:
    """The further fields of an error, of which a refusal document has only some."""
    if issubclass(cause.error, errors.InvalidParameter):
        return {"name": "request", "value": errors.HIDDEN}
    if issubclass(cause.error, errors.BudgetExceeded):
        return {"cost": None, "remaining": None}
    return {name: fields.get(field) for field, name in _FIELDS.get(cause.name, {}).items()}
