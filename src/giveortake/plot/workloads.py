"""How sure every table of a workload is, beside an equal split of the same promise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giveortake.plot.theme import COLOURS, altair, finished

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 40  # tables; of more the quantiles are shown
_NAMES = {"sd": "planned together", "equal_sd": "an equal split"}


def workloads(lines: Sequence[dict[str, Any]], *, title: str | None = None) -> Any:
    """The standard deviation of a cell of every table, surest first; of many tables, that of some in equal steps.

    >>> from importlib.resources import files
    >>> visits = files("giveortake") / "data" / "visits.csv"
    >>> known = {"region": ["north", "east"], "reason": ["pain", "cough"]}
    >>> s = gt.protect(visits, unit="person_id", budget=gt.ZCDP(1), domains=known, rows_per_person=4)
    >>> quote = s.workload(gt.workload.marginals(["region", "reason"])).quote(rho="1/10")
    >>> type(gt.plot.workloads(quote.lines)).__name__
    'Chart'
    """
    alt = altair()
    ordered = sorted((line for line in lines if line["of"] == "n"), key=lambda line: line["sd"])
    step = max(1, math.ceil(len(ordered) / _MOST))
    shown = ordered[::step]
    names = [" × ".join(line["table"]) or "total" for line in shown]
    rows = [
        {"table": name, "sd": line[each], "way": told}
        for name, line in zip(names, shown, strict=True)
        for each, told in _NAMES.items()
    ]
    ways = list(_NAMES.values())
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("sd:Q", title="standard deviation of a cell, in rows", scale=alt.Scale(zero=True)),
            y=alt.Y("table:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, grid=True)),
            color=alt.Color(
                "way:N", title=None, sort=ways, scale=alt.Scale(domain=ways, range=[COLOURS[2], COLOURS[1]])
            ),
            shape=alt.Shape("way:N", title=None, sort=ways, scale=alt.Scale(domain=ways, range=["circle", "diamond"])),
        )
    )
    rms = [math.sqrt(sum(line[each] ** 2 for line in ordered) / len(ordered)) for each in _NAMES]
    said = f"{len(ordered):,} tables: sd of a cell {rms[0]:,.4g}, by an equal split {rms[1]:,.4g} (rms)"
    if step > 1:
        said += f"; one in {step} is drawn"
    return finished(chart, title or said).properties(height=max(120, 18 * len(shown)))
