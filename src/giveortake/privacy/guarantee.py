"""Guarantees: whom they protect, how they combine, and what they mean to an attacker.

A guarantee compares the output distributions P and Q of a mechanism on two neighbouring tables, whichever is first: a
`Unit` says who is protected, `Neighbours` which two tables count. It is a value: nothing here draws, stores or reads
anything. Numbers that have to be rounded are rounded against the user: promises upwards, what attackers lack downwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, TypeAlias, TypedDict, final, get_args

from giveortake import codec
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.exact import (
    GREATEST,
    LEAST,
    Number,
    closed_probability,
    decimal,
    decimal_up,
    enclosure,
    exact_or_up,
    exp_up,
    log_down,
    open_probability,
    percent,
    percent_down,
    percent_up,
    precision,
    probability_down,
    probability_up,
    shorter_up,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.privacy.definitions import ApproxDP


Neighbours: TypeAlias = Literal["add-remove", "change-one"]
"""`add-remove`: one unit more or less (the symmetric distance); `change-one`: one unit's data replaced (Hamming)."""


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """What a promise protects: one row, or everything that shares one value of an identifying column.

    >>> print(ROW), print(unit("user_id"))
    one row
    one user_id
    (None, None)
    """

    column: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            _checked_column(self.column)

    def __str__(self) -> str:
        return f"one {self.column or 'row'}"

    def __repr__(self) -> str:
        return "ROW" if self.column is None else f"unit({self.column!r})"


ROW = Unit()
codec.scalar(Unit, lambda unit: unit.column, Unit, {"type": ["string", "null"]}, shape="text")


def unit(column: str) -> Unit:
    """Protect all rows that share one value of `column`, such as all rows of one person.

    >>> import giveortake as gt
    >>> gt.PureDP("1", unit=unit("person_id"))
    PureDP('1', unit=unit('person_id'))
    """
    return Unit(_checked_column(column))


def checked_unit(value: Unit) -> Unit:
    """Check that this is a unit, and return it."""
    if not isinstance(value, Unit):
        raise InvalidParameter("unit", value, "is not a unit", hint='write ROW or unit("user_id")')
    return value


def checked_neighbours(value: Neighbours) -> Neighbours:
    """Check that this is "add-remove" or "change-one", and return it."""
    if value not in get_args(Neighbours):
        raise InvalidParameter("neighbours", value, "is unknown", hint='write "add-remove" or "change-one"')
    return value


def difference(protected: Unit, neighbours: Neighbours) -> str:
    """What distinguishes two neighbours, in words.

    >>> difference(ROW, "add-remove"), difference(unit("user_id"), "change-one")
    ('adding or removing one row', 'changing one user_id')
    """
    return f"{'adding or removing' if neighbours == 'add-remove' else 'changing'} {protected}"


def _checked_column(column: object) -> str:
    if isinstance(column, str) and column.strip():
        return column
    raise InvalidParameter("unit", column, "is not the name of a column", hint='write ROW or unit("user_id")')


def factor(epsilon: Fraction) -> str:
    """e^ε as text, never understated; for a small ε it is 1 + ε + ε², rounded up.

    >>> factor(Fraction(1, 10)), factor(Fraction(1000)), factor(Fraction(1, 10**4))
    ('1.1052', 'e^1000', '1 + 0.000101')
    """
    if epsilon > 30:
        return f"e^{exact_or_up(epsilon)}"
    if 0 < epsilon < Fraction(1, 1000):
        return f"1 + {decimal_up(epsilon + epsilon**2, digits=3)}"
    return decimal_up(exp_up(epsilon), digits=5)


_SHARES = [Fraction(1, 2**power) for power in range(1, 8)]  # of `failure`, tried as δ when a curve bounds the loss


