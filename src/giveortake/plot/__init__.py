"""Charts: Altair, loaded when the first one is drawn, saved as SVG, PNG or HTML without a browser."""

from giveortake.plot.burn_down import burn_down
from giveortake.plot.caps import caps
from giveortake.plot.chart_files import save, titled_or_saved
from giveortake.plot.intervals import intervals, panels
from giveortake.plot.poll_figures import poll_beliefs, uncertainty
from giveortake.plot.promise_charts import accuracy, composition, groups, posterior, profile, save_explanation, tradeoff
from giveortake.plot.tables import predicted_errors, workloads

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
