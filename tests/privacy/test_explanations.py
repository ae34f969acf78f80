from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import giveortake as gt
from cases import all_cases
from giveortake import cli
from giveortake.privacy import Guarantee
from giveortake.privacy.explaining import beliefs, percent_down, percent_up

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
    told = str(promise.explain(prior="0.1", group=3))
    assert told.startswith(str(promise))
    assert "In plain words" in told
    assert "What is not promised" in told
    assert all(len(paragraph) < 500 for paragraph in promise.explain().paragraphs)
    assert "<p>" in promise.explain()._repr_html_()


def test_numbers_in_the_text_are_those_of_the_promise() -> None:
    told = str(gt.PureDP(1).explain(prior="1/2", group=1))
    assert "with 26.8 % at the least and 73.2 % at the most." in told
    assert "family" not in told
    assert "The two rates differ by 46.3 % at most, whatever they are." in told
    assert "of 1 % of all outsiders, they rightly think so of you with 2.8 % at most; with 5 % wrong, 13.6 %" in told


def test_what_is_not_limited_is_said_in_whole_sentences() -> None:
    many = gt.ApproxDP(1, "1e-4").explain(group=8).group
    assert many.startswith("For 8 people together this promise sets no limit to beliefs: ")
    assert gt.ApproxDP(1, "1e-5").explain(group=20).group == "For 20 people together this promises nothing useful."
    assert "sets no limit to an attacker's belief" in gt.ApproxDP(5, "0.1").explain().belief
    weak = gt.PureDP(30).explain().plainly
    assert weak.endswith("what is published may look entirely different. So large a promise protects nobody.")


def test_entries_that_change_are_guessed_as_entries() -> None:
    told = gt.PureDP("0.1", neighbours="change-one").explain()
    assert "guesses whether your entry is this or that" in told.guessing
    assert "outsiders" not in told.guessing
    assert told.group.startswith("For 4 people whose entries all change, such as a family, ")


def test_beliefs_say_how_often_they_fail() -> None:
    assert beliefs(gt.PureDP(1), "1/2") == (*gt.PureDP(1).posterior("1/2"), None)
    low, high, failure = beliefs(gt.ApproxDP(1, "1e-6"), "1/2") or (0, 0, 0)
    assert failure == Fraction(1, 1000)
    assert (low, high) == gt.ApproxDP(1, "1e-6").posterior("1/2", failure="1/1000")
    assert beliefs(gt.ComputationalDP(1, "1e-6"), "1/2") is None
    assert beliefs(gt.ApproxDP(1, "0.1"), "1/2") is None
    assert "may fail, with probability 0.001 at most" in str(gt.ApproxDP(1, "1e-6").explain())


def test_a_computational_promise_is_not_said_to_hold_against_everybody() -> None:
    assert "computing power is bounded" in str(gt.ComputationalDP(1, "1e-6").explain())
    assert "however long they compute" in str(gt.PureDP(1).explain())


def test_percentages_are_rounded_against_the_promise() -> None:
    assert (percent_up(Fraction(1, 3)), percent_down(Fraction(1, 3))) == ("33.4 %", "33.3 %")
    assert (percent_up(Fraction(1, 2)), percent_down(Fraction(0))) == ("50 %", "0 %")
    assert percent_up(Fraction(99999, 100000)) == "99.999 %"


@all_cases("options", [["--epsilon", "1"], ["--epsilon", "1", "--delta", "1e-6"], ["--rho", "1/2"]])
def test_the_command_prints_words_and_tables(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options, "--prior", "0.1", "--group", "4"]) == 0
    out = capsys.readouterr().out
    for heading in ("Beliefs", "Guesses", "Adding up"):
        assert heading in out
    assert "In plain words" in out


def test_the_command_saves_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--mu", "1", "--plot", str(tmp_path), "--format", "svg"]) == 0
    assert len(list(tmp_path.glob("*.svg"))) == 5
    assert "saved" in capsys.readouterr().out


@all_cases("options", [[], ["--epsilon", "1", "--mu", "1"], ["--mu", "1", "--delta", "0.1"], ["--epsilon", "0"]])
def test_a_promise_that_is_none_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options]) == 2
    assert "error" in capsys.readouterr().err


def test_groups_say_how_often_their_beliefs_fail() -> None:
    told = gt.ApproxDP("1/10", "1e-9").explain(group=3)
    assert "For 3 people who" in told.group
    assert "may fail, with probability 0.001 at most" in told.group
    assert "may fail" not in gt.PureDP("1/10").explain(group=3).group


def test_a_weak_promise_is_called_weak() -> None:
    assert "looks almost the same" in gt.PureDP("0.1").explain().plainly
    assert "may look different" in gt.PureDP(1).explain().plainly
    assert "protects hardly anybody" in gt.PureDP(6).explain().plainly
    assert "protects nobody" in gt.PureDP(21).explain().plainly
    assert "protects" not in gt.PureDP(4).explain().plainly
    assert "sets no limit to" in gt.ApproxDP(1, "0.1").explain().belief


def test_percentages_are_exact_however_long_the_fraction() -> None:
    """A quotient of 28 decimals would have been rounded to 50 % before it was rounded up."""
    assert percent_up(Fraction(1, 2) + Fraction(1, 10**40)) == "50.1 %"
    assert percent_down(Fraction(1, 2) - Fraction(1, 10**40)) == "49.9 %"


def test_a_logarithm_is_refused_with_a_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--epsilon", "ln 3"]) == 2
    assert "round it up" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["explain", "--help"])
    assert "what is hidden" in capsys.readouterr().out
