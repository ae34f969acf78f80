"""Which benchmarks there are, and running those that were named."""

from __future__ import annotations

import ast
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from rich.table import Table

from giveortake.errors import InvalidParameter, NotFound
from giveortake.progress import progress
from harness import evidence
from harness.report import Report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console


def run(arguments: argparse.Namespace, folder: Path, out: Console) -> int:
    """List the benchmarks, or run those named (all if none is) and print a report for each."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}
    if arguments.list:
        grid = Table.grid(padding=(0, 2))
        for name, path in found.items():
            grid.add_row(name, _description(path))
        out.print(grid)
        return 0
    if arguments.names == ["report"]:
        return evidence.report(arguments, folder, out, lambda name: _description(found[name]))
    names = [name.replace("-", "_") for name in arguments.names]
    failed = 0
    for name in _chosen(names, found):
        said = (arguments.quick, arguments.peer_python, arguments.rows, arguments.data)
        with (
            progress(f"{name}: {_description(found[name])}") as shown,
            Report(name, out, folder, *said, shown, arguments.without) as report,
        ):
            module = _load(found[name])
            report.terms = getattr(module, "TERMS", ())
            module.run(report)
        report.print()
        if arguments.save:
            out.print(f"[dim]saved to {report.save().relative_to(folder.parent)}[/]\n")
        if report.missing:
            failed = 1
            print(f"error: no answer from {'; '.join(report.missing)}", file=sys.stderr)
    return failed


def _chosen(names: Sequence[str], found: dict[str, Path]) -> Sequence[str]:
    for name in names:
        if name not in found:
            raise InvalidParameter("benchmark", name, "does not exist", hint=f"there are {', '.join(found)}")
    return names or list(found)


def _description(path: Path) -> str:
    """The first line of a benchmark's docstring, read without running it."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _load(path: Path) -> Any:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise NotFound(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module  # data classes look their module up
    specification.loader.exec_module(module)
    return module
