"""Commands read tables and ledgers from the configuration of their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from trips import COUNT, TOML, folder

from giveortake import cli

__all__ = ["folder"]

OTHER = TOML.replace("[trips", "[rides").replace("rows_per_person = 4", 'rows_per_person = 4\nledger = "rides.ledger"')


@pytest.mark.parametrize("tables", [TOML, TOML + OTHER.replace("trips.csv", "rides.csv")], ids=["one", "several"])
def test_a_table_is_asked_by_its_name(folder: Path, tables: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "trips.toml").unlink()
    (folder / "rides.csv").write_text((folder / "trips.csv").read_text())
    (folder / "giveortake.toml").write_text(tables)
    assert cli.main(["quote", "trips", COUNT, "--epsilon", "0.1"]) == 0
    assert cli.main(["query", "trips", COUNT, "--epsilon", "0.1", "--format", "csv"]) == 0
    assert "north" in capsys.readouterr().out
    by_file = ["query", "giveortake.toml", COUNT, "--table", "trips", "--epsilon", "0.1"]
    assert cli.main(by_file) == 0
    assert "10 %" in capsys.readouterr().err  # the same question to the same table is charged once
    assert cli.main(["publish", "trips", "--list"]) == 0
    assert cli.main(["profile", "trips", "--epsilon", "0.01", "--quote"]) == 0
    assert cli.main(["ledger", "verify", "--table", "trips"]) == 0
    assert cli.main(["admin", "dataset", "list", "--table", "trips"]) == 0
    assert cli.main(["query", "cars", COUNT, "--epsilon", "0.1"]) == 2


def test_a_file_is_a_file_even_if_a_table_has_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "giveortake.toml").write_text(TOML)
    (folder / "trips").write_text("no table")
    assert cli.main(["quote", "trips", COUNT, "--epsilon", "0.1"]) == 2
    assert "--unit" in capsys.readouterr().err  # of a file nobody has said that
