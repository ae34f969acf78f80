"""`giveortake bench`: run the benchmarks of a source checkout."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from giveortake.cli.command import Command, terminal
from giveortake.cli.report import Report
from giveortake.errors import InvalidParameter, NotFound

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_CHECKOUT = Path(__file__).parents[3]  # src/giveortake/cli/bench.py, unless installed elsewhere


def run(arguments: argparse.Namespace) -> int:
    """List the benchmarks, or run those named (all if none is) and print a report for each."""
    out = terminal()
    found = benchmarks(_folder())
    if arguments.list:
        grid = Table.grid(padding=(0, 2))
        for name, path in found.items():
            grid.add_row(name, _description(path))
        out.print(grid)
        return 0
    for name in _chosen([*arguments.names, *(["crash"] if arguments.crash else [])], found):
        path = found[name]
        with Report(
            name, out, path.parent, arguments.quick, arguments.peer_python, arguments.rows, arguments.data
        ) as report:
            _load(path).run(report)
        report.print()
        if arguments.save:
            out.print(f"[dim]saved to {report.save().relative_to(path.parent.parent)}[/]\n")
    return 0


def benchmarks(folder: Path) -> dict[str, Path]:
    """The benchmarks in a folder by name: `bench_noise.py` is `noise`."""
    return {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}


def _folder() -> Path:
    for root in (Path.cwd(), _CHECKOUT):
        if benchmarks(root / "benchmarks"):
            return root / "benchmarks"
    raise NotFound(
        "there is no folder `benchmarks` here: benchmarks are not part of the installed package",
        hint="change to a source checkout of giveortake and run `giveortake bench` there",
    )


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


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks to run; all if none is named")
    parser.add_argument("--list", action="store_true", help="say which benchmarks there are, and run none")
    parser.add_argument("--crash", action="store_true", help="kill writers of a ledger, a thousand times on each store")
    parser.add_argument("--quick", action="store_true", help="less work and fewer repetitions")
    parser.add_argument("--save", action="store_true", help="append the results to benchmarks/results/NAME.jsonl")
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        action="append",
        default=[],
        help="the interpreter of an environment that has peers; may be repeated",
    )
    parser.add_argument("--rows", metavar="N", type=int, help="rows of the table that queries are measured on")
    parser.add_argument("--data", metavar="FOLDER", help="where that table is kept, and made if it is not there")


COMMAND = Command(
    summary="measure speed beside a peer or a floor (from a source checkout)",
    description="Run benchmarks: medians of several rounds, in which ours, the peer and the floor take turns.",
    examples=("giveortake bench --list", "giveortake bench noise --peer-python ~/opendp/bin/python --save"),
    add_arguments=_add_arguments,
    run=run,
)
