"""A measurement: a question with its tallies, its noise and its price, ready to be reserved and run."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import codec, exact
from giveortake.compile.design import Measures, design, plain_design, vectors
from giveortake.compile.measures import Inquiry, PersonCount, Release, arrays_from_json
from giveortake.compile.partition_selection import KeySearch, NoisyCounts, with_key_delta
from giveortake.compile.sensitivity import Stability, capped, named
from giveortake.compile.spend import charges_of, require_within
from giveortake.engines import KeyColumn, Keys
from giveortake.engines.runtime import failure, own_work
from giveortake.errors import InvalidParameter, QueryRefused, Unprovable
from giveortake.mechanisms import Laplace
from giveortake.plan import AggregateKind, Measured, identity
from giveortake.plan.describe import described
from giveortake.plan.expressions import MOST_KEYS
from giveortake.privacy import ApproxDP, GaussianDP, events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from giveortake.answers.terms import Caps
    from giveortake.compile.design import Design
    from giveortake.compile.formulas import Formula
    from giveortake.compile.measures import Basis, Measure
    from giveortake.compile.partition_selection import Selection
    from giveortake.compile.spend import Spend
    from giveortake.engines import Engine, FoundUnits
    from giveortake.engines.questions import Asked
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.plan import Origin, Question, Relation, Value
    from giveortake.privacy import Guarantee, Unit
    from giveortake.privacy.events import Event
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.randomness import Entropy

Counted: TypeAlias = "dict[int, npt.NDArray[Any]]"  # noisy numbers by the index of their measure

_MOST_NOISE = 10**100  # in steps; intervals are computed in doubles
_AT_ONCE = 1 << 17  # integers that get noise between two checks of the time limit: about 0.1 s
_MOST_NUMBERS = 1 << 25  # integers of one answer, where keys are known
_RULES = 3  # part of the stored format


@final
@dataclass(frozen=True, slots=True)
class Measurement:
    """What the engine will be asked, the noise, and the price. It is made without reading rows.

    `keys` are those of the answer; if there is a `selection`, they have to be found in the data, and have no values.
    """

    question: Question
    caps: Caps
    spend: Spend
    keys: Keys
    stability: Stability
    measures: tuple[Measure, ...]
    formulas: tuple[tuple[str, Formula], ...]
    noises: tuple[RoundedNoise, ...]
    selection: Selection | None
    basis: Basis
    shares: tuple[Fraction, ...]  # of the spend on values, for each vector of measures
    binding_caps: Caps | None  # those that affect the answer; None if everything counts
    relation: Relation  # whose rows are measured: that of the question, or what a count of it has counted
    _priced: list[Event] = field(default_factory=list, init=False, repr=False, compare=False)  # `event`, once asked for

    @property
    def columns(self) -> tuple[KeyColumn, ...]:
        """The columns of the keys."""
        return self.keys.columns

    @property
    def is_pure(self) -> bool:
        """Whether its noise keeps a pure promise."""
        return all(isinstance(noise, Laplace) for noise in self.noises)

    @property
    def event(self) -> Event:
        """The event of the whole release."""
        if not self._priced:
            self._priced.append(self._event(self.measures, self.selection))
        return self._priced[0]

    def event_if_added(self) -> Event:
        """The event of the whole release under add-remove, whatever the neighbours are here."""
        if self.stability.neighbours == "add-remove":
            return self.event
        added = replace(self.stability, neighbours="add-remove")
        measures = Measures(self.question, added, self.is_pure, basis=self.basis)
        for _, output in self.question.outputs:
            measures.formula(output)
        for aggregate in self.question.aggregates():  # which only HAVING or ORDER BY may need
            measures.formula(Measured(aggregate))
        return self._event(tuple(measures.listed), None if self.selection is None else self.selection.as_added())

    def _event(self, measures: tuple[Measure, ...], selection: Selection | None) -> Event:
        parts: list[Event] = [] if selection is None else [selection.event()]
        measured = set(self.measured)
        parts += [
            _dearest([measures[index].event(self.noises[index]) for index in vector])
            for vector in vectors(measures)
            if measured.issuperset(vector)
        ]
        return composed(parts)

    @property
    def measured(self) -> tuple[int, ...]:
        """The indices of the measures to ask for at the keys: all but the one that decided which keys are shown."""
        decides = None if self.selection is None else self.selection.decides
        return tuple(index for index in range(len(self.measures)) if index != decides)

    def promise(self, unit: Unit) -> Guarantee:
        """The promise of the whole release. Found keys and Gaussian values compose to (ε, δ), at the δ of the spend.

        A spend of ε and δ is that promise itself: `require_within` has checked that the event is within it. Otherwise
        keys are found by Gaussian noise, whose μ² adds to that of the values before both are converted.
        """
        spend = self.spend
        terms: Any = {"unit": unit, "neighbours": self.stability.neighbours}
        if self.selection is None or spend.is_pure:
            return self.event.guarantee(**terms)
        if spend.epsilon is not None and spend.delta is not None:
            return ApproxDP(spend.epsilon, spend.delta, **terms)
        whole = GaussianDP(exact.sqrt_up(charges_of(self.event).squares), **terms)
        keys = ApproxDP(0, self.selection.event().delta, **terms)
        return whole.approximate(spend.keys or Fraction(0)).compose(keys)

    def digest(self) -> str:
        """A hash that identifies the question: relation, keys, measures and bounds; post-processing is left out."""
        content = [
            identity(self.question.relation, *(key for _, key in self.question.keys), *self.measures),
            [name for name, _ in self.question.keys],
            named(self.caps, self.stability, self.question),
            self.stability.neighbours,
            *([] if self.selection is None else self.selection.named()),
            *([] if self.relation is self.question.relation else ["counted rows"]),
            *([] if len(set(self.shares)) <= 1 else [["shares", *map(str, self.shares)]]),
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()

    def named(self) -> list[Any]:
        """What identifies the question at its price."""
        return [self.digest(), self.spend.to_json()]

    def record(self, question: Question, origin: Origin) -> dict[str, Any]:
        """What the measurement can be made from again: the question as it was asked, the spend and caps."""
        return {
            "plan": codec.text_of(question, references=origin),  # a text: plans may nest deeper than entries allow
            "spend": self.spend.to_json(),
            "caps": self.caps.to_json(),
            "rules": _RULES,
        }

    # -- running it ---------------------------------------------------------------------------------------------

    def asked(self) -> Iterator[Asked]:
        """All questions to an engine, with the keys that are known."""
        if self.selection is not None:
            yield self.selection.question(self.question.relation, self.keys)
        yield from self._inquiry(self.keys).questions()

    def _inquiry(self, keys: Keys) -> Inquiry:
        inquiry = Inquiry(self.relation, keys, self.stability.bounding)
        for index in self.measured:
            self.measures[index].ask(inquiry, index)
        return inquiry

    def units(self, engine: Engine) -> Iterator[Sensitive[FoundUnits]]:
        """The keys that occur and the units of each, some at a time: from these, the keys to show are selected."""
        assert self.selection is not None  # noqa: S101 (asked only then)
        return engine.persons(self.selection.question(self.question.relation, self.keys))

    def find_keys(self, engine: Engine, entropy: Entropy | None = None) -> Iterator[list[tuple[Value, ...]]]:
        """The keys that enough units have, some at a time; each with its deciding number, if that is an answer."""
        assert self.selection is not None  # noqa: S101 (asked only then)
        for units in self.units(engine):
            with own_work():
                keys = self.selection.draw(units, entropy)
            yield keys

    def parted(self, rows: list[tuple[Value, ...]]) -> tuple[list[tuple[Value, ...]], Counted | None]:
        """The results of `find_keys`, split into keys and, if they are an answer, the deciding numbers."""
        if self.selection is None or self.selection.decides is None:
            return rows, None
        index = self.selection.decides
        unit = int(1 / self.measures[index].granularity)
        numbers = np.array([int(row[-1]) * unit for row in rows], dtype=np.int64)  # type: ignore[arg-type]  # (a number)
        return [row[:-1] for row in rows], {index: numbers}

    def release(
        self, engine: Engine, keys: Keys, entropy: Entropy | None = None, *, counted: Counted | None = None
    ) -> Release:
        """Ask the engine and add noise, once to each integer."""
        (only,) = self.releases(engine, keys, max(keys.size, 1), entropy, counted=iter([counted or {}]))
        return only

    def releases(
        self,
        engine: Engine,
        keys: Keys,
        size: int,
        entropy: Entropy | None = None,
        *,
        counted: Iterator[Counted] | None = None,
    ) -> Iterator[Release]:
        """Ask the engine and add noise, for `size` keys at a time. Each portion is drawn when it is taken, once.

        `counted` are the numbers that decided about these keys, if they are an answer. After the last portion, an
        error is raised if the table has changed meanwhile.
        """
        nothing: Iterator[Any] = repeat({}, -(-max(keys.size, 1) // size))
        start = 0
        exactly = self._inquiry(keys).parts(engine, size) if self.measured else nothing
        for parts, decided in zip(exactly, nothing if counted is None else counted, strict=True):
            length = min(size, max(keys.size, 1) - start)
            drawn = {index: self._noisy(index, exact, length, entropy) for index, exact in parts.items()} | decided
            start += length
            yield self.released(tuple(drawn[index] for index in range(len(self.measures))))
        if not engine.unchanged():
            raise failure("changed")

    def _noisy(self, index: int, exactly: Sensitive[Any], length: int, entropy: Entropy | None) -> npt.NDArray[Any]:
        """Noisy integers of `length` keys, drawn in portions, between which the time limit is checked."""
        measure, noise = self.measures[index], self.noises[index]
        some = max(1, _AT_ONCE // measure.integers)
        drawn = []
        for start in range(0, length, some):
            with own_work():
                part = exactly if length <= some else exactly.part(start, start + some)
                drawn.append(np.asarray(noise.release(measure.prepared(part), entropy)))
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn)

    def read(self, content: Any) -> Release:
        """A stored release of this measurement."""
        return self.released(arrays_from_json(content, len(self.measures)))

    def released(self, arrays: tuple[npt.NDArray[Any], ...]) -> Release:
        """Noisy integers as a release of this measurement."""
        if self.selection is None or self.selection.decides is None:
            return Release(arrays, self.noises)
        return Release(arrays, self.noises, {self.selection.decides: self.selection.mechanism.threshold})


@final
@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The part of a measurement that does not depend on the amount spent: rows that count, keys, measures and shares.

    It is immutable. A cached one is found by the identity of its question, never by equality.
    """

    question: Question
    caps: Caps
    keys: Keys
    discovered: bool
    stability: Stability
    chosen: Design
    binding_caps: Caps | None
    relation: Relation

    def at(self, spend: Spend, key_pot: Fraction | None = None) -> Measurement:
        """The measurement that a spend buys; the δ for finding keys is a part of the `key_pot`, unless stated.

        Guarantee: the parts of an answer compose sequentially ([PDP21, L1.2]; μ² adds [DRS22, Cor. 3.3]) to no more
        than the spend, which is checked again on the event that will be charged.
        """
        chosen, stability = self.chosen, self.stability
        spend = with_key_delta(spend, key_pot) if self.discovered else replace(spend, keys=None, aim="numbers")
        selection, value_spend = (
            KeySearch.of(self.question, stability, chosen).selection(spend) if self.discovered else (None, spend)
        )
        noises = _noises(chosen, selection, value_spend)
        if any(noise.scale_in_steps > _MOST_NOISE for noise in noises):
            raise InvalidParameter("epsilon", str(spend), "is so small that the noise has no bound", hint="spend more")
        measurement = Measurement(
            self.question,
            self.caps,
            spend,
            self.keys,
            stability,
            chosen.measures,
            chosen.formulas,
            noises,
            selection,
            chosen.basis,
            chosen.shares,
            self.binding_caps,
            self.relation,
        )
        require_within(measurement.event, spend)
        return measurement


