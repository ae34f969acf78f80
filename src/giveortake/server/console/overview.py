"""The pages of data sets: what there is, what is left, what may be asked; and what ε means for each."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake import accounting, codec
from giveortake.accounting.filters import METERS
from giveortake.errors import GiveOrTakeError
from giveortake.exact import decimal, percent
from giveortake.privacy import ApproxDP, Guarantee, PureDP
from giveortake.privacy.events import Event
from giveortake.privacy.guarantee import PRIORS, beliefs
from giveortake.server import analyst_routes
from giveortake.server.console.charts import attacker_chart, belief_chart, burn_chart, group_chart
from giveortake.server.console.login import notice_of
from giveortake.server.console.views import asking_for, at, page, patiently, standing_view
from giveortake.server.responses import Refusal
from giveortake.server.routes import Call, Result, Route

if TYPE_CHECKING:
    from giveortake.plot.svg import Markup

_DRAWN = 200  # charges of one data set, at most
_EPSILONS = tuple(map(Fraction, ("0.01", "0.1", "0.5", "1", "2", "5")))
_MOST_DIGITS = 6  # of a percentage


async def datasets(call: Call) -> Result:
    """The page with a card for every data set that the caller may ask."""
    cards = await asyncio.gather(*(_card(call, name) for name in call.who.datasets))
    if call.who.analyst is not None:
        charges = await _charges(call)
        for card in cards:
            card["burned"] = _burned(card, charges)
    return await asyncio.to_thread(page, call, "datasets.html", here="datasets", dataset=None, cards=cards)


async def _card(call: Call, name: str) -> dict[str, Any]:
    try:
        outline: Any = await patiently(analyst_routes.outline, at(call, path={"dataset": name}))
    except Refusal as refused:
        return {"name": name, "notice": notice_of(refused)}
    standing = standing_view(outline["standing"])
    return {**outline, "name": name, "notice": None, "standing": standing, "burned": None, "described": outline}


async def _charges(call: Call) -> list[Any] | None:
    """The caller's charges, in order; None if they are too many, or cannot be read."""
    releases: list[Any] = []
    for name in call.who.datasets:
        try:
            document: Any = await patiently(
                analyst_routes.releases, asking_for(call, {"dataset": name}, limit=_DRAWN, order="newest")
            )
        except Refusal:
            return None
        if document["more"]:
            return None
        releases += document["releases"]
    paid = (release for release in releases if not release["free"])
    return [codec.read(Event, release["event"]) for release in sorted(paid, key=lambda release: str(release["at"]))]


def _burned(card: dict[str, Any], charges: list[Any] | None) -> Markup | None:
    """The chart of a budget as it burned down: the same charges again, in a filter of the same promise.

    It is drawn only if it ends where the ledger says that the budget stands.
    """
    standing = (card.get("described") or {}).get("standing") or {}
    if not charges or standing.get("promise") is None:
        return None
    budget = codec.read(Guarantee, standing["promise"])
    for meter in (None, *(METERS if isinstance(budget, ApproxDP) else ())):  # that the custodian may have fixed
        used = []
        with suppress(GiveOrTakeError):
            guard = accounting.filter(budget, meter=meter)
            for event in charges:
                guard.charge(event)
                used.append(float(guard.share))
            if abs(used[-1] - float(standing.get("share") or 0.0)) <= 1e-6:
                return burn_chart(used, card["name"])
    return None


async def meaning(call: Call) -> Result:
    """The page of what the promises mean, for the caller's own answers and for all answers together."""
    outline: Any = await patiently(analyst_routes.outline, at(call))
    promises = []
    if call.who.analyst is not None and outline["promise"] is not None:
        promises.append(_explained(codec.read(Guarantee, outline["promise"]), "All that you may ever ask, together"))
    if outline["promise_to_all"] is not None:
        promises.append(
            _explained(codec.read(Guarantee, outline["promise_to_all"]), "All that anybody may ever ask, together")
        )
    unit = outline["unit"] or "row"
    return page(call, "meaning.html", here="meaning", dataset=call.path["dataset"], promises=promises, who_is=unit)


def _explained(promise: Guarantee, title: str) -> dict[str, Any]:
    epsilon = getattr(promise, "epsilon", None)
    pure_promises = [PureDP(number) for number in sorted({*_EPSILONS} - {epsilon})]
    rows = [("this promise", [_between(promise, prior) for prior in PRIORS])]
    rows += [
        (f"ε = {decimal(pure.epsilon, 4)}, pure", [_between(pure, prior) for prior in PRIORS]) for pure in pure_promises
    ]
    return {
        "whose": title,
        "paragraphs": promise.explain().paragraphs,
        "belief": belief_chart(promise),
        "attacker": attacker_chart(promise),
        "group": group_chart(promise),
        "priors": [percent(prior) for prior in PRIORS],
        "rows": rows,
    }


def _between(promise: Guarantee, prior: Fraction) -> str:
    bounds = None
    with suppress(GiveOrTakeError):
        bounds = beliefs(promise, prior)
    return "anything" if bounds is None else percents(bounds[0], bounds[1])


def percents(low: Fraction, high: Fraction) -> str:
    """Two shares, rounded outwards, with as many digits (up to 6) as keep them from 0 % and 100 %.

    >>> percents(Fraction("0.0571"), Fraction("0.999252")), percents(Fraction(1, 4), Fraction(3, 4))
    ('5.71–99.93 %', '25.0–75.0 %')
    """
    digits = 1
    while digits < _MOST_DIGITS and (
        0 < low < Fraction(1, 100 * 10**digits) or 0 < 1 - high < Fraction(1, 100 * 10**digits)
    ):
        digits += 1
    unit = 10**digits
    below, above = math.floor(100 * low * unit), math.ceil(100 * high * unit)
    return f"{below / unit:.{digits}f}–{above / unit:.{digits}f} %"


ROUTES = (
    Route("GET", "/", "analyst", "cards of all data sets", datasets, page=True),
    Route("GET", "/meaning/{dataset}", "analyst", "what ε means", meaning, page=True),
)
