"""No row decides whether a workload is answered, nor moves its exact integers by more than was priced: on every engine.

Columns are derived in the workload's own SQL, at ±2⁶², ±2⁶³, ±2¹²⁷ and the numbers beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from workload_outcomes import (
    SPENDS,
    Outcomes,
    attack_text,
    attacked,
    extreme_text,
    neighbours,
    sums_in_words,
    without_noise,
)

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.errors import QueryRefused
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.session import Session
from tiers import is_long

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def _asking(s: Session, workload: Any, norm: int | None = None, **terms: Any) -> Callable[[str], Any]:
    """Ask a workload, or its text, of a table."""

    def ask(table: str) -> Any:
        if callable(workload):
            return s.workload(workload(table), norm=norm).answer(**terms)
        return s.workload(workload, table=table, norm=norm).answer(**terms)

    return ask


def _attack(found: Outcomes, put: Any, *, is_slow: bool) -> None:
    """Sums beyond 2⁶³ of cells below 2⁶², at spends that are next to nothing; at a pure ε out of a larger table."""
    ways = list(zip(SPENDS, ("ROLLUP (r)", "ROLLUP (r)", "GROUPING SETS ((r), (c))"), strict=True))
    with neighbours(put, attacked()) as s:
        for spend, sets in ways[:1] if is_slow else ways:
            found.compare("attack by " + "".join(spend), _asking(s, partial(attack_text, sets=sets), **spend))


def _is_slow(where: str) -> bool:
    """Whether an engine takes seconds for every statement: usually, each workload is asked of it at one spend."""
    return where == "spark" and not is_long()


def _compared(put: Any, *, is_slow: bool) -> Outcomes:
    """Every workload at every spend, on tables that differ in one row, or in one person."""
    found = Outcomes()
    few = attacked(40)
    ranges = gt.workload.ranges("w", by="r", bins=64) + gt.workload.marginals(["r", "c"], of="w")
    several = gt.workload.marginals(["r", "c"], up_to=2) + gt.workload.marginals(["r"], of="w")
    with without_noise():
        _attack(found, put, is_slow=is_slow)
        with neighbours(put, few) as s:
            for spend in SPENDS[1:2] if is_slow else SPENDS:
                for sets in ("CUBE (r, c)", "ROLLUP (r, c)")[: 1 if is_slow else 2]:
                    found.compare(f"extremes, {sets} {spend}", _asking(s, partial(extreme_text, sets=sets), **spend))
            for spend in SPENDS[2:] if is_slow else SPENDS:
                found.compare(f"ranges {spend}", _asking(s, ranges, **spend))
        with neighbours(put, few, unit="name") as s:
            for spend in SPENDS[: 1 if is_slow else 2]:
                found.compare(f"norm {spend}", _asking(s, several, 2, **spend))
            found.compare("persons", _asking(s, extreme_text, mu="1/1000", rows_per_person=2))
    return found


@pytest.mark.parametrize("where", EVERYWHERE)
def test_no_row_decides_an_outcome_or_moves_integers_by_more_than_was_priced(
    where: str, request: pytest.FixtureRequest
) -> None:
    found = _compared(place(where, request), is_slow=_is_slow(where))
    assert found.violations == []
    assert found.comparisons > (150 if _is_slow(where) else 900)
    assert found.nearest > 0.9  # a row that moves integers by nearly what is priced is among them


@pytest.mark.parametrize("where", EVERYWHERE)
def test_sums_that_go_by_the_size_of_cells_are_caught(
    where: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedIntegers, "summed", sums_in_words)
    found = Outcomes()
    put = place(where, request)
    with without_noise():
        _attack(found, put, is_slow=_is_slow(where))
        with neighbours(put, attacked(40)) as s:
            found.compare("one cell", _asking(s, partial(_lone, number=2**62), mu="1e-6"))
    names = ["attack by mu", "attack by rho", "attack by epsilon", "one cell"]
    assert [each.split(":")[0] for each in found.violations] == (names[::3] if _is_slow(where) else names)
    assert "QueryFailed" in found.violations[-1]


def _lone(table: str, number: int) -> str:
    derived = f"SELECT r, CASE WHEN name = 'p0' AND ill THEN {number} ELSE 0 END AS x FROM {table}"
    return f"SELECT r, SUM(x) AS s FROM ({derived}) AS d GROUP BY ROLLUP (r)"


def test_numbers_that_no_column_holds_are_refused_before_anything_is_charged() -> None:
    with neighbours(lambda _, frame: frame, attacked(4)) as s:
        for number in (2**63, -(2**63) - 1, 2**127):
            with pytest.raises(QueryRefused):
                s.workload(_lone("t1", number))
        assert not [entry for entry in s.history() if entry.kind == "reserved"]
