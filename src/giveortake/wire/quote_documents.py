"""Quotes as documents and back."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.answers.terms import LeftOut
from giveortake.privacy.documents import fraction, promise_from_json, promise_to_json, written
from giveortake.session.quotes import Quote
from giveortake.wire.standing_documents import amount_of

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee
    from giveortake.session.quotes import WorkloadQuote


def quote_document(quote: Quote | WorkloadQuote, standing: dict[str, Any]) -> dict[str, Any]:
    """A quote as a document, with its promise as numbers and the state of the asker's budget."""
    return {
        **json.loads(quote.to_json()),
        "promise": None if quote.cost is None else promise_to_json(quote.cost),
        "share_exactly": None if quote.share is None else written(Fraction(quote.share)),
        "standing": standing,
    }


def workload_quote_document(quote: WorkloadQuote, standing: dict[str, Any]) -> dict[str, Any]:
    """A quote of a workload as a document, with its caps as numbers."""
    return quote_document(quote, standing) | {"caps": None if quote.caps is None else quote.caps.to_json()}


def quote_of(document: dict[str, Any]) -> Quote:
    """The quote in a document."""
    left, used = document["left_out"], document["exact"]["used_after"]
    return Quote(
        cost=cost_of(document),
        spend=document["spend"],
        share=share_of(document),
        margins=document["margins"],
        noise=document["noise"],
        contributions=document["contributions"],
        keys=document["keys"],
        remaining=amount_of(document["standing"]["remaining"]),
        admitted=document["admitted"],
        confidence=Fraction(document["confidence"]),
        advice=tuple(document["advice"]),
        remarks=tuple(document["notes"]),
        left_out=None if left is None else LeftOut.from_json(left),
        worthless=document["worthless"],
        doubt=document["doubt"],
        used_after=None if used is None else Fraction(used),
        paid=document.get("paid", False),
        approval=document.get("approval", False),
        spans=document.get("spans", {}),
    )


def cost_of(document: dict[str, Any]) -> Guarantee | None:
    """The promise of the quoted answer; None if it has none."""
    return None if document["promise"] is None else promise_from_json(document["promise"])


def share_of(document: dict[str, Any]) -> Fraction | None:
    """How much of a fresh budget the quoted answer would take."""
    return None if document["share_exactly"] is None else fraction(document["share_exactly"])
