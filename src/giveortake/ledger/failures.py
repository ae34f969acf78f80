"""The allowance of failures: a limit on what can be learnt by making questions fail, which no ε covers.

Which of N questions failed, when k of them may, takes one of Σ_{j ≤ k} C(N, j) values: up to log₂ of that many bits.
Each step of a run or a counter may fail by itself, and is one of the N; so is each execution of a question after its
first. Each failure also names one of six causes, up to log₂ 6 bits more. Analysts who collude add theirs up. A defect,
an error of the program that no limit explains, ends the allowance at once: one row may decide it, so that three of them
would tell of three people. It is a limit on a side channel, not a guarantee of differential privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.ledger.levels import Level


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """How many failures one asker may observe and has observed, and what they can reveal.

    `allowed` counts those that were reset as well; `questions` is what may be asked at most if that is bounded, else
    what was asked so far. `steps` are those that runs and counters have taken, each of which might have failed. `bits`
    is what they can reveal once the allowance is used up, and `revealed` what the `failed` ones among all `executions`
    so far can have; both are rounded up to a tenth. `defects` are those that no limit explains.
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
    defects: int = 0
    executions: int = 0
    revealed: Fraction = Fraction(0)


def allowance(level: Level) -> Allowance:
    """The allowance of an analyst's level, or of the custodian's own questions to a population."""
    questions = level.asked if level.questions is None else level.questions
    allowed = level.failures_ever
    executions = level.asked + level.steps + level.failed_ever  # of which some may be repetitions
    so_far = bits_of(executions, level.failed_ever)
    return Allowance(
        *(level.number, level.kind, level.name, level.failed_ever, level.failures_left, allowed, questions),
        max(bits_of(questions + level.steps, allowed), so_far),
        level.steps,
        level.defects,
        executions,
        so_far,
    )


def revealed(found: Iterable[Allowance]) -> Fraction:
    """What all failures together can have revealed: k of all askers among the N executions of all askers, in bits."""
    listed = list(found)
    return bits_of(sum(each.executions for each in listed), sum(each.failed for each in listed))


def bits_of(questions: int, failures: int) -> Fraction:
    """log₂ Σ_{j ≤ k} C(N, j), rounded up to a tenth, in whole numbers alone.

    >>> bits_of(10**6, 3), bits_of(10, 0), bits_of(3, 7)
    (Fraction(573, 10), Fraction(0, 1), Fraction(3, 1))
    """
    outcomes = sum(comb(questions, failed) for failed in range(min(questions, failures) + 1))
    return Fraction((outcomes**10 - 1).bit_length(), 10)
