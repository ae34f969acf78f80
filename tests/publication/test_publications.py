"""Releases where other programs read them: whole, named safely, replaced at once, and nothing of anybody else's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import GiveOrTakeError, InvalidParameter, LedgerMismatch, NotFound, Unprovable
from giveortake.publication.publishing import storable
from giveortake.publication.tables import LONGEST, column_names, table_name
from inside import tables_of
from postgres_server import planted

HOSTILE = 'n"; DROP TABLE releases; --'
LONG = "a" * 80
ROWS = pl.DataFrame(
    {
        "user": [f"u{number % 200}" for number in range(600)],
        "region": ["north", "it's <b>south</b>", "=1+1"] * 200,
        "day": [f"2024-01-0{number % 5 + 1}" for number in range(600)],
        "amount": [float(number % 50) for number in range(600)],
    }
).with_columns(pl.col("day").str.to_date())
DOMAINS = {
    "region": ["north", "it's <b>south</b>", "=1+1", "tab\t"],
    "amount": (0, 50),
    "day": ("2024-01-01", "2024-01-05"),
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gt.session.Session]:
    """Every kind of release: a question, one refined, a batch, a workload, a counter, a profile and a run."""
    book = tmp_path_factory.mktemp("book") / "visits.ledger"
    said: dict[str, Any] = {"unit": "user", "budget": gt.ApproxDP("40", "1e-6"), "domains": DOMAINS}
    with gt.protect(ROWS, name="visits", rows_per_person=3, ledger=book, **said) as opened:
        asked = f'SELECT region, COUNT(*) AS "{HOSTILE.replace(chr(34), chr(34) * 2)}" FROM visits GROUP BY region'
        opened.sql(asked).answer(epsilon="1").refine(epsilon="1")
        opened.batch(
            [f"SELECT COUNT(*) AS {LONG}, SUM(amount) AS s FROM visits", "SELECT AVG(amount) AS m FROM visits"]
        ).answer(epsilon="1")
        opened.workload(gt.workload.marginals(["region", "day"]) + gt.workload.ranges("amount", bins=5)).answer(
            rho="1/10"
        )
        opened.counter("day", horizon=5).answer(rho="1/10").next()
        opened.profile().answer(epsilon="1/10")
        gt.learn.moments(opened, ["amount"], rho="1/100")
        yield opened


def test_every_table_of_every_kind_of_release_is_read_again_by_its_id(session: gt.session.Session) -> None:
    first, refined, batch, workload, counter, profile, run = session.releases()
    assert [len(tables_of(session, each.id)) for each in (first, refined, batch, workload, counter, profile)] == [
        *(1, 1, 2, 4, 1, 1)
    ]
    everything = (first, refined, batch, workload, counter, profile, run)
    assert [(each.tables, each.readable) for each in everything] == [
        *((1, True), (1, True), (2, True), (4, True), (1, True), (1, True), (0, True))
    ]
    asked = session.workload(gt.workload.marginals(["region", "day"]) + gt.workload.ranges("amount", bins=5))
    again = asked.answer(rho="1/10")
    assert [table.to_dict() for table in tables_of(session, workload.id)] == [table.to_dict() for table in again]
    assert session.release(workload.id, index=3).to_dict() == again["amount"].to_dict()
    assert "asked before" not in " ".join(session.release(workload.id, index=0).notes)
    opened = session.counter("day", horizon=5).answer(rho="1/10")
    opened.next()
    assert session.release(counter.id).to_dict() == opened.answers().to_dict()
    assert session.release(workload.id).tables == again.tables
    assert isinstance(session.release(run.id), gt.learn.Moments)
    with pytest.raises(Unprovable):
        tables_of(session, run.id)
    with pytest.raises(Unprovable):
        session.release(workload.id, index=0).refine(epsilon="1")


def test_a_workload_is_read_by_what_was_charged_or_not_at_all(
    session: gt.session.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from giveortake.workload.bound_workload import BoundWorkload  # noqa: PLC0415 (here alone)

    written = BoundWorkload.to_json
    monkeypatch.setattr(BoundWorkload, "to_json", lambda self: {**written(self), "rows": 1})
    record = next(each for each in session.releases() if "marginals" in (each.description or ""))
    with pytest.raises(LedgerMismatch):
        session.release(record.id, index=0)


def test_a_duckdb_file_holds_tables_comments_and_a_catalogue_and_is_replaced(
    session: gt.session.Session, tmp_path: Path
) -> None:
    file = tmp_path / "answers.duckdb"
    gt.publish(session, file)
    found = gt.publish(session, file)
    assert len(found.tables) == 10
    assert len(found.left_out) == 1  # the run, which has no table
    with duckdb.connect(str(file), read_only=True) as read:
        listed = read.sql("SELECT table_name, asked, confidence, caps, why_not FROM giveortake.releases").fetchall()
        assert len(listed) == 11
        assert {name for name, *_ in listed} == {None, *(name for name, _ in found.tables)}
        name = found.tables[1][0]  # the refined one
        table = read.sql(f'FROM giveortake."{name}"')
        answer = session.release(session.releases()[1].id)
        assert table.columns[:5] == ["region", HOSTILE, f"{HOSTILE}_low", f"{HOSTILE}_high", f"{HOSTILE}_margin"]
        assert table.columns[5:7] == [f"{HOSTILE}_noise", f"{HOSTILE}_truncation"]
        assert table.columns[7:] == ["release_id", "confidence", "guarantee", "caps"]
        assert table.pl()[HOSTILE].to_list() == answer.to_dict()[HOSTILE]
        assert table.pl()["guarantee"][0] == str(answer.guarantee)
        (said,) = read.execute("SELECT comment FROM duckdb_tables() WHERE table_name = ?", [name]).fetchall()
        assert str(answer.guarantee) in said[0]
        columns = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?"
        assert dict(read.execute(columns, [name]).fetchall())["caps"]
        long = next(name for name, asked in found.tables if LONG in asked)
        assert max(len(column.encode()) for column in read.sql(f'FROM giveortake."{long}"').columns) <= LONGEST


def test_nothing_of_anybody_elses_is_written_over(session: gt.session.Session, tmp_path: Path) -> None:
    for file in (tmp_path / "private.duckdb", tmp_path / "private.parquet", tmp_path / "text.duckdb"):
        if file.name == "text.duckdb":
            file.write_text("no database")
        elif file.suffix == ".duckdb":
            with duckdb.connect(str(file)) as made:
                made.sql("CREATE TABLE trips AS SELECT 1 AS n")
        else:
            ROWS.write_parquet(file)
        before = file.read_bytes()
        with pytest.raises(InvalidParameter):
            gt.publish(session, file, release=session.releases()[0].id)
        assert file.read_bytes() == before
    for place in ("answers.txt", "mysql://me:secret@host/x"):
        with pytest.raises(InvalidParameter) as refused:
            gt.publish(session, place)
        assert refused.value.name == "to"
        assert "secret" not in str(refused.value)
    with pytest.raises(InvalidParameter, match="10"):
        gt.publish(session, tmp_path / "all.parquet")
    with pytest.raises(NotFound, match="no release"):
        gt.publish(session, tmp_path / "one.parquet", release="unknown")
    assert not (tmp_path / "one.parquet").exists()


def test_parquet_says_in_its_metadata_what_comments_say_elsewhere(session: gt.session.Session, tmp_path: Path) -> None:
    first = session.releases()[0].id
    gt.publish(session, tmp_path / "one.parquet", release=first)
    told = duckdb.execute(f"SELECT decode(value) FROM parquet_kv_metadata('{tmp_path}/one.parquet')").fetchall()
    said = json.loads(told[0][0])
    assert said["release_id"] == first
    assert HOSTILE in said["asked"].replace('""', '"')
    assert set(said["comments"]) >= {"release_id", "guarantee", "confidence", "caps"}
    for _ in range(2):
        gt.publish(session, f"{tmp_path}/all/")
    files = sorted(file.name for file in (tmp_path / "all").iterdir())
    assert len(files) == 11
    assert "releases.parquet" in files
    assert pl.read_parquet(tmp_path / "all" / "releases.parquet")["table_name"].null_count() == 1


def test_a_real_postgresql_gets_a_schema_that_is_replaced_in_one_transaction(
    session: gt.session.Session, server: str
) -> None:
    import psycopg  # noqa: PLC0415 (heavy)

    schema = f'answers "{uuid4().hex[:6]}"'
    found = gt.publish(session, server, schema=schema)
    with psycopg.connect(server, autocommit=True) as read:
        read.execute(psycopg.sql.SQL("SET search_path TO {}").format(psycopg.sql.Identifier(schema)))
        name = found.tables[1][0]
        read.execute(f'CREATE VIEW seen AS SELECT region, release_id FROM "{name}"')  # somebody builds on it
        gt.publish(session, server, schema=schema)
        rows = read.execute("SELECT asked, table_name, released_at, confidence FROM releases").fetchall()
        assert len(rows) == 11
        answer = session.release(session.releases()[1].id)
        numbers = read.execute(f'SELECT region, "{HOSTILE.replace(chr(34), chr(34) * 2)}_low" FROM "{name}"').fetchall()
        low = answer.to_dict()[f"{HOSTILE}_low"]
        assert sorted(value for _, value in numbers) == sorted(low)
        assert {region for region, _ in numbers} >= {"it's <b>south</b>", "=1+1", "tab\t"}
        assert read.execute("SELECT count(*) FROM seen").fetchone() == (4,)
        said = read.execute("SELECT obj_description(%s::regclass)", [f'"{name}"']).fetchone()
        assert said is not None
        assert str(answer.guarantee) in said[0]
        assert read.execute("SELECT col_description('releases'::regclass, 7)").fetchone() != (None,)
        read.execute("DROP TABLE releases")
        read.execute("CREATE TABLE releases (mine text)")
        with pytest.raises(InvalidParameter, match="releases"):
            gt.publish(session, server, schema=schema)
        assert read.execute("SELECT count(*) FROM releases").fetchone() == (0,)
    with pytest.raises(InvalidParameter) as refused:
        gt.publish(session, "postgresql://me:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(refused.value)


def test_functions_that_others_put_in_the_search_path_do_not_run_as_whoever_publishes(
    session: gt.session.Session, server: str
) -> None:
    with planted(server, "hashtextextended(text, integer) RETURNS bigint") as (place, caught):
        gt.publish(session, place)
        assert caught() == []


def test_a_report_is_a_page_without_script_in_which_no_text_is_markup(
    session: gt.session.Session, tmp_path: Path
) -> None:
    for record in session.releases()[:-1]:
        page = gt.report(session, record.id, tmp_path / "release.html")
        assert (tmp_path / "release.html").read_text() == page
        assert "<script" not in page
        assert "http://" not in page
        assert "https://" not in page
        assert "<b>south" not in page
        assert "<svg" in page
        for words in ("What is promised", "How to cite it", "What counts", record.id, "% probability"):
            assert words.replace(" %", "\u00a0%") in page
    batch = gt.report(session, session.releases()[2].id)
    assert "ε = 1 (pure)" in batch  # of both questions together
    assert "ε = 0.5 (pure)" in gt.report(session, session.releases()[2].id, index=1)
    with pytest.raises(InvalidParameter):
        gt.report(session, session.releases()[2].id, index=2)


def test_a_page_in_a_browser_is_as_wide_as_a_phone_and_complains_about_nothing(
    session: gt.session.Session, tmp_path: Path, browser: Any
) -> None:
    gt.report(session, session.releases()[3].id, tmp_path / "release.html")
    page = browser.new_page(viewport={"width": 390, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"file://{tmp_path}/release.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("svg.interval").count() > 5
    assert said == []
    page.close()


def test_a_refinement_shows_the_question_that_it_refines(session: gt.session.Session) -> None:
    for record in session.releases()[:2]:
        assert "SELECT region, COUNT(*)" in gt.report(session, record.id)
    with gt.protect(ROWS, name="visits", unit=gt.ROW, budget=gt.PureDP(9), domains=DOMAINS) as other:
        _, mean = other.batch(["SELECT COUNT(*) AS n FROM visits", "SELECT AVG(amount) AS m FROM visits"]).answer(
            epsilon=1
        )
        page = gt.report(other, str(mean.refine(epsilon=1).refine(epsilon=1).release_id))
    assert "SELECT AVG(amount) AS m FROM visits" in page
    assert "SELECT COUNT(*)" not in page


def test_a_table_for_a_spreadsheet_is_csv_in_which_nothing_runs(session: gt.session.Session, tmp_path: Path) -> None:
    place, refined = tmp_path / "region.csv", session.releases()[1]
    for _ in range(2):  # what was published is replaced
        assert len(gt.publish(session, place, release=refined.id).tables) == 1
    content = place.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfregion,")
    assert b"'=1+1" in content
    assert b"\n=1+1" not in content
    assert "ε = 2 (pure)".encode() in content
    assert [each.name for each in tmp_path.iterdir()] == ["region.csv"]
    place.write_text("who,release_id\n1,2\n")
    with pytest.raises(InvalidParameter):
        gt.publish(session, place, release=refined.id)
    with pytest.raises(InvalidParameter):
        gt.publish(session, tmp_path / "all.csv")
    with pytest.raises(InvalidParameter):
        gt.publish(session, tmp_path / "none" / "a.csv", release=refined.id)
    with pytest.raises(InvalidParameter, match=r"region\.csv"):
        gt.publish(session, tmp_path / "region.xlsx", release=refined.id)


def test_names_are_never_cut_off_by_a_database_nor_taken_twice() -> None:
    made = column_names(["n", "N", "n_2", "x" * 100, "x" * 99, "a\nb", "é" * 60])
    assert len({each.casefold() for each in made}) == len(made)
    assert all(len(each.encode()) <= LONGEST and each.isprintable() for each in made)
    assert table_name("visits", "8a7afee9774886ca498d9cb1", None) != table_name(
        "visits", "8a7afee9774986ca498d9cb1", None
    )


def test_a_nul_which_postgresql_does_not_hold_is_shown_as_what_is_missing() -> None:
    assert (storable("a\0b"), storable(3), storable(None)) == ("a\ufffdb", 3, None)


def test_what_cannot_be_reached_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    class Nobody:
        name = "nobody"

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    nobody: Any = Nobody()
    for to in ("x.xlsx", "x.txt", "ftp://x/y"):
        with pytest.raises(GiveOrTakeError):
            gt.publish(nobody, to)
    with pytest.raises(InvalidParameter):
        gt.publish(nobody, tmp_path / "x.duckdb", schema="")


def test_an_analyst_publishes_their_own_and_nobody_elses(session: gt.session.Session, tmp_path: Path) -> None:
    from giveortake.session.session import mechanism_of  # noqa: PLC0415 (the custodian's ledger)

    book = mechanism_of(session).ledger
    book.analyst("ann", datasets=["visits"], budget=gt.PureDP("1"))
    ann = session.as_analyst("ann")
    with pytest.raises(NotFound):
        gt.publish(ann, tmp_path / "anns.duckdb")
    asked = ann.sql("SELECT COUNT(*) AS n FROM visits").answer(epsilon="1/2")
    assert len(gt.publish(ann, tmp_path / "anns.duckdb").tables) == 1
    with pytest.raises(NotFound):
        gt.report(ann, session.releases()[0].id)
    assert str(asked.release_id) in gt.report(ann, str(asked.release_id))


def test_a_group_without_a_key_is_on_the_page_also_if_the_table_is_cut() -> None:
    rows = pl.DataFrame({"user": range(300), "place": [*range(1, 300), None]})
    said: dict[str, Any] = {"unit": "user", "budget": gt.PureDP(9), "domains": {"place": (1, 299)}}
    with gt.protect(rows, name="visits", rows_per_person=1, **said) as opened:
        answer = opened.sql("SELECT place, COUNT(*) AS n FROM visits GROUP BY place").answer(epsilon="1")
        page = gt.report(opened, str(answer.release_id))
    assert "100 more rows" in page
    assert "Without <code>place</code>: n " in page
