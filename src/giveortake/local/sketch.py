"""Count-mean sketch: how often texts from a domain too large to list were answered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log, prod
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import open_probability, whole
from giveortake.local.affine import bucket, meeting
from giveortake.local.bits import grouped_sums, set_bits
from giveortake.local.frequencies import Supports
from giveortake.local.margins import USUAL, Interval
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import packed_rows
from giveortake.local.texts import PRIME, checked_texts, fingerprints, numbered
from giveortake.randomness import SYSTEM_ENTROPY, bernoulli, packed_bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from giveortake.exact import Number
    from giveortake.randomness import Entropy

_ROW_BYTES = 2  # every report begins with the number of its hash function
_SEED_BYTES = 16
_STEPS = 64  # halvings of an interval that is at most 1 wide


@registered
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
    name: str

    kind: ClassVar[str] = "count-mean-sketch"
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
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "functions", whole("functions", functions))
        object.__setattr__(self, "buckets", whole("buckets", buckets, least=2))
        if self.functions > 1 << 16 or self.buckets > 1 << 16:
            raise InvalidParameter("functions", functions, "and buckets may be at most 65,536")
        object.__setattr__(self, "seed", bytes(SYSTEM_ENTROPY.read(_SEED_BYTES)).hex() if seed is None else str(seed))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> CountMeanSketch:
        """The survey that `to_json` described."""
        return cls(
            read_fraction("epsilon", parameters["epsilon"]),
            functions=parameters["functions"],
            buckets=parameters["buckets"],
            seed=parameters["seed"],
            name=parameters.get("name", ""),
        )

    def parameters(self) -> dict[str, Any]:
        return {
            "epsilon": written(self.epsilon),
            "functions": self.functions,
            "buckets": self.buckets,
            "seed": self.seed,
        }

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
        found: np.ndarray[Any, np.dtype[np.int64]] = bucket(numbers, a, b, PRIME, self.buckets)
        return found

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = self.places(checked_texts([value]))[:, 0]
        true, false = self.odds / (self.odds + 1), 1 / (self.odds + 1)
        return {
            (row, bits): prod(
                ((true if (place == own[row]) == bool(bit) else false) for place, bit in enumerate(bits)),
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
        more, less = self.collisions(1 - missed)
        return Answer(
            [Column("text", texts, kind="text"), Column("share", shares, low - more, high + less)],
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
