"""What the benchmarks are measured with: peers in processes of their own, goals, and durations for people."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import giveortake
import make_visits
from giveortake.errors import NotFound
from harness import evidence, results, schedule
from harness.peer import Peer
from harness.processors import Watch
from harness.report import above_floor, below, duration, faster, slower_at_most
from harness.schedule import Schedule
from waiting import until


def test_the_bundled_table_is_what_its_script_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = make_visits.TARGET.read_bytes()
    monkeypatch.setattr(make_visits, "TARGET", tmp_path / "visits.csv")
    make_visits.main()
    assert (tmp_path / "visits.csv").read_bytes() == bundled


def test_a_peer_that_dies_is_an_error_not_a_wait(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text("print('ready', flush=True)\ninput()\n")
    with Peer(script, "mortal", sys.executable) as peer:
        stopwatch = peer.stopwatch("x")
        assert stopwatch is not None
        with pytest.raises(NotFound, match="mortal"):
            stopwatch()


PRELUDE = "def atom_domain(**_): pass\nenable_features = str\nabsolute_distance = atom_domain\n"


def test_an_accountant_that_is_not_there_is_missing_whatever_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "opendp").mkdir()
    (tmp_path / "opendp" / "__init__.py").touch()
    (tmp_path / "opendp" / "prelude.py").write_text(PRELUDE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = Path(evidence.__file__).parents[1] / "peers" / "accounting_peers.py"
    installed = {}
    for package in ("opendp", "dp_accounting"):
        with Peer(script, package, sys.executable, package) as peer:
            installed[package] = peer.installed
    assert installed == {"opendp": True, "dp_accounting": False}


def test_goals_are_met_on_one_side_only() -> None:
    assert faster(100).met(1, 100)
    assert not faster(100).met(1, 99)
    assert slower_at_most(4).met(4, 1)
    assert not slower_at_most(4).met(5, 1)
    assert below(1).met(0.5, None)
    assert not below(1).met(1, None)
    assert above_floor(1).met(1.5, 1)
    assert not above_floor(1).met(2, 1)
    assert duration(3e-9) == "3 ns"


ROW = {"case": "a | b", "ours": "1 s", "other": "peer 2 s", "ratio": "2× faster", "goal": "≥ 3× faster", "met": False}
RUN = {
    "name": "noise",
    "command": "giveortake bench noise",
    "quick": True,
    "time": "2026-11-17T03:00:00+00:00",
    "versions": {"giveortake": giveortake.__version__},
    "machine": "one",
    "report": "2026-11-17T02:00:00+00:00",
    "seconds": 130,
    "others": 0.43,
    "rows": [ROW | {"ours_seconds": 1.0, "other_seconds": 2.0}],
    "notes": ["A note."],
}


def test_a_report_is_made_of_numbers_alone_and_tells_what_is_missing(tmp_path: Path) -> None:
    runs = dict.fromkeys(name for names in evidence.SECTIONS.values() for name in names) | {"noise": RUN}
    more = {"report": RUN["report"], "missing": {"filters": "the time was over"}, "runs": runs}
    found = results.circumstances() | more
    (tmp_path / "figures").mkdir()
    nearness = tmp_path / "near-the-truth.md"
    nearness.write_text("By hand.\n<!-- noise: a -->\nold\n<!-- end -->\n<!-- truth: caps -->\n<!-- end -->\n")
    evidence.write(found, tmp_path, str.upper)
    tables = nearness.read_text(encoding="utf-8")
    assert "peer 2 s" in tables
    assert "old" not in tables
    assert "giveortake bench truth --save" in tables
    assert (tables.count("By hand."), tables.count("<!-- end -->")) == (1, 2)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| a ∣ b | 1 s | peer 2 s | 2× faster | ≥ 3× faster | **no** |" in page
    for fact in (
        "A note.",
        "2026-11-17 03:00 UTC, 2 min",
        "43 %",
        "`--quick`",
        f"1 of {len(runs)}",
        "2026-11-17 02:00",
    ):
        assert fact in page
    assert "| [noise](#noise) | a ∣ b | 1 s | peer 2 s | ≥ 3× faster |" in page  # what was missed is not hidden below
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE))
    assert "the time was over" in sections["filters"]
    assert "giveortake bench coming-from --save" in sections["coming-from"]
    assert page.count("\n### ") == len(runs)  # what other pages link to is there, measured or not
    assert (tmp_path / "figures" / "results.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_run_of_another_version_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    old = RUN | {"versions": {"giveortake": "0"}}
    (tmp_path / "results" / "noise.json").write_text(json.dumps(old), encoding="utf-8")
    assert results.last(tmp_path, "noise") is None


def test_a_saved_command_tells_no_path_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "bench", "noise", "--save", "--peer-python", "/home/me/bin/python"])
    saved = json.loads(results.save(tmp_path, "noise", quick=False, watch=Watch(), found={}).read_text("utf-8"))
    assert saved["command"] == "giveortake bench noise --peer-python PYTHON"


def test_what_belongs_to_the_last_report_comes_before_what_does_not(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    whole, quick = (tmp_path / "results" / name for name in ("noise.json", "noise-quick.json"))
    whole.write_text(json.dumps(RUN | {"quick": False, "report": ""}), encoding="utf-8")
    quick.write_text(json.dumps(RUN), encoding="utf-8")
    assert results.last(tmp_path, "noise") == RUN
    whole.write_text(json.dumps(RUN | {"quick": False}), encoding="utf-8")
    assert results.last(tmp_path, "noise") == RUN | {"quick": False}


BENCHMARK = """#!/bin/sh
echo "$GIVEORTAKE_BENCH_REPORT $*" >> told
case "$*" in *--quick*) exit 0;; *broken*) echo "why" >&2; exit 3;; esac
sleep 600 &
echo $! > started
wait
"""


def test_a_benchmark_that_takes_too_long_is_ended_with_what_it_started_and_runs_quickly_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text(BENCHMARK, encoding="ascii")
    interpreter.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setattr(schedule, "ALONE", ("broken", "slow"))
    monkeypatch.setattr(schedule, "BESIDE", ("done",))
    monkeypatch.setattr(schedule, "MOST", 2.0)
    monkeypatch.setattr(schedule, "LEAST", 0.0)
    started = tmp_path / "started"

    class Timed(subprocess.Popen[bytes]):
        """A process whose time is over when the test says so: for the slow one, once it has started another."""

        def communicate(self, text: Any = None, timeout: float | None = None) -> Any:
            if timeout is not None and {"slow", "--quick"} & set(map(str, self.args)) == {"slow"}:  # type: ignore[arg-type]
                until(lambda: started.exists() and started.read_text(encoding="ascii").endswith("\n"), "a process")
                raise subprocess.TimeoutExpired(self.args, timeout)
            return super().communicate(text)

    monkeypatch.setattr(subprocess, "Popen", Timed)
    said: list[str] = []
    one = Schedule(tmp_path / "benchmarks", tmp_path, "today", ["--data", "x"], 600.0, False, said.append)
    problems = one.run(lambda name: name == "done")
    assert problems["broken"].endswith("why")
    assert problems["slow"].endswith("2 s")
    assert said[0::2] == [f"{name}: {problem}" for name, problem in problems.items()]
    assert [each.partition(":")[0] for each in said[1::2]] == ["broken --quick", "slow --quick"]
    called = (tmp_path / "told").read_text(encoding="ascii").splitlines()
    assert called[-1] == "today -m giveortake bench slow --quick --save --data x"
    until(lambda: is_over(int(started.read_text(encoding="ascii"))), "the end of what the benchmark started")


def is_over(process: int) -> bool:
    try:
        return Path("/proc", str(process), "stat").read_text(encoding="ascii").split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_report_begins_nothing_when_its_time_is_over(tmp_path: Path) -> None:
    over = Schedule(tmp_path, tmp_path, "today", [], 0.0, is_quick=False, say=print)
    assert over.measured("noise", quick=False)


def test_a_report_names_every_benchmark_that_exists_once() -> None:
    folder = Path(evidence.__file__).parents[1]
    named = [name for names in evidence.SECTIONS.values() for name in names]
    assert sorted(named) == sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))
    assert sorted([*schedule.ALONE, *schedule.BESIDE]) == sorted(named)
