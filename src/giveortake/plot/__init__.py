"""Charts: Altair, loaded when the first one is drawn, saved as SVG, PNG or HTML without a browser."""

from giveortake.plot.accuracy import caps, predicted_errors, workloads
from giveortake.plot.guarantees import (
    accuracy,
    burn_down,
    composition,
    groups,
    poll_beliefs,
    posterior,
    profile,
    save_explanation,
    tradeoff,
    uncertainty,
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
    "poll_beliefs",
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
