"""Choosing an engine for a source, the protocol that all engines have, and what one of them refuses to run."""

from __future__ import annotations

import inspect
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from engine_places import place
from giveortake import ledger
from giveortake.configuration import configurations, from_toml
from giveortake.engines import Backend, Engine, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.protocol import GROUP, HERE, HandsOverRows, backend_of, is_address, open_engine, place_of
from giveortake.engines.spark.engine import SparkEngine
from giveortake.engines.spark.tables import connect
from giveortake.errors import (
    HIDDEN,
    GiveOrTakeError,
    InvalidParameter,
    LedgerMismatch,
    NotFound,
    QueryFailed,
    QueryRefused,
    safe_text,
)
from giveortake.plan import Call, ColumnReference, Derive, PrivateTable, Scan
from giveortake.session import Session
from inside import engine_of, measured
from postgres_server import stored
from replay import SPEND, exact_integers
from toy_engine import SQLITE, SQLiteEngine

SECRET = "hunter2"  # noqa: S105 (what must not be told is looked for)
REGIONS = ["north", "south", "north", "west", None, "north"]
BY_REGION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a package that registers engines where Python finds it."""

    def installed(name: str = "giveortake_sqlite", **entries: str) -> None:
        folder = tmp_path / name
        about = folder / f"{name}-0.1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        listed = "\n".join(f"{entry} = {value}" for entry, value in entries.items())
        (about / "entry_points.txt").write_text(f"[{GROUP}]\n{listed}\n")
        monkeypatch.syspath_prepend(str(folder))

    return installed


@pytest.fixture
def address(tmp_path: Path) -> str:
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (region TEXT, note TEXT, amount REAL)")
        connection.executemany("INSERT INTO visits VALUES (?, 'n', 1.5)", [(region,) for region in REGIONS])
    connection.close()
    return f"sqlite://{path}?table=visits"


def protect(address: str) -> gt.session.Session:
    return gt.protect(address, unit=gt.ROW, budget=gt.PureDP(100), domains={"region": ["north", "south", "east", None]})


def test_an_engine_of_another_package_protects_a_table_and_answers_a_count(install: Install, address: str) -> None:
    install(sqlite="toy_engine:SQLITE")
    assert place_of(address) == "sqlite"
    with protect(address) as session:
        query = session.sql(BY_REGION)
        assert query.quote(epsilon=1).admitted
        answer = query.answer(epsilon=50)
        assert answer["region"].values == ("north", "south", "east", None)
        assert len(answer) == 4
        exact = exact_integers(measured(session, BY_REGION, SPEND), engine_of(session))
        assert [each.tolist() for each in exact] == [[3, 1, 0, 1]]
        assert session.budget.spent > 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(DISTINCT note) AS n FROM visits",
        "SELECT note, COUNT(*) AS n FROM visits GROUP BY note",
        "SELECT COUNT(*) AS n FROM visits WHERE note = 'n'",
    ],
)
def test_what_it_cannot_do_is_refused_at_no_cost(text: str, install: Install, address: str) -> None:
    install(sqlite="toy_engine:SQLITE")
    with protect(address) as session:
        for ask in (session.sql(text).quote, session.sql(text).answer):
            with pytest.raises(QueryRefused):
                ask(epsilon=1, **({"key_delta": "1e-9"} if "note, " in text else {}))
        assert session.budget.spent == 0


def test_a_table_that_changed_is_noticed(install: Install, address: str) -> None:
    install(sqlite="toy_engine:SQLITE")
    with protect(address) as session:
        with sqlite3.connect(address.removeprefix("sqlite://").partition("?")[0]) as connection:
            connection.executemany("INSERT INTO visits VALUES (?, 'n', 1)", [("east",)] * 999)
        connection.close()
        with pytest.raises(LedgerMismatch, match="changed"):
            session.sql(BY_REGION).answer(epsilon=1)


def test_nobody_knows_an_address_before_its_package_is_there(install: Install, address: str) -> None:
    with pytest.raises(InvalidParameter, match="postgresql://, postgres://, spark://, sc://"):
        protect(address)
    install(sqlite="toy_engine:SQLITE")
    with pytest.raises(InvalidParameter, match="sc://, sqlite://"):
        place_of(f"mysql://ann:{SECRET}@db")


def test_what_is_built_in_goes_first_and_loads_no_other_package(install: Install) -> None:
    install(broken="no_such_module:ENGINE")
    assert place_of("visits.csv") == place_of(pl.DataFrame({"x": [1]})) == place_of(Path("visits.csv")) == HERE
    assert place_of("postgresql://db/clinic") == "postgresql"
    assert place_of("sc://cluster") == "spark"
    with pytest.raises(NotFound, match="'broken'") as refused:
        place_of(f"sqlite:///{SECRET}")
    assert SECRET not in f"{refused.value} {refused.value.__cause__}"


def test_two_packages_that_claim_a_source_are_refused(install: Install) -> None:
    install("one", sqlite="toy_engine:SQLITE")
    install("another", sqlite_too="toy_engine:SQLITE")
    with pytest.raises(InvalidParameter, match="sqlite, sqlite"):
        place_of("sqlite:///clinic.db")


def test_tables_that_are_asked_together_lie_together(install: Install, address: str) -> None:
    install(sqlite="toy_engine:SQLITE")
    with pytest.raises(InvalidParameter, match="places"):
        open_engine({"a": address, "b": "b.csv"}, memory="1GB", threads=None, seconds=None)


def test_engines_that_are_built_in_are_registered_as_others_are() -> None:
    found: list[Backend] = [SQLITE, *map(backend_of, ("postgresql://db", "spark://db", "sc://db", "t.csv", object()))]
    assert [backend.name for backend in found] == ["sqlite", "postgresql", "spark", "spark", HERE, HERE]


def test_to_choose_an_engine_imports_no_heavy_library() -> None:
    import subprocess  # noqa: PLC0415

    program = (
        "import sys\nfrom giveortake.engines.protocol import place_of\n"
        "assert [place_of(each) for each in ('postgres://db', 'sc://x', 't.csv')] == ['postgresql', 'spark', 'here']\n"
        "print({'duckdb', 'psycopg', 'pyspark', 'pyarrow', 'polars', 'importlib.metadata'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


UNKNOWN = [
    f"mysql://ann:{SECRET}@db/clinic?table=t",
    f" mysql://ann:{SECRET}@db",
    f"postgresql+psycopg://ann:{SECRET}@db/clinic",
    f"jdbc:postgresql://db/clinic?user=ann&password={SECRET}",
    f"jdbc:oracle:thin:ann/{SECRET}@db",
    f"s3://{SECRET}@bucket/trips.parquet",
]
STRINGS = [f"host=db Password={SECRET}", f"host=db  TOKEN = {SECRET}"]
KNOWN = [
    f"POSTGRESQL://ann:{SECRET}@127.0.0.1:1/clinic?connect_timeout=2",
    f"  Postgres://ann:{SECRET}@127.0.0.1:1/clinic?connect_timeout=2",
    f"postgresql://ann:{SECRET}@[::1/clinic",
]
PROMISE = 'unit = "row"\nbudget = 1\n'


def _told(error: BaseException) -> str:
    return f"{error} {error!r} {vars(error)} {error.__cause__}"


def test_no_source_is_quoted() -> None:
    for source in (*UNKNOWN, *STRINGS, *KNOWN):
        listed: list[Any] = [source, {"a": source}, [source], [source, "b.parquet"], Path(source), f"{source}*.parquet"]
        for form in listed:
            with pytest.raises(GiveOrTakeError) as refused:
                gt.protect(form, unit=gt.ROW, budget=gt.PureDP(1))
            assert SECRET not in _told(refused.value), source


def test_an_unknown_scheme_is_refused_with_those_that_are_known() -> None:
    for source in UNKNOWN:
        with pytest.raises(InvalidParameter, match="postgresql://, postgres://, spark://, sc://") as refused:
            place_of(source)
        assert SECRET not in _told(refused.value), source


def test_no_public_source_is_quoted() -> None:
    engine = DuckDBEngine()
    for source in (*UNKNOWN, *STRINGS, *KNOWN):
        with pytest.raises(GiveOrTakeError) as refused:
            engine.add_public("regions", source)
        assert SECRET not in _told(refused.value), source
    engine.close()


def test_no_ledger_and_no_mark_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, address in enumerate((*UNKNOWN, *STRINGS, *KNOWN, f"postgresql://ann:{SECRET}@db\0")):
        for where, mark in ((address, None), (tmp_path / f"{number}.ledger", address)):
            with pytest.raises(GiveOrTakeError) as refused:
                ledger.open(where, mark=mark)
            assert SECRET not in _told(refused.value), address
    assert not list(tmp_path.glob(f"*{SECRET}*"))


def test_no_configuration_that_is_refused_quotes_them(tmp_path: Path) -> None:
    texts = [
        "[trips]\nsorce = '{0}'\n" + PROMISE,
        "[trips]\nsource = 't.csv'\nledgr = '{0}'\n" + PROMISE,
        "source = '{0}'\n",
        "[trips]\nsorce = ['{0}', '{0}']\n" + PROMISE,
        "[trips]\nsource = ['{0}', 3]\n" + PROMISE,
        "[trips]\nsource = 't.csv'\npublic = '{0}'\n" + PROMISE,
        "[trips]\nsource = ['{0}']\n" + PROMISE,
    ]
    file = tmp_path / "sessions.toml"
    for address in (*UNKNOWN, *STRINGS, f"postgresql://ann:{SECRET}@db"):
        for text in texts:
            file.write_text(text.format(address), encoding="utf-8")
            with pytest.raises(GiveOrTakeError) as refused:
                from_toml(file)
            assert SECRET not in _told(refused.value), (address, text)


def test_what_is_printed_of_a_configuration_hides_addresses_alone(tmp_path: Path) -> None:
    address = f"postgresql://ann:{SECRET}@db?table=t"
    file = tmp_path / "sessions.toml"
    file.write_text(f"[trips]\nsource = '{address}'\nledger = '{address}'\nanalyst = 'ann'\n{PROMISE}")
    found = configurations(file)["trips"]
    assert found.ledger == address
    assert SECRET not in repr(found)
    assert "'source': <hidden>" in repr(found)
    assert "'analyst': 'ann'" in repr(found)


@pytest.mark.parametrize("url", [f"sc://h:1/;token={SECRET}", f"SPARK://{SECRET}:1", f"http://{SECRET}?table=t"])
def test_no_address_of_spark_is_quoted(url: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        connect(url)
    assert SECRET not in _told(refused.value)


def test_paths_are_told(tmp_path: Path) -> None:
    for path in ("trips.csv", "C:/data/trips.csv", "data/year=2024/trips.parquet", "a:b"):
        assert safe_text(path) == path
        assert not is_address(path)
    with pytest.raises(NotFound, match=r"nowhere\.csv"):
        DuckDBEngine().add("t", str(tmp_path / "nowhere.csv"), None)


def test_no_table_in_memory_is_quoted() -> None:
    class Odd:
        def __repr__(self) -> str:
            return SECRET

    with pytest.raises(InvalidParameter, match="Odd") as refused:
        DuckDBEngine().add("t", Odd(), None)
    assert SECRET not in _told(refused.value)
    assert InvalidParameter("x", {"a": [f"sc://{SECRET}"]}, "is odd").value is HIDDEN


ENGINES: list[type[Any]] = [DuckDBEngine, PostgresEngine, SparkEngine, SQLiteEngine]
TOLD = {  # what leaves an engine otherwise: its version, what types and public tables say, and whether files changed
    "add": "Source",
    "add_public": "PublicContent",
    "close": "None",
    "hold_to_content": "None",
    "lock": "None",
    "prepare": "None",
    "require_runnable": "None",
    "unchanged": "bool",
}


def _public(kind: type[Any]) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_has_what_the_protocol_has_and_nothing_more(kind: type[Any]) -> None:
    within = _public(HandsOverRows) if kind is DuckDBEngine else set()  # what engines of this process may have besides
    assert _public(kind) == _public(Engine) | within
    assert getattr(kind, "__final__", False)


@pytest.mark.parametrize("name", sorted(_public(Engine) - {"identity", "has_witnesses"} | _public(HandsOverRows)))
def test_whatever_is_computed_of_rows_leaves_as_sensitive(name: str) -> None:
    returned = str(inspect.signature(getattr(Engine, name, None) or getattr(HandsOverRows, name)).return_annotation)
    assert returned == TOLD.get(name) or "Sensitive[" in returned


TABLE = pl.DataFrame({"p": range(20), "x": [float(each) for each in range(20)], "r": ["a", "b"] * 10})
ALIKE = "n" * 63
LONG_NAMES = f"SELECT SUM({ALIKE}1) AS a, SUM({ALIKE}2) AS b FROM (SELECT x AS {ALIKE}1, x + 1 AS {ALIKE}2 FROM t)"
BY_R = "SELECT r, COUNT(*) AS n FROM t GROUP BY r"
NUL: dict[str, Any] = {"r": ["a", "b\0"]}

Opened = Callable[..., Session]


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    """The table behind a budget, in some place."""
    sessions: list[Session] = []

    def open_(where: str, **domains: Any) -> Session:
        said = {"x": (0, 10), **domains}
        source = place(where, request)("t", TABLE)
        sessions.append(gt.protect(source, unit=gt.ROW, budget=gt.PureDP(100), domains=said, name="t"))
        return sessions[-1]

    yield open_
    for each in sessions:
        each.close()


def _growing(times: int) -> str:
    """A question that DuckDB has to be told twice as much for each time, and PostgreSQL a little more."""
    text = "x"
    for _ in range(times):
        text = f"CASE WHEN x > 0 THEN {text} + 1 END"
    return f"SELECT SUM(CLAMP({text}, 0, 1)) AS a FROM t"


def _rounded(times: int) -> str:
    """A question that Spark has to be told three times as much for each time, and DuckDB a little more."""
    text = "x"
    for _ in range(times):
        text = f"ROUND({text} + 1)"
    return f"SELECT SUM(CLAMP({text}, 0, 1)) AS a FROM t"


def _require_refused_for_free(session: Session, text: str, why: str) -> None:
    engine = engine_of(session)
    before = session.budget.spent
    query = session.sql(text)
    for ask in (query.quote, query.answer, query.stream):
        with pytest.raises(QueryRefused, match=why):
            ask(epsilon=1)
    with pytest.raises(QueryRefused, match=why):
        session.batch([query]).answer(epsilon=1)
    assert session.budget.spent == before
    assert engine.unchanged()


@pytest.mark.parametrize(
    ("where", "text", "domains", "why"),
    [
        ("postgresql", BY_R, NUL, "NUL character"),
        ("postgresql", LONG_NAMES, {}, "63 bytes"),
        ("duckdb", _growing(14), {}, "too long"),
        ("spark", _rounded(10), {}, "too long"),
    ],
)
def test_what_one_engine_cannot_run_is_refused_there_at_no_cost(
    where: str, text: str, domains: dict[str, Any], why: str, opened: Opened
) -> None:
    _require_refused_for_free(opened(where, **domains), text, why)


@pytest.mark.parametrize(
    ("where", "text", "domains"),
    [
        ("duckdb", BY_R, NUL),
        ("duckdb", LONG_NAMES, {}),
        ("duckdb", _rounded(10), {}),
        ("postgresql", LONG_NAMES.replace(f", SUM({ALIKE}2) AS b", ""), {}),
        ("postgresql", _growing(14), {}),
        ("postgresql", _rounded(10), {}),
    ],
)
def test_and_answered_by_one_that_can(where: str, text: str, domains: dict[str, Any], opened: Opened) -> None:
    session = opened(where, **domains)
    session.sql(text).quote(epsilon=1)
    assert len(session.sql(text).answer(epsilon=1)) > 0


def _summands(count: int) -> tuple[Summand, ...]:
    return tuple(Summand("values", ColumnReference("x")) for _ in range(count))


def test_postgresql_is_asked_for_no_more_columns_than_its_select_may_have(server: str) -> None:
    engine = PostgresEngine(server)
    found = engine.add("t", stored(server, "t", TABLE), None)
    scan = Scan(PrivateTable("t", found.columns, None))
    most, more = (Tally(scan, Keys(), _summands(count)) for count in (1659, 1665))
    engine.require_runnable([most])
    engine.tally(most)
    with pytest.raises(QueryRefused, match="1,664 columns"):
        engine.require_runnable([more])
    with pytest.raises(QueryFailed):  # as it would be, were it asked
        engine.tally(more)
    engine.close()


def test_of_wide_relations_those_columns_count_that_a_question_needs(server: str) -> None:
    engine = PostgresEngine(server)
    found = engine.add("t", stored(server, "t", TABLE), None)
    columns = [f"c{index}" for index in range(1665)]
    wide = Derive(Scan(PrivateTable("t", found.columns, None)), tuple((name, ColumnReference("x")) for name in columns))
    few, all_of_them = (
        Tally(wide, Keys(), (Summand("values", Call("coalesce", tuple(map(ColumnReference, names)))),))
        for names in (columns[:3], columns)
    )
    engine.require_runnable([few])
    engine.tally(few)
    with pytest.raises(QueryRefused, match="1,664 columns"):
        engine.require_runnable([all_of_them])
    engine.close()


def test_a_public_table_whose_names_postgresql_would_confuse_is_refused(server: str) -> None:
    engine = PostgresEngine(server)
    with pytest.raises(QueryRefused, match="63 bytes"):
        engine.add_public("zones", pl.DataFrame({f"{ALIKE}1": [1], f"{ALIKE}2": [2]}))
    engine.add_public("zones", pl.DataFrame({f"{ALIKE}1": [1], "other": [2]}))
    engine.close()


def test_no_row_is_read_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine()
    found = engine.add("t", TABLE, {})
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in found.columns)
    scan = Scan(PrivateTable("t", columns, "p"), 3)
    keys = Keys((KeyColumn("r", ColumnReference("r"), None),))
    tally = Tally(scan, keys, (Summand("rows"),))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_connection", None)
        engine.require_runnable([tally, Persons(scan, keys, 2)])
    known = Tally(scan, Keys((KeyColumn("r", ColumnReference("r"), ("a", "b")),)), (Summand("rows"),))
    assert [part.tolist() for part in engine._remembered(known, lambda: engine._tally(known))] == [[10, 10]]
    engine.close()
