from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.cli import demo
from giveortake.cli.visits import REGIONS, Visit, one_each, visits
from giveortake.mechanisms import DiscoveredHistogram, Laplace

if TYPE_CHECKING:
    from giveortake.randomness import Entropy, IntArray

OFFSET = 1_000_000


@pytest.fixture
def constant_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is always the same large number, whatever its scale."""

    def noise(_mechanism: Laplace, size: int, _entropy: Entropy | None = None) -> IntArray:
        return np.full(size, OFFSET, dtype=np.int64)

    monkeypatch.setattr(Laplace, "noise", noise)


def demo_output(capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["demo"]) == 0
    return capsys.readouterr().out


def test_the_demo_explains_the_promise_and_fits_a_narrow_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "giveortake", "demo"],
        env={"COLUMNS": "80", "TERM": "xterm-256color"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    words = " ".join(done.stdout.split())
    assert str(gt.PureDP("0.25", unit=gt.unit("person_id"))) in words
    assert str(gt.ApproxDP(1, "1e-8", unit=gt.unit("person_id"))) in words
    assert "give or take" in words
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert len(done.stdout.splitlines()) < 80


def test_every_number_of_the_demo_went_through_noise(constant_noise: None, capsys: pytest.CaptureFixture[str]) -> None:
    rows = one_each(visits())
    regions = Counter(row.region for row in rows)
    reasons = Counter(row.reason for row in rows)
    total = sum(row.cents for row in rows)
    output = demo_output(capsys)
    for name, count in (regions + reasons).items():
        assert re.search(rf"^  {re.escape(name)} +{count + OFFSET:,}  ±", output, re.MULTILINE)
    assert f"{len(rows) + OFFSET:,}  give or take" in output
    assert f"{(total + OFFSET) / 100:,.2f}  give or take" in output
    mean = f"{(total + OFFSET) / (len(rows) + OFFSET) / 100:,.2f}"
    assert re.search(rf"^  mean +{mean}  between", output, re.MULTILINE)

    printed = set(re.findall(r"\d[\d,]*(?:\.\d+)?", output))
    exact = {f"{count:,}" for count in [*regions.values(), *reasons.values(), len(rows), len(visits())] if count > 120}
    exact |= {f"{total / 100:,.2f}", f"{total / 100 / len(rows):.2f}"}
    assert not printed & exact


def test_the_claimed_promises_are_those_of_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    event = DiscoveredHistogram.calibrated(epsilon="1/4", delta="1e-8").event()
    assert event.epsilon == Fraction(1, 4)
    assert event.delta <= Fraction(1, 10**8)
    output = demo_output(capsys)
    for promise in (gt.PureDP("0.25"), gt.ApproxDP("0.25", "1e-8"), gt.PureDP("0.5"), gt.ApproxDP("1", "1e-8")):
        assert repr(promise)[:-1] + ", unit=unit('person_id'))" in output


def test_rare_reasons_stay_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    rare = [reason for reason, count in Counter(row.reason for row in one_each(visits())).items() if count < 5]
    assert rare
    output = demo_output(capsys)
    assert not any(reason in output for reason in rare)  # the noise lifts one of them with a chance below 1e-7


def test_the_interval_of_the_mean_holds_the_mean_at_every_corner_of_the_margins() -> None:
    total, people, total_margin, people_margin = 30_000_000, 3_000, 700_000, 15
    _, low, high = demo._quotient(total, total_margin, people, people_margin)
    for true_total in (total - total_margin, total + total_margin):
        for true_people in (people - people_margin, people + people_margin):
            assert low <= Fraction(true_total, true_people) <= high
    assert demo._quotient(5, 10, 3, 20) == (2, 0, 50_000)  # few people: the public bounds remain
    assert demo._quotient(-5, 1, -3, 1) == (0, 0, 50_000)


def test_a_person_keeps_one_visit_whatever_the_order_and_whoever_else_is_there() -> None:
    rows = visits()
    kept = set(one_each(rows))
    assert len(kept) == len({row.person_id for row in rows})
    assert set(one_each(reversed(rows))) == kept
    assert set(one_each(row for row in rows if row.region == "coast")) == {r for r in kept if r.region == "coast"}
    twice = Visit("1", "north", "flu", 100)
    assert one_each([twice, twice]) == [twice]


def test_the_bundled_table_keeps_to_its_public_description() -> None:
    rows = visits()
    assert {row.region for row in rows} <= set(REGIONS)
    assert all(0 <= row.cents <= 50_000 for row in rows)
    assert 4_000 < len(rows) < 6_000


def test_what_to_try_next_can_be_tried() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(demo.NEXT_STEPS, {})  # noqa: S102
    assert printed.getvalue().endswith(f"{gt.PureDP(2)}\n")
    assert max(map(len, demo.NEXT_STEPS.splitlines())) <= 80
