"""One file, one budget: what stands beside a table's file is not passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake.configuration import from_toml
from giveortake.errors import SameTable

SAID: dict[str, Any] = {"unit": "user_id", "budget": gt.PureDP("1"), "rows_per_person": 1}
ROWS = "user_id,region\n1,north\n2,south\n"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """A table whose budget is kept at its usual place, and half spent."""
    table = tmp_path / "trips.csv"
    table.write_text(ROWS)
    with gt.protect(table, ledger=f"{table}.ledger", **SAID) as session:
        session.sql("SELECT COUNT(*) AS n FROM trips").answer(epsilon="1/2")
    return table


def refusal(source: Any, **said: Any) -> SameTable:
    with pytest.raises(SameTable) as refused:
        gt.protect(source, **(SAID | said))
    return refused.value


def test_another_ledger_than_the_one_beside_a_file_is_refused_and_none_is_begun(trips: Path) -> None:
    other = trips.with_name("other.ledger")
    refused = refusal(trips, ledger=other)
    assert f"{trips}.ledger" in (refused.hint or "")
    assert not other.exists()


def test_no_ledger_is_refused_too_and_memory_is_taken_for_what_it_says(trips: Path) -> None:
    assert "csv.ledger" in str(refusal(trips))
    for forgetful in (":memory:", gt.ledger.open(":memory:")):
        with gt.protect(trips, ledger=forgetful, **SAID) as session:
            assert session.budget.affordable == 1


def test_the_ledger_beside_a_file_is_opened_however_it_is_spelled(trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trips.parent)
    (trips.parent / "alias.ledger").symlink_to("trips.csv.ledger")
    for ledger in ("trips.csv.ledger", "./trips.csv.ledger", Path("alias.ledger"), f"{trips}.ledger"):
        with gt.protect("trips.csv", ledger=ledger, **SAID) as session:
            assert session.budget.affordable == gt.exact.rational("rest", "1/2")
    with gt.ledger.open("trips.csv.ledger") as book, gt.protect(trips, ledger=book, **SAID) as session:
        assert session.budget.affordable == gt.exact.rational("rest", "1/2")


def test_a_link_a_list_and_a_dictionary_lead_to_the_same_file(trips: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.csv").symlink_to(trips)
    for source in (elsewhere / "mine.csv", {"trips": str(trips)}):
        assert "csv.ledger" in str(refusal(source, ledger=elsewhere / "mine.ledger"))
    others = tmp_path / "people.csv"
    others.write_text(ROWS)
    assert "csv.ledger" in str(refusal({"people": others, "trips": trips}))


def test_parquet_files_of_a_folder_a_pattern_and_a_list_have_their_ledgers(tmp_path: Path) -> None:
    import polars as pl  # noqa: PLC0415 (to write a file)

    folder = tmp_path / "parts"
    folder.mkdir()
    for part in ("a", "b"):
        pl.DataFrame({"user_id": [1, 2]}).write_parquet(folder / f"{part}.parquet")
    gt.ledger.open(folder / "b.parquet.ledger").close()
    for source in (folder, f"{folder}/*.parquet", [folder / "a.parquet", folder / "b.parquet"]):
        assert "b.parquet.ledger" in str(refusal(source, ledger=tmp_path / "x.ledger"))
    with gt.protect(folder / "a.parquet", ledger=tmp_path / "x.ledger", **SAID) as session:
        assert session.describe().durable


def test_a_ledger_that_a_toml_file_beside_the_table_keeps_is_not_passed_over(tmp_path: Path) -> None:
    table = tmp_path / "trips.csv"
    table.write_text(ROWS)
    (tmp_path / "giveortake.toml").write_text(
        '[trips]\nsource = "trips.csv"\nledger = "kept.ledger"\nunit = "user_id"\nbudget = { epsilon = 1 }\n'
    )
    with gt.protect(table, **SAID):  # nothing is kept there yet
        pass
    from_toml(tmp_path / "giveortake.toml").close()
    refused = refusal(table, ledger=tmp_path / "other.ledger")
    assert "giveortake.toml" in str(refused)
    assert "kept.ledger" in (refused.hint or "")
    with gt.protect(table, ledger=tmp_path / "kept.ledger", unit="user_id", budget=gt.PureDP("1")) as session:
        assert session.describe().durable


def test_the_owner_may_confirm_a_second_ledger_and_the_ledger_keeps_that_word(trips: Path) -> None:
    other = trips.with_name("other.ledger")
    why = "last year's people, all others"
    gt.protect(trips, ledger=gt.ledger.at(other, owner_confirms=why), **SAID).close()
    with gt.protect(trips, ledger=gt.ledger.at(other, owner_confirms=why), **SAID) as session:
        assert why in [entry.content.get("owner_confirms") for entry in session.history()]


def test_a_table_in_memory_has_no_file_to_look_beside(trips: Path) -> None:
    import polars as pl  # noqa: PLC0415 (as above)

    with gt.protect(pl.read_csv(trips), ledger=trips.with_name("frames.ledger"), **SAID) as session:
        assert session.budget.affordable == 1


def test_a_budget_of_a_folder_is_that_of_its_files_and_a_configuration_may_stand_above(tmp_path: Path) -> None:
    import polars as pl  # noqa: PLC0415 (to write a file)

    (folder := tmp_path / "parts").mkdir()
    pl.DataFrame({"user_id": [1, 2]}).write_parquet(file := folder / "a.parquet")
    readings = (folder, file, [file], folder / "*.parquet", folder / ".." / "parts" / "a.parquet")
    ledger = tmp_path / "parts.ledger"
    gt.ledger.open(ledger).close()
    for source in readings:
        assert "parts.ledger" in str(refusal(source)), source
    ledger.rename(kept := tmp_path / "kept.ledger")
    for named in ("parts", "parts/a.parquet", "parts/*.parquet"):
        (tmp_path / "g.toml").write_text(f'[parts]\nsource = "{named}"\nledger = "{kept.name}"\n')
        for source in readings:
            assert "g.toml" in str(refusal(source)), (named, source)
    pl.DataFrame({"user_id": [1, 2]}).write_parquet(other := tmp_path / "other.parquet")
    gt.protect(other, **SAID).close()
