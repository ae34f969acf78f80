"""Every check of the project, in the order in which they fail fastest. Run it with the project's own Python.

Without arguments everything runs, as it does before a change is accepted: lint, format, layers, types, and all tests
and examples, with the time by room and the slowest twenty tests. Types are checked beside the tests, because one core
has nothing to do meanwhile; whichever of the two fails first ends the other.

`--quick` is for the minute between two thoughts: lint, format, types, layers, and the tests and examples of some rooms,
on DuckDB and SQLite alone. Tests that are statistical or need a browser, a PostgreSQL server or Spark are left out.
Without rooms it takes those that differ from `main`, new files included.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import Self

ROOT = Path(__file__).resolve().parent
SOURCE, TESTS = ROOT / "src" / "giveortake", ROOT / "tests"
DOCS, REPOSITORY = "docs", "repository"  # rooms without code: the pages, and the rules that the project keeps
BENCHMARKS = "benchmarks"  # not part of the package
LINES = {
    "lint": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "layers": ["lint-imports"],
    "types": ["mypy"],
}
PYTEST = ["pytest", "--numprocesses=2", "--dist=loadgroup", "--quiet"]
NEEDY = "statistical or cluster or browser or postgres or spark"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "OPENBLAS_NUM_THREADS": "1",  # each: two processes have two cores already
    "OMP_NUM_THREADS": "1",
}  # without what was compiled before, every process that a test starts would compile the whole package again
MEMORY, ROOMY = Path("/dev/shm"), 4 << 30  # noqa: S108 (a folder of our own is made in it)
PATIENCE = 0.1  # seconds between two looks at what runs
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
    code = 0
    for checks in stages(chosen):
        code = code or run(checks)
    print(f"── {'all well' if code == 0 else 'failed'} after {time.monotonic() - started:.0f} s", flush=True)
    return code


def stages(chosen: list[str] | None) -> list[dict[str, list[str]]]:
    """What is run, by name, one stage after another: everything, or what is quick about some rooms."""
    *first, types = ({name: line} for name, line in LINES.items())
    if chosen is None:
        return [*first, {**types, "tests and examples": [*PYTEST, "--rooms", "--durations=20"]}]
    found = chosen or touched_rooms()
    places = [str(path.relative_to(ROOT)) for room in found for path in places_of(room)]
    if not places:
        return [*first, types]
    return [*first, {**types, f"quick tests of {', '.join(found)}": [*PYTEST, "-m", f"not ({NEEDY})", *places]}]


def run(checks: dict[str, list[str]]) -> int:
    """Run tools of this interpreter's environment side by side; 0 if all is well. The first that fails ends the others.

    The last one prints as it goes; what others print is shown when they are done.
    """
    with ExitStack() as stack:
        waiting = [
            stack.enter_context(Check(name, line, is_shown=name == list(checks)[-1])) for name, line in checks.items()
        ]
        while waiting:
            for each in [each for each in waiting if each.is_over()]:
                waiting.remove(each)
                if code := each.tell():
                    return code
            time.sleep(PATIENCE)
    return 0


class Check:
    """A tool that runs, with a folder of its own for temporary files. It ends at the latest with the context."""

    def __init__(self, name: str, line: list[str], *, is_shown: bool) -> None:
        self._name, self._tool, self._started = name, line[0], time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="check-", dir=scratch(), ignore_cleanup_errors=True)
        Path(self._folder.name).chmod(0o711)  # some tests become other users, who have to pass through
        self._output = None if is_shown else (Path(self._folder.name) / "output").open("w+b")
        print(f"── {name}", flush=True)
        self._process = subprocess.Popen(
            [str(Path(sys.executable).parent / line[0]), *line[1:]],
            cwd=ROOT,
            env={**ENVIRONMENT, "TMPDIR": self._folder.name},
            stdout=self._output,
            stderr=self._output,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_over():
            self._process.send_signal(signal.SIGINT)  # so that servers which tests have started end as well
        self._process.wait()
        if self._output is not None:
            self._output.close()
        self._folder.cleanup()

    def is_over(self) -> bool:
        """Whether the tool has ended."""
        return self._process.poll() is not None

    def tell(self) -> int:
        """Say how it ended, and after what; 0 if all is well."""
        if self._output is not None:
            self._output.seek(0)
            print(self._output.read().decode(errors="replace"), end="", flush=True)
        code = self._process.wait()
        code = 0 if code == NO_TESTS and self._tool == "pytest" else code
        ended = "ok" if code == 0 else f"failed ({code})"
        print(f"   {self._name}: {ended} after {time.monotonic() - self._started:.0f} s", flush=True)
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
