"""The doctor tells what is ill from what is merely absent, writes nothing, and never raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake import cli
from giveortake.cli import doctor
from giveortake.configuration import from_toml
from giveortake.errors import GiveOrTakeError

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
    (folder / "giveortake.toml").unlink()
    code, found = told(capsys)
    assert (code, found["state", "stays.ledger"]["state"]) == (0, "absent")  # its owner may have meant it


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


def test_a_ledger_that_was_moved_away_and_back_is_not_gone(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    spend()
    (folder / "stays.ledger").rename(folder / "away.ledger")
    _, found = told(capsys, "away.ledger")
    assert found["state", "stays.ledger"]["state"] == "absent"
    with gt.ledger.open("away.ledger"):
        pass
    assert ("state", "stays.ledger") not in told(capsys, "away.ledger")[1]
    (folder / "away.ledger").rename(folder / "stays.ledger")
    assert ("state", "away.ledger") not in told(capsys, "stays.ledger")[1]


def test_every_absent_extra_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_needed", lambda _: [("no-such-package", "1", None)])
    _, found = told(capsys)
    hints = [each["hint"] for (group, _), each in found.items() if group == "extras"]
    assert len(hints) > 2
    assert all(each.startswith("pip install 'giveortake[") for each in hints)


FROZEN = """[stays.domains]
ward = ["surgery", "eyes"]
nights = { bounds = [0, 30] }
born = { bounds = [1900-01-01, 2020-12-31] }
code = { max_length = 4, nullable = false }
"""
OTHERS = {  # what is changed, and what the finding names
    "bounds": ("[0, 30]", "[0, 60]", "nights"),
    "categories": ('"eyes"', '"ears"', "ward"),
    "dates": ("2020-12-31", "2019-12-31", "born"),
    "one column fewer": ("nights = { bounds = [0, 30] }\n", "", "nights"),
    "length": ("max_length = 4", "max_length = 5", "code"),
    "no domains": (FROZEN, "", "other domains"),
    "budget": ('epsilon = "1"', 'epsilon = "2"', "another budget"),
    "unit": ('unit = "who"', 'unit = "ward"', "another unit"),
    "people": ('population = "people"', 'population = "others"', "another population"),
}


def test_a_ledger_that_would_refuse_the_table_as_it_is_described_is_ill(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    rows = "".join(f"{n},surgery,{n},1980-01-01,c\n" for n in range(9))
    (folder / "stays.csv").write_text(f"who,ward,nights,born,code\n{rows}")
    (folder / "giveortake.toml").write_text(TOML + FROZEN)
    asked = ["query", "giveortake.toml", "SELECT COUNT(*) FROM stays", "--epsilon", "0.1", "--rows-per-person", "1"]
    assert cli.main(asked) == 0
    kept = (folder / "stays.ledger").read_bytes()
    capsys.readouterr()
    code, found = told(capsys)
    assert (code, [each for each in found if each[1].endswith(": ledger")]) == (0, [])
    for name, (old, new, named) in OTHERS.items():
        assert old in TOML + FROZEN
        (folder / "giveortake.toml").write_text((TOML + FROZEN).replace(old, new))
        code, found = told(capsys)
        finding = found["configuration", "giveortake.toml: ledger"]
        assert (code, finding["state"]) == (1, "ill"), name
        assert named in finding["told"]
        assert finding["hint"]
        assert "--" not in finding["hint"]  # which is for files
        with pytest.raises(GiveOrTakeError) as refused:  # and so would a service
            from_toml("giveortake.toml")
        assert named in refused.value.message
    assert (folder / "stays.ledger").read_bytes() == kept


def test_domains_may_change_while_nothing_was_charged_and_dates_are_said_to_be_read_in_one_form(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "stays.csv").write_text("who,ward,nights,born,code\n1,surgery,1,1980-01-01,c\n")
    (folder / "giveortake.toml").write_text(TOML + FROZEN)
    from_toml("giveortake.toml").close()  # as a service that starts
    (folder / "giveortake.toml").write_text((TOML + FROZEN).replace('"eyes"', '"eyes", "ears"'))
    code, found = told(capsys)
    assert code == 0
    assert "2024-12-31" in found["configuration", "giveortake.toml"]["told"]
    kept = (folder / "stays.ledger").read_bytes()
    asked = ["giveortake.toml", "SELECT COUNT(*) FROM stays", "--epsilon", "0.1", "--rows-per-person", "1"]
    assert cli.main(["quote", *asked]) == 0
    assert (folder / "stays.ledger").read_bytes() == kept
    from_toml("giveortake.toml").close()
    assert cli.main(["query", *asked]) == 0
    (folder / "giveortake.toml").write_text(TOML + FROZEN)
    assert cli.main(["query", *asked]) == 2
    assert "ears" in capsys.readouterr().err


def test_a_new_section_of_people_whom_nobody_names_is_ill_and_of_one_that_is_named_well(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    spend()
    (folder / "giveortake.toml").write_text(TOML.replace('population = "people"\n', ""))
    code, found = told(capsys)
    assert (code, found["configuration", "giveortake.toml: ledger"]["state"]) == (1, "ill")
    (folder / "giveortake.toml").write_text(TOML + FROZEN)
    (folder / "stays.csv").write_text("who,ward,nights,born,code\n")
    assert told(capsys)[0] == 0


def test_a_column_that_was_renamed_in_the_file_is_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """By the header alone: rows are not looked at, and those here could not even be read."""
    (folder / "giveortake.toml").write_text(TOML + '[stays.domains]\nward = ["surgery", "eyes"]\n')
    assert told(capsys)[0] == 0
    (folder / "stays.csv").write_text('who,wards\n"')
    code, found = told(capsys)
    section = found["configuration", "giveortake.toml"]
    assert (code, section["state"]) == (1, "ill")
    assert "`ward`" in section["told"]
    assert "`wards`" in section["hint"]
    (folder / "stays.csv").write_text("person,ward\n")
    assert "`who`" in told(capsys)[1]["configuration", "giveortake.toml"]["told"]


@pytest.mark.parametrize("is_in_toml", [True, False])
def test_a_column_that_the_ledger_knows_and_the_file_lost_is_named(
    capsys: pytest.CaptureFixture[str], folder: Path, is_in_toml: bool
) -> None:
    (folder / "stays.csv").write_text("who,ward,nights\n1,surgery,2\n")
    text = '[stays]\nsource = "stays.csv"\nunit = "who"\nbudget = { epsilon = "1" }\nledger = "stays.csv.ledger"\n'
    (folder / "giveortake.toml").write_text(text + "[stays.domains]\nnights = { bounds = [0, 30] }\n")
    with from_toml("giveortake.toml"):
        pass
    if not is_in_toml:
        (folder / "giveortake.toml").unlink()
    assert told(capsys)[0] == 0
    (folder / "stays.csv").write_text("who,unit,nights\n1,surgery,2\n")
    code, found = told(capsys)
    assert code == 1
    ill = found["configuration", "giveortake.toml"] if is_in_toml else found["ledgers", "stays.csv.ledger"]
    assert "`ward`" in ill["told"]


def test_the_ledger_of_a_configuration_that_names_none_is_the_one_beside_it(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "giveortake.toml").write_text('[stays]\nsource = "stays.csv"\nunit = "who"\nbudget = { epsilon = "1" }\n')
    asked = ["query", "giveortake.toml", "SELECT COUNT(*) AS n FROM stays", "--epsilon", "1", "--rows-per-person", "1"]
    assert cli.main(asked) == 0
    capsys.readouterr()
    assert told(capsys)[1]["ledgers", "giveortake.toml.ledger"]["state"] == "well"
