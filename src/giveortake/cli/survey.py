"""`giveortake survey`: plan a survey, randomise answers, estimate, write a respondent's page.

The files that it reads and writes come first, then the four actions.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from giveortake.cli.shell import Command, number, terminal
from giveortake.errors import InvalidParameter, NotFound
from giveortake.exact import decimal_up, percent, rational, whole
from giveortake.local import (
    CountMeanSketch,
    HadamardResponse,
    HeavyHitters,
    LocalHashing,
    Mean,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
    from_json,
    plan,
)
from giveortake.local.frequencies import Consistency, FrequencyOracle
from giveortake.local.plan import worst_variance
from giveortake.local.respondent import answers_of, page, report_rows, reports_of
from giveortake.local.survey import USUAL, counted, joined, quantile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from giveortake.local import Oracle, Reports
    from giveortake.local.frequencies import Supports


REPORT_COLUMNS = ("survey", "report")  # of a file of reports


class Cells(NamedTuple):
    """One column of a file, and the line of each of its cells."""

    texts: list[str]
    lines: list[int]
    source: str

    def location(self, index: int) -> str:
        """The location of a cell, in words."""
        return f"line {self.lines[index]}, {self.source}"


def read_survey(path: str) -> Any:
    """The survey whose parameters a file holds."""
    return from_json(read_text(path))


def read_text(path: str) -> str:
    """Read a file as text, with or without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read as text: {type(error).__name__}") from None


def read_lines(path: str, name: str) -> list[str]:
    """Read the texts of a file, one a line; a text that occurs twice is refused."""
    texts = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not texts:
        raise InvalidParameter(name, path, "is empty", hint="write one text a line")
    twice = next((text for text, times in Counter(texts).items() if times > 1), None)
    if twice is not None:
        raise InvalidParameter(name, twice, "occurs twice", hint="list every text once")
    return texts


def read_column(path: str, name: str) -> Cells:
    """One column of a table; an empty table is refused."""
    return read_columns(read_text(path), path, (name,))[0]


def read_columns(text: str, path: str, names: Sequence[str]) -> list[Cells]:
    """Some columns of a table that is given as text."""
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    for name in names:
        if name not in header:
            cut = any(";" in cell for cell in header)
            hint = "the columns seem to be separated by ;" if cut else f"its columns are {', '.join(header)}"
            raise NotFound(f"{path} has no column {name!r}", hint=hint if header else "it is empty")
    columns = [Cells([], [], f"column {name!r} of {path}") for name in names]
    for row in reader:
        if not row:
            continue
        for name, cells in zip(names, columns, strict=True):
            column_index = header.index(name)
            cells.texts.append(row[column_index] if column_index < len(row) else "")
            cells.lines.append(reader.line_num)
    if not columns[0].texts:
        raise InvalidParameter("file", path, "has a header and no lines below it")
    return columns


def read_reports(survey: Oracle, paths: Sequence[str]) -> Reports:
    """All reports in some files: tables with two columns, or the JSON that `Reports.to_json` writes."""
    seen: set[Path] = set()
    parts = []
    for path in paths:
        if Path(path).resolve() in seen:
            raise InvalidParameter("reports", path, "is named twice", hint="every report counts once")
        seen.add(Path(path).resolve())
        text = read_text(path)
        if text.lstrip().startswith("{"):
            parts.append(survey.read(text))
        else:
            names, reports = read_columns(text, path, REPORT_COLUMNS)
            parts.append(reports_of(survey, list(zip(names.texts, reports.texts, strict=True))))
    return joined(parts)


def refuse_overwriting(out: str | None, *inputs: str | None) -> None:
    """Refuse to write to a file that is read."""
    if out is not None and any(path is not None and Path(path).resolve() == Path(out).resolve() for path in inputs):
        raise InvalidParameter("out", out, "is a file that is read", hint="give another name: it would be lost")


