"""Terms of a request: contribution bounds, spends and confidence, as keyword arguments and as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast, final, get_args

from giveortake import codec
from giveortake.errors import InvalidParameter
from giveortake.exact import Number, counted, decimal, open_probability, percent, rational, rough_percent, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class SpendTerms(TypedDict, total=False):
    """What an answer may cost, and how sure its intervals are. One spend is stated, or a margin, or a share.

    - `epsilon`: a pure ε, kept by Laplace noise; with `delta` an (ε, δ), kept by Gaussian noise
    - `rho`: a zero-concentrated ρ, kept by Gaussian noise
    - `mu`: a Gaussian μ, kept by Gaussian noise
    - `margin`: instead of a spend, the least spend at which no column's interval is wider to either side
    - `share`: instead of a spend, a share of the whole budget, such as "5 %": shares that add up to one fit it
    - `confidence`: of every interval; 0.95 unless stated
    - `confidence_over`: "cell" if every interval holds with that confidence, "answer" if all do together; "cell" unless
      stated
    - `key_delta`: the δ for finding keys in the data; unless stated, a tenth of the budget's δ for keys, or the
      best part of `delta` if that is less
    - `n`: how many rows a group has, if that is public or was released: means are as sure as it is large
    - `aim`: of groups that have to be found: "numbers", unless stated, for surer numbers, which find them; "groups" for
      more groups, which weights find
    """

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mu: Number | None
    margin: Number | None
    share: Number | None
    confidence: Number | None
    confidence_over: str | None
    key_delta: Number | None
    n: Number | None
    aim: str | None


TERMS = tuple(SpendTerms.__annotations__)


class CapTerms(TypedDict, total=False):
    """How much of one person counts. Each cap only lowers what counts, and the noise follows the caps.

    - `rows_per_person`: how many rows of a person count in each table, chosen before any filter; a number, or one for
      each table: `{"flights": 600, "planes": 1}`
    - `groups_per_person`: how many groups of the answer a person counts in
    - `rows_per_group`: how many rows of a person count in each group, or in all if there are no groups
    - `caps`: `"best"` takes the caps of the least total error of what is asked, by a profile that was released
    """

    rows_per_person: Number | Mapping[str, Number] | None
    groups_per_person: Number | None
    rows_per_group: Number | None
    caps: str | None


class AskTerms(SpendTerms, CapTerms, total=False):
    """All keyword arguments of a question: what it may cost, and how much of one person counts."""


CAP_TERMS = tuple(CapTerms.__annotations__)


Over: TypeAlias = Literal["cell", "answer"]
Aim: TypeAlias = Literal["numbers", "groups"]


@final
class Confidence(Fraction):
    """A probability with which every interval holds (`over="cell"`), or all of one answer together (`over="answer"`).

    It is the number itself, so that code that needs only the number can use it as one.

    >>> Confidence("0.95") == Fraction(19, 20), Confidence("0.95", "answer").miss(10) == 0.005
    (True, True)
    """

    __slots__ = ("cells", "over")

    over: Over
    cells: int | None  # of the whole answer, where only a part of it is looked at

    def __new__(cls, level: Number, over: str | None = None, cells: int | None = None) -> Confidence:
        """Take the level as stated; unless `over` is stated, it is that of the level if this is a Confidence."""
        known = over if over is not None else getattr(level, "over", "cell")
        if known not in get_args(Over):
            raise InvalidParameter(
                "confidence_over", known, 'is neither "cell" nor "answer"', hint='confidence_over="cell" or "answer"'
            )
        confidence = super().__new__(cls, _level(level))
        confidence.over, confidence.cells = cast("Over", known), cells
        return confidence

    def miss(self, cells: int) -> float:
        """The probability with which one of `cells` intervals may miss.

        Guarantee: if `over` is the answer, each of its c intervals misses with probability at most (1 − level) / c, so
        that any of them misses with probability at most 1 − level, by the union bound.
        """
        count = max(1, cells if self.cells is None else self.cells)
        return float((1 - self) / (count if self.over == "answer" else 1))

    def __reduce__(self) -> tuple[type[Confidence], tuple[str, Over, int | None]]:
        return type(self), (str(self), self.over, self.cells)

    def __copy__(self) -> Confidence:
        return self

    def __deepcopy__(self, _memo: object) -> Confidence:
        return self


_CONFIDENCE = re.compile(r"([0-9]{1,300}/[0-9]{1,300})( of the answer)?")


def _confidence_text(confidence: Confidence) -> str:
    return codec.fraction_text(confidence) + (" of the answer" if confidence.over == "answer" else "")


def _confidence_of(text: str) -> Confidence:
    match = _CONFIDENCE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return Confidence(codec.fraction_of(match[1]), "answer" if match[2] else "cell")


codec.scalar(
    Confidence,
    _confidence_text,
    _confidence_of,
    {"type": "string", "pattern": f"^{_CONFIDENCE.pattern}$"},
    shape="text",
)


def _level(number: Number) -> Fraction:
    """Check the probability; a refusal of 95 suggests 0.95."""
    level = rational("confidence", number)
    if not 0 < level < 1:
        suggestion = decimal(level / 100, 12) if 50 <= level < 100 else "0.95"
        hint = f'confidence="{suggestion}"'
        raise InvalidParameter("confidence", number, "is not strictly between 0 and 1", hint=hint)
    return open_probability("confidence", number)


_MOST = 10**9  # of any cap; engines compute with them in 64 bits


@final
@dataclass(frozen=True, slots=True)
class Caps:
    """Caps on one person's contribution; None where nothing is capped. Each of them only lowers what counts.

    At most `rows_per_person` rows count, in each table or in the tables that are named, chosen before any filter by a
    hash of what they hold and of their number among equal rows of the person; of those at most `rows_per_group` in each
    of at most `groups_per_person` groups.

    >>> str(Caps(4, 3)), str(Caps(rows_per_group=1))
    ('at most 3 rows of a person in each of at most 4 groups', 'at most 1 row of a person')
    >>> str(Caps(rows_per_person={"flights": 600, "planes": 1}))
    'at most 600 rows of a person in flights and 1 in planes, chosen before any filter'
    >>> str(Caps(2, 9, 60))
    'at most 60 rows of a person, chosen before any filter; then at most 9 rows of a person in each of at most 2 groups'
    """

    groups_per_person: int | None = None
    rows_per_group: int | None = None
    rows_per_person: int | Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        rows: Any = self.rows_per_person
        if isinstance(rows, Mapping):
            rows = {name: _cap(f"rows_per_person[{name!r}]", cap) for name, cap in rows.items()}
            if not rows:
                raise InvalidParameter("rows_per_person", {}, "names no table", hint='{"flights": 600}')
        else:
            rows = _cap("rows_per_person", rows)
        object.__setattr__(self, "groups_per_person", _cap("groups_per_person", self.groups_per_person))
        object.__setattr__(self, "rows_per_group", _cap("rows_per_group", self.rows_per_group))
        object.__setattr__(self, "rows_per_person", rows)

    @property
    def stated(self) -> bool:
        """Whether there is any cap."""
        return not (self.groups_per_person is None and self.rows_per_group is None and self.rows_per_person is None)

    def rows_in(self, table: str) -> int | None:
        """How many rows of a person count in a table; None if they are not capped."""
        if isinstance(self.rows_per_person, Mapping):
            return self.rows_per_person.get(table)
        return self.rows_per_person

    def to_json(self) -> dict[str, Any]:
        """The caps that are stated, by name."""
        caps: dict[str, Any] = codec.write(self, Caps)
        return caps

    def __str__(self) -> str:
        within = _within(self.groups_per_person, self.rows_per_group)
        if self.rows_per_person is None:
            return within or "everything of a person counts"
        return "; then ".join(part for part in (f"{self._rows()}, chosen before any filter", within) if part)

    def _rows(self) -> str:
        if not isinstance(self.rows_per_person, Mapping):
            return f"at most {counted(self.rows_per_person or 0, 'row')} of a person"
        (first, most), *further = self.rows_per_person.items()
        return _listed(
            [f"at most {counted(most, 'row')} of a person in {first}", *(f"{cap:,} in {name}" for name, cap in further)]
        )


def _within(groups: int | None, rows: int | None) -> str:
    if rows is None:
        return "" if groups is None else f"at most {counted(groups, 'group')} of a person"
    if groups is None:
        return f"at most {counted(rows, 'row')} of a person"
    return f"at most {counted(rows, 'row')} of a person in each of at most {counted(groups, 'group')}"


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _cap(name: str, value: Number | None) -> int | None:
    if value is None or (type(value) is int and 0 < value <= _MOST):
        return value
    cap = whole(name, value)
    if cap > _MOST:
        raise InvalidParameter(name, value, f"is more than {_MOST:,}", hint="leave it out if nothing is to be capped")
    return cap


_TRUNCATION = Fraction(1, 5)  # of the chance that an interval misses


@final
@codec.complete
@dataclass(frozen=True, slots=True)
class CapLine:
    """One choice of caps: the margin of the noise, and bounds of the share of rows that it leaves out.

    `error` is the margin plus about what is left out, in rows; `caps="best"` minimises it. For a sum one row means its
    greatest value, and for a mean all rows mean its range. With `grouped`, both are about one group. Where keys have to
    be found, it includes the rows of a group that has just too few persons to be shown.
    """

    caps: str
    margin: float
    low: float
    high: float
    estimate: float
    error: float
    grouped: bool = False

    def __str__(self) -> str:
        low, high, estimate = (rough_percent(share, 2) for share in (self.low, self.high, self.estimate))
        span = f"{low} to {high}" if self.high < 1 else f"at least {low}"
        return (
            f"{self.caps}: ± {self.margin:,.0f} rows of noise, about {estimate} cut ({span}); "
            f"an error of about {self.error:,.0f} rows {'in a group' if self.grouped else 'in all'}"
        )


@final
@codec.complete
@dataclass(frozen=True, slots=True, repr=False)
class LeftOut:
    """The share of a table's rows that caps leave out: between `low` and `high`, about `estimate`.

    The bounds of all caps hold together with `confidence`. `estimate` guesses who is hidden by the noise of the
    profile, and `likely` is a guess that is hardly too low. Where nothing is known all of them are None, and `why` says
    why. `high` is 1 where only a public maximum of rows a person could bound it. `profiled` says whether there is a
    profile at all, `lines` has other caps to compare. `rows` is an upper limit of the rows that are left out, of the
    table or of any part of it, which intervals include; None if none is known. `only_adds` says that a row that is left
    out would add itself and change no other: not so where it decides about features of a person, or what a row matches.
    """

    low: float | None
    high: float | None
    estimate: float | None
    confidence: Fraction
    why: str = ""
    profiled: bool = True
    lines: tuple[CapLine, ...] = ()
    likely: float | None = None
    rows: int | None = None
    only_adds: bool = True

    def __repr__(self) -> str:
        return f"<LeftOut: {self}>"

    def open_sides(self, least: float, most: float) -> tuple[bool, bool]:
        """On which sides a number is open to which a row that is left out would add from `least` to `most`."""
        sides = least < 0, most > 0
        return sides if self.only_adds else (any(sides), any(sides))

    @classmethod
    def confidence_beside(cls, confidence: Fraction) -> Fraction:
        """With which the limits hold where intervals have a confidence: they take a fifth of the chance to miss."""
        return 1 - (1 - confidence) * _TRUNCATION

    @classmethod
    def confidence_of_noise(cls, left_out: LeftOut | None, confidence: Confidence) -> Confidence:
        """With which noise has to be covered: the limits take their part, where there are any, by the union bound."""
        if left_out is None or not left_out.rows:
            return confidence
        return Confidence(1 - (1 - confidence) * (1 - _TRUNCATION), confidence.over, confidence.cells)

    @property
    def is_known(self) -> bool:
        """Whether bounds of the share are known."""
        return self.low is not None

    def __str__(self) -> str:
        sure = f"with {percent(self.confidence)}, for all caps together"
        if self.low is None or self.high is None or self.estimate is None:
            limit = "" if self.rows is None else f"the caps cut at most {counted(self.rows, 'row')} ({sure}); "
            return f"{limit}truncation bias unknown: {self.why}"
        if self.high == 0:
            return f"the caps cut no row{f': {self.why}' if self.why else ''}"
        about = f"the caps cut {self.about} of the rows"
        if self.high >= 1:
            reason = f"; {self.why}" if self.why else ""
            return f"{about}, at least {rough_percent(self.low, 2)} ({sure}){reason}"
        return f"{about}, between {rough_percent(self.low, 2)} and {rough_percent(self.high, 2)} ({sure})"

    @property
    def about(self) -> str:
        """`estimate` and `likely`, in words."""
        if self.estimate is None:
            return "a share that is not known"
        likely = None if self.likely is None else rough_percent(self.likely, 2)
        about = f"about {rough_percent(self.estimate, 2)}"
        return about if likely in {None, rough_percent(self.estimate, 2)} else f"{about}, likely at most {likely},"


def least_error(lines: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], bool]:
    """The line with the least error, and whether a higher cap may have less: it is the last and leaves rows out."""
    best = min(lines, key=lambda line: line["error"])
    return best, best is lines[-1] and best["bias"] > 0
