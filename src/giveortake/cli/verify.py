"""`giveortake verify`: check a claim against every path of a finite mechanism's coins."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table as Grid
from rich.text import Text

from giveortake import verify
from giveortake.cli.shell import Command, number, terminal
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound
from giveortake.verify.table import exactly

if TYPE_CHECKING:
    import argparse
    from types import ModuleType

    from rich.console import Console

    from giveortake.verify import Table, Verdict

_MOST_ROWS, _MOST_COLUMNS = 16, 6


def run(arguments: argparse.Namespace) -> int:
    """Print the table, the verdict and the worst case; exit code 1 if the claim is false, 2 if nothing is shown."""
    file, _, name = arguments.mechanism.partition("::")
    if not name:
        raise InvalidParameter("mechanism", arguments.mechanism, "names no mechanism", hint="write file.py::mechanism")
    module = load(Path(file))
    table = _table(module, name, arguments)
    out = terminal()
    if arguments.epsilon is None:
        _print_table(out, table, None)
        _print_numbers(out, table)
        return 0
    verdict = table.check(arguments.epsilon, arguments.delta)
    _print_table(out, table, verdict)
    style = "bold green" if verdict.holds else "bold yellow" if verdict.counterexample is None else "bold red"
    out.print(Text(verdict.headline(), style=style))
    for reason in verdict.reasons():
        out.print(Text(reason))
    return 0 if verdict.holds else 2 if verdict.counterexample is None else 1


def load(path: Path) -> ModuleType:
    """The Python file as a module."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise NotFound(f"there is no Python file {path}", hint="write file.py::mechanism")
    module = importlib.util.module_from_spec(specification)
    sys.modules.setdefault(path.stem, module)
    try:
        specification.loader.exec_module(module)
    except GiveOrTakeError:
        raise
    except (Exception, SystemExit) as error:
        sys.modules.pop(path.stem, None)
        raise _user_error(path, "", error) from error
    return module


def _user_error(path: Path, call: str, error: BaseException, line: int | None = None) -> GiveOrTakeError:
    """An error in the user's file as one sentence: where, what was called, and what it raised."""
    if isinstance(error, SyntaxError):
        line = error.lineno
    for frame in traceback.extract_tb(error.__traceback__):
        line = frame.lineno if Path(frame.filename).resolve() == path.resolve() else line
    location = path.name if line is None else f"{path.name}:{line}"
    return GiveOrTakeError(" ".join(filter(None, [location, call, f"raised {type(error).__name__}: {error}"])))


def _reported(path: Path, program: Callable[..., Any]) -> Callable[..., Any]:
    """The same program, whose errors are raised as ours."""
    code = getattr(program, "__code__", None)

    @wraps(program)
    def run(x: Any, *coins: Any) -> Any:
        try:
            return program(x, *coins)
        except GiveOrTakeError:
            raise
        except Exception as error:
            call = f"{getattr(program, '__name__', 'the mechanism')}({x!r}, flip)"
            raise _user_error(path, call, error, getattr(code, "co_firstlineno", None)) from error

    return run


