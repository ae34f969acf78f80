"""Spends, contribution bounds and sensitivities: what a question may cost, and how much one privacy unit can move it.

- Spends: in one of four currencies, as a margin to be reached, or as a share of the budget.
- The event that will be charged is priced again here, and compared with the spend.
- Caps: from those of the custodian and the analyst to the rows of each person that count in one question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake import exact
from giveortake.accounting.pricing import noise_multiplier, priced_within
from giveortake.advice import Advice
from giveortake.answers.terms import CAP_TERMS, TERMS, Caps, Confidence
from giveortake.engines.questions import Bounding
from giveortake.errors import InvalidParameter, QueryRefused, Unprovable, did_you_mean
from giveortake.exact import sqrt_up
from giveortake.mechanisms import Gaussian, Laplace
from giveortake.plan import Scan
from giveortake.plan.relations import Binary, Unary, require_few_matches
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, events, gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from giveortake.exact import Number
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.plan import Question, Relation
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.privacy.guarantee import Neighbours


_USUAL_CONFIDENCE = Confidence("0.95")


@final
@dataclass(frozen=True, slots=True)
class Spend:
    """The promise that a whole answer keeps. A pure ε is kept by Laplace noise, the others by Gaussian noise.

    `keys` is the δ for finding keys in the data; it adds to the promise, or is part of its δ.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu: Fraction | None = None
    keys: Fraction | None = None
    is_pure: bool = field(init=False, repr=False, compare=False)  # whether Laplace noise keeps it

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_pure", self.epsilon is not None and self.delta is None)

    def gaussian(self) -> Fraction:
        """The μ that may be spent on values, rounded down."""
        if self.mu is not None:
            return self.mu
        if self.rho is not None:
            return exact.sqrt_down(2 * self.rho)
        assert self.epsilon is not None and self.delta is not None  # noqa: S101, PT018 (is_pure was asked before)
        return gaussian_mu(self.epsilon, self.delta)

    def squared_mu(self) -> Fraction:
        """The μ² that may be spent on values; for a stated ρ it is exactly 2ρ."""
        return 2 * self.rho if self.rho is not None else self.gaussian() ** 2

    def noise(self, l1: Fraction, l2: Fraction, parts: Fraction) -> RoundedNoise:
        """The least noise that costs one part in `parts`, for integers with sensitivities `l1` and `l2`.

        ε adds up, and so does μ². No filter rounds a part up to more than its share, so that all parts together fit the
        spend even if that is all that is left.
        """
        if self.is_pure:
            assert self.epsilon is not None  # noqa: S101 (is_pure)
            return Laplace(l1 / priced_within(self.epsilon / parts))
        return Gaussian(l2 * noise_multiplier(self.squared_mu() / parts))

    def promise(self) -> Guarantee:
        """The promise of the spend, apart from `keys`."""
        if self.mu is not None:
            return GaussianDP(self.mu)
        if self.rho is not None:
            return ZCDP(self.rho)
        assert self.epsilon is not None  # noqa: S101 (one of the three is there)
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)

    def to_json(self) -> dict[str, str]:
        """What identifies the spend in the ledger."""
        parts = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "mu": self.mu, "keys": self.keys}
        return {name: str(number) for name, number in parts.items() if number is not None}

    def __str__(self) -> str:
        signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ", "keys": "δ for keys"}
        return ", ".join(
            f"{signs[name]} = {exact.decimal_up(Fraction(value))}" for name, value in self.to_json().items()
        )


def require_within(event: Event, spend: Spend) -> None:
    """Check that the price of an event, computed again from the event itself, does not exceed the spend."""
    charged = charges_of(event)
    keys, laplace, squares = charged.keys, charged.laplace, charged.squares
    if spend.is_pure:
        within = squares == 0 and keys + laplace <= (spend.epsilon or 0)
    elif spend.epsilon is not None and spend.delta is not None:
        left = ApproxDP(spend.epsilon, spend.delta - (spend.keys or 0))
        within = keys == laplace == 0 and squares <= gaussian_mu(left.epsilon, left.delta) ** 2
    elif spend.rho is not None:
        within = keys == laplace == 0 and squares / 2 <= spend.rho
    else:
        within = keys == laplace == 0 and squares <= (spend.mu or 0) ** 2
    if not within or charged.delta > (spend.keys or 0):
        raise Unprovable("the parts of the answer cost more than the whole; this is a defect, and nothing was charged")


