"""Quotes: what an answer would cost and what margins it would have, from the question alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake import exact
from giveortake.compile.postprocessing import caps_in_words, noise_in_words, of_units
from giveortake.compile.releases import without_data
from giveortake.plan.describe import undeclared_values, values_at_ends
from giveortake.privacy import events
from giveortake.session import quote_documents
from giveortake.session.best_caps import left_out_of
from giveortake.session.cap_errors import what_is_weighed
from giveortake.session.margins import column_margins, no_price, quoted_miss, share_of_budget, unfitting
from giveortake.session.pages import ASKED_BEFORE, DEPENDS, WAITS, of_a_thousand, quote_page
from giveortake.session.refusals import deltas_of, missing_for_keys
from giveortake.session.worthless import doubt_about_keys, rows_that_means_need, spans_of_means, worthless

if TYPE_CHECKING:
    from giveortake.answers.terms import LeftOut
    from giveortake.compile import Measurement, Terms
    from giveortake.ledger.rules.admission import Outlook
    from giveortake.privacy import Guarantee
    from giveortake.session.mechanism import InteractiveMechanism, Priced


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
        percent = exact.shown(100 * self.confidence)
        lines = [f"cost: {self.spend} for the whole answer" + ("" if self.cost is None else f" ({self.cost!r})")]
        if self.share is not None:
            lines.append(f"that is {exact.shown(100 * self.share, 3)} % of a fresh budget")
        used = "" if self.used_after is None else f"; {exact.shown(100 * self.used_after, 3)} % of it is used then"
        fits = ASKED_BEFORE if self.paid else f"the budget admits it{used}"
        lines.append(fits if self.admitted else unfitting(self.share, self.remarks))
        lines.extend([WAITS] * self.approval)
        for name, margin in self.margins.items():
            sure = "" if margin is None else f"  (with {percent} %)"
            lines.append(f"  {name} {_number(margin, self.spans.get(name))}{sure}")
        for name, text in self.noise.items():
            lines.append(f"  {name}: {text}")
        lines.append(f"keys: {self.keys}")
        if self.contributions is not None:
            lines.append(f"contributions: {self.contributions}")
        if self.left_out is not None:
            lines.append(f"left out: {self.left_out}")
            lines.extend(f"  {each}" for each in self.left_out.lines)
        if self.worthless is not None:
            lines.append(f"worthless: {self.worthless}")
        if self.doubt is not None:
            lines.append(f"doubt: {self.doubt}")
        lines.extend(f"note: {each}" for each in self.remarks)
        lines.extend(f"cheaper: {each}" for each in self.advice)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return quote_page(self)

    def to_json(self) -> str:
        """The quote as JSON, for programs: numbers where there are some, and otherwise the words."""
        return quote_documents.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Quote:
        """The quote that `to_json` wrote."""
        return cls(**quote_documents.from_json(text))


def quote_of(mechanism: InteractiveMechanism, asked: Priced, terms: Terms) -> Quote:
    """The quote of a priced question."""
    made, sure, n = asked.made, terms.confidence, terms.n
    outlook = mechanism.outlook(mechanism.charge([asked]))
    mechanism = replace(mechanism, paid_profiles=tuple(outlook.profiles))
    margins: dict[str, float | str | None] = dict(column_margins(made, sure, n))
    measures = without_data(made.measures, made.noises)
    miss = quoted_miss(made, sure)
    share = share_of_budget(mechanism.budget, made.event)
    for name, formula in made.formulas:
        if margins[name] is None and miss is not None:
            margins[name] = formula.margin_in_words(measures, miss)
    left_out = left_out_of(
        mechanism, asked.question, made, sure, replace(terms, spend=asked.spend, margin=None, share=None)
    )
    weighed = what_is_weighed(made) if terms.best_caps else None
    return Quote(
        cost=made.promise(mechanism.budget.unit),
        spend=str(asked.spend),
        share=share,
        margins=margins,
        noise=noise_in_words(made),
        contributions=caps_in_words(made),
        keys=_keys(made),
        remaining=outlook.standing.remaining,
        admitted=asked.refusal is None and (outlook.admitted or outlook.paid),
        confidence=sure,
        advice=tuple(_advice(made, is_best=terms.best_caps)),
        remarks=(
            *no_price(share, mechanism.budget, made.event),
            *(each for each in (asked.why, asked.refusal, weighed) if each is not None),
            *(told for told in [mechanism.part and mechanism.part.left_out] if told),
            *undeclared_values(asked.question),
            *values_at_ends(asked.question),
            *_remarks(made, margins, terms),
            *([] if outlook.admitted or outlook.paid else missing_for_keys(outlook.standing, deltas_of([made]))[:1]),
        ),
        left_out=left_out,
        worthless=worthless(mechanism, asked.question, made, terms, margins),
        doubt=doubt_about_keys(mechanism, asked.question, made, terms),
        used_after=_used_after(outlook),
        paid=asked.refusal is None and outlook.paid,
        approval=outlook.waits and not outlook.paid,
        spans=spans_of_means(made),
    )


def _used_after(outlook: Outlook) -> Fraction | None:
    """How much of the budget would be used after the answer; None if it is not admitted. A replay adds nothing."""
    if outlook.paid:
        standing = outlook.standing
        return None if standing.own is None else standing.given + standing.own
    return outlook.used_after if outlook.admitted else None


def _keys(made: Measurement) -> str:
    if made.selection is not None:
        shown = of_units(made, f"shown when {made.selection.told}")
        return f"found in the data; {shown} ({_price_of_keys(made.selection.event())})"
    size = made.keys.size
    return f"{size:,} known beforehand, all answered" if made.columns else "none"


def _price_of_keys(event: events.DiscoveredKeys | events.GaussianKeys) -> str:
    delta = f"δ = {exact.shown(event.delta)}"
    if isinstance(event, events.DiscoveredKeys):
        return f"ε = {exact.shown(event.epsilon)}, {delta}"
    return f"μ = {exact.shown(1 / event.noise_multiplier, 4)}, {delta}; it has no ε, and ends the sum of ε of a budget"


def _remarks(made: Measurement, margins: dict[str, float | str | None], terms: Terms) -> list[str]:
    """Remarks: what a joint release saves [PDP21, Ex. 1.4, 1.5], and whether noise would drown the answer (L1.7)."""
    remarks = []
    if any(measure.sections is not None for measure in made.measures):
        remarks.append("a narrower CLAMP gives quantiles finer bins, at the same cost")
    keys, times = made.stability.keys, _times_the_noise(made)
    if keys is not None and times > 1 and made.columns:
        told = exact.shown(times, 3)
        remarks.append(
            f"the {keys:,} groups are asked together; asked one by one, each would get {told} times the noise"
        )
    n = None if terms.n is None else exact.positive("n", terms.n)
    remarks.extend(
        f"`{name}` says nothing of a group of fewer than about {rows:,.0f} rows: its interval is as wide as its bounds "
        "there; more ε or narrower bounds help"
        for name, rows in rows_that_means_need(made, terms).items()
        if n is None or (n <= rows and len(made.formulas) > 1)
    )
    if n is not None:
        counts = [name for name, formula in made.formulas if formula.counts]
        remarks.extend(
            f"the margin of `{name}` is no smaller than the {terms.n} rows there are: ask for more ε, or for fewer "
            "columns"
            for name in counts
            if isinstance(margin := margins[name], int | float) and margin >= float(n)
        )
    return remarks


def _times_the_noise(made: Measurement) -> Fraction:
    """How many times larger a count's noise would be if each group were asked for alone, at its part of the spend."""
    together, keys = made.stability, made.stability.keys or 1
    if together.rows_in_group is None:  # only persons are counted
        return Fraction(keys, together.touched)
    alone = replace(together, groups=1, grouped=False, keys=None)
    (whole, root_whole), (part, root_part) = together.sensitivity(0, 1), alone.sensitivity(0, 1)
    return keys * part / whole if made.is_pure else exact.sqrt_up(Fraction(keys)) * root_part / root_whole


def _advice(made: Measurement, *, is_best: bool) -> list[str]:
    """Advice for narrower intervals; none about caps if these are the best ones."""
    advice = []
    if len(made.shares) > 1 and len(made.formulas) > 1:
        advice.append(f"{len(made.shares)} numbers share the spend; asking for fewer makes each surer")
    bounding = made.stability.bounding
    if not is_best and bounding is not None and bounding.groups * bounding.rows > 1:
        advice.append(
            f"one person counts up to {bounding.groups} × {bounding.rows} times; lower caps mean less noise "
            "(a profile finds them)"
        )
    if made.selection is not None:
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
