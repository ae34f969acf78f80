"""Every check of the project, in the order in which they fail fastest; `script/test` runs it in the right environment.

Without arguments everything runs that gates a change: lint, format, layers, types, and all tests and examples, with
the time by package and the slowest twenty tests. Types are checked beside the tests, because one core has nothing to do
meanwhile; whichever of the two fails first ends the other.

`--quick` is for the minute between two thoughts: lint, format, types, layers, and tests and examples of some
packages, on DuckDB and SQLite alone. Tests that are statistical or need a browser, a PostgreSQL server or Spark are
left out. Without packages it takes those that differ from `main`, new files included.

`--long` also runs the tests marked `long`, and repeats more often what is repeated (`tests/tiers.py`). It writes its
record to `tests/long_run.json`, which is committed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "giveortake", ROOT / "tests"
DOCS, REPOSITORY, BENCHMARKS = "docs", "repository", "benchmarks"  # have tests or examples, and are no packages
TOOLS = {
    "lint": ["ruff", "check", "--quiet", "."],
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "layers": ["lint-imports"],
    "types": ["mypy"],
}
PYTEST = ["pytest", "--numprocesses=2", "--dist=loadgroup", "--quiet"]
NEEDS = "statistical or cluster or browser or postgres or spark"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "OPENBLAS_NUM_THREADS": "1",  # each: two processes have two cores already
    "OMP_NUM_THREADS": "1",
}  # without what was compiled before, every process that a test starts would compile the whole package again
MEMORY, ENOUGH_MEMORY = Path("/dev/shm"), 4 << 30  # noqa: S108 (a folder of our own is made in it)
INTERVAL = 0.1  # seconds between two looks at what runs
NO_TESTS = 5  # pytest's exit code if a package has no quick tests
RECORD = TESTS / "long_run.json"
SUMMARY = ROOT / "build" / "long_run.json"  # becomes the record if the run is green
RULES = "tests/repository/test_rules_of_tests.py"  # which hold for whatever test was changed


def main() -> int:
    """Run the checks one after another and stop at the first that fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="script/test"
    )
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--quick", nargs="*", metavar="PACKAGE", help=f"one of {', '.join(packages())}")
    tier.add_argument("--long", action="store_true", help="everything, at length")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.quick or ()) - set(packages()))
    if unknown:
        parser.error(f"no package is called {', '.join(unknown)}; there are {', '.join(packages())}")
    start, code = time.monotonic(), 0
    for checks in stages(arguments.quick, long=arguments.long):
        code = code or run(checks)
    seconds = round(time.monotonic() - start)
    if arguments.long and code == 0:
        record(seconds)
    elif arguments.quick is None:
        print(age_of_record())
        print("── ", end="", flush=True)
        subprocess.run([sys.executable, ROOT / "benchmarks" / "bench_house.py", "sizes"], check=True)
    print(f"── {'all well' if code == 0 else 'failed'} after {seconds} s", flush=True)
    return code


def stages(quick: list[str] | None, *, long: bool = False) -> list[dict[str, list[str]]]:
    """The checks by name, one stage after another: everything, or what is quick about some packages."""
    *first, types = ({name: line} for name, line in TOOLS.items())
    if quick is None:
        tier = ["--long", f"--summary={SUMMARY}"] if long else []
        return [*first, {**types, "tests and examples": [*PYTEST, *tier, "--times", "--durations=20"]}]
    chosen = quick or changed_packages()
    paths = [str(path.relative_to(ROOT)) for package in chosen for path in test_paths(package)]
    if not paths:
        return [*first, types]
    paths += [] if REPOSITORY in chosen else [RULES]
    return [*first, {**types, f"quick tests of {', '.join(chosen)}": [*PYTEST, "-m", f"not ({NEEDS})", *paths]}]


def record(seconds: int) -> None:
    """Complete the record of a green long run with its commit and its time."""
    summary = json.loads(SUMMARY.read_text(encoding="utf-8"))
    (commit,) = git("rev-parse", "HEAD")
    changed = bool(git("status", "--porcelain", "--untracked-files=no"))
    head = {"commit": commit, "with_changes": changed, "date": datetime.now(UTC).date().isoformat(), "seconds": seconds}
    RECORD.write_text(json.dumps({**head, **summary}, indent=1) + "\n", encoding="utf-8")


