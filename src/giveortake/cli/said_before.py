"""What a ledger holds of a table (whom it protects, its budget and its domains), as the options that said it."""

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
from giveortake.session.ledgers_beside import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.privacy import Guarantee

_MOST_KEYS = 12  # of a column that a hint lists


def said_before(place: str, mark: str | None, table: str, reads: Callable[[str], object]) -> str | None:
    """The options; None if the ledger does not know the table. `reads` is how an option's domain is understood."""
    if place == MEMORY or "://" in place or not Path(place).exists():
        return None
    with suppress(GiveOrTakeError), ledgers.open(place, mark=mark, create=False, read_only=True) as book:
        found = [level for level in book.levels() if level.kind == "data set" and level.name == table]
        if not found:
            return None
        budgets = [level.budget for level in book.levels() if level.kind == "population"]
        unit = "row" if found[0].unit == ROW else str(found[0].unit.column)
        options = [f"--unit {shlex.quote(unit)}"]
        if len(budgets) == 1 and (budget := _budget(budgets[0])) is not None:
            options.append(f"--budget {budget}")
        domains: Mapping[str, Any] = (book.domains(table) or {}).get(table, {})
        told = [_domain(column, said, reads) for column, said in domains.items() if column != unit]
        return " ".join([*options, *(each for each in told if each)])
    return None


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
    """The option of a column; None if nothing was declared, or if no option says it."""
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
