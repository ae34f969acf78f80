"""`giveortake survey`: plan a survey, randomise answers, estimate what they say together, write a respondent's page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from giveortake.cli.command import Command, number, terminal
from giveortake.cli.survey_files import (
    read_column,
    read_lines,
    read_reports,
    read_survey,
    refuse_overwriting,
    target,
    write_reports,
)
from giveortake.cli.survey_plan import KINDS, asked_of, has_page, planned
from giveortake.errors import InvalidParameter
from giveortake.exact import shown_up
from giveortake.local import CountMeanSketch, Mean, Poll, Rappor
from giveortake.local.frequencies import Consistency, FrequencyOracle
from giveortake.local.pages import answers_of, page, report_rows
from giveortake.local.survey import counted

if TYPE_CHECKING:
    import argparse

_NAMELESS = "this survey has no name: reports to another question with the same parameters cannot be told apart"


def run(arguments: argparse.Namespace) -> int:
    """Run the action that the arguments name."""
    actions = {"plan": _plan, "randomize": _randomize, "estimate": _estimate, "page": _page}
    return actions[arguments.action](arguments)


def _plan(arguments: argparse.Namespace) -> int:
    refuse_overwriting(arguments.out, arguments.categories_file)
    survey, told = planned(arguments)
    if arguments.margin is not None:
        told.append(asked_of(survey, arguments.margin))
    if not has_page(survey):
        told.append("Respondents randomise with Python: a survey of this kind has no page (`survey page`).")
    out = terminal()
    for part in told:
        out.print(part)
    if arguments.out is not None:
        Path(arguments.out).write_text(survey.to_json() + "\n", encoding="utf-8")
        out.print(f"written to {arguments.out}: give it to respondents, and keep it for estimating", soft_wrap=True)
        if not survey.name:
            out.print(f"{_NAMELESS}; --question says what is asked.")
    return 0


def _randomize(arguments: argparse.Namespace) -> int:
    refuse_overwriting(arguments.out, arguments.survey, arguments.answers)
    survey = read_survey(arguments.survey)
    cells = read_column(arguments.answers, arguments.column)
    rows = report_rows(survey.randomize(answers_of(survey, cells.texts, cells.place)))
    told = write_reports(arguments.out, rows)
    if arguments.out is not None:
        terminal().print(f"{told} (ε = {shown_up(survey.epsilon, digits=5)} each)", soft_wrap=True)
    return 0


def _estimate(arguments: argparse.Namespace) -> int:
    survey = read_survey(arguments.survey)
    options = _options(survey, arguments)
    reports = read_reports(survey, arguments.reports)
    answer = survey.estimate(reports, arguments.confidence, **options)
    told = f"from {counted(len(reports))}" + (f" to: {survey.name}" if survey.name else "")
    if arguments.format == "table":
        out = terminal()
        out.print(answer)
        out.print(told, markup=False)
    else:
        sys.stdout.write(answer.to_csv() if arguments.format == "csv" else answer.to_json() + "\n")
        sys.stderr.write(told + "\n")
    return 0


def _options(survey: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of an estimate beside reports; those that this kind of survey cannot use are refused."""
    options: dict[str, Any] = {}
    if isinstance(survey, Rappor | CountMeanSketch):
        if arguments.candidates is None:
            raise InvalidParameter("candidates", None, "is missing", hint="give a file with one text a line")
        options["candidates"] = read_lines(arguments.candidates, "candidates")
    elif arguments.candidates is not None:
        raise InvalidParameter("candidates", arguments.candidates, f"is not for a survey of kind {survey.kind}")
    if arguments.consistent is not None:
        only_clipped = isinstance(survey, Poll | Mean)
        if not (isinstance(survey, FrequencyOracle) or (only_clipped and arguments.consistent == "clip")):
            hint = "one number can only be cut to its range: --consistent clip" if only_clipped else None
            raise InvalidParameter("consistent", arguments.consistent, f"is not for a {survey.kind}", hint=hint)
        options |= {"clip": True} if isinstance(survey, Poll) else {"consistent": arguments.consistent}
    return options


def _page(arguments: argparse.Namespace) -> int:
    refuse_overwriting(arguments.out, arguments.survey)
    survey = read_survey(arguments.survey)
    text = page(survey, arguments.question)
    with target(arguments.out) as file:
        file.write(text)
    if not survey.name:
        sys.stderr.write(f"note: {_NAMELESS}; plan it with --question\n")
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    planning = actions.add_parser("plan", help="which survey to hold, how many to ask, and why")
    planning.add_argument("--categories", help="the possible answers, separated by commas")
    planning.add_argument("--categories-file", metavar="FILE", help="or a file with one possible answer a line")
    planning.add_argument("--domain", type=number, help="or how many there are: 0, 1, 2, …")
    planning.add_argument("--poll", action="store_true", help="or a question with yes or no for an answer")
    planning.add_argument("--truth", help="for a poll: with which probability to tell the truth, such as 1/2")
    planning.add_argument(
        "--kind", choices=KINDS, help="which survey to hold; the best for the categories if not given"
    )
    planning.add_argument("--bounds", metavar="LOW,HIGH", help="for a mean: between which numbers answers lie")
    planning.add_argument(
        "--length", type=number, help="for heavy hitters: how many letters of a text are asked for (8)"
    )
    planning.add_argument("--alphabet", help="for heavy hitters: the letters that texts are made of")
    planning.add_argument(
        "--question", "--name", dest="name", default="", help="what is asked: tells reports to it from others"
    )
    planning.add_argument("--epsilon", help="what is promised to each respondent (1)")
    planning.add_argument("--respondents", type=number, help="how many will answer (1000)")
    planning.add_argument("--margin", help="how far an interval may reach to either side, to be told how many to ask")
    planning.add_argument("--out", metavar="FILE", help="write the survey's parameters there")
    randomizing = actions.add_parser("randomize", help="turn a column of answers into reports")
    randomizing.add_argument("survey", metavar="SURVEY", help="the parameters that `plan` wrote")
    randomizing.add_argument("answers", metavar="CSV", help="a table with one answer a line")
    randomizing.add_argument("--column", default="answer", help="the column that holds the answers (answer)")
    randomizing.add_argument("--out", metavar="FILE", help="where reports go; standard output if not given")
    estimating = actions.add_parser("estimate", help="what all reports say together, with intervals")
    estimating.add_argument("survey", metavar="SURVEY")
    estimating.add_argument(
        "reports", metavar="FILE", nargs="+", help="tables with the columns survey and report, or JSON"
    )
    estimating.add_argument("--confidence", default="0.95")
    estimating.add_argument("--consistent", choices=get_args(Consistency), help="make shares sensible; free")
    estimating.add_argument("--candidates", metavar="FILE", help="texts to look for, one a line")
    estimating.add_argument("--format", choices=("table", "csv", "json"), default="table")
    paging = actions.add_parser("page", help="a page that randomises in the respondent's browser")
    paging.add_argument("survey", metavar="SURVEY")
    paging.add_argument("--question", help="what the respondent is asked, if not as in the plan")
    paging.add_argument("--out", metavar="FILE")


COMMAND = Command(
    summary="ask people without having to be trusted: plan, randomise, estimate",
    description="Surveys whose answers are randomised by the respondents themselves (local differential privacy).",
    examples=(
        'giveortake survey plan --poll --truth 1/2 --question "Have you ever cheated in an exam?" --out survey.json',
        "giveortake survey page survey.json --out ask.html",
        "giveortake survey estimate survey.json reports.csv",
    ),
    add_arguments=_add_arguments,
    run=run,
)
