"""A workload with its noise and price, ready to be reserved; and the stored form of what is drawn for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.compile.measures import Release, arrays_from_json
from giveortake.errors import InvalidParameter, LedgerDamaged
from giveortake.workload.designs import LaplaceDesign, ResidualDesign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.compile import Spend
    from giveortake.engines import Engine
    from giveortake.engines.questions import Asked
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray
    from giveortake.workload.bound_workload import BoundWorkload, ClippedPersons, ClippedTables
    from giveortake.workload.designs import Design, Goal

    Arrays: TypeAlias = "list[IntArray]"

FORMAT = 1  # of what is stored; another order of parts or cells is another format


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorkloadMeasurement:
    """What the engine will be asked for a workload, the noise, and the price. It is made without reading rows."""

    workload: BoundWorkload
    design: Design
    spend: Spend
    goal: Goal

    @property
    def event(self) -> Event:
        """The event of the whole release."""
        return self.design.event

    def tables(self) -> list[tuple[int, ...]]:
        """The attributes of all tables that are measured, each once."""
        return list(dict.fromkeys(attributes for layer in self.design.measured for attributes in layer))

    def questions(self) -> list[Asked]:
        """The questions to the engine."""
        if self._persons is not None:
            return [self._persons.vector]
        return self.workload.questions(self.tables())

    def named(self) -> dict[str, Any]:
        """What identifies the workload and its price in the ledger."""
        return name_of(self.workload, self.spend, self.goal)

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, engine: Engine, entropy: Entropy | None = None) -> dict[str, Any]:
        """Ask the engine and add noise, once to each integer; return what is to be stored."""
        arrays = [np.asarray(array) for array in self._drawn(engine, entropy)]
        flat = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
        scales = [*(str(scale) for layer in self.design.scales for scale in layer)]
        scales += [str(run.noise.scale_in_steps) for run in self.design.runs]
        ways = list(self.design.ways) if isinstance(self.design, LaplaceDesign) else None
        return {"format": FORMAT, "ways": ways, "scales": scales, "arrays": Release((flat,), ()).to_json()}

    def _drawn(self, engine: Engine, entropy: Entropy | None) -> Iterator[IntArray]:
        """The parts of all layers, then those of the ranges, each drawn from the exact table of its attributes."""
        exactly = self._exact_tables(engine)
        for layer, tables in enumerate(self.design.measured):
            for part, attributes in enumerate(tables):
                yield self.design.release(layer, part, exactly.table(layer, attributes), entropy)
        for noise, bins in zip(self.design.runs, self.workload.binned(), strict=True):
            yield noise.release(engine.bins(bins), entropy)

    @property
    def _persons(self) -> ClippedPersons | None:
        """The persons scaled down to a norm; None without a norm."""
        scaled = self.workload.norm is not None and isinstance(self.design, ResidualDesign)
        return self.design.persons if scaled else None  # type: ignore[attr-defined]  # (that of residuals)

    def _exact_tables(self, engine: Engine) -> ExactTables | ClippedTables:
        if self._persons is not None:
            return self._persons.tables(engine)
        return ExactTables.of(engine, self.workload, self.tables())

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, content: Any) -> WorkloadRelease:
        """Read what was stored, by the design under which it was drawn."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise LedgerDamaged("a stored answer is not one to this workload")
        scales = [Fraction(scale) for scale in content["scales"]]
        design: Design
        if content["ways"] is None:
            design = ResidualDesign.of(self.workload, self.spend.gaussian(), scales)
        else:
            design = LaplaceDesign.of(self.workload, self.spend.epsilon or Fraction(0), content["ways"], scales)
        (flat,) = arrays_from_json(content["arrays"], 1)
        lengths = [
            design.released(layer, part) for layer, tables in enumerate(design.measured) for part in range(len(tables))
        ]
        keys = [self.workload.attributes.keys(run.table.by).size for run in design.runs]
        lengths += [size * sum(run.strategy.sections) for size, run in zip(keys, design.runs, strict=True)]
        if sum(lengths) != len(flat):
            raise LedgerDamaged("a stored answer does not have the cells of its workload")
        parts = iter([flat[start:end] for start, end in pairwise([0, *accumulate(lengths)])])
        layers = [[next(parts) for _ in tables] for tables in design.measured]
        return WorkloadRelease(self.workload, design, layers, list(parts))


@final
@dataclass(frozen=True, slots=True, eq=False)
class WorkloadRelease:
    """Noisy integers of every layer's parts and of the ranges, and the design under which they were drawn."""

    workload: BoundWorkload
    design: Design
    layers: list[Arrays]
    runs: Arrays


@final
@dataclass(frozen=True, slots=True, eq=False)
class ExactTables:
    """Exact tables of declared attributes from an engine, summed over the other attributes; they are sensitive."""

    workload: BoundWorkload
    tallies: tuple[tuple[tuple[int, ...], Sensitive[list[BoundedIntegers]]], ...]

    @classmethod
    def of(cls, engine: Engine, workload: BoundWorkload, tables: Sequence[tuple[int, ...]]) -> ExactTables:
        """Count the tables: rows are read once for each of a few tables that contain all others (`covers`)."""
        return cls(
            workload, tuple((attributes, engine.tally(tally)) for attributes, tally in workload.tallies(list(tables)))
        )

    def table(self, layer: int, attributes: tuple[int, ...]) -> Sensitive[BoundedIntegers]:
        """The table of some attributes of a layer, flat and still sensitive."""
        wanted = set(attributes)
        cover, tally = next(pair for pair in self.tallies if wanted <= set(pair[0]))
        sizes = [self.workload.attributes.sizes[attribute] for attribute in cover]
        return tally.item(layer).summed(sizes, [cover.index(attribute) for attribute in attributes])


def name_of(workload: BoundWorkload, spend: Spend, goal: Goal) -> dict[str, Any]:
    """What identifies a workload and its price in the ledger."""
    content = json.dumps([FORMAT, workload.to_json(), goal], sort_keys=True)
    return {"workload": hashlib.sha256(content.encode()).hexdigest(), "spend": spend.to_json()}


def event_at(spend: Spend) -> Event:
    """The event that every workload is charged as at a spend: plans differ, but all of them keep it."""
    if spend.is_pure:
        return LaplaceDesign.event_of(spend.epsilon or Fraction(0))
    return ResidualDesign.event_of(spend.gaussian())


def measured(workload: BoundWorkload, spend: Spend, goal: Goal) -> WorkloadMeasurement:
    """The measurement with the least noise at a spend: Gaussian on residuals, or Laplace on tables for a pure ε."""
    design: Design
    if spend.is_pure and workload.norm is not None:
        raise InvalidParameter(
            "norm",
            str(workload.norm),
            "bounds a length that Laplace noise cannot hide",
            hint='rho="1/100": Gaussian noise does; or rows_per_person=10 in place of the norm',
        )
    if spend.is_pure:
        design = LaplaceDesign.planned(workload, spend.epsilon or Fraction(0), goal)
    else:
        design = ResidualDesign.planned(workload, spend.gaussian(), goal)
    return WorkloadMeasurement(workload, design, spend, goal)
