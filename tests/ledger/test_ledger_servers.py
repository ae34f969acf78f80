"""What PostgreSQL alone can do to a ledger: end sessions, crash, refuse to write, forget on purpose."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ledger_places import ServerPlace

from giveortake.errors import LedgerBusy, LedgerDamaged, LedgerError, LedgerUnavailable
from giveortake.ledger import Charge
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain import postgres
from giveortake.ledger.chain.postgres import PostgresStore
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace
from postgres_server import another_database, patiently, planted, start_server, stored
from small_session import COUNT, ROWS, small_session
from waiting import until

TENTH = Laplace(10)


@pytest.fixture
def place(server: str) -> ServerPlace:
    found = ServerPlace(server)
    with found.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
    return found


def end_all(place: ServerPlace) -> None:
    """End every session of the database, as a restart, a failover or a pool does."""
    place.sql(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )


def test_sessions_that_the_server_ends_between_two_calls_are_opened_again(place: ServerPlace) -> None:
    with place.open() as ledger:
        ledger.reserve(Charge(TENTH, dataset="d", key="a"))
        end_all(place)
        paid = ledger.reserve(Charge(TENTH, dataset="d", key="b"))
        end_all(place)
        assert ledger.settle(paid, 41) == 41
        end_all(place)
        assert len(ledger.entries(after=0, limit=100)) == len(ledger.history())
        end_all(place)
        assert ledger.verify().reservations == 2


def test_a_session_whose_connections_are_all_ended_answers_the_next_question(server: str) -> None:
    place = ServerPlace(server)
    with small_session(stored(server, "data", ROWS), name="data", ledger=place.where) as session:
        for text in (COUNT, "SELECT COUNT(*) AS n FROM data"):
            end_all(place)
            assert len(session.sql(text).answer(epsilon=1))
    with place.open() as ledger:
        assert sum(each.failed for each in ledger.failures()) == 0
        assert ledger.verify().answers == 2


@pytest.mark.parametrize("step", ["begun", "written"])
def test_a_session_that_ends_inside_a_transaction_leaves_nothing_and_may_be_tried_again(
    place: ServerPlace, step: str
) -> None:
    ended: list[str] = []

    def at(label: str) -> None:
        if label == step and not ended:
            ended.append(label)
            end_all(place)

    with opened(place.where, at=at) as ledger:
        with pytest.raises(LedgerBusy):
            ledger.reserve(Charge(TENTH, dataset="d", key="a"))
        assert ledger.reserve(Charge(TENTH, dataset="d", key="a")).fresh
        assert ledger.verify().reservations == 1


def test_a_session_that_ends_at_its_commit_is_not_tried_again(place: ServerPlace) -> None:
    """Whether the commit arrived is unknown to whoever sent it."""
    store = PostgresStore(place.where)
    with pytest.raises(LedgerUnavailable, match="key"), store.writing():
        end_all(place)
    store.close()


def test_a_commit_whose_reply_is_lost_is_found_by_its_key(place: ServerPlace) -> None:
    """The server has committed and waits for a standby that does not come when the session is ended."""
    with place.open() as ledger:
        ledger.reserve(Charge(TENTH, dataset="d", key="a"))
        place.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        place.sql("SELECT pg_reload_conf()")
        try:
            with ThreadPoolExecutor(1) as other:
                asked = other.submit(ledger.reserve, Charge(TENTH, dataset="d", key="b"))
                waits = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                until(lambda: asked.done() or (place.sql(waits) and asked.done()), "the session is ended")
        finally:
            place.sql("ALTER SYSTEM RESET synchronous_standby_names")
            place.sql("SELECT pg_reload_conf()")
        assert isinstance(asked.exception(), LedgerUnavailable)
    with place.open() as ledger:
        again = ledger.reserve(Charge(TENTH, dataset="d", key="b"))
        assert (again.fresh, again.charged) == (False, ())
        assert ledger.verify().reservations == 2


def is_running(pid: int) -> bool:
    """Whether a process has not ended; nobody need have waited for it."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def test_a_server_that_crashes_keeps_what_was_committed() -> None:
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    running = start_server(folder / "data")
    try:
        place = ServerPlace(running.get_uri())
        with place.open() as ledger:
            ledger.population("people", budget=PureDP(1))
            ledger.dataset("d", population="people")
            for key in "abc":
                ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=key)), key)
            pid = running.get_pid()
            os.kill(pid, signal.SIGQUIT)  # an immediate shutdown: nothing is written, recovery follows
            left = folder / "data" / "postmaster.pid"
            until(lambda: not (left.exists() or is_running(pid)), "the server ends")
            with pytest.raises(LedgerError):
                ledger.reserve(Charge(TENTH, dataset="d", key="d"))
            patiently(running.ensure_postgres_running)
        with place.open() as ledger:
            assert [ledger.reserve(Charge(TENTH, dataset="d", key=key)).answer for key in "abc"] == list("abc")
            assert ledger.verify().reservations == 3
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_database_that_cannot_be_written_refuses_to_charge(place: ServerPlace) -> None:
    options = "&options=-c%20default_transaction_read_only%3Don"
    with pytest.raises(LedgerUnavailable, match="read-only"), open_ledger(place.where + options) as ledger:
        ledger.reserve(Charge(TENTH, dataset="d"))
    with open_ledger(place.where + options, read_only=True) as ledger:
        assert ledger.verify().reservations == 0


