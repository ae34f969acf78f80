"""Every check of the project, in the order in which they fail fastest. Run it with the project's own Python."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

CHECKS = {
    "lint": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "types": ["mypy"],
    "layers": ["lint-imports"],
    "tests and doctests": ["pytest", "--numprocesses=2", "--dist=loadgroup", "--quiet"],
}


def main() -> int:
    """Run the checks one after another and stop at the first that fails."""
    root = Path(__file__).resolve().parent
    tools = Path(sys.executable).parent
    for name, (tool, *arguments) in CHECKS.items():
        started = time.monotonic()
        print(f"── {name}", flush=True)
        code = subprocess.run([tools / tool, *arguments], cwd=root, check=False).returncode
        print(f"   {'ok' if code == 0 else f'failed ({code})'} after {time.monotonic() - started:.0f} s", flush=True)
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
