"""Everything that can be bought: what was paid for is free, shares fit, and quotes say what answers cost."""

from __future__ import annotations

import datetime as dt
import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.session.kinds.runs import AdaptiveRun
from giveortake.session.session import mechanism_of
from small_session import COUNT, DOMAINS, FOUND, ROWS, charges_of, small_session

DAYS = ROWS.with_columns(d=pl.Series([dt.date(2024, 1, 1) + dt.timedelta(days=row % 10) for row in range(120)]))
WITH_DAYS = {**DOMAINS, "d": (dt.date(2024, 1, 1), dt.date(2024, 1, 10))}
OTHER_FOUND = "SELECT q, COUNT(*) AS n FROM data WHERE x > 2 GROUP BY q"


@all_cases(
    ("queries", "spend"),
    list(
        itertools.product(
            ([COUNT], [FOUND], [COUNT, FOUND], [FOUND, OTHER_FOUND], [COUNT, "SELECT AVG(x) AS m FROM data"]),
            (
                {"epsilon": 1, "key_delta": "1e-6"},
                {"epsilon": 1, "delta": "1e-6"},
                {"rho": "1/8", "key_delta": "1e-6"},
                {"mu": "1/2", "key_delta": "1e-6"},
            ),
        )
    ),
)
def test_a_quote_of_a_batch_promises_what_its_answers_compose_to(queries: list[str], spend: dict[str, Any]) -> None:
    with small_session() as session:
        batch = session.batch(queries)
        quote = batch.quote(**spend)
        assert quote.admitted
        assert quote.cost is not None
        batch.answer(**spend)
        (record,) = session.releases()
        assert not quote.paid
        assert batch.quote(**spend).paid
        charged = gt.accounting.filter(gt.ApproxDP(100, "1e-4"))
        charged.charge(record.event)  # what is promised has a price, and is what was charged
        assert "δ for keys" in quote.spend or not any("q" in query.split("FROM")[0].split() for query in queries)


def test_shares_of_batches_that_find_keys_fit_until_they_add_up_to_one() -> None:
    with small_session(budget=gt.ApproxDP(10, "1e-4")) as session:
        for index, queries in enumerate(([FOUND, OTHER_FOUND], [FOUND], [OTHER_FOUND], [FOUND, OTHER_FOUND])):
            asked = [query.replace("AS n", f"AS n{index}").replace("x > 2", f"x > {index}") for query in queries]
            asked = [
                query if "WHERE" in query else query.replace("FROM data", f"FROM data WHERE x < {11 + index}")
                for query in asked
            ]
            session.batch(asked).answer(share="1/4")
        assert charges_of(session) == 4


def test_a_counter_that_was_paid_by_a_share_goes_on_free_with_a_new_version(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "ledger": str(tmp_path / "data.ledger"),
        "name": "data",
        "domains": WITH_DAYS,
        "rows_per_person": 3,
        "budget": gt.ApproxDP(1, "1e-6"),
    }
    with small_session(DAYS, **options) as session:
        first = session.counter("d", horizon=5).answer(share="7/10")
        first.next()
    with small_session(pl.concat([DAYS, DAYS[:7]]), appended=True, **options) as session:
        again = session.counter("d", horizon=5)
        quote = again.quote(share="7/10")
        assert quote.paid
        counter = again.answer(share="7/10")
        assert counter.cost == first.cost
        assert len(counter.answers()) == 1
        assert counter.release_id == first.release_id
        assert charges_of(session) == 1


def test_a_far_comparison_is_followed_by_its_count_whoever_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pl.DataFrame({"a": [0] * 36_000 + [1] * 4_000})
    options: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(8, "1e-6"), "domains": {"a": [0, 1]}, "name": "t"}

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with gt.protect(rows, **options) as session:
        weights = session.weights(["a"], accuracy="1/5", queries=20).answer(epsilon=8, delta="1e-6")
        with monkeypatch.context() as patched:
            patched.setattr(AdaptiveRun, "count", interrupted)
            with pytest.raises(KeyboardInterrupt):
                weights.count({"a": 0})
        drawn = [entry.content["drawn"]["do"] for entry in session.history() if entry.kind == "drawn"]
        assert drawn[-1] == "compare"
        weights.count({"a": 1})
        after = [entry.content["drawn"]["do"] for entry in session.history() if entry.kind == "drawn"]
        assert after[len(drawn)] == "count"  # of the comparison that was far, for which no new threshold is paid
        assert float(str(weights.count({"a": 0}).value)) == pytest.approx(36_000, rel=0.05)


def test_a_refinement_in_a_part_is_read_by_its_id_from_the_whole_and_from_the_part() -> None:
    with small_session() as session:
        part = session.partition("r")["south"]
        refined = part.sql("SELECT COUNT(*) AS n FROM data").answer(epsilon=1).refine(epsilon=1)
        release_id = str(refined.release_id)
        for reader in (session, part):
            assert reader.release(release_id).to_dict() == refined.to_dict()
        with pytest.raises(gt.errors.NotFound):
            session.partition("r")["north"].release(release_id)


def test_whoever_reads_what_was_released_reserves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session(DAYS, domains=WITH_DAYS, rows_per_person=3) as session:
        counter = session.counter("d", horizon=3).answer(rho="1/10")
        counter.next()
        weights = session.weights(["r"], accuracy="1/5", queries=3).answer(epsilon=20, delta="1e-6")
        told = weights.count({"r": "north"})
        other = session.weights(["r"], accuracy="1/5", queries=3).answer(epsilon=20, delta="1e-6")
        ledger = mechanism_of(session).ledger
        monkeypatch.setattr(type(ledger), "reserve", lambda *_, **__: pytest.fail("something was reserved"))
        assert len(counter.answers()) == 1
        assert "1 of them" in repr(counter)
        assert other.answers().columns[1].values == told.columns[0].values
        for record in session.releases():
            session.release(record.id)
