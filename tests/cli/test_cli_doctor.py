"""The doctor tells what is ill from what is merely absent, writes nothing, and never raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.cli import doctor

TOML = '[stays]\nsource = "stays.csv"\nunit = "who"\nbudget = { epsilon = "1" }\nledger = "stays.ledger"\n'
TOML += 'population = "people"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIVEORTAKE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(doctor, "_java_version", lambda _: 21)
    monkeypatch.setattr(doctor, "_duckdb", lambda: doctor.Finding("engines", "duckdb", "well", "not asked"))
    (tmp_path / "stays.csv").write_text("who,ward\n" + "".join(f"{n},surgery\n" for n in range(9)))
    (tmp_path / "giveortake.toml").write_text(TOML)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *places: str) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    code = cli.main(["doctor", *places, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] == (code == 0)
    return code, {(each["group"], Path(each["name"]).name): each for each in found["findings"]}


def spend() -> None:
    with gt.ledger.open("stays.ledger") as ledger:
        ledger.population("people", budget=gt.PureDP(1), unit="who")


def test_a_table_that_was_never_asked_is_no_fault(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    before = sorted(folder.iterdir())
    code, found = told(capsys)
    assert code == 0
    assert found["state", "folder"]["state"] == found["ledgers", "stays.ledger"]["state"] == "absent"
    assert "rows_per_person" in found["configuration", "giveortake.toml: caps"]["told"]
    assert sorted(folder.iterdir()) == before  # nothing is written


def test_a_whole_ledger_is_well_and_a_lost_mark_is_ill(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    spend()
    code, found = told(capsys)
    assert (code, found["ledgers", "stays.ledger"]["state"]) == (0, "well")
    assert found["state", "marks"]["state"] == "well"
    (mark,) = folder.glob("state/ledgers/*/mark")
    mark.write_bytes(b"?" * 1024)
    code, found = told(capsys, "stays.ledger")
    assert (code, found["ledgers", "stays.ledger"]["state"]) == (1, "ill")
    mark.unlink()
    code, found = told(capsys, "stays.ledger")
    assert code == 1
    assert "restore" in found["ledgers", "stays.ledger"]["hint"]


def test_a_ledger_that_is_gone_is_ill_where_it_is_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    spend()
    (folder / "stays.ledger").unlink()
    code, found = told(capsys)
    assert (code, found["ledgers", "stays.ledger"]["state"]) == (1, "ill")  # the TOML file names it


@pytest.mark.parametrize("text", ["no TOML", TOML.replace("stays.csv", "stay.csv")])
def test_a_configuration_that_cannot_work_is_ill(capsys: pytest.CaptureFixture[str], folder: Path, text: str) -> None:
    (folder / "giveortake.toml").write_text(text)
    code, found = told(capsys)
    assert code == 1
    assert [each["state"] for (group, _), each in found.items() if group == "configuration"] == ["ill"]


def test_the_printed_findings_name_the_fix(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "giveortake.toml").write_text("no TOML")
    assert cli.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "✗" in printed
    assert "1 problem\n" in printed


def test_every_absent_extra_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_needed", lambda _: {"no-such-package": "is not installed"})
    _, found = told(capsys)
    hints = [each["hint"] for (group, _), each in found.items() if group == "extras"]
    assert len(hints) > 2
    assert all(each.startswith("pip install 'giveortake[") for each in hints)


def test_the_ledger_of_a_configuration_that_names_none_is_the_one_beside_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "giveortake.toml").write_text('[stays]\nsource = "stays.csv"\nunit = "who"\nbudget = { epsilon = "1" }\n')
    asked = ["query", "giveortake.toml", "SELECT COUNT(*) AS n FROM stays", "--epsilon", "1", "--rows-per-person", "1"]
    assert cli.main(asked) == 0
    capsys.readouterr()
    assert told(capsys)[1]["ledgers", "giveortake.toml.ledger"]["state"] == "well"
