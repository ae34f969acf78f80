"""How texts were read, kept for the next call: the same question without the parser, and nothing else believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake import sql
from giveortake.session import Session

TEXT = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) c, COUNT(*) AS n FROM t WHERE v > 1 GROUP BY c ORDER BY c"
)
DOMAINS: dict[str, Any] = {"c": ["x", "y"], "v": (0, 9)}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the parser was given, from here on."""
    plain, seen = sql.read, []

    def read(text: str, catalog: Any) -> sql.Read:
        seen.append(text)
        return plain(text, catalog)

    monkeypatch.setattr(sql, "read", read)
    return seen


def _session(folder: Path | None, **more: Any) -> Session:
    table = pl.DataFrame({"id": [1, 1, 2], "c": ["x", "y", "x"], "v": [1, 2, 3]})
    said: dict[str, Any] = {"unit": "id", "budget": gt.PureDP(10), "domains": DOMAINS, "rows_per_person": 2} | more
    return gt.protect({"t": table}, **said, engine={} if folder is None else {"cache": folder})


def test_a_text_is_parsed_once_for_many_calls_and_means_the_same(tmp_path: Path, parsed: list[str]) -> None:
    plans = []
    for _ in range(3):
        with _session(tmp_path / "cache") as session:
            query = session.sql(TEXT)
            plans.append((query.plan(), str(query.quote())))  # by the ε of the text
    assert parsed == [TEXT]
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.parametrize(
    "otherwise",
    [{"domains": {**DOMAINS, "c": ["x", "z"]}}, {"unit": gt.ROW, "rows_per_person": None}, {"rows_per_person": 3}],
    ids=["domains", "unit", "caps"],
)
def test_what_is_declared_otherwise_is_read_anew(tmp_path: Path, parsed: list[str], otherwise: dict[str, Any]) -> None:
    with _session(tmp_path) as session:
        session.sql(TEXT)
    with _session(tmp_path, **otherwise) as session:
        session.sql(TEXT)
    assert parsed == [TEXT] * 2


def test_a_file_that_was_changed_or_opened_to_others_is_not_believed(tmp_path: Path, parsed: list[str]) -> None:
    with _session(tmp_path) as session:
        session.sql(TEXT)
    (place,) = tmp_path.glob("*.reading")
    assert not place.stat().st_mode & 0o077
    assert not tmp_path.stat().st_mode & 0o077
    whole = place.read_bytes()
    seal, _, content = whole.partition(b"\n")
    other = json.loads(content)
    other["plan"]["limit"] = 1
    for damaged in (b"", whole[:-1], seal, seal + b"\n" + json.dumps(other).encode()):
        place.write_bytes(damaged)
        with _session(tmp_path) as session:
            assert session.sql(TEXT).plan().get("limit") is None
    assert place.read_bytes() == whole
    place.chmod(0o644)
    with _session(tmp_path) as session:
        session.sql(TEXT)
    assert parsed == [TEXT] * 6


def test_without_a_folder_or_for_an_analyst_or_a_refusal_nothing_is_kept(tmp_path: Path, parsed: list[str]) -> None:
    with _session(None) as session:
        session.sql(TEXT)
    with _session(tmp_path / "cache", ledger=str(tmp_path / "l.ledger")) as session:
        with pytest.raises(gt.errors.QueryRefused):
            session.sql("SELECT nothing FROM t")
        part = session.partition("c")["x"]
        part.sql("SELECT COUNT(*) AS n FROM t")
    assert len(parsed) == 3
    assert not list((tmp_path / "cache").glob("*.reading"))


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path, parsed: list[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    for _ in range(2):
        with _session(tmp_path / "file") as session:
            session.sql(TEXT)
    assert parsed == [TEXT] * 2
