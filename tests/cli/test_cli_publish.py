"""`giveortake publish`: releases as files and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from trips import COUNT, TOML, WHOM, folder, query

import giveortake as gt
from giveortake import cli


def test_releases_are_published_from_the_command_line_and_one_as_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv", "--to", "answers.duckdb", *WHOM]) == 0
    capsys.readouterr()
    with gt.ledger.open("trips.csv.ledger") as book:
        (record,) = book.releases()
    assert cli.main(["publish", "trips.csv", "--list", *WHOM]) == 0
    assert record.id in capsys.readouterr().out
    page = ["--release", record.id[:12], "--report", "release.html"]
    assert cli.main(["publish", "trips.csv", *page, "--to", "one.parquet", *WHOM]) == 0
    assert record.id in (folder / "release.html").read_text()
    assert (folder / "one.parquet").exists()
    short = f"{record.id[:4]}·{record.id[-4:]}"  # as the console shows it
    assert cli.main(["publish", "trips.csv", "--release", short, "--to", "two.parquet", *WHOM]) == 0
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.1") == 0
    capsys.readouterr()
    for arguments, name in (
        (["--to", "x.csv"], f"--release {record.id}"),
        (["--to", "x.duckdb", "--release", record.id[:4]], "--release"),
        ([], "--to"),
        (["--report", "all.html"], "--release"),
        (["--to", "answers.txt"], "--to"),
        (["--to", "x.duckdb", "--release", "unknown"], "unknown"),
    ):
        assert cli.main(["publish", "trips.csv", *arguments, *WHOM]) == 2
        assert name in capsys.readouterr().err
    assert not [path for path in folder.iterdir() if path.stem in {"x", "all"}]


def test_an_answer_that_was_asked_for_again_is_listed_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for key in ("one", "two", "three"):
        assert query(COUNT, "--epsilon", "0.1", "--key", key) == 0
    with gt.ledger.open("trips.csv.ledger") as book:
        (first,) = book.releases()
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv", "--list", *WHOM]) == 0
    told = capsys.readouterr().out
    assert told.count(first.id) == 1


def test_what_was_released_is_listed_without_beginning_a_ledger(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "trips.toml").write_text(TOML)
    before = sorted(folder.iterdir())
    for file in (["trips.csv", *WHOM], ["trips.toml"]):
        assert cli.main(["publish", *file, "--list"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 1
        assert cli.main(["publish", *file, "--to", "x.duckdb"]) == 2
    assert sorted(folder.iterdir()) == before
    assert query(COUNT, "--epsilon", "0.1") == 0
    kept = (folder / "trips.csv.ledger").read_bytes()
    assert cli.main(["publish", "trips.csv", "--list"]) == 0
    assert cli.main(["publish", "trips.csv", "--to", "out.html", *WHOM]) == 2
    assert "--report out.html" in capsys.readouterr().err
    assert (folder / "trips.csv.ledger").read_bytes() == kept


def test_names_that_an_analyst_chose_are_shown_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT.replace("region,", 'region AS "[/bold]",'), "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv", "--list", *WHOM]) == 0
    assert "[/bold]" in capsys.readouterr().out


def test_a_ledger_is_published_by_what_beside_it_says_what_it_is_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.1") == 0
    assert cli.main(["publish", "trips.csv.ledger", "--to", "x.duckdb", *WHOM]) == 0
    text = TOML.replace("rows_per_person = 4", 'ledger = "trips.csv.ledger"')
    (folder / "trips.toml").write_text(text)
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv.ledger", "--to", "y.duckdb"]) == 0
    assert (folder / "y.duckdb").exists()
    (folder / "trips.toml").write_text(text + text.replace("[trips", "[more"))
    assert cli.main(["publish", "trips.csv.ledger", "--to", "z.duckdb"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in ("[trips]", "[more]"))
    (folder / "other.ledger").touch()
    assert cli.main(["publish", "other.ledger", "--to", "z.duckdb"]) == 2
    assert "other.ledger" in capsys.readouterr().err


def test_a_file_of_one_table_is_proposed_for_a_release_that_has_but_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["profile", "trips.csv", "--epsilon", "0.1", "--by", "region", *WHOM]) == 0  # of several tables
    assert query(COUNT, "--epsilon", "0.1") == 0
    with gt.ledger.open("trips.csv.ledger") as book:
        _, asked = book.releases()
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv", "--to", "x.csv", *WHOM]) == 2
    assert f"--release {asked.id}" in capsys.readouterr().err
