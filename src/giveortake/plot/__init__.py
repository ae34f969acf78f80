"""Charts, drawn with altair: imported when first used, never by `import giveortake`."""

from giveortake.plot.intervals import intervals
from giveortake.plot.polling import posterior, uncertainty

__all__ = ["intervals", "posterior", "uncertainty"]
