"""The base of all surveys: a randomiser that respondents run, and an estimator for whoever collects the reports.

- Texts as answers: checked, and as numbers that hash functions take.
- Coins with rational probabilities that never spend more than ε.
- Intervals for a probability, from the number of successes in a number of trials.
- What respondents send: randomised answers, and the survey they belong to; and the registry of kinds of surveys.

Theorem [ZS13]: let X be binomial (n, θ), H(x, θ) = x ln(x/θ) + (1−x) ln((1−x)/(1−θ)), and C(k) = Φ(±√(2n·H(k/n, θ)))
with the sign of k/n − θ for 0 < k < n, C(0) = (1−θ)^n, C(n) = 1 − θ^n. Then C(k) ≤ P[X ≤ k] ≤ C(k+1). So the θ for
which neither tail is below α/2 lie in an interval that needs no limit theorem and is at most one success wider on
either side than Clopper and Pearson's.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, final, get_args

import numpy as np
import numpy.typing as npt

from giveortake import codec, exact
from giveortake.errors import HIDDEN, DamagedReports, ForeignReports, InvalidParameter
from giveortake.exact import Number, decimal_up, exp_down, exp_up, log_up, positive
from giveortake.mechanisms.histogram import elements
from giveortake.privacy import PureDP, events

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from giveortake.answers import Answer, Estimate
    from giveortake.randomness import Entropy


PRIME = 2**31 - 1  # texts become numbers below it; two texts meet there with probability 2^-31


def checked_texts(values: Any) -> list[str]:
    """A list or a column of texts; anything else is refused, and not quoted."""
    listed = values if type(values) is list and set(map(type, values)) == {str} else elements(values)
    if set(map(type, listed)) - {str}:
        raise InvalidParameter("answer", HIDDEN, "is not a text")
    if not is_unicode("".join(listed)):
        raise InvalidParameter("answer", HIDDEN, "contains half a character (a lone surrogate)")
    return listed


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def numbered(texts: list[str]) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """The different texts, and for each text which of them it is."""
    known = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return list(known), np.array(list(map(known.__getitem__, texts)), dtype=np.int64)


def fingerprints(texts: list[str]) -> list[int]:
    """Every text as a number below 2^31 − 1; the same on every machine."""
    known = {
        text: int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % PRIME
        for text in set(texts)
    }
    return [known[text] for text in texts]


MOST_EPSILON = 32  # from here on a report is the truth, give or take one in 10^13
LEAST_EPSILON = Fraction(1, 10**6)  # a survey of everybody on earth learns nothing from less
_BITS = 32


def survey_epsilon(epsilon: Number) -> Fraction:
    """Check the ε of a survey; one that protects nobody, or from which nobody learns, is refused."""
    exact_epsilon = positive("epsilon", epsilon)
    if exact_epsilon > MOST_EPSILON:
        raise InvalidParameter(
            "epsilon", epsilon, f"is above {MOST_EPSILON} and protects nobody", hint="between 0.5 and 4 is usual"
        )
    if exact_epsilon < LEAST_EPSILON:
        raise InvalidParameter("epsilon", epsilon, "is below 1e-6, and nothing could be learned from any survey")
    return exact_epsilon


@lru_cache(maxsize=256)
def ratio_below(epsilon: Fraction) -> Fraction:
    """The ratio of two probabilities that a coin is given: a fraction at most e^ε, and less by at most ε·2^-32.

    Rounding is downwards, so that the promise is kept with something to spare, and every probability of a report is
    rational: whoever doubts the promise can add them up.

    >>> ratio_below(Fraction(1))
    Fraction(23349863109, 8589934592)
    """
    bits = _BITS + max(0, (1 / epsilon).numerator.bit_length() - (1 / epsilon).denominator.bit_length() + 1)
    return Fraction(floor(exp_down(epsilon) * 2**bits), 2**bits)


FloatArray: TypeAlias = "npt.NDArray[np.float64]"
Interval: TypeAlias = Literal["guaranteed", "normal"]

USUAL = Fraction(95, 100)
_MOST_RESPONDENTS = 10**15  # counts up to here are exact in doubles
_STEPS = 48  # halvings of an interval that is at most 1 wide
_TINY = 1e-300  # replaces zero in logarithms that are multiplied by zero
_WIDER = 1e-12  # for what doubles have rounded away


def checked_interval(interval: Interval) -> Interval:
    """Check the kind of interval, and return it."""
    if interval not in get_args(Interval):
        raise InvalidParameter("interval", interval, "is unknown", hint='write "guaranteed" or "normal"')
    return interval


def require_possible(respondents: float, margin: exact.Number) -> None:
    """Refuse a margin that needs more respondents than there are people, or than doubles count exactly."""
    if not respondents <= _MOST_RESPONDENTS:
        raise InvalidParameter("margin", margin, "needs more than 10¹⁵ respondents", hint="ask for a wider margin")


def least_number(reaches: Callable[[int], bool], first: int, margin: exact.Number) -> int:
    """The least number of respondents that reaches a margin, searched for from `first` on."""
    low, high = 0, first
    while not reaches(high):
        low, high = high, 2 * high
        require_possible(high, margin)
    while high - low > 1:
        between = (low + high) // 2
        low, high = (low, between) if reaches(between) else (between, high)
    return high


def quantile(confidence: exact.Number) -> float:
    """Φ⁻¹(1 − α/2), rounded up: how many standard deviations a two-sided normal interval reaches."""
    return _quantile(exact.open_probability("confidence", confidence))


@lru_cache(maxsize=256)
def _quantile(confidence: Fraction) -> float:
    missed = 1 - confidence
    with exact.precision():
        return math.nextafter(float(exact.upper(exact.normal_quantile(exact.enclosure(1 - missed / 2)))), math.inf)


def binomial_interval(successes: Any, trials: int, confidence: exact.Number) -> tuple[FloatArray, FloatArray]:
    """For each number of successes, an interval that holds the probability of success with that confidence.

    Guarantee [ZS13]: whatever the probability is, the interval misses it with probability at most 1 − confidence, for
    every number of trials. Rounding of numbers: outwards.
    """
    counts, z = np.asarray(successes, dtype=np.float64), quantile(confidence)
    tail = float(1 - exact.rational("confidence", confidence)) / 2
    reach = z * z / (2 * trials)
    high = _solved((counts + 1) / trials, reach, upwards=True)
    low = _solved((counts - 1) / trials, reach, upwards=False)
    edge = -math.expm1(math.log1p(-tail) / trials)  # 1 − (1 − α/2)^(1/n)
    high = np.where(counts >= trials - 1, np.where(counts == trials, 1.0, 1 - edge), high)
    low = np.where(counts <= 1, np.where(counts == 0, 0.0, edge), low)
    return np.clip(low - _WIDER, 0, 1), np.clip(high + _WIDER, 0, 1)


def normal_interval(successes: Any, trials: int, confidence: exact.Number) -> tuple[FloatArray, FloatArray]:
    """Such intervals by the central limit theorem [Lal20, eq. 15]: right in the limit of many trials."""
    share = np.asarray(successes, dtype=np.float64) / trials
    reach = quantile(confidence) * np.sqrt(share * (1 - share) / trials)
    return share - reach, share + reach


def interval_of(
    successes: Any, trials: int, confidence: exact.Number, interval: Interval
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the kind asked for: guaranteed or normal."""
    chosen = binomial_interval if checked_interval(interval) == "guaranteed" else normal_interval
    return chosen(successes, trials, confidence)


