"""How much of a whole budget was used over time, although its filter may guard only the rest beside allotments."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.ledger.allotments import part_of
from giveortake.ledger.promises import promise_from_json
from giveortake.privacy import ApproxDP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from giveortake.ledger.entries import Entry
    from giveortake.privacy import Guarantee


def used_of_whole(
    used: Mapping[int, list[tuple[int, Fraction]]], history: Iterable[Entry]
) -> dict[int, list[tuple[int, Fraction]]]:
    """Return `Ledger.burn_down` for whole budgets: what was set aside for analysts counts as used too."""
    guarded = dict(_guarded(history))
    found: dict[int, list[tuple[int, Fraction]]] = {}
    for level, points in used.items():
        part = Fraction(1)
        found[level] = []
        for number, share in points:
            part = guarded.get((level, number), part)
            found[level].append((number, 1 - part * (1 - share)))
    return found


def _guarded(history: Iterable[Entry]) -> Iterator[tuple[tuple[int, int], Fraction]]:
    """Yield, for each (level, entry) that changes it, the part of the level's budget that its filter guards."""
    budgets: dict[int, Guarantee] = {}
    for entry in history:
        content = entry.content
        if content.get("budget") is not None:
            level = content.get("level", entry.number)
            budgets[level] = promise_from_json(content["budget"])
            yield (level, entry.number), _part(budgets[level], content)
        for above, taken in content.get("above", {}).items():
            if "rest" in taken:
                yield (int(above), entry.number), _part(budgets[int(above)], taken)


def _part(budget: Guarantee, stated: Mapping[str, Any]) -> Fraction:
    """The part of a budget that is the stated rest; all of it if none is stated."""
    if not isinstance(budget, ApproxDP) or "rest" not in stated:
        return Fraction(1)
    return part_of(budget, promise_from_json(stated["rest"]))
