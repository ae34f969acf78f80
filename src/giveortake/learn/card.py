"""Cards of models and quotes of fits: what was promised, what counts, what each pass got. Text, Markdown and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.answers import render
from giveortake.answers.render import escaped
from giveortake.exact import shown
from giveortake.session.pages import ASKED_BEFORE, WAITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.learn.model import Provenance
    from giveortake.privacy import Guarantee

MORE_SIGNAL = "spend more, name fewer features, or take gt.learn.ClassMeans"


class _Page:
    """Facts and a table that print as text, Markdown and HTML."""

    title: str

    def facts(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        raise NotImplementedError

    def to_markdown(self) -> str:
        """The page as Markdown."""
        head, rows = self.table()
        lines: list[Sequence[str]] = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
        facts = [f"- **{name}**: {escaped(said)}" for name, said in self.facts()]
        return "\n".join(
            [f"# {escaped(self.title)}", "", *facts, "", *(f"| {' | '.join(each)} |" for each in lines), ""]
        )

    def to_html(self) -> str:
        """The page as HTML; every text is escaped."""
        return render.card(self.title, render.fact_list(self.facts()), render.table(*self.table()))

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        head, rows = self.table()
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
        facts = [f"{name}: {said}" for name, said in self.facts()]
        return "\n".join([self.title, *(f"  {each.rstrip()}" for each in [*facts, *lines])])


@final
@dataclass(frozen=True, repr=False)
class Card(_Page):
    """How a model came to be, for whoever uses it."""

    provenance: Provenance
    described: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:  # type: ignore[override]  # (made of the provenance)
        """The learner, and what was fitted."""
        return f"{self.provenance.learner}: {self.provenance.words}"

    def facts(self) -> list[tuple[str, str]]:
        """Labels and their texts."""
        made = self.provenance
        return [
            ("promise", str(made.guarantee)),
            ("stated as", made.spend),
            ("unit", counted(made.guarantee, made.rows)),
            *self.described,
            ("release", made.release_id),
            *(("note", note) for note in made.notes),
        ]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The passes over the rows."""
        rows: list[tuple[str, ...]] = [
            (each.name, _percent(each.share), f"{each.mu:.4g}") for each in self.provenance.passes
        ]
        return ("pass over the rows", "part of μ²", "μ"), rows


@final
@dataclass(frozen=True, repr=False)
class FitQuote(_Page):
    """What a fit would cost and how noisy its first sums would be. No row was read.

    `noises` has, for each pass, its part of μ² and the deviation of the noise in each of its sums, in rows' worth; None
    where that depends on what is released before. With a public number of rows it is also stated as a part of them.
    `paid` says that the same asker paid for the same fit, and gets it again for free; `approval` that the custodian has
    to approve the charge first.
    """

    title: str
    spend: str
    guarantee: Guarantee
    rows: int
    noises: tuple[tuple[str, Fraction, float | None], ...]
    n: int | None
    admitted: bool
    paid: bool = False
    approval: bool = False

    @property
    def noise_to_signal(self) -> float | None:
        """The greatest deviation of a sum that is known beforehand, as a part of n; None without a public n."""
        known = [noise for *_, noise in self.noises if noise is not None]
        return None if self.n is None or not known else max(known) / self.n

    def facts(self) -> list[tuple[str, str]]:
        """Labels and their texts."""
        found = [
            ("one charge", f"{self.spend}, as one Gaussian release"),
            ("promise", str(self.guarantee)),
            ("unit", counted(self.guarantee, self.rows)),
        ]
        if self.noise_to_signal is not None:
            part = f"{self.noise_to_signal:.2g} at n = {self.n:,}"
            found.append(("noise to signal", f"{part}: the noise in a sum, one deviation, as a part of the rows"))
            if self.noise_to_signal >= 1:
                found.append(("worthless", "the noise in a sum is no smaller than all rows together"))
                found.append(("hint", MORE_SIGNAL))
        if not self.admitted:
            found.append(("budget", "does not admit it now"))
        if self.paid:
            found.append(("budget", ASKED_BEFORE))
        if self.approval:
            found.append(("budget", WAITS))
        return found

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The passes over the rows."""
        rows: list[tuple[str, ...]] = [
            (name, _percent(share), "known when its turn comes" if noise is None else f"± {noise:,.3g} rows")
            for name, share, noise in self.noises
        ]
        return ("pass over the rows", "part of μ²", "noise in each sum, one deviation"), rows


def counted(guarantee: Guarantee, rows: int) -> str:
    """What is protected, and how much of one unit counts, in words."""
    column = guarantee.unit.column
    if column is None:
        return "one row"
    if not rows:
        return f"one {column}"
    return f"one {column}: all its rows together count as much as {rows:,} row{'s' if rows > 1 else ''} at most"


def _percent(share: Fraction | str) -> str:
    return f"{shown(100 * Fraction(share), 3)} %"