def write_reports(path: str | None, rows: Sequence[tuple[str, str]]) -> str:
    """Write reports as a table, and say how many."""
    with target(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(REPORT_COLUMNS)
        writer.writerows(rows)
    return f"{counted(len(rows))} written to {path}"


def target(path: str | None) -> Any:
    """A file to write to, or standard output, which stays open."""
    return nullcontext(sys.stdout) if path is None else Path(path).open("w", encoding="utf-8", newline="")


_OF_CATEGORIES: dict[str, Any] = {
    "randomized-response": RandomizedResponse,
    "unary": UnaryEncoding,
    "local-hashing": LocalHashing,
    "hadamard": HadamardResponse,
}
_OF_TEXTS: dict[str, Any] = {"rappor": Rappor, "heavy-hitters": HeavyHitters, "sketch": CountMeanSketch}
KINDS = (*_OF_CATEGORIES, "mean", *_OF_TEXTS)
_NOT_SHARES = ("mean", *_OF_TEXTS)
_USUAL_NUMBER = 1000  # of respondents
_LONG = 1000  # denominators from here on say nothing to a reader


def planned(arguments: argparse.Namespace) -> tuple[Oracle, list[Any]]:
    """Plan the survey asked for; return it, and what to print about it."""
    _refuse_conflicts(arguments)
    n = whole("respondents", _USUAL_NUMBER if arguments.respondents is None else arguments.respondents)
    epsilon, name = arguments.epsilon or "1", arguments.name
    survey: Oracle
    if arguments.poll:
        parameters = {"truth": arguments.truth} if arguments.truth is not None else {"epsilon": epsilon}
        poll = Poll(**parameters, name=name)
        sentence = f"Tell the truth with probability {_fraction(poll.truth)}, else flip a fair coin. {poll.promise}."
        return poll, [sentence, _any_share(poll, n)]
    if arguments.kind is None:
        survey_plan = plan(_categories(arguments), epsilon, n, name=name)
        return survey_plan.survey, [survey_plan.options, survey_plan.why]
    if arguments.kind in _OF_CATEGORIES:
        survey = _OF_CATEGORIES[arguments.kind](_categories(arguments), epsilon, name=name)
    elif arguments.kind == "mean":
        survey = Mean(_bounds(arguments.bounds), epsilon, name=name)
    else:
        options = {key: getattr(arguments, key) for key in ("length", "alphabet")}
        parameters = {key: value for key, value in options.items() if value is not None}
        survey = _OF_TEXTS[arguments.kind](epsilon, **parameters, name=name)
    sentence = f"{survey.kind}: {survey.promise}."
    return survey, [sentence, _any_share(survey, n)] if isinstance(survey, FrequencyOracle) else [sentence]


def sample_size_sentence(survey: Oracle, margin: str) -> str:
    """A sentence on how many respondents a margin takes."""
    reach = rational("margin", margin)
    width = survey.bounds[1] - survey.bounds[0] if isinstance(survey, Mean) else 1
    if reach >= width:
        raise InvalidParameter("margin", margin, f"is useless: what is asked for lies in a range of width {width}")
    size = survey.sample_size(margin=reach)
    exact = isinstance(survey, Poll | FrequencyOracle) or (isinstance(survey, Mean) and survey.outcomes == 2)
    if not exact:  # what the interval adds depends on the reports
        return f"{size:,} respondents: an interval reaches about {margin} to either side."
    quantities = "numbers" if isinstance(survey, Mean) else "shares"
    sentence = (
        f"{size:,} respondents: no interval reaches further than {margin} to either side, whatever the {quantities} are"
    )
    beyond = isinstance(survey, FrequencyOracle) and survey.support[0] < Fraction(1, 2)  # there intervals are wider
    return sentence + (" and as long as none is estimated above 1." if beyond else ".")


def _any_share(survey: Supports, n: int) -> str:
    reach = quantile(USUAL) * float(worst_variance(survey, n)) ** 0.5
    return f"{n:,} respondents tell any share to ± {reach:.2g}."


def has_page(survey: Oracle) -> bool:
    """Whether a respondent can randomise in a browser."""
    return isinstance(survey, Poll | RandomizedResponse)


def _refuse_conflicts(arguments: argparse.Namespace) -> None:
    """Refuse an option that this kind of survey would ignore, and one that it lacks."""
    kind = "poll" if arguments.poll else arguments.kind
    is_of_categories = kind is None or kind in _OF_CATEGORIES
    for names, belongs, needed in (
        (("truth",), kind == "poll", False),
        (("categories", "categories_file", "domain"), is_of_categories, True),
        (("bounds",), kind == "mean", True),
        (("length", "alphabet"), kind == "heavy-hitters", False),
        (("respondents",), kind not in _NOT_SHARES, False),
    ):
        stated = next((name for name in names if getattr(arguments, name) is not None), None)
        name, value = f"--{(stated or names[0]).replace('_', '-')}", getattr(arguments, stated or names[0])
        if stated is not None and not belongs:
            raise InvalidParameter(name, value, f"is not for a survey of kind {kind or 'categories'}", hint=_HELP)
        if stated is None and belongs and needed:
            raise InvalidParameter(name, None, "is missing", hint=_HELP)


_HELP = "`giveortake survey plan --help` shows what it takes"


def _categories(arguments: argparse.Namespace) -> list[str] | range:
    if arguments.categories_file is not None:
        return read_lines(arguments.categories_file, "categories")
    if arguments.categories is not None:
        categories = [category.strip() for category in arguments.categories.split(",")]
        if "" in categories:
            raise InvalidParameter("categories", arguments.categories, "has nothing between two commas")
        return categories
    return range(whole("domain", arguments.domain, least=2))


def _bounds(text: str) -> tuple[str, str]:
    low, comma, high = text.partition(",")
    if not comma:
        raise InvalidParameter("bounds", text, "is not a pair of numbers", hint="--bounds 0,100")
    return low.strip(), high.strip()


def _fraction(number: Fraction) -> str:
    """A fraction, with its percentage if the fraction is hard to read.

    >>> from fractions import Fraction
    >>> _fraction(Fraction(1, 2)), _fraction(Fraction(1001, 2003))
    ('1/2', '1001/2003 (49.975 %)')
    """
    return str(number) if number.denominator < _LONG else f"{number} ({percent(number, 5)})"


_NAMELESS = "this survey has no name: reports to another question with the same parameters cannot be told apart"


def run(arguments: argparse.Namespace) -> int:
    """Run the action that the arguments name."""
    actions = {"plan": _plan, "randomize": _randomize, "estimate": _estimate, "page": _page}
    return actions[arguments.action](arguments)


def _plan(arguments: argparse.Namespace) -> int:
    refuse_overwriting(arguments.out, arguments.categories_file)
    survey, paragraphs = planned(arguments)
    if arguments.margin is not None:
        paragraphs.append(sample_size_sentence(survey, arguments.margin))
    if not has_page(survey):
        paragraphs.append("Respondents randomise with Python: a survey of this kind has no page (`survey page`).")
    out = terminal()
    for paragraph in paragraphs:
        out.print(paragraph)
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
    rows = report_rows(survey.randomize(answers_of(survey, cells.texts, cells.location)))
    summary = write_reports(arguments.out, rows)
    if arguments.out is not None:
        terminal().print(f"{summary} (ε = {decimal_up(survey.epsilon, digits=5)} each)", soft_wrap=True)
    return 0


def _estimate(arguments: argparse.Namespace) -> int:
    survey = read_survey(arguments.survey)
    options = _options(survey, arguments)
    reports = read_reports(survey, arguments.reports)
    answer = survey.estimate(reports, arguments.confidence, **options)
    caption = f"from {counted(len(reports))}" + (f" to: {survey.name}" if survey.name else "")
    if arguments.format == "table":
        out = terminal()
        out.print(answer)
        out.print(caption, markup=False)
    else:
        sys.stdout.write(answer.to_csv() if arguments.format == "csv" else answer.to_json() + "\n")
        sys.stderr.write(caption + "\n")
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
    answers, kinds, promises = (planning.add_mutually_exclusive_group() for _ in range(3))
    answers.add_argument("--categories", help="the possible answers, separated by commas")
    answers.add_argument("--categories-file", metavar="FILE", help="or a file with one possible answer a line")
    answers.add_argument("--domain", type=number, help="or how many there are: 0, 1, 2, …")
    kinds.add_argument("--poll", action="store_true", help="or a question with yes or no for an answer")
    promises.add_argument("--truth", help="for a poll: with which probability to tell the truth, such as 1/2")
    kinds.add_argument("--kind", choices=KINDS, help="which survey to hold; the best for the categories if not given")
    planning.add_argument("--bounds", metavar="LOW,HIGH", help="for a mean: between which numbers answers lie")
    planning.add_argument(
        "--length", type=number, help="for heavy hitters: how many letters of a text are asked for (8)"
    )
    planning.add_argument("--alphabet", help="for heavy hitters: the letters that texts are made of")
    planning.add_argument("--question", dest="name", default="", help="what is asked: tells reports to it from others")
    promises.add_argument("--epsilon", help="what is promised to each respondent (1)")
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
