"""Adding a table: nothing outside the folders is found, no row is looked at, and a section says what was said."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from giveortake.configuration import configurations
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound, SameTable
from giveortake.server import added_tables
from giveortake.server.console import tables
from giveortake.server.console.tables import misfits
from giveortake.server.settings import Settings
from giveortake.server.workers import table_worker
from giveortake.server.workers.table_worker import AllowedFolders

HIDDEN = "a row that nobody may see"
TOML = """\
[visits]
source = "visits.csv"
unit = "person_id"
budget = { epsilon = "1" }
ledger = "visits.ledger"
mark = "visits.mark"

[server]
folders = ["incoming"]
"""
SAID: dict[str, Any] = {"name": "trips", "file": "trips.csv", "unit": "person", "budget": {"epsilon": "1"}}


@pytest.fixture
def allowed(tmp_path: Path) -> AllowedFolders:
    folder = tmp_path / "incoming"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "trips.csv").write_text(f"person,day,fare,note\n1,2024-01-01,{HIDDEN},x\n")
    (folder / "deep" / "deeper" / "more.csv").write_text("a,b\n")
    (folder / "deep" / "rows.csv").write_text("Row,x\n")
    (folder / ".hidden.csv").write_text("a,b\n")
    (folder / "folder.csv").mkdir()
    (folder / "notes.txt").write_text(HIDDEN)
    (tmp_path / "outside.csv").write_text(f"{HIDDEN}\n")
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "inner.csv").symlink_to(folder / "trips.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "way").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "giveortake.toml").write_text(TOML)
    return AllowedFolders(tmp_path / "giveortake.toml", (folder.resolve(),))


@pytest.mark.parametrize(
    "said",
    [
        *("../outside.csv", "deep/../../outside.csv", "/etc/passwd", "/etc/hosts.csv", "link.csv", "way/outside.csv"),
        *(
            "loop.csv",
            "folder.csv",
            "notes.txt",
            "nothing.csv",
            "",
            ".",
            "trips.csv\0.csv",
            "trips\n.csv",
            "\ud800.csv",
        ),
    ],
)
def test_what_is_not_below_the_folders_is_as_absent_as_what_never_was(allowed: AllowedFolders, said: str) -> None:
    with pytest.raises(NotFound) as told:
        allowed.resolve(said)
    with pytest.raises(NotFound) as never:
        allowed.resolve("never.csv")
    assert str(told.value) == str(never.value)


def test_files_are_listed_by_name_and_links_that_lead_out_are_not(allowed: AllowedFolders) -> None:
    assert table_worker.files(allowed, {}) == {
        "folders": ["incoming"],
        "files": ["inner.csv", "trips.csv", "deep/rows.csv", "deep/deeper/more.csv"],
    }
    assert allowed.resolve("inner.csv").name == "trips.csv"


def test_no_row_is_looked_at(allowed: AllowedFolders) -> None:
    found = table_worker.columns(allowed, {"file": "trips.csv"})
    assert found == {"columns": [{"name": name, "kind": None} for name in ("person", "day", "fare", "note")]}
    assert HIDDEN not in str(found)


def test_a_view_reads_its_own_database_and_no_other_file(allowed: AllowedFolders) -> None:
    outside = allowed.toml.parent / "outside.csv"
    with duckdb.connect(str(allowed.folders[0] / "views.duckdb")) as database:
        database.execute("CREATE TABLE kept (person INTEGER); CREATE VIEW inner_view AS SELECT person FROM kept")
        database.execute(f"CREATE VIEW outer_view AS SELECT * FROM read_csv('{outside}')")
    with duckdb.connect(str(allowed.folders[0] / "views.duckdb"), read_only=True):  # whoever reads it besides
        found = table_worker.columns(allowed, {"file": "views.duckdb", "table": "inner_view"})
    assert found == {"columns": [{"name": "person", "kind": "integer"}]}
    with pytest.raises(InvalidParameter, match="other files") as told:
        table_worker.columns(allowed, {"file": "views.duckdb", "table": "outer_view"})
    assert HIDDEN not in str(told.value)


def test_columns_of_a_form_keep_their_places_whatever_they_are_called() -> None:
    body = {"c0-name": "p", "c1-name": " ", "c2-name": "x", "c2-low": "0", "c2-high": "9", "rows_per_person": "1,000"}
    names = {each["place"]: each["name"] for each in tables._columns(body)}
    said = tables._table_fields(body | {"people": "others", "name": "t"}, names, {})
    assert said["domains"] == {"x": {"low": "0", "high": "9"}}
    assert (said["new_population"], said["rows_per_person"]) == ("people of t", "1,000")  # which the route refuses
    same = tables._table_fields({"people": "same as x", "epsilon": "9"}, {}, {"x": {"epsilon": "4/1", "unit": "p"}})
    assert (same["population"], same["budget"]) == ("x", {"epsilon": "4"})  # the one that they have
    assert tables._table_fields({}, {}, {})["population"] == ""  # nobody said so: no people are called that


def test_a_section_says_what_was_said_and_nothing_else(allowed: AllowedFolders) -> None:
    domains: dict[str, Any] = {
        "day": {"kind": "date", "low": "2024-01-01", "high": "2024-12-31"},
        "fare": {"kind": "real", "low": "0", "high": "99.5"},
        "note": {"values": ["a", 'b "c" \n[evil]\n', "\u202e"]},
    }
    said = {**SAID, "domains": domains, "new_population": "people of trips", "rows_per_person": 3}
    text = table_worker.section(allowed, said)["toml"]
    whole = tomllib.loads(text)
    assert set(whole) == {"trips"}
    found = whole["trips"]
    assert (found["source"], found["ledger"], found["mark"]) == ("incoming/trips.csv", "visits.ledger", "visits.mark")
    assert found["domains"]["fare"] == {"bounds": [0, 99.5]}
    assert str(found["domains"]["day"]["bounds"][1]) == "2024-12-31"
    assert found["domains"]["note"]["categories"] == domains["note"]["values"]
    allowed.toml.write_text(TOML + text)
    assert list(configurations(allowed.toml)) == ["visits", "trips"]
    assert Settings.read(allowed.toml).folders == (allowed.toml.parent / "incoming",)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"name": "visits"}, "is taken"),
        ({"name": "SERVER"}, "cannot be the name"),
        ({"name": "x]\n[y"}, "cannot be the name"),
        ({"unit": "nobody"}, "not a column"),
        ({"unit": "row", "file": "deep/rows.csv"}, "a column 'Row'"),
        ({"domains": {"nothing": {"low": 0, "high": 1}}}, "not a column"),
        ({"domains": {"fare": {"kind": "real", "low": "0"}}}, "both bounds"),
        ({"domains": {"fare": {"kind": "real", "low": "0", "high": "nan"}}}, "is not of type real"),
        ({"domains": {"fare": {"kind": "integer", "low": "0", "high": "1e99999999"}}}, "is not of type integer"),
        ({"domains": {"fare": {"kind": "real", "low": "0", "high": "1_0"}}}, "is not of type real"),
        ({"domains": {"fare": {"kind": "integer", "low": "0", "high": "\u0663"}}}, "is not of type integer"),
        ({"domains": {"day": {"kind": "date", "low": "1", "high": "2"}}}, "is not of type date"),
        ({"file": "../outside.csv"}, "no such file"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_without_a_row(
    allowed: AllowedFolders, more: dict[str, Any], problem: str
) -> None:
    with pytest.raises(GiveOrTakeError, match=problem) as told:
        table_worker.section(allowed, SAID | more)
    assert HIDDEN not in str(told.value)


@pytest.mark.parametrize(
    ("change", "problem"), [(lambda toml: toml.write_text(TOML + "# by hand"), SameTable), (Path.unlink, OSError)]
)
def test_a_table_that_is_not_accepted_leaves_neither_a_worker_nor_a_draft(
    allowed: AllowedFolders, monkeypatch: pytest.MonkeyPatch, change: Any, problem: type[Exception]
) -> None:
    ended: list[bool] = []

    class First:
        async def end(self) -> None:
            ended.append(True)

    async def opened(_task: Any, _name: str) -> First:
        change(allowed.toml)  # while the worker opened the table
        return First()

    monkeypatch.setattr(added_tables, "_opened", opened)
    service: Any = SimpleNamespace(settings=Settings.read(allowed.toml))
    with pytest.raises(problem):
        asyncio.run(
            added_tables._served(service, "trips", table_worker.section(allowed, SAID)["toml"], "token of a test")
        )
    assert ended == [True]
    assert not list(allowed.toml.parent.glob(".giveortake-*"))


def test_an_address_of_a_ledger_is_not_shown(allowed: AllowedFolders) -> None:
    address = "postgresql://owner:secret@db/ledger"
    allowed.toml.write_text(TOML.replace('"visits.ledger"\nmark = "visits.mark"', f'"{address}"'))
    made = table_worker.section(allowed, SAID)
    assert address in made["toml"]
    assert "secret" not in made["shown"]


def test_folders_that_are_not_there_are_refused_at_the_start(allowed: AllowedFolders) -> None:
    allowed.toml.write_text(TOML.replace("incoming", "nowhere"))
    with pytest.raises(InvalidParameter, match="folder"):
        Settings.read(allowed.toml)


def test_a_draft_that_is_refused_is_not_told_by_its_place(tmp_path: Path) -> None:
    draft = tmp_path / ".giveortake-x1.toml"
    draft.write_text(TOML.replace('{ epsilon = "1" }', "{}"))
    with pytest.raises(InvalidParameter, match="the configuration") as told:
        added_tables._require_readable(draft, "visits")
    assert str(tmp_path) not in str(told.value)
    assert draft.name not in str(told.value)


@pytest.mark.parametrize(
    ("said", "problem", "hint"),
    [
        ({"epsilon": ""}, "Budget is empty", "fill in ε, or ρ, or μ"),
        ({"rho": "1"}, "Budget states several", "leave the others empty"),
        ({"epsilon": "one"}, "ε of the budget is 'one'", "as 0.5"),
        ({"c0-kind": "date", "c0-low": "01/01/2025"}, "Lowest of Loaned On is '01/01/2025'", "as 2025-01-31"),
        ({"c0-kind": "real", "c0-low": "10,5"}, "Lowest of Loaned On is '10,5'", "as 10.5"),
        ({"c0-kind": "integer", "c0-low": "1.5"}, "Lowest of Loaned On is '1.5'", "whole number as 10"),
        ({"c0-kind": "integer", "c0-low": "1_0"}, "Lowest of Loaned On is '1_0'", "whole number as 10"),
        ({"c0-kind": "real", "c0-low": ""}, "Lowest of Loaned On is empty", "both bounds"),
        ({"c0-kind": "text"}, "its type is text", "numbers or dates"),
        ({"people": "same as readers"}, "are told apart by person_id", "rename the column member in the file"),
        ({"people": "same as readers", "unit": "person_id", "epsilon": ""}, None, None),
        ({}, None, None),
    ],
)
def test_what_does_not_fit_is_told_by_the_names_of_the_fields(
    said: dict[str, str], problem: str | None, hint: str | None
) -> None:
    body = {"unit": "member", "people": "others", "epsilon": "1", "c0-kind": "real", "c0-low": "0", "c0-high": "9"}
    columns = [{"place": 0, "name": "Loaned On", "kind": None}]
    found = next(misfits(body | said, columns, {"readers": "person_id"}, "same as "), None)
    if problem is None or hint is None:
        assert found is None
    else:
        assert found is not None
        assert problem in found.problem
        assert hint in found.hint
