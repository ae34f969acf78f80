"""The error of every table of a workload, compared with an equal split of the promise among all of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giveortake.workload.designs import laplace_margin, normal_margin
from giveortake.workload.laplace_design import LaplaceDesign

if TYPE_CHECKING:
    from giveortake.workload.asked_workload import AskedWorkload
    from giveortake.workload.designs import Design


def lines_of(asked: AskedWorkload, design: Design, miss: float) -> list[dict[str, Any]]:
    """For every table: its columns, cells, the standard deviation and margin of a cell, and both by an equal split.

    For ranges, it is the border with the greatest error, compared with noise on every bin. Nothing depends on rows.
    """
    names = asked.attributes.labels
    found: list[dict[str, Any]] = []
    for place, layer in enumerate(asked.layers):
        unit, reach = float(layer.unit), layer.contribution(1).reach
        equal_sd, equal_margin = _equal_sd(asked, design) * reach, _equal_margin(asked, design, miss) * reach
        found.extend(
            {
                "table": tuple(names[each] for each in marginal),
                "of": "n" if layer.of is None else layer.name,
                "cells": layer.layout.cells_of(marginal),
                "sd": math.sqrt(design.variance(place, marginal)) * unit,
                "margin": design.margin(place, marginal, miss) * unit,
                "equal_sd": equal_sd * unit,
                "equal_margin": equal_margin * unit,
            }
            for marginal in layer.layout.marginals
        )
    for noise in design.runs:
        table = noise.table
        found.append(
            {
                "table": (table.column, *(names[each] for each in table.by)),
                "of": "n",
                "cells": asked.attributes.keys(table.by).size * table.bins,
                "sd": float(noise.deviations().max()),
                "margin": float(noise.margins(noise.strategy.weights()[1:], miss).max()),
                "equal_sd": _equal_sd(asked, design) * math.sqrt(table.bins),
                "equal_margin": _equal_margin(asked, design, miss) * math.sqrt(table.bins),
            }
        )
    return found


def _equal_sd(asked: AskedWorkload, design: Design) -> float:
    """The noise in every cell, or bin, if every table got an equal part of the promise."""
    scale = _equal_scale(asked, design)
    return scale * math.sqrt(2) if isinstance(design, LaplaceDesign) else scale


def _equal_margin(asked: AskedWorkload, design: Design, miss: float) -> float:
    scale = _equal_scale(asked, design)
    return laplace_margin(scale, 1, miss) if isinstance(design, LaplaceDesign) else normal_margin(scale, miss)


def _equal_scale(asked: AskedWorkload, design: Design) -> float:
    tables = sum(len(layer.layout.marginals) for layer in asked.layers) + len(asked.ranges)
    changed = 2 if asked.neighbours == "change-one" else 1
    if isinstance(design, LaplaceDesign):
        return tables * changed * float(asked.most) / float(design.epsilon)
    return math.sqrt(tables * changed) * float(asked.most) * float(design.event.noise_multiplier)  # type: ignore[attr-defined]  # (Gaussian)
