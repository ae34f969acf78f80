"""Charts: Altair, loaded when the first one is drawn, saved as SVG, PNG or HTML without a browser."""

from giveortake.plot.curves import (
    accuracy,
    burn_down,
    caps,
    composition,
    groups,
    posterior,
    predicted_errors,
    profile,
    save_explanation,
    tradeoff,
    uncertainty,
    workloads,
)
from giveortake.plot.intervals import intervals, panels
from giveortake.plot.theme import save, titled_or_saved

__all__ = [
    "accuracy",
    "burn_down",
    "caps",
    "composition",
    "groups",
    "intervals",
    "panels",
    "posterior",
    "predicted_errors",
    "profile",
    "save",
    "save_explanation",
    "titled_or_saved",
    "tradeoff",
    "uncertainty",
    "workloads",
]