@final
@dataclass(frozen=True, slots=True)
class Charges:
    """The totals of an event: ε of found keys, ε of Laplace noise, μ² of Gaussian noise, and δ of found keys."""

    keys: Fraction
    laplace: Fraction
    squares: Fraction
    delta: Fraction


def charges_of(event: Event) -> Charges:
    """The totals of an event, each in its own currency."""
    keys = laplace = squares = delta = Fraction(0)
    for single_event in _single_events(event):
        match single_event:
            case events.DiscoveredKeys():
                keys, delta = keys + single_event.epsilon, delta + single_event.delta
            case events.GaussianKeys():
                squares, delta = squares + 1 / single_event.noise_multiplier**2, delta + single_event.delta
            case events.Laplace():
                laplace += 1 / single_event.noise_multiplier
            case events.Gaussian():
                squares += 1 / single_event.noise_multiplier**2
            case _:
                raise Unprovable(f"an answer holds {type(single_event).__name__}, which nobody has priced here")
    return Charges(keys, laplace, squares, delta)


def _single_events(event: Event) -> Iterable[Event]:
    """Every single release in an event, as often as it happens."""
    match event:
        case events.Composed():
            for part in event.events:
                yield from _single_events(part)
        case events.Repeated():
            for _ in range(event.times):
                yield from _single_events(event.event)
        case _:
            yield event


def spend_of(
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    mu: Number | None,
    key_delta: Number | None,
) -> Spend | None:
    """The stated spend, or None if there is none."""
    stated_names = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(stated_names) > 1:
        raise InvalidParameter(
            stated_names[0],
            epsilon if epsilon is not None else rho,
            "is one of several spends: state only one",
            hint=Advice("{pass} {epsilon}, {rho} or {mu}"),
        )
    if delta is not None and epsilon is None:
        raise InvalidParameter(
            "delta", delta, "goes with epsilon", hint=Advice("{pass} {epsilon}, {delta}", epsilon="0.5", delta="1e-8")
        )
    if not stated_names:
        return None
    return Spend(
        None if epsilon is None else _epsilon(epsilon),
        None if delta is None else exact.open_probability("delta", delta),
        None if rho is None else exact.spendable("rho", rho),
        None if mu is None else exact.spendable("mu", mu),
        None if key_delta is None else exact.open_probability("key_delta", key_delta),
    )


def _epsilon(value: Number) -> Fraction:
    if exact.rational("epsilon", value) <= 0:
        hint = Advice("{pass} {epsilon}; the larger it is, the less noise", epsilon="0.1")
        raise InvalidParameter("epsilon", value, "is not positive", hint=hint)
    return exact.spendable("epsilon", value)


_ALL_TERMS = (*TERMS, *CAP_TERMS)


