"""Draw the figures of the documentation again: `python docs/figures/draw.py` in an environment with `[plot]`."""

from __future__ import annotations

import datetime as dt
import doctest
import json
import math
from pathlib import Path
from typing import Any

import altair as alt

import giveortake as gt
from giveortake.answers import Answer, Column
from giveortake.answers.terms import Caps
from giveortake.local.poll import posterior_figure, uncertainty_figure


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


def invented(keys: list[Any], name: str, values: list[float], margins: list[float], cut: float | None) -> Answer:
    """An answer as a session gives it, of invented numbers; of the rows that caps cut at most so many are known."""
    low = [value - margin for value, margin in zip(values, margins, strict=True)]
    high = [value + margin for value, margin in zip(values, margins, strict=True)]
    return Answer(
        [
            Column(name, keys),
            Column("n", values, low, high, open_sides=(False, True))
            if cut is None
            else Column("n", values, low, [end + cut for end in high], noise=(low, high)),
        ],
        guarantee=gt.PureDP("0.5"),
        cost=gt.PureDP("0.5"),
        caps=Caps(rows_per_person=4),
    )


def answers() -> dict[str, Answer]:
    """One answer for each form of its chart."""
    days = [dt.date(2024, 1, 1) + dt.timedelta(day) for day in range(366)]
    wave = [900 + 250 * math.sin(day / 58) + 25 * math.cos(day * 2.4) for day in range(366)]
    ages = list(range(20, 90, 5))
    regions = ["north", "east", "south", "west", "coast", "islands"]
    return {
        "answer_days": invented(days, "day", wave, [55.0] * 366, 130),
        "answer_numbers": invented(
            ages, "age", [1200 - 0.6 * (age - 42) ** 2 for age in ages], [90.0] * len(ages), None
        ),
        "answer_categories": invented(regions, "region", [810, 1240, 640, 1015, 330, 120], [70.0] * 6, 180),
        "answer_unbounded": invented(
            regions, "region", [1.1, 0.9, 1.4, 0.7, 2.2, 3.0], [0.3, 0.2, 0.5, 0.2, math.inf, 1.9], 0.2
        ),
    }


def late_figure() -> Any:
    """The shapes of docs/how-to-learn.md: its first examples, run."""
    page = (Path(__file__).parents[1] / "how-to-learn.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page):
        if "shown" not in names:
            exec(compile(example.source, "how-to-learn.md", "single"), names)  # noqa: S102 (a page of this checkout)
    names["s"].close()
    return names["shown"]


if __name__ == "__main__":
    folder = Path(__file__).parent
    late_figure().save(folder / "learn-late.png", scale_factor=1.3)
    for name, answer in answers().items():
        gt.plot.save(answer.plot(), folder.parent / "gallery" / f"{name}.svg")
    gt.plot.save(posterior_figure(), folder / "poll-posterior.svg")
    gt.plot.save(uncertainty_figure(), folder / "poll-uncertainty.svg")
    growth_figure(json.loads((folder / "growth.json").read_text(encoding="utf-8"))).save(
        folder / "growth.png", scale_factor=1.5
    )
