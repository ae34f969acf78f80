"""Another library, measured beside ours: it runs in a process of its own and is asked for one timing at a time."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, final

from giveortake.errors import NotFound

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from harness.report import Stopwatch


@final
class Peer:
    """A peer script: it says `ready` or `missing` first, then answers the name of a case with seconds per unit.

    Without an interpreter, nothing is started: the peer was left out by the user.
    """

    def __init__(self, script: Path, package: str, python: str | None = None, *arguments: str) -> None:
        self.package = package
        self.installed = False
        if python is None:
            return
        try:
            self._process = subprocess.Popen(  # noqa: S603 (a script of this checkout, the interpreter the user named)
                [python, str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise _no_interpreter(python, error) from None
        self.installed = self._answer() == "ready"

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        if not hasattr(self, "_process"):
            return
        self._process.terminate()
        self._process.communicate()

    def named(self, name: str) -> str:
        """What a report calls this peer."""
        return name if self.installed else f"{name} left out"

    def stopwatch(self, case: str) -> Stopwatch | None:
        """A stopwatch for one of the script's cases; None if the peer was left out."""
        if not self.installed:
            return None

        def seconds() -> float:
            print(case, file=self._process.stdin, flush=True)
            return float(self._answer())

        return seconds

    def _answer(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 (it was opened as a pipe)
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise NotFound(f"the peer script for {self.package} stopped without an answer")
        return answer


def has_module(python: str, module: str) -> bool:
    """Whether an interpreter can find a module."""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    try:
        found = subprocess.run([python, "-c", look, module], check=False, capture_output=True)  # noqa: S603 (our own code)
    except OSError as error:
        raise _no_interpreter(python, error) from None
    return found.returncode == 0  # of a package that is missing, looking for a part of it is an error


def _no_interpreter(python: str | None, error: OSError) -> NotFound:
    return NotFound(f"no interpreter at {python}: {error.strerror}", hint="--peer-python takes the path of a Python")
