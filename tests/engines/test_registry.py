"""Engines come from a registry that other packages join by an entry point; those that are built in go first."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake.engines import Backend
from giveortake.engines.protocol import GROUP, HERE, backend_of, open_engine, place_of
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryRefused
from inside import engine_of, measured
from replay import SPEND, exact_integers
from toy_engine import SQLITE

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
        assert session.spent > 0


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
        assert session.spent == 0


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