def measurement(
    question: Question,
    caps: Caps,
    neighbours: Neighbours,
    spend: Spend,
    known: Keys | None = None,
    *,
    basis: Basis | None = None,
    key_pot: Fraction | None = None,
    counted: Relation | None = None,
) -> Measurement:
    """Measures, noise and price of a question: see `prepared` and `Prepared.at`."""
    preparation = prepared(question, caps, neighbours, known, basis=basis, spend=spend, counted=counted)
    return preparation.at(spend, key_pot)


def prepared(
    question: Question,
    caps: Caps,
    neighbours: Neighbours,
    known: Keys | None = None,
    *,
    basis: Basis | None = None,
    spend: Spend,
    counted: Relation | None = None,
) -> Prepared:
    """What is measured for a question. With `known` keys, which are public then, no keys have to be found.

    Guarantee: known keys are values of the question's own keys. What one person contributes is bounded for these; at
    the keys of another question one person could count in as many of them as they have rows.

    `caps` are those of this question. A question in which neither they nor its structure bound what a person
    contributes is refused. With a `basis` it is measured in that, so that releases can be combined; and of the
    `counted` rows, those by which the known keys were found. Of the `spend` only the kind of noise
    matters, whose widths decide about the shares of measures, and the aim of a search for keys.
    """
    question, pure = capped(question, caps), spend.is_pure
    values = [domain.keys() for domain in question.key_domains()]
    columns = tuple(
        KeyColumn(name, key, column_values) for (name, key), column_values in zip(question.keys, values, strict=True)
    )
    keys = Keys(columns) if known is None else known
    if [(column.name, column.expression) for column in keys.columns] != list(question.keys):
        raise Unprovable(
            "these keys were found for another question, in which one person may have more of them", hint="ask it anew"
        )
    discovered = keys.discovered is None and any(column.values is None for column in keys.columns)
    if not discovered and keys.size > MOST_KEYS:
        raise QueryRefused(
            f"the answer would have {keys.size:,} keys, more than {MOST_KEYS:,}",
            hint="group by fewer columns, or by wider buckets",
        )
    stability = Stability.of(question, caps, neighbours, None if discovered else keys.size)
    chosen = design(question, stability, pure=pure, basis=basis)
    if discovered:
        plain = plain_design(question, stability, pure=pure)
        search = KeySearch.of(question, stability, plain)
        if search.deciding_count(spend) is not None:
            chosen, counted = plain, search.counted_rows(spend)
    measures = chosen.measures
    if not measures:  # such as the variance of a constant
        raise QueryRefused(
            "nothing in the question depends on a row: its answer is known without asking",
            hint="ask for COUNT(*) as well",
        )
    numbers = (
        sum(measure.integers for measure in measures) * keys.size if keys.discovered is None and not discovered else 0
    )
    if numbers > _MOST_NUMBERS:
        raise QueryRefused(
            f"the answer would be computed from {numbers:,} noisy numbers, more than {_MOST_NUMBERS:,}",
            hint="a quantile takes about a thousand for each key: ask for fewer keys",
        )
    rows_count = not all(isinstance(measure, PersonCount) for measure in measures)
    binding = stability.binding_caps(caps, question.relation, rows_count=rows_count)
    return Prepared(question, caps, keys, discovered, stability, chosen, binding, counted or question.relation)


