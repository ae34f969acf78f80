"""Quotes as JSON and back, without loss: a service writes them and a client reads them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.answers.terms import Confidence, LeftOut
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.privacy.documents import promise_from_json, promise_to_json

if TYPE_CHECKING:
    from giveortake.session.quote import Quote

FORMAT = 1


def to_json(quote: Quote) -> str:
    """A quote as JSON, for programs: numbers are doubles, and `exact` holds the exact fractions."""
    sure = quote.confidence
    document = {
        "format": FORMAT,
        "spend": quote.spend,
        "cost": repr(quote.cost),
        "promise": None if quote.cost is None else promise_to_json(quote.cost),
        "share": None if quote.share is None else float(quote.share),
        "margins": {name: _finite(margin) for name, margin in quote.margins.items()},
        "confidence": str(sure),
        "confidence_over": sure.over if isinstance(sure, Confidence) else "cell",
        "noise": quote.noise,
        "keys": quote.keys,
        "contributions": quote.contributions,
        "left_out": None if quote.left_out is None else quote.left_out.to_json(),
        "worthless": quote.worthless,
        "doubt": quote.doubt,
        "used_after": None if quote.used_after is None else float(quote.used_after),
        "remaining": _written(quote.remaining),
        "admitted": quote.admitted,
        "paid": quote.paid,
        "approval": quote.approval,
        "spans": quote.spans,
        "notes": list(quote.remarks),
        "advice": list(quote.advice),
        "exact": {
            "share": None if quote.share is None else str(quote.share),
            "used_after": None if quote.used_after is None else str(quote.used_after),
            "unbounded": [name for name, margin in quote.margins.items() if margin is not _finite(margin)],
        },
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> dict[str, Any]:
    """The fields of the quote that `to_json` wrote. Any other text is refused with one message."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise InvalidParameter("text", "the document", "was made by a later version", hint="upgrade giveortake")
        return _fields(document)
    except GiveOrTakeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError):
        raise InvalidParameter("text", "the document", "is not a quote in JSON, or a damaged one") from None


def _fields(document: dict[str, Any]) -> dict[str, Any]:
    unbounded, share, used = (document["exact"].get(name) for name in ("unbounded", "share", "used_after"))
    left_out, promise = document["left_out"], document["promise"]
    return {
        **{name: document[name] for name in ("spend", "noise", "keys", "contributions", "worthless", "admitted")},
        "cost": None if promise is None else promise_from_json(promise),
        "share": None if share is None else Fraction(share),
        "used_after": None if used is None else Fraction(used),
        "doubt": document.get("doubt"),
        "paid": bool(document.get("paid", False)),
        "approval": bool(document.get("approval", False)),
        "spans": {str(name): float(each) for name, each in document.get("spans", {}).items()},
        "margins": {name: math.inf if name in unbounded else each for name, each in document["margins"].items()},
        "confidence": Confidence(document["confidence"], document["confidence_over"]),
        "left_out": None if left_out is None else LeftOut.from_json(left_out),
        "remaining": _read(document["remaining"]),
        "remarks": tuple(map(str, document["notes"])),
        "advice": tuple(map(str, document["advice"])),
    }


def _finite(margin: float | str | None) -> float | str | None:
    return None if isinstance(margin, float) and not math.isfinite(margin) else margin


def _written(remaining: Any) -> Any:
    """What is left of the budget, for JSON: one number, or one for each account of a race."""
    if isinstance(remaining, dict):
        return {name: _written(each) for name, each in remaining.items()}
    return str(remaining) if isinstance(remaining, Fraction | int) else remaining


def _read(remaining: Any) -> Any:
    if isinstance(remaining, dict):
        return {name: _read(each) for name, each in remaining.items()}
    return Fraction(remaining) if isinstance(remaining, str) else remaining
