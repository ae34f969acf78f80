"""Progress: for people at a terminal, after a while, and for nobody else."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from giveortake import cli
from giveortake import progress as module
from giveortake.progress import progress, rows_shown
from waiting import until


class Terminal(io.StringIO):
    """A terminal that remembers what was written to it."""

    def isatty(self) -> bool:
        return True


class AtOnce:
    """A timer for those who have no patience: also a question that is over soon has begun by then."""

    def __init__(self, _seconds: float, begin: Callable[[], None]) -> None:
        self.start, self.daemon = begin, True

    def cancel(self) -> None: ...


def watched(monkeypatch: pytest.MonkeyPatch, patience: float) -> Terminal:
    """A terminal in the place of standard error, for the rest of the test."""
    found = Terminal()
    monkeypatch.setattr(module, "_PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_what_takes_long_says_what_it_does_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch, 0.01)
    with progress("loading [trips].csv", total=3) as shown:
        until(lambda: "loading [trips].csv" in terminal.getvalue(), "it is written")
        shown.says("asking")
        shown.advance()
        until(lambda: "1/3" in terminal.getvalue(), "it is written")
        until(lambda: "asking" in terminal.getvalue(), "it is written")
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is gone


def test_of_rows_it_is_told_how_many_there_are_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch, 0.01)
    with rows_shown("writing") as told:
        told(262_144)
        until(lambda: "writing: 262,144 rows" in terminal.getvalue(), "it is written")


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch, 60)
    with progress("quick") as shown:
        shown.says("still quick")
    assert terminal.getvalue() == ""


def test_nobody_but_a_terminal_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    before = threading.enumerate()
    with progress("loading", total=2) as shown:
        shown.advance()
        assert threading.enumerate() == before  # nothing waits for its moment
    assert capsys.readouterr() == ("", "")


def test_a_failure_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch, 0.01)

    before = threading.enumerate()

    def fail() -> None:
        with progress("loading"):
            until(lambda: "loading" in terminal.getvalue(), "it is written")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    written = len(terminal.getvalue())
    for thread in set(threading.enumerate()) - set(before):
        thread.join()
    assert len(terminal.getvalue()) == written


def test_a_question_shows_it_and_its_answer_is_the_same_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    terminal = watched(monkeypatch, 0.0)
    monkeypatch.setattr(module, "threading", SimpleNamespace(Lock=threading.Lock, Timer=AtOnce))
    (tmp_path / "trips.csv").write_text("user_id,region\n" + "".join(f"{person},north\n" for person in range(50)))
    asked = ["query", str(tmp_path / "trips.csv"), "SELECT COUNT(*) AS n FROM trips", "--epsilon", "1"]
    said = ["--unit", "user_id", "--budget", "1", "--rows-per-person", "1", "--format", "csv"]
    assert cli.main([*asked, *said]) == 0
    first = capsys.readouterr().out
    assert first.startswith("n,n_low,n_high\n")
    assert "loading" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert cli.main([*asked, *said]) == 0
    assert capsys.readouterr().out == first
