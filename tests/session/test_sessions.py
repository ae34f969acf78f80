"""Sessions: what is charged when, what is free, what survives, and what tells nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.configuration import from_toml
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    GiveOrTakeError,
    InvalidParameter,
    LedgerForeign,
    LedgerMismatch,
    NotFound,
    QueryFailed,
    SameTable,
)
from inside import engine_of
from small_session import COUNT, FOUND, ROWS, charges_of, small_session
from waiting import LONGEST

BUDGETS = {
    "pure": (gt.PureDP(1), {"epsilon": "0.5"}),
    "approximate": (gt.ApproxDP(1, "1e-6"), {"epsilon": "0.5"}),
    "approximate, Gaussian": (gt.ApproxDP(1, "1e-6"), {"rho": "0.005"}),
    "concentrated": (gt.ZCDP("0.5"), {"rho": "0.2"}),
    "Gaussian": (gt.GaussianDP(1), {"mu": "0.7"}),
}


# -- what is free ---------------------------------------------------------------------------------------------------


@all_cases("text", [COUNT, FOUND])
def test_the_same_question_at_the_same_price_is_free_and_answered_alike(text: str) -> None:
    with small_session() as session:
        first = session.sql(text).answer(epsilon=20)
        spent, entries = session.budget.spent, len(session.history())
        again = session.sql(text).answer(epsilon="20.0")
        assert again.to_dict() == first.to_dict()
        assert (session.budget.spent, len(session.history())) == (spent, entries)


@all_cases("name", BUDGETS)
def test_a_quote_of_what_was_paid_for_says_that_it_is_free_when_nothing_else_fits(name: str) -> None:
    budget, terms = BUDGETS[name]
    with small_session(budget=budget) as session:
        query = session.sql(COUNT)
        assert not query.quote(**terms).paid
        query.answer(**terms)
        for place in range(9):
            with suppress(BudgetExceeded):
                session.sql(f"SELECT COUNT(*) AS n FROM data WHERE x > {place}").answer(**terms)
        quote = query.quote(**terms)
        assert (quote.admitted, quote.paid) == (True, True)
        assert quote.used_after == session.budget.status().own
        assert all("free" in face for face in (str(quote), quote._repr_html_()))
        assert gt.session.Quote.from_json(quote.to_json()) == quote
        assert query.answer(**terms).to_dict()
        other = session.sql("SELECT COUNT(*) AS n FROM data WHERE x > 9").quote(**terms)
        assert (other.admitted, other.paid, other.used_after) == (False, False, None)


@pytest.mark.parametrize("analysts", ["allotted", "pooled"])
def test_a_quote_tells_nobody_what_others_paid_for(tmp_path: Path, analysts: Any) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as book:
        book.population("people of data", budget=gt.PureDP(100), unit="p", analysts=analysts)
        said = {"ledger": book, "budget": gt.PureDP(100)}
        small_session(**said).close()
        for name in ("ann", "bob"):
            book.analyst(name, datasets=["data"], budget=gt.PureDP(2))
        with small_session(**said, analyst="ann") as ann, small_session(**said, analyst="bob") as bob:
            before = str(bob.sql(COUNT).quote(epsilon=1))
            ann.sql(COUNT).answer(epsilon=1)
            assert ann.sql(COUNT).quote(epsilon=1).paid
            assert not bob.sql(COUNT).quote(epsilon=1).paid
            assert str(bob.sql(COUNT).quote(epsilon=1)) == before


def test_another_price_pays_and_gives_another_answer() -> None:
    with small_session() as session:
        first = session.sql(COUNT).answer(epsilon="0.01")
        spent = session.budget.spent
        assert session.sql(COUNT).answer(epsilon="0.02").to_dict() != first.to_dict()
        assert session.budget.spent != spent


def test_sql_and_frames_share_the_stored_answer() -> None:
    with small_session() as session:
        first = session.sql("SELECT r, COUNT(*) AS n, AVG(x) AS m FROM data WHERE x > 2 GROUP BY r").answer(epsilon=1)
        charges = charges_of(session)
        table = session.table("data").filter(gt.col("x") > 2)
        second = table.group_by("r").agg(n=gt.count(), m=gt.mean("x")).answer(epsilon=1)
        assert second.to_dict() == first.to_dict()
        assert charges_of(session) == charges


def test_having_order_and_limit_are_free() -> None:
    with small_session() as session:
        plain = session.sql(COUNT).answer(epsilon=1)
        charges = charges_of(session)
        for more in ("HAVING COUNT(*) > 0", "ORDER BY n DESC", "ORDER BY r LIMIT 1", "HAVING n < -1000"):
            answer = session.sql(f"{COUNT} {more}").answer(epsilon=1)
            assert all(row in plain.rows() for row in answer.rows())
        assert charges_of(session) == charges
        assert session.sql(f"{COUNT} HAVING n < -1000").answer(epsilon=1).rows() == []


def test_a_quote_touches_no_data_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session() as session:
        before = session.budget.spent, len(session.history())

        def touched(*_: object) -> None:
            raise AssertionError("a quote read data")

        for method in ("tally", "bins", "distinct", "persons", "_guarded"):
            monkeypatch.setattr(DuckDBEngine, method, touched)
        for text in (COUNT, FOUND, "SELECT MEDIAN(x) AS m FROM data"):
            quote = session.sql(text).quote(epsilon="0.5")
            assert quote.admitted
            assert str(quote)
        assert (session.budget.spent, len(session.history())) == before


def test_a_margin_is_reached_by_the_least_spend() -> None:
    with small_session(budget=gt.PureDP(1000)) as session:
        query = session.sql("SELECT COUNT(*) AS n FROM data")
        quote = query.quote(margin=50)
        assert quote.margins["n"] is not None
        assert 49 < float(quote.margins["n"]) <= 50
        answer = query.answer(margin=50)
        assert answer.rows()[0]["n_high"] - answer.rows()[0]["n_low"] <= 100 + 1  # type: ignore[operator]
        assert answer.cost == quote.cost
        with pytest.raises(InvalidParameter):
            query.answer(margin=50, epsilon=1)


# -- budgets --------------------------------------------------------------------------------------------------------


@all_cases("name", BUDGETS)
def test_every_kind_of_budget_answers_until_it_is_spent(name: str) -> None:
    budget, spend = BUDGETS[name]
    with small_session(budget=budget) as session:
        query = [session.sql(f"SELECT COUNT(*) AS n FROM data WHERE x > {turn}") for turn in range(200)]
        answers = 0
        while query[answers].quote(**spend).admitted:
            query[answers].answer(**spend)
            answers += 1
        assert answers >= 2
        before = len(session.history()), session.budget.spent
        with pytest.raises(BudgetExceeded):
            session.sql("SELECT SUM(x) AS s FROM data").answer(**spend)
        assert (len(session.history()), session.budget.spent) == before  # a refusal leaves no trace


def test_a_refused_question_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with small_session(budget=gt.PureDP("0.1")) as session:
        monkeypatch.setattr(DuckDBEngine, "_guarded", lambda *_: pytest.fail("the data was read"))
        with pytest.raises(BudgetExceeded, match=r"budget|left"):
            session.sql(COUNT).answer(epsilon="0.2")


def test_keys_are_found_only_where_delta_pays_for_them() -> None:
    with small_session(budget=gt.PureDP(100)) as session, pytest.raises(InvalidParameter, match="delta"):
        session.sql(FOUND).answer(epsilon=1)
    with small_session(budget=gt.PureDP(100)) as session, pytest.raises(GiveOrTakeError):
        session.sql(FOUND).answer(epsilon=1, key_delta="1e-6")  # a pure promise has no room for it


def test_of_pooled_analysts_another_one_pays_for_a_stored_answer_and_gets_the_same_one(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as book:
        book.population("people of data", budget=gt.ApproxDP(100, "1e-4"), unit="p", analysts="pooled")
        small_session(ledger=book).close()
        for name in ("ann", "bob"):
            book.analyst(name, datasets=["data"], budget=gt.PureDP(2))
        with small_session(ledger=book, analyst="ann") as ann, small_session(ledger=book, analyst="bob") as bob:
            first = ann.sql(COUNT).answer(epsilon=1)
            people = book.population("people of data").spent
            second = bob.sql(COUNT).answer(epsilon=1)
            assert second.to_dict() == first.to_dict()
            assert book.population("people of data").spent == people  # the population paid once
            used = {level.name: level.spent for level in book.levels() if level.kind == "analyst"}
            assert used == {"ann": 1, "bob": 1}  # both analysts paid
            assert (bob.budget.spent, bob.budget.left, bob.budget.affordable) == (
                1,
                1,
                Fraction(1),
            )  # what is told is their own
            bob.sql("SELECT COUNT(*) AS n FROM data WHERE x > 0").answer(epsilon=1)
            with pytest.raises(BudgetExceeded):
                bob.sql("SELECT COUNT(*) AS n FROM data WHERE x > 1").answer(epsilon=1)


def test_an_analysts_session_sees_their_own_allotment_and_entries_alone(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "people.ledger") as book:
        small_session(ledger=book).close()
        book.analyst("ann", datasets=["data"], budget=gt.ApproxDP(40, "4e-5"))
        book.analyst("bob", datasets=["data"], budget=gt.PureDP(2))
        with small_session(ledger=book, analyst="ann") as ann, small_session(ledger=book, analyst="bob") as bob:
            before = repr(bob), str(bob.budget.left), bob.budget.affordable, len(bob.history())
            first = ann.sql(COUNT).answer(epsilon=1, key="secret key")
            assert ann.sql(FOUND).answer(epsilon=20).release_id != first.release_id
            assert (repr(bob), str(bob.budget.left), bob.budget.affordable, len(bob.history())) == before
            assert "secret key" not in str(bob.history())
            assert bob.sql(COUNT).answer(epsilon=1).to_dict() != first.to_dict()  # drawn for bob
            assert [entry.kind for entry in bob.history()] == ["analyst", "reserved", "settled"]
            assert (bob.budget.spent, bob.budget.key_delta, ann.budget.key_delta) == (1, None, Fraction("4e-6"))
            assert book.release(str(first.release_id), analyst="ann").settled
        with (
            small_session(ledger=book, analyst="nobody") as nobody,
            pytest.raises(NotFound),
        ):
            nobody.sql(COUNT).answer(epsilon=1)
        book.verify()


def test_failures_are_counted_before_they_are_told_and_then_stop_the_asker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise QueryFailed("out of memory")

    with gt.ledger.open(tmp_path / "people.ledger") as book:
        small_session(ledger=book).close()
        book.analyst("ann", datasets=["data"], budget=gt.PureDP(20))
        with small_session(ledger=book, analyst="ann") as ann, small_session(ledger=book) as custodian:
            with monkeypatch.context() as broken:
                broken.setattr(DuckDBEngine, "_guarded", full)
                for asked, expected in (("0", 1), ("0", 3)):  # asked again: executed again, and failed again
                    with pytest.raises(QueryFailed):
                        ann.sql(f"SELECT COUNT(*) AS n FROM data WHERE x > {asked}").answer(epsilon=1)
                    assert {each.name: each.failed for each in book.failures()}["ann"] == expected
            for text in ("SELECT COUNT(*) AS n FROM data WHERE x > 0", COUNT):
                with pytest.raises(AllowanceExceeded):
                    ann.sql(text).answer(epsilon=1)
            assert ann.budget.spent == 1
            assert not ann.sql("SELECT COUNT(*) AS n FROM data WHERE x > 0").quote(epsilon=1).paid  # under another key
            custodian.sql(COUNT).answer(epsilon=1)
            book.reset_failures(*book.levels(analyst="ann"), reason="looked")
            assert len(ann.sql("SELECT COUNT(*) AS n FROM data WHERE x > 0").answer(epsilon=1)) == 1
            assert ann.budget.spent == 1  # it was paid for when it failed
        book.verify()


def test_sessions_that_ask_the_same_at_the_same_moment_are_charged_once_and_answered_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "giveortake.ledger.chain.chain._PATIENCE", LONGEST
    )  # of a reader, for a writer on a busy machine
    with gt.ledger.open(tmp_path / "people.ledger") as book:
        small_session(ledger=book).close()

        def ask(_: int) -> dict[str, Any]:
            with small_session(ledger=tmp_path / "people.ledger") as session:
                return session.sql(COUNT).answer(epsilon=1).to_dict()

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(ask, range(6)))
        assert all(each == found[0] for each in found)
        assert book.verify().reservations == 1
        assert book.failures()[0].failed == 0


def test_a_table_of_people_who_may_be_known_needs_the_owners_word(tmp_path: Path) -> None:
    where = tmp_path / "people.ledger"
    small_session(ledger=where).close()
    tables = {"fewer": ROWS.head(119), "renamed": ROWS.rename({"x": "y"}), "wider": ROWS.with_columns(z=pl.lit(1))}
    domains = {"r": ["north", "south"]}
    for name, table in tables.items():
        with pytest.raises(SameTable):
            small_session(table, ledger=where, name=name, domains=domains)
    with small_session(
        tables["fewer"], ledger=where, name="fewer", domains=domains, population="people of data"
    ) as fewer:
        fewer.sql("SELECT COUNT(*) AS n FROM fewer").answer(epsilon=60)
    with small_session(ledger=where) as first:
        assert first.budget.affordable is not None
        assert first.budget.affordable <= 40  # the same people paid
    with small_session(tables["wider"], ledger=where, name="wider", domains=domains, new_population="others") as wider:
        assert wider.describe().population == "others"
    with small_session(tables["wider"], ledger=where, name="wider", domains=domains) as again:
        assert again.describe().population == "others"


def test_the_mark_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    where, mark = tmp_path / "people.ledger", tmp_path / "other" / "people.mark"
    mark.parent.mkdir()
    small_session(ledger=where, mark=mark).close()
    assert mark.exists()
    with pytest.raises(LedgerForeign):
        small_session(ledger=where)
    with gt.ledger.open(where, mark=mark) as book, pytest.raises(InvalidParameter, match="mark"):
        small_session(ledger=book, mark=mark)
    ROWS.write_parquet(tmp_path / "data.parquet")
    (tmp_path / "data.toml").write_text(
        '[data]\nsource = "data.parquet"\nunit = "p"\nbudget = { epsilon = "100", delta = "1e-4" }\n'
        'ledger = "people.ledger"\nmark = "other/people.mark"\npopulation = "people of data"\n'
        'domains = { x = { bounds = [0, 10] }, r = ["north", "south"] }\nfailures = 2\n'
    )
    from_toml(tmp_path / "data.toml").close()


def test_an_answer_without_rows_says_why() -> None:
    with small_session() as session:
        answer = session.sql(FOUND).answer(epsilon="0.01")
    assert len(answer) == 0
    assert len(answer.notes) > 0


# -- versions -------------------------------------------------------------------------------------------------------


def test_a_changed_file_is_refused_before_it_costs_and_is_a_new_version_when_protected_again(tmp_path: Path) -> None:
    file, where = tmp_path / "data.parquet", tmp_path / "people.ledger"
    ROWS.write_parquet(file)
    with small_session(file, ledger=where) as session:
        first = session.sql(COUNT).answer(epsilon=1)
        ROWS.head(50).write_parquet(file)
        with pytest.raises(LedgerMismatch, match="changed"):
            session.sql(COUNT).answer(epsilon=2)
        with pytest.raises(LedgerMismatch, match="changed"):
            first.refine(epsilon=1)
        assert charges_of(session) == 1
    for version, rows in (("2", ROWS.head(50)), ("3", ROWS), ("3", ROWS)):  # back to what it was: a version of its own
        rows.write_parquet(file)
        with small_session(file, ledger=where) as session:
            assert session.describe().version == version
            session.sql(COUNT).answer(epsilon=1)
    with gt.ledger.open(where) as book:
        assert sum(entry.kind == "reserved" for entry in book.history()) == 3


def test_other_public_content_is_another_question(tmp_path: Path) -> None:
    text = "SELECT part, COUNT(*) AS n FROM data JOIN zones ON r = zone GROUP BY part"
    where = tmp_path / "people.ledger"
    sizes = []
    for parts in (["up", "down"], ["up", "up"]):
        zones = pl.DataFrame({"zone": ["north", "south"], "part": parts})
        with small_session(ledger=where, public={"zones": zones}) as session:
            sizes.append(len(session.sql(text).answer(epsilon=1)))
    assert sizes == [2, 1]


# -- neighbours -----------------------------------------------------------------------------------------------------


# -- faces ----------------------------------------------------------------------------------------------------------


def test_answers_have_their_faces() -> None:
    with small_session() as session:
        for text in (COUNT, FOUND, "SELECT MEDIAN(x) AS m, STDDEV(x) AS d FROM data"):
            answer = session.sql(text).answer(epsilon=30)
            frame = answer.to_polars()
            assert frame.height == len(answer)
            assert answer.to_arrow().num_rows == len(answer)
            assert len(answer.to_pandas()) == len(answer)
            assert pl.DataFrame(answer).equals(frame)
            assert str(answer)
            assert answer._repr_html_()
            assert answer.to_json()


ESCAPES = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "ATTACH '/tmp/other.duckdb' AS other",
    "COPY (SELECT 1) TO '/tmp/giveortake_leak.csv'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET memory_limit = '10GB'",
    "SET lock_configuration = false",
    "EXPORT DATABASE '/tmp/giveortake_export'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_text('/etc/hostname')",
)


def test_a_locked_engine_reads_and_writes_nothing_else(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "data.parquet")
    ROWS.write_csv(tmp_path / "data.csv")
    for source in (ROWS, tmp_path / "data.parquet", tmp_path / "data.csv"):
        with small_session(source) as session:
            for statement in ESCAPES:
                with pytest.raises(duckdb.Error):
                    engine_of(session)._connection.execute(statement).fetchall()
            session.sql(COUNT).answer(epsilon=1)  # and still answers


@all_cases("seconds", [0, -1, "5", float("nan"), float("inf"), True])
def test_limits_of_time_are_positive_numbers(seconds: object) -> None:
    with pytest.raises(gt.errors.InvalidParameter, match="seconds"):
        gt.protect(pl.DataFrame({"p": [1]}), unit="p", budget=gt.PureDP(1), engine={"seconds": seconds})  # type: ignore[arg-type]


def test_an_address_without_a_table_is_refused_and_a_closed_session_can_be_shown() -> None:
    with pytest.raises(gt.errors.InvalidParameter) as refusal:
        gt.protect("postgresql://ann:secret@nowhere/shop", unit="p", budget=gt.PureDP(1))
    assert "secret" not in str(refusal.value)
    closed = gt.protect(pl.DataFrame({"p": [1]}), unit="p", budget=gt.PureDP(1))
    closed.close()
    assert "closed" in repr(closed)