def needed_caps(question: Question, caps: Caps, maxima: Caps, neighbours: Neighbours) -> Caps:
    """The caps without those that lower no noise: they would only take rows away. The custodian's `maxima` stay.

    Guarantee: without such a cap every sensitivity, every domain and every number of groups is what it was with it, so
    that the noise and the price are. It is decided by the question and the schema.
    """
    noise = _noise_under(question, caps, neighbours)
    if noise is None:
        return caps
    for fewer in _with_one_cap_less(question, caps, maxima):
        if _noise_under(question, fewer, neighbours) == noise:
            return needed_caps(question, fewer, maxima, neighbours)
    return caps


def _with_one_cap_less(question: Question, caps: Caps, maxima: Caps) -> Iterator[Caps]:
    """Caps in which one is gone, or is the custodian's maximum."""
    tables = dict.fromkeys(scan.table.name for scan in question.relation.scans())
    rows = {table: most for table in tables if (most := caps.rows_in(table)) is not None}
    for table, cap in rows.items():
        if maxima.rows_in(table) != cap:
            others = {**rows, table: maxima.rows_in(table)}
            left = {name: most for name, most in others.items() if most is not None}
            yield replace(caps, rows_per_person=left or None)
    for name in ("groups_per_person", "rows_per_group"):
        if getattr(caps, name) != getattr(maxima, name):
            yield replace(caps, **{name: getattr(maxima, name)})


