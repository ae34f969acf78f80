"""Notebooks and pictures of the examples: `python examples/make.py` writes both anew.

An example is a script in cells, as editors read them: `# %%` begins a cell, `# %% [markdown]` one of words. Its
notebook has the same cells and no outputs; whoever opens it runs it. Every example leaves one picture where it is run.
"""

from __future__ import annotations

import json
import os
import re
import runpy
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NOTEBOOKS, PICTURES = HERE / "notebooks", HERE.parent / "docs" / "examples"


def examples() -> list[Path]:
    """Every example, by name."""
    return sorted(path for path in HERE.glob("*.py") if path.name != "make.py")


def notebook(script: str) -> str:
    """The notebook of a script, as Jupyter writes it."""
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(re.split(r"^# %%", script, flags=re.MULTILINE)[1:]):
        is_words = part.startswith(" [markdown]")
        lines = part.partition("\n")[2].strip("\n").split("\n")
        if is_words:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        cell: dict[str, Any] = {
            "cell_type": "markdown" if is_words else "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": [*(f"{line}\n" for line in lines[:-1]), lines[-1]],
        }
        cells.append(cell if is_words else cell | {"execution_count": None, "outputs": []})
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def run(example: Path, folder: Path) -> Path:
    """Run an example in a folder; the path of its picture."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        os.chdir(before)
    return folder / f"{example.stem}.svg"


def main() -> None:
    """Write every notebook and every picture."""
    for folder in (NOTEBOOKS, PICTURES):
        folder.mkdir(exist_ok=True)
    for example in examples():
        print(f"── {example.stem}")
        (NOTEBOOKS / f"{example.stem}.ipynb").write_text(
            notebook(example.read_text(encoding="utf-8")), encoding="utf-8"
        )
        run(example, PICTURES)


if __name__ == "__main__":
    main()
