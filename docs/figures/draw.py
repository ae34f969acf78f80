"""Draw the figures of the documentation again: `python docs/figures/draw.py` in an environment with `[plot]`."""

from __future__ import annotations

from pathlib import Path

from giveortake.local.figures import posterior_figure, uncertainty_figure

if __name__ == "__main__":
    folder = Path(__file__).parent
    posterior_figure().save(folder / "poll-posterior.png", scale_factor=1.3)
    uncertainty_figure().save(folder / "poll-uncertainty.png", scale_factor=1.3)