def _noise_under(question: Question, caps: Caps, neighbours: Neighbours) -> object:
    """All that noise and price follow from; None if the caps bound too little."""
    try:
        question = capped(question, caps)
        schema, aggregates = question.relation.schema, question.aggregates()
        keys = [domain.keys() for domain in question.key_domains()]
        known = None if any(values is None for values in keys) else math.prod(len(values or ()) for values in keys)
        stability = Stability.of(question, caps, neighbours, known)
        is_of_persons = all(aggregate.kind is AggregateKind.COUNT_PERSONS for aggregate in aggregates)
        return (
            known,
            stability.touched if known is None else 0,  # which groups are found depends on it
            stability.of_persons(1) if is_of_persons else (stability.sensitivity(0, 1), stability.of_distinct()),
            [expression.domain(schema) for aggregate in aggregates for expression in aggregate.expressions],
        )
    except QueryRefused:
        return None


def _dearest(parts: Sequence[Event]) -> Event:
    """The event of a vector of measures: that of the coordinate with the least noise multiplier.

    One unit moves the vector, each coordinate divided by its sensitivity, by at most one.
    """
    if len(parts) == 1:
        return parts[0]
    return min(
        (event for event in parts if isinstance(event, events.Laplace | events.Gaussian)),
        key=lambda event: event.noise_multiplier,
    )


