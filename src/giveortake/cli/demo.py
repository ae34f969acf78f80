"""`giveortake demo`: a bundled table behind a promise, its questions answered give or take a margin."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake.cli.command import Command, terminal
from giveortake.cli.visits import GREATEST_AMOUNT, REGIONS, one_each, visits
from giveortake.mechanisms import DiscoveredHistogram, Histogram, Laplace, Sensitive

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.cli.visits import Visit
    from giveortake.privacy import Guarantee

_PERSON = gt.unit("person_id")
_SHARE = Fraction(1, 4)  # of ε, for each of the four releases
_DELTA = "1e-8"
_CONFIDENCE = Fraction(95, 100)
_BAR = 30

NEXT_STEPS = """\
import giveortake as gt
ages = [34, 51, 29, 42, 42, 67]  # one number for each person
print(gt.histogram([a // 10 for a in ages], categories=range(12), epsilon=1))
print(gt.laplace(sum(ages), sensitivity=120, epsilon=1))
print(gt.PureDP(1).repeat(2))
"""


def run(_arguments: argparse.Namespace) -> int:
    """Protect the bundled table, ask it three questions, and explain what happened."""
    out = terminal()
    rows = one_each(visits())
    _introduce(out)
    promises = {
        "1  people by region": _by_region(out, rows),
        "2  people by reason": _by_reason(out, rows),
        "3  mean amount": _mean_amount(out, rows),
    }
    _add_up(out, promises)
    out.print("[bold]Try next[/]\n")
    out.print(Text(NEXT_STEPS.rstrip()), style="cyan", soft_wrap=True)
    return 0


def _introduce(out: Console) -> None:
    promise = gt.PureDP(_SHARE, unit=_PERSON)
    low, high = promise.posterior("1/2")
    out.print(
        "[bold]The table.[/] A few thousand visits to clinics (invented): person_id, region, reason, amount. That a "
        "person was there, and why, is nobody's business. One visit of each person is used, so that one person is "
        "one row; even how many people there are is kept secret.\n"
    )
    out.print(f"[bold]The promise[/] of one release; there will be four. [cyan]{promise!r}[/] means:\n{promise}")
    out.print(
        "In plain words: whatever is published looks almost as likely with any one person in the table as without. "
        f"Whoever thought it fifty-fifty that somebody was in it will, after one release, think so with "
        f"{floor(100 * low)} % at the least and {ceil(100 * high)} % at the most.\n"
    )


def _by_region(out: Console, rows: list[Visit]) -> Guarantee:
    mechanism = Histogram(REGIONS, scale=1 / _SHARE)
    answer = mechanism.release(Sensitive([row.region for row in rows]))
    out.print("[bold]1  How many people in each region?[/]  The regions are known beforehand.")
    _draw(out, answer, mechanism.margin(_CONFIDENCE))
    out.print("Each margin holds with at least 95 %. A person is in one region, so six counts cost as much as one.\n")
    return mechanism.event(sensitivity=1).guarantee(unit=_PERSON)


def _by_reason(out: Console, rows: list[Visit]) -> Guarantee:
    mechanism = DiscoveredHistogram.calibrated(epsilon=_SHARE, delta=_DELTA)
    answer = mechanism.release(Sensitive([row.reason for row in rows]))
    out.print("[bold]2  Why did they come?[/]  Free text: nobody knows beforehand what it says.")
    _draw(out, answer, mechanism.margin(_CONFIDENCE))
    out.print(
        f"Only reasons whose noisy count reaches {mechanism.threshold} are shown; rare ones stay hidden, because a "
        f"reason that one person alone gave would give that person away. The chance that one slips through is "
        f"δ ≤ {_DELTA}. (The margins are those of the noise, before the threshold chose.)\n"
    )
    return gt.ApproxDP(_SHARE, _DELTA, unit=_PERSON)  # the threshold is a whole number, so its own δ is a bit less


def _mean_amount(out: Console, rows: list[Visit]) -> Guarantee:
    """A mean from a noisy sum S and a noisy count N: post-processing of two releases.

    Each margin is missed with probability at most 2.5 %, so by the union bound both hold with at least 95 %, and then
    the mean lies between (S − s) / (N + n) and (S + s) / (N − n) if S ≥ s and N > n, and always within the bounds.
    """
    summing = Laplace(100 * GREATEST_AMOUNT / _SHARE)  # in cents: one person moves the sum by the greatest amount
    counting = Laplace(1 / _SHARE)
    total = summing.release(Sensitive(sum(row.cents for row in rows)))
    people = counting.release(Sensitive(len(rows)))
    each = 1 - (1 - _CONFIDENCE) / 2
    mean, low, high = _quotient(total, summing.margin(each), people, counting.margin(each))
    out.print("[bold]3  What does a visit cost on average?[/]  Amounts lie between 0 and 500.")
    out.print(
        f"  sum     {total / 100:>12,.2f}  give or take {summing.margin(each) / 100:,.2f}\n"
        f"  people  {people:>12,}  give or take {counting.margin(each):,}\n"
        f"  [bold]mean    {mean / 100:>12,.2f}[/]  between {low / 100:,.2f} and {high / 100:,.2f} with at least 95 %"
    )
    out.print("Sum and count are released; dividing what is public already is free. Both margins hold together.\n")
    return (
        summing.event(100 * GREATEST_AMOUNT).guarantee(unit=_PERSON).compose(counting.event(1).guarantee(unit=_PERSON))
    )


def _quotient(total: int, total_margin: int, people: int, people_margin: int) -> tuple[int, int, int]:
    """The mean in whole cents, and the interval that two margins leave for it, rounded outwards."""
    greatest = 100 * GREATEST_AMOUNT
    most, fewest = max(1, people + people_margin), people - people_margin
    low = (total - total_margin) // most
    high = -(-(total + total_margin) // fewest) if fewest > 0 else greatest
    mean, low, high = (max(0, min(greatest, cents)) for cents in (round(total / max(1, people)), low, high))
    return mean, low, high


def _add_up(out: Console, promises: dict[str, Guarantee]) -> None:
    first, *others = promises.values()
    total = first
    for promise in others:
        total = total.compose(promise)
    out.print("[bold]The bill.[/] Promises add up, whoever asks and in whatever order:")
    grid = Table.grid(padding=(0, 2))
    for question, promise in promises.items():
        grid.add_row(f"  {question}", Text(repr(promise)))
    grid.add_row("  [bold]together[/]", Text(repr(total), style="bold"))
    out.print(grid)
    out.print(f"{total}\n")


def _draw(out: Console, counts: dict[str, int], margin: int) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=34)
    grid.add_column(justify="right")
    greatest = max([1, *counts.values()])
    for name, count in counts.items():
        bar = "█" * round(_BAR * max(0, count) / greatest)
        grid.add_row(Text(f"  {name}"), f"{count:,}", f"± {margin:,}", Text(bar, style="cyan"))
    out.print(grid)


def _add_arguments(_parser: argparse.ArgumentParser) -> None:
    """The demonstration takes none."""


COMMAND = Command(
    summary="protect a bundled table and explain what happened",
    description="Protect a small invented table, ask it three questions, and explain what was promised and paid.",
    examples=("giveortake demo",),
    add_arguments=_add_arguments,
    run=run,
)
