from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
import tiers
from giveortake import plot
from giveortake.errors import InvalidParameter, NotFound
from giveortake.ledger import Charge
from giveortake.plot.theme import COLOURS, DASHES, altair

CHARTS: dict[str, Callable[[], Any]] = {
    "posterior": plot.posterior,
    "tradeoff": lambda: plot.tradeoff([gt.PureDP(1), gt.GaussianDP(1), gt.ApproxDP(1, "0.05")]),
    "groups": lambda: plot.groups(gt.ApproxDP(1, "1e-6")),
    "composition": lambda: plot.composition(releases=(1, 10, 50)),
    "accuracy": plot.accuracy,
    "profile": lambda: plot.profile([gt.PureDP(1), gt.ZCDP("1/2")]),
}


def points(chart: Any) -> list[dict[str, Any]]:
    return list(json.loads(chart.to_json())["data"]["values"])


@pytest.mark.parametrize(
    "name", tiers.tiered(["posterior", "profile"], [*CHARTS])
)  # the others are in an example of `save_explanation`
def test_every_chart_is_saved_without_a_browser_in_every_format(name: str, tmp_path: Path) -> None:
    chart = CHARTS[name]()
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        assert plot.save(chart, tmp_path / f"{name}{suffix}").read_bytes().startswith(start)


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="suffix"):
        plot.save(plot.posterior([1]), tmp_path / "belief.gif")


def test_a_notebook_shows_a_picture_that_runs_no_script_and_loads_nothing() -> None:
    answer = gt.answers.Answer([gt.answers.Column("n", [50.0], [45.0], [55.0])])
    more = plot.panels([("one", answer), ("two", answer)]) | plot.posterior([1])
    for chart in (
        plot.posterior([1]),
        plot.posterior([1]).properties(width=90),
        answer.plot(),
        answer.plot() + answer.plot(),
        more,
    ):
        ((kind, picture),) = chart._repr_mimebundle_(include=None, exclude=None).items()
        assert (kind, picture[:4]) == ("image/svg+xml", "<svg")
        assert "<script" not in picture
        assert set(re.findall(r"\w+://[^\"]*", picture)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }


def test_a_renderer_that_somebody_enabled_in_altair_is_used() -> None:
    with altair().renderers.enable("json"):
        assert "application/json" in plot.posterior([1])._repr_mimebundle_()[0]


def test_beliefs_in_the_chart_are_those_of_the_promise() -> None:
    low, high = gt.PureDP(1).posterior("1/2")
    found = {row["side"]: row["after"] for row in points(plot.posterior([1])) if row["before"] == 0.5}
    assert found == {"low": float(low), "high": float(high)}


def test_the_attacker_never_gets_above_the_line_and_the_bend_is_drawn() -> None:
    promise = gt.PureDP(1)
    rows = [row for row in points(plot.tradeoff(promise)) if row["promise"] == "ε = 1"]
    assert all(row["tpr"] == float(promise.membership_inference(row["fpr"])) for row in rows[::10])
    assert min(row["fpr"] + (1 - row["tpr"]) for row in rows) == pytest.approx(1 - float(promise.advantage()))


def test_four_theorems_are_compared_and_the_tight_one_is_lowest() -> None:
    rows = [row for row in points(plot.composition(releases=(100,))) if row["releases"] == 100]
    by = {row["method"].partition(":")[0]: row["epsilon"] for row in rows}
    assert by["tight"] <= by["optimal"] <= by["advanced"] <= by["basic"] == 10


def test_lines_differ_in_grey_too() -> None:
    assert len({tuple(dash) for dash in DASHES}) == len(DASHES) == len(COLOURS)
    marks = json.loads(plot.posterior().to_json())["encoding"]
    assert {"color", "strokeDash"} <= set(marks)


def test_a_ledger_burns_down(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "clinic.ledger") as ledger:
        ledger.population("patients", budget=gt.PureDP(1), unit="person_id")
        ledger.dataset("visits", population="patients")
        for key in ("one", "two"):
            ledger.settle(ledger.reserve(Charge(gt.accounting.events.Pure("1/4"), dataset="visits", key=key)), 1)
        rows = points(plot.burn_down(ledger))
        assert next(row["left"] for row in rows) == 1
        assert rows[-1]["left"] == 0.5
        assert {row["level"] for row in rows} == {"population patients"}
    with gt.ledger.open(tmp_path / "empty.ledger") as ledger, pytest.raises(InvalidParameter, match="no budget"):
        plot.burn_down(ledger)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(NotFound, match=r"giveortake\[plot\]"):
        plot.posterior()


@pytest.mark.long  # one of PureDP is an example of `save_explanation`
def test_all_charts_of_a_promise_land_in_a_folder(tmp_path: Path) -> None:
    assert {path.parent for path in plot.save_explanation(gt.GaussianDP(1), tmp_path)} == {tmp_path}
    assert len(list(tmp_path.glob("*.svg"))) == 5


def test_one_number_is_one_promise_and_groups_say_how_often_they_fail() -> None:
    assert gt.plot.posterior(1).to_dict() == gt.plot.posterior([1]).to_dict()
    assert gt.plot.tradeoff("1/2").to_dict() == gt.plot.tradeoff(["1/2"]).to_dict()
    assert "0.001" in str(gt.plot.groups(gt.ApproxDP(1, "1e-9")).to_dict()["title"])
    assert "except" not in str(gt.plot.groups(1).to_dict()["title"])
