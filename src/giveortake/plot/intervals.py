"""Points with their intervals, one line for each row of an answer."""

from __future__ import annotations

from typing import Any

_POINT, _LINE = "#222222", "#888888"  # told apart in grey
_ROW_HEIGHT = 22


def intervals(answer: Any) -> Any:
    """An altair chart of every estimate in an answer: a point for the value, a bar for the interval, by key."""
    import altair  # noqa: PLC0415 (heavy)

    estimates = [column for column in answer.columns if column.has_interval]
    keys = [column for column in answer.columns if not column.has_interval]
    labels = [" · ".join(str(key[row]) for key in keys) or str(row + 1) for row in range(len(answer))]
    charts = [_chart(altair, column, labels, " · ".join(key.name for key in keys)) for column in estimates]
    return charts[0] if len(charts) == 1 else altair.hconcat(*charts)


def _chart(altair: Any, column: Any, labels: list[str], title: str) -> Any:
    rows = [
        {"key": label, "value": value, "low": low, "high": high}
        for label, (value, low, high) in zip(labels, column.triples(), strict=True)
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("key:N", sort=None, title=title or None),
        tooltip=[altair.Tooltip(f"{name}:{'N' if name == 'key' else 'Q'}") for name in ("key", "value", "low", "high")],
    )
    bars = base.mark_rule(strokeWidth=4, color=_LINE).encode(x=altair.X("low:Q", title=column.name), x2="high:Q")
    points = base.mark_point(filled=True, size=60, color=_POINT, opacity=1).encode(x="value:Q")
    return (bars + points).properties(height=max(40, _ROW_HEIGHT * len(rows)), width=360)
