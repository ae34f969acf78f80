"""`python -m giveortake` is the same as `giveortake`."""

import sys

from giveortake.cli import main

if __name__ == "__main__":
    sys.exit(main())