@final
@dataclass(frozen=True, slots=True)
class Terms:
    """The checked `AskTerms`: a spend, a margin or a share; the confidence; what is known beforehand; and caps.

    `caps` are those that the question states itself; `best_caps` says that a profile chooses the others.
    """

    spend: Spend | None
    margin: Number | None
    share: Fraction | None
    confidence: Confidence
    key_delta: Fraction | None
    n: Number | None
    caps: Caps = field(default_factory=Caps)
    best_caps: bool = False

    @classmethod
    def of(
        cls, terms: Mapping[str, Any], *, confidence: Confidence = _USUAL_CONFIDENCE, without: Collection[str] = ()
    ) -> Terms:
        """Check the stated terms; `without` are names that are not allowed here."""
        taken = [name for name in _ALL_TERMS if name not in without]
        stated_terms = {name: value for name, value in terms.items() if value is not None or name not in _ALL_TERMS}
        for name, value in stated_terms.items():
            if name not in taken:
                raise _unknown(name, value, taken)
        spend = spend_of(*(stated_terms.get(name) for name in ("epsilon", "delta", "rho", "mu", "key_delta")))
        decided = [name for name in ("margin", "share") if name in stated_terms]
        if decided and (spend is not None or len(decided) > 1):
            raise InvalidParameter(
                decided[-1],
                stated_terms[decided[-1]],
                "decides the spend, and another one was stated: state only one",
                hint=Advice("{epsilon}", "{margin}", "{share}", epsilon="0.1", margin=50, share="1/10"),
            )
        share = exact.positive("share", stated_terms["share"]) if "share" in stated_terms else None
        if share is not None and share > 1:
            raise InvalidParameter(
                "share", stated_terms["share"], "is more than the whole budget", hint=Advice("{share}", share="1/10")
            )
        sure = Confidence(
            stated_terms.get("confidence", confidence), stated_terms.get("confidence_over", confidence.over)
        )
        keys = exact.open_probability("key_delta", stated_terms["key_delta"]) if "key_delta" in stated_terms else None
        if stated_terms.get("caps", "best") != "best":
            raise InvalidParameter(
                "caps",
                stated_terms["caps"],
                "is unknown",
                hint=Advice("{caps}", "{rows_per_person}", caps="best", rows_per_person=4),
            )
        caps = Caps.of(*(stated_terms.get(name) for name in ("groups_per_person", "rows_per_group", "rows_per_person")))
        return cls(
            spend, stated_terms.get("margin"), share, sure, keys, stated_terms.get("n"), caps, "caps" in stated_terms
        )


def _unknown(name: str, value: object, taken: Collection[str]) -> InvalidParameter:
    problem = "has no effect here" if name in _ALL_TERMS else "is not a term of a question"
    hint = "" if name in _ALL_TERMS else did_you_mean(name, taken)
    return InvalidParameter(name, value, problem, hint=f"{hint}the terms are {', '.join(taken)}")


CapsRole: TypeAlias = Literal["default", "maximum"]

_USUAL = 4  # groups, and rows in each, in names where no cap was stated