def age_of_record() -> str:
    """How old the last long run is, in days and commits."""
    if not RECORD.exists():
        return "── no long run is recorded: script/test --long"
    last = json.loads(RECORD.read_text(encoding="utf-8"))
    commits = git("rev-list", "--count", f"{last['commit']}..HEAD")
    return f"── the last long run was on {last['date']}, {commits[0] if commits else 'unknown'} commits ago"


def run(checks: dict[str, list[str]]) -> int:
    """Run tools of this interpreter's environment side by side; 0 if all is well. The first that fails ends the others.

    The last one prints as it goes; what others print is shown when they are done.
    """
    with ExitStack() as stack:
        running = [
            stack.enter_context(Check(name, line, is_last=name == [*checks][-1])) for name, line in checks.items()
        ]
        while running:
            for check in [check for check in running if check.is_over()]:
                running.remove(check)
                if code := check.report():
                    return code
            time.sleep(INTERVAL)
    return 0


class Check:
    """A running tool with a folder of its own for temporary files. It ends at the latest with the context."""

    def __init__(self, name: str, line: list[str], *, is_last: bool) -> None:
        self._name, self._tool, self._start = name, line[0], time.monotonic()
        self._folder = tempfile.TemporaryDirectory(prefix="check-", dir=temporary_folder(), ignore_cleanup_errors=True)
        Path(self._folder.name).chmod(0o711)  # some tests become other users, who have to pass through
        self._output = None if is_last else (Path(self._folder.name) / "output").open("w+b")
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

    def report(self) -> int:
        """Print how it ended, and after what; 0 if all is well."""
        if self._output is not None:
            self._output.seek(0)
            print(self._output.read().decode(errors="replace"), end="", flush=True)
        code = self._process.wait()
        code = 0 if code == NO_TESTS and self._tool == "pytest" else code
        outcome = "ok" if code == 0 else f"failed ({code})"
        print(f"   {self._name}: {outcome} after {time.monotonic() - self._start:.0f} s", flush=True)
        return code


def temporary_folder() -> Path | None:
    """Memory if there is much of it, because ledgers wait for the disk at every entry; else the system's folder."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_MEMORY else None


def packages() -> list[str]:
    """Every package that has tests or examples, and what else has some."""
    folders = {path.name for folder in (SOURCE, TESTS) for path in folder.iterdir() if any(path.glob("*.py"))}
    return sorted(folders | {path.stem for path in SOURCE.glob("[!_]*.py")} | {DOCS})


def test_paths(package: str) -> list[Path]:
    """The folders and files that hold a package's tests and examples."""
    if package == DOCS:
        return [ROOT / "docs", ROOT / "README.md"]
    if package == BENCHMARKS:
        return [TESTS / package, ROOT / package / "harness"]
    return [path for path in (TESTS / package, SOURCE / package, SOURCE / f"{package}.py") if path.exists()]


def changed_packages() -> list[str]:
    """The packages of every file that differs from where this branch left `main`."""
    base = git("merge-base", "main", "HEAD") or ["HEAD"]
    files = [*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")]
    return sorted({package for file in files for package in packages_of(Path(file))} & set(packages()))


def git(*arguments: str) -> list[str]:
    """The lines that git prints; none if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def packages_of(file: Path) -> set[str]:
    """The packages whose tests a file decides about, by its path from the root."""
    match file.parts:
        case ("src", "giveortake", "__init__.py" | "__main__.py"):
            return {REPOSITORY, "cli"}
        case ("src", "giveortake", package, *_) | ("tests", package, _, *_):
            return {Path(package).stem}
        case ("tests", name):
            return packages_that_import(Path(name).stem)
        case ("benchmarks", *_):
            return {BENCHMARKS}
        case ("docs", *_) | ("README.md",):
            return {DOCS, REPOSITORY}
        case _:
            return {REPOSITORY}


def packages_that_import(helper: str) -> set[str]:
    """The packages whose tests import a module that tests share, themselves or through another such module."""
    importers: set[str] = set()
    seen, queue = set[str](), [helper]
    while queue:
        name = queue.pop()
        seen.add(name)
        for path in TESTS.rglob("*.py"):
            if re.search(rf"^\s*(from|import) {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                if path.parent != TESTS:
                    importers.add(path.relative_to(TESTS).parts[0])
                elif path.stem not in seen:
                    queue.append(path.stem)
    return importers


if __name__ == "__main__":
    sys.exit(main())
