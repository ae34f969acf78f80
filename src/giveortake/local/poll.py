"""A question with yes or no for an answer, randomised by coins; and charts of what its reports tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.answers import Estimate
from giveortake.codec import stored
from giveortake.errors import HIDDEN, DamagedReports, InvalidParameter
from giveortake.exact import Number, closed_probability, decimal, log_up, open_probability, rational
from giveortake.local.frequencies import Supports
from giveortake.local.survey import (
    MOST_EPSILON,
    USUAL,
    Interval,
    Reports,
    as_array,
    interval_of,
    is_one,
    quantile,
    ratio_below,
    survey_epsilon,
    survey_name,
)
from giveortake.mechanisms.histogram import elements
from giveortake.mechanisms.mechanism import source
from giveortake.randomness import bernoulli

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from giveortake.randomness import Entropy


_HALF = Fraction(1, 2)
_YES_OR_NO = (False, True)
_NEITHER = "is neither yes (True) nor no (False)"
_OTHERS = 'more answers than two: RandomizedResponse(["yes", "no", "maybe"], epsilon=1)'
SPELLINGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@stored("poll")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Poll(Supports):
    """Tell the truth with probability `truth`, else say yes with probability `otherwise`: A(D) = X·D + (1 − X)·Y.

    Guarantee [War65], [Lal20, eq. 7 and 8]: with a fair Y, ε = ln(1 + 2p/(1−p)) for the person who answers, and nothing
    less; `ratio` is e^ε exactly and `epsilon` its logarithm rounded up. With `otherwise` = o, e^ε is the larger of
    1 + p/((1−p)o) and 1 + p/((1−p)(1−o)); the program of [Fre18], which flips the same coin twice, has o = p.

    >>> poll = Poll(truth="1/2")
    >>> poll.ratio, round(float(poll.epsilon), 6)
    (Fraction(3, 1), 1.098612)
    >>> Poll(epsilon=1).epsilon <= 1
    True
    """

    truth: Fraction
    otherwise: Fraction
    name: str = ""

    citation: ClassVar[str] = "Warner: Randomized response, JASA 1965"

    def __init__(
        self,
        truth: Number | None = None,
        *,
        epsilon: Number | None = None,
        otherwise: Number = _HALF,
        name: str = "",
    ) -> None:
        if (truth is None) == (epsilon is None):
            problem = "is missing, and so is epsilon" if truth is None else "and epsilon were both given"
            raise InvalidParameter("truth", truth, f"{problem}: give one of them", hint='Poll(truth="1/2")')
        lie = open_probability("otherwise", otherwise)
        if truth is not None:
            honest = open_probability("truth", truth)
        else:
            gain = (ratio_below(survey_epsilon(epsilon or 0)) - 1) * min(lie, 1 - lie)
            honest = gain / (1 + gain)
        self._set(truth=honest, otherwise=lie, name=survey_name(name))
        if self.epsilon > MOST_EPSILON:
            raise InvalidParameter("truth", truth, "is so near to 1 that nobody is protected")

    @classmethod
    def two_coins(cls, p: Number) -> Poll:
        """The program of [Fre18, eq. 6]: the truth if flip(p) comes up, else another flip(p)."""
        return cls(truth=p, otherwise=p)

    @property
    def ratio(self) -> Fraction:
        return 1 + self.truth / ((1 - self.truth) * min(self.otherwise, 1 - self.otherwise))

    @property
    def epsilon(self) -> Fraction:
        return log_up(self.ratio)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        lie = (1 - self.truth) * self.otherwise
        return self.truth + lie, lie

    def code(self, value: Any) -> int:
        return int(self._coded([value])[0])

    def is_code(self, code: object) -> bool:
        return type(code) is int and code in _YES_OR_NO

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        yes = self.support[0 if self._coded([value])[0] else 1]
        return {True: yes, False: 1 - yes}

    def program(self, value: bool, flip: Callable[[Fraction], bool]) -> bool:
        """The poll as a program over coins, for whoever wants to enumerate them."""
        return value if flip(self.truth) else flip(self.otherwise)

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        """A report for one answer, or `Reports` for a list or a column of answers: yes or no, 1 or 0.

        >>> poll = Poll(truth="1/2")
        >>> len(poll.randomize(["yes", "No", True, 0]))
        4
        """
        answers = self._coded([values] if is_one(values) else values)
        coins = source(entropy)
        honest = bernoulli(self.truth, answers.size, coins)
        reports = np.where(honest, answers, bernoulli(self.otherwise, answers.size, coins))
        return bool(reports[0]) if is_one(values) else Reports(self.fingerprint, reports.astype(np.int64), _YES_OR_NO)

    def estimate(
        self,
        reports: Any,
        confidence: Number = USUAL,
        *,
        interval: Interval = "guaranteed",
        clip: bool = False,
    ) -> Estimate:
        """The share of yes in the population, with an interval.

        Unclipped, the estimate is unbiased [Lal20, eq. 10] and may be below 0 or above 1. The interval is
        "guaranteed" for every number of respondents, or "normal" [Lal20, eq. 15]: right in the limit.
        """
        data = self._data(reports)
        n, yes = data.size, int(data.sum())
        true, false = self.support
        ends = interval_of([yes], n, confidence, interval)
        exact = [Fraction(yes, n), *(Fraction(float(end[0])) for end in ends)]
        value, low, high = ((number - false) / (true - false) for number in exact)
        if clip:
            value, low, high = (min(max(number, Fraction(0)), Fraction(1)) for number in (value, low, high))
        return Estimate(
            float(value),
            float(low),
            float(high),
            name="share",
            **self._provenance(reports, confidence, n, interval=interval, clipped=clip),
        )

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        reports = as_array(listed)
        if reports.ndim != 1 or (reports.size and reports.dtype.kind not in "biu"):
            raise DamagedReports("reports to this poll are yes or no", hint="pass what `randomize` returned")
        if reports.size and not ((reports == 0) | (reports == 1)).all():
            raise DamagedReports("a report to this poll is neither 0 nor 1")
        return reports.astype(np.int64)

    @staticmethod
    def _coded(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        if isinstance(values, np.ndarray) and values.dtype.kind in "biu" and values.ndim == 1:
            if not ((values == 0) | (values == 1)).all():
                raise InvalidParameter("answer", HIDDEN, _NEITHER, hint=_OTHERS)
            return values.astype(np.int64)
        listed = [_spelled(value) for value in elements(values)]
        if any(type(value) not in {bool, int} or value not in _YES_OR_NO for value in listed):
            raise InvalidParameter("answer", HIDDEN, _NEITHER, hint=_OTHERS)
        return np.array(listed, dtype=np.int64)


def _spelled(value: Any) -> Any:
    """A yes or a no that was written as a text; anything else as it is."""
    return SPELLINGS.get(value.strip().lower(), value) if type(value) is str else value


def truth_of(epsilon: Number) -> Fraction:
    """The probability of the truth that a poll with a fair coin may give for ε: (e^ε − 1)/(e^ε + 1), rounded down.

    >>> round(float(gt.local.truth_of("1.0986123")), 6)  # ln 3
    0.5
    """
    ratio = ratio_below(survey_epsilon(rational("epsilon", epsilon)))
    return (ratio - 1) / (ratio + 1)


_EPSILONS = ("0.1", "0.5", "1", "3")
_LARGEST = 6  # powers of ten of respondents


def margin_curves(
    epsilons: Sequence[Number] = _EPSILONS, *, share: Number = "1/2", confidence: Number = USUAL
) -> dict[str, list[tuple[int, float]]]:
    """The normal margin of a poll [Lal20, eq. 15] against the number of respondents, and without privacy (eq. 16)."""
    sizes = [round(10 ** (quarter / 4)) for quarter in range(4, 4 * _LARGEST + 1)]
    mean, z = closed_probability("share", share), quantile(confidence)
    curves = {
        f"ε = {decimal(Fraction(str(epsilon)))}": [
            (n, z * math.sqrt(Poll(epsilon=epsilon).variance(n, mean))) for n in sizes
        ]
        for epsilon in epsilons
    }
    return curves | {"no privacy": [(n, z * math.sqrt(mean * (1 - mean) / n)) for n in sizes]}


def posterior_figure(epsilons: Sequence[Number] = ("0.5", "1", "3", "10")) -> Any:
    """Figure 1 of [Lal20]: bounds on the belief after a report, for every belief before."""
    from giveortake import plot  # noqa: PLC0415 (charts are heavy and optional)

    return plot.posterior(epsilons)


def uncertainty_figure(epsilons: Sequence[Number] = _EPSILONS) -> Any:
    """Figure 2 of [Lal20]: the margin of a poll against the number of respondents, for several ε."""
    from giveortake import plot  # noqa: PLC0415 (heavy)

    return plot.uncertainty(margin_curves(epsilons))
