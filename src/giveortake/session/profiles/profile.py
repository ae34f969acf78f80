"""Profiles: how many rows and groups people have, released privately once.

Release profiles, through the same steps as every question.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, isfinite, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake import exact
from giveortake.answers import Answer
from giveortake.answers.answer import Released
from giveortake.answers.column import Column
from giveortake.answers.terms import CAP_TERMS, Confidence, LeftOut
from giveortake.compile import Caps, Spend
from giveortake.compile.measures import arrays_from_json
from giveortake.errors import InvalidParameter
from giveortake.exact import rough_percent, whole
from giveortake.mechanisms import Laplace
from giveortake.mechanisms.additive import LaplaceTail, quantile
from giveortake.session.profiles.estimates import Sizes, most_rows_left_out, share_left_out, share_left_out_of_groups
from giveortake.session.profiles.histograms import (
    GroupsOfPerson,
    Magnitude,
    RowsOfPerson,
    SizeDimension,
    dimensions_of,
    least_edge,
)
from giveortake.session.requests import Bound, PaidPart, Request, request

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from giveortake.compile import Terms
    from giveortake.exact import Number
    from giveortake.ledger import Reservation, TrialFilter
    from giveortake.ledger.budget_status import Admission
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.kinds.queries import BoundQuestions, Measurements
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profiles.histograms import Dimension
    from giveortake.session.requests import Priced
    from giveortake.session.steps import Steps
    from giveortake.session.storage import Stored


_USUAL_SHARE = Fraction(95, 100)
BEYOND_NOISE = 15  # scales of the noise: a count up to that is taken for nothing; one of 163 exceeds it in 40,000 runs
_SHOWN = 8  # lines of a table
NO_MAXIMUM = "no upper limit is known; s.profile(…, most_rows=) takes a public maximum of rows per person"


@final
@dataclass(frozen=True, slots=True)
class Profile:
    """How many rows and groups people have, and how large their numbers are, in bins, with noise; see `s.profile`.

    `most_rows` is the public maximum of rows a person that was declared, if one was. Everything here is computed from
    what was released, and free.
    """

    table: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    most_rows: int | None
    epsilon: Fraction
    release_id: str
    notes: tuple[str, ...]
    _dimensions: tuple[Dimension, ...] = field(repr=False)
    _counts: tuple[tuple[int, ...], ...] = field(repr=False)
    _scale: float = field(repr=False)

    @property
    def noise_scale(self) -> float:
        """The scale of the Laplace noise in every bin, in persons."""
        return self._scale

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """What was released: how many persons fall into every bin, with noise, one dimension after the other."""
        return self._counts

    # -- suggestions --------------------------------------------------------------------------------------------

    def caps(self, share: Number = _USUAL_SHARE) -> dict[str, int]:
        """The least caps that leave the given share of people unchanged, as far as the noise allows to tell.

        Ready for `gt.protect(…, caps=p.caps())`, or for one question: `answer(…, **p.caps())`.
        """
        wanted_share = exact.open_probability("share", share)
        least_caps = {}
        for name, sizes in (
            ("rows_per_person", self.rows),
            ("groups_per_person", self.groups),
            ("rows_per_group", self.largest_groups),
        ):
            if sizes is not None:
                last = sizes.last_seen(float(1 - _USUAL_SHARE))
                least_caps[name] = least_edge(
                    sizes.edges, [max(0, count) for count in sizes.counts[: last + 1]], wanted_share
                )
        return least_caps

    @property
    def bounds(self) -> dict[str, tuple[int | float, int | float]]:
        """For each column the powers of two between which 95 % of the people have all their numbers."""
        return self.bounds_at(_USUAL_SHARE)

    def bounds_at(self, share: Number) -> dict[str, tuple[int | float, int | float]]:
        """The bounds for another share of the people. Columns in which only zeros are seen have none."""
        wanted_share = exact.open_probability("share", share)
        beyond = BEYOND_NOISE * self._scale
        bounds = {
            dimension.column: dimension.bounds([count if count > beyond else 0 for count in counts], wanted_share)
            for dimension, counts in zip(self._dimensions, self._counts, strict=True)
            if isinstance(dimension, Magnitude)
        }
        return {column: ends for column, ends in bounds.items() if ends is not None}

    @property
    def unseen(self) -> str | None:
        """Which columns have no bounds, in words; None if all have some."""
        names = [
            dimension.column
            for dimension in self._dimensions
            if isinstance(dimension, Magnitude) and dimension.column not in self.bounds
        ]
        return f"at this ε no bounds are seen of {', '.join(names)}: a larger one may show them" if names else None

    def usual_magnitude(self, column: str) -> float | None:
        """An estimate of the mean, over persons, of their greatest absolute value in a column; None if none was seen.

        It is not a bound.
        """
        for dimension, counts in zip(self._dimensions, self._counts, strict=True):
            if isinstance(dimension, Magnitude) and dimension.column == column:
                beyond = BEYOND_NOISE * self._scale
                return dimension.mean([count if count > beyond else 0 for count in counts])
        return None

    # -- what caps leave out ------------------------------------------------------------------------------------

    @property
    def rows(self) -> Sizes | None:
        """How many rows people have."""
        return self._sizes(lambda dimension: isinstance(dimension, RowsOfPerson) and not dimension.by)

    @property
    def groups(self) -> Sizes | None:
        """How many groups of the columns `by` people have."""
        return self._sizes(lambda dimension: isinstance(dimension, GroupsOfPerson))

    @property
    def largest_groups(self) -> Sizes | None:
        """How many rows people have in their largest group."""
        return self._sizes(lambda dimension: isinstance(dimension, RowsOfPerson) and bool(dimension.by))

    def _sizes(self, is_wanted: Callable[[Dimension], bool]) -> Sizes | None:
        for dimension, counts in zip(self._dimensions, self._counts, strict=True):
            if isinstance(dimension, SizeDimension) and is_wanted(dimension):
                return Sizes(dimension.edges, counts, self._scale, dimension.most is not None)
        return None

    def left_out(
        self,
        *,
        rows_per_person: int | None = None,
        groups_per_person: int | None = None,
        rows_per_group: int | None = None,
        confidence: Number = _USUAL_SHARE,
    ) -> LeftOut:
        """The share of the table's rows that caps leave out.

        Caps on groups are about groups of the columns `by`; `rows_per_group` alone is about all rows of a person. The
        bounds hold for all caps together with the stated confidence.
        """
        checked_confidence = exact.open_probability("confidence", confidence)
        if self.rows is None:
            raise InvalidParameter("left_out", self.table, "is about people, and here every row is protected by itself")
        miss = float(1 - checked_confidence) / 2
        if groups_per_person is None:
            whole = min((cap for cap in (rows_per_person, rows_per_group) if cap is not None), default=None)
            share = None if whole is None else share_left_out(self.rows, whole, miss)
        else:
            inside = rows_per_person if rows_per_group is None else rows_per_group
            if self.groups is None or self.largest_groups is None:
                return LeftOut(
                    None,
                    None,
                    None,
                    checked_confidence,
                    "the profile does not cover groups; a profile by those columns would",
                )
            histograms = (self.rows, self.groups, self.largest_groups)
            caps = None if inside is None else (groups_per_person, inside)
            share = None if caps is None else share_left_out_of_groups(*histograms, caps, miss, most=rows_per_person)
        if share is None:
            return LeftOut(None, None, None, checked_confidence, "these caps do not bound all that a person has")
        why = NO_MAXIMUM if share.high >= 1 and self.most_rows is None else ""
        return LeftOut(share.low, share.high, share.estimate, checked_confidence, why, likely=share.likely)

    def most_rows_left_out(self, caps: Caps, confidence: Fraction, *, grouped: bool, knows_groups: bool) -> int | None:
        """An upper limit of the rows that caps leave out, of the table or any part of it; None if none is known.

        `grouped` says that the question has groups, and `knows_groups` that these are groups of the columns `by`.
        """
        if self.rows is None:
            return None
        most = caps.rows_in(self.table)
        if not grouped and caps.rows_per_group is not None:
            most = caps.rows_per_group if most is None else min(most, caps.rows_per_group)
        limit = most_rows_left_out(
            self.rows,
            self.groups if knows_groups else None,
            self.largest_groups if knows_groups else None,
            most=most,
            caps=(caps.groups_per_person, caps.rows_per_group) if grouped else None,
            miss=float(1 - confidence),
        )
        return ceil(limit) if isfinite(limit) else None

    def persons(self, confidence: Number = _USUAL_SHARE) -> tuple[float, float]:
        """About how many persons there are: bounds that hold with the stated confidence."""
        checked_confidence = exact.open_probability("confidence", confidence)
        if self.rows is None:
            raise InvalidParameter("persons", self.table, "do not exist: here every row is protected by itself")
        bounds = self.rows.bounded(float(1 - checked_confidence))
        return float(bounds.kept_low[0]), bounds.persons_high

    @property
    def hides_most(self) -> bool:
        """Whether noise may hide most of the persons: fewer than half are in bins that stand out of it."""
        if self.rows is None:
            return False
        counts = self.rows.counts
        return 2 * sum(count for count in counts if count > shared_by(self._scale)) < max(sum(counts), 1)

    def told_persons(self) -> str:
        """The number of persons in words."""
        low, high = self.persons()
        range_text = f"between {low:,.0f} and {high:,.0f} persons" if isfinite(high) else f"at least {low:,.0f} persons"
        return f"{range_text} (with {exact.percent(_USUAL_SHARE)})"

    # -- output -------------------------------------------------------------------------------------------------

    def lines(self, epsilon: Number | None = None, confidence: Number = _USUAL_SHARE) -> list[dict[str, float]]:
        """For each cap on all rows of a person: the margin of COUNT(*) at ε, and about how many rows are left out.

        The list continues until the error rises again, so that it contains the least error.
        """
        checked_confidence = exact.open_probability("confidence", confidence)
        spent = self.epsilon if epsilon is None else exact.spendable("epsilon", epsilon)
        if self.rows is None:
            raise InvalidParameter(
                "plot", self.table, "shows caps per person, and here every row is protected by itself"
            )
        miss = float(1 - checked_confidence)
        rows_left_out, _ = self.rows.left_estimates(miss)
        last = self.rows.last_seen(miss)
        bounds = self.rows.bounded(miss)
        cap_lines: list[dict[str, float]] = []
        for index, cap in enumerate(self.rows.edges):
            if index >= last + 5 and cap_lines[-1]["error"] > min(line["error"] for line in cap_lines):
                break
            noise = quantile([LaplaceTail(float(Fraction(cap) / spent))], miss)
            bias = float(rows_left_out[index])
            low, high = float(bounds.left_low[index]), float(bounds.left_high[index])
            cap_lines.append(
                {"cap": cap, "noise": noise, "bias": bias, "low": low, "high": high, "error": noise + bias}
            )
        return cap_lines

    def plot(self, title: str | os.PathLike[str] | None = None, *, epsilon: Number | None = None) -> Any:
        """An altair chart of the error of COUNT(*) against the cap on rows: noise, bias, their sum; a path saves it."""
        from giveortake.plot import caps, titled_or_saved  # noqa: PLC0415 (heavy)

        return titled_or_saved(lambda words: caps(self, epsilon=epsilon, title=words), title)

    def __str__(self) -> str:
        lines = [f"profile of {self.table} (ε = {exact.decimal(self.epsilon)}{self._named()})"]
        if self.rows is not None:
            lines.append(f"  {self.told_persons()}")
            cap_lines = self.lines()
            for line in cap_lines[:: max(1, len(cap_lines) // _SHOWN)]:
                share = self.left_out(rows_per_person=int(line["cap"]))
                lines.append(f"  rows_per_person={line['cap']:,.0f} cuts {_span(share)}")
            caps_text = ", ".join(f"{name}={cap}" for name, cap in self.caps().items())
            lines.append(f"  {caps_text} leave 95 % of persons as they are")
        if self.hides_most:
            lines.append(f"  {HIDES_MOST}")
        if self.bounds:
            lines.append(f"  domains={self.bounds!r}")
        if self.unseen:
            lines.append(f"  {self.unseen}")
        lines.extend(f"note: {note}" for note in self.notes)
        return "\n".join(lines)

    __repr__ = __str__

    def _named(self) -> str:
        parts = [f"; groups of {', '.join(self.by)}"] if self.by else []
        if self.most_rows is not None:
            parts.append(f"; nobody has more than {self.most_rows:,} rows, as was declared")
        return "".join(parts)


def _span(share: LeftOut) -> str:
    assert share.low is not None and share.high is not None  # noqa: S101, PT018 (known)
    if share.high >= 1:
        return f"{share.about} of the rows: at least {rough_percent(share.low, 2)}"
    return f"{share.about} of the rows: {rough_percent(share.low, 2)} to {rough_percent(share.high, 2)}"


def shared_by(scale: float) -> int:
    """So many persons have to share a size that it stands out of the noise of a profile: three deviations."""
    return ceil(3 * sqrt(2) * scale)


HIDES_MOST = "its noise hides most persons, and caps that are chosen by it are guesses: a larger share would see them"
_ADVICE = (
    "caps chosen by a profile are near the best where it takes a fifth of what is spent on a query, and half of it "
    "where that is ε = 0.1 or less"
)
_SURE = Confidence("0.95")
NO_CAPS = Caps()
FORMAT = 1  # of the bins; other bins need a new format, and these stay readable


@final
@request("profile")
@dataclass(frozen=True, slots=True, eq=False)
class ProfileRequest(Request):
    """A profile of a table: one question for each dimension, under one charge; see `Session.profile`."""

    without: ClassVar[tuple[str, ...]] = (
        *("delta", "rho", "mu", "margin", "confidence", "confidence_over", "key_delta", "aim", "n"),
        *CAP_TERMS,
    )
    table: str
    by: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    most_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("by", "columns"):
            listed: Any = getattr(self, name)
            if isinstance(listed, str) or not hasattr(listed, "__iter__"):
                fix = [listed] if hasattr(listed, "encode") else ["fee"]
                raise InvalidParameter(name, listed, "is not a list of columns", hint=f"{name}={fix}")
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "columns", tuple(dict.fromkeys(self.columns)))  # named twice, it is profiled once
        if self.most_rows is not None:
            object.__setattr__(self, "most_rows", whole("most_rows", self.most_rows))

    def bind(self, mechanism: InteractiveMechanism, _terms: Terms) -> BoundProfile:
        mechanism.table(self.table)
        relation = mechanism.origin.uncapped.get(self.table)
        if relation is None:
            raise InvalidParameter(
                "table", self.table, "is only partly visible here, and a profile describes the whole table"
            )
        return BoundProfile(mechanism, self, dimensions_of(relation, self.by, self.columns, self.most_rows))


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundProfile(Bound["Measurements"]):
    """A profile of a table of a session. Its questions are asked without caps: each person is in one bin of each."""

    kind: ClassVar[str] = "profile"
    hint: ClassVar[Any] = 'epsilon="0.1", or share="1/10"'
    mechanism: InteractiveMechanism
    request: ProfileRequest
    dimensions: tuple[Dimension, ...]
    caps: Caps = NO_CAPS

    def questions(self, spend: Spend) -> BoundQuestions:
        """The questions that are asked, one for each dimension."""
        from giveortake.session.kinds.queries import BoundQuestions, QueryRequest  # noqa: PLC0415 (they have best caps by profiles)
        from giveortake.session.profiles.best_caps import ResolvedCaps  # noqa: PLC0415 (likewise)

        queries = tuple(QueryRequest(dimension.question()) for dimension in self.dimensions)
        names = ", ".join(dimension.name for dimension in self.dimensions)
        return BoundQuestions(
            self.request,
            self.mechanism,
            queries,
            (ResolvedCaps(Caps()),) * len(queries),
            profile=self.settings(spend),
            description=f"profile of {self.request.table}: {names} of a person",
        )

    @property
    def is_of_persons(self) -> bool:
        """Whether it tells how many rows people have."""
        return any(isinstance(dimension, RowsOfPerson) for dimension in self.dimensions)

    def settings(self, spend: Spend) -> dict[str, Any]:
        """What names the profile in the ledger, and what it is read by."""
        request = self.request
        return {
            "format": FORMAT,
            "table": request.table,
            "by": list(request.by),
            "columns": list(request.columns),
            "most_rows": request.most_rows,
            "epsilon": str(spend.epsilon),
        }

    def noise(self, spend: Spend) -> Laplace:
        """The noise of every count: D dimensions share ε. The charge does not use it: prices are computed anew."""
        changed = 2 if self.mechanism.budget.neighbours == "change-one" else 1
        return Laplace(changed * len(self.dimensions) / (spend.epsilon or Fraction(1)))

    def at(self, spend: Spend) -> Measurements:
        return self.questions(spend).at(spend)

    def event(self, measurement: Measurements) -> Event:
        return self.questions(measurement.spend).event(measurement)

    def promise(self, measurement: Measurements) -> Guarantee:
        return self.questions(measurement.spend).promise(measurement)

    def kinds(self, _terms: Terms, _trial: TrialFilter) -> list[Spend]:
        return [Spend(epsilon=Fraction(1))]

    def name(self, measurement: Measurements) -> dict[str, Any]:
        return self.questions(measurement.spend).name(measurement)

    def words(self, measurement: Measurements) -> str:
        return self.questions(measurement.spend).words(measurement)

    def parts(self, measurement: Measurements) -> tuple[PaidPart, ...]:
        return self.questions(measurement.spend).parts(measurement)

    @property
    def tables(self) -> int:
        return len(self.dimensions)

    def require_runnable(self, measurement: Measurements) -> None:
        self.questions(measurement.spend).require_runnable(measurement)

    def run(self, measurement: Measurements, steps: Steps) -> Any:
        return self.questions(measurement.spend).run(measurement, steps)

    def read(
        self, priced: Priced[Measurements], outcome: Any, reservation: Reservation, _terms: Terms, *, looked_up: bool
    ) -> Profile:
        free_note = None if looked_up else reservation.paid_before(self.mechanism.version)
        return self.profile_of(outcome, priced.spend, reservation.id, free_note)

    def profile_of(self, parts: Sequence[Stored], spend: Spend, release_id: str, note: str | None = None) -> Profile:
        """The profile from what is stored; `note` says that nothing was charged now."""
        counts = []
        for part in parts:
            (array,) = arrays_from_json(part["arrays"], 1)
            counts.append(tuple(int(count) for count in array))
        request = self.request
        return Profile(
            request.table,
            request.by,
            request.columns,
            request.most_rows,
            spend.epsilon or Fraction(0),
            release_id,
            () if note is None else (note,),
            self.dimensions,
            tuple(counts),
            float(self.noise(spend).scale),
        )

    def table(
        self, index: int, priced: Priced[Measurements], outcome: Any, reservation: Reservation, terms: Terms
    ) -> Answer:
        """The table of a dimension for people: with the range of each bin instead of its number."""
        answer = self.questions(priced.spend).table(index, priced, outcome, reservation, terms)
        dimension = self.dimensions[index]
        (bins, *others), ranges = answer.columns, dimension.ranges()
        bin_numbers = [int(str(number)) for number in bins.values]
        range_columns = [Column(name, [ends[number] for number in bin_numbers]) for name, ends in ranges.items()]
        provenance = {name: getattr(answer, name) for name in Released.__slots__}
        return Answer(
            [*range_columns, *others], **{**provenance, "notes": (*answer.notes, f"people by their {dimension.name}")}
        )

    def quoted(self, priced: Priced[Measurements], _terms: Terms, _admission: Admission) -> dict[str, Any]:
        scale = float(self.noise(priced.spend).scale)
        margin = max(1.0, -scale * log(1 - float(_SURE)))
        stands_out = f"sizes that fewer than about {shared_by(scale):,} people share are hidden by the noise"
        seen = f"bounds of a column show only where more than about {BEYOND_NOISE * scale:,.0f} people are"
        return {
            "title": self.words(priced.measurement),
            "margins": {"persons": margin},
            "notes": (
                f"each number of people is known to about ± {margin:,.0f} (with 95 %)",
                *([f"{stands_out}; {_ADVICE}"] if self.is_of_persons else []),
                *([seen] if self.request.columns else []),
                *([] if priced.why is None else [priced.why]),
            ),
        }
