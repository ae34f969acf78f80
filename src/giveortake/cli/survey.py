"""`giveortake survey`: plan a survey, randomise answers, estimate what they say together, write a respondent's page."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from giveortake.cli.command import Command, terminal
from giveortake.errors import InvalidParameter, NotFound
from giveortake.local import CountMeanSketch, HeavyHitters, Mean, Poll, Rappor, from_json, plan
from giveortake.local.consistency import Consistency
from giveortake.local.page import page
from giveortake.local.tables import answers_of, report_rows, reports_of

if TYPE_CHECKING:
    import argparse

    from giveortake.local import Oracle

_REPORTS = ("survey", "report")  # the columns of a file of reports


def run(arguments: argparse.Namespace) -> int:
    """Do one of the four things."""
    actions = {"plan": _plan, "randomize": _randomize, "estimate": _estimate, "page": _page}
    return actions[arguments.action](arguments)


def _plan(arguments: argparse.Namespace) -> int:
    out = terminal()
    survey: Oracle
    if arguments.poll:
        survey = Poll(truth=arguments.truth) if arguments.truth else Poll(epsilon=arguments.epsilon)
        out.print(f"Tell the truth with probability {survey.truth}, else flip a fair coin. {survey.guarantee}")
    else:
        found = plan(_categories(arguments), arguments.epsilon, arguments.respondents)
        survey = found.survey
        out.print(found.options)
        out.print(found.why)
    if arguments.margin is not None:
        size = survey.sample_size(margin=arguments.margin)
        out.print(f"{size:,} respondents make every interval at most ± {arguments.margin} wide.")
    if arguments.out is not None:
        Path(arguments.out).write_text(survey.to_json() + "\n", encoding="utf-8")
        out.print(f"written to {arguments.out}: give it to respondents, and keep it for estimating", soft_wrap=True)
    return 0


def _randomize(arguments: argparse.Namespace) -> int:
    survey = _survey(arguments.survey)
    texts = _column(arguments.answers, arguments.column)
    rows = report_rows(survey.randomize(answers_of(survey, texts)))
    with _target(arguments.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_REPORTS)
        writer.writerows(rows)
    return 0


def _estimate(arguments: argparse.Namespace) -> int:
    survey = _survey(arguments.survey)
    reports = reports_of(survey, _rows(arguments.reports))
    options: dict[str, Any] = {}
    if isinstance(survey, Rappor | CountMeanSketch):
        if arguments.candidates is None:
            raise InvalidParameter("candidates", None, "is missing", hint="give a file with one text a line")
        options["candidates"] = _text(arguments.candidates).split()
    elif isinstance(survey, Poll):
        options["clip"] = arguments.consistent is not None
    elif arguments.consistent is not None and not isinstance(survey, Mean | HeavyHitters):
        options["consistent"] = arguments.consistent
    answer = survey.estimate(reports, arguments.confidence, **options)
    if arguments.format == "table":
        terminal().print(answer)
    else:
        sys.stdout.write(answer.to_csv() if arguments.format == "csv" else answer.to_json() + "\n")
    return 0


def _page(arguments: argparse.Namespace) -> int:
    text = page(_survey(arguments.survey), arguments.question)
    with _target(arguments.out) as file:
        file.write(text)
    return 0


def _categories(arguments: argparse.Namespace) -> list[str] | range:
    if (arguments.categories is None) == (arguments.domain is None):
        raise InvalidParameter(
            "categories", arguments.categories, "or --domain or --poll: give one", hint="--categories never,once,often"
        )
    return range(arguments.domain) if arguments.categories is None else arguments.categories.split(",")


def _survey(path: str) -> Any:
    return from_json(_text(path))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read as text: {type(error).__name__}") from None


def _column(path: str, name: str) -> list[str]:
    rows = list(csv.DictReader(_text(path).splitlines()))
    if rows and name not in rows[0]:
        raise NotFound(f"{path} has no column {name!r}", hint=f"its columns are {', '.join(rows[0])}")
    return [row[name] or "" for row in rows]


def _rows(paths: list[str]) -> list[tuple[str, str]]:
    return [pair for path in paths for pair in zip(_column(path, _REPORTS[0]), _column(path, _REPORTS[1]), strict=True)]


def _target(path: str | None) -> Any:
    """A file to write to, or standard output, which stays open."""
    if path is None:
        return _Standard()
    return Path(path).open("w", encoding="utf-8", newline="")


class _Standard:
    """Standard output as a context."""

    def __enter__(self) -> Any:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    planning = actions.add_parser("plan", help="which survey to hold, how many to ask, and why")
    planning.add_argument("--categories", help="the possible answers, separated by commas")
    planning.add_argument("--domain", type=int, help="or how many there are: 0, 1, 2, …")
    planning.add_argument("--poll", action="store_true", help="or a question with yes or no for an answer")
    planning.add_argument("--truth", help="for a poll: with which probability to tell the truth, such as 1/2")
    planning.add_argument("--epsilon", default="1", help="what is promised to each respondent (1)")
    planning.add_argument("--respondents", type=int, default=1000, help="how many will answer (1000)")
    planning.add_argument("--margin", help="how wide an interval may be, to be told how many to ask")
    planning.add_argument("--out", metavar="FILE", help="write the survey's parameters there")
    randomizing = actions.add_parser("randomize", help="turn a column of answers into reports")
    randomizing.add_argument("survey", metavar="SURVEY", help="the parameters that `plan` wrote")
    randomizing.add_argument("answers", metavar="CSV", help="a table with one answer a line")
    randomizing.add_argument("--column", default="answer", help="the column that holds the answers (answer)")
    randomizing.add_argument("--out", metavar="FILE", help="where reports go; standard output if not given")
    estimating = actions.add_parser("estimate", help="what all reports say together, with intervals")
    estimating.add_argument("survey", metavar="SURVEY")
    estimating.add_argument("reports", metavar="CSV", nargs="+", help="tables with the columns survey and report")
    estimating.add_argument("--confidence", default="0.95")
    estimating.add_argument("--consistent", choices=get_args(Consistency), help="make shares sensible; free")
    estimating.add_argument("--candidates", metavar="FILE", help="texts to look for, one a line")
    estimating.add_argument("--format", choices=("table", "csv", "json"), default="table")
    paging = actions.add_parser("page", help="a page that randomises in the respondent's browser")
    paging.add_argument("survey", metavar="SURVEY")
    paging.add_argument("--question", required=True, help="what the respondent is asked")
    paging.add_argument("--out", metavar="FILE")


COMMAND = Command(
    summary="ask people without having to be trusted: plan, randomise, estimate",
    description="Surveys whose answers are randomised by the respondents themselves (local differential privacy).",
    examples=(
        "giveortake survey plan --poll --truth 1/2 --margin 0.05 --out survey.json",
        'giveortake survey page survey.json --question "Have you ever cheated in an exam?" --out ask.html',
        "giveortake survey estimate survey.json reports.csv",
    ),
    add_arguments=_add_arguments,
    run=run,
)
