"""What pages show: templates, and the form, queries, answers, quotes and budgets that they fill in.

- Templates that escape everything, and calls of API handlers by pages.
- The form of the workbench: the query, its spend and other terms, and the idempotency key.
- Example queries, and one query as code in several languages.
- Answers, quotes and budget status: numbers with margins, and the sentences beside them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from giveortake import codec, hints
from giveortake.answers import Answer
from giveortake.answers.answer import told_without_key
from giveortake.answers.column import NUMBERS
from giveortake.answers.render import covers_truncation, legend, printable, shown_cells, which_rows, with_beyond
from giveortake.engines.sql.dialect import double_quoted
from giveortake.errors import InvalidParameter
from giveortake.exact import decimal, percent, rational, rough_percent
from giveortake.ledger.releases import stated
from giveortake.plot.svg import MOST_ROWS, bars, brief, figure
from giveortake.privacy import Guarantee
from giveortake.server.console.charts import USUAL_ROWS, margin_number, meter
from giveortake.server.responses import Refusal
from giveortake.server.routes import Reply, object_of, text
from giveortake.session.proposals import converted, greatest_spend, rounded
from giveortake.session.render import more_like_it, shown_truncation
from giveortake.wire.documents import quote_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from giveortake.answers.column import Column
    from giveortake.server.console.release_pages import Measured
    from giveortake.server.routes import Call, Principal, Schema
    from giveortake.session.quotes import Alternative


HTML = "text/html; charset=utf-8"


def page(call: Call, template: str, *, status: int = 200, **values: Any) -> Reply:
    """Render a page for whoever makes this call."""
    return rendered(template, call.principal, status=status, **values)


def rendered(template: str, who: Principal | None, *, status: int = 200, **values: Any) -> Reply:
    """Render a page for a principal, or for nobody yet."""
    if values.get("dataset") is None and who is not None and len(who.datasets) == 1:
        values["dataset"] = who.datasets[0]  # whose pages the head of every page leads to
    content = _templates().get_template(template).render(who=who, **values)
    return Reply(content.encode("utf-8", "replace"), HTML, status)


def see(url: str, *, cookie: bytes | None = None) -> Reply:
    """Redirect a browser to another page of ours."""
    cookies = [] if cookie is None else [(b"set-cookie", cookie)]
    return Reply(b"", HTML, 303, [(b"location", url.encode("ascii")), *cookies])


def at(call: Call, *, path: dict[str, str] | None = None, **body: Any) -> Call:
    """The call of an API handler with a body, made by a page for the same caller."""
    return replace(call, path=call.path if path is None else call.path | path, query={}, body=body)


async def patiently(handler: Callable[[Call], Awaitable[Any]], call: Call) -> Any:
    """Call a handler that only reads; call it again if its worker was lost, since nothing can be charged."""
    try:
        return await handler(call)
    except Refusal as refused:
        if not refused.cause.retryable:
            raise
        return await handler(call)


def asking_for(call: Call, path: dict[str, str] | None = None, **query: Any) -> Call:
    """The call of an API handler with a query, made by a page for the same caller."""
    return replace(call, path=call.path if path is None else call.path | path, query=query, body={})


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("at most 4 rows of a person")
    'At most 4 rows of a person.'
    >>> sentence("n_consistent is post-processing")
    'n_consistent is post-processing.'
    """
    stripped = words.strip()
    is_name = "_" in stripped.partition(" ")[0]  # of a column, which stays as it is
    first = stripped[:1].upper() if stripped[:1].isascii() and not is_name else stripped[:1]  # and so does an ε
    return stripped and f"{first}{stripped[1:]}{'' if stripped[-1] in '.!?' else '.'}"


