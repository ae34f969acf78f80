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

import pytest
from trips import COUNT, PROTECTED, ROWS, TOML, folder, query

import giveortake as gt
from giveortake import cli


def test_a_second_call_knows_what_was_spent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    first = capsys.readouterr()
    assert first.out.splitlines()[0] == "region,n,n_low,n_high"
    assert first.err == "40 % of the budget is used, a question of up to ε = 0.6 is left; kept in trips.csv.ledger\n"
    assert (folder / "trips.csv.ledger").exists()
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err.startswith("asked before, and free; 40 %")
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.7") == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "ε of up to 0.6 would fit" in refused.err


def test_a_budget_that_protects_hardly_anybody_is_warned_of_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, budget, told in (
        ("a", "400", "ε = 400 is so large"),
        ("b", "1,0.5", "δ = 0.5 allows all about a person"),
    ):
        (folder / f"{name}.csv").write_text("user_id\n1\n")
        asked = ["query", f"{name}.csv", f"SELECT COUNT(*) FROM {name}", "--unit", "user_id", "--budget", budget]
        for is_first in (True, False):
            assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "1"]) == 0
            assert (f"warning: {told}" in capsys.readouterr().err) == is_first
    (folder / "giveortake.toml").write_text(TOML.replace('"1e-8"', '"0.5"'))
    assert cli.main(["doctor", "giveortake.toml"]) == 0
    assert "δ = 0.5 allows all" in capsys.readouterr().out


def test_a_throw_away_ledger_forgets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.9", "--ledger", ":memory:") == 0
        assert "kept nowhere: the ledger was in memory" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"trips.csv", "regions.csv", "trips.toml"}


@pytest.mark.parametrize("name", ["answer.csv", "answer.json", "answer.parquet", "answer.txt"])
def test_the_name_of_the_output_decides_its_format(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--rho", "0.01", "--output", name) == 0
    assert capsys.readouterr().out == ""
    written = folder / name
    if name.endswith("csv"):
        assert written.read_text().startswith("region,n,n_low,n_high\nnorth,")
    elif name.endswith("json"):
        assert json.loads(written.read_text())["columns"]["region"] == ["north", "south"]
    elif name.endswith("parquet"):
        import polars  # noqa: PLC0415

        assert polars.read_parquet(written).columns == ["region", "n", "n_low", "n_high"]
    else:
        assert "north" in written.read_text(encoding="utf-8")


def test_parquet_needs_no_arrow_library(folder: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('pyarrow', 'polars', 'pandas'): sys.modules[name] = None\n"
        "from giveortake import cli\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    arguments = ["query", "trips.csv", COUNT, "--epsilon", "0.1", "--output", "it's.parquet", *PROTECTED]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)
    assert (folder / "it's.parquet").read_bytes()[:4] == b"PAR1"


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
    assert query(question, "--mu", "0.1", "--public", "regions=regions.csv", "--format", "csv") == 0
    assert {line.partition(",")[0] for line in capsys.readouterr().out.splitlines()} == {"climate", "cold", "warm"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SELECT * FROM trips", "--epsilon", "1"], "rows are never shown"),
        ([COUNT], "--epsilon is missing: say what the answer may cost\n\n  hint: --epsilon 0.1, or --margin 50"),
        ([COUNT, "--epsilon", "nought"], "error: --epsilon = 'nought'"),
        ([COUNT, "--epsilon", "1", "--rho", "1"], "hint: pass --epsilon, --rho or --mu"),
        ([COUNT, "--epsilon", "2"], "`giveortake ledger show PATH` says what is left"),
        (["SELECT AVG(amount) AS m FROM trips", "--margin", "1"], "hint: pass --n, the number of rows"),
        ([COUNT, "--epsilon", "0.1", "--domain", "amunt=0:5"], "--domain = ['amunt'] names columns that"),
        ([COUNT, "--epsilon", "0.1", "--output", "o.xlsx"], "the formats are .csv, .json, .parquet and .txt"),
        ([COUNT, "--epsilon", "0.1", "--analyst", "ann"], "ann"),
        ([COUNT, "--epsilon", "0.1", "--format", "parquet"], "add --output"),
        ([COUNT, "--epsilon", "0.1", "--output", "nowhere/a.csv"], "a folder that does not exist"),
        ([COUNT, "--epsilon", "0.1", "--public", "regions"], "--public = 'regions' is not NAME=…"),
        ([COUNT, "--epsilon", "0.1", "--domain", "amount=a:b"], "neither numbers nor dates"),
        ([COUNT, "--epsilon", "0.1", "--budget-delta", "1e-9"], "goes with one ε in --budget"),
        (["@nothing.sql", "--epsilon", "0.1"], "nothing.sql cannot be read"),
    ],
)
def test_a_refusal_costs_nothing(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(*arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert not Path("trips.csv.ledger").exists()
    assert not list(Path().glob("*.mark"))
    assert query(COUNT, "--epsilon", "1") == 0  # the whole budget is still there


def test_an_option_states_the_caps_of_one_question_or_of_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--rows-per-person", "2"]) == 0
    assert "at most 2 rows of a person, chosen before any filter" in capsys.readouterr().out
    (folder / "two.toml").write_text(
        TOML.replace('"trips.csv"', '{ trips = "trips.csv", tours = "trips.csv" }').replace("[trips", "[two")
    )
    asked = ["quote", "two.toml", "SELECT COUNT(*) AS n FROM trips JOIN tours ON trips.user_id = tours.user_id"]
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tours=1"]) == 0
    assert "at most 600 rows of a person in trips and 1 in tours" in " ".join(capsys.readouterr().out.split())
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tuors=1"]) == 2
    assert "did you mean `tours`?" in capsys.readouterr().err


def test_a_repeated_question_is_said_once_to_be_free(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        capsys.readouterr()
        assert query(COUNT, "--epsilon", "0.4") == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("asked before") == 1


def test_the_line_in_the_readme_works_as_it_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "visits.csv").write_bytes(files("giveortake").joinpath("data", "visits.csv").read_bytes())
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith(".venv/bin/giveortake query "))
    assert cli.main(shlex.split(line)[1:]) == 0
    assert "islands" in capsys.readouterr().out


def test_a_key_makes_a_retry_safe(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.4", "--key", "monday") == 0
    assert "40 % of the budget is used" in capsys.readouterr().err.splitlines()[-1]
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
