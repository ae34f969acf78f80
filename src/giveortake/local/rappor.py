"""RAPPOR: Bloom filters with a permanent and an instantaneous response, decoded by a regression.

Which texts set the bits of the filters is estimated by a weighted regression with its own standard errors.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.codec import stored
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import Number, closed_probability, log_up, open_probability, positive, whole
from giveortake.local.categories import set_bits
from giveortake.local.survey import (
    USUAL,
    Oracle,
    checked_texts,
    is_one,
    numbered,
    packed_rows,
    quantile,
    ratio_below,
    require_possible,
    survey_epsilon,
    survey_name,
)
from giveortake.mechanisms.mechanism import source
from giveortake.randomness import bernoulli, packed_bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from giveortake.local.survey import FloatArray
    from giveortake.randomness import Entropy


_TOLERANCE = 4  # standard deviations


class _Cohort(NamedTuple):
    design: FloatArray
    mean: FloatArray
    covariance: FloatArray
    size: int


class Decoded(NamedTuple):
    """The share of every text, its standard error from coins, that from unlisted texts, and whether the model fits."""

    shares: FloatArray
    coins: FloatArray
    misfit: FloatArray
    fits: bool


def decoded(survey: Rappor, texts: list[str], cohorts: Any, rows: Any) -> Decoded:
    """The share of every text and its standard errors.

    In cohort i, the share of respondents whose bit j is truly set is Σ share(text)·[text sets j in i], plus a constant
    for all other texts, plus what a popular text that is not listed does to its own bits. Estimated bits are regressed
    on this with cohorts weighted by their size; the estimate is then a fixed linear function of every cohort's mean
    report, and its variance over coins is that of these means. Residuals over the cells (cohort × bit) that are larger
    than coins explain are the model's error: it counts with the same weights, as if it fell on any cell alike. The
    model fits if the mean square of residuals is within four standard deviations of what coins give.
    """
    unset, set_ = map(float, survey.reported)
    slope = set_ - unset
    cells = []
    for cohort in range(survey.cohorts):
        mine = rows[cohorts == cohort]
        if not len(mine):
            continue
        bits = np.unpackbits(mine, axis=1, bitorder="little", count=survey.bits).astype(np.float64)
        mean = bits.mean(axis=0)
        centred = bits - mean
        covariance = centred.T @ centred / (len(mine) - 1) if len(mine) > 1 else np.eye(survey.bits) / 4
        design = _design(survey, texts, cohort)
        cells.append(_Cohort(design, (mean - unset) / slope, covariance / slope**2, len(mine)))
    normal = sum((one.size * one.design.T @ one.design for one in cells), np.zeros((1, 1)))
    if np.linalg.matrix_rank(normal) < len(texts) + 1:
        raise InvalidParameter(
            "candidates",
            len(texts),
            "are too many to be told apart",
            hint="use more bits, more cohorts, or fewer texts",
        )
    inverse = np.linalg.inv(normal)
    weights = [one.size * inverse @ one.design.T for one in cells]
    pairs = list(zip(weights, cells, strict=True))
    shares = sum((weight @ one.mean for weight, one in pairs), np.zeros(1))
    coins = sum(
        (np.einsum("ij,jk,ik->i", weight, one.covariance, weight) / one.size for weight, one in pairs), np.zeros(1)
    )
    free = max(1, survey.bits * len(cells) - len(texts) - 1)
    residual = sum(float(((one.mean - one.design @ shares) ** 2).sum()) for one in cells) / free
    noise = sum(float(np.trace(one.covariance)) / one.size for one in cells) / (survey.bits * len(cells))
    spread = sum(((weight**2).sum(axis=1) for weight, _ in pairs), np.zeros(1))
    misfit = np.sqrt(max(0.0, residual - noise) * spread)
    fits = residual <= noise * (1 + _TOLERANCE * math.sqrt(2 / free))
    return Decoded(shares[:-1], np.sqrt(coins[:-1]), misfit[:-1], fits)


def _design(survey: Rappor, texts: list[str], cohort: int) -> FloatArray:
    design = np.zeros((survey.bits, len(texts) + 1))
    design[:, -1] = survey.hashes / survey.bits  # where all other texts are, on average
    for column, text in enumerate(texts):
        design[survey.places(text, cohort), column] = 1
    return design


_MOST_BITS = _MOST_COHORTS = 1 << 16
_COHORT_BYTES = 2  # every report begins with its cohort


@stored("rappor")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class Rappor(Oracle):
    """Set a few bits of a Bloom filter for your text, flip bits once and for all, and again for every report.

    Guarantee [EPK14, Thm 1]: a permanent bit is the true one with probability 1 − f/2, and two texts differ in at most
    2h bits, so ε = 2h·ln((1 − f/2)/(f/2)) for a whole lifetime of reports on one text; f is a fraction, just large
    enough. A report sets a bit with probability `instantaneous[1]` if the permanent bit is set, else with
    `instantaneous[0]`; one report alone promises the smaller `report_epsilon` [EPK14, Thm 2].

    >>> survey = Rappor(epsilon=2, bits=32, hashes=2, cohorts=8)
    >>> survey.ratio ** 1 <= 8, survey.report_epsilon < 2
    (True, True)
    """

    epsilon: Fraction
    bits: int
    hashes: int
    cohorts: int
    instantaneous: tuple[Fraction, Fraction]
    name: str = ""

    in_rows: ClassVar[bool] = True
    citation: ClassVar[str] = "Erlingsson, Pihur, Korolova: RAPPOR, CCS 2014"

    def __init__(
        self,
        epsilon: Number,
        *,
        bits: int = 64,
        hashes: int = 2,
        cohorts: int = 16,
        instantaneous: tuple[Number, Number] = ("1/4", "3/4"),
        name: str = "",
    ) -> None:
        self._set(
            epsilon=survey_epsilon(epsilon),
            name=survey_name(name),
            bits=whole("bits", bits, least=2),
            hashes=whole("hashes", hashes),
            cohorts=whole("cohorts", cohorts),
        )
        if self.cohorts > _MOST_COHORTS:
            raise InvalidParameter("cohorts", cohorts, f"is above {_MOST_COHORTS}")
        if self.bits > _MOST_BITS:
            raise InvalidParameter("bits", bits, f"is above {_MOST_BITS}")
        if self.hashes > self.bits:
            raise InvalidParameter("hashes", hashes, "is more than there are bits")
        unset, set_ = (closed_probability("instantaneous", chance) for chance in instantaneous)
        if not unset < set_:
            raise InvalidParameter("instantaneous", instantaneous, "does not favour bits that are set")
        self._set(instantaneous=(unset, set_))

    # -- probabilities ----------------------------------------------------------------------------------------

    @property
    def odds(self) -> Fraction:
        """(1 − f/2)/(f/2): how much likelier a permanent bit is to be the true one."""
        return ratio_below(self.epsilon / (2 * self.hashes))

    @property
    def ratio(self) -> Fraction:
        """The ratio of permanent responses: the odds to the power of the 2h bits in which two texts may differ."""
        return self.odds ** (2 * self.hashes)

    @property
    def permanent(self) -> tuple[Fraction, Fraction]:
        """The probability that a permanent bit is set, if the true one is not and if it is: f/2 and 1 − f/2."""
        return 1 / (self.odds + 1), self.odds / (self.odds + 1)

    @property
    def reported(self) -> tuple[Fraction, Fraction]:
        """The probability that a reported bit is set, if the true one is not and if it is: p* and q*."""
        unset, set_ = self.instantaneous
        low, high = (unset + chance * (set_ - unset) for chance in self.permanent)
        return low, high

    @property
    def report_epsilon(self) -> Fraction:
        """What one report promises on its own, rounded up."""
        unset, set_ = self.reported
        return log_up((set_ * (1 - unset) / (unset * (1 - set_))) ** self.hashes)

    def places(self, value: str, cohort: int) -> list[int]:
        """The bits that a text sets in the Bloom filters of a cohort; the same on every machine."""
        stream = hashlib.shake_128(f"{cohort}:{value}".encode()).digest(8 * self.hashes)
        return [int.from_bytes(stream[8 * number : 8 * number + 8], "big") % self.bits for number in range(self.hashes)]

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        """The law of one report of a respondent who reports once."""
        return self._law(value, self.reported)

    def permanent_law(self, value: Any) -> dict[Hashable, Fraction]:
        """The law of the permanent response, from which a lifetime of reports is made."""
        return self._law(value, self.permanent)

    def _law(self, value: Any, chances: tuple[Fraction, Fraction]) -> dict[Hashable, Fraction]:
        (text,) = checked_texts([value])
        probabilities: dict[Hashable, Fraction] = {}
        for cohort in range(self.cohorts):
            set_ = set(self.places(text, cohort))
            for bits in product((0, 1), repeat=self.bits):
                factors = (
                    chances[index in set_] if bit else 1 - chances[index in set_] for index, bit in enumerate(bits)
                )
                probabilities[cohort, bits] = prod(factors, start=Fraction(1, self.cohorts))
        return probabilities

    # -- randomising ------------------------------------------------------------------------------------------

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        """One report for each text, with permanent responses that are thrown away; see `Respondent` for repetition."""
        texts = checked_texts([values] if is_one(values) else values)
        coins = source(entropy)
        cohorts = uniform_integers(self.cohorts, len(texts), coins)
        reports = self._reports(self.drawn(texts, cohorts, self.reported, coins))
        return reports[0] if is_one(values) else reports

    def drawn(
        self, texts: list[str], cohorts: Any, chances: tuple[Fraction, Fraction], coins: Entropy
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Draw rows of a cohort and bits; `chances` are those of bits that the text does not set, and sets."""
        rows = packed_bernoulli(chances[0], len(texts), self.bits, coins)
        different, codes = numbered(texts)
        pairs = pair_indices = codes * self.cohorts + cohorts
        if len(different) * self.cohorts > len(texts):  # many texts: their places in some cohorts are never needed
            pairs, pair_indices = np.unique(pairs, return_inverse=True)
        else:
            pairs = np.arange(len(different) * self.cohorts)
        known = [self.places(different[pair // self.cohorts], pair % self.cohorts) for pair in pairs.tolist()]
        places = np.array(known, dtype=np.int64).reshape(-1, self.hashes)[pair_indices]
        for number in range(self.hashes):
            set_bits(rows, places[:, number], bernoulli(chances[1], len(texts), coins))
        heads = np.asarray(cohorts, dtype="<u2").reshape(-1, 1).view(np.uint8)
        return np.concatenate([heads, rows], axis=1)

    def instantaneous_report(self, permanent: bytes, entropy: Entropy | None = None) -> bytes:
        """A fresh report from a permanent response."""
        coins = source(entropy)
        bits = np.unpackbits(np.frombuffer(permanent[_COHORT_BYTES:], np.uint8), bitorder="little", count=self.bits)
        flips = [bernoulli(chance, self.bits, coins) for chance in self.instantaneous]
        fresh = np.packbits(np.where(bits == 1, flips[1], flips[0]), bitorder="little")
        return permanent[:_COHORT_BYTES] + fresh.tobytes()

    # -- estimating -------------------------------------------------------------------------------------------

    def estimate(self, reports: Any, confidence: Number = USUAL, *, candidates: Iterable[str] | None = None) -> Answer:
        """The share of every candidate, by weighted regression of bits on Bloom filters, and whether it is significant.

        Intervals are normal: from the bits' own covariances, and from the residuals of the regression as far as those
        are larger. Texts that are no candidates are caught by a constant if there are many and none is popular. A
        popular one leaves residuals that coins do not explain: the model then does not fit, intervals leave half of
        the chance to that, and no share is called significant, since candidates may share its bits. Otherwise
        a share is significant if it is above zero beyond what `confidence` leaves to chance for all candidates together
        (Bonferroni). The recipe says whether the model fits.
        """
        if candidates is None:
            raise InvalidParameter("candidates", None, "is missing", hint="say which texts to look for")
        texts = checked_texts(list(candidates))
        data = self._data(reports)
        cohorts, rows = self._split(data)
        shares, coins, misfit, fits = decoded(self, texts, cohorts, rows)
        missed = 1 - open_probability("confidence", confidence)
        spreads = np.hypot(coins, misfit)
        reach = quantile(confidence) * spreads if fits else quantile(1 - missed / 2) * (coins + misfit)
        bar = quantile(1 - 2 * missed / max(2, len(texts)))
        return Answer(
            [
                Column("text", texts, kind="text"),
                Column("share", shares, shares - reach, shares + reach),
                Column("significant", (shares > bar * spreads) & fits),
            ],
            **self._provenance(reports, confidence, len(data), candidates=len(texts), fits="yes" if fits else "no"),
        )

    def variance(self, n: int, frequency: Number) -> Fraction:
        """For planning: an upper bound of the variance of the share of a text whose bits no other candidate sets.

        Each of its h bits is a coin whose estimate has variance at most 1/(4(q* − p*)²) for a report; their mean has
        no more. Candidates that share bits have more; the regression's own intervals use what was seen.
        """
        closed_probability("frequency", frequency)
        unset, set_ = self.reported
        return 1 / (4 * (set_ - unset) ** 2 * whole("n", n))

    def sample_size(self, margin: Number, confidence: Number = USUAL) -> int:
        """How many respondents make an interval of at most ± margin, by the bound of `variance`."""
        z = Fraction(quantile(confidence))
        size = -int(-(z**2 * self.variance(1, 0) / positive("margin", margin) ** 2) // 1)
        require_possible(size, margin)
        return size

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        rows = packed_rows(listed, 8 * _COHORT_BYTES + self.bits)
        if len(rows) and int(self._split(rows)[0].max()) >= self.cohorts:
            raise DamagedReports(f"a report names a cohort that is not one of {self.cohorts}")
        return rows

    @staticmethod
    def _split(rows: np.ndarray[Any, np.dtype[np.uint8]]) -> tuple[Any, Any]:
        heads = np.ascontiguousarray(rows[:, :_COHORT_BYTES]).view("<u2").reshape(-1)
        return heads, np.ascontiguousarray(rows[:, _COHORT_BYTES:])
