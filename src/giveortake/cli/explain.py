"""`giveortake explain`: what a promise means to a person, in words, in tables, and as charts if asked."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake.cli.session_options import BUDGETS
from giveortake.cli.shell import Command, terminal
from giveortake.configuration import parse_budget
from giveortake.errors import GiveOrTakeError
from giveortake.exact import decimal, decimal_up, percent, percent_down, percent_up, positive, whole
from giveortake.privacy.guarantee import FAILURE, PRIORS, RATES, beliefs

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.accounting.composition import Method
    from giveortake.privacy import Guarantee

_METHODS: tuple[Method, ...] = ("basic", "advanced", "optimal", "tight")
_PEOPLE = (100, 1000, 10_000, 100_000)
_TOTAL_DELTA = Fraction(1, 10**6)
_PROMISES = "--epsilon 1, --epsilon 1 --delta 1e-6, --rho 0.1 or --mu 0.5"
_EPSILONS = tuple(map(Fraction, ("0.01", "0.1", "0.5", "1", "2", "5", "10")))


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation and the tables; with --plot, save the charts too."""
    promise = _promise(arguments)
    group = whole("group", arguments.group)
    out = terminal()
    for paragraph in promise.explain(prior=arguments.prior, group=group).paragraphs:
        out.print(Text(paragraph))
        out.print()
    _print_beliefs(out, promise)
    _print_guesses(out, promise, group)
    _print_composition(out, promise)
    _print_accuracy(out, promise)
    if arguments.plot is not None:
        for path in gt.plot.save_explanation(promise, Path(arguments.plot), suffix=arguments.format):
            out.print(f"saved {path}", soft_wrap=True)
    return 0


def _promise(arguments: argparse.Namespace) -> Guarantee:
    arguments.delta = None if arguments.delta == "0" else arguments.delta
    names = [name for name in ("epsilon", "delta", "rho", "mu") if getattr(arguments, name) is not None]
    if sorted(names) not in BUDGETS:
        stated = " and ".join(f"--{name}" for name in names)
        problem = f"{stated} state no single promise" if names else "no promise is named"
        raise GiveOrTakeError(problem, hint=f"name one promise: {_PROMISES}")
    promise = parse_budget({name: getattr(arguments, name) for name in names})
    unit = promise.unit if arguments.unit is None else gt.unit(arguments.unit)
    return replace(promise, unit=unit, neighbours=arguments.neighbours)


def _print_beliefs(out: Console, promise: Guarantee) -> None:
    epsilon = promise.epsilon if isinstance(promise, gt.PureDP | gt.ApproxDP) else None
    rows = [gt.PureDP(row_epsilon) for row_epsilon in sorted({*_EPSILONS, epsilon or Fraction(1)})]
    table = Table("believed before", *(percent(prior) for prior in PRIORS), box=None, pad_edge=False)
    if epsilon is None or isinstance(promise, gt.ApproxDP):
        table.add_row("[bold]this promise[/]", *(_interval(promise, prior) for prior in PRIORS))
    for row in rows:
        name = f"ε = {decimal(row.epsilon, 4)}"
        name = f"[bold]{name}[/]" if row == promise else name
        table.add_row(name, *(_interval(row, prior) for prior in PRIORS))
    out.print("[bold]Beliefs[/]  what an attacker believes afterwards, from – to")
    out.print(table)
    if not isinstance(promise, gt.PureDP):
        out.print(f"[dim]this promise: each bound may fail, with probability {decimal(FAILURE)} at most[/]")
    out.print()


def _interval(promise: Guarantee, prior: Fraction) -> str:
    interval: Any = None
    with suppress(GiveOrTakeError):
        interval = beliefs(promise, prior)
    return "anything" if interval is None else f"{percent_down(interval[0])[:-2]}–{percent_up(interval[1])}"


