"""Frequent texts of a domain that nobody can list: a count-mean sketch of them, and a search prefix by prefix."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log, prod
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.codec import stored
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import Number, open_probability, whole
from giveortake.local.categories import bucket, column_sums, meeting, prime_from, respond, set_bits, supports
from giveortake.local.frequencies import Supports
from giveortake.local.survey import (
    PRIME,
    USUAL,
    Interval,
    checked_texts,
    fingerprints,
    is_one,
    is_unicode,
    numbered,
    packed_rows,
    quantile,
    ratio_below,
    survey_epsilon,
    survey_name,
)
from giveortake.mechanisms.mechanism import source
from giveortake.randomness import SYSTEM_ENTROPY, bernoulli, packed_bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from giveortake.randomness import Entropy


_ROW_BYTES = 2  # every report begins with the number of its hash function
_SEED_BYTES = 16
_STEPS = 64  # halvings of an interval that is at most 1 wide


def grouped_sums(
    groups: np.ndarray[Any, np.dtype[Any]], rows: np.ndarray[Any, np.dtype[np.uint8]], count: int, columns: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The column sums of the rows of every group 0 … count − 1, one line for each group."""
    order = np.argsort(groups, kind="stable")
    edges = np.searchsorted(groups[order], np.arange(count + 1))
    together = rows[order]
    return np.stack([column_sums(together[edges[one] : edges[one + 1]], columns) for one in range(count)])


