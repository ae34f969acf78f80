"""`giveortake demo`: a bundled table behind a budget, questions to it in SQL, and the ledger afterwards."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake.cli.shell import Command, terminal
from giveortake.errors import QueryRefused
from giveortake.exact import decimal, percent

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from rich.console import Console

    from giveortake.answers import Answer
    from giveortake.session import Query, Session

REGIONS = ["north", "east", "south", "west", "coast", "islands"]  # known without looking at the table
_BAR = 24

DECLARED = """\
s = gt.protect(
    "visits.csv",
    unit="person_id",                 # whom to protect: persons, not rows
    budget=gt.ApproxDP("2", "1e-6"),  # for all that will ever be asked
    domains={"region": REGIONS, "amount": (0, 500)},
    rows_per_person=4,                # how many visits of a person count
)
"""
BY_REGION = "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region"
BY_REASON = "SELECT reason, COUNT(*) AS n FROM visits GROUP BY reason ORDER BY n DESC"
COSTS = "SELECT AVG(amount) AS mean, COUNT(DISTINCT person_id) AS people FROM visits"
ROWS = "SELECT * FROM visits WHERE person_id = '12345'"

NEXT_STEPS = """\
import giveortake as gt
from importlib.resources import files
visits = files("giveortake") / "data" / "visits.csv"  # or your own table
s = gt.protect(visits, unit="person_id", budget=gt.PureDP(1),
               domains={"region": ["north", "south"], "amount": (0, 500)},
               rows_per_person=4)  # how much of one person counts
