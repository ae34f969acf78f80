"""How much of a table the caps of an answer leave out, as far as a released profile tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.exact import open_probability, shown

if TYPE_CHECKING:
    from fractions import Fraction


@final
@dataclass(frozen=True, slots=True)
class CapLine:
    """One choice of caps: the margin of the noise, and bounds of the share of rows that it leaves out.

    `error` is the margin and about what is left out, in rows: what `caps="best"` makes least. Of an answer in groups,
    which `grouped` tells, both are about one group. Where keys have to be found, the rows of a group that has just too
    few persons to be shown are part of it.
    """

    caps: str
    margin: float
    low: float
    high: float
    estimate: float
    error: float
    grouped: bool = False

    def to_json(self) -> dict[str, Any]:
        """As numbers and text."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        span = f"{percent(self.low)} to {percent(self.high)}" if self.high < 1 else f"at least {percent(self.low)}"
        return (
            f"{self.caps}: ± {self.margin:,.0f} rows of noise, about {percent(self.estimate)} left out ({span}); "
            f"an error of about {self.error:,.0f} rows {'in a group' if self.grouped else 'in all'}"
        )


@final
@dataclass(frozen=True, slots=True)
class LeftOut:
    """The share of a table's rows that caps leave out: between `low` and `high`, about `estimate`.

    The bounds of all caps hold together with `confidence`. `estimate` guesses who is hidden by the noise of the
    profile, and `likely` is a guess that is hardly too low. Where nothing is known all of them are None, and `why` says
    why. `high` is 1 where only a public maximum of rows a person could bound it. `profiled` says whether there is a
    profile at all, `lines` has other caps to compare.
    """

    low: float | None
    high: float | None
    estimate: float | None
    confidence: Fraction
    why: str = ""
    profiled: bool = True
    lines: tuple[CapLine, ...] = ()
    likely: float | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return self.low is not None

    def to_json(self) -> dict[str, Any]:
        """As numbers and text."""
        return {
            "low": self.low,
            "high": self.high,
            "estimate": self.estimate,
            "likely": self.likely,
            "confidence": str(self.confidence),
            "why": self.why,
            "profiled": self.profiled,
            "lines": [line.to_json() for line in self.lines],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> LeftOut:
        """What `to_json` wrote."""
        lines = tuple(CapLine(**line) for line in content["lines"])
        return cls(**{**content, "confidence": open_probability("confidence", content["confidence"]), "lines": lines})

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.estimate is None:
            return f"how much the caps leave out is not known: {self.why}"
        sure = f"with {shown(100 * self.confidence)} %, for all caps together"
        if self.high == 0:
            return f"no row is left out{f': {self.why}' if self.why else ''}"
        about = f"{self.about} of the rows are left out"
        if self.high >= 1:
            more = f"; {self.why}" if self.why else ""
            return f"{about}, at least {percent(self.low)} ({sure}){more}"
        return f"{about}, between {percent(self.low)} and {percent(self.high)} ({sure})"

    @property
    def about(self) -> str:
        """Both guesses, in words."""
        if self.estimate is None:
            return "a share that is not known"
        likely = None if self.likely is None else percent(self.likely)
        about = f"about {percent(self.estimate)}"
        return about if likely in {None, percent(self.estimate)} else f"{about}, likely at most {likely},"


def percent(share: float) -> str:
    """A share for people to read.

    >>> percent(0.0388), percent(0.00019), percent(0.0)
    ('3.9 %', '0.019 %', '0 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
