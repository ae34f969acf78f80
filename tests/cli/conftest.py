"""The folder in which commands about trips are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from trips import ROWS, TOML


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trips.csv").write_text(ROWS)
    (tmp_path / "regions.csv").write_text("region,climate\nnorth,cold\nsouth,warm\n")
    (tmp_path / "trips.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path
