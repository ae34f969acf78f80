"""No neighbour moves the parts of a workload by more than is charged, and no row decides an outcome."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, final

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.compile import Spend
from giveortake.engines.sql import statements
from giveortake.exact import sqrt_up
from giveortake.mechanisms import Gaussian, Laplace, marginals
from giveortake.mechanisms.marginals import Contribution, Residual, shrinkage
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from giveortake.workload import bound_workload as attributes_module
from giveortake.workload.bound_workload import BoundWorkload
from giveortake.workload.designs import ResidualDesign
from giveortake.workload.measurement import WorkloadMeasurement, WorkloadRelease, measured
from tiers import tiered

DOMAINS: dict[str, Any] = {
    "a": ["x", "y"],
    "b": ["u", "v", None],
    "c": {"bounds": (0, 3), "nullable": False},
    "v": (-2, 5),
    "w": (0, 30),
}
WORKLOAD = (
    gt.workload.marginals(["a", "b", "c"], up_to=2, weights={("a", "b"): 3})
    + gt.workload.total()
    + gt.workload.marginals(["a"], of="v")
    + gt.workload.ranges("w", by="a")
)


FARTHEST: dict[str, Any] = {"id": 99, "a": "x", "b": "u", "c": 0, "v": 5, "w": 0}


@final
@dataclass(frozen=True)
class Mode:
    """Whom a table protects, what a neighbour is, how many rows of a person count, and how long they may be."""

    unit: Any
    neighbours: Any
    rows: int | None
    norm: Fraction | None = None


MODES = [
    Mode(unit, neighbours, rows)
    for unit, rows in ((gt.ROW, None), ("id", 1), ("id", 3))
    for neighbours in ("add-remove", "change-one")
]
SCALED = [
    Mode("id", neighbours, rows, norm)
    for neighbours, rows, norm in (
        ("add-remove", None, Fraction(2)),
        ("add-remove", 3, Fraction(3, 2)),
        ("add-remove", 1, Fraction(1)),
        ("change-one", None, Fraction(2)),
    )
]


def _row(random_: random.Random, person: int) -> dict[str, Any]:
    return {
        "id": person,
        "a": random_.choice(["x", "x", "y", "undeclared", None]),
        "b": random_.choice(["u", "v", "undeclared", None]),
        "c": random_.choice([0, 1, 2, 3, 3, 77]),
        "v": random_.choice([-100, -2, 0, 5, 5, 100, None]),
        "w": random_.choice([0, 0, 1, 30, 99, None]),
    }


def _pairs(mode: Mode, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A table and a neighbour: one row, or all rows of one person, is there, or is another."""
    random_ = random.Random(seed)  # noqa: S311 (tables, not noise)
    others = [_row(random_, random_.randrange(3)) for _ in range(random_.randrange(9))]
    count = 1 if mode.unit is gt.ROW else [6, 1, 2, 3][seed % 4]
    theirs, other = ([_row(random_, 99) for _ in range(count)] for _ in range(2))
    if seed % 2 == 0:  # rows that all say the same move a table farthest
        theirs, other = [FARTHEST] * count, [{**FARTHEST, "a": "y"}] * count
    if mode.neighbours == "add-remove":
        return others, others + theirs
    return others + theirs, others + other


def _session(mode: Mode, tables: list[list[dict[str, Any]]]) -> Session:
    """All tables at once: what is slow is to open a session."""
    schema = {"id": pl.Int64, "a": pl.String, "b": pl.String, "c": pl.Int64, "v": pl.Int64, "w": pl.Int64}
    said: dict[str, Any] = {} if mode.rows is None else {"rows_per_person": mode.rows}
    return gt.protect(
        {f"t{place}": pl.DataFrame(rows, schema=schema) for place, rows in enumerate(tables)},
        unit=mode.unit,
        budget=gt.ApproxDP(10, "1e-6", neighbours=mode.neighbours),
        domains={f"t{place}": DOMAINS for place in range(len(tables))},
        **said,
    )


def _made(mode: Mode, session: Session, place: int, spend: Spend) -> WorkloadMeasurement:
    mechanism, relation = mechanism_of(session), session.describe().catalog.private[f"t{place}"]
    caps = mechanism.caps.of_question(session.describe().caps)
    asked = BoundWorkload.of(WORKLOAD, relation, caps, mechanism.budget.neighbours, mode.norm)
    return measured(asked, spend, "rms")


