"""The examples run, each leaves its picture, and their notebooks are made of them."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import tiers

ROOT = Path(__file__).resolve().parents[2]


def _make() -> Any:
    specification = spec_from_file_location("make_examples", ROOT / "examples" / "make.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


make = _make()
EXAMPLES = make.examples()
QUICK = [example for example in EXAMPLES if example.stem not in {"flights", "service"}]  # a whole table, and a server
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")


@pytest.mark.xdist_group("examples")  # what is heavy is imported once
@pytest.mark.parametrize("example", tiers.tiered(QUICK, EXAMPLES), ids=lambda path: path.stem)
def test_an_example_runs_and_leaves_its_picture(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = make.run(example, tmp_path)
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert capsys.readouterr().out.endswith(f"The picture is {picture.resolve()}\n")


def test_notebooks_are_made_of_their_scripts_and_store_no_output() -> None:
    for example in EXAMPLES:
        stored = (make.NOTEBOOKS / f"{example.stem}.ipynb").read_text(encoding="utf-8")
        assert stored == make.notebook(example.read_text(encoding="utf-8")), example.stem
        assert not any(cell.get("outputs") for cell in json.loads(stored)["cells"]), example.stem


def test_every_example_is_on_the_page_with_its_picture() -> None:
    for folder, suffix in (("../examples", "py"), ("../examples/notebooks", "ipynb"), ("examples", "svg")):
        listed = set(re.findall(rf"\]\({re.escape(folder)}/(\w+)\.{suffix}\)", PAGE))
        assert listed == {example.stem for example in EXAMPLES}
