"""Whatever happens to the terminal, the disk or the patience of who asks: no traceback, and no answer is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.privacy import events

COUNT = "SELECT COUNT(*) AS n FROM trips"
PROTECTED = ["--unit", "user_id", "--budget", "1,1e-8", "--domain", "amount=0:100", "--rows-per-person", "4"]
ASKED = [COUNT, *PROTECTED, "--epsilon", "0.4"]
ENVIRONMENT = os.environ | {"PYTHONUTF8": "1", "COLUMNS": "100"}
KEPT = "the answer is in the ledger: ask the same again, for free"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{person},{person % 100}\n" for person in range(500))
    (tmp_path / "trips.csv").write_text(f"user_id,amount\n{rows}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "giveortake", *arguments]


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    whole = f'"{sys.executable}" -m giveortake {line}'
    return subprocess.run(  # noqa: S602 (redirections are what is tested)
        whole, shell=True, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


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


def interrupted(arguments: list[str], when: Callable[[], bool]) -> subprocess.CompletedProcess[str]:
    running = subprocess.Popen(
        command(*arguments), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ends = time.monotonic() + 120
    while not when() and running.poll() is None and time.monotonic() < ends:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, running.returncode, out, err)


def test_an_interrupt_after_the_charge_says_so_and_the_same_question_is_free(folder: Path) -> None:
    """The table is large enough for the answer to take a while after the charge."""
    rows = "".join(f"{row % 200_003},{row % 100}\n" for row in range(1_500_000))
    (folder / "large.csv").write_text(f"user_id,amount\n{rows}")
    asked = "SELECT SUM(amount) AS s, MEDIAN(amount) AS m, STDDEV(amount) AS d FROM large"
    arguments = ["query", "large.csv", asked, *PROTECTED, "--epsilon", "0.4"]
    stopped = interrupted(arguments, lambda: is_reserved(folder / "large.csv.ledger"))
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert "the question was charged, ε = 0.4 (entry 4 of large.csv.ledger)" in stopped.stderr
    assert "asking the same again is free" in stopped.stderr
    assert charges("large.csv.ledger") == 1
    again = subprocess.run(command(*arguments), env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert charges("large.csv.ledger") == 1
    with gt.ledger.open("large.csv.ledger") as book:
        assert book.verify().answers == 1


def test_an_interrupt_before_the_charge_says_that_nothing_was_charged() -> None:
    """A question that is read from a pipe that stays silent is not asked yet."""
    started = time.monotonic()
    running = subprocess.Popen(
        command("query", "trips.csv", "-", *PROTECTED, "--epsilon", "0.4"),
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while _is_loading(running.pid) and time.monotonic() < started + 60:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "interrupted: nothing was charged by this call\n")


def _is_loading(process: int) -> bool:
    """Whether it does not sleep in a read of its input yet."""
    return Path(f"/proc/{process}/wchan").read_text() not in {"pipe_read", "anon_pipe_read"}


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Python's own way with Ctrl-C: a Spark that was started in this process before has left another."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, found)


@pytest.mark.usefixtures("usual_interrupt")
def test_an_engine_that_makes_an_error_of_the_interrupt_is_interrupted_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        raise gt.errors.QueryFailed("the answer could not be completed")

    monkeypatch.setattr("giveortake.session.query.Query.answer", fail)
    assert cli.main(["query", "trips.csv", *ASKED]) == 130
    assert capsys.readouterr().err == "interrupted: nothing was charged by this call\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_finds_the_charge_of_a_ledger_whose_mark_lies_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("giveortake.cli.query._write", interrupt)
    assert cli.main(["query", "trips.csv", *ASKED, "--mark", "elsewhere.mark"]) == 130
    assert capsys.readouterr().err.startswith("interrupted: the question was charged, ε = 0.4 (entry ")


def test_a_second_charge_by_somebody_else_is_not_taken_for_ours(folder: Path) -> None:
    """What was charged before this call began is not told as its charge."""
    assert cli.main(["query", "trips.csv", *ASKED]) == 0
    other = "SELECT SUM(amount) AS s FROM trips"
    running = interrupted(["query", "trips.csv", other, *PROTECTED, "--epsilon", "0.1", "--ledger", "none/x"], bool)
    assert "ε = 0.4" not in running.stderr
    assert charges() == 1


@pytest.mark.parametrize("options", ["", "--format csv", "--format json"])
def test_a_full_disk_behind_standard_output_loses_nothing(options: str) -> None:
    full = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 {options} > /dev/full')
    assert full.returncode == 2
    assert full.stderr.startswith("error: the output cannot be written: No space left on device")
    assert KEPT in full.stderr
    assert "Traceback" not in full.stderr
    assert "Exception ignored" not in full.stderr
    again = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 {options}')
    assert again.returncode == 0
    assert charges() == 1


def test_a_closed_standard_output_is_refused_before_anything_is_charged(folder: Path) -> None:
    closed = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 >&-')
    assert closed.returncode == 2
    assert "standard output is closed" in closed.stderr
    assert not (folder / "trips.csv.ledger").exists()
    written = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 --output n.csv >&-')
    assert written.returncode == 0
    assert (folder / "n.csv").read_text().startswith("n,n_low,n_high\n")


def test_a_reader_that_went_away_loses_nothing() -> None:
    gone = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 --format csv | true')
    assert gone.returncode == 0  # of `true`
    assert "Traceback" not in gone.stderr
    assert "Exception ignored" not in gone.stderr
    assert in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4').returncode == 0
    assert charges() == 1


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
def test_an_answer_needs_neither_standard_input_nor_standard_error(stream: str) -> None:
    done = in_shell(f'query trips.csv "{COUNT}" {" ".join(PROTECTED)} --epsilon 0.4 --format csv {stream}')
    assert done.returncode == 0
    assert done.stdout.startswith("n,n_low,n_high\n")
    with gt.ledger.open("trips.csv.ledger") as book:
        assert book.verify().answers == 1


def test_a_question_from_a_closed_standard_input_is_refused() -> None:
    done = in_shell(f"query trips.csv - {' '.join(PROTECTED)} --epsilon 0.4 <&-")
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard input cannot be read")


@pytest.mark.parametrize("name", [".", "n.csv", "n.parquet", "n"])
def test_a_folder_as_output_is_refused_before_anything_is_charged(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).mkdir(exist_ok=True)
    assert cli.main(["query", "trips.csv", *ASKED, "--output", name]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert not (folder / "trips.csv.ledger").exists()


@pytest.mark.parametrize("output", ["/dev/full", "/proc/n.csv", "/proc/n.parquet"])
def test_an_output_that_cannot_be_written_loses_nothing(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = "parquet" if output.endswith("parquet") else "csv"
    assert cli.main(["query", "trips.csv", *ASKED, "--output", output, "--format", kind]) == 2
    assert KEPT in capsys.readouterr().err
    assert cli.main(["query", "trips.csv", *ASKED, "--output", "n.csv"]) == 0
    assert charges() == 1


def test_a_throw_away_ledger_does_not_promise_what_it_cannot_keep(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "trips.csv", *ASKED, "--ledger", ":memory:", "--output", "/dev/full"]) == 2
    assert "the answer is lost" in capsys.readouterr().err


def test_other_commands_on_a_full_disk_end_without_a_traceback() -> None:
    for line in ("explain --epsilon 1 > /dev/full", "--help > /dev/full", "--version >&-"):
        done = in_shell(line)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


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
        book.reserve(events.InPart(events.Pure("0.01"), events.Pure(1), 7, 0), dataset="d")
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
    assert "is not TOML" in capsys.readouterr().err
