"""Charts, drawn with altair: imported when first used, never by `import giveortake`."""

from giveortake.plot.intervals import intervals

__all__ = ["intervals"]
