"""Do the tests notice mistakes? Plant each of `mutant_list` in a copy of the source, and run the tests against it.

    python benchmarks/mutants.py [--names WORD …] [--source DIR] [--scope tests|packages|long] [--json FILE]

A mutant is caught if a test fails. Of the tests that it names, those run that need no Spark, PostgreSQL or browser. If
they pass, `--scope` says how far to look: `packages` are all tests of their packages that gate a change, `long` those
of `script/test --long` too. `--source` is the root of the
checkout whose source and tests are used, this one by default. `--control` runs the same tests without a mutant first:
if one fails then, a verdict says nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, final, get_args

from mutant_list import MUTANTS, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Scope: TypeAlias = Literal["tests", "packages", "long"]

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 3600  # seconds, after which a mutant that makes tests wait for ever counts as caught
NEEDS = "cluster or browser or postgres or spark or long"  # of tests that a mutant names; its packages have these too
PASSED, FAILED, INTERRUPTED = 0, 1, 2  # of pytest; it is interrupted where a test cannot even be collected
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_PLUGIN = """
import pathlib
import giveortake

def pytest_configure():
    found = pathlib.Path(giveortake.__file__).resolve()
    if not found.is_relative_to(pathlib.Path(__file__).resolve().parent):
        raise RuntimeError(f"the tests would import {found}, which has no mutant")
"""


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a mutant was caught, by which test of which scope, and after how many seconds."""

    name: str
    file: str
    caught: bool
    scope: Scope
    by: str
    seconds: float


@final
class Copy:
    """A copy of the package in a folder of its own, in which one mutant at a time is planted."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._source, self._folder = source, folder
        shutil.copytree(source / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "is_mutant.py").write_text(_PLUGIN, encoding="utf-8")

    def plant(self, mutant: Mutant) -> None:
        """Write the mutant into its file."""
        self._write(mutant.file, mutated(self._source, mutant))

    def restore(self, mutant: Mutant) -> None:
        """Write the file as it was."""
        self._write(mutant.file, (self._source / "src" / "giveortake" / mutant.file).read_text(encoding="utf-8"))

    def _write(self, file: str, text: str) -> None:
        path = self._folder / "giveortake" / file
        path.write_text(text, encoding="utf-8")
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)  # known by seconds and length alone

    def run(self, arguments: Sequence[str]) -> tuple[int | None, str]:
        """Run pytest with this copy; return its exit code, None if it did not end, and the first test that failed."""
        path = os.pathsep.join([str(self._folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "is_mutant", *arguments]
        process = subprocess.Popen(  # noqa: S603 (our own tests)
            line,
            cwd=self._source,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except BaseException as error:  # with the servers that its tests have started
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return None, "no end"
            raise
        failed = _FAILED.search(output)
        if process.returncode not in {PASSED, FAILED, INTERRUPTED} or (process.returncode and failed is None):
            raise RuntimeError(f"pytest ended with {process.returncode}:\n{output[-4000:]}")
        return process.returncode, "" if failed is None else failed[1]


def mutated(source: Path, mutant: Mutant) -> str:
    """The text of a mutant's file with the mutant in it."""
    text = (source / "src" / "giveortake" / mutant.file).read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        raise ValueError(f"{mutant.file} does not have exactly one {mutant.before!r}")
    return text.replace(mutant.before, mutant.after)


def arguments_of(tests: Sequence[str], scope: Scope) -> list[str]:
    """What pytest is told to run in a scope."""
    packages = list(dict.fromkeys(str(Path(*Path(each).parts[:2])) for each in tests))
    if scope == "long":
        return ["--long", *packages]
    if scope == "packages":
        return ["-m", "not long", *packages]
    return ["-m", f"not ({NEEDS})", *tests]


def verdict_of(copy: Copy, mutant: Mutant, farthest: Scope) -> Verdict:
    """Run the tests of a mutant, in wider and wider scopes until one of them fails."""
    start = time.monotonic()
    copy.plant(mutant)
    try:
        for scope in scopes_up_to(farthest):
            code, by = copy.run(arguments_of(mutant.tests, scope))
            if code != PASSED:
                return Verdict(mutant.name, mutant.file, True, scope, by, round(time.monotonic() - start, 1))
    finally:
        copy.restore(mutant)
    return Verdict(mutant.name, mutant.file, False, farthest, "", round(time.monotonic() - start, 1))


def scopes_up_to(farthest: Scope) -> list[Scope]:
    """The scopes from the narrowest to one of them."""
    scopes: list[Scope] = list(get_args(Scope))
    return scopes[: scopes.index(farthest) + 1]


def chosen(words: Sequence[str] | None) -> list[Mutant]:
    """The mutants whose name, or whose file, contains one of some words; all without any."""
    return [each for each in MUTANTS if not words or any(word in each.name or word in each.file for word in words)]


def verdicts(source: Path, mutants: Sequence[Mutant], farthest: Scope, *, control: bool) -> Iterator[Verdict]:
    """Plant one mutant after another, and yield what became of it."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(source, Path(folder))
        if control:
            tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
            code, by = copy.run(arguments_of(list(tests), "tests"))
            if code != PASSED:
                raise RuntimeError(f"without a mutant a test fails: {by}")
        for mutant in mutants:
            yield verdict_of(copy, mutant, farthest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", metavar="WORD", help="only mutants with such a name, or in such a file")
    parser.add_argument("--source", type=Path, default=ROOT, help="the root of the checkout to be tested")
    parser.add_argument("--scope", choices=get_args(Scope), default="tests", help="how far to look for a test")
    parser.add_argument("--control", action="store_true", help="run the tests without a mutant first")
    parser.add_argument("--json", type=Path, help="write all verdicts there")
    arguments = parser.parse_args()
    found: list[Verdict] = []
    for each in verdicts(
        arguments.source.resolve(), chosen(arguments.names), arguments.scope, control=arguments.control
    ):
        found.append(each)
        told = f"caught by {each.by}" if each.caught else "SURVIVED"
        print(f"{each.seconds:7.1f} s  {each.name}: {told}", flush=True)
        if arguments.json is not None:
            arguments.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    survived = [each.name for each in found if not each.caught]
    print(f"{len(found) - len(survived)} of {len(found)} mutants were caught")
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main())