@stored("count-mean-sketch")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class CountMeanSketch(Supports):
    """Pick one of a few public hash functions, set the bit of your text's bucket, and flip every bit on its own.

    Guarantee [DPT17]: two texts differ in at most two bits, each flipped with probability 1/(s + 1), so the ratio of
    the probabilities of any report is at most s² ≤ e^ε, whichever function was picked. The functions are drawn when the
    survey is made (`seed`), from a pairwise independent family [CW79].

    >>> CountMeanSketch(epsilon=2, functions=64, buckets=256).support[0] > Fraction(1, 2)
    True
    """

    epsilon: Fraction
    functions: int
    buckets: int
    seed: str
    name: str = ""

    in_rows: ClassVar[bool] = True
    citation: ClassVar[str] = "Apple Differential Privacy Team: Learning with privacy at scale, 2017"

    def __init__(
        self,
        epsilon: Number,
        *,
        functions: int = 256,
        buckets: int = 1024,
        seed: str | None = None,
        name: str = "",
    ) -> None:
        self._set(
            epsilon=survey_epsilon(epsilon),
            name=survey_name(name),
            functions=whole("functions", functions),
            buckets=whole("buckets", buckets, least=2),
        )
        if self.functions > 1 << 16 or self.buckets > 1 << 16:
            raise InvalidParameter("functions", functions, "and buckets may be at most 65,536")
        self._set(seed=bytes(SYSTEM_ENTROPY.read(_SEED_BYTES)).hex() if seed is None else checked_texts([seed])[0])

    @property
    def odds(self) -> Fraction:
        """How much likelier a bit is to be the true one than to be flipped."""
        return ratio_below(self.epsilon / 2)

    @property
    def ratio(self) -> Fraction:
        return self.odds**2

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        true, false = self.odds / (self.odds + 1), 1 / (self.odds + 1)
        met = meeting(PRIME, self.buckets)
        return true, met * true + (1 - met) * false

    def places(self, texts: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The bucket of every text under every function: one row for each function."""
        stream = hashlib.shake_256(self.seed.encode()).digest(16 * self.functions)
        drawn = np.frombuffer(stream, dtype="<u8").astype(object) % PRIME  # uniform up to 2^-33
        a, b = (np.array(part, dtype=np.int64)[:, None] for part in (drawn[0::2], drawn[1::2]))
        numbers = np.array(fingerprints(texts), dtype=np.int64)[None, :]
        buckets: np.ndarray[Any, np.dtype[np.int64]] = bucket(numbers, a, b, PRIME, self.buckets)
        return buckets

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = self.places(checked_texts([value]))[:, 0]
        true, false = self.odds / (self.odds + 1), 1 / (self.odds + 1)
        return {
            (row, bits): prod(
                ((true if (index == own[row]) == bool(bit) else false) for index, bit in enumerate(bits)),
                start=Fraction(1, self.functions),
            )
            for row in range(self.functions)
            for bits in product((0, 1), repeat=self.buckets)
        }

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        texts = checked_texts([values] if is_one(values) else values)
        coins = source(entropy)
        functions = uniform_integers(self.functions, len(texts), coins)
        unique, columns = numbered(texts)
        false = 1 / (self.odds + 1)
        rows = packed_bernoulli(false, len(texts), self.buckets, coins)
        if texts:
            set_bits(rows, self.places(unique)[functions, columns], bernoulli(1 - false, len(texts), coins))
        heads = functions.astype("<u2").reshape(-1, 1).view(np.uint8)
        reports = self._reports(np.concatenate([heads, rows], axis=1))
        return reports[0] if is_one(values) else reports

    def estimate(
        self,
        reports: Any,
        confidence: Number = USUAL,
        *,
        candidates: Iterable[str] | None = None,
        interval: Interval = "guaranteed",
    ) -> Answer:
        """The share of every candidate, unbiased over the draw of the hash functions, with intervals.

        Half of what `confidence` leaves to chance is for the respondents' coins, and half for what texts in the same
        buckets add to a share or take from it: see `collisions`.
        """
        if candidates is None:
            raise InvalidParameter("candidates", None, "is missing", hint="say which texts to look for")
        texts = checked_texts(list(candidates))
        data = self._data(reports)
        missed = (1 - open_probability("confidence", confidence)) / 2
        shares, low, high = self.shares(self.counts(data, texts), len(data), 1 - missed, interval)
        added, removed = self.collisions(1 - missed)
        return Answer(
            [Column("text", texts, kind="text"), Column("share", shares, low - added, high + removed)],
            **self._provenance(reports, confidence, len(data), candidates=len(texts), interval=interval),
        )

    def counts(self, data: np.ndarray[Any, np.dtype[Any]], texts: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """How many reports have the bit of each text set, under the function that they name."""
        functions, rows = self._split(data)
        table = grouped_sums(functions, rows, self.functions, self.buckets)
        counts: np.ndarray[Any, np.dtype[np.int64]] = np.take_along_axis(table, self.places(texts), axis=1).sum(axis=0)
        return counts

    def collisions(self, confidence: Number = USUAL) -> tuple[float, float]:
        """How much too large, and how much too small, a share may come out because texts meet in buckets.

        Theorem: let a text meet the candidate under K of the F functions, K binomial (F, c), and let s be the shares of
        the other texts. The share is then off by B = Σ s·(K/F − c)/(1 − c), of variance at most Σ s²·c/(F(1 − c)). By
        Jensen E exp(tB) is greatest if one text has all, so that P[B ≥ (k − c)/(1 − c)] ≤ exp(−F·H(k, c)) [Hoe63],
        and the same below; H is the divergence of coins. Nothing is assumed about the shares. Either side is given half
        of what `confidence` leaves to chance.
        """
        met = float(meeting(PRIME, self.buckets))
        reach = log(2 / float(1 - open_probability("confidence", confidence))) / self.functions
        return (_farthest(met, 1.0, reach) - met) / (1 - met), (met - _farthest(met, 0.0, reach)) / (1 - met)

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        rows = packed_rows(listed, 8 * _ROW_BYTES + self.buckets)
        if len(rows) and int(self._split(rows)[0].max()) >= self.functions:
            raise DamagedReports(f"a report names a hash function that is not one of {self.functions}")
        return rows

    @staticmethod
    def _split(rows: np.ndarray[Any, np.dtype[np.uint8]]) -> tuple[Any, Any]:
        heads = np.ascontiguousarray(rows[:, :_ROW_BYTES]).view("<u2").reshape(-1)
        return heads, np.ascontiguousarray(rows[:, _ROW_BYTES:])


def _farthest(chance: float, end: float, reach: float) -> float:
    """The share of heads between a coin's chance and an end whose divergence is `reach`, or the end if none has it."""

    def divergence(share: float) -> float:
        pairs = ((share, chance), (1 - share, 1 - chance))
        return sum(part * log(part / whole_part) for part, whole_part in pairs if part > 0)

    if divergence(end) <= reach:
        return end
    near, far = chance, end
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if divergence(middle) <= reach else (near, middle)
    return far


_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-. "
_END = "\0"  # ends every text, so that "an" and "and" are different leaves
_CUT = "\1"  # replaces the rest of a text that is longer than is asked for
_LONGEST = 4096  # letters
_WORDS = 4  # of 32 bits in a report: level, a, b, y


@stored("heavy-hitters")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class HeavyHitters(Supports):
    """Report a prefix of your text, of a length drawn at random, by local hashing; frequent prefixes are then extended.

    Guarantee [BNST17, WBLJ17]: the length and the hash function are drawn without looking at the answer, and given them
    the report is randomized response over g buckets: ε-DP for the person who answers, who reports once.

    Texts are asked for up to `length` letters; of a longer one only its beginning is found, and shown with "…" behind.
    Capitals are folded if `alphabet` has none; letters that are not in it are left out on the way in.

    >>> HeavyHitters(epsilon=2, length=6, step=2).levels
    3
    """

    epsilon: Fraction
    length: int
    step: int
    alphabet: str
    prime: int
    name: str = ""

    in_rows: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Bassily, Nissim, Stemmer, Thakurta: Practical locally private heavy hitters, NeurIPS 2017"
    )

    def __init__(
        self,
        epsilon: Number,
        *,
        length: int = 8,
        step: int = 1,
        alphabet: str = _LETTERS,
        prime: int = PRIME,
        name: str = "",
    ) -> None:
        self._set(
            epsilon=survey_epsilon(epsilon),
            name=survey_name(name),
            length=whole("length", length),
            step=whole("step", step),
        )
        if self.length % self.step or self.length > _LONGEST:
            raise InvalidParameter("length", length, f"is not a multiple of step = {step}, and at most {_LONGEST}")
        if type(alphabet) is not str or not is_unicode(alphabet):
            raise InvalidParameter("alphabet", alphabet, "is not a text")
        if {_END, _CUT} & set(alphabet) or len(set(alphabet)) < max(2, len(alphabet)):
            raise InvalidParameter("alphabet", alphabet, "is not made of two or more different letters")
        self._set(alphabet=alphabet, prime=whole("prime", prime, least=2))
        if self.prime > PRIME or prime_from(self.prime) != self.prime:
            raise InvalidParameter("prime", prime, "is not a prime of at most 2^31 − 1")

    @property
    def levels(self) -> int:
        """How many lengths of prefixes there are."""
        return -(-self.length // self.step)

    @property
    def buckets(self) -> int:
        """g: the number of buckets with the least variance."""
        return min(round(self.ratio) + 1, 1 << 16, self.prime)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        total = self.ratio + self.buckets - 1
        met = meeting(self.prime, self.buckets)
        return self.ratio / total, (met * self.ratio + (1 - met)) / total

    def code(self, value: Any) -> str:
        (text,) = self._padded(checked_texts([value]))
        return text.rstrip(_END)

    def is_code(self, code: object) -> bool:
        if not isinstance(code, str):
            return False
        letters = code.removesuffix(_CUT)
        lengths = range(self._full + 1) if letters == code else [self._full]
        return len(letters) in lengths and set(letters) <= set(self.alphabet)

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        """The law of a report, for a survey over a small prime; the usual one has too many functions to list."""
        texts = self._padded(checked_texts([value]))
        unit = 1 / ((self.ratio + self.buckets - 1) * self.prime**2 * self.levels)
        probabilities: dict[Hashable, Fraction] = {}
        for level in range(self.levels):
            (number,) = self._numbers(texts, level)
            for a in range(self.prime):
                for b in range(self.prime):
                    own = bucket(number, a, b, self.prime, self.buckets)
                    for y in range(self.buckets):
                        probabilities[level, a, b, y] = unit * (self.ratio if y == own else 1)
        return probabilities

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        texts = self._padded(checked_texts([values] if is_one(values) else values))
        coins = source(entropy)
        levels = uniform_integers(self.levels, len(texts), coins)
        prefixes = [self._prefix(text, level) for text, level in zip(texts, levels.tolist(), strict=True)]
        numbers = np.array(fingerprints(prefixes), dtype=np.int64) % self.prime
        a, b = (uniform_integers(self.prime, len(texts), coins) for _ in range(2))
        hashed = bucket(numbers, a, b, self.prime, self.buckets)
        y = respond(hashed, self.buckets, 1 / (self.ratio + self.buckets - 1), coins)
        words = np.stack([levels, a, b, y], axis=1).astype("<u4")
        reports = self._reports(np.ascontiguousarray(words).view(np.uint8))
        return reports[0] if is_one(values) else reports

    def estimate(
        self,
        reports: Any,
        confidence: Number = USUAL,
        *,
        threshold: Number = 0,
        most: int = 64,
    ) -> Answer:
        """The frequent texts with their shares, the largest first.

        At every length the prefixes are kept whose share is above `threshold` and above what chance would give any of
        the candidates (Bonferroni), at most `most`. Intervals are for each text, from the reports on whole texts.
        """
        least, cap = float(threshold), whole("most", most)
        missed = 1 - open_probability("confidence", confidence)
        words = self._data(reports).view("<u4").reshape(-1, _WORDS).astype(np.int64)
        prefixes = [""]
        shares = low = high = np.zeros(0)
        for level in range(self.levels):
            candidates = self._extended(prefixes, level)
            mine = words[words[:, 0] == level]
            if not candidates or not len(mine):
                prefixes, shares, low, high = [], np.zeros(0), np.zeros(0), np.zeros(0)
                break
            numbers = np.array(self._numbers(candidates, level), dtype=np.int64)
            counts = supports((mine[:, 1], mine[:, 2], mine[:, 3]), numbers, self.prime, self.buckets)
            shares, low, high = self.shares(counts, len(mine), confidence, "guaranteed")
            spread = float(Supports.variance(self, len(mine), 0)) ** 0.5
            bar = max(least, quantile(1 - 2 * missed / max(2, len(candidates))) * spread)
            order = [index for index in np.argsort(-shares) if shares[index] > bar][:cap]
            prefixes = [candidates[index] for index in order]
            shares, low, high = shares[order], low[order], high[order]
        texts = [text.rstrip(_END).replace(_CUT, "…") for text in prefixes]
        provenance = self._provenance(reports, confidence, len(words), levels=self.levels)
        if any(text.endswith(_CUT) for text in prefixes):
            provenance["notes"] += (f"… stands for the rest of texts of more than {self._full} letters (`length`).",)
        return Answer([Column("text", texts, kind="text"), Column("share", shares, low, high)], **provenance)

    def variance(self, n: int, frequency: Number, *, fixed: bool = False) -> Fraction:
        """The variance of one share from n respondents, of whom one in `levels` reports on prefixes of that length."""
        return Supports.variance(self, n, frequency, fixed=fixed) * self.levels

    def sample_size(
        self,
        margin: Number,
        confidence: Number = USUAL,
        *,
        frequency: Number | None = None,
        interval: Interval = "guaranteed",
    ) -> int:
        """How many respondents are needed so that enough of them report on whole texts."""
        return self.levels * Supports.sample_size(self, margin, confidence, frequency=frequency, interval=interval)

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        rows = packed_rows(listed, 32 * _WORDS)
        words = np.ascontiguousarray(rows).view("<u4").reshape(-1, _WORDS)
        if (words >= np.array([self.levels, self.prime, self.prime, self.buckets])).any():
            raise DamagedReports("a report holds a level, a hash function or a bucket that this survey does not have")
        return rows

    @property
    def _full(self) -> int:
        return self.levels * self.step

    def _padded(self, texts: list[str]) -> list[str]:
        """Every text in letters of the alphabet, as long as is asked for, and a letter that says whether it goes on."""
        known, full = set(self.alphabet), self._full
        folded = texts if any(letter.isupper() for letter in known) else [text.lower() for text in texts]
        plain = ["".join(letter for letter in text if letter in known) for text in folded]
        return [text[:full].ljust(full, _END) + (_CUT if len(text) > full else _END) for text in plain]

    def _prefix(self, text: str, level: int) -> str:
        """The prefix that is reported at a level; at the last one it includes whether the text goes on."""
        return text if level == self.levels - 1 else text[: (level + 1) * self.step]

    def _numbers(self, prefixes: list[str], level: int) -> list[int]:
        return [number % self.prime for number in fingerprints([self._prefix(text, level) for text in prefixes])]

    def _extended(self, prefixes: list[str], level: int) -> list[str]:
        """Every prefix with every way to go on; after the end of a text there is only the end."""
        extended = prefixes
        for _ in range(self.step):
            extended = [
                prefix + letter
                for prefix in extended
                for letter in (_END if prefix.endswith(_END) else [*self.alphabet, _END])
            ]
        if level == self.levels - 1:
            extended = [
                prefix + end for prefix in extended for end in (_END if prefix.endswith(_END) else (_END, _CUT))
            ]
        return (
            extended if level else [prefix for prefix in extended if prefix.strip(_END)]
        )  # the empty text is no answer
