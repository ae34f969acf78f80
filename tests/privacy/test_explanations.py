from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import giveortake as gt
from cases import all_cases
from giveortake import cli
from giveortake.exact import percent_down, percent_up
from giveortake.privacy import Guarantee
from giveortake.privacy.guarantee import beliefs

PROMISES: list[Guarantee] = [
    gt.PureDP(1),
    gt.ApproxDP(1, "1e-6"),
    gt.ProbabilisticDP(1, "1e-6"),
    gt.ComputationalDP(1, "1e-6"),
    gt.ZCDP("1/2"),
    gt.GaussianDP(1),
    gt.RenyiDP({2: 1, 8: 2}),
    gt.PureDP("0.1", neighbours="change-one", unit=gt.unit("person_id")),
]


@all_cases("promise", PROMISES)
def test_every_kind_of_promise_explains_itself(promise: Guarantee) -> None:
    explanation = promise.explain(prior="0.1", group=3)
    assert str(explanation).startswith(str(promise))
    assert all(0 < len(paragraph) < 500 for paragraph in promise.explain().paragraphs)
    assert "<p>" in explanation._repr_html_()


def test_numbers_in_the_text_are_those_of_the_promise() -> None:
    text = str(gt.PureDP(1).explain(prior="1/2", group=1))
    for number in ("26.8 %", "73.2 %", "46.3 %", "2.8 %", "13.6 %"):
        assert number in text


def test_beliefs_come_with_how_often_they_fail() -> None:
    assert beliefs(gt.PureDP(1), "1/2") == (*gt.PureDP(1).posterior("1/2"), None)
    low, high, failure = beliefs(gt.ApproxDP(1, "1e-6"), "1/2") or (0, 0, 0)
    assert failure == Fraction(1, 1000)
    assert (low, high) == gt.ApproxDP(1, "1e-6").posterior("1/2", failure="1/1000")
    assert beliefs(gt.ComputationalDP(1, "1e-6"), "1/2") is None
    assert beliefs(gt.ApproxDP(1, "0.1"), "1/2") is None
    for text in (gt.ApproxDP(1, "1e-6").explain().belief, gt.ApproxDP("1/10", "1e-9").explain(group=3).group):
        assert "0.001" in text


def test_percentages_are_rounded_against_the_promise_however_long_the_fraction() -> None:
    """A quotient of 28 decimals would have been rounded to 50 % before it was rounded up."""
    assert (percent_up(Fraction(1, 3)), percent_down(Fraction(1, 3))) == ("33.4 %", "33.3 %")
    assert (percent_up(Fraction(1, 2)), percent_down(Fraction(0))) == ("50 %", "0 %")
    assert percent_up(Fraction(99999, 100000)) == "99.999 %"
    assert percent_up(Fraction(1, 2) + Fraction(1, 10**40)) == "50.1 %"
    assert percent_down(Fraction(1, 2) - Fraction(1, 10**40)) == "49.9 %"


@all_cases("options", [["--epsilon", "1"], ["--epsilon", "1", "--delta", "1e-6"], ["--rho", "1/2"]])
def test_the_command_prints_words_and_tables(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options, "--prior", "0.1", "--group", "4"]) == 0
    out = capsys.readouterr().out
    for heading in ("Beliefs", "Guesses", "Adding up"):
        assert heading in out


def test_the_command_saves_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--mu", "1", "--plot", str(tmp_path), "--format", "svg"]) == 0
    assert len(list(tmp_path.glob("*.svg"))) == 5
    assert str(tmp_path) in capsys.readouterr().out.replace("\n", "")


@all_cases(
    "options",
    [[], ["--epsilon", "1", "--mu", "1"], ["--mu", "1", "--delta", "0.1"], ["--epsilon", "0"], ["--epsilon", "ln 3"]],
)
def test_a_promise_that_is_none_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options]) == 2
    assert capsys.readouterr().err
