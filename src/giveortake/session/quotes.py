"""Quotes: what an answer would cost and what margins it would have, from the request alone.

- Quotes as JSON and back, without loss: a service writes them and a client reads them.
- Quotes of workloads: the cost, and the margins of each table, known without reading a row.
- Quotes of counters: the cost, and the margin after each period, known without reading a row.
- SELECT DISTINCT of declared keys: answered from the domains, without reading rows and without a charge.
"""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake import exact
from giveortake.answers import Answer
from giveortake.answers.render import FOR_NOISE
from giveortake.answers.terms import Confidence, LeftOut
from giveortake.arguments import TO_SAVE, told_by_name
from giveortake.compile.noisy_measures import without_data
from giveortake.compile.postprocessing import caps_in_words, known_columns, noise_in_words, of_units
from giveortake.engines import KeyColumn, Keys
from giveortake.errors import GiveOrTakeError, InvalidParameter, QueryRefused
from giveortake.exact import counted, percent
from giveortake.plan.describe import undeclared_values, values_at_ends
from giveortake.plan.domains import MOST_KEYS
from giveortake.privacy import events
from giveortake.privacy.documents import promise_from_json, promise_to_json
from giveortake.session.pricing import column_margins, no_price, quoted_miss, share_of_budget, unfitting
from giveortake.session.profiles.best_caps import error_unit_in_words, left_out_of
from giveortake.session.refusals import deltas_of, missing_for_keys
from giveortake.session.render import ASKED_BEFORE, DEPENDS, WAITS, of_a_thousand, quote_page
from giveortake.session.usefulness import doubt_about_keys, rows_that_means_need, spans_of_means, worthless

if TYPE_CHECKING:
    import os

    from giveortake.answers.terms import Caps
    from giveortake.compile import Measurement, Terms
    from giveortake.ledger.rules.budget_status import Admission
    from giveortake.plan import Question
    from giveortake.privacy import Guarantee
    from giveortake.session.mechanism import InteractiveMechanism, Priced


FORMAT = 1


