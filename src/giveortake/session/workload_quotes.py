"""What a workload would cost, and how sure each of its tables would be: known without a row."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee

_SHOWN = 12  # tables in a text


@final
@dataclass(frozen=True, slots=True)
class WorkloadQuote:
    """The price of a workload; for every table the standard deviation and margin of a cell, beside an equal split.

    `lines` has one dictionary for each table; `admitted` says whether the budget would admit it now.
    """

    spend: str
    cost: Guarantee
    strategy: str
    lines: tuple[dict[str, Any], ...]
    confidence: float
    admitted: bool

    @property
    def rms(self) -> float:
        """The root of the mean variance of a cell, every table of counts alike."""
        return self._rms("sd")

    @property
    def equal_rms(self) -> float:
        """The same by an equal split of the promise among all tables."""
        return self._rms("equal_sd")

    def _rms(self, name: str) -> float:
        counts = [line[name] for line in self.lines if line["of"] == "n"]
        return math.sqrt(sum(each**2 for each in counts) / max(len(counts), 1))

    def line(self, *columns: str) -> dict[str, Any]:
        """What is known of the table of some columns."""
        for line in self.lines:
            if set(line["table"]) == set(columns):
                return line
        known = "; ".join(", ".join(line["table"]) for line in self.lines[:5])
        raise InvalidParameter("columns", columns, "are not the columns of one of the tables", hint=f"such as {known}")

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(
            {
                "spend": self.spend,
                "cost": str(self.cost),
                "strategy": self.strategy,
                "confidence": self.confidence,
                "admitted": self.admitted,
                "tables": [{**line, "table": list(line["table"])} for line in self.lines],
            },
            ensure_ascii=False,
        )

    def plot(self, title: str | None = None) -> Any:
        """An altair chart of the standard deviation of every table, beside that of an equal split."""
        from giveortake.plot.workloads import workloads  # noqa: PLC0415 (heavy)

        return workloads(self.lines, title=title)

    def __str__(self) -> str:
        fits = "the budget admits it" if self.admitted else "the budget does not admit it"
        lines = [f"workload of {len(self.lines):,} tables at {self.spend}: {fits}", f"strategy: {self.strategy}"]
        lines.extend(_told(line) for line in self.lines[:_SHOWN])
        if len(self.lines) > _SHOWN:
            lines.append(f"  … and {len(self.lines) - _SHOWN:,} more in .lines")
        lines.append(f"rms of a cell: sd {self.rms:,.4g}, by an equal split {self.equal_rms:,.4g}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads = ("table", "cells", "sd", "margin", "sd by an equal split")
        rows = [
            (_name(line), f"{line['cells']:,}", *(f"{line[each]:,.4g}" for each in ("sd", "margin", "equal_sd")))
            for line in self.lines
        ]
        first, *_ = str(self).splitlines()
        head = "".join(f"<th>{each}</th>" for each in heads)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<p>{html.escape(first)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _name(line: dict[str, Any]) -> str:
    of = "" if line["of"] == "n" else f"{line['of']} by "
    return of + (" × ".join(line["table"]) or "total")


def _told(line: dict[str, Any]) -> str:
    return (
        f"  {_name(line)}: {line['cells']:,} cells ± {line['margin']:,.4g} "
        f"(sd {line['sd']:,.4g}, by an equal split {line['equal_sd']:,.4g})"
    )