@final
@dataclass(frozen=True, slots=True)
class CustodianCaps:
    """The custodian's caps: defaults for questions that state none, or maxima for all questions.

    Guarantee: whatever caps a question has, its noise follows from them. So these are a matter of taste, or of how
    much noise one question may get for its price, and not of privacy.
    """

    caps: Caps
    tables: tuple[str, ...]
    are_maxima: bool = False
    of_persons: bool = True  # if single rows are protected, there is nothing to cap

    @classmethod
    def of(cls, caps: Caps, tables: Collection[str], role: object, *, of_persons: bool = True) -> CustodianCaps:
        """The custodian's caps, checked against the tables."""
        if role not in {"default", "maximum"}:
            raise InvalidParameter("caps", role, "is unknown", hint='caps="default", or caps="maximum"')
        if role == "maximum" and not caps.stated:
            raise InvalidParameter(
                "caps",
                role,
                "makes caps maxima, but no cap is stated",
                hint=Advice("{rows_per_person}", rows_per_person=4),
            )
        return cls(_in_tables(caps, tables), tuple(tables), role == "maximum", of_persons)

    def __str__(self) -> str:
        if not self.caps.stated:
            return "no caps: each question says how much of a person counts"
        return f"{self.caps}{'; no question may say more' if self.are_maxima else ', unless a question says otherwise'}"

    def of_question(self, stated_caps: Caps) -> Caps:
        """The caps of a question: those that it states, and the custodian's where it states none.

        A table with a custodian's cap of one row per person keeps it, unless the question names the table.
        """
        if stated_caps.stated and not self.of_persons:
            raise nothing_to_cap()
        stated_caps = _in_tables(stated_caps, self.tables)
        rows = stated_caps.rows_per_person
        custodian_rows = self.caps.rows_per_person
        if rows is None:
            rows = custodian_rows
        elif isinstance(rows, Mapping) or isinstance(custodian_rows, Mapping):
            rows = {table: most for table in self.tables if (most := self._rows_in(table, stated_caps)) is not None}
        groups = stated_caps.groups_per_person or self.caps.groups_per_person
        caps = Caps(groups, stated_caps.rows_per_group or self.caps.rows_per_group, rows)
        if self.are_maxima:
            self._require_within(caps)
        return caps

    def _rows_in(self, table: str, stated_caps: Caps) -> int | None:
        custodian_rows, stated_rows = self.caps.rows_in(table), stated_caps.rows_in(table)
        if stated_rows is None:
            return custodian_rows
        return 1 if custodian_rows == 1 and not isinstance(stated_caps.rows_per_person, Mapping) else stated_rows

    def _require_within(self, caps: Caps) -> None:
        limits: dict[str, tuple[int | None, int | None]] = {
            "groups_per_person": (caps.groups_per_person, self.caps.groups_per_person),
            "rows_per_group": (caps.rows_per_group, self.caps.rows_per_group),
        }
        limits |= {
            f"rows_per_person in {table}": (caps.rows_in(table), self.caps.rows_in(table)) for table in self.tables
        }
        for name, (wanted, most) in limits.items():
            if wanted is not None and most is not None and wanted > most:
                maximum: dict[str, Any] = {name.partition(" ")[0]: most}
                raise QueryRefused(
                    f"{name} = {wanted:,} is above the custodian's maximum of {most:,}",
                    hint=Advice(*(f"{{{term}}}, or less" for term in maximum), **maximum),
                )


def nothing_to_cap() -> InvalidParameter:
    """The refusal of caps where no person is protected."""
    return InvalidParameter("unit", "row", "leaves nothing to cap: every row is protected by itself")


def _in_tables(caps: Caps, tables: Collection[str]) -> Caps:
    """The caps with the exact names of the tables, which may be stated in any case of letters."""
    if not isinstance(caps.rows_per_person, Mapping):
        return caps
    known = {table.casefold(): table for table in tables}
    for name in caps.rows_per_person:
        if name.casefold() not in known:
            raise InvalidParameter(
                "rows_per_person",
                name,
                "is not a private table",
                hint=f"{did_you_mean(name, tables)}the tables are {', '.join(tables)}",
            )
    return replace(caps, rows_per_person={known[name.casefold()]: most for name, most in caps.rows_per_person.items()})


def capped(question: Question, caps: Caps) -> Question:
    """The question with tables in which each person has at most as many rows as the caps say.

    Scans of a whole table stay as they are. What follows from the caps, such as the bounds of a person's sums, is
    derived again, and a join that would multiply a person's rows too often is refused.
    """
    capped_relations: dict[int, Relation] = {}

    def cap(relation: Relation) -> Relation:
        if id(relation) not in capped_relations:
            capped_relations[id(relation)] = _with_sources(relation, cap, caps)
        return capped_relations[id(relation)]

    relation = cap(question.relation)
    require_few_matches(relation)
    return question if relation is question.relation else replace(question, relation=relation)


def _with_sources(relation: Relation, cap: Callable[[Relation], Relation], caps: Caps) -> Relation:
    """The relation with capped sources; the same object if nothing changes."""
    if isinstance(relation, Scan):
        most = (
            relation.most_rows_of_person
            if relation.is_whole or relation.person is None
            else caps.rows_in(relation.table.name)
        )
        return relation if most == relation.most_rows_of_person else replace(relation, most_rows_of_person=most)
    sources = tuple(map(cap, relation.sources))
    if all(one is other for one, other in zip(sources, relation.sources, strict=True)):
        return relation
    if isinstance(relation, Unary):
        return replace(relation, source=sources[0])
    assert isinstance(relation, Binary)  # noqa: S101 (there are no others)
    return replace(relation, left=sources[0], right=sources[1])


