"""Whatever happens to the terminal, the disk or the patience of who asks: no traceback, and no answer is lost."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.ledger import Charge
from giveortake.privacy import events
from tiers import tiered
from waiting import until

COUNT = "SELECT COUNT(*) AS n FROM trips"
PROTECTED = ["--unit", "user_id", "--budget", "1,1e-8", "--domain", "amount=0:100", "--rows-per-person", "4"]
ASKED = [COUNT, *PROTECTED, "--epsilon", "0.4"]
LINE = f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4'
ENVIRONMENT = os.environ | {"PYTHONUTF8": "1", "COLUMNS": "100"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{person},{person % 100}\n" for person in range(500))
    (tmp_path / "trips.csv").write_text(f"user_id,amount\n{rows}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "giveortake", *arguments]


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, whose streams a shell redirects; it ends without a word of Python's own."""
    whole = f'"{sys.executable}" -m giveortake {line}'
    done = subprocess.run(  # noqa: S602 (redirections are what is tested)
        whole, shell=True, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


def charges(ledger: str = "trips.csv.ledger") -> int:
    with gt.ledger.open(ledger, create=False, read_only=True) as book:
        return sum(bool(entry.content["levels"]) for entry in book.history() if entry.kind == "reserved")


def is_reserved(ledger: Path) -> bool:
    """Whether a charge is durable, seen from outside."""
    try:
        with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as database:
            return any('"kind":"reserved"' in str(body) for (body,) in database.execute("SELECT body FROM entries"))
    except sqlite3.Error:
        return False


# -- interrupts ---------------------------------------------------------------------------------------------------


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Python's own way with Ctrl-C: a Spark that was started in this process before has left another."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, found)


class Interrupted(io.StringIO):
    """A pipe that stays silent until somebody loses patience."""

    def read(self, _size: int | None = -1) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("nobody is interrupted")


@pytest.mark.usefixtures("usual_interrupt")
def test_an_interrupt_after_the_charge_says_so_and_the_same_question_is_free(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as busy:
        busy.setattr(DuckDBEngine, "_tally", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        assert cli.main(["query", "trips.csv", *ASKED, "--mark", "elsewhere.mark"]) == 130
    told = capsys.readouterr()
    assert told.out == ""
    assert "ε = 0.4 (entry 4 of trips.csv.ledger)" in told.err
    assert cli.main(["query", "trips.csv", *ASKED, "--mark", "elsewhere.mark"]) == 0
    with gt.ledger.open("trips.csv.ledger", mark="elsewhere.mark") as book:
        assert (book.verify().reservations, book.verify().answers) == (1, 1)


@pytest.mark.long
def test_an_interrupt_while_the_engine_counts_ends_a_real_process(folder: Path) -> None:
    """The table is large enough for the answer to take a while after the charge."""
    rows = "".join(f"{row % 200_003},{row % 100}\n" for row in range(1_500_000))
    (folder / "large.csv").write_text(f"user_id,amount\n{rows}")
    asked = "SELECT SUM(amount) AS s, MEDIAN(amount) AS m, STDDEV(amount) AS d FROM large"
    arguments = ["query", "large.csv", asked, *PROTECTED, "--epsilon", "0.4"]
    running = subprocess.Popen(command(*arguments), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    until(lambda: is_reserved(folder / "large.csv.ledger") or running.poll() is not None, "the charge")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate()
    assert running.returncode in {130, 0}, err  # the latter if the machine let it finish before the signal came
    assert "Traceback" not in err
    assert charges("large.csv.ledger") == 1
    assert cli.main(arguments) == 0
    assert charges("large.csv.ledger") == 1


@pytest.mark.usefixtures("usual_interrupt")
def test_an_interrupt_before_the_charge_is_not_told_as_a_charge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question that is read from a pipe is not asked yet, and what was charged before this call is not its charge."""
    for ledgers in ([], ["trips.csv.ledger"]):
        assert [path.name for path in folder.glob("*.ledger")] == ledgers
        with monkeypatch.context() as silent:
            silent.setattr(sys, "stdin", Interrupted())
            assert cli.main(["query", "trips.csv", "-", *PROTECTED, "--epsilon", "0.1"]) == 130
        told = capsys.readouterr()
        assert told.out == ""
        assert "nothing was charged" in told.err
        assert cli.main(["query", "trips.csv", *ASKED]) == 0
        capsys.readouterr()
    assert charges() == 1


@pytest.mark.long
def test_an_interrupt_ends_a_real_process_that_waits_for_its_question() -> None:
    arguments = command("query", "trips.csv", "-", *PROTECTED, "--epsilon", "0.4")
    pipe = subprocess.PIPE
    running = subprocess.Popen(arguments, env=ENVIRONMENT, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
    waits = Path(f"/proc/{running.pid}/wchan")
    until(lambda: waits.read_text() in {"pipe_read", "anon_pipe_read"}, "it reads its input")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert (running.returncode, out, len(err.splitlines())) == (130, "", 1)


@pytest.mark.usefixtures("usual_interrupt")
def test_an_engine_that_makes_an_error_of_the_interrupt_is_interrupted_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise gt.errors.QueryFailed("the answer could not be completed")

    monkeypatch.setattr("giveortake.session.session.Query.answer", fail)
    assert cli.main(["query", "trips.csv", *ASKED]) == 130
    assert "nothing was charged" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", tiered([""], ["", "--format csv", "--format json"]))
def test_a_full_disk_behind_standard_output_loses_nothing(options: str) -> None:
    full = in_shell(f"{LINE} {options} > /dev/full")
    assert full.returncode == 2
    assert full.stderr.startswith("error: ")
    assert cli.main(["query", "trips.csv", *ASKED]) == 0
    assert charges() == 1


def test_a_closed_standard_output_is_refused_before_anything_is_charged(folder: Path) -> None:
    closed = in_shell(f"{LINE} >&-")
    assert closed.returncode == 2
    assert closed.stderr.startswith("error: ")
    assert not (folder / "trips.csv.ledger").exists()


def test_a_reader_that_went_away_loses_nothing() -> None:
    gone = in_shell(f"{LINE} --format csv | true")
    assert gone.returncode == 0  # of `true`
    assert cli.main(["query", "trips.csv", *ASKED]) == 0
    assert charges() == 1


HELP = "--help > /dev/full"
NONE = "--output n.csv <&- >&- 2>&-"


@pytest.mark.parametrize("streams", tiered([NONE], [NONE, "> n.csv 2>/dev/full", "> n.csv <&-", "> n.csv 2>&-"]))
def test_an_answer_needs_neither_standard_input_nor_standard_error(folder: Path, streams: str) -> None:
    assert in_shell(f"{LINE} --format csv {streams}").returncode == 0
    assert (folder / "n.csv").read_text().startswith("n,n_low,n_high\n")
    with gt.ledger.open("trips.csv.ledger") as book:
        assert book.verify().answers == 1


def test_a_question_from_a_closed_standard_input_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["query", "trips.csv", "-", *PROTECTED, "--epsilon", "0.4"]) == 2
    assert "standard input" in capsys.readouterr().err
    assert not (folder / "trips.csv.ledger").exists()


@pytest.mark.parametrize("line", tiered([HELP], [HELP, "--version >&-", "explain --epsilon 1 > /dev/full"]))
def test_other_commands_on_a_full_disk_end_without_a_traceback(line: str) -> None:
    in_shell(line)


def test_a_folder_as_output_is_refused_before_anything_is_charged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".", "n.csv", "n.parquet", "n"):
        (folder / name).mkdir(exist_ok=True)
        assert cli.main(["query", "trips.csv", *ASKED, "--output", name]) == 2
        assert "--output" in capsys.readouterr().err
    assert not (folder / "trips.csv.ledger").exists()


def test_an_output_that_cannot_be_written_loses_nothing() -> None:
    for output, kind in (("/dev/full", "csv"), ("/proc/n.csv", "csv"), ("/proc/n.parquet", "parquet")):
        assert cli.main(["query", "trips.csv", *ASKED, "--output", output, "--format", kind]) == 2
        assert cli.main(["query", "trips.csv", *ASKED, "--output", "n.csv"]) == 0
    assert charges() == 1


# -- what is shown ------------------------------------------------------------------------------------------------


def test_names_of_columns_in_a_ledger_and_in_errors_are_shown_escaped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "ev\x1b[2Jil\u202e"
    with gt.ledger.open("evil.ledger") as book:
        book.population("people", budget=gt.PureDP(1), unit=evil)
        book.dataset("visits", population="people")
    assert cli.main(["ledger", "show", "evil.ledger"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "ev\\x1b[2J" in shown
    (folder / "columns.csv").write_text(f"user_id,{evil}\n1,2\n", encoding="utf-8")
    asked = ["SELECT SUM(nothing) AS s FROM columns", "--unit", "user_id", "--budget", "1", "--epsilon", "0.1"]
    assert cli.main(["query", "columns.csv", *asked]) == 2
    refused = capsys.readouterr().err
    assert "\x1b" not in refused
    assert "\u202e" not in refused


def test_a_charge_in_a_part_is_shown_at_its_dearer_case(capsys: pytest.CaptureFixture[str]) -> None:
    with gt.ledger.open("parts.ledger") as book:
        book.population("p", budget=gt.PureDP(5, neighbours="change-one"))
        book.dataset("d", population="p")
        book.reserve(Charge(events.InPart(events.Pure("0.01"), events.Pure(1), 7, 0), dataset="d"))
    assert cli.main(["ledger", "show", "parts.ledger"]) == 0
    assert "d: ε = 1" in capsys.readouterr().out


def test_long_numbers_are_refused_at_once_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = "1" * 50_000
    for options in (["--epsilon", f"0.{long}"], ["--epsilon", "1e999999999"], ["--epsilon", "0.1", "--n", long]):
        assert cli.main(["query", "trips.csv", COUNT, *PROTECTED, *options]) == 2
        assert len(capsys.readouterr().err) < 500
    assert cli.main(["quote", "trips.csv", *ASKED, "--domain", f"user_id={long},1"]) == 0  # texts, then
    capsys.readouterr()
    (folder / "long.toml").write_text(
        f'[trips]\nsource = "trips.csv"\nunit = "user_id"\nbudget = {{ epsilon = {long} }}'
    )
    assert cli.main(["query", "long.toml", COUNT, "--epsilon", "0.1"]) == 2
    assert "long.toml" in capsys.readouterr().err
