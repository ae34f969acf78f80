"""The base of all surveys: a randomiser that respondents run, and an estimator for whoever collects the reports."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from giveortake.errors import DamagedReports, ForeignReports, GiveOrTakeError, InvalidParameter
from giveortake.exact import exp_up, log_up, positive, rational, shown_up
from giveortake.local.reports import Reports, joined, read_reports
from giveortake.local.texts import checked_texts, is_unicode
from giveortake.privacy import PureDP, events
from giveortake.randomness import SYSTEM_ENTROPY

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from fractions import Fraction

    import numpy as np

    from giveortake.answers import Answer, Estimate
    from giveortake.exact import Number
    from giveortake.randomness import Entropy

_VERSION = 1
_PLAIN = "A plain list is taken as reports that were already randomised; true answers belong in randomize(…)."
_KINDS: dict[str, Callable[[Mapping[str, Any]], Oracle]] = {}

Kind = TypeVar("Kind", bound="type[Oracle]")


class Oracle(ABC):
    """A survey in which nobody needs to be trusted: every answer is randomised before it leaves its owner.

    `epsilon` is the promise to one respondent for one report, whatever the collector does with it; `ratio` is the
    largest ratio of probabilities of one report under two answers, an exact fraction that is at most e^ε.
    """

    __slots__ = ()

    kind: ClassVar[str]
    citation: ClassVar[str]
    in_rows: ClassVar[bool] = False  # whether a report is a row of bits rather than a whole number
    name: str  # what is asked: two surveys with different names are different surveys

    @property
    @abstractmethod
    def epsilon(self) -> Fraction:
        """The promise to a respondent for one report."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of probabilities of one report under two answers."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What clients need to know, as plain values for JSON."""

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
        epsilon, factor = shown_up(self.epsilon, digits=5), shown_up(exp_up(self.epsilon), digits=5)
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
        document = {"version": _VERSION, "kind": self.kind, **self.parameters()}
        if self.name:
            document["name"] = self.name
        return json.dumps(document, sort_keys=True, ensure_ascii=False)

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
            found = self.stored(reports.data)
        else:
            found = self.checked(reports)
        if not len(found):
            raise InvalidParameter("reports", [], "is empty", hint="nothing can be estimated from no reports")
        return found

    def _provenance(self, reports: Any, confidence: Number, n: int, **more: object) -> dict[str, Any]:
        made = isinstance(reports, Reports) or (isinstance(reports, list | tuple) and isinstance(reports[0], Reports))
        return {
            "guarantee": self.guarantee,
            "cost": self.epsilon,
            "confidence": confidence,
            "citations": (self.citation,),
            "recipe": {"survey": self.kind, "fingerprint": self.fingerprint, "reports": n, **more},
            "entropy": "the respondents' own",
            "notes": (
                "ε is what each respondent spends on one report; estimating is free.",
                *([] if made else [_PLAIN]),
            ),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oracle) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())


def registered(kind: Kind) -> Kind:
    """Register a kind of survey, so that `from_json` can read it."""
    _KINDS[kind.kind] = kind.from_parameters  # type: ignore[attr-defined]  # (every kind of survey has one)
    return kind


def from_json(text: str, most_epsilon: Number | None = None) -> Any:
    """The survey whose parameters `to_json` wrote; refused if one report would cost more than `most_epsilon`."""
    try:
        document = json.loads(text, object_pairs_hook=without_repetition)
        kind = document.pop("kind")
        version = document.pop("version")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        if isinstance(error, DamagedReports):
            raise
        raise DamagedReports("this is not the JSON of a survey") from None
    if type(version) is not int or version != _VERSION or not isinstance(kind, str) or kind not in _KINDS:
        raise DamagedReports(f"a survey of kind {kind!r} and version {version!r} is not known here")
    try:
        survey = _KINDS[kind](document)
        stated = rational("epsilon", document.get("epsilon", survey.epsilon))
        survey.fingerprint  # noqa: B018 (parameters that cannot be written are not parameters)
    except GiveOrTakeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise DamagedReports(f"the parameters of this survey of kind {kind!r} are not complete") from None
    if stated != survey.epsilon:
        raise DamagedReports("these parameters state another ε than they have")
    if most_epsilon is not None and survey.epsilon > positive("most_epsilon", most_epsilon):
        raise InvalidParameter(
            "epsilon", shown_up(survey.epsilon), f"is more than {most_epsilon}, the most that was agreed to"
        )
    return survey


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; refused if a key occurs twice, because readers would disagree on which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DamagedReports("a key occurs twice in this JSON")
    return found


def survey_name(name: str) -> str:
    """Check the name of a survey, and return it without spaces around it."""
    if not isinstance(name, str):
        raise InvalidParameter("name", name, "is not a text", hint="write the question that is asked")
    return name.strip()


def source(entropy: Entropy | None) -> Entropy:
    """The source given, or the operating system's."""
    return SYSTEM_ENTROPY if entropy is None else entropy


def is_one(values: Any) -> bool:
    """Whether this is one answer rather than a list or a column of them."""
    return isinstance(values, str | bytes) or not hasattr(values, "__len__")


def written(number: Fraction) -> str:
    """An exact fraction as JSON holds it."""
    return str(number)


def read_fraction(name: str, value: Any) -> Fraction:
    """An exact fraction that JSON held."""
    return rational(name, value)
