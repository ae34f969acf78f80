"""What a ledger knows of a table (unit, budget, domains and last caps), as options of the command line."""

from __future__ import annotations

import datetime as dt
import shlex
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import ledger as ledgers
from giveortake.errors import GiveOrTakeError
from giveortake.exact import shown
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, PureDP
from giveortake.session.ledger_discovery import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from giveortake.privacy import Guarantee

_MOST_KEYS = 200  # of a column that a hint lists


def said_before(
    place: str, mark: str | None, table: str, reads: Callable[[str], object], *, with_caps: bool
) -> str | None:
    """The options that describe a known table; None if it is unknown. `reads` parses the domain in an option."""
    if place == MEMORY or "://" in place or not Path(place).exists():
        return None
    with suppress(GiveOrTakeError), ledgers.open(place, mark=mark, create=False, read_only=True) as book:
        levels = {(level.kind, level.name): level for level in book.levels()}
        if ("data set", table) not in levels:
            return None
        with book.chain.looking() as draft:
            people = levels["population", draft.book.dataset(table).population]
        whom = levels["data set", table].unit
        unit = "row" if whom == ROW else str(whom.column)
        options = [f"--unit {shlex.quote(unit)}"]
        if (budget := _budget(people.budget)) is not None:
            options.append(f"--budget {budget}")
        if people.budget is not None and people.budget.neighbours != "add-remove":
            options.append(f"--neighbours {people.budget.neighbours}")
        domains: Mapping[str, Any] = (book.domains(table) or {}).get(table, {})
        options += [
            each for column, said in domains.items() if column != unit and (each := _domain(column, said, reads))
        ]
        return " ".join([*options, *(_caps(book, table) if with_caps else ())])
    return None


def _caps(book: ledgers.Ledger, table: str) -> Iterator[str]:
    """Yield the caps of the last question to a table, as options."""
    for last in book.releases(dataset=table, limit=1, newest_first=True):
        (first, *_) = (last.record or {}).get("questions") or [{}]
        for name, cap in (first.get("caps") or {}).items():
            said = ",".join(f"{each}={most}" for each, most in cap.items()) if isinstance(cap, dict) else str(cap)
            yield f"--{name.replace('_', '-')} {shlex.quote(said)}"


def _budget(budget: Guarantee | None) -> str | None:
    match budget:
        case PureDP():
            return shown(budget.epsilon)
        case ApproxDP():
            return f"{shown(budget.epsilon)},{shown(budget.delta)}"
        case ZCDP():
            return f"rho={shown(budget.rho)}"
        case GaussianDP():
            return f"mu={shown(budget.mu)}"
    return None


def _domain(column: str, said: Mapping[str, Any], reads: Callable[[str], object]) -> str | None:
    """The --domain option of a column; None if nothing was declared, or no option can say it."""
    if "categories" in said:
        keys = [each for each in said["categories"] if each is not None]
        if len(keys) > _MOST_KEYS:
            return f"--domain {shlex.quote(column)}=…"
        for text in (",".join(map(str, keys)), ",".join(f'"{each}"' for each in keys)):
            with suppress(GiveOrTakeError):  # it would be understood otherwise
                if reads(f"{column}={text}") == (column, keys):
                    return f"--domain {shlex.quote(f'{column}={text}')}"
        return f"--domain {shlex.quote(column)}=…"
    if "low" not in said or "high" not in said:
        return None
    ends = [Fraction(said["low"]), Fraction(said["high"])]
    if said["kind"] == "date":
        written = [dt.date.fromordinal(int(end)).isoformat() for end in ends]
    else:
        written = [short if Fraction(short := shown(end, 15)) == end else str(end) for end in ends]
    return f"--domain {shlex.quote(f'{column}={written[0]}:{written[1]}')}"
