"""What the benchmarks are measured with: peers in processes of their own, goals, and durations for people."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from giveortake.errors import NotFound
from harness import evidence
from harness.peer import Peer
from harness.report import above_floor, below, duration, faster, slower_at_most


def test_a_peer_that_dies_is_an_error_not_a_wait(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text("print('ready', flush=True)\ninput()\n")
    with Peer(script, "mortal", sys.executable) as peer:
        stopwatch = peer.stopwatch("x")
        assert stopwatch is not None
        with pytest.raises(NotFound, match="mortal stopped"):
            stopwatch()


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


def test_a_report_is_made_of_numbers_alone_and_tells_what_is_missing(tmp_path: Path) -> None:
    row = {
        "case": "a | b",
        "ours": "1 s",
        "other": "peer 2 s",
        "ratio": "2× faster",
        "goal": "≥ 3× faster",
        "met": False,
    }
    found = {
        "time": "2026-11-17T03:00:00+00:00",
        "minutes": 9.0,
        "command": "giveortake bench report",
        "versions": {"giveortake": "0"},
        "machine": "one",
        "load": 0.5,
        "benchmarks": [
            {"name": "noise", "about": "Draws.", "rows": [row | {"ours_seconds": 1.0, "other_seconds": 2.0}]},
            {"name": "kills", "about": "Kills.", "rows": [], "missing": "the time was over"},
        ],
    }
    (tmp_path / "figures").mkdir()
    evidence.write(found, tmp_path)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| a ∣ b | 1 s | peer 2 s | 2× faster | ≥ 3× faster | **no** |" in page
    assert "Not measured: the time was over." in page
    assert (tmp_path / "figures" / "results.svg").read_text(encoding="utf-8").startswith("<svg")


def test_a_report_begins_nothing_when_its_time_is_over(tmp_path: Path) -> None:
    assert evidence.measured("noise", tmp_path, [], end=0.0) == {"missing": "the time was over", "rows": []}


def test_a_report_runs_benchmarks_that_exist() -> None:
    folder = Path(evidence.__file__).parents[1]
    assert all((folder / f"bench_{name}.py").is_file() for name in evidence.CHOSEN)
