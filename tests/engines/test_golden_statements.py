"""What each dialect prints for every shape of question is what a reviewer has read."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_statements import DIALECTS, GOLDEN, MODES, golden, laid_out, on_one_line, sections, write


@pytest.mark.parametrize("name", DIALECTS)
def test_every_shape_is_printed_as_the_golden_file_has_it(name: str) -> None:
    """After a change that is meant: python tests/engines/golden_statements.py, and read the difference."""
    assert golden(name).split("\n") == (GOLDEN / f"{name}.sql").read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_laid_out_is_what_is_printed(name: str) -> None:
    for mode in MODES:
        for heading, text in sections(mode, DIALECTS[name]):
            assert on_one_line(laid_out(text)) == text, heading


def test_every_shape_of_every_mode_is_there() -> None:
    for mode in MODES:
        printed = {heading.partition(": ")[0] for heading, _ in sections(mode, DIALECTS["duckdb"])}
        assert set(mode.shapes()) <= printed


def test_writing_them_anew_says_how_many_changed(tmp_path: Path) -> None:
    assert write(tmp_path) == "3 files, 3 changed"
    (tmp_path / "spark.sql").write_text("as it was")
    assert write(tmp_path) == "3 files, 1 changed"
