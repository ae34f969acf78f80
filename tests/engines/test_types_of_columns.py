"""Columns of every type of DuckDB: those that can be asked about are, and the others are told and left alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest

import giveortake as gt
from giveortake.plan import Domain, Kind

ASKED: dict[str, tuple[str, Domain]] = {
    "TINYINT": ("1", Domain(Kind.INTEGER)),
    "HUGEINT": ("170141183460469231731687303715884105727", Domain(Kind.INTEGER)),
    "UBIGINT": ("1", Domain(Kind.INTEGER)),
    "DECIMAL(10,2)": ("1.25", Domain(Kind.DECIMAL, step=Fraction(1, 100))),
    "DECIMAL(38,0)": ("1", Domain(Kind.DECIMAL, step=Fraction(1))),
    "FLOAT": ("1.5", Domain(Kind.REAL)),
    "ENUM('a', 'b[]')": ("'b[]'", Domain(Kind.TEXT)),
    "UUID": ("'6ccd780c-baba-1026-9564-5b8c656024db'", Domain(Kind.TEXT)),
    "BOOLEAN": ("true", Domain(Kind.BOOLEAN)),
    "DATE": ("'2024-01-31'", Domain(Kind.DATE)),
    "TIMESTAMP": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
    "TIMESTAMP_S": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
    "TIMESTAMP_NS": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
}
UNASKED = {
    "DECIMAL(10,2)[]": "[1.25]",
    "DECIMAL(10,2)[2]": "[1.25, 2]",
    "DECIMAL(10,2)[][]": "[[1.25]]",
    "INTEGER[]": "[1]",
    "DOUBLE[]": "[1.5]",
    "ENUM('a', 'b')[]": "['a']",
    "UUID[]": "['6ccd780c-baba-1026-9564-5b8c656024db']",
    "TIMESTAMP[]": "['2024-01-31 12:00:00']",
    "TIMESTAMP_NS[]": "['2024-01-31 12:00:00']",
    "DATE[]": "['2024-01-31']",
    'STRUCT(a INTEGER, "DECIMAL(1,1)" VARCHAR)': "{'a': 1, 'DECIMAL(1,1)': 'x'}",
    "MAP(VARCHAR, DECIMAL(10,2))": "MAP {'a': 1.25}",
    "UNION(n INTEGER, t VARCHAR)": "'x'",
    "UHUGEINT": "1",
    "BIGNUM": "1",
    "BIT": "'101'",
    "BLOB": "'abc'",
    "INTERVAL": "INTERVAL 1 DAY",
    "TIME": "'12:00:00'",
    "TIMETZ": "'12:00:00+02'",
    "TIMESTAMPTZ": "'2024-01-31 12:00:00+02'",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("types") / "t.duckdb"
    values = [*(value for value, _ in ASKED.values()), *UNASKED.values()]
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate([*ASKED, *UNASKED]))
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE TABLE t (u INTEGER, {columns})")
        for person in (1, 2, 3):
            connection.execute(f"INSERT INTO t VALUES ({person}, {', '.join(values)})")
    return place


def test_a_table_of_every_type_is_asked_about_what_can_be_asked(file: Path) -> None:
    said = {"unit": "u", "budget": gt.PureDP(10**9), "rows_per_person": 1}
    with gt.protect(f"{file}?table=t", **said) as session:  # type: ignore[arg-type]
        schema = session.catalog.private["t"].schema
        for number, (kind, (_, domain)) in enumerate(ASKED.items()):
            assert schema[f"c{number}"] == domain, kind
        for number, kind in enumerate(UNASKED, start=len(ASKED)):
            assert f"c{number}" not in schema, kind
            assert f"c{number}" in str(session), kind  # which says that it is left out
        asked = ", ".join(f"COUNT(c{number}) AS n{number}" for number in range(len(ASKED)))
        answer = session.sql(f"SELECT {asked} FROM t").answer(epsilon=10**8)
    assert {value for row in answer.rows() for name, value in row.items() if "_" not in name} == {3}


def test_lists_in_a_frame_and_in_a_file_are_left_alone(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"u": [1, 2], "x": [[1.5], []], "d": pl.Series([["1.25"], []]).cast(pl.List(pl.Decimal(10, 2)))}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        with gt.protect(source, unit="u", budget=gt.PureDP(1), rows_per_person=1) as session:
            assert list(next(iter(session.catalog.private.values())).schema) == ["u"]