def _released(mode: Mode, tables: list[list[dict[str, Any]]], spend: Spend) -> list[WorkloadRelease]:
    session = _session(mode, tables)
    made = [_made(mode, session, place, spend) for place in range(len(tables))]
    return [each.read(each.draw(mechanism_of(session).engine)) for each in made]


def _released_pairs(mode: Mode, tries: int, spend: Spend) -> list[tuple[WorkloadRelease, WorkloadRelease]]:
    listed = _released(mode, [rows for seed in range(tries) for rows in _pairs(mode, seed)], spend)
    return list(zip(listed[::2], listed[1::2], strict=True))


@pytest.fixture(autouse=True)
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs as it does, but that no noise is drawn."""
    monkeypatch.setattr(marginals, "rounded_normal", lambda _, size, __: np.zeros(size, dtype=np.int64))
    for noise in (Gaussian, Laplace):
        monkeypatch.setattr(noise, "noise", lambda _, size, __=None: np.zeros(size, dtype=np.int64))


def _moved(one: WorkloadRelease, other: WorkloadRelease) -> float:
    """How far a neighbour moves all parts, each in units of its noise; against what is charged."""
    assert isinstance(one.design, ResidualDesign)
    square = 0.0
    for layer, parts in enumerate(one.layers):
        layout = one.workload.layers[layer].layout
        for part, integers in enumerate(parts):
            residual = Residual(layout.sizes_of(layout.residuals[part]), one.design.scales[layer][part])
            change = residual.estimate(integers - other.layers[layer][part])
            square += float((change**2).sum()) / float(residual.sigma) ** 2
    for noise, integers, others in zip(one.design.runs, one.runs, other.runs, strict=True):
        square += float(((integers - others) ** 2).sum()) / float(noise.noise.scale_in_steps) ** 2
    return math.sqrt(square) * float(one.design.event.noise_multiplier)


def _nearest(mode: Mode, tries: int) -> float:
    return max(_moved(*pair) for pair in _released_pairs(mode, tries, Spend(mu=Fraction(1))))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_neighbour_moves_the_whitened_parts_by_more_than_is_charged(mode: Mode) -> None:
    nearest = _nearest(mode, tiered(4, 16))
    assert nearest <= 1 + 1e-9
    assert nearest > (0.6 if mode.neighbours == "change-one" else 0.9)  # sums over parts are an upper bound there


@pytest.mark.parametrize("mode", SCALED, ids=str)
def test_no_person_who_is_scaled_moves_the_whitened_parts_by_more_than_is_charged(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, sums = gt.workload.marginals(["a", "b", "c"], up_to=2), gt.workload.marginals(["a"], of="v")
    several = counts + sums if mode.neighbours == "add-remove" else counts  # which never point away from each other
    monkeypatch.setattr("test_replay_of_workloads.WORKLOAD", several)
    nearest = _nearest(mode, 8)
    assert nearest <= 1 + 1e-9
    assert nearest > 0.6  # the mean that residuals take out is paid for, and not used


def test_a_person_who_is_not_scaled_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_replay_of_workloads.WORKLOAD", gt.workload.marginals(["a", "b"]))
    monkeypatch.setattr(statements, "_factor", lambda dialect, _: dialect.double(1))
    plain = statements._cells_of_persons
    monkeypatch.setattr(
        statements, "_cells_of_persons", lambda *given: plain(*given).replace("WHERE m <= ", "WHERE 0 <= ")
    )
    assert _nearest(SCALED[0], 4) > 1.5


@pytest.mark.parametrize("mode", MODES[:2] + MODES[-2:], ids=str)
def test_no_neighbour_moves_tables_by_more_than_their_share_of_epsilon(mode: Mode) -> None:
    nearest = 0.0
    for one, other in _released_pairs(mode, tiered(4, 12), Spend(epsilon=Fraction(1))):
        scales = one.design.scales
        moved = sum(
            float(np.abs(part - other.layers[layer][place]).sum()) / float(scales[layer][place])
            for layer, parts in enumerate(one.layers)
            for place, part in enumerate(parts)
        )
        for noise, integers, others in zip(one.design.runs, one.runs, other.runs, strict=True):
            moved += float(np.abs(integers - others).sum()) / float(noise.noise.scale_in_steps)
        nearest = max(nearest, moved)
    assert nearest <= 1 + 1e-9
    assert nearest > 0.6


def test_twice_p_in_the_price_of_a_changed_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def mutant(self: Contribution, sizes: tuple[int, ...]) -> Fraction:
        return 2 * self.rows**2 * self.reach**2 * shrinkage(sizes) if sizes else Fraction(0)

    monkeypatch.setattr(Contribution, "square_if_moved", mutant)
    monkeypatch.setattr(
        "test_replay_of_workloads.WORKLOAD", gt.workload.marginals(["a"]) + gt.workload.total(), raising=True
    )
    assert _nearest(Mode(gt.ROW, "change-one", None), 4) > 1.01


NEARLY = Decimal("0.10000000000000000001")  # a double does not tell it from 0.1, which is declared
WIDE: dict[str, Any] = {
    "a": [Decimal(tenths) / 10 for tenths in range(200)],
    "b": [f"v{place}" for place in range(199)],
}


def _nearly_declared(unit: Any, rows: int) -> float:
    """How far a unit moves the parts that leaves the cells of one column, which has the total, and moves in another."""
    schema: dict[str, Any] = {"id": pl.Int64, "a": pl.Decimal(38, 20), "b": pl.String}
    tables = [
        pl.DataFrame([(1, Decimal("0.3"), "v5"), *[(99, value, other)] * rows], schema=schema, orient="row")
        for value, other in ((Decimal("0.1"), "v0"), (NEARLY, "v1"))
    ]
    said: dict[str, Any] = {} if unit is gt.ROW else {"rows_per_person": rows}
    session = gt.protect(
        {f"t{place}": table for place, table in enumerate(tables)},
        unit=unit,
        budget=gt.GaussianDP(10, neighbours="change-one"),
        domains={f"t{place}": WIDE for place in range(2)},
        **said,
    )
    mode = Mode(unit, "change-one", rows)
    one, other = (_made(mode, session, place, Spend(mu=Fraction(1))) for place in range(2))
    engine = mechanism_of(session).engine
    return _moved(one.read(one.draw(engine)), other.read(other.draw(engine)))


@pytest.mark.parametrize(("unit", "rows"), [(gt.ROW, 1), ("id", 2)])
def test_a_row_that_leaves_one_table_and_moves_in_another_pays_for_both(
    unit: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("test_replay_of_workloads.WORKLOAD", gt.workload.marginals(["a", "b"], up_to=1))
    assert 0.8 < _nearly_declared(unit, rows) <= 1 + 1e-9
    monkeypatch.setattr(BoundWorkload, "is_all_or_none", True)
    assert _nearly_declared(unit, rows) > 1.1  # what a price that believes the filter would miss


def test_the_root_of_the_rows_in_the_price_of_a_person_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Contribution.square_if_added
    monkeypatch.setattr(Contribution, "square_if_added", lambda self, sizes: plain(self, sizes) / max(self.rows, 1))
    monkeypatch.setattr("test_replay_of_workloads.WORKLOAD", gt.workload.marginals(["a", "b"]), raising=True)
    assert _nearest(Mode("id", "add-remove", 3), 4) > 1.01


def test_values_that_are_taken_from_the_data_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that only one person has would be there or not with them: the integers would not even compare."""
    mode, spend = Mode(gt.ROW, "add-remove", None), Spend(mu=Fraction(1))
    lonely = {"id": 1, "a": "y", "b": "u", "c": 0, "v": 0, "w": 0}
    tables = [[{**lonely, "a": "x"}], [{**lonely, "a": "x"}, lonely]]
    sound = [[len(part) for part in each.layers[0]] for each in _released(mode, tables, spend)]
    assert sound[0] == sound[1]
    plain, lengths = attributes_module._values, []
    for rows in tables:
        seen = ("z", *sorted({str(row["a"]) for row in rows}))
        monkeypatch.setattr(
            attributes_module, "_values", lambda name, domain, seen=seen: seen if name == "a" else plain(name, domain)
        )
        (only,) = _released(mode, [rows], spend)
        lengths.append([len(part) for part in only.layers[0]])
    assert lengths[0] != lengths[1]


def test_what_is_charged_is_the_least_that_the_parts_cost() -> None:
    for mode in MODES:
        made = _made(mode, _session(mode, [[]]), 0, Spend(mu=Fraction(1, 3)))
        assert isinstance(made.design, ResidualDesign)
        assert made.design.square() <= made.design.charged**2
        assert float(sqrt_up(made.design.square())) == pytest.approx(1 / 3, rel=1e-6)
