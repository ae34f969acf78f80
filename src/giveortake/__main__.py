"""`python -m giveortake` is the same as `giveortake`."""

import sys


def main() -> int:
    """Run the command line. Ctrl-C while it is still being loaded is an interruption like any other."""
    try:
        from giveortake.cli import main as run  # noqa: PLC0415 (it takes a moment)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was charged by this call\n")
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