q = s.sql("SELECT region, AVG(amount) AS mean FROM visits GROUP BY region")
print(q.quote(epsilon="0.5"))
print(q.answer(epsilon="0.5"))
"""


def run(_arguments: argparse.Namespace) -> int:
    """Protect the bundled table, quote, ask, ask again, be refused, and look at the ledger."""
    out = terminal()
    with as_file(files("giveortake").joinpath("data", "visits.csv")) as path, protected(path) as session:
        _introduce(out, session)
        answers = {"regions": _first(out, session), "reasons": _second(out, session), "costs": _third(out, session)}
        _again_and_refused(out, session)
        _show_ledger(out, session, answers)
    out.print("[bold]Try next[/]  in Python; `giveortake query --help` is the same for the command line\n")
    out.print(Text(NEXT_STEPS.rstrip()), style="cyan", soft_wrap=True)
    return 0


def protected(path: Path) -> Session:
    """Protect the bundled table as `DECLARED` says."""
    return gt.protect(
        path,
        unit="person_id",
        ledger=":memory:",
        budget=gt.ApproxDP("2", "1e-6"),
        domains={"region": REGIONS, "amount": (0, 500)},
        rows_per_person=4,
    )


def _introduce(out: Console, session: Session) -> None:
    out.print(
        "[bold]A table[/] of some thousand visits to clinics (invented): person_id, region, reason, amount. Who was "
        "there, and why, is nobody's business. So it goes behind a budget:\n"
    )
    out.print(Padding(Syntax(DECLARED.rstrip(), "python", theme="ansi_dark", background_color="default"), (0, 2)))
    out.print(
        f"\nThe promise: {session.budget.granted}\nIt holds for all answers together, whoever asks and whatever they "
        "choose to ask next.\n"
    )


def _first(out: Console, session: Session) -> Answer:
    query = _show_query(out, session, 1, "How many visits in each region?", BY_REGION)
    quote = query.quote(epsilon="0.25")
    margin = quote.margins["visits"]
    out.print(
        f"  quote, for free: at ε = 0.25 every count will be right give or take {margin:.0f} (with 95 %)", style="dim"
    )
    out.print(f"  what counts: {quote.contributions}", style="dim")
    answer: Answer = query.answer(epsilon="0.25")
    _draw(out, answer, "region", "visits")
    out.print(
        "The regions were declared, so each one is answered. The number before ± is what was released: the count plus "
        "noise of a known law, and the margin says how large that noise may be.\n"
    )
    return answer


def _second(out: Console, session: Session) -> Answer:
    query = _show_query(out, session, 2, "Why did they come?", BY_REASON)
    margin = query.quote(epsilon="1").margins["n"]
    answer: Answer = query.answer(epsilon="1")
    _draw(out, answer, "reason", "n")
    out.print(
        "Nobody declared what reasons there are, so they are found in the data, and only those that many people "
        "share are shown: a reason that one person alone gave would give that person away.\n"
        f"The number that finds a reason is its answer, right give or take {margin:.0f} at ε = 1: four times the price "
        "of the first question, and a quarter of its margin. What finding costs beside it is a small δ.\n"
    )
    return answer


def _third(out: Console, session: Session) -> Answer:
    query = _show_query(out, session, 3, "What does a visit cost on average, and how many people came?", COSTS)
    answer: Answer = query.answer(epsilon="0.5")
    row = answer.rows()[0]
    grid = Table.grid(padding=(0, 2))
    for name, form in (("mean", ",.2f"), ("people", ",.0f")):
        value, low, high = (format(row[f"{name}{end}"], form) for end in ("", "_low", "_high"))
        grid.add_row(f"  {name}", Text(value, style="bold", justify="right"), f"between {low} and {high}, with 95 %")
    out.print(grid)
    out.print()
    return answer


def _again_and_refused(out: Console, session: Session) -> None:
    spent_before = session.budget.spent
    repeated = session.sql(BY_REGION).answer(epsilon="0.25")
    out.print("[bold]The first question once more[/]")
    charge = "costs nothing" if session.budget.spent == spent_before else "is charged"
    out.print(
        f"  north: {repeated.row(region='north')['visits']:,} again. The same question at the same price {charge}.\n"
    )
    out.print("[bold]A question that is refused[/]")
    out.print(Text(f"  {ROWS}", style="cyan"))
    try:
        session.sql(ROWS)
    except QueryRefused as refusal:
        out.print(f"  {refusal.message}; nothing was charged\n  hint: {refusal.hint}\n", markup=False)


def _show_ledger(out: Console, session: Session, answers: dict[str, Answer]) -> None:
    history, used, left = session.history(), session.budget.used, session.budget.affordable
    assert used is not None and left is not None  # noqa: S101, PT018 (the session has a budget)
    grid = Table.grid(padding=(0, 2))
    for number, (title, answer) in enumerate(answers.items(), 1):
        bar = "█" * round(_BAR * float(answer.cost.epsilon / session.budget.granted.epsilon))  # type: ignore[attr-defined]  # (pure, both)
        grid.add_row(f"  {number}", title, f"ε = {decimal(answer.cost.epsilon)}", Text(bar, style="cyan"))
    grid.add_row("", "[bold]used[/]", f"[bold]{percent(used, 3)}[/]", f"a question of ε ≤ {decimal(left, 3)} is left")
    settled = sum(entry.kind == "settled" for entry in history)
    out.print(f"[bold]The ledger[/]  {len(history)} entries; {settled} answers are kept, and were charged")
    out.print(grid)
    out.print(
        "When the budget is used up, the table is silent. Here the ledger was in memory; with "
        'ledger="visits.ledger" it survives restarts and crashes.\n'
    )


def _show_query(out: Console, session: Session, number: int, title: str, text: str) -> Query[Answer]:
    out.print(f"[bold]{number}  {title}[/]")
    out.print(Text(f"  {text}", style="cyan"), soft_wrap=True)
    return session.sql(text)


def _draw(out: Console, answer: Answer, key: str, value: str) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    column = answer[value]
    counts = [int(str(number)) for number in column.values]
    greatest = max([1, *counts])
    for name, count, margin in zip(answer[key].values, counts, column.margins, strict=True):
        bar = Text("█" * round(_BAR * max(0, count) / greatest), style="cyan")
        grid.add_row(Text(f"  {name}"), f"{count:,}", f"± {margin:,}", bar)
    out.print(grid)


def _add_arguments(_parser: argparse.ArgumentParser) -> None:
    """Add nothing: the demonstration takes no arguments."""


COMMAND = Command(
    summary="protect a bundled table, ask it questions, show the ledger",
    description="Put a small invented table behind a budget, quote, ask in SQL, and see what is paid and what is left.",
    examples=("giveortake demo",),
    add_arguments=_add_arguments,
    run=run,
)
