"""Sessions and quotes as HTML, for notebooks."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import exact
from giveortake.answers import render
from giveortake.answers.render import number_text
from giveortake.errors import LedgerUnavailable
from giveortake.hints import rendered
from giveortake.plan import Kind
from giveortake.plan.describe import rows_without
from giveortake.plan.expressions import moment_of
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.hints import Face
    from giveortake.ledger import BudgetStatus
    from giveortake.plan import Domain
    from giveortake.privacy import Guarantee
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.quotes import Quote
    from giveortake.session.session import Session


_MOST_LISTED = 6  # categories of a column
DEPENDS = "has a margin that depends on the data and cannot be known beforehand"
ASKED_BEFORE = "it was asked before at this price, and is free"
WAITS = "it is large, and waits for the custodian's approval; nothing is charged until then"


def session_text(
    session: Session, unasked: Mapping[str, Sequence[tuple[str, str]]], mechanism: InteractiveMechanism
) -> str:
    """A session as text: its tables, whom its promise is to, and what is left of its budget."""
    part = "" if mechanism.part is None else f", {mechanism.part}"
    about, granted = session.describe(), session.budget.granted
    lines = [f"<Session {session.name}{part}: {granted!r}"]
    lines.extend(f"  {name}({', '.join(relation.schema)})" for name, relation in about.catalog.private.items())
    lines.extend(
        f"  column {column} of {table} cannot be asked about: its type is {kind or 'unknown'}"
        for table, columns in unasked.items()
        for column, kind in columns
    )
    lines.extend(f"  {name}, public" for name in about.catalog.public)
    if granted.unit.column is not None:
        lines.append(f"  {rows_without(granted.unit.column)}")
        lines.append(f"  {mechanism.caps}")
    else:
        lines.append("  each row is protected by itself: a person with several rows is not protected as a whole")
    try:
        standing, left = session.budget.status(), session.budget.affordable
    except LedgerUnavailable:
        return "\n".join([*lines, "  its ledger is closed"]) + ">"
    if standing.share is not None and left is not None:
        lines.append(f"  {used_of(standing)}{left_of(granted, left)}")
    if not about.durable:
        lines.append("  the ledger is in memory: what was spent is forgotten with the session")
    return "\n".join(lines) + ">"


def session_page(session: Session) -> str:
    """A session as HTML: its budget, what is left of it, and its tables with their declared columns."""
    about, granted = session.describe(), session.budget.granted
    unit_column = granted.unit.column
    facts = [("promise", str(granted))]
    if unit_column is not None:
        counts = str(about.caps) if about.caps.stated else "no caps are set: questions have to state their own"
        facts.append(("counts", f"{counts}; {rows_without(unit_column)}"))
    if not about.durable:
        facts.append(("ledger", "in memory: what was spent is forgotten with the session"))
    tables = [
        render.card(
            f"{name}{f', of each {unit_column}' if unit_column else ''}",
            render.table(("column", "holds"), columns_in_words(relation)),
        )
        for name, relation in about.catalog.private.items()
    ]
    public = [render.fact_list([("public", ", ".join(about.catalog.public))])] if about.catalog.public else []
    return render.card(f"Session {session.name}", render.fact_list(facts), _left(session), *tables, *public)


def quote_page(quote: Quote) -> str:
    """A quote as HTML: the cost, the margin of each column, and what would make the answer cheaper."""
    head = ("column", f"give or take, with {exact.percent(quote.confidence)}", *["truncation"] * any(_reaches(quote)))
    margins = render.table(head, margin_rows(quote))
    return render.card("Quote: nothing is spent", margins, render.fact_list([cost_of(quote), *quote_facts(quote)]))


def cost_of(quote: Quote) -> tuple[str, str]:
    """The price of a quote, as a label and a text."""
    return "cost", f"{quote.spend} for the whole answer: {quote.measured_share}"


def quote_facts(quote: Quote, face: Face = "python") -> list[tuple[str, str]]:
    """Everything else in a quote, as pairs of a label and a text; an empty label continues the one before."""
    left_out = quote.left_out
    return [
        *([("rows", quote.which_rows)] if quote.which_rows else []),
        ("admitted", _admitted(quote)),
        *([] if quote.worthless is None else [("worthless", quote.worthless)]),
        *([] if quote.doubt is None else [("doubt", quote.doubt)]),
        *_continued("noise", [f"{name}: {noise}" for name, noise in quote.noise.items()]),
        *([] if quote.keys is None else [("groups", quote.keys)]),
        *([] if quote.contributions is None else [("counts", quote.contributions)]),
        *(
            []
            if left_out is None
            else [("truncation", str(left_out)), *_continued("caps", list(map(str, left_out.lines)))]
        ),
        *_continued("note", list(quote.notes)),
        *_continued("better", [rendered(str(alternative), face) or "" for alternative in quote.advice]),
    ]


def _admitted(quote: Quote) -> str:
    if not quote.admitted:
        return "no: what is left does not pay for it"
    return f"yes: {ASKED_BEFORE}" if quote.paid else f"yes{f': {WAITS}' * quote.approval}{_used(quote)}"


def _used(quote: Quote) -> str:
    used = "" if quote.used_after is None else f"; {exact.percent(quote.used_after, 3)} is used then"
    return f"{used}{'' if quote.more is None else f', with room for {more_like_it(quote.more)}'}"


def more_like_it(more: int) -> str:
    """How many more questions like one fit what is left.

    >>> more_like_it(0), more_like_it(1234)
    ('no more like this one', 'about 1,234 more like this one')
    """
    return f"{f'about {more:,}' if more else 'no'} more like this one"


def shown_margin(margin: float | str | None, span: float | None = None) -> str:
    """The margin of a column before it is asked for.

    >>> shown_margin(12.345678), shown_margin("37.5 / n"), shown_margin("the values up to 9 ranks away")
    ('± 12.35', '± 37.5 / n (n: the rows of the group; ± 0.0375 if it has 1,000)', 'the values up to 9 ranks away')
    """
    if margin is None:
        return DEPENDS
    if isinstance(margin, str):
        if margin.endswith(" / n"):
            margin = f"{margin} (n: the rows of the group; {of_a_thousand(margin, span)})"
        return f"± {margin}" if margin[:1].isdigit() else margin
    return f"± {margin:,.4g}"


def of_a_thousand(margin: str, span: float | None = None) -> str:
    """What a margin `m / n` is in a group of usual size; no more than the bounds are wide.

    >>> of_a_thousand("29,960 / n"), of_a_thousand("2.9e+06 / n", 500)
    ('± 30 if it has 1,000', '± 500 if it has 1,000')
    """
    part = float(margin.removesuffix(" / n").replace(",", "")) / 1000
    part = part if span is None else min(part, span)
    return f"± {part:,.0f} if it has 1,000" if part >= 10 else f"± {part:.3g} if it has 1,000"


def shown_truncation(reach: float | str | None, span: float | None = None) -> str:
    """How much farther than noise the rows that caps cut may move a column, before it is asked for.

    >>> shown_truncation(795), shown_truncation("24,500 / n"), shown_truncation(None)
    ('up to 795 farther by truncation', 'up to 24.5 farther by truncation if a group has 1,000 rows', '')
    """
    if not reach:
        return ""
    if not isinstance(reach, str):
        return f"up to {number_text(reach)} farther by truncation"
    if not reach.endswith(" / n"):
        return reach
    widest = float(reach.removesuffix(" / n").replace(",", ""))
    part = widest / (1000 if span is None else 1000 + widest / span)
    return f"up to {part:,.3g} farther by truncation if a group has 1,000 rows"


def _reaches(quote: Quote) -> list[str]:
    return [shown_truncation(quote.truncation.get(name), quote.spans.get(name)) for name in quote.margins]


def margin_rows(quote: Quote) -> list[tuple[str, ...]]:
    """For each column of a quote its name, its margin of noise, and where one has it what truncation adds."""
    reaches = _reaches(quote)
    return [
        (name, shown_margin(margin, quote.spans.get(name)), *[reach] * any(reaches))
        for (name, margin), reach in zip(quote.margins.items(), reaches, strict=True)
    ]


def _continued(label: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(label if not index else "", line) for index, line in enumerate(lines)]


def _left(session: Session) -> str:
    try:
        standing, left = session.budget.status(), session.budget.affordable
    except LedgerUnavailable:
        return render.fact_list([("budget", "its ledger is closed")])
    if standing.share is None or left is None:
        return ""
    rest = left_of(session.budget.granted, left).removeprefix("; ")
    return render.table(("used", "measured in", ""), [(render.used(standing.share), standing.meter or "", rest)])


def used_of(standing: BudgetStatus) -> str:
    """How much of a budget is used, and in which currency that is measured."""
    meter = "" if standing.meter is None else f" ({standing.meter})"
    return f"{exact.percent(standing.share or Fraction(0), 3)} of the budget is used{meter}"


def left_of(budget: Guarantee | None, left: Fraction) -> str:
    """The ε that is left, of a pure budget alone: of any other no ε says what is left."""
    if not left:
        return "; nothing is left"
    return f"; ε = {exact.decimal_down(left, 3)} is left" if isinstance(budget, PureDP) else ""


def columns_in_words(relation: object) -> list[tuple[str, str]]:
    """The columns of a table, and what is declared about each."""
    schema: dict[str, Domain] = relation.schema  # type: ignore[attr-defined]  # (every relation has one)
    return [(name, _holds(domain)) for name, domain in schema.items()]


def _holds(domain: Domain) -> str:
    """What is declared about a column, in words."""
    if domain.categories is not None:
        listed = [
            exact.decimal(category) if isinstance(category, Fraction) else number_text(category)
            for category in domain.categories[:_MOST_LISTED]
        ]
        unlisted = len(domain.categories) - len(listed)
        return f"{domain.kind.value}: {', '.join(listed)}{f' and {unlisted:,} more' if unlisted else ''}"
    if domain.low is not None and domain.high is not None:
        ends = [domain.low, domain.high]
        end_texts = [
            exact.decimal(end) if domain.kind.is_number else str(moment_of(end, timed=domain.kind is Kind.TIMESTAMP))
            for end in ends
        ]
        return f"{domain.kind.value} from {end_texts[0]} to {end_texts[1]}"
    return f"{domain.kind.value}"