class Terms(TypedDict):
    """Whom a promise protects, as keyword arguments."""

    unit: Unit
    neighbours: Neighbours


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Guarantee(ABC):
    """A promise about one mechanism, or about everything that has been released so far.

    Theorem (post-processing, [PDP21, L1.6]): whatever is computed from the releases alone keeps the promise, so
    every method speaks about the releases and all their consequences. ProbabilisticDP is the one exception.

    >>> import giveortake as gt
    >>> isinstance(gt.PureDP("1"), Guarantee), gt.PureDP("1").delta_at("1")
    (True, Fraction(0, 1))
    """

    unit: Unit = ROW
    neighbours: Neighbours = "add-remove"
    against_bounded_computation: ClassVar[bool] = False

    # -- combining --------------------------------------------------------------------------------------------

    def compose(self, other: Guarantee) -> Guarantee:
        """The promise of both mechanisms together, the second chosen after seeing the first's output.

        Theorem (adaptive composition, [PDP21, L1.1], [Lal20, Prop. 8], [BS16], [DRS22], [Mir17]): each kind adds in
        its own currency. Different kinds are first restated in one of the two currencies by a cited theorem.
        """
        if not isinstance(other, Guarantee):
            raise InvalidParameter("other", other, "is not a promise", hint='write, for example, PureDP("0.1")')
        return combined([self, other], 2)

    @abstractmethod
    def repeat(self, times: int) -> Guarantee:
        """The promise of `times` mechanisms that each keep this one, chosen adaptively."""

    @abstractmethod
    def group(self, size: int) -> Guarantee:
        """What this promise says about `size` units at once."""

    def under(self, neighbours: Neighbours) -> Guarantee:
        """This promise for another notion of neighbour.

        Theorem: changing one unit is removing it and adding another, two steps of add-remove, so the change-one
        promise is the one for groups of two. The converse is false: change-one tables have the same size.
        """
        if checked_neighbours(neighbours) == self.neighbours:
            return self
        if neighbours == "add-remove":
            raise Unprovable(
                "a change-one promise says nothing about tables of different size",
                hint='state the promise under "add-remove" to begin with',
            )
        return replace(self.group(2), neighbours=neighbours)

    @abstractmethod
    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        """This promise in a form that `other.compose_largest` adds up, or None when no theorem leads there."""

    @abstractmethod
    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> Guarantee:
        """The composition of the `count` largest of `parts`, which are in this promise's currency."""

    # -- as (ε, δ) --------------------------------------------------------------------------------------------

    @abstractmethod
    def delta_at(self, epsilon: Number) -> Fraction:
        """The least δ, rounded up, for which this promise implies (ε, δ)-DP."""

    @abstractmethod
    def epsilon_at(self, delta: Number) -> Fraction:
        """The least ε, rounded up, for which this promise implies (ε, δ)-DP."""

    @abstractmethod
    def approximate(self, delta: Number) -> ApproxDP:
        """This promise as (ε, δ)-DP at the δ given."""

    @abstractmethod
    def statements(self) -> Sequence[tuple[Fraction, Fraction]]:
        """Pairs (ε, δ) that this promise implies and that together describe it well."""

    # -- what it means to an attacker -------------------------------------------------------------------------

    def tradeoff(self, fpr: Number) -> Fraction:
        """The least false-negative rate, rounded down, of any attacker whose false-positive rate is `fpr`.

        Theorem [WZ10], [KOV15]: under (ε, δ)-DP it is at least max(0, 1 − δ − e^ε·fpr, e^−ε·(1 − δ − fpr)). A
        promise that implies several pairs implies the greatest of these.
        """
        rate = closed_probability("fpr", fpr)
        if rate == 1:
            return Fraction(0)
        return max(_least_miss_rate(epsilon, delta, rate) for epsilon, delta in self.statements())

    def membership_inference(self, fpr: Number) -> Fraction:
        """The greatest true-positive rate, rounded up, of any attacker whose false-positive rate is `fpr`."""
        return 1 - self.tradeoff(fpr)

    def advantage(self) -> Fraction:
        """The greatest true-positive minus false-positive rate of any attacker: the total variation distance."""
        return self.delta_at(0)

    def posterior(self, prior: Number, *, failure: Number | None = None) -> tuple[Fraction, Fraction]:
        """Bounds on the belief, after seeing the output, in a hypothesis believed before with probability `prior`.

        The hypothesis is one of two neighbouring tables. Theorem [Lal20, eq. 5]: where the privacy loss is within
        ±ε, the belief stays between p / (p + e^ε(1 − p)) and p / (p + e^−ε(1 − p)).

        For PureDP this holds for every output. Other promises let some outputs reveal everything, so nothing
        better than (0, 1) holds for every output. With `failure`, each of the two bounds holds except on outputs
        of probability at most `failure`, whichever of the two tables is the real one; both at once hold except with
        at most twice that.
        """
        belief = closed_probability("prior", prior)
        loss = self.loss_bound(None if failure is None else open_probability("failure", failure))
        if belief in {0, 1}:
            return belief, belief
        if loss is None:
            return Fraction(0), Fraction(1)
        with precision():
            shrink = enclosure(-loss).exp()
            believed, doubted = enclosure(belief), enclosure(1 - belief)
            low = probability_down(believed * shrink / (believed * shrink + doubted))
            high = probability_up(believed / (believed + shrink * doubted))
        return min(low, belief), max(high, belief)

    def loss_bound(self, failure: Fraction | None) -> Fraction | None:
        """A number that the privacy loss ln(P/Q) exceeds with probability at most `failure`; None if there is none.

        Theorem: (ε, δ)-DP gives P[loss > t] ≤ δ / (1 − e^(ε−t)) for t > ε. Proof: let B be the outputs where the loss
        exceeds t, so Q[B] ≤ e^−t·P[B]; then P[B] ≤ e^ε·Q[B] + δ ≤ e^(ε−t)·P[B] + δ. Under Q the same outputs are
        rarer still. Hence t = ε − ln(1 − δ/failure) serves, for every pair (ε, δ) that the promise implies.
        """
        if failure is None:
            return None
        bounds: list[Fraction] = []
        for share in _SHARES:
            if failure * share >= LEAST:
                with suppress(Unprovable):
                    bounds.append(self.epsilon_at(failure * share) - log_down(1 - share))
        return min(bounds, default=None)

    # -- reading ----------------------------------------------------------------------------------------------

    def explain(self, *, prior: Number = Fraction(1, 2), group: int = 4) -> Explanation:
        """What this means to a person, in plain words: beliefs, guesses, groups, and what is not promised."""
        return explained(self, prior=prior, group=group)

    @property
    def terms(self) -> Terms:
        """The unit and the neighbours, as keyword arguments for another promise."""
        return {"unit": self.unit, "neighbours": self.neighbours}

    @property
    def step(self) -> str:
        """What distinguishes two neighbours, in words."""
        return difference(self.unit, self.neighbours)

    @abstractmethod
    def arguments(self) -> str:
        """The numbers of this promise as they are written in code."""

    def __repr__(self) -> str:
        arguments = [self.arguments()]
        if self.unit != ROW:
            arguments.append(f"unit={self.unit!r}")
        if self.neighbours != "add-remove":
            arguments.append(f"neighbours={self.neighbours!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_html_(self) -> str:
        return f"<div><code>{escape(repr(self))}</code><br>{escape(str(self))}</div>"


def combined(promises: Sequence[Guarantee], count: int) -> Guarantee:
    """The composition of the `count` largest promises, in a currency that all of them can be stated in."""
    first = promises[0]
    for other in promises[1:]:
        _agree(first, other)
    currency = first
    for promise in promises[1:]:
        if promise.in_currency_of(currency) is None:
            currency = promise if currency.in_currency_of(promise) is not None else _no_common(currency, promise)
    return currency.compose_largest([_restated(promise, currency) for promise in promises], count)


def store(promise: object, terms: tuple[Unit, Neighbours] | None = None, **values: object) -> None:
    """Write the fields of a frozen value once, in its constructor."""
    if terms is not None:
        values |= {"unit": checked_unit(terms[0]), "neighbours": checked_neighbours(terms[1])}
    for name, value in values.items():
        object.__setattr__(promise, name, value)


def raised(name: str, value: Fraction) -> Fraction:
    """A derived number as a parameter: tiny and very long ones are rounded up, huge ones are Unprovable."""
    if value > GREATEST:
        raise Unprovable(f"the {name} that follows is above 1e300, which promises nothing")
    return max(LEAST, shorter_up(value)) if value else value


def raised_delta(value: Fraction) -> Fraction:
    """A derived δ as a parameter; Unprovable from 1 on, where it allows everything."""
    delta = shorter_up(value)
    if delta >= 1:
        raise Unprovable("the δ that follows reaches 1, and then nothing is promised")
    return max(LEAST, delta)


def _agree(first: Guarantee, other: Guarantee) -> None:
    if first.unit != other.unit:
        raise MismatchedPromises(
            f"one promise protects {first.unit}, the other {other.unit}",
            hint="bound how many rows one unit holds, and state both promises for the same unit",
        )
    if first.neighbours != other.neighbours:
        raise MismatchedPromises(
            f"one promise counts neighbours as {first.neighbours}, the other as {other.neighbours}",
            hint='convert the add-remove one with .under("change-one")',
        )


def _restated(promise: Guarantee, currency: Guarantee) -> Guarantee:
    restated = promise.in_currency_of(currency)
    return _no_common(promise, currency) if restated is None else restated


def _no_common(first: Guarantee, other: Guarantee) -> NoReturn:
    raise Unprovable(
        f"no theorem adds {type(first).__name__} and {type(other).__name__} as they are",
        hint="state the one without a δ as (ε, δ) first, with .approximate(delta)",
    )


def _least_miss_rate(epsilon: Fraction, delta: Fraction, rate: Fraction) -> Fraction:
    if rate == 0:
        return 1 - delta
    with precision():
        steep = enclosure(1 - delta) - enclosure(rate) * enclosure(epsilon).exp()
        shallow = enclosure(1 - delta - rate) * enclosure(-epsilon).exp()
        return max(probability_down(steep), probability_down(shallow))


def sequential(promises: Iterable[Guarantee]) -> Guarantee:
    """The promise of all mechanisms together, each chosen after seeing the outputs of those before it.

    Theorem [PDP21, L1.2], [Lal20, Prop. 8]: as `Guarantee.compose`. Different kinds are restated in a common
    currency one by one and then added, so that the order of the list does not matter.

    >>> import giveortake as gt
    >>> sequential([gt.PureDP("1/2"), gt.ZCDP("1/8")])
    ZCDP('0.25')
    """
    listed = _listed(promises)
    return combined(listed, len(listed))


def parallel(promises: Iterable[Guarantee], *, touched: int = 1) -> Guarantee:
    """The promise of mechanisms that each see one part of the data, when a unit's rows lie in `touched` parts.

    Theorem (parallel composition, [Har25], [Fre18, Thm 14]): adding or removing a unit changes at most `touched`
    parts, so the `touched` largest promises are composed; for one part that is the largest of all. A changed row
    may leave one part and enter another, so change-one promises are refused rather than undercharged.

    >>> from giveortake.privacy import PureDP
    >>> parallel([PureDP("0.1"), PureDP("0.3"), PureDP("0.2")], touched=2)
    PureDP('0.5')
    """
    listed = _listed(promises)
    count = min(whole("touched", touched), len(listed))
    total = combined(listed, count)
    if total.neighbours == "change-one":
        raise Unprovable(
            "a changed row may leave one part and enter another, so change-one promises do not combine in parallel",
            hint='state the parts under "add-remove" and convert the result with .under("change-one")',
        )
    return total


def _listed(promises: Iterable[Guarantee]) -> list[Guarantee]:
    if not isinstance(promises, Iterable):
        raise InvalidParameter("promises", promises, "is not a list of promises", hint="put it into a list")
    listed = list(promises)
    if not listed:
        raise InvalidParameter(
            "promises", listed, "is empty", hint="nothing was released, so there is nothing to state"
        )
    for promise in listed:
        if not isinstance(promise, Guarantee):
            raise InvalidParameter("promises", promise, "is not a promise")
    return listed


FAILURE = Fraction(1, 1000)  # outputs that beliefs are not bounded for, where a promise allows some
PRIORS = tuple(Fraction(k, 100) for k in (1, 10, 50, 90))
RATES = tuple(Fraction(k, 100) for k in (1, 5, 10))
_SMALL = Fraction(1, 4)  # an advantage up to which outputs look almost the same
_HARDLY = Fraction("0.9866")  # tanh(5/2), the advantage that ε = 5 allows
_NOBODY = 1 - Fraction(1, 2 * 10**8)  # about tanh(20/2)


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """What a promise means, sentence by sentence. It prints as a few short paragraphs."""

    promise: str
    plainly: str
    belief: str
    guessing: str
    group: str
    limits: str

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The paragraphs that apply, in order."""
        paragraphs = (self.promise, self.plainly, self.belief, self.guessing, self.group, self.limits)
        return tuple(paragraph for paragraph in paragraphs if paragraph)

    def __str__(self) -> str:
        return "\n\n".join(self.paragraphs)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.paragraphs)


def explained(promise: Guarantee, *, prior: Number = Fraction(1, 2), group: int = 4) -> Explanation:
    """The explanation of one promise, for an attacker with that prior and for a group of that many units."""
    return Explanation(
        str(promise),
        _plainly(promise),
        _belief(promise, prior),
        _guessing(promise),
        _group(promise, group, prior),
        _LIMITS,
    )


def beliefs(promise: Guarantee, prior: Number) -> tuple[Fraction, Fraction, Fraction | None] | None:
    """Bounds of the belief after an output, and with which probability each may fail; None if there are none."""
    probability = closed_probability("prior", prior)
    low, high = promise.posterior(probability)
    if low > 0 or high < 1 or probability in {0, 1}:
        return low, high, None
    with suppress(Unprovable):
        low, high = promise.posterior(probability, failure=FAILURE)
        return (low, high, FAILURE) if low > 0 or high < 1 else None
    return None


def _plainly(promise: Guarantee) -> str:
    everybody = "everybody, whatever else they know and however long they compute"
    if promise.against_bounded_computation:
        everybody = "everybody whose computing power is bounded, whatever else they know"
    you = "you are in the data" if promise.neighbours == "add-remove" else "your entry is true"
    published = f"In plain words: whether or not {you} ({promise.step}), what is published"
    advantage = promise.advantage()
    if advantage > _HARDLY:
        protected = "nobody" if advantage > _NOBODY else "hardly anybody"
        return f"{published} may look entirely different. So large a promise protects {protected}."
    looks = "looks almost the same" if advantage <= _SMALL else "may look different, but no more than is said below"
    return f"{published} {looks}. This holds against {everybody}."


def _belief(promise: Guarantee, prior: Number) -> str:
    probability = closed_probability("prior", prior)
    bounds = beliefs(promise, probability)
    if bounds is None:
        return (
            "This promise sets no limit to an attacker's belief: whoever has seen what is published may be certain "
            "about you."
        )
    low, high, failure = bounds
    you = "you are in it" if promise.neighbours == "add-remove" else "your entry is this and not that"
    return (
        "Suppose somebody knows everybody else in the data, and thinks with "
        f"{percent(probability)} that {you}. "
        f"After seeing all that is published they think so with {percent_down(low)} at the least and "
        f"{percent_up(high)} at the most.{_but(failure)}"
    )


def _guessing(promise: Guarantee) -> str:
    first, *later = [(percent(rate), percent_up(promise.membership_inference(rate))) for rate in RATES]
    if promise.neighbours == "add-remove":
        opening = (
            f"Suppose somebody guesses who is in the data. If they wrongly think so of {first[0]} of all outsiders, "
            f"they rightly think so of you with {first[1]} at most"
        )
    else:
        opening = (
            f"Suppose somebody guesses whether your entry is this or that. If they say “this” with {first[0]} where it "
            f"is that, they say it with {first[1]} at most where it is true"
        )
    continuation = "; ".join(f"with {wrong} wrong, {right} at most" for wrong, right in later)
    return (
        f"{opening}; {continuation}. "
        f"The two rates differ by {percent_up(promise.advantage())} at most, whatever they are."
    )


def _group(promise: Guarantee, size: int, prior: Number) -> str:
    count = whole("group", size)
    if count == 1:
        return ""
    try:
        together = promise.group(count)
        bounds = beliefs(together, prior)
    except Unprovable:
        return f"For {count} people together this promises nothing useful."
    if bounds is None:
        return (
            f"For {count} people together this promise sets no limit to beliefs: what is promised to each of them is "
            "too little for so many."
        )
    low, high, failure = bounds
    members = "who are all in the data or all not" if promise.neighbours == "add-remove" else "whose entries all change"
    they = "they are" if promise.neighbours == "add-remove" else "their entries are these and not those"
    return (
        f"For {count} people {members}, such as a family, the belief that {they} stays between {percent_down(low)} and "
        f"{percent_up(high)}.{_but(failure)} The larger a group, the less it is protected: what large groups have in "
        "common is what statistics are for."
    )


def _but(failure: Fraction | None) -> str:
    return f" Each of the two bounds may fail, with probability {decimal(failure)} at most." if failure else ""


_LIMITS = (
    "What is not promised: that nothing is learned about you. If a study shows that smoking causes cancer, people will "
    "expect it of every smoker, in the study or not. And every further release about the same people adds to the bill."
)
