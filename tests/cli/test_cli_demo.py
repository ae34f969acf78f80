from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.cli import demo
from giveortake.mechanisms import Laplace

if TYPE_CHECKING:
    from giveortake.randomness import Entropy, IntArray

OFFSET = 1_000_000


def table() -> list[dict[str, str]]:
    text = files("giveortake").joinpath("data", "visits.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def constant_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is always the same large number, whatever its scale."""

    def noise(_mechanism: Laplace, size: int, _entropy: Entropy | None = None) -> IntArray:
        return np.full(size, OFFSET, dtype=np.int64)

    monkeypatch.setattr(Laplace, "noise", noise)


def demo_output() -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert cli.main(["demo"]) == 0
    return printed.getvalue()


@pytest.fixture(scope="module")
def output() -> str:
    """What the demo prints in a terminal of eighty columns."""
    with pytest.MonkeyPatch.context() as narrow:
        narrow.setenv("COLUMNS", "80")
        return demo_output()


def test_reasons_are_as_dear_as_the_demo_says() -> None:
    """Four times the price of the first question, and a quarter of its margin: the number finds the group as well."""
    with as_file(files("giveortake").joinpath("data", "visits.csv")) as path, demo.protected(path) as session:
        regions, reasons = session.sql(demo.BY_REGION), session.sql(demo.BY_REASON)
        first, second = regions.quote(epsilon="0.25"), reasons.quote(epsilon="1")
        dear, usual = second.margins["n"], first.margins["visits"]
        assert isinstance(dear, float)
        assert isinstance(usual, float)
        assert 0.24 < dear / usual < 0.27
        (found,) = re.findall(r"found in the data.*\(ε = ([\d.]+), δ", str(second))
    assert float(found) == 1


def test_the_demo_explains_the_promise_and_fits_a_narrow_terminal(output: str) -> None:
    assert str(gt.ApproxDP("2", "1e-6", unit=gt.unit("person_id"))) in " ".join(output.split())
    assert all(line in output for line in demo.DECLARED.splitlines())  # nothing is cut
    assert "\x1b" not in output
    assert max(len(line) for line in output.splitlines()) <= 80
    assert len(output.splitlines()) < 90


@pytest.mark.usefixtures("constant_noise")
def test_every_number_of_the_demo_went_through_noise() -> None:
    rows = table()
    regions = Counter(row["region"] for row in rows)
    reasons = Counter(row["reason"] for row in rows)
    output = demo_output()
    for name, count in regions.items():
        assert re.search(rf"^  {re.escape(name)} +{count + OFFSET:,}  ±", output, re.MULTILINE)
    shown = re.findall(rf"^  ({'|'.join(map(re.escape, reasons))}) +([\d,]+)  ±", output, re.MULTILINE)
    assert len(shown) > 5  # those that enough people share
    assert all(number == f"{reasons[name] + OFFSET:,}" for name, number in shown)
    people = len({row["person_id"] for row in rows})
    assert f"{people + OFFSET:,}" in output

    printed = set(re.findall(r"\d[\d,]*(?:\.\d+)?", output))
    exact = {f"{count:,}" for count in [*regions.values(), *reasons.values(), people, len(rows)] if count > 120}
    assert not printed & exact


def test_the_mean_of_the_demo_went_through_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of ten deviations on one side of the bounds alone moves the mean; the same on both sides would not."""

    def noise(mechanism: Laplace, size: int, _entropy: Entropy | None = None) -> IntArray:
        drawn.append(mechanism)
        return np.full(size, len(drawn) % 2 * int(10 * mechanism.scale_in_steps), dtype=np.int64)

    drawn: list[Laplace] = []
    monkeypatch.setattr(Laplace, "noise", noise)
    exact = sum(float(row["amount"]) for row in table()) / len(table())
    (mean,) = re.findall(r"^  mean +([\d.,]+)  between", demo_output(), re.MULTILINE)
    assert abs(float(mean) - exact) > 5


def test_the_demo_declares_what_it_shows() -> None:
    given: dict[str, object] = {}

    def protect(*_source: object, **said: object) -> None:
        given.update(said)

    program = demo.DECLARED.replace("gt.protect", "protect")
    exec(program, {"protect": protect, "gt": gt, "REGIONS": demo.REGIONS})  # noqa: S102
    with demo.protected(Path(str(files("giveortake").joinpath("data", "visits.csv")))) as session:
        assert session.budget.granted.epsilon_at("1e-6") == given["budget"].epsilon_at("1e-6")  # type: ignore[attr-defined]
        assert session.describe().caps.rows_per_person == given["rows_per_person"]
        assert session.budget.granted.unit == gt.unit(str(given["unit"]))


def test_what_the_demo_says_about_the_ledger_is_true(output: str) -> None:
    for number in ("9 entries", "3 answers", "ε = 0.25", "ε = 1 ", "ε = 0.5", "87.5 %", "ε ≤ 0.25"):
        assert number in output


def test_rare_reasons_stay_hidden(output: str) -> None:
    rare = [reason for reason, count in Counter(row["reason"] for row in table()).items() if count < 30]
    assert len(rare) > 4
    assert not any(reason in output for reason in rare)  # the noise lifts one of them with a chance below 1e-6


def test_the_bundled_table_keeps_to_its_public_description() -> None:
    rows = table()
    assert {row["region"] for row in rows} <= set(demo.REGIONS)
    assert all(0 <= float(row["amount"]) <= 500 for row in rows)
    assert 4_000 < len(rows) < 6_000
    assert max(Counter(row["person_id"] for row in rows).values()) == 4  # so that the demo's cap cuts nobody


def test_what_to_try_next_can_be_tried() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(demo.NEXT_STEPS, {})  # noqa: S102
    assert "north" in printed.getvalue()
    assert max(map(len, demo.NEXT_STEPS.splitlines())) <= 80
