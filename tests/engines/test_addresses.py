"""Addresses and connection strings, which may hold passwords, are quoted by nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake import ledger
from giveortake.configuration import configurations, from_toml
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.protocol import is_address, place_of
from giveortake.engines.spark.tables import connect
from giveortake.errors import HIDDEN, GiveOrTakeError, InvalidParameter, NotFound, safe_text

SECRET = "hunter2"  # noqa: S105 (what must not be told is looked for)
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
    for number, place in enumerate((*UNKNOWN, *STRINGS, *KNOWN, f"postgresql://ann:{SECRET}@db\0")):
        for where, mark in ((place, None), (tmp_path / f"{number}.ledger", place)):
            with pytest.raises(GiveOrTakeError) as refused:
                ledger.open(where, mark=mark)
            assert SECRET not in _told(refused.value), place
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