def _table(module: ModuleType, name: str, arguments: argparse.Namespace) -> Table:
    """The mechanism as a table, from a table, a mapping that spells one out, or a program."""
    mechanism = getattr(module, name, None)
    if isinstance(mechanism, verify.Table):
        return mechanism
    relation = getattr(mechanism, "neighbours", getattr(module, "neighbours", None))
    if isinstance(mechanism, Mapping):
        return verify.table(mechanism, neighbours=relation)
    if not callable(mechanism):
        names = [known for known, value in vars(module).items() if callable(value) and not known.startswith("_")]
        raise NotFound(f"{name} is not a mechanism of {arguments.mechanism}", hint=f"there are {', '.join(names)}")
    inputs = getattr(mechanism, "inputs", getattr(module, "inputs", (0, 1)))
    if arguments.inputs is not None:
        try:
            inputs = ast.literal_eval(arguments.inputs)
        except (SyntaxError, ValueError):
            raise InvalidParameter(
                "inputs", arguments.inputs, "is not a Python list", hint='--inputs "[0, 1]"'
            ) from None
    try:
        parameters = [p for p in inspect.signature(mechanism).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    except (TypeError, ValueError):
        parameters = []
    if len(parameters) == 1 and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        raise InvalidParameter(
            "mechanism",
            name,
            "takes no coins: it has one argument",
            hint=f"write def {name}({parameters[0].name}, flip)",
        )
    mechanism = _reported(Path(arguments.mechanism.partition("::")[0]), mechanism)
    return verify.program(mechanism, inputs, neighbours=relation, depth=arguments.depth, paths=arguments.paths)


def _print_table(out: Console, table: Table, verdict: Verdict | None) -> None:
    """Print outputs as rows; the two inputs of the verdict come first, outputs of a counterexample are marked."""
    case = None if verdict is None else verdict.counterexample or verdict.worst
    ends: list[Any] = [] if case is None else [case.x, case.y]
    inputs = [*ends, *(x for x in table.inputs if x not in ends)][:_MOST_COLUMNS]
    marked = set() if verdict is None or verdict.counterexample is None else set(verdict.counterexample.outputs)
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for header in [Text("P[output | input]"), *(Text(repr(x)) for x in inputs)]:
        grid.add_column(header)
    if len(ends) == 2:
        grid.add_column("ratio", justify="right")
    ordered = sorted(table.outputs, key=lambda output: output not in marked)[:_MOST_ROWS]
    for output in ordered:
        cells = [exactly(table.probability(x, output)) for x in inputs]
        if len(ends) == 2:
            p, q = (table.probability(end, output) for end in ends)
            cells.append("∞" if p and not q else "" if not q else exactly(p / q))
        grid.add_row(Text(repr(output)), *cells, style="red" if output in marked else None)
    if table.remainder():
        grid.add_row(Text("(cut off)"), *(exactly(table.remainder(x)) for x in inputs))
    out.print(grid)
    left_out = len(table.outputs) - len(ordered), len(table.inputs) - len(inputs)
    if any(left_out):
        out.print(f"… and {left_out[0]} more outputs, {left_out[1]} more inputs")
    counted = f"{table.paths:,} paths of coins, " if table.paths else ""
    out.print(f"[dim]{counted}neighbouring pairs: {len(table.neighbours) // 2:,}, every set of outputs[/]\n")


def _print_numbers(out: Console, table: Table) -> None:
    try:
        out.print(f"ε = {table.epsilon()!r}, ratio {table.ratio()}")
    except GiveOrTakeError as error:
        out.print(Text(f"ε is not known: {error.message}"))
    out.print("δ(ε), straight in e^ε between these:")
    for epsilon, height in table.curve()[:12]:
        out.print(Text(f"  ε = {epsilon!r}: δ = {exactly(height)}"))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mechanism", metavar="FILE::NAME", help="a function f(x, flip), or a table, in a Python file")
    parser.add_argument("--epsilon", metavar="E", help='the claim, such as "ln 3", 0.5 or 1/2; left out, ε is derived')
    parser.add_argument("--delta", default="0", metavar="D", help="the claim's δ")
    parser.add_argument("--inputs", metavar="LIST", help="inputs of a function, if the file does not say `inputs = …`")
    parser.add_argument("--depth", type=number, default=64, metavar="N", help="coins after which a path is cut off")
    parser.add_argument("--paths", type=number, default=4_000_000, metavar="N", help="paths to enumerate at most")


COMMAND = Command(
    summary="check a claim about a finite mechanism, exactly",
    description=(
        "Run a random program over every path that its coins can take, and hold a claim against the exact table. The "
        "file may define `inputs` and `neighbours`, a function of two inputs or a list of pairs."
    ),
    examples=(
        'giveortake verify survey.py::randomized_response --epsilon "ln 3"',
        "giveortake verify survey.py::randomized_response",
    ),
    add_arguments=_add_arguments,
    run=run,
)
