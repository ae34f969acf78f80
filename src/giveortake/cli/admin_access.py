"""What the custodian of a ledger can do about tokens and large spends, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from giveortake.answers.text import printable
from giveortake.cli import streams
from giveortake.errors import GiveOrTakeError
from giveortake.ledger.rules.releases import promised
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.ledger import Approval, Ledger, TokenRecord
    from giveortake.ledger.rules.approvals import Role


# -- tokens -----------------------------------------------------------------------------------------------------------


def list_tokens(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print every token, whom it lets in and until when. No secret is shown: none is stored."""
    found = ledger.tokens()
    grid = Table(pad_edge=False, box=None)
    for heading in ("token", "role", "analyst", "until", "state", "issued by"):
        grid.add_column(heading, overflow="fold")
    for each in found:
        names = (Text(printable(name or "")) for name in (each.analyst, each.by))
        analyst, by = names
        grid.add_row(each.id, each.role, analyst, _minute(each.expires), _state(each), by)
    out.print(grid if found else "no token was issued")


def _state(token: TokenRecord) -> str:
    return "revoked" if token.revoked else "expired" if token.expired else "valid"


def issue_token(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Issue a token, and print it this once."""
    role: Role = "custodian" if arguments.analyst is None else "analyst"
    name, text = ledger.issue_token(role=role, analyst=arguments.analyst, expires=arguments.expires, by=arguments.by)
    until = next(each.expires for each in ledger.tokens() if each.id == name)
    whom = "a custodian" if arguments.analyst is None else printable(arguments.analyst)
    out.print(text, soft_wrap=True, markup=False)
    told = f"It lets {whom} in until {_minute(until)}, and is not shown again: the ledger keeps its hash."
    streams.report(f"{told}\n")  # beside the token, so that `TOKEN=$(…)` holds nothing else


def revoke_token(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Revoke a token: it lets nobody in from now on."""
    ledger.revoke_token(arguments.token, reason=arguments.reason, by=arguments.by)
    out.print(Text(f"the token {printable(arguments.token)} is revoked: it lets nobody in any more"))


# -- approvals --------------------------------------------------------------------------------------------------------


def list_approvals(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print the large spends that wait, what they ask and cost and who asks; then what was decided before."""
    found = ledger.approvals()
    if not found:
        out.print("no large spends were asked for")
    for each in sorted(found, key=lambda each: each.state != "waiting"):
        whom = "the custodian" if each.analyst is None else printable(each.analyst)
        out.print(Text(f"{each.request}  {each.state}: {whom} asks {printable(each.dataset)}, {_price(ledger, each)}"))
        for line in _lines(each):
            out.print(Text(f"  {line}"))


def _lines(approval: Approval) -> list[str]:
    said = approval.record if isinstance(approval.record, dict) else {}
    asked = [question["sql"] for question in said.get("questions", ()) if "sql" in question] or [approval.asked or ""]
    lines = [printable(text) for text in asked if text]
    if approval.reason is not None:
        by = "" if approval.by is None else f", by {printable(approval.by)}"
        until = "" if approval.expires is None else f", until {_minute(approval.expires)}"
        lines.append(f"because: {printable(approval.reason)}{by}{until}")
    return lines


def _price(ledger: Ledger, approval: Approval) -> str:
    """What would be charged, as a promise to the people of the data set; the name of the event if it makes none."""
    try:
        to = ledger.deciding(approval.dataset).budget or PureDP(1)  # the people's budget says who, and against what
        return promised(approval.event.guarantee(unit=to.unit, neighbours=to.neighbours))
    except GiveOrTakeError:
        return type(approval.event).__name__


def approve(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Let one large spend through, once."""
    ledger.approve(arguments.request, reason=arguments.reason, expires=arguments.expires, by=arguments.by)
    out.print(f"request {arguments.request} is approved: asked again, it goes through, once")


def deny(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Refuse one large spend."""
    ledger.deny(arguments.request, reason=arguments.reason, by=arguments.by)
    out.print(f"request {arguments.request} is denied, and whoever asks again is told why")


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"
