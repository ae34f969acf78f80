"""A measurement: a question with its tallies, its noise and its price, ready to be reserved and run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake import exact
from giveortake.compile.aggregates import Measures
from giveortake.compile.inquiry import Inquiry
from giveortake.compile.releases import Release
from giveortake.compile.rules import LATEST
from giveortake.compile.stability import Stability
from giveortake.compile.weights import design, vectors
from giveortake.engines import KeyColumn, Keys, Persons
from giveortake.errors import InvalidParameter, QueryRefused, Unprovable
from giveortake.mechanisms import DiscoveredHistogram
from giveortake.plan import Measured
from giveortake.plan.domains import MOST_KEYS
from giveortake.privacy import ApproxDP, events, gaussian_mu

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from giveortake.compile.bases import Basis
    from giveortake.compile.caps import Caps
    from giveortake.compile.measures import Measure
    from giveortake.compile.outputs import Formula
    from giveortake.compile.rules import Rules
    from giveortake.compile.spends import Spend
    from giveortake.engines import Engine
    from giveortake.engines.questions import Asked
    from giveortake.mechanisms.additive import RoundedNoise
    from giveortake.plan import Question, Value
    from giveortake.privacy import Guarantee, Unit
    from giveortake.privacy.events import Event
    from giveortake.privacy.units import Neighbours
    from giveortake.randomness import Entropy

_MOST_NOISE = 10**100  # in steps; intervals are computed in doubles
_MEAN_OF_PURE = Fraction(12534, 10000)  # μ of an ε-DP release is at most this times ε: √(2π)/2, rounded up


@final
@dataclass(frozen=True, slots=True)
class Selection:
    """How keys are found in the data: noise, a threshold, and at most so many keys of each unit."""

    mechanism: DiscoveredHistogram
    touched: int
    sensitivity: int

    def event(self) -> events.DiscoveredKeys:
        """What it costs."""
        return self.mechanism.event(self.sensitivity, lone_values=self.touched)


@final
@dataclass(frozen=True, slots=True)
class Measurement:
    """What will be asked of the engine, with how much noise, at what price. It was made without looking at rows."""

    question: Question
    caps: Caps
    stability: Stability
    measures: tuple[Measure, ...]
    formulas: tuple[tuple[str, Formula], ...]
    noises: tuple[RoundedNoise, ...]
    selection: Selection | None
    columns: tuple[KeyColumn, ...]
    rules: Rules
    basis: Basis
    shares: tuple[Fraction, ...]  # of the spend for values, of each vector of measures

    @property
    def event(self) -> Event:
        """Everything that is released, as one event."""
        return self._event(self.measures, self.selection)

    def event_if_added(self) -> Event:
        """The same release as it looks when a unit is added or removed, whatever the neighbours are here."""
        if self.stability.neighbours == "add-remove":
            return self.event
        again = Measures(self.question, replace(self.stability, neighbours="add-remove"), self.rules, basis=self.basis)
        for _, output in self.question.outputs:
            again.formula(output)
        _hidden_formulas(self.question, again)
        selection = self.selection
        if selection is not None:
            selection = replace(selection, sensitivity=selection.touched)
        return self._event(tuple(again.listed), selection)

    def _event(self, measures: tuple[Measure, ...], selection: Selection | None) -> Event:
        parts = [
            _dearest([measures[place].event(self.noises[place]) for place in vector]) for vector in vectors(measures)
        ]
        if selection is not None:
            parts.insert(0, selection.event())
        return composed(parts)

    def promise(self, spend: Spend, unit: Unit) -> Guarantee:
        """What the whole release promises. Found keys and Gaussian values meet in (ε, δ), at the δ of the spend."""
        terms: Any = {"unit": unit, "neighbours": self.stability.neighbours}
        if self.selection is None or spend.is_pure:
            return self.event.guarantee(**terms)
        values = self._event(self.measures, None).guarantee(**terms)
        keys = spend.keys or Fraction(0)
        left = spend.delta - keys if spend.delta is not None else keys
        return self.selection.event().guarantee(**terms).compose(values.approximate(left))

    def digest(self) -> str:
        """What names the question: the relation, the keys, what is measured and the bounds. Free parts are left out."""
        content = [
            self.question.relation.to_json(),
            [[name, key.to_json()] for name, key in self.question.keys],
            [each.to_json() for each in self.measures],
            [self.caps.groups, self.caps.rows, self.caps.total],
            self.stability.neighbours,
            *([] if len(set(self.shares)) <= 1 else [[str(share) for share in self.shares]]),
        ]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()

    def named(self, spend: Spend) -> list[Any]:
        """What names the question at a price."""
        return [self.digest(), spend.to_json()]

    # -- running it ---------------------------------------------------------------------------------------------

    def keys(self) -> Keys:
        """All keys, where they are known."""
        return Keys(self.columns)

    def asked(self) -> Iterator[Asked]:
        """Everything that an engine will be asked for, with the keys that are known."""
        if self.selection is not None:
            yield Persons(self.question.relation, Keys(self.columns), self.selection.touched)
        yield from self._inquiry(self.keys()).questions()

    def _inquiry(self, keys: Keys) -> Inquiry:
        inquiry = Inquiry(self.question.relation, keys, self.stability.bounding)
        for index, measure in enumerate(self.measures):
            measure.ask(inquiry, index)
        return inquiry

    def find_keys(self, engine: Engine, entropy: Entropy | None = None) -> Iterator[list[tuple[Value, ...]]]:
        """The keys that enough units have, by a noisy count: in order, some at a time."""
        assert self.selection is not None  # noqa: S101 (asked only then)
        for units in engine.persons(Persons(self.question.relation, Keys(self.columns), self.selection.touched)):
            yield self.selection.mechanism.select(units, entropy)

    def release(self, engine: Engine, keys: Keys, entropy: Entropy | None = None) -> Release:
        """Ask the engine and add the noise, each integer once."""
        (only,) = self.releases(engine, keys, max(keys.size, 1), entropy)
        return only

    def releases(self, engine: Engine, keys: Keys, size: int, entropy: Entropy | None = None) -> Iterator[Release]:
        """The same for so many keys at a time. Each part is drawn when it is taken, once."""
        for parts in self._inquiry(keys).parts(engine, size):
            drawn = {
                index: np.asarray(self.noises[index].release(self.measures[index].prepared(exact), entropy))
                for index, exact in parts.items()
            }
            yield Release(tuple(drawn[index] for index in range(len(self.measures))), self.noises)


def measurement(
    question: Question,
    caps: Caps,
    neighbours: Neighbours,
    spend: Spend,
    known: Keys | None = None,
    *,
    rules: Rules = LATEST,
    basis: Basis | None = None,
) -> Measurement:
    """Measures, noise and price of a question; with `known` keys, which are public then, none are looked for.

    With a `basis` it is measured in that, so that releases can be combined.

    Guarantee: the parts of an answer compose sequentially (seed 000 L1.2; μ² adds [DRS22, Cor. 3.3]) to no more than
    the spend, which is checked again on the event that will be charged.
    """
    columns = tuple(KeyColumn(name, key, key.domain(question.relation.schema).keys()) for name, key in question.keys)
    keys = Keys(columns) if known is None else known
    columns = keys.columns
    discovered = keys.found is None and any(column.values is None for column in columns)
    if not discovered and keys.size > MOST_KEYS:
        raise QueryRefused(
            f"the answer would have {keys.size:,} keys, more than {MOST_KEYS:,}",
            hint="group by fewer columns, or by wider buckets",
        )
    stability = Stability.of(question, caps, neighbours, None if discovered else keys.size)
    chosen = design(question, stability, rules, pure=spend.is_pure, basis=basis)
    measures, formulas = chosen.measures, chosen.formulas
    if not measures:  # as the variance of a constant
        raise QueryRefused(
            "no number of the question depends on a row: what is asked is known without asking",
            hint="ask for COUNT(*) as well",
        )
    selection, rest = _selection(stability, question, spend, len(chosen.shares)) if discovered else (None, spend)
    noises = tuple(rest.noise(each.l1, each.l2, parts) for each, parts in chosen.parts())
    if any(each.scale_in_steps > _MOST_NOISE for each in noises):
        raise InvalidParameter("epsilon", str(spend), "is so small that the noise has no bound", hint="spend more")
    made = Measurement(
        question, caps, stability, measures, formulas, noises, selection, columns, rules, chosen.basis, chosen.shares
    )
    _require_within(made, spend)
    return made


def _hidden_formulas(question: Question, found: Measures) -> None:
    """Measures that only HAVING needs."""
    for aggregate in question.aggregates():
        found.formula(Measured(aggregate))


def _dearest(parts: Sequence[Event]) -> Event:
    """The price of a vector: one unit moves it, each coordinate in units of its own sensitivity, by at most one."""
    if len(parts) == 1:
        return parts[0]
    return min(
        (each for each in parts if isinstance(each, events.Laplace | events.Gaussian)),
        key=lambda each: each.noise_multiplier,
    )


def _selection(stability: Stability, question: Question, spend: Spend, measures: int) -> tuple[Selection, Spend]:
    """A share of the spend for finding keys, and what is left for the values."""
    if question.relation.person is None and question.relation.most_rows != 1:
        raise QueryRefused(
            "keys are not found in a union of a table with itself", hint="declare the domain of the grouping column"
        )
    if spend.keys is None:
        raise InvalidParameter(
            "delta",
            None,
            "is missing: showing keys that are found in the data has a small chance to reveal one",
            hint="use an ApproxDP budget, whose pot pays for it, or declare the domain of the grouping columns",
        )
    touched = stability.touched
    changed = stability.neighbours == "change-one"
    sensitivity = touched * (2 if changed else 1)
    share = Fraction(1, measures + 1)
    if spend.epsilon is not None:
        epsilon = spend.epsilon * share
        rest = replace(spend, epsilon=spend.epsilon - epsilon)
        if spend.delta is not None:
            if spend.keys >= spend.delta:
                raise InvalidParameter(
                    "key_delta", spend.keys, "is not below delta", hint="leave some of δ for the values"
                )
            rest = replace(rest, delta=spend.delta - spend.keys)
    elif spend.rho is not None:
        epsilon = exact.sqrt_down(2 * spend.rho * share)
        rest = replace(spend, rho=spend.rho * (1 - share))
    else:
        assert spend.mu is not None  # noqa: S101 (one of the three is there)
        epsilon = exact.sqrt_down(spend.mu**2 * share) / _MEAN_OF_PURE
        rest = replace(spend, mu=exact.sqrt_down(spend.mu**2 * (1 - share)))
    mechanism = DiscoveredHistogram.calibrated(
        epsilon=epsilon, delta=spend.keys, sensitivity=sensitivity, lone_values=touched
    )
    return Selection(mechanism, touched, sensitivity), rest


def _require_within(made: Measurement, spend: Spend) -> None:
    """The price of what will be charged, derived anew from the event, is no more than what was to be spent."""
    charged = list(_single_events(made.event))
    keys = sum((each.epsilon for each in charged if isinstance(each, events.DiscoveredKeys)), Fraction(0))
    laplace = sum((1 / each.noise_multiplier for each in charged if isinstance(each, events.Laplace)), Fraction(0))
    squares = sum((1 / each.noise_multiplier**2 for each in charged if isinstance(each, events.Gaussian)), Fraction(0))
    if spend.is_pure:
        within = squares == 0 and keys + laplace <= (spend.epsilon or 0)
    elif spend.epsilon is not None and spend.delta is not None:
        left = ApproxDP(spend.epsilon - keys, spend.delta - (spend.keys or 0))
        within = laplace == 0 and squares <= gaussian_mu(left.epsilon, left.delta) ** 2
    elif spend.rho is not None:
        within = laplace == 0 and keys**2 / 2 + squares / 2 <= spend.rho
    else:
        within = laplace == 0 and (keys * _MEAN_OF_PURE) ** 2 + squares <= (spend.mu or 0) ** 2
    if not within:
        raise Unprovable("the parts of the answer cost more than the whole; this is a defect, and nothing was charged")


def _single_events(event: Event) -> Iterable[Event]:
    """Every single release in an event, as often as it happens."""
    match event:
        case events.Composed():
            for part in event.events:
                yield from _single_events(part)
        case events.Repeated():
            for _ in range(event.times):
                yield from _single_events(event.event)
        case _:
            yield event


def event_of(asked: Iterable[Measurement]) -> Event:
    """Everything that several measurements release, as one event."""
    return composed(each.event for each in asked)


def composed(parts: Iterable[Event]) -> Event:
    """Several events as one, flat."""
    flat: list[Event] = []
    for part in parts:
        flat.extend(part.events if isinstance(part, events.Composed) else [part])
    return flat[0] if len(flat) == 1 else events.Composed(flat)
