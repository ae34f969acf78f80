"""`report`: one release as a page that stands alone, for people: no script, nothing loaded from anywhere.

Its style comes first, the console's colours and type, on a page that may be printed; then its parts.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.answers.answer import told_without_key
from giveortake.answers.column import NUMBERS
from giveortake.answers.render import (
    covers_truncation,
    legend,
    printable,
    shown_cells,
    which_rows,
    with_beyond,
)
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import counted, percent, rough_percent
from giveortake.plot.svg import MOST_ROWS, Markup, bars, figure, joined, tag, text
from giveortake.publication.tables import caps_of, collected, for_rows, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers import Answer
    from giveortake.answers.column import Column
    from giveortake.publication.tables import PublishedTable
    from giveortake.session import Session


STYLE = """
:root { color-scheme: light dark;
  --ground: #fbfaf8; --ink: #1d2326; --soft: #5d686d; --line: #dfdcd5; --accent: #0b5f63;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181a; --ink: #e8ebec; --soft: #9aa6ab; --line: #313a3e; --accent: #6cc4c4; } }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 var(--sans);
  font-variant-numeric: tabular-nums; }
main { max-width: 760px; margin: 0 auto; padding: 40px 20px 60px; }
.over { color: var(--accent); font-weight: 600; margin: 0; }
h1 { font-size: 28px; letter-spacing: -.015em; margin: 2px 0 16px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 34px 0 8px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 0 0 10px; overflow-wrap: anywhere; }
.note, footer { color: var(--soft); font-size: 14px; }
footer { border-top: 1px solid var(--line); margin-top: 40px; padding-top: 10px; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 0; font-size: 14px; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
pre { font: 14px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--accent);
  margin: 0; padding: 2px 0 2px 14px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 6px 0 12px; }
th { text-align: left; font-size: 13px; color: var(--soft); font-weight: 600; vertical-align: bottom;
  border-bottom: 1px solid var(--line); padding: 5px 8px 5px 0; overflow-wrap: break-word; }
