"""What every mechanism that adds noise must keep, whatever its law. A new one is held to it by calling these checks.

`law` is the stated law of the noise at a scale, written down independently of the sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import laws
from giveortake import codec
from giveortake.mechanisms import Sensitive
from giveortake.mechanisms.additive import AdditiveNoise
from giveortake.privacy.events import Event
from recorded_entropy import RecordedEntropy

SLACK = Fraction(1, 10**40)  # room for the enclosures in `laws`, far below anything that matters
LEVELS = [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3)]


def says_what_it_is(noise: AdditiveNoise) -> None:
    """It cites its source, states its guarantee, and its event is one that ledgers can keep."""
    assert noise.citation
    assert "Guarantee [" in (type(noise).__doc__ or "")
    event = noise.event(1)
    assert codec.read(Event, codec.write(event)) == event


def keeps_its_promise(noise: AdditiveNoise, law: laws.Law, shift: int, reach: int) -> None:
    """On every set of outcomes: δ(ε) between the law and the shifted law is at most that of the promise, both ways."""
    promise = noise.event(abs(shift)).guarantee()
    for epsilon in LEVELS:
        for way in (shift, -shift):
            assert laws.excess(law, way, epsilon, reach) <= promise.delta_at(epsilon) + SLACK


def has_a_margin_that_covers(noise: AdditiveNoise, law: laws.Law, confidence: Fraction, spare: int = 0) -> None:
    """The noise stays within the margin as often as is said; it is the least, but for so many `spare` steps."""
    margin = noise.margin(confidence)

    def covered(m: int) -> Fraction:
        return sum((law(k) for k in range(-m, m + 1)), Fraction(0))

    assert covered(margin) >= confidence - SLACK
    if margin > spare:
        assert covered(margin - 1 - spare) < confidence


def has_the_stated_law_and_no_other(
    noise: AdditiveNoise, law: Callable[[Fraction], laws.Law], scale: Fraction, entropy: RecordedEntropy
) -> None:
    """Draws look like the law at its scale, and not like the law at a scale 30 % off."""
    value = np.full(20_000, 1000, dtype=np.int64)
    draws = noise.release(value, entropy) - 1000
    for claim, plausible in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        assert laws.looks_like(draws, law(scale * claim)) is plausible


def is_widened_and_never_wraps(noise: AdditiveNoise) -> None:
    """Integers at the ends of 64 bits."""
    highest = 2**63 - 1
    released = noise.release(np.full(1000, highest, dtype=np.int64))
    assert max(released.tolist()) > highest
    assert min(released.tolist()) > highest - 1000
    lowest = noise.release(np.full(1000, -(2**63), dtype=np.int64))
    assert min(lowest.tolist()) < -(2**63)


def releases_in_kind(noise: AdditiveNoise, entropy: Callable[[], RecordedEntropy]) -> None:
    """An int for an int, an array of the same shape for an array, and the same whether or not it came wrapped."""
    column: Any = np.arange(12).reshape(3, 4)
    plain, wrapped = noise.release(column, entropy()), noise.release(Sensitive(column), entropy())
    assert plain.shape == (3, 4)
    assert plain.tolist() == wrapped.tolist()
    assert isinstance(noise.release(7), int)
