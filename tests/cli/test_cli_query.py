"""`giveortake query`: what is asked, what is written where, and what costs nothing."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import polars
import pytest
from trips import COUNT, PROTECTED, ROWS, TOML, folder, query

import giveortake as gt
from giveortake import cli


def test_a_second_call_knows_what_was_spent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    first = capsys.readouterr()
    assert first.out.splitlines()[0] == "region,n,n_low,n_high"
    assert "40 %" in first.err
    assert (folder / "trips.csv.ledger").exists()
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "40 %" in again.err
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.7") == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "0.6" in refused.err


def test_a_throw_away_ledger_forgets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.9", "--ledger", ":memory:") == 0
        assert "90 %" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"trips.csv", "regions.csv", "trips.toml"}


def test_the_name_of_the_output_decides_its_format(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as bare:
        for name in ("pyarrow", "polars", "pandas"):  # none of which is needed
            bare.setitem(sys.modules, name, None)
        for kind in ("csv", "json", "parquet", "txt"):
            assert query(COUNT, "--rho", "0.01", "--output", f"it's.{kind}") == 0
    assert capsys.readouterr().out == ""
    assert (folder / "it's.csv").read_text().startswith("region,n,n_low,n_high\nnorth,")
    assert json.loads((folder / "it's.json").read_text())["columns"]["region"] == ["north", "south"]
    assert polars.read_parquet(folder / "it's.parquet").columns == ["region", "n", "n_low", "n_high"]
    assert "north" in (folder / "it's.txt").read_text(encoding="utf-8")


def test_a_question_comes_from_a_file_or_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "question.sql").write_text(COUNT)
    assert query("@question.sql", "--epsilon", "0.1", "--format", "csv") == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO(COUNT))
    assert query("-", "--epsilon", "0.1", "--format", "csv") == 0
    assert capsys.readouterr().out == first


def test_a_public_table_is_joined(capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT climate, COUNT(*) AS n FROM trips JOIN regions USING (region) GROUP BY climate"
    with Path("trips.toml").open("a") as file:
        file.write('[trips.public]\nregions = "regions.csv"\n')
    assert cli.main(["query", "trips.toml", question, "--mu", "0.1", "--format", "csv"]) == 0
    assert {line.partition(",")[0] for line in capsys.readouterr().out.splitlines()} == {"climate", "cold", "warm"}


REFUSED = [
    (["SELECT * FROM trips", "--epsilon", "1"], ""),
    ([COUNT], "--epsilon"),
    ([COUNT, "--epsilon", "nought"], "--epsilon"),
    ([COUNT, "--epsilon", "1", "--rho", "1"], "--rho"),
    ([COUNT, "--epsilon", "2"], "ε = 2"),
    (["SELECT AVG(amount) AS m FROM trips", "--margin", "1"], "--n"),
    ([COUNT, "--epsilon", "0.1", "--domain", "amunt=0:5"], "--domain"),
    ([COUNT, "--epsilon", "0.1", "--output", "o.xlsx"], ".parquet"),
    ([COUNT, "--epsilon", "0.1", "--analyst", "ann"], "ann"),
    ([COUNT, "--epsilon", "0.1", "--format", "parquet"], "--output"),
    ([COUNT, "--epsilon", "0.1", "--domain", "amount=a:b"], "a:b"),
    (["@nothing.sql", "--epsilon", "0.1"], "nothing.sql"),
]


def test_a_refusal_names_what_is_wrong_and_costs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(folder.iterdir())
    for arguments, name in REFUSED:
        assert query(*arguments) == 2, arguments
        captured = capsys.readouterr()
        assert name in captured.err, arguments
        assert captured.out == ""
        assert set(folder.iterdir()) == before, arguments
    assert query(COUNT, "--epsilon", "1") == 0  # the whole budget is still there


def test_an_option_states_the_caps_of_one_question_or_of_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--rows-per-person", "2"]) == 0
    assert "2 rows" in capsys.readouterr().out
    (folder / "two.toml").write_text(
        TOML.replace('"trips.csv"', '{ trips = "trips.csv", tours = "trips.csv" }').replace("[trips", "[two")
    )
    asked = ["quote", "two.toml", "SELECT COUNT(*) AS n FROM trips JOIN tours ON trips.user_id = tours.user_id"]
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tours=1"]) == 0
    assert "600 rows" in " ".join(capsys.readouterr().out.split())
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tuors=1"]) == 2
    assert "`tours`" in capsys.readouterr().err


def test_the_examples_of_query_and_quote_run(folder: Path) -> None:
    polars.DataFrame({"id": range(50), "amount": [1.5] * 50}).write_parquet(folder / "trips.parquet")
    (folder / "trips.csv").write_text("id\n" + "\n".join(map(str, range(50))))
    (folder / "trips.toml").write_text(
        '[trips]\nsource = "trips.parquet"\nunit = "id"\nbudget = { epsilon = "9" }\nledger = "t.ledger"\n'
        "[trips.domains]\namount = { bounds = [0, 5] }\n"
    )
    (folder / "weekly.sql").write_text("SELECT COUNT(*) AS n FROM trips")
    for name in ("query", "quote"):
        for line in cli.COMMANDS[name].examples:
            assert cli.main(shlex.split(line)[1:]) == 0, line


def test_the_line_in_the_readme_works_as_it_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "visits.csv").write_bytes(files("giveortake").joinpath("data", "visits.csv").read_bytes())
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith(".venv/bin/giveortake query "))
    assert cli.main(shlex.split(line)[1:]) == 0
    assert "islands" in capsys.readouterr().out


def test_a_key_makes_a_retry_safe(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.4", "--key", "monday") == 0
    assert "40 %" in capsys.readouterr().err.splitlines()[-1]
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.4", "--key", "monday") == 2


def test_a_large_file_is_read_as_text_once_unless_no_copy_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "trips.csv").write_text(ROWS + "7,north,3\n" * 150_000)
    asked = [COUNT, "--epsilon", "0.1", "--format", "csv", "--rows-per-person", "1"]
    assert query(*asked, "--no-cache") == 0
    assert not (folder / "cache").exists()
    assert query(*asked) == 0
    (copy,) = (folder / "cache" / "giveortake").glob("*.duckdb")
    used = copy.stat().st_mtime_ns
    assert query(*asked) == 0
    assert copy.stat().st_mtime_ns > used
    assert len(set(capsys.readouterr().out.split("region,n,n_low,n_high\n"))) == 2  # nothing, and one answer
    toml = TOML.replace('source = "trips.csv"', 'source = "trips.csv"\nledger = ":memory:"')
    (folder / "trips.toml").write_text(toml)
    (folder / "cache" / "giveortake" / copy.name).unlink()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1"]) == 0
    assert len(list((folder / "cache" / "giveortake").glob("*.duckdb"))) == 1


def test_a_free_repeat_under_a_key_of_its_own_is_told_as_free(capsys: pytest.CaptureFixture[str]) -> None:
    domains = {"region": ["north", "south"], "amount": (0, 50)}
    with gt.protect(
        "trips.csv",
        unit="user_id",
        budget=gt.ApproxDP(1, "1e-8"),
        domains=domains,
        rows_per_person=4,
        ledger="trips.csv.ledger",
    ) as session:
        for key in ("one", "two"):
            session.sql(COUNT).answer(epsilon="0.1", key=key)
    assert cli.main(["ledger", "show", "trips.csv.ledger"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("ε = 0.1, ") == 1
    assert "again, free" in shown
