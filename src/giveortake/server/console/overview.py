"""Data sets: what there is, what is left, what may be asked; and what ε means for each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.errors import GiveOrTakeError
from giveortake.exact import shown
from giveortake.privacy import PureDP
from giveortake.privacy.documents import promise_from_json
from giveortake.privacy.explaining import PRIORS, beliefs, percent_down, percent_up
from giveortake.server import asking
from giveortake.server.console.pages import at, page
from giveortake.server.console.promise_charts import attacker_chart, belief_chart, group_chart
from giveortake.server.console.states import told
from giveortake.server.console.views import standing_view
from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Result, Route

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee

_EPSILONS = tuple(map(Fraction, ("0.01", "0.1", "0.5", "1", "2", "5")))


async def datasets(call: Call) -> Result:
    """Cards of everything that the asker may ask."""
    cards = await asyncio.gather(*(_card(call, name) for name in call.who.datasets))
    only = cards[0]["name"] if len(cards) == 1 else None
    return page(call, "datasets.html", here="datasets", dataset=only, cards=cards)


async def _card(call: Call, name: str) -> dict[str, Any]:
    try:
        found: Any = await asking.dataset(at(call, path={"dataset": name}))
    except Refused as refused:
        return {"name": name, "told": told(refused)}
    return {**found, "name": name, "told": None, "standing": standing_view(found["standing"]), "burned": None}


async def meaning(call: Call) -> Result:
    """What the promises mean, for the asker's own answers and for all answers together."""
    found: Any = await asking.dataset(at(call))
    own = found["standing"].get("promise")
    everybody = found.get("promise")
    promises = []
    if own is not None and (call.who.analyst is not None or everybody is None):
        promises.append(_explained(promise_from_json(own), "All that you may ever ask, together"))
    if everybody is not None:
        promises.append(_explained(promise_from_json(everybody), "All that anybody may ever ask, together"))
    elif call.who.analyst is None and own is not None:
        promises = [_explained(promise_from_json(own), "All that anybody may ever ask, together")]
    unit = found["unit"] or "row"
    return page(
        call, "meaning.html", here="meaning", dataset=call.path["dataset"], promises=promises, who_is=unit
    )


def _explained(promise: Guarantee, whose: str) -> dict[str, Any]:
    epsilon = getattr(promise, "epsilon", None)
    others = [PureDP(each) for each in sorted({*_EPSILONS} - {epsilon})]
    rows = [("this promise", [_between(promise, prior) for prior in PRIORS])]
    rows += [(f"ε = {shown(each.epsilon, 4)}, pure", [_between(each, prior) for prior in PRIORS]) for each in others]
    return {
        "whose": whose,
        "paragraphs": promise.explain().paragraphs,
        "belief": belief_chart(promise),
        "attacker": attacker_chart(promise),
        "group": group_chart(promise),
        "priors": [f"{shown(100 * prior)} %" for prior in PRIORS],
        "rows": rows,
    }


def _between(promise: Guarantee, prior: Fraction) -> str:
    found = None
    with suppress(GiveOrTakeError):
        found = beliefs(promise, prior)
    return "anything" if found is None else f"{percent_down(found[0])[:-2]}–{percent_up(found[1])}"


ROUTES = (
    Route("GET", "/", "analyst", "cards of all data sets", datasets, page=True),
    Route("GET", "/meaning/{dataset}", "analyst", "what ε means", meaning, page=True),
)
