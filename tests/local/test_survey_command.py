"""`giveortake survey` on files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import all_cases
from giveortake import cli
from giveortake.local import (
    CountMeanSketch,
    HeavyHitters,
    Mean,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
    from_json,
)


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
    assert "1,000 reports" in capsys.readouterr().out
    assert reports.read_text().startswith("survey,report\n")
    assert "ann" not in reports.read_text()
    assert run("estimate", survey, reports, "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["columns"]) == {"share", "share_low", "share_high"}
    assert run("estimate", survey, reports, "--consistent", "clip") == 0
    told = capsys.readouterr().out
    assert "share" in told
    assert "1,000 reports" in told


def test_categories_are_planned_and_estimated_consistently(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports = (tmp_path / name for name in ("survey.json", "answers.csv", "reports.csv"))
    assert run("plan", "--categories", "never,once,often", "--epsilon", "2", "--out", survey) == 0
    assert "3 categories" in " ".join(capsys.readouterr().out.split())
    answers.write_text("answer\n" + "never\n" * 50 + "often\n" * 50)
    assert run("randomize", survey, answers, "--out", reports) == 0
    capsys.readouterr()
    assert run("estimate", survey, reports, "--consistent", "norm-sub", "--format", "csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "category,share,share_low,share_high"
    assert sum(float(line.split(",")[1]) for line in lines[1:]) == pytest.approx(1)
    assert run("plan", "--domain", "500") == 0


@all_cases(
    ("survey", "answers"),
    [
        (UnaryEncoding(["a", "b", "c"], 1), ["a", "c"]),
        (Mean((0, 10), 1), ["3.5", "1e1"]),
        (Rappor(1), ["a", "b"]),
        (CountMeanSketch(1), ["a", "b"]),
        (HeavyHitters(1), ["a", "b"]),
    ],
)
def test_every_kind_goes_through_files(survey: Any, answers: list[str], tmp_path: Path, capsys: Any) -> None:
    parameters, texts, reports, names = (tmp_path / name for name in ("s.json", "a.csv", "r.csv", "names"))
    parameters.write_text(survey.to_json())
    texts.write_text("answer\n" + "\n".join(answers * 200) + "\n")
    names.write_text("a\nb\n")
    assert run("randomize", parameters, texts) == 0
    reports.write_text(capsys.readouterr().out)
    asked = ["--candidates", names] if isinstance(survey, Rappor | CountMeanSketch) else []
    assert run("estimate", parameters, reports, *asked, "--format", "csv") == 0
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


@all_cases(
    "arguments",
    [["plan"], ["plan", "--categories", "a,b", "--epsilon", "1000"], ["estimate", "absent.json", "absent.csv"]],
)
def test_what_is_missing_or_protects_nobody_is_refused(arguments: list[str], capsys: Any) -> None:
    assert refused(capsys, *arguments)


def test_a_file_with_a_wrong_answer_column_or_foreign_reports_is_refused(tmp_path: Path, capsys: Any) -> None:
    survey, table, reports = (tmp_path / name for name in ("survey.json", "t.csv", "r.csv"))
    assert run("plan", "--poll", "--out", survey) == 0
    for text, fact in (("question\nyes\n", "'answer'"), ("answer\nsecret\n", "line 2")):
        table.write_text(text)
        error = refused(capsys, "randomize", survey, table)
        assert fact in error
        assert "secret" not in error
    fingerprint = from_json(survey.read_text()).fingerprint
    for row in ("abc,1", f"{fingerprint},7", f"{fingerprint},x", f"{fingerprint},ü"):
        reports.write_text(f"survey,report\n{row}\n")
        assert refused(capsys, "estimate", survey, reports)


def refused(capsys: Any, *arguments: object) -> str:
    capsys.readouterr()
    assert run(*arguments) == 2
    return " ".join(capsys.readouterr().err.split())


def test_two_questions_with_equal_parameters_are_two_surveys(tmp_path: Path, capsys: Any) -> None:
    first, second, answers, reports = (tmp_path / name for name in ("1.json", "2.json", "a.csv", "r.csv"))
    assert run("plan", "--poll", "--question", "Do you smoke?", "--out", first) == 0
    assert run("plan", "--poll", "--question", "Do you drink?", "--out", second) == 0
    assert from_json(first.read_text()).name == "Do you smoke?"
    answers.write_text("answer\nyes\n")
    assert run("randomize", first, answers, "--out", reports) == 0
    assert refused(capsys, "estimate", second, reports)
    assert run("estimate", first, reports) == 0
    assert "Do you smoke?" in capsys.readouterr().out
    assert run("page", first) == 0  # the question is known from the plan
    assert "<h1>Do you smoke?</h1>" in capsys.readouterr().out


def test_candidates_are_lines_and_one_that_occurs_twice_is_named(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports, names = (tmp_path / name for name in ("s.json", "a.csv", "r.csv", "names"))
    assert run("plan", "--kind", "sketch", "--epsilon", "3", "--out", survey) == 0
    answers.write_text("answer\n" + "New York\n" * 50)
    assert run("randomize", survey, answers, "--out", reports) == 0
    names.write_text("New York\n\nParis\n")
    capsys.readouterr()
    assert run("estimate", survey, reports, "--candidates", names, "--format", "csv") == 0
    out, err = capsys.readouterr()
    assert [line.split(",")[0] for line in out.splitlines()] == ["text", "New York", "Paris"]
    assert "50 reports" in err
    names.write_text("New York\nParis\nNew York\n")
    assert "'New York'" in refused(capsys, "estimate", survey, reports, "--candidates", names)
    names.write_text("\n")
    assert refused(capsys, "estimate", survey, reports, "--candidates", names)


@all_cases(
    ("options", "kind"),
    [
        (["--kind", "randomized-response", "--categories", "a, b"], "randomized-response"),
        (["--kind", "unary", "--domain", "9"], "unary-encoding"),
        (["--kind", "local-hashing", "--domain", "9"], "local-hashing"),
        (["--kind", "hadamard", "--domain", "9"], "hadamard-response"),
        (["--kind", "mean", "--bounds", "0, 100", "--margin", "5"], "mean"),
        (["--kind", "rappor", "--margin", "0.1"], "rappor"),
        (["--kind", "heavy-hitters", "--length", "12", "--alphabet", "abc"], "heavy-hitters"),
        (["--kind", "sketch", "--margin", "0.1"], "count-mean-sketch"),
    ],
)
def test_every_kind_can_be_planned(options: list[str], kind: str, tmp_path: Path) -> None:
    survey = tmp_path / "survey.json"
    assert run("plan", *options, "--out", survey) == 0
    assert from_json(survey.read_text()).kind == kind


def test_categories_are_stripped_and_may_come_from_a_file(tmp_path: Path, capsys: Any) -> None:
    survey, listed, answers, reports = (tmp_path / name for name in ("s.json", "c.txt", "a.csv", "r.csv"))
    assert run("plan", "--categories", "never, once , often", "--out", survey) == 0
    assert from_json(survey.read_text()).categories == ("never", "once", "often")
    listed.write_text("red, dark\nblue\n")
    assert run("plan", "--categories-file", listed, "--out", survey) == 0
    assert from_json(survey.read_text()).categories == ("red, dark", "blue")
    answers.write_text('answer\n"red, dark"\n blue \n')
    assert run("randomize", survey, answers, "--out", reports) == 0
    assert "out" in refused(capsys, "plan", "--categories-file", listed, "--out", listed)


@all_cases(
    "options",
    [
        ["--poll", "--truth", "1/2", "--epsilon", "1"],
        ["--poll", "--categories", "a,b"],
        ["--poll", "--kind", "unary"],
        ["--categories", "a,b", "--domain", "3"],
        ["--categories", "a,b", "--truth", "1/2"],
        ["--categories", "a,b", "--respondents", "-3"],
        ["--poll", "--respondents", "0"],
        ["--poll", "--margin", "1"],
        ["--poll", "--margin", "3/2"],
        ["--poll", "--margin", "0"],
        ["--kind", "mean"],
        ["--kind", "mean", "--bounds", "3"],
        ["--kind", "mean", "--bounds", "0,10", "--margin", "10"],
        ["--kind", "rappor", "--categories", "a,b"],
        ["--poll", "--bounds", "0,1"],
        ["--kind", "rappor", "--length", "3"],
        ["--domain", "1"],
        ["--categories", "a,,b"],
        ["--kind", "rappor", "--respondents", "10"],
    ],
)
def test_options_of_which_one_would_be_ignored_are_refused(options: list[str], capsys: Any) -> None:
    assert refused(capsys, "plan", *options)


def test_a_plan_has_the_numbers_of_its_survey(capsys: Any) -> None:
    for options, facts in {
        ("--poll", "--truth", "1/2", "--margin", "0.02"): ("0.02", "ln 3 ≈ 1.0987", "at most 3 times", "± 0.062"),
        ("--poll", "--epsilon", "1"): ("46.212 %",),
        ("--domain", "20", "--respondents", "100000"): ("± 0.012", "± 0.014"),
    }.items():
        capsys.readouterr()
        assert run("plan", *options) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert [fact for fact in facts if fact not in text] == []


def test_tables_of_other_programs_are_read_or_named(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports = (tmp_path / name for name in ("s.json", "a.csv", "r.csv"))
    assert run("plan", "--poll", "--out", survey) == 0
    answers.write_bytes("answer\r\nyes\r\n".encode("utf-8-sig"))
    assert run("randomize", survey, answers, "--out", reports) == 0
    assert "1 report " in capsys.readouterr().out
    answers.write_text("name;answer\nann;yes\n")
    assert ";" in refused(capsys, "randomize", survey, answers)
    for text in ("", "answer\n"):
        answers.write_text(text)
        assert refused(capsys, "randomize", survey, answers)
    reports.write_text("survey,report\n")
    assert refused(capsys, "estimate", survey, reports)


def test_a_bad_answer_is_told_by_its_place_and_never_quoted(tmp_path: Path, capsys: Any) -> None:
    survey, answers = tmp_path / "s.json", tmp_path / "a.csv"
    answers.write_text('name,answer\nann,1\n"bob\nsmith",2\neve,secret\n')
    for options in (["--domain", "30"], ["--kind", "mean", "--bounds", "0,9"]):
        assert run("plan", *options, "--out", survey) == 0
        error = refused(capsys, "randomize", survey, answers)
        assert "line 5" in error
        assert "secret" not in error


def test_no_input_is_overwritten_and_no_report_counted_twice(tmp_path: Path, capsys: Any) -> None:
    survey, answers, reports = (tmp_path / name for name in ("s.json", "a.csv", "r.csv"))
    assert run("plan", "--poll", "--question", "Which?", "--out", survey) == 0
    answers.write_text("answer\nyes\n")
    for target in (survey, answers):
        before = target.read_text()
        assert refused(capsys, "randomize", survey, answers, "--out", target)
        assert target.read_text() == before
    assert refused(capsys, "page", survey, "--out", survey)
    assert run("randomize", survey, answers, "--out", reports) == 0
    assert refused(capsys, "estimate", survey, reports, tmp_path / "." / "r.csv")


def test_reports_in_json_are_estimated_too(tmp_path: Path, capsys: Any) -> None:
    survey = RandomizedResponse(["a", "b"], 2)
    parameters, table, document = (tmp_path / name for name in ("s.json", "r.csv", "r.json"))
    parameters.write_text(survey.to_json())
    table.write_text(f"survey,report\n{survey.fingerprint},1\n")
    document.write_text(survey.randomize(["a"] * 40).to_json())
    assert run("estimate", parameters, document, table) == 0
    assert "41 reports" in capsys.readouterr().out


def test_options_that_an_estimate_cannot_use_are_refused(tmp_path: Path, capsys: Any) -> None:
    reports = tmp_path / "r.csv"
    for survey, options in (
        (Poll(truth="1/2"), ["--consistent", "norm-sub"]),
        (Mean((0, 1), 1), ["--consistent", "norm-sub"]),
        (HeavyHitters(1), ["--consistent", "clip"]),
        (Poll(truth="1/2"), ["--candidates", "names"]),
    ):
        path = tmp_path / "s.json"
        path.write_text(survey.to_json())
        reports.write_text(f"survey,report\n{survey.fingerprint},0\n")
        assert options[0].strip("-") in refused(capsys, "estimate", path, reports, *options)
