"""What the benchmarks are measured with: peers in processes of their own, goals, and durations for people."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from giveortake.errors import NotFound
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
