"""The ledger says what was asked, to those who may know it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.ledger import Charge
from giveortake.session import Session

TABLE = pl.DataFrame({"who": range(60), "region": ["a", "b"] * 30, "amount": [1.0] * 60})
DOMAINS = {"region": ["a", "b"], "amount": (0, 10)}


def opened(place: Path, **said: str) -> Session:
    return gt.protect(
        TABLE,
        unit="who",
        budget=gt.PureDP(4),
        domains=DOMAINS,
        name="trips",
        rows_per_person=1,
        ledger=place / "trips.ledger",
        **said,  # type: ignore[arg-type]  # (words that are texts)
    )


def asked_of(session: Session) -> list[str]:
    return [entry.content["description"] for entry in session.history() if entry.kind == "reserved"]


def test_the_ledger_says_what_was_asked_in_sql_and_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(tmp_path) as s:
        s.sql("SELECT region, COUNT(*) AS n, AVG(amount) AS m FROM trips GROUP BY region").answer(epsilon="0.1")
        s.table().filter(gt.col("amount") > 7.25).agg(people=gt.count()).answer(epsilon="0.1")
        s.batch(["SELECT COUNT(*) AS n FROM trips", "SELECT SUM(amount) AS s FROM trips"]).answer(epsilon="0.1")
        several, filtered, batch = asked_of(s)
        assert all(word in several for word in ("count", "mean", "amount", "region", "trips"))
        assert all(word in filtered for word in ("count", "where", "amount"))
        assert "7.25" not in filtered  # a value that somebody asked for may tell of them
        assert all(word in batch for word in ("count", "sum", "amount"))
    assert cli.main(["ledger", "show", str(tmp_path / "trips.ledger")]) == 0
    assert "0.1" in capsys.readouterr().out


def test_an_analyst_reads_what_they_asked_and_not_what_others_did(tmp_path: Path) -> None:
    with opened(tmp_path) as s:
        s.sql("SELECT SUM(amount) AS s FROM trips").answer(epsilon="0.1")
    with gt.ledger.open(tmp_path / "trips.ledger") as ledger:
        for name in ("ann", "bob"):
            ledger.analyst(name, datasets=["trips"], budget=gt.PureDP(1))
    for name, text in (("ann", "SELECT COUNT(*) AS n FROM trips"), ("bob", "SELECT AVG(amount) AS m FROM trips")):
        with opened(tmp_path, analyst=name) as s:
            s.sql(text).answer(epsilon="0.1")
    with opened(tmp_path, analyst="ann") as s:
        (text,) = asked_of(s)
        assert "count" in text


def test_what_was_asked_in_words_changes_neither_the_name_nor_the_price(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "x.ledger") as ledger:
        ledger.population("people", budget=gt.PureDP(1))
        ledger.dataset("d", population="people")
        event = gt.accounting.events.Pure("0.1")
        first = ledger.reserve(Charge(event, dataset="d", key="k", name={"a": 1}, description="how many"))
        again = ledger.reserve(Charge(event, dataset="d", key="k", name={"a": 1}, description="in other words"))
        assert again.id == first.id
        assert str(ledger.levels()[0].spent) == "1/10"
        ledger.verify()


def test_a_long_question_is_cut() -> None:
    table = pl.DataFrame({"who": [1, 2], **{f"column_{n:03}": [1.0, 2.0] for n in range(40)}})
    domains = {name: (0, 1) for name in table.columns if name != "who"}
    with gt.protect(table, unit="who", budget=gt.PureDP(4), domains=domains, name="t", rows_per_person=1) as s:
        asked = {f"s{n}": gt.sum(name) for n, name in enumerate(domains)}
        s.table().agg(**asked).answer(epsilon="1")
        (text,) = asked_of(s)
    assert len(text) == 300
    assert "column_000" in text
    assert text.endswith("…")