_WAYS = "{cap}, or {caps_in_groups}"


def unbounded(what: str, ways: tuple[str, ...] = (_WAYS,)) -> QueryRefused:
    """The refusal of a question in which nothing bounds what one person contributes, with a hint how to bound it.

    `ways` are hints for stating the cap in the question itself.
    """
    everywhere = "{for_all} can say it for all questions, and {profiles} helps to choose"
    return QueryRefused(
        f"one person may have any number of {what}, and no noise could hide them all: say how many count",
        hint=Advice(*ways, everywhere, between="; "),
    )


def named(caps: Caps, stability: Stability, question: Question) -> list[Any]:
    """The caps as part of a question's name in the ledger.

    This is a stored format: `[groups, rows, total]`, with four groups of four rows if nothing was stated, and one cap
    on all rows of a person for every table; caps in groups that lower a bound on all rows are marked `"each"`.
    """
    groups, rows = caps.groups_per_person, caps.rows_per_group
    total: Any = caps.rows_per_person
    if isinstance(total, Mapping):
        used = {scan.most_rows_of_person for scan in question.relation.scans() if not scan.is_whole}
        total = used.pop() if len(used) == 1 else sorted(total.items())
    if not stability.is_cut:
        return [_USUAL, _USUAL, total] if total is not None else [groups or _USUAL, rows or _USUAL, None]
    if stability.rows is not None:
        return [groups, rows, total, "each"]
    if groups is None and stability.touched <= _USUAL:
        groups = _USUAL
    return [groups, stability.rows_in_group or _USUAL, total]


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """How many rows and groups of one unit reach the aggregates.

    At most `rows`, by the structure of the question and the caps on its tables; in at most `groups` groups, with at
    most `rows_in_group` in each. None means that nothing bounds the number: whatever needs the bound is refused.
    `is_cut` says that the engine has to enforce the last two, because nothing else does.
    """

    rows: int | None
    groups: int | None
    rows_in_group: int | None
    is_cut: bool
    neighbours: Neighbours
    grouped: bool
    keys: int | None

    @classmethod
    def of(cls, question: Question, caps: Caps, neighbours: Neighbours, keys: int | None) -> Stability:
        """The stability from the structure of the question and the caps on its tables; further caps only lower it."""
        relation = question.relation
        grouped = bool(question.keys)
        most = relation.most_rows
        possible = _least(most, None if keys is None else max(keys, 1)) if grouped else 1
        groups, rows = possible, most
        if relation.person is not None:
            groups = _least(possible, caps.groups_per_person) if grouped else 1
            rows = 1 if question.has_one_row_in_group else _least(most, caps.rows_per_group)
        is_cut = most is None or groups != possible or rows != most
        return cls(most, groups, rows, is_cut, neighbours, grouped, keys)

    @property
    def bounding(self) -> Bounding | None:
        """The bounds that an engine has to enforce; one row per group is enough if only persons are counted."""
        return Bounding(self.touched, self.rows_in_group or 1) if self.is_cut else None

    def binding_caps(self, caps: Caps, relation: Relation, *, rows_count: bool) -> Caps | None:
        """The caps that affect an answer; None if everything counts. `rows_count` is False if only persons count."""
        read = {scan.table.name: scan.most_rows_of_person for scan in relation.scans()}
        rows = {name: most for name, most in read.items() if most is not None}
        total = rows if len(read) > 1 and rows else next(iter(rows.values()), None)
        groups = rows_in_group = None
        if self.is_cut and caps.rows_per_group and rows_count:
            groups, rows_in_group = self.groups if self.grouped else None, self.rows_in_group
        elif self.is_cut and self.grouped and (self.keys is None or self.touched < self.keys):
            groups = self.groups
        binding = Caps(groups, rows_in_group, total)
        return binding if binding.stated else None

    @property
    def scales(self) -> bool:
        """Whether only a part of a contribution may count."""
        return self.is_cut

    @property
    def touched(self) -> int:
        """How many groups one unit can be in."""
        if self.groups is None:
            raise unbounded("groups")
        return self.groups

    @property
    def most_in_group(self) -> int:
        """How many rows of a unit can count in one group."""
        if self.rows_in_group is None:
            raise unbounded("rows")
        return self.rows_in_group

    def sensitivity(self, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of sums of values between `least` and `most` steps.

        Guarantee ([Fre18], global sensitivity of count and bounded sum; [Har25], histograms under both relations):
        with X = max(|least|, |most|), a unit of at most s rows moves sums by at most s·X when it is added or removed;
        for bounded persons see `giveortake.engines.questions`. When a unit is changed, it is removed and another added:
        twice that. One row that is changed moves X in two groups, so 2X in L1 and √2·X in L2, or stays in its group
        and moves most − least there; that alone if there is but one group. Any row may be left out or have no value,
        whatever the schema says (a missing value is found where none was declared, 1/x is missing where x is zero
        against its bounds), so that zero is always among the values.
        """
        reach = max(abs(least), abs(most))
        spread = max(most, 0) - min(least, 0)
        changed = self.neighbours == "change-one"
        alone = not self.grouped and not binned
        if self.is_cut:
            if changed and alone:
                return Fraction(self.most_in_group * spread), Fraction(self.most_in_group * spread)
            twice = 2 if changed else 1
            l1, l2 = self._counted()
            return twice * l1 * reach, twice * l2 * reach
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        if not changed:
            return Fraction(self.rows * reach), Fraction(self.rows * reach)
        if self.rows > 1:
            return Fraction(2 * self.rows * reach), Fraction(2 * self.rows * reach)
        if alone:
            return Fraction(spread), Fraction(spread)
        return Fraction(2 * reach), max(reach * sqrt_up(Fraction(2)), Fraction(spread))

    def _counted(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 norm of the numbers of rows of a unit that count in each group, if the engine cuts the rest.

        Guarantee: with R rows in each of G groups and n = min(s, G·R) of the s that a unit has, n in L1 and the root of
        ⌊n/R⌋·R² + (n mod R)² in L2. Proof: a unit with c rows in each of m groups counts t = min(c, R) there, times
        min(1, G/m) (see `giveortake.engines.questions`), and the t add up to at most min(s, m·R). If m ≤ G, they add up
        to at most n, and squares of numbers up to R that add up to n are greatest when as many of them as possible are
        R. If m > G, each is multiplied by G/m: what was at most min(s, m·R) is at most n then; of the squares, if
        s ≤ G·R they were within the bound before, and else their sum is at most R·m·R·(G/m)² < G·R². ∎
        """
        groups, rows = self.touched, self.most_in_group
        most = groups * rows if self.rows is None else min(self.rows, groups * rows)
        full, rest = divmod(most, rows)
        l2 = rows * sqrt_up(Fraction(full)) if rest == 0 else sqrt_up(Fraction(full * rows**2 + rest**2))
        return Fraction(most), l2

    def of_persons(self, fineness: int) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of persons: a person counts one in each of their groups."""
        touched = self.touched if self.grouped else 1
        twice = 2 if self.neighbours == "change-one" and self.grouped else 1
        return Fraction(twice * touched * fineness), twice * fineness * sqrt_up(Fraction(touched))

    def of_distinct(self) -> tuple[Fraction, Fraction]:
        """The L1 and L2 sensitivity of numbers of distinct values: one for each value of a unit in a group."""
        twice = 2 if self.neighbours == "change-one" else 1
        if self.is_cut:
            l1, l2 = self._counted()
            return twice * l1, twice * l2
        assert self.rows is not None  # noqa: S101 (what is not cut is bounded)
        return Fraction(twice * self.rows), Fraction(twice * self.rows)


def _least(one: int | None, other: int | None) -> int | None:
    """The lesser of two bounds; None stands for no bound."""
    known = [bound for bound in (one, other) if bound is not None]
    return min(known) if known else None
