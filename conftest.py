"""Names that every example in the documentation may use."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import giveortake
from postgres_server import server  # noqa: F401 (a fixture)

ENGINES = "how-to-engines.md"

# Laws are deterministic: no deadline on a shared machine, and the same examples in every run.
hypothesis.settings.register_profile("laws", deadline=None, derandomize=True)
hypothesis.settings.load_profile("laws")


STATE = "GIVEORTAKE_STATE"


def pytest_configure(config: pytest.Config) -> None:
    """No test writes the mark of a ledger into the user's own state folder, nor does a process that a test starts."""
    folder = tempfile.mkdtemp(prefix="giveortake-state-")
    before = os.environ.get(STATE)
    os.environ[STATE] = folder

    def restore() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop(STATE, None)
        if before is not None:
            os.environ[STATE] = before

    config.add_cleanup(restore)


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["gt"] = giveortake


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The page about engines shares the one Spark of the tests."""
    for item in items:
        if item.path.name == ENGINES:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(autouse=True)
def _servers_for_the_page_about_engines(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, doctest_namespace: dict[str, Any]
) -> None:
    """A database `shop` with the table that comes with giveortake, where libpq's own variables say, and a Spark."""
    if request.path.name != ENGINES:
        return
    import psycopg  # noqa: PLC0415 (heavy, as what follows)

    from spark_session import spark_session  # noqa: PLC0415

    address = request.getfixturevalue("server")
    for name, value in psycopg.conninfo.conninfo_to_dict(address).items():
        if name in {"host", "port", "user"} and value:
            monkeypatch.setenv(f"PG{name.upper()}", str(value))
    visits = files("giveortake") / "data" / "visits.csv"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS shop")
        connection.execute("CREATE DATABASE shop")
    with psycopg.connect("dbname=shop", autocommit=True) as connection, connection.cursor() as cursor:
        columns = "person_id text, region text, reason text, amount double precision"
        cursor.execute(f"CREATE TABLE visits ({columns})".encode())
        with cursor.copy(b"COPY visits FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(visits.read_bytes())
    spark_session()
    doctest_namespace["visits_csv"] = str(Path(str(visits)))
