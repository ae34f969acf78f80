"""Every check of the project, in the order in which they fail fastest. Run it with the project's own Python.

Without arguments everything runs, as it does before a change is accepted: lint, format, types, layers, and all tests
and examples, with the time by room and the slowest twenty tests.

`--quick` is for the minute between two thoughts: lint, format, types, layers, and the tests and examples of some rooms,
on DuckDB and SQLite alone. Tests that are statistical or need a browser, a PostgreSQL server or Spark are left out.
Without rooms it takes those that differ from `main`, new files included.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parent
SOURCE, TESTS = ROOT / "src" / "giveortake", ROOT / "tests"
DOCS, REPOSITORY = "docs", "repository"  # rooms without code: the pages, and the rules that the project keeps
BENCHMARKS = "benchmarks"  # not part of the package
LINES = {
    "lint": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "types": ["mypy"],
    "layers": ["lint-imports"],
}
PYTEST = ["pytest", "--numprocesses=2", "--dist=loadgroup", "--quiet"]
NEEDY = "statistical or cluster or browser or postgres or spark"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # each: two processes have two cores already
MEMORY, ROOMY = Path("/dev/shm"), 4 << 30  # noqa: S108 (a folder of our own is made in it)
NO_TESTS = 5  # what pytest says if a room has none that are quick


def main() -> int:
    """Run the checks one after another and stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", nargs="*", metavar="ROOM", help=f"the rooms are {', '.join(rooms())}")
    chosen = parser.parse_args().quick
    unknown = sorted(set(chosen or ()) - set(rooms()))
    if unknown:
        parser.error(f"no room is called {', '.join(unknown)}; the rooms are {', '.join(rooms())}")
    tools = str(Path(sys.executable).parent)
    missing = [line[0] for line in (*LINES.values(), PYTEST) if which(line[0], path=tools) is None]
    if missing:
        print(f"{', '.join(dict.fromkeys(missing))} not found beside {sys.executable}: install '.[dev]' first")
        return 2
    started = time.monotonic()
    code = next((code for name, line in checks(chosen).items() if (code := run(name, line))), 0)
    print(f"── {'all well' if code == 0 else 'failed'} after {time.monotonic() - started:.0f} s", flush=True)
    return code


def checks(chosen: list[str] | None) -> dict[str, list[str]]:
    """What is run, by name: everything, or what is quick about some rooms."""
    if chosen is None:
        return {**LINES, "tests and examples": [*PYTEST, "--rooms", "--durations=20"]}
    found = chosen or touched_rooms()
    places = [str(path.relative_to(ROOT)) for room in found for path in places_of(room)]
    if not places:
        return {**LINES}
    return {**LINES, f"quick tests of {', '.join(found)}": [*PYTEST, "-m", f"not ({NEEDY})", *places]}


def run(name: str, line: list[str]) -> int:
    """Run one tool of this interpreter's environment; 0 if all is well."""
    started = time.monotonic()
    print(f"── {name}", flush=True)
    command = [str(Path(sys.executable).parent / line[0]), *line[1:]]
    with tempfile.TemporaryDirectory(prefix="check-", dir=scratch(), ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)  # some tests become other users, who have to pass through
        environment = {**os.environ, **ONE_THREAD, "TMPDIR": folder}
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    code = 0 if code == NO_TESTS and "pytest" in line else code
    print(f"   {'ok' if code == 0 else f'failed ({code})'} after {time.monotonic() - started:.0f} s", flush=True)
    return code


def scratch() -> Path | None:
    """Where temporary files go: memory if there is much of it, because ledgers wait for the disk at every entry."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOMY else None


def rooms() -> list[str]:
    """Every room that has tests or examples."""
    folders = {path.name for place in (SOURCE, TESTS) for path in place.iterdir() if any(path.glob("*.py"))}
    return sorted(folders | {path.stem for path in SOURCE.glob("[!_]*.py")} | {DOCS})


def places_of(room: str) -> list[Path]:
    """The folders and files that hold a room's tests and examples."""
    if room == DOCS:
        return [ROOT / "docs", ROOT / "README.md"]
    if room == BENCHMARKS:
        return [TESTS / room, ROOT / room / "harness"]
    return [path for path in (TESTS / room, SOURCE / room, SOURCE / f"{room}.py") if path.exists()]


def touched_rooms() -> list[str]:
    """The rooms of every file that differs from where this branch left `main`."""
    base = git("merge-base", "main", "HEAD") or ["HEAD"]
    files = [*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")]
    return sorted({room for file in files for room in rooms_of(Path(file))} & set(rooms()))


def git(*arguments: str) -> list[str]:
    """The lines that git prints; none if there is nothing that it could say."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def rooms_of(file: Path) -> set[str]:
    """The rooms whose tests a file decides about, by its path from the root."""
    match file.parts:
        case ("src", "giveortake", "__init__.py" | "__main__.py"):
            return {REPOSITORY, "cli"}
        case ("src", "giveortake", room, *_) | ("tests", room, _, *_):
            return {Path(room).stem}
        case ("tests", name):
            return rooms_that_use(Path(name).stem)
        case ("benchmarks", *_):
            return {BENCHMARKS}
        case ("docs", *_) | ("README.md",):
            return {DOCS, REPOSITORY}
        case _:
            return {REPOSITORY}


def rooms_that_use(helper: str) -> set[str]:
    """The rooms whose tests import a module that rooms share, themselves or through another such module."""
    found: set[str] = set()
    seen, waiting = set[str](), [helper]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for path in TESTS.rglob("*.py"):
            if re.search(rf"^\s*(from|import) {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                if path.parent != TESTS:
                    found.add(path.relative_to(TESTS).parts[0])
                elif path.stem not in seen:
                    waiting.append(path.stem)
    return found


if __name__ == "__main__":
    sys.exit(main())
