"""`giveortake bench`: run the benchmarks of a source checkout, which are not part of the package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from giveortake.cli.shell import Command, number, terminal
from giveortake.errors import NotFound

if TYPE_CHECKING:
    import argparse

_CHECKOUT = Path(__file__).parents[3]  # src/giveortake/cli/bench.py, unless installed elsewhere


def run(arguments: argparse.Namespace) -> int:
    """Hand the arguments to the checkout's own harness."""
    folder = _folder()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    code: int = importlib.import_module("harness.runner").run(arguments, folder, terminal())
    return code


def _folder() -> Path:
    for root in (Path.cwd(), _CHECKOUT):
        if (root / "benchmarks" / "harness" / "runner.py").is_file():
            return root / "benchmarks"
    raise NotFound(
        "there is no folder `benchmarks` here: benchmarks are not part of the installed package",
        hint="change to a source checkout of giveortake and run `giveortake bench` there",
    )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which benchmarks to run, all if none is named; `report` writes docs/results.md",
    )
    parser.add_argument(
        "--minutes",
        metavar="M",
        type=float,
        default=120.0,
        help="how long `report` may measure; 120 unless stated, 0 to write the pages from what was saved",
    )
    parser.add_argument(
        "--resume", action="store_true", help="`report` goes on with the last report instead of a new one"
    )
    parser.add_argument("--list", action="store_true", help="say which benchmarks there are, and run none")
    parser.add_argument("--quick", action="store_true", help="less work and fewer repetitions")
    parser.add_argument("--save", action="store_true", help="write the results to benchmarks/results/NAME.json")
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        action="append",
        default=[],
        help="the interpreter of an environment that has peers; may be repeated",
    )
    parser.add_argument(
        "--without",
        metavar="PEER",
        action="append",
        default=[],
        help="leave out a peer or a table, which is an error otherwise if it is missing; may be repeated",
    )
    parser.add_argument("--rows", metavar="N", type=number, help="rows of the table that queries are measured on")
    parser.add_argument("--data", metavar="FOLDER", help="where that table is kept, and made if it is not there")


COMMAND = Command(
    summary="measure speed beside a peer or a floor (from a source checkout)",
    description="Run benchmarks: medians of several rounds, in which ours, the peer and the floor take turns.",
    examples=(
        "giveortake bench --list",
        "giveortake bench report --quick --minutes 20",
        "giveortake bench noise --peer-python ~/opendp/bin/python --save",
    ),
    add_arguments=_add_arguments,
    run=run,
)