td { border-bottom: 1px solid var(--line); padding: 6px 8px 6px 0; overflow-wrap: break-word; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; } td.n small { color: var(--soft); }
th.bars { width: 23%; min-width: 90px; font-weight: 400; padding-left: 14px; }
td.bars { padding-left: 14px; }
th.bars span + span { float: right; }
.cite { border-left: 3px solid var(--line); padding-left: 14px; }
svg.chart, svg.interval { display: block; }
svg text { fill: var(--soft); font: 12px var(--sans); font-variant-numeric: tabular-nums; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .base, svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .range, svg .band { fill: var(--accent); fill-opacity: .32; }
svg path.range { fill: none; stroke: var(--accent); stroke-opacity: .32; }
svg .truncation { fill: none; stroke: var(--accent); stroke-opacity: .6; stroke-dasharray: 1.5 2.5; }
svg.interval { overflow: visible; } svg line.truncation { stroke-width: 8; }
svg .pale { fill-opacity: .1; stroke: var(--accent); stroke-dasharray: 2 3; }
svg .open { fill: none; stroke: var(--accent); stroke-width: 1.5; }
svg .value { stroke: var(--accent); stroke-width: 2.5; fill: none; } svg .arrow { fill: var(--accent); }
svg .line { fill: none; stroke: var(--accent); stroke-width: 2.5; } svg .thin { stroke-width: 1.5; }
svg .area { fill: var(--accent); fill-opacity: .14; stroke: none; } svg .dot { fill: var(--accent); }
@media (max-width: 560px) { th.bars { min-width: 70px; width: 28%; } td.n { white-space: normal; } }
@media print {
  :root { --ground: #fff; --ink: #000; --soft: #444; --line: #bbb; --accent: #0b5f63; }
  main { max-width: none; padding: 0; } section, tr, svg { break-inside: avoid; } h2 { break-after: avoid; }
  body { font-size: 11pt; }
}
"""


_LONGEST = 120  # letters of a title
_SELDOM = Fraction(1, 1_000_000)  # how often a belief may move farther than stated, if no bound always holds


def report(session: Session, release_id: str, path: str | Path | None = None, *, index: int | None = None) -> str:
    """One release as a page of HTML: what was asked, the promise in words, intervals, caps, a chart, how to cite it.

    It is written to `path`, if there is one. `index` says which table of a batch or a workload is meant; without it the
    page shows all of them, one after the other. The page runs no script and loads nothing; every text is escaped.
    """
    tables, _ = collected(session, release_id)
    if index is not None:
        if type(index) is not int or not 0 <= index < len(tables):
            raise InvalidParameter(
                "index",
                index,
                f"is not the index of a table: there are {len(tables)}",
                hint=f"from 0 to {len(tables) - 1}",
            )
        tables = [tables[index]]
    page = page_of(tables)
    if path is not None:
        try:
            Path(path).write_text(page, encoding="utf-8")
        except OSError:
            raise InvalidParameter("path", str(path), "cannot be written", hint="does its folder exist?") from None
    return page


def page_of(tables: list[PublishedTable]) -> str:
    """The page of the tables of one release."""
    first = tables[0]
    title = f"Release {first.record.id}"
    promise = _promised(tables)
    body = tag(
        "main",
        tag(
            "header",
            tag("p", "A number, give or take", class_="over"),
            tag("h1", _title(first)),
            _facts(first, promise),
        ),
        *(part for table in tables for part in _sections(table, several=len(tables) > 1)),
        *(_section("What counts", *_counts(table)) for table in _different(tables)),
        _section("What is promised", *_promise(promise)),
        _section("How to cite it", *_citation(first, promise)),
        tag("footer", tag("p", "Made by giveortake. This page runs no script and loads nothing.")),
    )
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    page = str(tag("html", tag("head", head), tag("body", body), lang="en"))
    return f"<!doctype html>\n{page.replace('></meta>', '>')}\n"


def _title(table: PublishedTable) -> str:
    """The title: what was asked, in words and without its constants."""
    title = printable(table.record.description or f"a release of {table.record.dataset}")
    return _sentence(title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…").removesuffix(".")


def _facts(table: PublishedTable, promise: Any) -> Markup:
    record = table.record
    rows = [
        ("Release", record.id),
        ("Made", f"{moment(record.at):%Y-%m-%d %H:%M} UTC"),
        ("Data set", f"{record.dataset}, version {record.version}"),
        ("Promise", "–" if promise is None else str(promise).partition(":")[0]),
    ]
    return tag("dl", *(joined(tag("dt", name), tag("dd", value)) for name, value in rows), class_="facts")


def _sections(table: PublishedTable, *, several: bool) -> Iterator[Markup]:
    answer = table.answer
    number = f" {(table.table_index or 0) + 1}" if several else ""
    yield _section(f"Question{number}", tag("pre", Markup("\n".join(map(text, table.query.split("\n"))))))
    chart = figure(answer)
    yield _section(
        f"Answer{number}",
        *_how_sure(answer),
        *([] if chart is None else [chart]),
        _table(answer),
    )


def _different(tables: list[PublishedTable]) -> list[PublishedTable]:
    """The first table, and every other with different caps or notes."""
    return list({(table.answer.caps, table.answer.notes): table for table in reversed(tables)}.values())[::-1]


def _counts(table: PublishedTable) -> list[Markup]:
    """Paragraphs on how much of a person counts, and on the notes, each once."""
    caps, notes = caps_of(table.answer), list(dict.fromkeys(table.answer.notes))
    paragraphs = notes if any(caps in note for note in notes) else [caps, *notes]
    return [tag("p", _with_names(_sentence(paragraph))) for paragraph in paragraphs]


def _section(title: str, *content: Markup) -> Markup:
    return tag("section", tag("h2", title), *content)


def _how_sure(answer: Answer) -> list[Markup]:
    confidence = _unbroken(percent(Fraction(answer.confidence)))
    joint_note = "" if answer.confidence.over == "cell" else ", and so do all of them together"
    covers = covers_truncation(answer.columns)
    number, cover = (
        ("number of all rows", "the noise that protects people, and truncation by caps")
        if covers
        else ("number without noise", "the noise that protects people")
    )
    return [
        *(tag("p", _sentence(line)) for line in filter(None, [which_rows(answer)])),
        tag(
            "p",
            f"A number is a mark, its interval the bar around it. It holds the {number} with {confidence} "
            f"probability{joint_note}. Intervals cover {cover}. They do not cover sampling error.",
        ),
        *(tag("p", _sentence(line)) for line in legend(answer.columns)),
    ]


def _table(answer: Answer) -> Markup:
    heads, cells = [], []
    for column in answer.columns:
        head, column_cells = _column(column)
        heads += head
        cells += column_cells
    rows = [tag("tr", *row) for row in zip(*cells, strict=True)]
    omitted = len(answer) - MOST_ROWS
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return joined(
        tag("div", table, class_="scroll"),
        *([tag("p", f"{counted(omitted, 'more row')} are in the table itself.")] if omitted > 0 else []),
        *(tag("p", _with_names(_sentence(note))) for note in told_without_key(answer.columns, MOST_ROWS)),
    )


def _column(column: Column) -> tuple[list[Markup], list[list[Markup]]]:
    number = "n" if column.kind in NUMBERS else None
    texts = shown_cells(column, MOST_ROWS)
    if not column.has_interval:
        return [tag("th", column.name, scope="col", class_=number)], [
            [tag("td", value, class_=number) for value, _, _ in texts]
        ]
    drawn = bars(column)
    head = [
        tag("th", column.name, scope="col", class_="n"),
        tag("th", tag("span", drawn.left), tag("span", drawn.right), scope="col", class_="bars"),
    ]
    return head, [
        [tag("td", value, " ", tag("small", with_beyond(*margins)), class_="n") for value, *margins in texts],
        [tag("td", bar, class_="bars") for bar in drawn.rows],
    ]


def _promised(tables: list[PublishedTable]) -> Any:
    """The promise of all tables together: of one its own, of several that of their common charge."""
    own = tables[0].answer.guarantee
    if len(tables) > 1 and own is not None:
        with suppress(GiveOrTakeError):
            return tables[0].record.event.guarantee(unit=own.unit, neighbours=own.neighbours)
    return own


def _promise(promise: Any) -> list[Markup]:
    if promise is None:
        return [tag("p", "No promise is stated for these numbers.")]
    paragraphs = [tag("p", _sentence(str(promise)))]
    belief = _belief(promise)
    if belief:
        paragraphs.append(tag("p", belief))
    paragraphs.append(
        tag(
            "p",
            "That holds whatever else anybody knows, now or later, and however this page is used: nothing computed "
            "from these numbers reveals more. Releases about the same people add up; the ledger of the data set "
            "keeps their sum below its budget.",
        )
    )
    return paragraphs


def _belief(promise: Any) -> str:
    """A sentence on how far the promise lets a belief move; empty if it bounds nothing."""
    for failure in (None, _SELDOM):
        with suppress(GiveOrTakeError, ArithmeticError):
            low, high = promise.posterior(Fraction(1, 2), failure=failure)
            if high < 1:
                seldom = "" if failure is None else ", except for one release in a million"
                span = _unbroken(rough_percent(low)), _unbroken(rough_percent(high))
                return (
                    f"Somebody who thinks it as likely as not (50\u00a0%) that {promise.unit} {_known(promise)} "
                    f"can think it, after seeing these numbers, {span[0]} to {span[1]} likely{seldom}."
                )
    return ""


def _known(promise: Any) -> str:
    return "is in the data" if promise.neighbours == "add-remove" else "has these values and not those"


def _unbroken(text: str) -> str:
    return text.replace(" ", "\u00a0")


def _citation(table: PublishedTable, guarantee: Any) -> list[Markup]:
    answer, record = table.answer, table.record
    confidence = percent(Fraction(answer.confidence))
    promise = "" if guarantee is None else f" {str(guarantee).partition(':')[0]}."
    reference = (
        f"{record.dataset}, release {record.id}, {moment(record.at):%Y-%m-%d}; made with giveortake, intervals of "
        f"{confidence}{for_rows(answer)}.{promise} {_sentence(which_rows(answer) or caps_of(answer))}"
    )
    paragraphs = [tag("p", reference, class_="cite")]
    if answer.citations:
        paragraphs += [
            tag("p", "The noise follows:"),
            tag("ul", *(tag("li", citation) for citation in answer.citations)),
        ]
    return paragraphs


def _with_names(words: str) -> Markup:
    """Words in which what stands between back quotes is set as a name."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", text(words)))


def _sentence(words: str) -> str:
    sentence = words.strip()
    first = sentence[:1].upper() if sentence[:1].isascii() else sentence[:1]  # an ε stays one
    return sentence and f"{first}{sentence[1:]}{'' if sentence[-1] in '.!?' else '.'}"
