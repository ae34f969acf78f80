"""Which survey `giveortake survey plan` was asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.cli.survey_files import read_lines
from giveortake.errors import InvalidParameter
from giveortake.exact import rational, shown, whole
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
    plan,
)
from giveortake.local.frequencies import FrequencyOracle
from giveortake.local.plan import worst_variance
from giveortake.local.survey import USUAL, quantile

if TYPE_CHECKING:
    import argparse

    from giveortake.local import Oracle
    from giveortake.local.frequencies import Supports

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
        given = {"truth": arguments.truth} if arguments.truth is not None else {"epsilon": epsilon}
        poll = Poll(**given, name=name)
        told = f"Tell the truth with probability {_fraction(poll.truth)}, else flip a fair coin. {poll.promise}."
        return poll, [told, _any_share(poll, n)]
    if arguments.kind is None:
        found = plan(_categories(arguments), epsilon, n, name=name)
        return found.survey, [found.options, found.why]
    if arguments.kind in _OF_CATEGORIES:
        survey = _OF_CATEGORIES[arguments.kind](_categories(arguments), epsilon, name=name)
    elif arguments.kind == "mean":
        survey = Mean(_bounds(arguments.bounds), epsilon, name=name)
    else:
        options = {key: getattr(arguments, key) for key in ("length", "alphabet")}
        given = {key: value for key, value in options.items() if value is not None}
        survey = _OF_TEXTS[arguments.kind](epsilon, **given, name=name)
    told = f"{survey.kind}: {survey.promise}."
    return survey, [told, _any_share(survey, n)] if isinstance(survey, FrequencyOracle) else [told]


def asked_of(survey: Oracle, margin: str) -> str:
    """A sentence on how many respondents a margin takes."""
    reach = rational("margin", margin)
    width = survey.bounds[1] - survey.bounds[0] if isinstance(survey, Mean) else 1
    if reach >= width:
        raise InvalidParameter("margin", margin, f"is useless: what is asked for lies in a range of width {width}")
    size = survey.sample_size(margin=reach)
    exact = isinstance(survey, Poll | FrequencyOracle) or (isinstance(survey, Mean) and survey.outcomes == 2)
    if not exact:  # what the interval adds depends on the reports
        return f"{size:,} respondents: an interval reaches about {margin} to either side."
    what = "numbers" if isinstance(survey, Mean) else "shares"
    told = f"{size:,} respondents: no interval reaches further than {margin} to either side, whatever the {what} are"
    beyond = isinstance(survey, FrequencyOracle) and survey.support[0] < Fraction(1, 2)  # there intervals are wider
    return told + (" and as long as none is estimated above 1." if beyond else ".")


def _any_share(survey: Supports, n: int) -> str:
    reach = quantile(USUAL) * float(worst_variance(survey, n)) ** 0.5
    return f"{n:,} respondents tell any share to ± {reach:.2g}."


def has_page(survey: Oracle) -> bool:
    """Whether a respondent can randomise in a browser."""
    return isinstance(survey, Poll | RandomizedResponse)


def _refuse_conflicts(arguments: argparse.Namespace) -> None:
    """Refuse options that contradict each other, or that would be ignored."""
    kind, truth, bounds = arguments.kind, arguments.truth, arguments.bounds
    listed = [name for name in ("categories", "categories_file", "domain") if getattr(arguments, name) is not None]
    of_categories = not arguments.poll and (kind is None or kind in _OF_CATEGORIES)
    letters = next((name for name in ("length", "alphabet") if getattr(arguments, name) is not None), None)
    first = listed[0] if listed else "categories"
    problems = [
        ("truth", truth is not None and arguments.epsilon is not None, "and --epsilon say the same: pass one"),
        ("truth", truth is not None and not arguments.poll, "is only for a --poll"),
        ("kind", arguments.poll and kind is not None, "is not for a --poll, which is a kind of its own"),
        (first, arguments.poll and listed, "is not for a --poll, whose answers are yes and no"),
        (first, of_categories and not listed, "is missing: pass it, or --categories-file, --domain or --poll"),
        (
            first,
            of_categories and len(listed) > 1,
            f"and {_option(listed[-1])} say the same: pass one" if listed else "",
        ),
        (first, not of_categories and listed, f"is not for --kind {kind}, which has no categories"),
        ("respondents", kind in _NOT_SHARES and arguments.respondents is not None, "is not for --kind " + str(kind)),
        ("bounds", kind == "mean" and bounds is None, "is missing: a mean needs bounds, such as --bounds 0,100"),
        ("bounds", kind != "mean" and bounds is not None, "is only for --kind mean"),
        (letters or "length", kind != "heavy-hitters" and letters is not None, "is only for --kind heavy-hitters"),
    ]
    for name, found, problem in problems:
        if found:
            raise InvalidParameter(
                _option(name),
                getattr(arguments, name),
                problem,
                hint="`giveortake survey plan --help` shows what it takes",
            )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _categories(arguments: argparse.Namespace) -> list[str] | range:
    if arguments.categories_file is not None:
        return read_lines(arguments.categories_file, "categories")
    if arguments.categories is not None:
        found = [category.strip() for category in arguments.categories.split(",")]
        if "" in found:
            raise InvalidParameter("categories", arguments.categories, "has nothing between two commas")
        return found
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
    return str(number) if number.denominator < _LONG else f"{number} ({shown(100 * number, digits=5)} %)"
