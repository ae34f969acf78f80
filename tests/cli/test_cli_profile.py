"""`giveortake profile`: once, into the ledger, for quotes and questions after it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from giveortake.cli import main


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    rows = [f"{p},{p % 2},{p}.5" for p in range(300)] + [f"7,0,{i}" for i in range(60)]
    path.write_text("\n".join(["person,region,amount", *rows]) + "\n", encoding="utf-8")
    return path


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


SAID = ("--unit", "person", "--budget", "1000", "--domain", "region=0:1", "--domain", "amount=0:400")


def test_a_profile_is_kept_and_best_caps_are_chosen_by_it(trips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT COUNT(*) AS n FROM trips"
    assert main(["query", str(trips), question, *SAID, "--epsilon", "1", "--caps", "best"]) == 2
    refused = capsys.readouterr().err
    assert "profile" in refused
    options = ("--epsilon", "100", "--by", "region", "--columns", "amount", "--most-rows", "100")
    text = told(capsys, "profile", str(trips), *SAID, *options)
    assert re.search(r"rows of a person +cut, about +at least +at most *\n→ +1( +\S+ %){3} *\n +\d+ ", text)
    assert "--rows-per-person 1 --groups-per-person 1 --rows-per-group 1:" in unwrapped(text)
    assert "0 to 400" in unwrapped(text)  # the declared bounds, which are as narrow as those found, 0 to 512
    assert max(map(len, text.splitlines())) <= 80
    again = json.loads(told(capsys, "profile", str(trips), *SAID, *options, "--format", "json"))
    assert len(again["notes"]) == 1  # it was asked before, and is free
    assert again["caps"] == {"rows_per_person": 1, "groups_per_person": 1, "rows_per_group": 1}
    assert again["left_out"][0]["rows_per_person"] == 1
    quoted = told(
        capsys, "quote", str(trips), question, *SAID, "--epsilon", "100", "--caps", "best", "--format", "json"
    )
    quote = json.loads(quoted)
    assert re.search(r"\b(64|80) rows", quote["contributions"])
    assert quote["left_out"]["low"] == 0
    assert quote["worthless"] is None
    shown = told(capsys, "quote", str(trips), question, *SAID, "--epsilon", "0.001", "--caps", "best", "--n", "5")
    assert "worthless" in shown
    answered = [
        told(capsys, "query", str(trips), question, *SAID, "--epsilon", "100", "--format", "csv", *caps)
        for caps in (("--caps", "best"), ())  # which are those of who states none
    ]
    assert answered[0] == answered[1]


def test_a_file_says_what_a_profile_costs(trips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = trips.with_name("trips.toml")
    section = '[trips]\nsource = "trips.csv"\nunit = "person"\nbudget = { epsilon = "2" }\n'
    domains = '[trips.domains]\nregion = ["0", "1"]\n'
    file.write_text(f"{section}{domains}", encoding="utf-8")
    assert main(["profile", str(file)]) == 2
    assert "share" in capsys.readouterr().err
    file.write_text(f'{section}profile = {{ share = "1/20", most_rows = 100, by = ["region"] }}\n{domains}')
    for share, epsilon, by in ((), "1/10", ["region"]), (("--share", "1/4"), "1/2", ["region"]):
        bought = json.loads(told(capsys, "profile", str(file), *share, "--format", "json"))
        assert (bought["epsilon"], sorted(bought["caps"])) == (
            epsilon,
            ["groups_per_person", "rows_per_group", "rows_per_person"],
        ), by
    quote = json.loads(
        told(capsys, "quote", str(file), "SELECT COUNT(*) FROM trips", "--epsilon", "1", "--format", "json")
    )
    assert quote["left_out"]["rows"] is not None
    file.write_text(f"{section}profile = {{ price = 1 }}\n{domains}")
    assert main(["profile", str(file)]) == 2
    assert "profile.price" in capsys.readouterr().err


def test_a_profile_is_quoted_without_a_ledger(trips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "profile", str(trips), *SAID, "--epsilon", "0.1", "--columns", "amount", "--quote")
    assert "± 60 (with 95 %)" in unwrapped(text)
    assert [each.name for each in trips.parent.iterdir()] == ["trips.csv"]


def test_what_cannot_be_profiled_is_refused_in_the_words_of_the_command_line(
    trips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", str(trips), *SAID, "--epsilon", "1", "--by", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["profile", str(trips), *SAID, "--epsilon", "-1"]) == 2
    assert "epsilon" in capsys.readouterr().err


def test_bounds_that_are_suggested_lie_within_the_declared_ones(
    trips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ("--unit", "person", "--budget", "1000", "--domain", "amount=-5:1000")
    text = told(capsys, "profile", str(trips), *said, "--epsilon", "100", "--columns", "amount")
    assert "CLAMP(amount, 0, 512)" in unwrapped(text)