def _noises(chosen: Design, selection: Selection | None, value_spend: Spend | None) -> tuple[RoundedNoise, ...]:
    """The noise of each measure: by its vector's share, split evenly among levels; a deciding measure has its own."""
    decides = None if selection is None else selection.decides
    noises: list[RoundedNoise] = []
    for index, (measure, parts) in enumerate(chosen.parts(without=decides)):
        if isinstance(selection, NoisyCounts) and index == decides:
            noises.append(selection.noise(int(1 / measure.granularity)))
        else:
            assert value_spend is not None  # noqa: S101 (it is None only where the one measure decided)
            noises.append(value_spend.noise(measure.l1, measure.l2, parts))
    return tuple(noises)


@final
@dataclass(frozen=True, slots=True)
class Joint:
    """Measurements that are charged together: one event, their names, and a description."""

    event: Event
    names: list[Any]
    words: str


def joint(measurements: Sequence[Measurement]) -> Joint:
    """Several measurements as one charge."""
    words = described([measurement.question for measurement in measurements])
    return Joint(event_of(measurements), [measurement.named() for measurement in measurements], words)


def event_of(measurements: Iterable[Measurement]) -> Event:
    """The event of several measurements together."""
    return composed(measurement.event for measurement in measurements)


def composed(parts: Iterable[Event]) -> Event:
    """Several events as one, without nesting."""
    flat: list[Event] = []
    for part in parts:
        flat.extend(part.events if isinstance(part, events.Composed) else [part])
    return flat[0] if len(flat) == 1 else events.Composed(flat)