def to_json(quote: Quote) -> str:
    """A quote as JSON, for programs: numbers are doubles, and `exact` holds the exact fractions."""
    confidence = quote.confidence
    document = {
        "format": FORMAT,
        "spend": quote.spend,
        "cost": repr(quote.cost),
        "promise": None if quote.cost is None else promise_to_json(quote.cost),
        "share": None if quote.share is None else float(quote.share),
        "margins": {name: _finite(margin) for name, margin in quote.margins.items()},
        "confidence": str(confidence),
        "confidence_over": confidence.over if isinstance(confidence, Confidence) else "cell",
        "noise": quote.noise,
        "keys": quote.keys,
        "contributions": quote.contributions,
        "left_out": None if quote.left_out is None else quote.left_out.to_json(),
        "worthless": quote.worthless,
        "doubt": quote.doubt,
        "used_after": None if quote.used_after is None else float(quote.used_after),
        "remaining": _remaining_to_json(quote.remaining),
        "admitted": quote.admitted,
        "paid": quote.paid,
        "approval": quote.approval,
        "spans": quote.spans,
        "notes": list(quote.remarks),
        "advice": list(quote.advice),
        "exact": {
            "share": None if quote.share is None else str(quote.share),
            "used_after": None if quote.used_after is None else str(quote.used_after),
            "unbounded": [name for name, margin in quote.margins.items() if margin is not _finite(margin)],
        },
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def from_json(text: str) -> dict[str, Any]:
    """The fields of the quote that `to_json` wrote. Any other text is refused with one message."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise InvalidParameter("text", "the document", "was made by a later version", hint="upgrade giveortake")
        return _fields(document)
    except GiveOrTakeError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError):
        raise InvalidParameter("text", "the document", "is not a quote in JSON, or a damaged one") from None


def _fields(document: dict[str, Any]) -> dict[str, Any]:
    unbounded, share, used = (document["exact"].get(name) for name in ("unbounded", "share", "used_after"))
    left_out, promise = document["left_out"], document["promise"]
    return {
        **{name: document[name] for name in ("spend", "noise", "keys", "contributions", "worthless", "admitted")},
        "cost": None if promise is None else promise_from_json(promise),
        "share": None if share is None else Fraction(share),
        "used_after": None if used is None else Fraction(used),
        "doubt": document.get("doubt"),
        "paid": bool(document.get("paid", False)),
        "approval": bool(document.get("approval", False)),
        "spans": {str(name): float(span) for name, span in document.get("spans", {}).items()},
        "margins": {name: math.inf if name in unbounded else margin for name, margin in document["margins"].items()},
        "confidence": Confidence(document["confidence"], document["confidence_over"]),
        "left_out": None if left_out is None else LeftOut.from_json(left_out),
        "remaining": _remaining_from_json(document["remaining"]),
        "remarks": tuple(map(str, document["notes"])),
        "advice": tuple(map(str, document["advice"])),
    }


def _finite(margin: float | str | None) -> float | str | None:
    return None if isinstance(margin, float) and not math.isfinite(margin) else margin


def _remaining_to_json(remaining: Any) -> Any:
    """What is left of the budget, for JSON: one number, or one for each account of a race."""
    if isinstance(remaining, dict):
        return {name: _remaining_to_json(amount) for name, amount in remaining.items()}
    return str(remaining) if isinstance(remaining, Fraction | int) else remaining


def _remaining_from_json(remaining: Any) -> Any:
    if isinstance(remaining, dict):
        return {name: _remaining_from_json(amount) for name, amount in remaining.items()}
    return Fraction(remaining) if isinstance(remaining, str) else remaining


@final
@dataclass(frozen=True, slots=True)
class Quote:
    """The price of an answer, its noise, the margin of each column, what would remain, and what would make it cheaper.

    `margins` has a number where no row decides it; for a mean, the text `m / n`: the margin is m over the number of
    rows. `share` is how much of a fresh budget it takes, `used_after` how much of this one would be used then;
    `admitted` says whether it would be answered now: the budget pays for it, or it was `paid` for before, by the same
    asker at this price, and is free. `approval` says that the custodian has to approve it first. `spans` says how wide
    the bounds of a mean are: no margin of it is wider. `left_out` is what the caps leave out of the table, as far as a
    profile tells, and what other caps would; `worthless` a sentence if the answer would say nothing, and `doubt` one if
    nothing is known that tells.
    """

    cost: Guarantee | None  # None if no row is read
    spend: str
    share: Fraction | None
    margins: dict[str, float | str | None]
    noise: dict[str, str]
    contributions: str | None
    keys: str
    remaining: Any
    admitted: bool
    confidence: Fraction
    advice: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    left_out: LeftOut | None = None
    worthless: str | None = None
    doubt: str | None = None
    used_after: Fraction | None = None
    paid: bool = False
    approval: bool = False
    spans: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"cost: {self.spend} for the whole answer" + ("" if self.cost is None else f" ({self.cost!r})")]
        if self.share is not None:
            lines.append(f"that is {exact.percent(self.share, 3)} of a fresh budget")
        used_text = "" if self.used_after is None else f"; {exact.percent(self.used_after, 3)} of it is used then"
        fits = ASKED_BEFORE if self.paid else f"the budget admits it{used_text}"
        lines.append(fits if self.admitted else unfitting(self.share, self.remarks))
        lines.extend([WAITS] * self.approval)
        for name, margin in self.margins.items():
            confidence_text = "" if margin is None else f"  (with {exact.percent(self.confidence)})"
            lines.append(f"  {name} {_number(margin, self.spans.get(name))}{confidence_text}")
        for name, text in self.noise.items():
            lines.append(f"  {name}: {text}")
        lines.append(f"keys: {self.keys}")
        if self.contributions is not None:
            lines.append(f"contributions: {self.contributions}")
        if self.left_out is not None:
            lines.append(f"left out: {self.left_out}")
            lines.extend(f"  {line}" for line in self.left_out.lines)
        if self.worthless is not None:
            lines.append(f"worthless: {self.worthless}")
        if self.doubt is not None:
            lines.append(f"doubt: {self.doubt}")
        lines.extend(f"note: {remark}" for remark in self.remarks)
        lines.extend(f"cheaper: {advice}" for advice in self.advice)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return quote_page(self)

    def to_json(self) -> str:
        """The quote as JSON, for programs: numbers where there are some, and otherwise the words."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Quote:
        """The quote that `to_json` wrote."""
        return cls(**from_json(text))


def quote_of(mechanism: InteractiveMechanism, priced: Priced, terms: Terms) -> Quote:
    """The quote of a priced question."""
    measurement, confidence, n = priced.made, terms.confidence, terms.n
    admission = mechanism.admission(mechanism.charge([priced]))
    mechanism = replace(mechanism, paid_profiles=tuple(admission.profiles))
    margins: dict[str, float | str | None] = dict(column_margins(measurement, confidence, n))
    measures = without_data(measurement.measures, measurement.noises)
    miss = quoted_miss(measurement, confidence)
    share = share_of_budget(mechanism.budget, measurement.event)
    for name, formula in measurement.formulas:
        if margins[name] is None and miss is not None:
            margins[name] = formula.margin_in_words(measures, miss)
    left_out = left_out_of(
        mechanism, priced.question, measurement, confidence, replace(terms, spend=priced.spend, margin=None, share=None)
    )
    weighed = error_unit_in_words(measurement) if terms.best_caps else None
    return Quote(
        cost=measurement.promise(mechanism.budget.unit),
        spend=str(priced.spend),
        share=share,
        margins=margins,
        noise=noise_in_words(measurement),
        contributions=caps_in_words(measurement),
        keys=_keys(measurement),
        remaining=admission.status.remaining,
        admitted=priced.refusal is None and (admission.admitted or admission.paid),
        confidence=confidence,
        advice=tuple(_advice(measurement, is_best=terms.best_caps)),
        remarks=(
            *no_price(share, mechanism.budget, measurement.event),
            *(remark for remark in (priced.why, priced.refusal, weighed) if remark is not None),
            *(note for note in [mechanism.part and mechanism.part.left_out] if note),
            *undeclared_values(priced.question),
            *values_at_ends(priced.question),
            *_remarks(measurement, margins, terms),
            *(
                []
                if admission.admitted or admission.paid
                else missing_for_keys(admission.status, deltas_of([measurement]))[:1]
            ),
        ),
        left_out=left_out,
        worthless=worthless(mechanism, priced.question, measurement, terms, margins),
        doubt=doubt_about_keys(mechanism, priced.question, measurement, terms),
        used_after=_used_after(admission),
        paid=priced.refusal is None and admission.paid,
        approval=admission.waits and not admission.paid,
        spans=spans_of_means(measurement),
    )


def _used_after(admission: Admission) -> Fraction | None:
    """How much of the budget would be used after the answer; None if it is not admitted. A replay adds nothing."""
    if admission.paid:
        standing = admission.status
        return None if standing.own is None else standing.given + standing.own
    return admission.used_after if admission.admitted else None


def _keys(measurement: Measurement) -> str:
    if measurement.selection is not None:
        threshold = of_units(measurement, f"shown when {measurement.selection.in_words}")
        return f"found in the data; {threshold} ({_price_of_keys(measurement.selection.event())})"
    size = measurement.keys.size
    return f"{size:,} known beforehand, all answered" if measurement.columns else "none"


def _price_of_keys(event: events.DiscoveredKeys | events.GaussianKeys) -> str:
    delta = f"δ = {exact.decimal(event.delta)}"
    if isinstance(event, events.DiscoveredKeys):
        return f"ε = {exact.decimal(event.epsilon)}, {delta}"
    return (
        f"μ = {exact.decimal(1 / event.noise_multiplier, 4)}, {delta}; it has no ε, and ends the sum of ε of a budget"
    )


def _remarks(measurement: Measurement, margins: dict[str, float | str | None], terms: Terms) -> list[str]:
    """Remarks: what a joint release saves [PDP21, Ex. 1.4, 1.5], and whether noise would drown the answer (L1.7)."""
    remarks = []
    if any(measure.sections is not None for measure in measurement.measures):
        remarks.append("a narrower CLAMP gives quantiles finer bins, at the same cost")
    keys, times = measurement.stability.keys, _times_the_noise(measurement)
    if keys is not None and times > 1 and measurement.columns:
        factor = exact.decimal(times, 3)
        remarks.append(
            f"the {keys:,} groups are asked together; asked one by one, each would get {factor} times the noise"
        )
    n = None if terms.n is None else exact.positive("n", terms.n)
    remarks.extend(
        f"`{name}` says nothing of a group of fewer than about {rows:,.0f} rows: its interval is as wide as its bounds "
        "there; more ε or narrower bounds help"
        for name, rows in rows_that_means_need(measurement, terms).items()
        if n is None or (n <= rows and len(measurement.formulas) > 1)
    )
    if n is not None:
        counts = [name for name, formula in measurement.formulas if formula.counts]
        remarks.extend(
            f"the margin of `{name}` is no smaller than the {terms.n} rows there are: ask for more ε, or for fewer "
            "columns"
            for name in counts
            if isinstance(margin := margins[name], int | float) and margin >= float(n)
        )
    return remarks


def _times_the_noise(measurement: Measurement) -> Fraction:
    """How many times larger a count's noise would be if each group were asked for alone, at its part of the spend."""
    together, keys = measurement.stability, measurement.stability.keys or 1
    if together.rows_in_group is None:  # only persons are counted
        return Fraction(keys, together.touched)
    alone = replace(together, groups=1, grouped=False, keys=None)
    (whole, root_whole), (part, root_part) = together.sensitivity(0, 1), alone.sensitivity(0, 1)
    return keys * part / whole if measurement.is_pure else exact.sqrt_up(Fraction(keys)) * root_part / root_whole


def _advice(measurement: Measurement, *, is_best: bool) -> list[str]:
    """Advice for narrower intervals; none about caps if these are the best ones."""
    advice = []
    if len(measurement.shares) > 1 and len(measurement.formulas) > 1:
        advice.append(f"{len(measurement.shares)} numbers share the spend; asking for fewer makes each surer")
    bounding = measurement.stability.bounding
    if not is_best and bounding is not None and bounding.groups * bounding.rows > 1:
        advice.append(
            f"one person counts up to {bounding.groups} × {bounding.rows} times; lower caps mean less noise "
            "(a profile finds them)"
        )
    if measurement.selection is not None:
        advice.append("declaring the domain of the grouping columns saves the search for keys and its δ")
    return advice


def _number(margin: float | str | None, span: float | None) -> str:
    if margin is None:
        return DEPENDS
    if isinstance(margin, str):
        margin = (
            f"{margin} (of a group of n rows; {of_a_thousand(margin, span)})" if margin.endswith(" / n") else margin
        )
        return f"± {margin}" if margin[:1].isdigit() else margin
    return f"± {margin:,.6g}"


_SHOWN_TABLES = 12  # tables in a text


@final
@dataclass(frozen=True, slots=True)
class WorkloadQuote:
    """The price of a workload; for each table the standard deviation and margin of a cell, also for an equal split.

    `lines` has one dictionary for each table; `admitted` says whether the budget would admit it now, `share` how much
    of a fresh budget it would use, `caps` how much of a person counts, and `left_out` what that leaves out. `advice` is
    what would tell more. `paid` says that it was answered for the same asker at this price, and is free; `approval`
    that the custodian has to approve it first.
    """

    spend: str
    cost: Guarantee
    strategy: str
    lines: tuple[dict[str, Any], ...]
    confidence: Confidence
    admitted: bool
    share: Fraction | None = None
    caps: Caps | None = None
    left_out: LeftOut | None = None
    remaining: Any = None
    remarks: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    paid: bool = False
    approval: bool = False

    @property
    def margins(self) -> dict[tuple[str, ...], float]:
        """The margin of a cell of every table of counts, by the columns of the table."""
        return {line["table"]: line["margin"] for line in self.lines if line["of"] == "n"}

    @property
    def rms(self) -> float:
        """The root mean square of the standard deviations of a cell, over all tables of counts."""
        return self._rms("sd")

    @property
    def equal_rms(self) -> float:
        """The `rms` if the promise were split equally among all tables."""
        return self._rms("equal_sd")

    def _rms(self, name: str) -> float:
        deviations = [line[name] for line in self.lines if line["of"] == "n"]
        return math.sqrt(sum(deviation**2 for deviation in deviations) / max(len(deviations), 1))

    def line(self, *columns: str) -> dict[str, Any]:
        """The line of the table with the given columns."""
        for line in self.lines:
            if set(line["table"]) == set(columns):
                return line
        known = "; ".join(", ".join(line["table"]) for line in self.lines[:5])
        raise InvalidParameter("columns", columns, "are not the columns of one of the tables", hint=f"such as {known}")

    def to_json(self) -> str:
        """The whole quote as JSON."""
        return json.dumps(
            {
                "spend": self.spend,
                "cost": str(self.cost),
                "strategy": self.strategy,
                "confidence": str(self.confidence),
                "admitted": self.admitted,
                "paid": self.paid,
                "approval": self.approval,
                "share": None if self.share is None else float(self.share),
                "contributions": None if self.caps is None else str(self.caps),
                "left_out": None if self.left_out is None else self.left_out.to_json(),
                "notes": list(self.remarks),
                "advice": list(self.advice),
                "tables": [{**line, "table": list(line["table"])} for line in self.lines],
            },
            ensure_ascii=False,
        )

    @told_by_name(elsewhere=TO_SAVE)
    def plot(self, title: str | os.PathLike[str] | None = None) -> Any:
        """An altair chart of the standard deviation of every table, beside that of an equal split; a path saves it."""
        from giveortake import plot  # noqa: PLC0415 (heavy)

        return plot.titled_or_saved(lambda words: plot.workloads(self.lines, title=words), title)

    def __str__(self) -> str:
        lines = [*self._facts(), f"strategy: {self.strategy}"]
        lines.extend(_line_text(line) for line in self.lines[:_SHOWN_TABLES])
        if len(self.lines) > _SHOWN_TABLES:
            lines.append(f"  … and {len(self.lines) - _SHOWN_TABLES:,} more in .lines")
        lines.append(f"rms of a cell: sd {self.rms:,.4g}, by an equal split {self.equal_rms:,.4g}")
        return "\n".join([*lines, *self._remarks()])

    __repr__ = __str__

    def _facts(self) -> list[str]:
        scope = "each" if self.confidence.over == "cell" else "all together"
        fits = ASKED_BEFORE if self.paid else "the budget admits it"
        fits = fits if self.admitted else unfitting(self.share, self.remarks)
        share = "" if self.share is None else f"; that is {percent(self.share, 3)} of a fresh budget"
        return [
            f"workload of {counted(len(self.lines), 'table')} at {self.spend}: {fits}{share}",
            *[WAITS] * self.approval,
            f"margins hold with {percent(self.confidence)} {scope}{'' if self.caps is None else FOR_NOISE}",
        ]

    def _remarks(self) -> list[str]:
        caps = [] if self.caps is None else [f"contributions: {self.caps}"]
        caps += [] if self.left_out is None else [f"left out: {self.left_out}"]
        return [
            *caps,
            *(f"note: {remark}" for remark in self.remarks),
            *(f"cheaper: {advice}" for advice in self.advice),
        ]

    def _repr_html_(self) -> str:
        titles = ("table", "cells", "sd", "margin", "sd by an equal split")
        rows = [
            (_name(line), f"{line['cells']:,}", *(f"{line[column]:,.4g}" for column in ("sd", "margin", "equal_sd")))
            for line in self.lines
        ]
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        before, after = (
            "".join(f"<p>{html.escape(line)}</p>" for line in lines) for lines in (self._facts(), self._remarks())
        )
        return f"{before}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}"


def _name(line: dict[str, Any]) -> str:
    prefix = "" if line["of"] == "n" else f"{line['of']} by "
    return prefix + (" × ".join(line["table"]) or "total")


def _line_text(line: dict[str, Any]) -> str:
    return (
        f"  {_name(line)}: {counted(line['cells'], 'cell')} ± {line['margin']:,.4g} "
        f"(sd {line['sd']:,.4g}, by an equal split {line['equal_sd']:,.4g})"
    )


_SHOWN_PERIODS = (1, 7, 30, 100, 365, 1000)


@final
@dataclass(frozen=True, slots=True)
class CounterQuote:
    """The one charge for all periods of a horizon, and the margin of the running count after each of them.

    `margins[0]` is that of the first period. `admitted` says whether the budget would admit the charge now, `share` how
    much of a fresh budget it would use; `alone` is the margin at the horizon if every period got its own noise.
    `approval` says that the custodian has to approve the charge first.
    """

    spend: str
    cost: Guarantee
    column: str
    first: Any
    last: Any
    margins: tuple[float, ...]
    alone: float
    confidence: Confidence
    admitted: bool
    is_charged: bool
    share: Fraction | None
    caps: Caps | None
    remarks: tuple[str, ...] = ()
    left_out: LeftOut | None = None
    approval: bool = False

    @property
    def horizon(self) -> int:
        """How many periods the charge is for."""
        return len(self.margins)

    @property
    def margin(self) -> float:
        """The margin after the last period, which is the widest."""
        return self.margins[-1]

    def to_json(self) -> str:
        """The whole quote as JSON."""
        return json.dumps(
            {
                "spend": self.spend,
                "cost": str(self.cost),
                "column": self.column,
                "first": str(self.first),
                "last": str(self.last),
                "horizon": self.horizon,
                "margins": list(self.margins),
                "confidence": str(self.confidence),
                "admitted": self.admitted,
                "charged": self.is_charged,
                "approval": self.approval,
                "share": None if self.share is None else float(self.share),
                "contributions": None if self.caps is None else str(self.caps),
                "left_out": None if self.left_out is None else self.left_out.to_json(),
            },
            ensure_ascii=False,
        )

    def __str__(self) -> str:
        scope = "each" if self.confidence.over == "cell" else "all together"
        periods = counted(self.horizon, "period")
        lines = [
            f"running count by {self.column}, {self.first} to {self.last}: one charge of {self.spend} for {periods}",
            self._fits(),
            *[WAITS] * self.approval,
        ]
        shown_periods = [period for period in _SHOWN_PERIODS if period < self.horizon] + [self.horizon]
        lines.extend(
            f"  after {counted(period, 'period')} ± {self.margins[period - 1]:,.4g}" for period in shown_periods
        )
        confidence_text = f"with {percent(self.confidence)} {scope}{'' if self.caps is None else FOR_NOISE}"
        lines.append(f"  ({confidence_text}; noise on every period alone would be ± {self.alone:,.4g})")
        if self.caps is not None:
            lines.append(f"contributions: the first {self.caps.rows_per_person} in time of the rows of a person")
        if self.left_out is not None:
            lines.append(f"left out: {self.left_out}")
        return "\n".join(lines)

    __repr__ = __str__

    def _fits(self) -> str:
        if self.is_charged:
            return "it was charged before; going on costs nothing"
        if not self.admitted:
            return "; ".join(
                [unfitting(self.share, self.remarks), *(remark.partition(": ")[2] for remark in self.remarks)]
            )
        return f"the budget admits it; that is {percent(self.share or Fraction(0), 3)} of a fresh budget"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


_NOTE = "these are the declared keys: no row was asked, and nothing is charged; which of them occur is not told"


def known_answer(mechanism: InteractiveMechanism, question: Question) -> Answer:
    """The declared keys as an answer. It uses no row, so it carries no promise and costs nothing."""
    mechanism.origin.require(question)
    return Answer(known_columns(question, _declared_keys(question)), notes=(_NOTE,))


def known_quote(mechanism: InteractiveMechanism, question: Question, confidence: Fraction) -> Quote:
    """The quote for such an answer: it costs nothing."""
    mechanism.origin.require(question)
    return Quote(
        cost=None,
        spend="nothing",
        share=Fraction(0),
        margins={},
        noise={},
        contributions=None,
        keys=f"{_declared_keys(question).size:,} known beforehand, all answered",
        remaining=mechanism.standing().remaining,
        admitted=True,
        confidence=confidence,
        advice=(),
        remarks=(_NOTE,),
    )


def _declared_keys(question: Question) -> Keys:
    schema = question.relation.schema
    keys = Keys(tuple(KeyColumn(name, key, key.domain(schema).keys()) for name, key in question.keys))
    if keys.size > MOST_KEYS:
        raise QueryRefused(f"the answer would have {keys.size:,} keys, more than {MOST_KEYS:,}", hint="fewer columns")
    return keys
