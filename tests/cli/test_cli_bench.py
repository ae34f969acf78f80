from __future__ import annotations

import json
from pathlib import Path

import pytest

from giveortake import cli
from giveortake.cli import bench

ROOT = Path(__file__).parents[2]
FAKE = '''"""Counts its own turns.

More words.
"""

from harness.report import Case, faster, below

turns = []


def run(report):
    def ours():
        turns.append("ours")
        return 1.0

    def other():
        turns.append("other")
        return 250.0

    report.measure([
        Case("a case", ours, "a peer", other, faster(100)),
        Case("too slow", lambda: 1e-3, goal=below(1e-6), units=2),
    ], rounds=5)
    assert turns == ["ours", "other"] * (4 if report.quick else 6)
    missing = report.peer("Absent", "absent.py", "surely-not-there")
    report.measure([Case("lonely", ours, missing.named("Absent"), missing.stopwatch("x"), faster(100))])
    present = report.peer("Present", "present.py", "json")
    report.measure([Case("peered", ours, present.named("Present"), present.stopwatch("x"))])
    report.fact("memory", "12 MB")
    report.note("measured nowhere")
'''
ABSENT = "print('missing')\n"
PRESENT = "import sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n    print(0.5, flush=True)\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "benchmarks" / "peers").mkdir(parents=True)
    (tmp_path / "benchmarks" / "harness").symlink_to(ROOT / "benchmarks" / "harness")
    (tmp_path / "benchmarks" / "bench_fake.py").write_text(FAKE)
    (tmp_path / "benchmarks" / "peers" / "absent.py").write_text(ABSENT)
    (tmp_path / "benchmarks" / "peers" / "present.py").write_text(PRESENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_a_benchmark_is_measured_in_turns_and_reported(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "fake", "--without", "absent"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a case 1 s a peer 250 s 250× faster ≥ 100× faster yes" in lines
    assert "too slow 2 ms < 1 µs no" in lines
    assert "peered 1 s Present 500 ms 2× slower" in lines
    assert "memory 12 MB" in lines
    assert "measured nowhere" in lines
    assert not (checkout / "benchmarks" / "results").exists()


def test_a_missing_peer_is_an_error_that_names_it_and_nothing_is_saved(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "fake", "--save"]) == 2
    assert "Absent" in capsys.readouterr().err
    assert not (checkout / "benchmarks" / "results").exists()


def test_a_peer_that_gives_no_answer_fails_the_run_and_is_named(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "benchmarks" / "peers" / "present.py").write_text(PRESENT.replace("0.5", "'nan'"))
    assert cli.main(["bench", "fake", "--save", "--without", "Absent"]) == 1
    assert "Present" in capsys.readouterr().err
    saved = json.loads((checkout / "benchmarks" / "results" / "fake.json").read_text(encoding="utf-8"))
    assert saved["missing"] == ["Present: peered"]


def test_a_peer_that_is_left_out_is_named_on_its_line_and_no_goal_is_claimed(checkout: Path) -> None:
    assert cli.main(["bench", "fake", "--save", "--quick", "--without", "Absent"]) == 0
    saved = json.loads((checkout / "benchmarks" / "results" / "fake-quick.json").read_text(encoding="utf-8"))
    rows = {row["case"]: row for row in saved["rows"]}
    assert rows["lonely"]["other"] == "Absent left out"
    assert rows["lonely"]["met"] is None
    assert rows["a case"]["met"] is True
    assert rows["a case"]["other_seconds"] == 250
    assert rows["too slow"]["met"] is False


def test_the_last_whole_run_and_the_last_quick_one_are_kept(checkout: Path) -> None:
    for options in (["--quick"], ["--quick"], []):
        assert cli.main(["bench", "--save", "--without", "Absent", *options]) == 0
    results = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in checkout.rglob("results/*.json")}
    assert {name: (run["quick"], len(run["rows"])) for name, run in results.items()} == {
        "fake.json": (False, 5),
        "fake-quick.json": (True, 5),
    }


def test_the_list_names_every_benchmark_and_its_first_sentence(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.split() == ["fake", "Counts", "its", "own", "turns."]


def test_the_projects_own_benchmarks_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert cli.main(["bench", "--list"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")}
    assert listed == {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert {"noise", "kills", "stream", "import"} <= listed


def test_an_unknown_benchmark_is_refused_before_any_runs(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "fake", "noize"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(name in captured.err for name in ("'noize'", "fake"))


def test_outside_a_checkout_the_hint_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "_CHECKOUT", tmp_path)
    assert cli.main(["bench"]) == 2
    assert "checkout" in capsys.readouterr().err


def test_a_peer_needs_an_interpreter_that_exists(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--peer-python", "/nowhere/python"]) == 2
    assert "/nowhere/python" in capsys.readouterr().err
