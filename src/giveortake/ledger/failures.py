"""The allowance of failures: a limit on what can be learnt by making questions fail, which no ε covers.

Which of N questions failed, when k of them may, takes one of Σ_{j ≤ k} C(N, j) values: up to log₂ of that many bits.
Each step of a run or a counter may fail by itself, and is one of the N. Each failure also names one of five causes, up
to log₂ 5 bits more. Analysts who collude add theirs up. It is a limit on a side channel, not a guarantee of
differential privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.ledger.levels import Level


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """How many failures one asker may observe and has observed, and what they can reveal.

    `allowed` counts those that were reset as well; `questions` is what may be asked at most if that is bounded, else
    what was asked so far. `steps` are those that runs and counters have taken, each of which might have failed. `bits`
    is rounded up to a tenth.
    """

    level: int
    kind: str
    name: str
    failed: int
    left: int
    allowed: int
    questions: int
    bits: Fraction
    steps: int = 0


def allowance(level: Level) -> Allowance:
    """The allowance of an analyst's level, or of the custodian's own questions to a population."""
    questions = level.asked if level.questions is None else level.questions
    allowed = level.failures_ever
    left = max(0, level.failures - level.failed)
    bits = bits_of(questions + level.steps, allowed)
    return Allowance(
        level.number, level.kind, level.name, level.failed_ever, left, allowed, questions, bits, level.steps
    )


def bits_of(questions: int, failures: int) -> Fraction:
    """log₂ Σ_{j ≤ k} C(N, j), rounded up to a tenth, in whole numbers alone.

    >>> bits_of(10**6, 3), bits_of(10, 0), bits_of(3, 7)
    (Fraction(573, 10), Fraction(0, 1), Fraction(3, 1))
    """
    outcomes = sum(comb(questions, failed) for failed in range(min(questions, failures) + 1))
    return Fraction((outcomes**10 - 1).bit_length(), 10)
