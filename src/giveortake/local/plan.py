"""Which survey to hold: the one with the least variance, and why."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.answers import Answer, Column
from giveortake.exact import Number, closed_probability, decimal, whole
from giveortake.local.categories import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.survey import USUAL, quantile

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from giveortake.local.frequencies import Supports


_ALIKE = Fraction(101, 100)  # variances within 1 % are alike, and the smaller report wins


@final
@dataclass(frozen=True, slots=True)
class SurveyPlan:
    """What `plan` recommends: the survey, why, and how the others compare."""

    survey: FrequencyOracle
    why: str
    options: Answer

    def __str__(self) -> str:
        return self.why


def plan(
    categories: Iterable[Hashable],
    epsilon: Number,
    n: int,
    *,
    frequency: Number | None = None,
    confidence: Number = USUAL,
    name: str = "",
) -> SurveyPlan:
    """The survey with the least variance for these categories, ε and number of respondents, at a usual frequency.

    The frequency is that of a category if all are alike, unless given. If several are alike to 1 %, the one with the
    smallest report is taken. `name` is the question, by which its reports differ from others.

    >>> plan(["yes", "no", "perhaps"], epsilon=1, n=1000).survey.kind
    'randomized-response'
    >>> plan(range(1000), epsilon=1, n=1000).survey.kind
    'local-hashing'
    """
    known, n = survey_categories(categories), whole("n", n)
    share = Fraction(1, len(known)) if frequency is None else frequency
    candidates: dict[str, FrequencyOracle] = {
        "randomized response": RandomizedResponse(known, epsilon, name=name),
        "unary encoding, optimised": UnaryEncoding(known, epsilon, name=name),
        "unary encoding, symmetric": UnaryEncoding(known, epsilon, symmetric=True, name=name),
        "local hashing, optimised": LocalHashing(known, epsilon, name=name),
        "local hashing, binary": LocalHashing(known, epsilon, buckets=2, name=name),
        "Hadamard response": HadamardResponse(known, epsilon, name=name),
    }
    variances = {name: survey.variance(n, share) for name, survey in candidates.items()}
    least = min(variances.values())
    alike = [name for name, variance in variances.items() if variance <= _ALIKE * least]
    best = min(alike, key=lambda name: candidates[name].bits())
    order = sorted(variances, key=lambda name: (variances[name], candidates[name].bits()))
    spread = quantile(confidence)
    options = Answer(
        [
            Column("survey", order),
            Column("margin", [spread * float(variances[name]) ** 0.5 for name in order]),
            Column("times_least_variance", [float(variances[name] / least) for name in order]),
            Column("bits_per_report", [candidates[name].bits() for name in order]),
        ],
        confidence=confidence,
        cost=candidates[best].epsilon,
    )
    near, any_share = (
        spread * float(variance) ** 0.5 for variance in (variances[best], worst_variance(candidates[best], n))
    )
    where = closed_probability("frequency", share)
    facts = f"{n:,} respondents tell a share near {where} to ± {near:.2g}, and any share to ± {any_share:.2g}"
    return SurveyPlan(candidates[best], _reason(best, candidates[best], alike, variances, facts=facts), options)


def worst_variance(survey: Supports, n: int) -> Fraction:
    """The greatest variance over all shares: where a report supports the category half of the time."""
    true, false = survey.support
    middle = min(max(Fraction(1, 2), false), true)
    return survey.variance(n, (middle - false) / (true - false))


def _reason(best: str, survey: FrequencyOracle, alike: list[str], variances: dict[str, Fraction], *, facts: str) -> str:
    worst = max(variances, key=lambda name: variances[name])
    alternatives = ", ".join(name for name in alike if name != best)
    also = f"; {alternatives} would do as well with larger reports" if alternatives else ""
    return (
        f"{best}: for {len(survey.categories)} categories and ε = {decimal(survey.epsilon)}, {facts}, with "
        f"{survey.bits()} bits a report{also}. The worst choice, {worst}, has "
        f"{float(variances[worst] / variances[best]):.3g} times its variance."
    )
