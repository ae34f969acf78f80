"""Profiles that were released: found again, for free, by whoever's levels paid for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.ledger.spending import levels_of

if TYPE_CHECKING:
    from giveortake.ledger.chain import Draft


def profiles(draft: Draft, dataset: str, analyst: str | None, version: str) -> list[tuple[Any, str, Any]]:
    """The request, the id and the stored answer of each profile of this version, the newest first.

    Guarantee: one is found only if every level that the asker draws on has paid for it. What is made of a profile is
    post-processing for those levels, and for no other.
    """
    book = draft.book
    if dataset not in book.profiles:
        return []
    asked = book.dataset_for(dataset, analyst)
    own = {level.number for level in levels_of(book, asked, analyst)}
    payer = analyst if book.population(asked.population).allotted else None
    found: dict[int, tuple[Any, str, Any]] = {}
    for number in reversed(book.profiles[dataset]):
        reserved = book.reservations[number]
        paid = None if reserved.question is None else book.paid.get((payer, reserved.question))
        if reserved.version == version and paid is not None and own <= paid.levels and paid.answer not in found:
            request = draft.stored(number).content["request"]
            found[paid.answer] = request, reserved.id, draft.stored(paid.answer).content["answer"]
    return list(found.values())