def _print_guesses(out: Console, promise: Guarantee, group: int) -> None:
    table = Table("people", *(f"{percent(rate)} wrong" for rate in RATES), "advantage", box=None, pad_edge=False)
    for size in sorted({1, 2, group}):
        try:
            together = promise.group(size)
            cells = [percent_up(together.membership_inference(rate)) for rate in RATES]
            table.add_row(str(size), *cells, percent_up(together.advantage()))
        except GiveOrTakeError:
            table.add_row(str(size), *["anything"] * (len(RATES) + 1))
    out.print("[bold]Guesses[/]  how often an attacker is right at most, about one person and about groups")
    out.print(table)
    out.print()


def _print_composition(out: Console, promise: Guarantee) -> None:
    own = promise.delta if isinstance(promise, gt.ApproxDP) else Fraction(0)
    charge: Any = gt.accounting.events.Laplace(1 / promise.epsilon) if isinstance(promise, gt.PureDP) else promise
    table = Table("releases", "δ of all", *_METHODS, box=None, pad_edge=False)
    for times in (1, 10, 100, 1000):
        total = times * own + _TOTAL_DELTA
        if total >= 1:
            continue
        cells = []
        for method in _METHODS:
            try:
                composed = gt.compose([charge] * times, delta=total, method=method)
                cells.append(decimal_up(composed.epsilon, 4))  # type: ignore[attr-defined]  # (at a δ, it has an ε)
            except GiveOrTakeError:
                cells.append("–")
        table.add_row(f"{times:,}", decimal_up(total, 2), *cells)
    kind = "Laplace releases of this ε" if isinstance(promise, gt.PureDP) else "releases with this promise"
    out.print(f"[bold]Adding up[/]  the ε of many {kind}, by four theorems")
    out.print(table)
    out.print()


def _print_accuracy(out: Console, promise: Guarantee) -> None:
    if not isinstance(promise, gt.PureDP | gt.ApproxDP) or promise.epsilon == 0:
        return
    epsilons = sorted({promise.epsilon, *_EPSILONS[:5]})
    table = Table("", *(f"{people:,} people" for people in _PEOPLE), box=None, pad_edge=False)
    for epsilon in epsilons:
        margin = gt.margin(0, sensitivity=1, epsilon=positive("epsilon", epsilon))
        name = f"ε = {decimal(epsilon, 4)}"
        name = f"[bold]{name}[/]" if epsilon == promise.epsilon else name
        table.add_row(name, *(_share(margin, people) for people in _PEOPLE))
    out.print("[bold]Accuracy[/]  margin of one count with Laplace noise, with 95 %, and as a share of the people")
    out.print(table)
    out.print()


def _share(margin: int, people: int) -> str:
    share = Fraction(margin, people)
    return f"± {margin:,} ({percent_up(share)})" if share < 1 else f"± {margin:,} (useless)"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epsilon", metavar="E", help="ε of a pure promise, or with --delta of an approximate one")
    parser.add_argument("--delta", metavar="D", help="δ of an approximate promise")
    parser.add_argument("--rho", metavar="R", help="ρ of a zero-concentrated promise")
    parser.add_argument("--mu", metavar="M", help="μ of a Gaussian promise")
    parser.add_argument("--prior", default="1/2", metavar="P", help="what an attacker believes beforehand, from 0 to 1")
    parser.add_argument("--group", default="4", metavar="K", help="people who belong together")
    parser.add_argument("--unit", metavar="COLUMN", help="whom the promise protects; one row if left out")
    parser.add_argument(
        "--neighbours",
        choices=["add-remove", "change-one"],
        default="add-remove",
        help="what is hidden: that somebody is in the data at all, or what their entry is",
    )
    parser.add_argument("--plot", metavar="FOLDER", help="save the charts there (needs the extra [plot])")
    parser.add_argument("--format", choices=["svg", "png", "html"], default="svg", help="the format of the charts")


COMMAND = Command(
    summary="say what a promise means to a person, in words, tables and charts",
    description="Explain a promise: beliefs before and after, guesses, groups, many releases, and accuracy.",
    examples=(
        "giveortake explain --epsilon 1 --delta 1e-6 --prior 0.1 --group 4",
        "giveortake explain --mu 0.5 --plot charts",
    ),
    add_arguments=_add_arguments,
    run=run,
)
