"""How wrong the tables of a synthetic table are predicted to be: those that were measured, and those that were not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giveortake.plot.theme import COLOURS, altair, finished

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 40  # tables; of more some are shown, in equal steps
_NAMES = {True: "measured", False: "not measured (≥)"}


def predicted_errors(tables: Sequence[tuple[str, bool, float]], *, title: str | None = None) -> Any:
    """The predicted total variation distance of every table, least first: its name, whether it was measured, and it.

    >>> type(gt.plot.predicted_errors([("age × sex", True, 0.01), ("age × town", False, 0.04)])).__name__
    'Chart'
    """
    alt = altair()
    ordered = sorted(tables, key=lambda table: (not table[1], table[2]))
    shown = ordered[:: max(1, math.ceil(len(ordered) / _MOST))]
    rows = [{"table": name, "error": error, "how": _NAMES[measured]} for name, measured, error in shown]
    ways = list(_NAMES.values())
    scale = alt.Scale(domain=ways, range=[COLOURS[2], COLOURS[1]])
    shapes = alt.Scale(domain=ways, range=["circle", "triangle-right"])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("error:Q", title="predicted total variation distance", scale=alt.Scale(zero=True)),
            y=alt.Y(
                "table:N", title=None, sort=[name for name, _, _ in shown], axis=alt.Axis(labelLimit=260, grid=True)
            ),
            color=alt.Color("how:N", title=None, sort=ways, scale=scale),
            shape=alt.Shape("how:N", title=None, sort=ways, scale=shapes),
        )
    )
    measured = sum(each for _, each, _ in ordered)
    said = f"Predicted errors: {measured} of {len(ordered)} tables were measured"
    return finished(chart, title or said).properties(height=max(120, 18 * len(shown)))
