"""`giveortake survey` on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from giveortake import cli
from giveortake.local import CountMeanSketch, HeavyHitters, Mean, Poll, Rappor, UnaryEncoding, from_json


def run(*arguments: object) -> int:
    return cli.main(["survey", *map(str, arguments)])


def test_a_poll_is_planned_randomised_and_estimated_on_files(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports = (tmp_path / name for name in ("survey.json", "answers.csv", "reports.csv"))
    assert run("plan", "--poll", "--truth", "1/2", "--margin", "0.05", "--out", survey) == 0
    told = capsys.readouterr().out
    assert "probability 1/2" in told
    assert f"{Poll(truth='1/2').sample_size(margin='0.05'):,} respondents" in " ".join(told.split())
    answers.write_text("name,answer\n" + "ann,yes\n" * 300 + "bob,no\n" * 700)
    assert run("randomize", survey, answers, "--out", reports) == 0
    assert reports.read_text().startswith("survey,report\n")
    assert "ann" not in reports.read_text()
    assert run("estimate", survey, reports, "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["columns"]) == {"share", "share_low", "share_high"}
    assert run("estimate", survey, reports, reports, "--consistent", "clip") == 0
    assert "share" in capsys.readouterr().out


def test_categories_are_planned_and_estimated_consistently(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports = (tmp_path / name for name in ("survey.json", "answers.csv", "reports.csv"))
    assert run("plan", "--categories", "never,once,often", "--epsilon", "2", "--out", survey) == 0
    assert "randomized response: for 3 categories" in " ".join(capsys.readouterr().out.split())
    answers.write_text("answer\n" + "never\n" * 50 + "often\n" * 50)
    assert run("randomize", survey, answers, "--out", reports) == 0
    assert run("estimate", survey, reports, "--consistent", "norm-sub", "--format", "csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "category,share,share_low,share_high"
    assert sum(float(line.split(",")[1]) for line in lines[1:]) == pytest.approx(1)
    assert run("plan", "--domain", "500") == 0


@pytest.mark.parametrize(
    ("survey", "answers"),
    [
        (UnaryEncoding(["a", "b", "c"], 1), ["a", "c"]),
        (Mean((0, 10), 1), ["3.5", "1e1"]),
        (Rappor(1), ["a", "b"]),
        (CountMeanSketch(1), ["a", "b"]),
        (HeavyHitters(1), ["a", "b"]),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_every_kind_goes_through_files(survey: Any, answers: list[str], tmp_path: Path, capsys: Any) -> None:
    parameters, texts, reports, names = (tmp_path / name for name in ("s.json", "a.csv", "r.csv", "names"))
    parameters.write_text(survey.to_json())
    texts.write_text("answer\n" + "\n".join(answers * 200) + "\n")
    names.write_text("a\nb\n")
    assert run("randomize", parameters, texts) == 0
    reports.write_text(capsys.readouterr().out)
    assert run("estimate", parameters, reports, "--candidates", names, "--format", "csv") == 0
    assert capsys.readouterr().out


def test_a_page_is_written_for_a_poll(tmp_path: Path, capsys: Any) -> None:
    survey, target = tmp_path / "survey.json", tmp_path / "ask.html"
    assert run("plan", "--poll", "--out", survey) == 0
    assert run("page", survey, "--question", "Do you <b>smoke</b>?", "--out", target) == 0
    text = target.read_text()
    assert "Do you &lt;b&gt;smoke&lt;/b&gt;?" in text
    assert from_json(survey.read_text()).fingerprint in text
    assert run("page", survey, "--question", " ") == 2
    assert "question" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "give one"),
        (["plan", "--categories", "a,b", "--epsilon", "1000"], "protects nobody"),
        (["estimate", "absent.json", "absent.csv"], "there is no file absent.json"),
    ],
)
def test_refusals_say_what_to_do(arguments: list[str], message: str, capsys: Any) -> None:
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_a_file_with_a_wrong_answer_column_or_foreign_reports_is_refused(tmp_path: Path, capsys: Any) -> None:
    survey, table, reports = (tmp_path / name for name in ("survey.json", "t.csv", "r.csv"))
    assert run("plan", "--poll", "--out", survey) == 0
    for text, message in (
        ("question\nyes\n", "has no column 'answer'"),
        ("answer\nsecret\n", "answer = <hidden> is not one of yes"),
    ):
        table.write_text(text)
        assert run("randomize", survey, table) == 2
        refused = capsys.readouterr().err
        assert message in refused
        assert "secret" not in refused
    fingerprint = from_json(survey.read_text()).fingerprint
    for row, message in (
        ("abc,1", "belongs to survey abc"),
        (f"{fingerprint},7", "neither 0 nor 1"),
        (f"{fingerprint},x", "whole number"),
        (f"{fingerprint},ü", "no report has"),
    ):
        reports.write_text(f"survey,report\n{row}\n")
        assert run("estimate", survey, reports) == 2
        assert message in capsys.readouterr().err
