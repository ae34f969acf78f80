"""A promise in plain words: what an attacker can come to believe, how well they can guess, and what groups get.

Words and numbers only; charts of the same are in `plot`. Numbers are rounded against the promise.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, final

from giveortake.errors import Unprovable
from giveortake.exact import Number, closed_probability, decimal, percent, percent_down, percent_up, whole

if TYPE_CHECKING:
    from giveortake.privacy.guarantee import Guarantee


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
    from giveortake.privacy.approximate import ComputationalDP  # noqa: PLC0415 (promises know their explanation)

    everybody = "everybody, whatever else they know and however long they compute"
    if isinstance(promise, ComputationalDP):
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
