"""Messages of the library, which speak of Python's arguments, in the words of the command line."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from giveortake.advice import on
from giveortake.answers.terms import CAP_TERMS, TERMS
from giveortake.errors import GiveOrTakeError
from giveortake.exact import shown
from giveortake.privacy import ApproxDP, PureDP

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from giveortake.ledger.rules.admission import Standing
    from giveortake.privacy import Guarantee

_LARGE_DELTA, _LARGE_EPSILON = Fraction(1, 1000), 20  # budgets that are warned of

CUSTODIANS = (  # options that a TOML file states instead
    "unit",
    "budget",
    "budget_delta",
    "domain",
    "public",
    "neighbours",
    "name",
    "population",
    "new_population",
    "mark",
)


@contextmanager
def in_options(arguments: argparse.Namespace) -> Iterator[None]:
    """Make errors name options, where the library names Python's arguments."""
    known = [*TERMS, *CAP_TERMS, "analyst", "key", "ledger"]
    if Path(arguments.file).suffix.lower() != ".toml":  # a configuration speaks of its own keys
        known += CUSTODIANS
    try:
        yield
    except GiveOrTakeError as error:
        hint = on(error.hint, "command")
        given = [name for name in known if getattr(arguments, name, None) or "is missing" in error.message]
        hint = None if hint is None else _about(error.message, _in_options(hint, known))
        GiveOrTakeError.__init__(error, _in_options(error.message, given or ["epsilon"]), hint=hint)
        raise


def rest(affordable: Fraction) -> str:
    """A sentence on the largest question that is left.

    >>> from fractions import Fraction
    >>> print(rest(Fraction(1, 10)), rest(Fraction(0)), sep=", ")
    a question of up to ε = 0.1 is left, nothing is left
    """
    return f"a question of up to ε = {shown(affordable, 3)} is left" if affordable else "nothing is left"


def given(standing: Standing) -> str:
    """The part of a budget that was given to analysts, in parentheses; empty if none was."""
    return f" ({shown(100 * standing.given, 3)} % given to analysts)" if standing.given else ""


def weakness(budget: Guarantee) -> str | None:
    """A sentence about a budget that protects hardly anybody; None if it is not that large.

    >>> weakness(ApproxDP(1, "1e-6")), weakness(PureDP(400))
    (None, 'ε = 400 is so large that it protects hardly anybody: `giveortake explain --epsilon 400`')
    """
    if isinstance(budget, ApproxDP) and budget.delta >= _LARGE_DELTA:
        return (
            f"δ = {shown(budget.delta)} allows all about a person to be revealed with that probability: 1e-6 is usual"
        )
    if isinstance(budget, PureDP | ApproxDP) and budget.epsilon > _LARGE_EPSILON:
        told = shown(budget.epsilon)
        return f"ε = {told} is so large that it protects hardly anybody: `giveortake explain --epsilon {told}`"
    return None


def _in_options(text: str, known: Sequence[str]) -> str:
    """A message with Python's arguments written as options.

    >>> _in_options('epsilon is missing: say it', TERMS), _in_options('epsilon="0.1", or margin=50', TERMS)
    ('--epsilon is missing: say it', '--epsilon 0.1, or --margin 50')
    >>> _in_options("pass n=, or state epsilon=", TERMS), _in_options('name="sales 2"', CUSTODIANS)
    ('pass --n, or state --epsilon', '--name "sales 2"')
    >>> _in_options("domains['age'] = 3 is not a domain", CUSTODIANS)
    '--domain age = 3 is not a domain'
    >>> _in_options("--domain name=a,b", CUSTODIANS)
    '--domain name=a,b'
    """
    if "domain" in known and text.startswith("write bounds (0, 500)"):
        return _DECLARED
    names = "|".join(sorted(known, key=len, reverse=True))
    text = re.sub(r"answer\(…, ([^)]*)\)", r"\1", text)
    if "domain" in known:
        text = re.sub(r"^domains\['([^']*)'\](?:\.\w+)?", r"--domain \1", text)
        text = re.sub(r"^domains = ", "--domain = ", text)
        text = text.replace("unit=gt.ROW", "--unit row")
        text = re.sub(r"declare `([^`]*)` from (\S+) to (\S+)$", r"--domain \1=\2:\3", text)
        text = text.replace("the custodian declares its domain", f"its domain is declared, {_DECLARED}")
        text = text.replace("let the custodian declare its domain", f"declare its domain, {_DECLARED}")
        text = re.sub(
            r"datetime\.date\((\d+), (\d+), (\d+)\)", lambda found: str(dt.date(*map(int, found.groups()))), text
        )
        text = text.replace("of the grouping columns", "of the grouping columns (--domain region=north,south)")
        text = re.sub(r"comes first: \((.+), (.+)\)$", r"comes first: \1:\2", text)
    text = re.sub(rf"^({names}) is missing", lambda found: f"{_option(found[1])} is missing", text)
    text = re.sub(rf"^({names}) = ", lambda found: f"{_option(found[1])} = ", text)

    def as_option(found: re.Match[str]) -> str:
        value = found["quoted"] if found["quoted"] is not None else found["bare"]
        return f"{_option(found['name'])} {_quoted(value)}".rstrip()

    no_column = r"(?<![\w',-])(?<!--domain )(?<!--domain ')"
    text = re.sub(rf'{no_column}(?P<name>{names})=(?:"(?P<quoted>[^"]*)"|(?P<bare>[\w.]*))', as_option, text)
    return re.sub(r"(--name [^,]*), (?=--population)", r"\1 ", text)  # as it is pasted


def _about(message: str, hint: str) -> str:
    """A hint with the column that the error names as its example.

    >>> _about("the mean of `my fee` needs numbers", f"declare it, {_DECLARED}")
    "declare it, such as --domain 'my fee=0:500'"
    """
    column = re.search(r"`([^`]+)` needs (?:numbers|bounds)", message)
    return hint if column is None else hint.replace(_DECLARED, f"such as --domain {shlex.quote(f'{column[1]}=0:500')}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


_DECLARED = "such as --domain amount=0:500 or --domain region=north,south"
