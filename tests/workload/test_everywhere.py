"""The same integers on every engine: tables, sums, bins, and the first rows of a person in time."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.compile import Caps, Spend
from giveortake.mechanisms import Gaussian, marginals
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from giveortake.workload.bound_workload import BoundWorkload
from giveortake.workload.designs import ResidualDesign
from giveortake.workload.measurement import measured

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

DOMAINS: dict[str, Any] = {
    "a": ["x", "y"],
    "b": ["u", None],
    "c": {"bounds": (0, 3), "nullable": False},
    "d": {"bounds": (dt.date(2024, 1, 1), dt.date(2024, 1, 3))},
    "v": (-2, 5),
}
WORKLOAD = (
    gt.workload.marginals(["a", "b", "c", "d"], up_to=2)
    + gt.workload.marginals(["a"], of="v")
    + gt.workload.ranges("d", by="a")
    + gt.workload.ranges("v")
)


def _table() -> pl.DataFrame:
    random = np.random.default_rng(3)
    count = 60
    listed = {
        "id": random.integers(0, 12, count).tolist(),
        "a": random.choice(["x", "y", "undeclared"], count).tolist(),
        "b": [None if each < 0.4 else "u" for each in random.random(count)],
        "c": random.choice([0, 1, 2, 3, 77], count).tolist(),
        "d": [dt.date(2023, 12, 31) + dt.timedelta(int(each)) for each in random.integers(0, 5, count)],
        "v": random.choice([-100, -2, 0, 5, 100], count).tolist(),
    }
    return pl.DataFrame(listed, schema_overrides={"id": pl.Int64, "c": pl.Int64, "v": pl.Int64, "d": pl.Date})


def _require_scaled(session: Session, table: pl.DataFrame) -> None:
    """Persons who are longer than a norm count with one factor in all tables, and all others in full."""
    relation, workload = session.describe().catalog.private["people"], gt.workload.marginals(["a", "c"], up_to=2)
    asked = BoundWorkload.of(workload, relation, Caps(), "add-remove", Fraction(3, 2))
    made = measured(asked, Spend(mu=Fraction(1)), "rms")
    assert isinstance(made.design, ResidualDesign)
    release = made.read(made.draw(mechanism_of(session).engine))
    vector = made.design.persons.vector
    expected, scaled = np.zeros((2, 4)), 0
    for _, theirs in table.filter(pl.col("a").ne("undeclared") & pl.col("c").le(3)).group_by("id"):
        cells = np.zeros((2, 4))
        np.add.at(cells, ([["x", "y"].index(each) for each in theirs["a"]], theirs["c"].to_list()), 1)
        parts = {(): cells.sum(), (0,): cells.sum(axis=1), (1,): cells.sum(axis=0), (0, 1): cells}
        square = sum(each.weight * (parts[each.keys] ** 2).sum() for each in vector.components)
        factor = min(1.0, vector.bound * float(asked.layers[0].unit) / np.sqrt(square))
        scaled += factor < 1
        expected += factor * cells
    assert 0 < scaled < 12
    assert np.allclose(
        release.design.estimate(0, (0, 1), release.layers[0]) * float(asked.layers[0].unit), expected.ravel(), atol=0.01
    )


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_engine_counts_the_same_tables_and_the_same_first_rows(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marginals, "rounded_normal", lambda _, size, __: np.zeros(size, dtype=np.int64))
    monkeypatch.setattr(Gaussian, "noise", lambda _, size, __=None: np.zeros(size, dtype=np.int64))
    table = _table()
    session = gt.protect(
        {"people": place(name, request)("people", table)},
        unit="id",
        budget=gt.ZCDP(10),
        domains=DOMAINS,
        rows_per_person=2,
    )
    several = [Caps(rows_per_person=1000), Caps(rows_per_person=2)]
    for caps in several[:1] if name == "spark" else several:  # whose every statement takes seconds
        asked = BoundWorkload.of(WORKLOAD, session.describe().catalog.private["people"], caps, "add-remove")
        made = measured(asked, Spend(mu=Fraction(1)), "rms")
        release = made.read(made.draw(mechanism_of(session).engine))
        found = release.design.estimate(0, asked.attributes.indices_of(("a", "c")), release.layers[0])
        kept = table.filter(pl.col("a").ne("undeclared") & pl.col("c").le(3) & pl.col("d").dt.year().eq(2024))
        kept = kept.filter(pl.col("d").le(dt.date(2024, 1, 3)))
        exactly = [len(kept.filter(pl.col("a").eq(a) & pl.col("c").eq(c))) for a in ("x", "y") for c in range(4)]
        if caps.rows_per_person == 1000:
            assert np.allclose(found, exactly)
            assert np.allclose(release.design.runs[0].totals(release.runs[0])[:, -1].sum(), len(kept))
        else:
            assert 0 < found.sum() < sum(exactly)
    _require_scaled(session, table)
    counter = session.counter("d", horizon=3).answer(rho=1)
    first = table.sort("d").group_by("id", maintain_order=True).head(2)
    days = [dt.date(2024, 1, day) for day in ((1, 2) if name == "spark" else (1, 2, 3))]
    expected = np.cumsum([len(first.filter(pl.col("d").eq(day))) for day in days]).tolist()
    assert [round(float(counter.next().value)) for _ in days] == expected  # type: ignore[arg-type]
    session.close()
