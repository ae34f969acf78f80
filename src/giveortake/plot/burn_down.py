"""What is left of budgets, charge by charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from giveortake.errors import InvalidParameter
from giveortake.plot.theme import COLOURS, DASHES, altair, finished

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


class Budgets(Protocol):
    """What a chart needs of a ledger."""

    def levels(self) -> Sequence[Any]:
        """Every level: its number, its kind and its name."""

    def burn_down(self) -> dict[int, list[tuple[int, Fraction]]]:
        """For the number of each level, how much of its budget was used after which entry."""


def burn_down(ledger: Budgets) -> Any:
    """A chart of what was left of every budget in a ledger after every charge.

    >>> with gt.ledger.open(":memory:") as book:
    ...     people = book.population("people", budget=gt.PureDP(1))
    ...     type(gt.plot.burn_down(book)).__name__
    'Chart'
    """
    alt = altair()
    used = ledger.burn_down()
    levels = [level for level in ledger.levels() if level.number in used]
    if not levels:
        raise InvalidParameter("ledger", ledger, "has no budget that anything was charged to")
    last = max(number for level in levels for number, _ in used[level.number])
    rows: list[dict[str, Any]] = []
    for level in levels:
        points = [(number, float(1 - share)) for number, share in used[level.number]]
        points.append((last, points[-1][1]))  # the line goes on to the last entry
        rows += [{"entry": number, "left": left, "level": f"{level.kind} {level.name}"} for number, left in points]
    names = [f"{level.kind} {level.name}" for level in levels]
    legend = alt.Legend(title=None, symbolStrokeWidth=2, symbolSize=400, labelLimit=260)
    colours = alt.Scale(domain=names, range=[COLOURS[place % len(COLOURS)] for place in range(len(names))])
    dashes = alt.Scale(domain=names, range=[list(DASHES[place % len(DASHES)]) for place in range(len(names))])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("entry:Q", title="entry of the ledger", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("left:Q", title="left of the budget", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("level:N", scale=colours, legend=legend, sort=names),
            strokeDash=alt.StrokeDash("level:N", scale=dashes, legend=legend, sort=names),
        )
    )
    return finished(chart, "What is left of each budget")
