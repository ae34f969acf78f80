"""Quotes: what a request would cost and what margins its answer would have, known without reading a row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import codec, exact
from giveortake.answers.render import rows_counted
from giveortake.answers.terms import Caps, Confidence, LeftOut
from giveortake.errors import InvalidParameter
from giveortake.privacy import Guarantee
from giveortake.session.refusals import unfitting
from giveortake.session.render import ASKED_BEFORE, WAITS, more_like_it, quote_page, shown_margin, shown_truncation

if TYPE_CHECKING:
    import os

    Cell: TypeAlias = Any  # whoever reads a fact knows which it is
else:
    Cell = bool | int | float | str | Fraction | tuple[str, ...] | None

_SHOWN = 12  # lines of the table in a text


@final
@codec.complete
@dataclass(frozen=True, slots=True)
class Alternative:
    """A better way to ask at no more of the budget: the arguments that take it, and the margin of a column with it.

    A spend among the `terms` replaces the one that was stated. `domains` are for the custodian to declare, a `workload`
    is asked by `s.workload`. `now` is the margin without it, and `narrower` by which part intervals are; `share` is
    what it takes of the budget, if that is more. `groups` says which groups another search shows: smaller ones by the
    part `narrower`, whatever the margins are.
    """

    terms: Mapping[str, str]
    column: str | None
    margin: int | float | None
    now: int | float | None
    narrower: float
    share: Fraction | None = None
    groups: str | None = None

    def __str__(self) -> str:
        arguments = ", ".join(map(_argument, self.terms, self.terms.values()))
        without = ", without δ" if "epsilon" in self.terms and "delta" not in self.terms else ""
        price = "" if self.share is None else f", at {exact.percent(self.share, 3)} of the budget"
        where = "if a person has one row in each group: " if self.terms.get("rows_per_group") == "1" else ""
        return f"{where}{arguments}{without}: {self.margins}{price}"

    @property
    def margins(self) -> str:
        """What it would be instead of what it is."""
        groups = [] if self.groups is None else [self.groups]
        if self.margin is None or self.now is None:
            return "; ".join(groups or [f"intervals are {100 * self.narrower:.0f} % narrower"])
        return "; ".join([*groups, f"{self.column} {shown_margin(self.margin)} instead of {shown_margin(self.now)}"])


def _argument(name: str, text: str) -> str:
    if name == "workload":
        return f"s.workload({json.dumps(text)})"
    return f"{name}={text}" if name == "domains" or text.isdigit() else f'{name}="{text}"'


@final
@codec.complete
@dataclass(frozen=True, slots=True)
class Quote:
    """The price of a request, the margins of its answer, what would remain, and what would make it cheaper.

    `margins` has a number for each column where no row decides it; for a mean, the text `m / n`: the margin is m over
    the number of rows. It is that of noise; `truncation` tells how much farther rows that caps cut may move the column:
    None where nothing limits that. `lines` is a table of what is measured where one number a column does not tell it: a
    line for each table of a workload, period of a counter, or pass of a fit. `facts` has further numbers of its kind.

    `share` is how much of the whole budget it takes, in its `meter`, the currency in which shares of it are measured;
    `used_after` is how much would be used then, and `more` how many more questions like this one would fit. `admitted`
    says whether it would be answered now: the budget pays for it, or it was `paid` for before, by the same asker at
    this price, and is free. `approval` says that the custodian has to approve it first. `spans` says how wide the
    bounds of a mean are: no margin of it is wider. `left_out` is what the caps leave out of the table, as far as a
    profile tells, and what other caps would; `worthless` a sentence if the answer would say nothing, and `doubt` one if
    nothing is known that tells. `advice` are at most two better ways.
    """

    kind: str
    title: str
    spend: str
    cost: Guarantee | None  # None if no row is read
    share: Fraction | None
    remaining: Fraction | Mapping[str, Fraction] | Mapping[Fraction, Fraction] | None
    admitted: bool
    confidence: Confidence
    paid: bool = False
    approval: bool = False
    used_after: Fraction | None = None
    meter: str | None = None
    more: int | None = None
    margins: Mapping[str, int | float | str | None] = field(default_factory=dict)
    truncation: Mapping[str, int | float | str | None] = field(default_factory=dict)
    spans: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[Mapping[str, Cell], ...] = ()
    facts: Mapping[str, Cell] = field(default_factory=dict)
    noise: Mapping[str, str] = field(default_factory=dict)
    keys: str | None = None
    caps: Caps | None = None
    contributions: str | None = None
    left_out: LeftOut | None = None
    worthless: str | None = None
    doubt: str | None = None
    notes: tuple[str, ...] = ()
    advice: tuple[Alternative, ...] = ()

    # -- text -----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        cost = "" if self.cost is None else f" ({self.cost!r})"
        lines = [*([self.title] if self.title else []), f"cost: {self.spend} for the whole answer{cost}"]
        if self.share is not None:
            lines.append(f"that is {self.measured_share}")
        lines += [self.fits, *[WAITS] * self.approval]
        sure = f"with {exact.percent(self.confidence)}"
        for name, margin in () if self.lines else self.margins.items():
            span = self.spans.get(name)
            parts = (shown_margin(margin, span), shown_truncation(self.truncation.get(name), span))
            suffix = "" if margin is None else f"  ({sure})"
            lines.append(f"  {name} {', '.join(filter(None, parts))}{suffix}")
        lines += self.table_lines()
        if self.lines and self.margins:
            scope = "each" if self.confidence.over == "cell" else "all together"
            reaches = filter(None, dict.fromkeys(map(shown_truncation, self.truncation.values())))
            lines.append(f"  ({'; '.join([f'margins hold {sure} {scope}', *reaches])})")
        lines += filter(None, [self.which_rows])
        lines += [f"{name.replace('_', ' ')}: {fact_text(fact)}" for name, fact in self.facts.items()]
        lines += [f"  {name}: {text}" for name, text in self.noise.items()]
        lines += [] if self.keys is None else [f"keys: {self.keys}"]
        lines += [] if self.contributions is None else [f"contributions: {self.contributions}"]
        if self.left_out is not None:
            lines += [f"truncation: {self.left_out}", *(f"  {line}" for line in self.left_out.lines)]
        lines += [] if self.worthless is None else [f"worthless: {self.worthless}"]
        lines += [] if self.doubt is None else [f"doubt: {self.doubt}"]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"better: {alternative}" for alternative in self.advice]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def which_rows(self) -> str:
        """Which rows the numbers would be about, if caps cut rows and nothing limits how many; else empty."""
        if None not in self.truncation.values():
            return ""
        several = bool(self.lines) or len(self.margins) > 1 or self.keys not in {None, "none"}
        return rows_counted(self.caps, several=several)

    @property
    def fits(self) -> str:
        """Whether the budget admits it, in words."""
        if not self.admitted:
            return unfitting(self.share, self.notes)
        if self.paid:
            return ASKED_BEFORE
        used = "" if self.used_after is None else f"; {exact.percent(self.used_after, 3)} of it is used then"
        return f"the budget admits it{used}{'' if self.more is None else f', with room for {more_like_it(self.more)}'}"

    @property
    def measured_share(self) -> str:
        """The share of the budget, and the currency in which it is measured."""
        if self.share is None:
            return "more than the whole budget"
        return f"{exact.percent(self.share, 3)} of the budget{'' if self.meter is None else f' ({self.meter})'}"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The titles and cells of `lines`, as texts."""
        names = tuple(self.lines[0]) if self.lines else ()
        rows = [tuple(fact_text(line[name]) for name in names) for line in self.lines]
        return tuple(name.replace("_", " ") for name in names), rows

    def table_lines(self) -> list[str]:
        """The first of `lines`, and the last, below their titles."""
        titles, rows = self.table()
        shown = rows if len(rows) <= _SHOWN else [*rows[: _SHOWN - 1], rows[-1]]
        widths = [max(len(row[index]) for row in [titles, *shown]) for index in range(len(titles))]
        texts = [
            f"  {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))}".rstrip()
            for row in ([titles, *shown] if rows else [])
        ]
        if len(rows) > _SHOWN:
            texts.insert(_SHOWN, f"  … and {len(rows) - _SHOWN:,} more in .lines")
        return texts

    def _repr_html_(self) -> str:
        return quote_page(self)

    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """Of a workload, an altair chart of the deviation of every table, beside an equal split; a path saves it."""
        if not any("equal_sd" in line for line in self.lines):
            raise InvalidParameter("plot", self.kind, "has no chart", hint="str(quote), and quote.lines, say all of it")
        from giveortake import plot  # noqa: PLC0415 (heavy)

        return plot.titled_or_saved(lambda words: plot.workloads(self.lines, title=words), title)

    # -- JSON -----------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The quote as JSON, for programs: margins are numbers, and what is exact is a fraction, such as "1/10"."""
        return json.dumps(codec.write(self, Quote), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Quote:
        """The quote that `to_json` wrote. Any other text is refused with one message."""
        quote: Quote = codec.value_of(Quote, text, what="quote")
        return quote


def fact_text(fact: Any) -> str:
    """A number or text of a quote, for people.

    >>> fact_text(0.123456), fact_text(1200), fact_text(("age", "sex")), fact_text(())
    ('0.1235', '1,200', 'age × sex', 'total')
    """
    match fact:
        case None:
            return "–"
        case float():
            return f"{fact:,.4g}"
        case Fraction():
            return exact.decimal(fact, 4)
        case bool() | str():
            return str(fact)
        case int():
            return f"{fact:,}"
        case tuple() | list():
            return " × ".join(map(str, fact)) or "total"
    return str(fact)