def _solved(share: FloatArray, reach: float, *, upwards: bool) -> FloatArray:
    """The θ beyond each share, on one side, at which H(share, θ) = reach; bisected so that the result is beyond it."""
    hit = np.clip(share, 0.0, 1.0)
    miss = 1 - hit
    bar = hit * np.log(np.maximum(hit, _TINY)) + miss * np.log(np.maximum(miss, _TINY)) - reach
    near, far = hit.copy(), np.full_like(hit, 1.0 if upwards else 0.0)
    for _ in range(_STEPS):
        middle = (near + far) / 2
        within = bar < hit * np.log(np.maximum(middle, _TINY)) + miss * np.log(np.maximum(1 - middle, _TINY))
        near = np.where(within, middle, near)
        far = np.where(within, far, middle)
    return far


@final
class Reports:
    """Randomised answers to one survey: safe to send, to store and to publish.

    `survey` is the fingerprint of the parameters with which they were made. `data` holds one number for each report,
    or one row of bytes for reports that are many bits.
    """

    __slots__ = ("_labels", "data", "survey")

    def __init__(self, survey: str, data: np.ndarray[Any, np.dtype[Any]], labels: tuple[Hashable, ...] = ()) -> None:
        self.survey = survey
        self.data = data
        self._labels = labels

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return (self._readable(item) for item in self.data)

    def __getitem__(self, index: int) -> Any:
        return self._readable(self.data[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        items = self.data if not self._labels else np.array(self._labels)[self.data]
        return np.asarray(items, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        return self.survey == other.survey and np.array_equal(self.data, other.data)

    def __hash__(self) -> int:
        return hash((self.survey, len(self)))

    def __repr__(self) -> str:
        return f"<{counted(len(self))} to survey {self.survey[:8]}>"

    def __add__(self, other: object) -> Reports:
        return joined([self, other]) if isinstance(other, Reports) else NotImplemented

    def to_json(self) -> str:
        """One JSON object: the survey's fingerprint and the reports, rows of bytes in hexadecimal."""
        listed = self.data.tolist() if self.data.ndim == 1 else [bytes(row).hex() for row in self.data]
        return json.dumps({"survey": self.survey, "reports": listed})

    def with_data(self, data: np.ndarray[Any, np.dtype[Any]]) -> Reports:
        """Other reports to the same survey."""
        return Reports(self.survey, data, self._labels)

    def _readable(self, item: Any) -> Any:
        if self._labels:
            return self._labels[int(item)]
        return bytes(item).hex() if isinstance(item, np.ndarray) else int(item)


def counted(number: int) -> str:
    """How many reports, in words.

    >>> counted(1), counted(1700)
    ('1 report', '1,700 reports')
    """
    return f"{number:,} report{'' if number == 1 else 's'}"


def joined(parts: Sequence[Reports]) -> Reports:
    """All reports of several collections, which must belong to one survey."""
    first = parts[0]
    for part in parts:
        if part.survey != first.survey:
            raise ForeignReports(
                f"reports to survey {part.survey[:8]} cannot be joined with those to {first.survey[:8]}"
            )
    return first.with_data(np.concatenate([part.data for part in parts]))


def read_reports(text: str) -> tuple[str, list[Any]]:
    """The fingerprint and the reports in a JSON text, not yet checked against a survey."""
    try:
        document = json.loads(text)
        survey, listed = document["survey"], document["reports"]
    except (ValueError, TypeError, KeyError):
        raise DamagedReports("this is not a JSON object with a survey and its reports") from None
    if len(document) > 2 or not isinstance(survey, str) or not isinstance(listed, list):
        raise DamagedReports("these reports are in a form that this version does not know")
    return survey, listed


def as_array(listed: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """What a stranger sent as an array, without trusting that it is one."""
    try:
        return np.asarray(listed)
    except (ValueError, OverflowError):  # rows of different lengths, or numbers beyond all bounds
        raise DamagedReports("these are not reports", hint="pass what `randomize` returned") from None


def whole_numbers(listed: Any, below: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Reports that are numbers from 0 to below − 1; anything else was not made by the survey's randomiser."""
    numbers = as_array(listed)
    if numbers.size == 0:
        return np.zeros(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise DamagedReports("reports to this survey are whole numbers", hint="pass what `randomize` returned")
    if numbers.min() < 0 or numbers.max() >= below:
        raise DamagedReports(f"a report is not one of the numbers from 0 to {below - 1}")
    return numbers.astype(np.int64, copy=False)


def packed_rows(listed: Any, columns: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Reports that are rows of `columns` bits: bytes in an array, or texts in hexadecimal."""
    width = -(-columns // 8)
    if isinstance(listed, np.ndarray):
        rows = listed
    else:
        try:
            texts = [bytes.fromhex(item) for item in listed]
        except (ValueError, TypeError):
            raise DamagedReports("reports to this survey are rows of bits in hexadecimal") from None
        if any(len(text) != width for text in texts):
            raise DamagedReports(f"a report to this survey has {columns} bits")
        rows = np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(len(texts), width)
    if rows.ndim != 2 or rows.dtype != np.uint8 or rows.shape[1] != width:
        raise DamagedReports(f"a report to this survey has {columns} bits")
    if columns % 8 and len(rows) and int(rows[:, -1].max()) >> (columns % 8):
        raise DamagedReports(f"a report to this survey has {columns} bits, and no bit after them is set")
    return rows


_PLAIN = "A plain list is taken as reports that were already randomised; true answers belong in randomize(…)."


class Oracle(ABC):
    """A survey in which nobody needs to be trusted: every answer is randomised before it leaves its owner.

    `epsilon` is the promise to one respondent for one report, whatever the collector does with it; `ratio` is the
    largest ratio of probabilities of one report under two answers, an exact fraction that is at most e^ε.
    """

    __slots__ = ()

    citation: ClassVar[str]
    in_rows: ClassVar[bool] = False  # whether a report is a row of bits rather than a whole number
    name: str  # what is asked: two surveys with different names are different surveys

    @property
    def kind(self) -> str:
        """The stored name of this kind of survey."""
        return codec.tag_of(type(self))

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    @abstractmethod
    def epsilon(self) -> Fraction:
        """The promise to a respondent for one report."""

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of one report under two answers."""
        return ratio_below(self.epsilon)

    @abstractmethod
    def law(self, value: Any) -> dict[Hashable, Fraction]:
        """The probability of every report that an answer can lead to, exactly; for domains that are small."""

    @abstractmethod
    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        """A report for one answer, or `Reports` for a list or a column of answers."""

    @abstractmethod
    def estimate(self, reports: Any, confidence: Number = ...) -> Answer | Estimate:
        """The estimate for all respondents together, with intervals."""

    @abstractmethod
    def variance(self, n: int, frequency: Number) -> Fraction:
        """The variance of an unclipped estimate from n independent respondents."""

    @abstractmethod
    def sample_size(self, margin: Number, confidence: Number = ...) -> int:
        """How many respondents make the interval at most ± margin."""

    @abstractmethod
    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Check that this survey's randomiser could have made these reports, and return them."""

    def code(self, value: Any) -> int | str:
        """The code of an answer: the randomiser sees nothing else, so equal codes have the same law of reports."""
        (text,) = checked_texts([value])
        return text

    def is_code(self, code: object) -> bool:
        """Whether some answer has this code."""
        return isinstance(code, str) and is_unicode(code)

    # -- what is promised -------------------------------------------------------------------------------------

    @property
    def guarantee(self) -> PureDP:
        """The promise to one respondent for one report: what they answered is protected, not that they did."""
        return PureDP(self.epsilon, neighbours="change-one")

    @property
    def promise(self) -> str:
        """The promise in words for a respondent; the logarithm of a whole number is written as such."""
        epsilon, factor = decimal_up(self.epsilon, digits=5), decimal_up(exp_up(self.epsilon), digits=5)
        if self.ratio.denominator == 1 and log_up(self.ratio) == self.epsilon:
            epsilon, factor = f"ln {self.ratio} ≈ {epsilon}", str(self.ratio)
        return f"ε = {epsilon}: any report is at most {factor} times as likely with one answer as with another"

    def event(self) -> events.Event:
        """One report of one respondent, for accountants."""
        return events.Pure(self.epsilon)

    def asked(self, times: int) -> PureDP:
        """The promise to a respondent who reports `times` times, with fresh coins every time [PDP21, L1.2]."""
        return self.guarantee.repeat(times)

    # -- between machines -------------------------------------------------------------------------------------

    @property
    def fingerprint(self) -> str:
        """A hash of the parameters and the name: reports carry it, and are refused by any other survey."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:32]

    def to_json(self) -> str:
        """The parameters, for the machines of respondents; `gt.local.from_json` reads them."""
        return codec.text_of(self)

    def read(self, text: str) -> Reports:
        """Reports from JSON, if they were made for this survey."""
        survey, listed = read_reports(text)
        if survey != self.fingerprint:
            raise ForeignReports(
                f"these reports belong to survey {survey[:8]}, and this is {self.fingerprint[:8]}",
                hint="estimate them with the parameters they were made with",
            )
        return self._reports(self.stored(self.from_plain(listed)))

    def received(self, texts: list[str]) -> Reports:
        """Reports that came as texts: whole numbers, or rows of bits in hexadecimal."""
        try:
            listed = texts if self.in_rows else [int(text) for text in texts]
        except ValueError:
            raise DamagedReports("a report to this survey is a whole number") from None
        return self._reports(self.stored(self.from_plain(listed)))

    def stored(self, data: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """Check what `Reports` hold; a survey that shows its reports as labels stores their places."""
        return self.checked(data)

    def from_plain(self, listed: list[Any]) -> Any:
        """Reports as JSON holds them, in a form that `checked` takes."""
        return listed

    def _reports(self, data: np.ndarray[Any, np.dtype[Any]]) -> Reports:
        return Reports(self.fingerprint, data)

    def _data(self, reports: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """The reports as an array, checked: what a stranger sends is never trusted."""
        if isinstance(reports, list | tuple) and reports and all(isinstance(part, Reports) for part in reports):
            reports = joined(reports)
        if isinstance(reports, Reports):
            if reports.survey != self.fingerprint:
                raise ForeignReports(
                    f"these reports belong to survey {reports.survey[:8]}, and this is {self.fingerprint[:8]}",
                    hint="estimate them with the parameters they were made with",
                )
            data = self.stored(reports.data)
        else:
            data = self.checked(reports)
        if not len(data):
            raise InvalidParameter("reports", [], "is empty", hint="nothing can be estimated from no reports")
        return data

    def _provenance(self, reports: Any, confidence: Number, n: int, **extra: object) -> dict[str, Any]:
        is_of_survey = isinstance(reports, Reports) or (
            isinstance(reports, list | tuple) and isinstance(reports[0], Reports)
        )
        return {
            "guarantee": self.guarantee,
            "cost": self.epsilon,
            "confidence": confidence,
            "citations": (self.citation,),
            "recipe": {"survey": self.kind, "fingerprint": self.fingerprint, "reports": n, **extra},
            "entropy": "the respondents' own",
            "notes": (
                "ε is what each respondent spends on one report; estimating is free.",
                *([] if is_of_survey else [_PLAIN]),
            ),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oracle) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())


def from_json(text: str, most_epsilon: Number | None = None) -> Any:
    """The survey whose parameters `to_json` wrote; refused if one report would cost more than `most_epsilon`."""
    survey: Oracle = read_document(Oracle, text, "survey")
    if most_epsilon is not None and survey.epsilon > positive("most_epsilon", most_epsilon):
        raise InvalidParameter(
            "epsilon", decimal_up(survey.epsilon), f"is more than {most_epsilon}, the most that was agreed to"
        )
    return survey


def read_document(kind: type, text: str, what: str) -> Any:
    """Read a document of a stranger's: one that nothing here could have written is damaged."""
    try:
        return codec.value_of(kind, text, what=what)
    except InvalidParameter as refusal:
        if refusal.name != what:
            raise
        raise DamagedReports(str(refusal)) from None


def survey_name(name: str) -> str:
    """Check the name of a survey, and return it without spaces around it."""
    if not isinstance(name, str):
        raise InvalidParameter("name", name, "is not a text", hint="write the question that is asked")
    return name.strip()


def is_one(values: Any) -> bool:
    """Whether this is one answer rather than a list or a column of them."""
    return isinstance(values, str | bytes) or not hasattr(values, "__len__")