def with_names(words: str) -> Markup:
    """Words, escaped; what is in back quotes becomes code.

    >>> with_names("`a<b` is no name")
    Markup('<code>a&lt;b</code> is no name')
    """
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(words))))  # noqa: S704 (escaped before)


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("giveortake.server.console"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["safe_text"] = lambda words: printable(str(words))
    environment.filters["safe_lines"] = lambda words: "\n".join(map(printable, str(words).splitlines()))
    environment.filters["category"] = lambda value: "missing" if value is None else printable(str(value))
    environment.filters["sentence"] = lambda words: sentence(str(words))
    environment.filters["with_names"] = with_names
    return environment


@lru_cache(maxsize=16)
def static_file(name: str) -> bytes:
    """One of the files that come with the console."""
    return (files("giveortake.server.console") / "static" / name).read_bytes()


PRICES = {  # the ways to pay, and how each is written
    "share": "{} % of the budget",
    "margin": "a margin of ± {}",
    "epsilon": "ε = {}",
    "approximate": "ε = {}",
    "rho": "ρ = {}",
    "mu": "μ = {}",
}
NAMES = {
    "share": "a share",
    "margin": "a margin",
    "epsilon": "ε",
    "approximate": "ε and δ",
    "rho": "ρ",
    "mu": "μ",
}
_TERMS = {"approximate": "epsilon"}
_HUNDRED = 100


def terms_of(currency: str, spend: str, delta: str) -> dict[str, str]:
    """The spend as arguments of `q.answer`.

    >>> terms_of("share", "5", ""), terms_of("margin", "50", ""), terms_of("approximate", "0.1", "1e-8")
    ({'share': '0.05'}, {'margin': '50'}, {'epsilon': '0.1', 'delta': '1e-8'})
    """
    percentage = parsed_number(spend) if currency == "share" else None
    spend_terms = {_TERMS.get(currency, currency): spend if percentage is None else exactly(percentage / _HUNDRED)}
    return spend_terms | ({"delta": delta} if currency == "approximate" else {})


def currency_of(spend: Mapping[str, Any]) -> str:
    """The currency in which something was spent.

    >>> currency_of({"epsilon": "1/10", "delta": "1/1000000"}), currency_of({"mu": "1"})
    ('approximate', 'mu')
    """
    for name in ("rho", "mu"):
        if spend.get(name) is not None:
            return name
    return "epsilon" if spend.get("delta") is None else "approximate"


def parsed_number(spend: str) -> Fraction | None:
    """The number in a field of a form, or None; None also if it has too many digits, as 1e1000000 has.

    >>> parsed_number("1/10"), parsed_number("1e1000000"), parsed_number("much")
    (Fraction(1, 10), None, None)
    """
    try:
        return rational("spend", spend.removesuffix("%").strip())
    except InvalidParameter:
        return None


@final
@dataclass(frozen=True, slots=True)
class Balance:
    """What a standing says of a budget: its guarantee, what is left in its own currency, and the greatest ε."""

    budget: Guarantee | None
    remaining: Fraction | None
    affordable: Fraction | None
    free: Fraction | None = None  # the share that is left

    @classmethod
    def of_standing(cls, standing: Mapping[str, Any]) -> Balance:
        """Read a standing as the service describes it."""
        promise, exactly = standing.get("promise"), (standing.get("remaining") or {}).get("exactly")
        left = standing.get("affordable_exactly") or standing.get("affordable")
        return cls(
            None if promise is None else codec.read(Guarantee, dict(promise)),
            None if exactly is None else Fraction(exactly),
            None if left is None else Fraction(str(left)),
            None if standing.get("share") is None else max(Fraction(0), 1 - Fraction(str(standing["share"]))),
        )

    def greatest(self, currency: str) -> Fraction | None:
        """The greatest spend in a currency that still fits, a share in percent; None where no one number says it."""
        if currency == "share":
            return None if self.free is None else _HUNDRED * self.free
        return greatest_spend(self.budget, currency, remaining=self.remaining, affordable=self.affordable)

    def fitting(self, currency: str) -> str | None:
        """The greatest spend that still fits, for a form; None if it is unknown, or buys nothing.

        >>> nothing_more = Balance.of_standing({"affordable": 0.19999})
        >>> nothing_more.fitting("epsilon"), nothing_more.fitting("rho")
        ('0.199', None)
        """
        spend = rounded(self.greatest(currency))
        return None if spend is None else decimal(spend)


_OTHERS = ("confidence", "caps", "rows_per_person", "groups_per_person", "rows_per_group", "n", "aim")
_FIELDS = ("spend", "delta", *_OTHERS)
_NONCE = re.compile(r"[0-9a-f]{32}")
FIRST = {"share": "5", "margin": "50"}  # the first ways to pay, with what a form proposes
_SPENDS = {**FIRST, "rho": "0.005"}  # in other currencies 0.1
NONCE = text(64, 0)
CURRENCY: Schema = {"type": "string", "enum": list(PRICES)}
ASKED = object_of(
    "do",
    do={"type": "string", "enum": ["price", "exact", "ask", "fit"]},
    sql=text(20_000, 0),
    nonce=NONCE,
    quoted=NONCE,
    currency=CURRENCY,
    before=CURRENCY,
    **{name: text(40, 0) for name in _FIELDS},
)


@final
@dataclass(frozen=True, slots=True)
class Form:
    """A question as a page holds it.

    The key follows from a nonce that the window keeps and from what is asked: the same press sends the same key, after
    a reload and after a crash too, and another question never has the key of this one.
    """

    sql: str = ""
    currency: str = "epsilon"
    spend: str = ""
    delta: str = ""
    confidence: str = ""
    caps: str = ""
    rows_per_person: str = ""
    groups_per_person: str = ""
    rows_per_group: str = ""
    n: str = ""
    aim: str = ""
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    @classmethod
    def from_body(cls, body: Mapping[str, str]) -> Form:
        """The form that was sent, without blanks. A new currency gets a spend of about the same noise."""
        fields = {name: body.get(name, "").strip() for name in _FIELDS}
        currency = body.get("currency", "epsilon")
        before, spend = body.get("before", currency), fields["spend"] or proposed(currency)
        number = parsed_number(spend)
        if before != currency:
            known = number is not None and number > 0 and not {before, currency} & FIRST.keys()
            spend = decimal(converted(number, before, currency), 3) if known and number else proposed(currency)
        return cls(
            sql=body.get("sql", "").strip(), nonce=nonce_of(body), **{**fields, "spend": spend, "currency": currency}
        )

    @property
    def label(self) -> str:
        """The label of the field of the spend."""
        return hints.FIELDS[_TERMS.get(self.currency, self.currency)]

    @property
    def pattern(self) -> str:
        """How a spend is written, with braces in the place of its number."""
        return PRICES[self.currency]

    def priced(self, spend: str) -> str:
        """A spend in the currency of the form, as people write it."""
        return self.pattern.format(spend)

    @property
    def price(self) -> str:
        """What is spent, as people write it."""
        return self.priced(self.spend) + (f", δ = {self.delta}" if self.currency == "approximate" else "")

    @property
    def capped(self) -> bool:
        """Whether any cap is stated."""
        return any(getattr(self, name) for name in _OTHERS if name != "confidence")

    @property
    def others(self) -> dict[str, str]:
        """The terms that are stated beside the spend."""
        return {name: value for name in _OTHERS if (value := getattr(self, name))}

    @property
    def terms(self) -> dict[str, str]:
        """All terms that are stated."""
        return terms_of(self.currency, self.spend, self.delta) | self.others

    def quote_name(self, dataset: str, version: str, price: str) -> str:
        """The name of a quote of this question. A page that shows the quote sends it, to ask under this quote alone.

        `version` is the digest of the table's version; `price` says whether the answer would be free or charged.
        """
        sql = self.sql.replace("\r\n", "\n").replace("\r", "\n")  # browsers write ends of lines in two ways
        content = [dataset, version, price, sql, self.terms]
        return f"{price}-{version}-{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]}"

    def key(self, *scope: str) -> str:
        """The idempotency key of asking this question at a place."""
        return key_of(self.nonce, *scope, self.sql, self.terms)


def proposed(currency: str) -> str:
    """A spend to begin with."""
    return _SPENDS.get(currency, "0.1")


def version_digest(version: str) -> str:
    """The version of a table, short enough for the name of a quote."""
    return hashlib.sha256(version.encode()).hexdigest()[:16]


def key_of(nonce: str, *parts: object) -> str:
    """A key that is the same for the same window and the same request."""
    return f"console-{nonce}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}"


def nonce_of(body: Mapping[str, str]) -> str:
    """The nonce of the browser window, or a new one."""
    nonce = body.get("nonce", "")
    return nonce if _NONCE.fullmatch(nonce) else secrets.token_hex(16)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(words: str) -> str:
    r"""A text as a literal of Python and of R; invisible characters and line ends are escaped.

    >>> print(literal('SELECT "a"\nFROM é'), literal("\u202e"))
    "SELECT \"a\"\nFROM é" "\u202e"
    """
    return f'"{"".join(map(_letter, words))}"'


def _letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def snippets(dataset: str, sql: str, terms: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Code that asks a question, by language. Each question has a key of its own, so that a retry is charged once."""
    text = literal(sql)
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in terms.items())
    key = f"asked-{hashlib.sha256(json.dumps([dataset, sql, dict(terms)]).encode()).hexdigest()[:16]}"
    body = json.dumps({"sql": sql, "terms": dict(terms), "key": key}, ensure_ascii=True, indent=1)
    path = f"/v1/datasets/{quote(dataset, safe='')}/answer"
    python = (
        "import os\nimport giveortake as gt\n\n"
        'url, token = os.environ["GIVEORTAKE_URL"], os.environ["GIVEORTAKE_TOKEN"]\n'
        f"c = gt.connect(url, token=token, dataset={literal(dataset)})\n"
        f"q = c.sql({text})\nprint(q.quote({arguments}))  # free\nprint(q.answer({arguments}))\n"
    )
    r = (
        'library(httr2)\n\nanswer <- request(Sys.getenv("GIVEORTAKE_URL")) |>\n'
        f'  req_url_path("{path}") |>\n'
        '  req_auth_bearer_token(Sys.getenv("GIVEORTAKE_TOKEN")) |>\n'
        f"  req_body_json(list(sql = {text},\n"
        f"    terms = list({', '.join(f'{name} = {json.dumps(value)}' for name, value in terms.items())}),\n"
        f'    key = "{key}")) |>\n  req_perform() |> resp_body_json(simplifyVector = TRUE)\n'
        "as.data.frame(answer$columns)\n"
    )
    javascript = (
        "const { GIVEORTAKE_URL: url, GIVEORTAKE_TOKEN: token } = process.env;\n"
        f"const reply = await fetch(`${{url}}{path}`, {{\n"
        '  method: "POST",\n'
        '  headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },\n'
        f"  body: JSON.stringify({body.replace(chr(10), chr(10) + '  ')}),\n"
        "});\nconst answer = await reply.json();\n"
        "if (!reply.ok) throw new Error(answer.error.message);\nconsole.table(answer.columns);\n"
    )
    curl = (
        f'curl -s "$GIVEORTAKE_URL{path}" \\\n  -H "Authorization: Bearer $GIVEORTAKE_TOKEN" \\\n'
        f"  -H 'Content-Type: application/json' --data @- <<'JSON'\n{body}\nJSON\n"
    )
    return [("Python", python), ("R", r), ("JavaScript", javascript), ("curl", curl)]


_PLAIN = re.compile(r"[a-z_][a-z_0-9]*")
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "AS"),
    *("AND", "OR", "NOT", "BETWEEN", "CASE WHEN", "THEN", "ELSE", "END", "MEDIAN(", "LIMIT", "JOIN", "DATE_TRUNC("),
)
_ROWS = "10"
_NUMBERS = frozenset({"integer", "real", "decimal", "float"})


def examples(dataset: Mapping[str, Any]) -> list[str]:
    """Up to three questions: how many rows, how many in each group, and a mean."""
    table = dataset["tables"][0]
    name = quoted(table["name"])
    unit = dataset["unit"]
    grouped = next((c for c in table["columns"] if c.get("categories") and c["name"] != unit), None)
    number = next(
        (c for c in table["columns"] if c["kind"] in _NUMBERS and c.get("low") is not None and c["name"] != unit), None
    )
    queries = [f"SELECT COUNT(*) AS n FROM {name}"]  # noqa: S608 (texts for people, which our own parser reads)
    if grouped is not None:
        key = quoted(grouped["name"])
        queries.append(f"SELECT {key}, COUNT(*) AS n FROM {name} GROUP BY {key}")  # noqa: S608 (as above)
    if number is not None:
        column = quoted(number["name"])
        by = f"{quoted(grouped['name'])}, " if grouped is not None else ""
        end = f" GROUP BY {quoted(grouped['name'])}" if grouped is not None else ""
        queries.append(f"SELECT {by}COUNT(*) AS n, AVG({column}) AS mean FROM {name}{end}")  # noqa: S608 (as above)
    if len(queries) < 3 and unit is not None:
        queries.append(f"SELECT COUNT(DISTINCT {quoted(unit)}) AS people FROM {name}")  # noqa: S608 (as above)
    return queries


def cap_of_examples(dataset: Mapping[str, Any]) -> str:
    """The cap on a person's rows that examples state if nothing else bounds them; else empty."""
    return "" if dataset["unit"] is None or (dataset["caps"] or {}).get("rows_per_person") else _ROWS


def words(dataset: Mapping[str, Any]) -> list[str]:
    """The completions of an editor: names of tables and columns, and the keywords of SQL."""
    tables = [*dataset["tables"], *dataset["public"]]
    names = [quoted(table["name"]) for table in tables]
    columns = [quoted(column["name"]) for table in tables for column in table["columns"]]
    return list(dict.fromkeys([*columns, *names, *_KEYWORDS]))


def quoted(name: str) -> str:
    """A name as SQL writes it.

    >>> print(quoted("region"), quoted('a "b" c'))
    region "a ""b"" c"
    """
    return name if _PLAIN.fullmatch(name) else double_quoted(name)


_EXHAUSTED = 0.001  # an ε that is left and buys nothing
_RANKS = re.compile(r"([\d,.]+) ranks")
_WITH_BARS = 2  # estimates that get bars beside their numbers
_LONGEST = 40  # signs of a number in a form
_FIRST_ROWS = 30  # that are shown at once; the rest is unfolded
_BELOW_ZERO = "Noise can take a small count below zero; it is left as it is, so that sums stay right."


def answer_of(content: bytes) -> Answer:
    """Read the answer that a worker wrote. A large one takes a while: read it outside the event loop."""
    return Answer.from_json(content.decode())


def short(release: str) -> str:
    """A shortened id, which fits beside a title."""
    return printable(release if len(release) <= 12 else f"{release[:4]}·{release[-4:]}")


def answer_view(answer: Answer, measured: Measured, unsure: Sequence[str] = ()) -> dict[str, Any]:
    """Everything that a page shows of an answer, with the sentences about uncertain numbers."""
    certainty = decimal(100 * Fraction(answer.confidence))
    covers = covers_truncation(answer.columns)
    which = "of all rows" if covers else "without noise"
    lies = f"the number {which} lies" if answer.confidence.over == "cell" else f"all numbers {which} lie"
    bar = f"within the bar{'s' * (answer.confidence.over != 'cell')}"
    headline = [which_rows(answer), f"in {certainty} of 100 cases {lies} {bar}", *legend(answer.columns)]
    caps = str(answer.caps or "everything of a person counts")
    counted = "" if any(caps in note for note in answer.notes) else sentence(caps)
    covered = f"Intervals cover the noise{' and truncation by caps' if covers else ''}."
    cost = "" if answer.guarantee is None else sentence(str(answer.guarantee).partition(":")[0])
    release = answer.release_id or ""
    return {
        "id": release,
        "short": short(release),
        **table_view(answer.columns, figure_of=answer),
        "certainty": " ".join(sentence(line) for line in headline if line),
        "counts": printable(" ".join(part for part in (cost, covered, counted) if part)),
        "apart": told_without_key(answer.columns, _FIRST_ROWS),
        "notes": list(dict.fromkeys((*([_BELOW_ZERO] * _is_below_zero(answer, measured)), *answer.notes))),
        "promise": "" if answer.guarantee is None else str(answer.guarantee),
        "citations": list(answer.citations),
        "uncertain": list(unsure),
        "cite": _citation(answer),
    }


def _is_below_zero(answer: Answer, measured: Measured) -> bool:
    """Whether a count is negative."""
    counts = (column for column in answer.estimates if column.name in measured.counts)
    return any(isinstance(value, int | float) and value < 0 for column in counts for value in column)


def is_exhausted(left: float | None) -> bool:
    """Whether the ε that is left buys nothing."""
    return left is not None and left < _EXHAUSTED


def table_view(columns: Sequence[Column], *, figure_of: Answer | None = None) -> dict[str, Any]:
    """The rows of a table, each estimate with its margin, and bars beside the first of them."""
    estimates = [column for column in columns if column.has_interval]
    drawn = {column.name: bars(column) for column in estimates[:_WITH_BARS]}
    first = estimates[0].name if estimates else None
    cells = [_cells(column, drawn.get(column.name), first=column.name == first) for column in columns]
    rows, whole = len(columns[0]), "" if figure_of is None else ", a download has all"
    return {
        "figure": None if figure_of is None else figure(figure_of),
        "columns": [
            {
                "name": column.name,
                "estimate": column.has_interval,
                "number": column.kind in NUMBERS,
                "bars": drawn.get(column.name),
                "first": column.name == first,
            }
            for column in columns
        ],
        "rows": (lines := list(zip(*cells, strict=True)))[:_FIRST_ROWS],
        "rest": lines[_FIRST_ROWS:],
        "hidden": f"{max(0, rows - _FIRST_ROWS):,}",
        "more": f"The page has the first {MOST_ROWS} of {rows:,} rows{whole}." if rows > MOST_ROWS else "",
    }


def _cells(column: Column, drawn: Any, *, first: bool) -> list[dict[str, Any]]:
    cells = []
    for index, (value, *margins) in enumerate(shown_cells(column, MOST_ROWS)):
        bar = None if drawn is None else drawn.rows[index]
        cells.append(
            {
                "estimate": column.has_interval,
                "number": column.kind in NUMBERS,
                "value": value,
                "margin": "" if value == "–" else with_beyond(*margins),
                "bar": bar,
                "first": first,
            }
        )
    return cells


def _citation(answer: Answer) -> str:
    confidence = percent(Fraction(answer.confidence))
    rows = which_rows(answer) or ("" if answer.caps is None else str(answer.caps))
    caps = f" {sentence(rows)}" if rows else ""
    scope = " for all rows" if covers_truncation(answer.columns) else ""
    promise = "" if answer.guarantee is None else f" {sentence(str(answer.guarantee))}"
    return f"Release {answer.release_id}, made with giveortake; intervals of {confidence}{scope}.{promise}{caps}"


def quote_view(document: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """A quote as the workbench shows it."""
    quote = quote_of(document)
    margins = quote.margins
    return {
        "admitted": quote.admitted,
        "paid": quote.paid,
        "approval": quote.approval,
        "margins": [
            (name, margin_in_words(margin, span), shown_truncation(quote.truncation.get(name), span))
            for name, margin in margins.items()
            for span in [quote.spans.get(name)]
        ],
        "which_rows": quote.which_rows,
        "percent": decimal(100 * quote.confidence),
        "over": "each",
        "of_rows": any(str(margin).endswith(" / n") for margin in margins.values()),
        "counts": "" if quote.which_rows else quote.contributions or "",
        "keyed": "" if quote.keys == "none" else quote.keys,
        "worthless": quote.worthless or quote.doubt or "",
        "notes": list(quote.notes),
        "better": [_better(alternative, form) for alternative in quote.advice],
        "left_out": "" if quote.left_out is None else str(quote.left_out),
        "lines": [] if quote.left_out is None else list(map(str, quote.left_out.lines)),
        "leaves": _leaves(document, form),
    }


def _better(alternative: Alternative, form: Form) -> dict[str, Any]:
    """A better way to ask, in words, and the fields of the form that take it with one press, if a form can."""
    terms = dict(alternative.terms)
    if "delta" in terms:
        terms["approximate"] = terms.pop("epsilon")
    spend = next(((name, terms.pop(name)) for name in ("epsilon", "approximate", "mu") if name in terms), None)
    fields = {"sql": form.sql, "currency": form.currency, "spend": form.spend, "delta": form.delta, **form.others}
    if spend is not None:
        fields |= {"currency": spend[0], "spend": spend[1]}
    can_press = terms.keys() <= form.others.keys() | {"groups_per_person", "rows_per_group", "aim", "delta"}
    words = sentence(hints.rendered(str(alternative), "console") or "")
    return {"fields": fields | terms if can_press else {}, "words": words}


def is_paid(quote: Mapping[str, Any]) -> bool:
    """Whether the caller has an answer to this at this price already, so that it is free."""
    return bool(quote.get("paid"))


def _leaves(quote: Mapping[str, Any], form: Form) -> str:
    """What asking would leave of the budget; for a question that was answered, that it is free."""
    room = "" if quote.get("more") is None else f" · room for {more_like_it(quote['more'])}"
    if is_paid(quote):
        return f"it was answered at this price: asking for it again is free{room}"
    standing, again = quote["standing"], "the same question again is free"
    left, used = standing.get("affordable"), quote.get("used_after")
    if form.currency == "epsilon" and left is not None and _is_pure(standing):
        after = max(0.0, left - float(parsed_number(form.spend) or 0))
        return f"leaves ε = {amount(after)} of {whole(standing)}{room} · {again}"
    if used is None:
        return again
    return f"leaves about {rough_percent(max(0.0, 1 - float(Fraction(used))))} of {whole(standing)}{room} · {again}"


def standing_view(
    standing: Mapping[str, Any], quote: Mapping[str, Any] | None = None, price: str = ""
) -> dict[str, Any]:
    """A budget: what is spent, what was given to analysts, what a question would take, and what is left."""
    allotted, own = float(standing.get("given") or 0.0), float(standing.get("own") or 0.0)
    used = allotted + own
    after = used if quote is None else float(Fraction(quote["used_after"] or used))
    share = max(0.0, after - used)
    return {
        "promise": standing.get("budget"),
        "words": str((standing.get("remaining") or {}).get("words", "")),
        "left": left_of(standing),
        "whole": whole(standing),
        "measured": standing.get("meter") or "",
        "meter": meter(own, share, allotted),
        "spent": rough_percent(own),
        "given": rough_percent(allotted) if allotted else "",
        "asked": price if share else "",
        "free": rough_percent(max(0.0, 1 - used)),
        "after": rough_percent(max(0.0, 1 - after)) if share else "",
        "closed": bool(standing.get("closed")),
    }


def left_of(standing: Mapping[str, Any]) -> str:
    """What is left of a budget, in its own currency where one number says it; else the share in its meter."""
    exactly, symbol = (standing.get("remaining") or {}).get("exactly"), _symbol(standing)
    if exactly is not None and symbol in {"ρ", "μ"}:
        rest = float(Fraction(exactly))
        return amount(rest if symbol == "ρ" else math.sqrt(rest))  # μ² is what adds up
    left, used = standing.get("affordable"), standing.get("share")
    if _is_pure(standing) or used is None:
        return "–" if left is None else amount(left)
    return rough_percent(max(0.0, 1 - float(used)))


def _is_pure(standing: Mapping[str, Any]) -> bool:
    """Whether one ε says what is left: of a pure budget alone."""
    return _symbol(standing) == "ε" and "δ" not in whole(standing)


def _symbol(standing: Mapping[str, Any]) -> str:
    """The sign of a budget's currency: ε, ρ or μ."""
    return whole(standing)[:1]


def price(spend: Any) -> str:
    """A spend as it was stated, in signs.

    >>> price({"epsilon": "1/10", "delta": "1/1000000"}), price(None)
    ('ε = 0.1, δ = 0.000001', '–')
    """
    if not isinstance(spend, dict):
        return "–" if spend is None else str(spend)
    return stated(spend)


def exactly(number: Any) -> str:
    """An exact number as people write it: with few digits if they are exact, else as a fraction.

    >>> exactly("1/10"), exactly("1/3"), exactly("much")
    ('0.1', '1/3', 'much')
    """
    fraction = parsed_number(str(number))
    if fraction is None:
        return str(number)
    short = decimal(fraction)
    return short if parsed_number(short) == fraction or len(str(fraction)) > _LONGEST else str(fraction)


def whole(standing: Mapping[str, Any]) -> str:
    """A whole budget in short, as ε = 1."""
    return printable(str(standing.get("budget") or "").partition(":")[0].partition(" (")[0])


def amount(number: float) -> str:
    """A spend that is left: rounded down, so that it can be spent."""
    digits = 3 if number < 10 else 1
    return f"{math.floor(number * 10**digits + 1e-9) / 10**digits:g}"


def margin_in_words(margin: object, span: float | None = None) -> str:
    """The margin of a quote, in a few signs; ranks are whole numbers. That of a mean is told for a usual group.

    >>> margin_in_words("the values up to 1,206.3 ranks away"), margin_in_words(12.0), margin_in_words("375 / n")
    ('the values up to 1,207 ranks away', '± 12', '± 0.375 if a group has 1,000 rows')
    """
    if margin is None or margin == math.inf:
        return "by the data"
    if isinstance(margin, int | float):
        return f"± {brief(float(margin))}" if margin < 1000 else f"± {margin:,.0f}"
    part = margin_number(margin, span)
    if part is not None:
        return f"± {brief(part)} if a group has {USUAL_ROWS:,} rows"
    words = _RANKS.sub(lambda match: f"{math.ceil(float(match[1].replace(',', ''))):,} ranks", printable(str(margin)))
    return f"± {words}" if words[:1].isdigit() else words
