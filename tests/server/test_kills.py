"""Fronts, workers and clerks that are killed: a question is charged once, has one answer, and no budget is exceeded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import giveortake as gt
import service_kills
from giveortake.ledger import Charge
from kill_findings import Found
from tiers import tiered

if TYPE_CHECKING:
    from pathlib import Path

KILLS = tiered(5, 100)  # on each store


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_killed_fronts_workers_and_clerks_leave_one_charge_and_one_answer(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = str(tmp_path / "kills.ledger")
    if store == "postgres":
        where = f"{request.getfixturevalue('server')}&schema=kills_{uuid4().hex[:12]}"
    command = [sys.executable, service_kills.__file__, where, str(tmp_path / "folder"), "--kills", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    killed = r"(giveortake: \w+: a worker does not start: .*|front: Unready: the worker was lost .*)\n(\n  hint: .*\n)?"
    said = re.sub(killed, "", done.stderr)
    assert (said, done.returncode) == ("", 0), done.stdout
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["kills"] >= KILLS
    assert {"front", "worker or clerk"} <= set(found["by kind"])
    assert found["charges"] >= found["releases"] > 0


def test_the_check_after_the_kills_finds_what_is_lost_double_or_overspent(tmp_path: Path) -> None:
    settings = service_kills.prepared(str(tmp_path / "kills.ledger"), tmp_path / "folder")
    folder, event = tmp_path / "folder", gt.privacy.events.Pure(service_kills.EPSILON)
    with gt.ledger.open(settings.ledger, mark=settings.mark) as book:
        budget = gt.PureDP(100 * service_kills.EPSILON)
        book.analyst("analyst 0 0", datasets=["visits"], budget=budget)
        paid = book.reserve(Charge(event, dataset="visits", analyst="analyst 0 0", key="k", name="k"))
        book.settle(paid, {"n": 1})
    log = folder / "client-0.jsonl"
    line = {"analyst": "analyst 0 0", "key": "k", "tries": 1, "answer": {"n": [1]}, "release": paid.id}
    none = {"answer": None, "release": None}
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"key": "l"}, "released"),
        ({"release": "x"}, "released"),
        (none, "refused"),
        ({"again": True}, "answered"),
    ]
    for wrong, expected in wrongs:
        log.write_text(json.dumps(line | wrong) + "\n")
        found = Found()
        service_kills.check(settings, folder, found)
        assert [problem.split()[0] for problem in found.problems] == ([expected] if expected else [])
    with gt.ledger.open(settings.ledger, mark=settings.mark) as book:
        for place in range(service_kills.AFFORDED):
            book.reserve(Charge(event, dataset="visits", analyst="analyst 0 0", key=f"more {place}", name=place))
    log.write_text("")
    found = Found()
    service_kills.check(settings, folder, found)
    assert found.problems == ["analyst 0 0 was charged 7 times and has spent 7/1000"]
