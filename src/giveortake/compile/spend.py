"""Spends: what the answer to a question may cost, and the terms in which an analyst says so.

A spend is in one of four currencies. The event that will be charged is priced again here, and compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final, get_args

from giveortake import exact
from giveortake.accounting.pricing import noise_multiplier, priced_within
from giveortake.answers.terms import CAP_TERMS, TERMS, Aim, Caps, Confidence
from giveortake.errors import InvalidParameter, Unprovable, did_you_mean
from giveortake.mechanisms import Gaussian, Laplace
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, events, gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from giveortake.exact import Number
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


_USUAL_CONFIDENCE = Confidence("0.95")


@final
@dataclass(frozen=True, slots=True)
class Spend:
    """The promise that a whole answer keeps. A pure ε is kept by Laplace noise, the others by Gaussian noise.

    `keys` is the δ for finding keys in the data; it adds to the promise, or is part of its δ. `aim` says whether a
    search is to find surer numbers or more groups.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu: Fraction | None = None
    keys: Fraction | None = None
    aim: Aim = "numbers"
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
        aim = {} if self.aim == "numbers" else {"aim": self.aim}
        return {name: str(number) for name, number in parts.items() if number is not None} | aim

    def __str__(self) -> str:
        signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ", "keys": "δ for keys"}
        amounts = {signs[name]: value for name, value in self.to_json().items() if name in signs}
        return ", ".join(f"{sign} = {exact.decimal_up(Fraction(value))}" for sign, value in amounts.items())


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
    *,
    aim: Aim = "numbers",
) -> Spend | None:
    """The stated spend, or None if there is none."""
    stated_names = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(stated_names) > 1:
        raise InvalidParameter(
            stated_names[0],
            epsilon if epsilon is not None else rho,
            "is one of several spends: state only one",
            hint="epsilon=, rho= or mu=",
        )
    if delta is not None and epsilon is None:
        raise InvalidParameter("delta", delta, "goes with epsilon", hint='epsilon="0.5" with delta="1e-8"')
    if not stated_names:
        return None
    return Spend(
        None if epsilon is None else _epsilon(epsilon),
        None if delta is None else exact.open_probability("delta", delta),
        None if rho is None else exact.spendable("rho", rho),
        None if mu is None else exact.spendable("mu", mu),
        None if key_delta is None else exact.open_probability("key_delta", key_delta),
        aim,
    )


def _share(stated: Number) -> Fraction:
    """A share of a budget, such as "1/20" or "5 %"."""
    text = stated.strip() if isinstance(stated, str) else ""
    if text.endswith("%"):
        return exact.positive("share", text[:-1].strip()) / 100
    return exact.positive("share", stated)


def _epsilon(value: Number) -> Fraction:
    if exact.rational("epsilon", value) <= 0:
        hint = 'epsilon="0.1"; the larger it is, the less noise'
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
    aim: Aim = "numbers"
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
        aim = stated_terms.get("aim", "numbers")
        if aim not in get_args(Aim):
            raise InvalidParameter("aim", aim, 'is neither "numbers" nor "groups"', hint='aim="groups"')
        amounts = (stated_terms.get(name) for name in ("epsilon", "delta", "rho", "mu", "key_delta"))
        spend = spend_of(*amounts, aim=aim)
        decided = [name for name in ("margin", "share") if name in stated_terms]
        if decided and (spend is not None or len(decided) > 1):
            raise InvalidParameter(
                decided[-1],
                stated_terms[decided[-1]],
                "decides the spend, and another one was stated: state only one",
                hint='share="5 %", or margin=50, or epsilon="0.1"',
            )
        share = _share(stated_terms["share"]) if "share" in stated_terms else None
        if share is not None and share > 1:
            raise InvalidParameter("share", stated_terms["share"], "is more than the whole budget", hint='share="5 %"')
        sure = Confidence(
            stated_terms.get("confidence", confidence), stated_terms.get("confidence_over", confidence.over)
        )
        keys = exact.open_probability("key_delta", stated_terms["key_delta"]) if "key_delta" in stated_terms else None
        if stated_terms.get("caps", "best") != "best":
            raise InvalidParameter(
                "caps",
                stated_terms["caps"],
                "is unknown",
                hint='caps="best", or rows_per_person=4',
            )
        caps = Caps(*(stated_terms.get(name) for name in ("groups_per_person", "rows_per_group", "rows_per_person")))
        best, n = "caps" in stated_terms, stated_terms.get("n")
        return cls(spend, stated_terms.get("margin"), share, sure, keys, n, aim, caps, best)

    def to_json(self) -> dict[str, Any]:
        """The terms as they were stated, with numbers as texts."""
        spend = {} if self.spend is None else self.spend.to_json()
        spend.pop("keys", None)
        spend.pop("aim", None)
        known = {"margin": self.margin, "share": self.share, "key_delta": self.key_delta, "n": self.n}
        return {
            **spend,
            **{name: str(number) for name, number in known.items() if number is not None},
            **({} if self.aim == "numbers" else {"aim": self.aim}),
            **({} if self.confidence == _USUAL_CONFIDENCE else {"confidence": str(Fraction(self.confidence))}),
            **({} if self.confidence.over == "cell" else {"confidence_over": self.confidence.over}),
            **self.caps.to_json(),
            **({"caps": "best"} if self.best_caps else {}),
        }


def _unknown(name: str, value: object, taken: Collection[str]) -> InvalidParameter:
    problem = "has no effect here" if name in _ALL_TERMS else "is not a term of a question"
    hint = "" if name in _ALL_TERMS else did_you_mean(name, taken)
    return InvalidParameter(name, value, problem, hint=f"{hint}the terms are {', '.join(taken)}")
