"""A table of trips, a question to it, and who is protected there: by options, and by a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from giveortake import cli

ROWS = "user_id,region,amount\n" + "".join(
    f"{person},{'north' if person % 3 else 'south'},{person % 50}\n" for person in range(600)
)
COUNT = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
WHOM = ["--unit", "user_id", "--budget", "1,1e-8", "--domain", "region=north,south", "--domain", "amount=0:50"]
PROTECTED = [*WHOM, "--rows-per-person", "4"]
TOML = """
[trips]
source = "trips.csv"
unit = "user_id"
budget = { epsilon = "1", delta = "1e-8" }
rows_per_person = 4
[trips.domains]
amount = { bounds = [0, 50] }
region = ["north", "south"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands about trips are called."""
    (tmp_path / "trips.csv").write_text(ROWS)
    (tmp_path / "regions.csv").write_text("region,climate\nnorth,cold\nsouth,warm\n")
    (tmp_path / "trips.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def query(*arguments: str) -> int:
    return cli.main(["query", "trips.csv", *arguments, *PROTECTED])
