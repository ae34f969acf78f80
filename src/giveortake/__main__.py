"""`python -m giveortake` is the same as `giveortake`."""

import gc
import sys


def main() -> int:
    """Run the command line. Ctrl-C while it is still being loaded is an interruption like any other."""
    gc.set_threshold(1 << 16)  # what is imported is no garbage, and looking for some after each 700 takes a tenth
    try:
        from giveortake.cli import main as run  # noqa: PLC0415 (it takes a moment)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was charged by this call\n")
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
