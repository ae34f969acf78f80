"""What an audit found: statements about samples, with their confidence, never called a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee


def figure(number: float) -> str:
    """A number in a few digits, with 1e-6 for a millionth."""
    return f"{number:g}".replace("e-0", "e-").replace("e+0", "e+")


@final
@dataclass(frozen=True, slots=True)
class Evidence:
    """How often an event was seen on the input where it is likelier, and on the other."""

    event: str
    likelier: Any
    other: Any
    hits: int
    other_hits: int
    trials: int
    pilot: int
    confidence: float
    least: float
    greatest: float

    def __str__(self) -> str:
        return (
            f"the event “{self.event}” was chosen on a pilot of {self.pilot:,} samples of each input; on fresh ones it "
            f"occurred {self.hits:,} times in {self.trials:,} on {_short(self.likelier)} (probability at least "
            f"{self.least:.6g}) and {self.other_hits:,} times on {_short(self.other)} (at most {self.greatest:.6g})"
        )


@final
class LowerBound(float):
    """A lower bound of ε or δ that holds with the stated confidence: a float with its evidence."""

    __slots__ = ("delta", "evidence", "of")

    of: str
    delta: float
    evidence: Evidence

    def __new__(cls, value: float, of: str, delta: float, evidence: Evidence) -> LowerBound:
        """A float with its evidence."""
        self = super().__new__(cls, value)
        self.of, self.delta, self.evidence = of, delta, evidence
        return self

    @property
    def confidence(self) -> float:
        """How likely a procedure like this one is to give a true bound."""
        return self.evidence.confidence

    @property
    def event(self) -> str:
        """The event that the bound rests on, in words."""
        return self.evidence.event

    def __str__(self) -> str:
        at = f" at δ = {figure(self.delta)}" if self.of == "ε" and self.delta else ""
        sure = f"with {100 * self.confidence:g} % confidence"
        return (
            f"{self.of} is at least {float(self):.6g}{at} {sure}: {self.evidence}. "
            "This is a statistical finding, not a proof."
        )

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return LowerBound, (float(self), self.of, self.delta, self.evidence)


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """A promise checked against samples. It is true if no violation was found, which does not prove the promise."""

    promise: Guarantee
    evidence: Evidence
    allowed: float

    @property
    def violated(self) -> bool:
        """Whether the samples contradict the promise, at the stated confidence."""
        return self.evidence.least > self.allowed

    def __bool__(self) -> bool:
        return not self.violated

    def __str__(self) -> str:
        if self.violated:
            return (
                f"VIOLATED with {100 * self.evidence.confidence:g} % confidence: {self.promise!r} allows a probability "
                f"of at most {self.allowed:.6g}, but {self.evidence}."
            )
        return (
            f"no violation of {self.promise!r} found: {self.evidence}, where {self.allowed:.6g} is allowed. "
            "That is no proof that there is none."
        )

    __repr__ = __str__


@final
@dataclass(frozen=True, slots=True)
class TradeoffCurve:
    """Points (false-positive rate, false-negative rate) that an attacker reaches, all together with the confidence."""

    points: tuple[tuple[float, float], ...]
    confidence: float
    score: str
    trials: int

    def contradicts(self, promise: Guarantee) -> tuple[float, float] | None:
        """A point that lies below what a promise leaves to attackers; None if there is none."""
        for fpr, fnr in self.points:
            if fnr < float(promise.tradeoff(min(1.0, fpr))):
                return fpr, fnr
        return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 32 else f"{text[:31]}…"
