"""Heavy hitters: the frequent texts of a domain that nobody can list, found prefix by prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import Number, open_probability, whole
from giveortake.local.affine import bucket, is_prime, meeting, supports
from giveortake.local.frequencies import Supports
from giveortake.local.margins import USUAL, Interval, quantile
from giveortake.local.oracle import is_one, read_fraction, registered, source, survey_name, written
from giveortake.local.randomized_response import respond
from giveortake.local.rationals import ratio_below, survey_epsilon
from giveortake.local.reports import packed_rows
from giveortake.local.texts import PRIME, checked_texts, fingerprints, is_unicode
from giveortake.randomness import uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    from giveortake.randomness import Entropy

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-. "
_END = "\0"  # ends every text, so that "an" and "and" are different leaves
_CUT = "\1"  # replaces the rest of a text that is longer than is asked for
_LONGEST = 4096  # letters
_WORDS = 4  # of 32 bits in a report: level, a, b, y


@registered
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
    ratio: Fraction
    name: str

    kind: ClassVar[str] = "heavy-hitters"
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
        object.__setattr__(self, "epsilon", survey_epsilon(epsilon))
        object.__setattr__(self, "name", survey_name(name))
        object.__setattr__(self, "length", whole("length", length))
        object.__setattr__(self, "step", whole("step", step))
        if self.length % self.step or self.length > _LONGEST:
            raise InvalidParameter("length", length, f"is not a multiple of step = {step}, and at most {_LONGEST}")
        if type(alphabet) is not str or not is_unicode(alphabet):
            raise InvalidParameter("alphabet", alphabet, "is not a text")
        if {_END, _CUT} & set(alphabet) or len(set(alphabet)) < max(2, len(alphabet)):
            raise InvalidParameter("alphabet", alphabet, "is not made of two or more different letters")
        object.__setattr__(self, "alphabet", alphabet)
        object.__setattr__(self, "prime", whole("prime", prime, least=2))
        if self.prime > PRIME or not is_prime(self.prime):
            raise InvalidParameter("prime", prime, "is not a prime of at most 2^31 − 1")
        object.__setattr__(self, "ratio", ratio_below(self.epsilon))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> HeavyHitters:
        """The survey that `to_json` described."""
        return cls(
            read_fraction("epsilon", parameters["epsilon"]),
            length=parameters["length"],
            step=parameters["step"],
            alphabet=parameters["alphabet"],
            prime=parameters["prime"],
            name=parameters.get("name", ""),
        )

    def parameters(self) -> dict[str, Any]:
        return {
            "epsilon": written(self.epsilon),
            "length": self.length,
            "step": self.step,
            "alphabet": self.alphabet,
            "prime": self.prime,
        }

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
        found: dict[Hashable, Fraction] = {}
        for level in range(self.levels):
            (number,) = self._numbers(texts, level)
            for a in range(self.prime):
                for b in range(self.prime):
                    own = bucket(number, a, b, self.prime, self.buckets)
                    for y in range(self.buckets):
                        found[level, a, b, y] = unit * (self.ratio if y == own else 1)
        return found

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
        kept = [""]
        shares = low = high = np.zeros(0)
        for level in range(self.levels):
            candidates = self._extended(kept, level)
            mine = words[words[:, 0] == level]
            if not candidates or not len(mine):
                kept, shares, low, high = [], np.zeros(0), np.zeros(0), np.zeros(0)
                break
            numbers = np.array(self._numbers(candidates, level), dtype=np.int64)
            counts = supports((mine[:, 1], mine[:, 2], mine[:, 3]), numbers, self.prime, self.buckets)
            shares, low, high = self.shares(counts, len(mine), confidence, "guaranteed")
            spread = float(Supports.variance(self, len(mine), 0)) ** 0.5
            bar = max(least, quantile(1 - 2 * missed / max(2, len(candidates))) * spread)
            order = [place for place in np.argsort(-shares) if shares[place] > bar][:cap]
            kept = [candidates[place] for place in order]
            shares, low, high = shares[order], low[order], high[order]
        shown = [text.rstrip(_END).replace(_CUT, "…") for text in kept]
        provenance = self._provenance(reports, confidence, len(words), levels=self.levels)
        if any(text.endswith(_CUT) for text in kept):
            provenance["notes"] += (f"… stands for the rest of texts of more than {self._full} letters (`length`).",)
        return Answer([Column("text", shown, kind="text"), Column("share", shares, low, high)], **provenance)

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
        found = prefixes
        for _ in range(self.step):
            found = [
                prefix + letter
                for prefix in found
                for letter in (_END if prefix.endswith(_END) else [*self.alphabet, _END])
            ]
        if level == self.levels - 1:
            found = [prefix + end for prefix in found for end in (_END if prefix.endswith(_END) else (_END, _CUT))]
        return found if level else [prefix for prefix in found if prefix.strip(_END)]  # the empty text is no answer
