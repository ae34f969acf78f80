"""Whoever is killed while buying, at whatever moment: what was asked is charged once, drawn once, and answered."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import giveortake.learn
import giveortake.session
import giveortake.synth
import request_kills
from giveortake.ledger import Entry
from giveortake.session.requests import Request
from request_kills import CASES, Facts, Left, Trial
from tiers import tiered

KILLS = tiered(30, 0)  # on each store; in the long tier one at every moment of every case


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_whoever_is_killed_while_buying_a_request_of_any_kind_loses_nothing_and_pays_once(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    where = str(tmp_path / "shop")
    if store == "postgres":
        where = request.getfixturevalue("server")  # each kill has a schema of its own
    command = [sys.executable, request_kills.__file__, where, str(tmp_path / "folder"), "--kills", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["cases"].keys() == CASES.keys()
    moments = sum(case["moments"] for case in found["cases"].values())
    assert found["kills"] == (KILLS or moments)


def test_every_kind_of_request_is_bought_and_killed() -> None:
    for package in (giveortake.session, giveortake.learn, giveortake.synth):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    kinds = {vars(kind)["kind"] for kind in requests_below(Request)} | {"fit", "synthesis"}
    assert {name.partition(",")[0] for name in CASES} == kinds


def test_the_check_after_a_kill_finds_what_is_lost_double_over_or_left() -> None:
    drawn = entry("drawn", {"reservation": 1, "place": 0, "drawn": 3})
    charge = entry("reserved", {"levels": {"1": None}})
    once = Left([charge, drawn], [Fraction(1, 2)], set())
    nothing = Facts()
    read = Facts()
    read.note("rows", "called")
    sound = Trial(once, once, once, nothing, nothing, [b"1"], [b"1", b"2"], [b"1", b"2"])
    assert wrongs(sound) == []
    for trial, expected in (
        (replace(sound, released=[b"3"]), ["lost"]),
        (replace(sound, after=replace(once, entries=[charge])), ["lost"]),
        (replace(sound, last=[b"1", b"3"]), ["double"]),
        (replace(sound, following=read), ["double"]),
        (replace(sound, after=replace(once, entries=[charge, drawn, charge])), ["double"]),
        (replace(sound, after=replace(once, used=[Fraction(1)])), ["over"]),
        (replace(sound, after=replace(once, entries=[charge, drawn, *[entry("repeated", {})] * 2])), ["over"]),
        (replace(sound, dying=read, before=replace(once, entries=[charge])), ["over"]),
        (replace(sound, after=replace(once, files={"1-0.answer"})), ["left"]),
    ):
        assert wrongs(trial) == expected


def wrongs(trial: Trial) -> list[str]:
    return [wrong for wrong, _ in trial.wrongs()]


def entry(kind: str, content: dict[str, Any]) -> Entry:
    return Entry(1, kind, "now", "", content, "", "")


def requests_below(base: type[Any]) -> set[type[Any]]:
    """The kinds of the package itself, without those that tests and pages make."""
    below = set(base.__subclasses__())
    for subclass in base.__subclasses__():
        below |= requests_below(subclass)
    return {kind for kind in below if kind.__module__.startswith("giveortake.") and "kind" in vars(kind)}
