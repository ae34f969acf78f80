"""Draw the figures of the documentation again: `python docs/figures/draw.py` in an environment with `[plot]`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import altair as alt

from giveortake.local.figures import posterior_figure, uncertainty_figure


def growth_figure(growth: list[dict[str, Any]]) -> alt.HConcatChart:
    """Seconds on Spark while one thing grows; `giveortake bench engines` measures them."""
    charts = []
    for what in dict.fromkeys(each["what"] for each in growth):
        values = [each for each in growth if each["what"] == what]
        chart = (
            alt.Chart(alt.Data(values=values), width=210, height=190)
            .mark_line(point=True)
            .encode(
                x=alt.X("size:Q", scale=alt.Scale(type="log"), title=what, axis=alt.Axis(format="~s", tickCount=4)),
                y=alt.Y("seconds:Q", scale=alt.Scale(type="log", domain=[1, 100]), title="seconds"),
            )
        )
        charts.append(chart)
    return alt.hconcat(*charts)


if __name__ == "__main__":
    folder = Path(__file__).parent
    posterior_figure().save(folder / "poll-posterior.png", scale_factor=1.3)
    uncertainty_figure().save(folder / "poll-uncertainty.png", scale_factor=1.3)
    growth_figure(json.loads((folder / "growth.json").read_text(encoding="utf-8"))).save(
        folder / "growth.png", scale_factor=1.5
    )
