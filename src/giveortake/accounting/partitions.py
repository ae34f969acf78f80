"""Parts of partitions inside a running total: what all parts of one partition cost together.

Theorem (parallel composition, exactly; [Har25], [Fre18, Thm 14] with its correction). Parts are disjoint, and one
unit has rows in at most m of them. Fix two neighbours. Under add-remove they differ in at most m parts, so that
releases from other parts have the same law on both; what differs is the composition, chosen as adaptively as may be,
of the releases from those m parts, and in every currency of a filter that costs the sum of what each part has cost so
far: at most the sum of the m largest parts. Under change-one a unit that stays where it was changes m parts, each by
a change-one step; one that moves leaves m parts and enters m others, each an add-remove step in 2m disjoint parts; in
between, a part that it stays in costs a change-one step and the others one add-remove step each, of which the former
is charged here with both. So the greater of the m largest change-one sums and the 2m largest add-remove sums bounds
the first two cases, and where m > 1 the mixed ones are bounded by charging each part the greater of its two sums, the
2m largest. A running total that always contains that much stays a filter: the pair of neighbours that an attacker
bets on sees costs that never exceed it, and zero for releases from parts that do not differ. ∎
"""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake.accounting import prices
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.accounting.currencies import Currency
    from giveortake.privacy import Neighbours
    from giveortake.privacy.events import InPart

Partition: TypeAlias = "tuple[int, int]"  # its number, and how many parts a unit touches
Sums: TypeAlias = "dict[int, tuple[int, int]]"  # of each part: its costs as `event` and as `added`
Parts: TypeAlias = "dict[Partition, Sums]"


def weight(sums: Sums, touched: int, neighbours: Neighbours) -> int:
    """What all parts of a partition cost together."""
    if neighbours == "add-remove":
        return sum(nlargest(touched, (single for single, _ in sums.values())))
    if touched > 1:
        return sum(nlargest(2 * touched, (max(pair) for pair in sums.values())))
    changed = max((single for single, _ in sums.values()), default=0)
    return max(changed, sum(nlargest(2, (added for _, added in sums.values()))))


def prices_of(event: InPart, currency: Currency, neighbours: Neighbours) -> tuple[int, int] | None:
    """What a release from a part costs in a currency, as `event` and as `added`; None if either has no price."""
    single = prices.price(event.event, currency, neighbours)
    added = prices.price(event.added, currency, "add-remove")
    return None if single is None or added is None else (single, added)


def failures_of(event: InPart, neighbours: Neighbours) -> tuple[int, int]:
    """The δ that a release from a part spends, as `event` and as `added`."""
    return prices.failure(event.event, neighbours), prices.failure(event.added, "add-remove")


def entered(parts: Parts, event: InPart, costs: tuple[int, int]) -> Sums:
    """The sums of a partition after one more release from one of its parts."""
    before = parts.get((event.partition, event.touched), {})
    single, added = before.get(event.part, (0, 0))
    return {**before, event.part: (single + costs[0], added + costs[1])}


def increase(parts: Parts, event: InPart, costs: tuple[int, int], neighbours: Neighbours) -> int:
    """How much more a partition costs after one more release from one of its parts."""
    before = parts.get((event.partition, event.touched), {})
    after = entered(parts, event, costs)
    return weight(after, event.touched, neighbours) - weight(before, event.touched, neighbours)


def to_json(parts: Parts) -> list[list[str | int]]:
    """The sums of all parts as snapshots store them, in grains."""
    return [
        [str(partition), touched, str(part), str(single), str(added)]
        for (partition, touched), sums in sorted(parts.items())
        for part, (single, added) in sorted(sums.items())
    ]


def from_json(content: object) -> Parts:
    """Read the sums that `to_json` wrote."""
    parts: Parts = {}
    try:
        listed: Any = content  # what is no list is refused below
        for partition, touched, part, single, added in listed:
            sums = parts.setdefault((int(partition), int(touched)), {})
            sums[int(part)] = int(single), int(added)
    except (TypeError, ValueError):
        raise InvalidParameter("snapshot", content, "does not hold the sums of parts") from None
    return parts