def test_a_weaker_commit_is_made_durable(place: ServerPlace) -> None:
    for weaker in ("off", "local", "remote_write"):
        store = PostgresStore(f"{place.where}&options=-c%20synchronous_commit%3D{weaker}")
        with store.writing() as tables:
            setting = list(tables._execute("SELECT current_setting('synchronous_commit')", ()))
            assert setting == [("on",)], weaker
        store.close()


def test_a_server_that_does_not_sync_is_refused(place: ServerPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_setting_of", lambda _connection, setting: "off" if setting == "fsync" else "on")
    with pytest.raises(LedgerUnavailable, match="fsync = off"):
        place.open()


def test_a_ledger_that_is_held_too_long_is_busy(place: ServerPlace) -> None:
    with psycopg.connect(place.address) as other, place.open() as ledger:
        store = ledger.chain.store
        assert isinstance(store, PostgresStore)
        other.execute(f"SELECT * FROM {place.schema}.about FOR UPDATE".encode())
        store.connected().execute("SET lock_timeout = '20ms'")  # in which nothing but a lock is waited for
        with pytest.raises(LedgerBusy):
            ledger.reserve(Charge(TENTH, dataset="d"))
        other.rollback()
        ledger.reserve(Charge(TENTH, dataset="d"))


def test_a_turn_that_cannot_be_had_leaves_no_session_behind(
    place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, made = psycopg.connect, list[psycopg.Connection[Any]]()

    def impatient(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
        made.append(connect(*arguments, **options))
        made[-1].execute("SET statement_timeout = '100ms'")
        return made[-1]

    with place.open() as ledger, place.open() as other, ledger.turn(Charge(TENTH, dataset="d", name="q")):
        monkeypatch.setattr(psycopg, "connect", impatient)
        with pytest.raises(LedgerUnavailable), other.turn(Charge(TENTH, dataset="d", name="q")):
            raise AssertionError("somebody else has it")
        assert [each.closed for each in made] == [True]


def test_a_server_out_of_reach_is_unavailable() -> None:
    with pytest.raises(LedgerUnavailable):
        open_ledger("postgresql://nobody@127.0.0.1:1/nothing")


def test_a_dropped_mark_or_schema_is_missed(place: ServerPlace) -> None:
    with place.open() as ledger:
        place.sql(f"DELETE FROM {place.schema}_mark.mark")
        with pytest.raises(LedgerDamaged, match="mark"):
            ledger.reserve(Charge(TENTH, dataset="d"))
        place.delete()
    with pytest.raises(LedgerDamaged, match="mark"):
        place.open()


def test_functions_that_others_put_in_the_search_path_do_not_run_as_the_custodian(server: str) -> None:
    locks = [
        f"pg_{kind}({whole}) RETURNS {given}"
        for kind, given in [
            ("advisory_xact_lock", "text"),
            ("try_advisory_lock", "boolean"),
            ("advisory_lock", "text"),
        ]
        for whole in ("smallint", "integer")
    ]
    others = ("current_setting(varchar) RETURNS text", "to_regclass(varchar) RETURNS regclass")
    with planted(server, *locks, *others) as (place, caught):
        with open_ledger(place) as ledger:
            ledger.population("people", budget=PureDP(1))
            ledger.dataset("d", population="people")
            with ledger.turn(Charge(TENTH, dataset="d", name="q")):
                ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key="a")), 1)
            ledger.chain.mark.secret(create=True)
            assert ledger.verify().reservations == 1
        assert caught() == []


def test_every_statement_of_a_ledger_sees_the_names_of_postgresql_alone(place: ServerPlace) -> None:
    store = PostgresStore(place.where)
    for begin in (store.writing, store.reading, store.glancing):
        with begin() as tables:
            found = tables._execute("SELECT current_setting('search_path')", ())
            assert list(found) == [("pg_catalog, pg_temp",)]
    store.close()


def test_a_database_that_does_not_say_what_its_texts_mean_is_refused(server: str) -> None:
    ascii_only = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    with another_database(server, ascii_only) as place, pytest.raises(LedgerUnavailable, match="SQL_ASCII"):
        open_ledger(place)
