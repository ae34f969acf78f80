"""What both sides of a comparison are asked: the call, and the ε and δ that it spends in all.

A benchmark that has a peer states them as `TERMS`, from the constants that both sides run with. They are saved with
what it measured and stand below its table. A test makes the calls of ours and compares them with what was charged.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Sequence

BENCHMARKS = Path(__file__).parents[1]
HEADINGS = ("comparison", "side", "call", "ε", "δ", "remark")
COMPARED = (  # the benchmarks that have a peer
    *("noise", "accounting", "queries", "keys", "engines", "coming_from", "synthetic", "learning", "surveys"),
    *("quantiles", "truth"),
)
NONE = "–"  # of a side that spends nothing, or whose ε is what is asked


@final
@dataclass(frozen=True, slots=True)
class Terms:
    """One side of a comparison. Sides that differ in ε or δ need a remark."""

    comparison: str
    side: str
    call: str
    epsilon: str = NONE
    delta: str = "0"
    remark: str = ""


def body(script: str, function: str) -> str:
    """What a function of a script in `benchmarks` does, as it is written there, without its docstring."""
    return _text(_function(ast.parse((BENCHMARKS / script).read_text(encoding="utf-8")), function))


def statements(script: str, marker: str) -> str:
    """The simple statements of a script in `benchmarks` with a marker in their text, as they are written there."""
    simple = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)
    tree = ast.parse((BENCHMARKS / script).read_text(encoding="utf-8"))
    texts = [ast.unparse(each) for each in ast.walk(tree) if isinstance(each, simple)]
    found = [" ".join(text.split()) for text in texts if marker in text]
    if not found:
        raise LookupError(f"{script} has no statement with {marker}")
    return "; ".join(found)


def entry(script: str, function: str, key: str) -> str:
    """The work under one key of the dictionary that a function of a script returns, as it is written there."""
    tree = _function(ast.parse((BENCHMARKS / script).read_text(encoding="utf-8")), function)
    (works,) = [each.value for each in tree.body if isinstance(each, ast.Return) and isinstance(each.value, ast.Dict)]
    named = {ast.literal_eval(name): work for name, work in zip(works.keys, works.values, strict=True) if name}
    work = named[key]
    if isinstance(work, ast.Name):
        return _text(_function(tree, work.id))
    return ast.unparse(work.body if isinstance(work, ast.Lambda) else work)


def _function(tree: ast.AST, name: str) -> ast.FunctionDef:
    return next(each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == name)


def _text(function: ast.FunctionDef) -> str:
    lines = function.body[1 if ast.get_docstring(function) else 0 :]
    return "; ".join(" ".join(ast.unparse(line).split()) for line in lines)


def call(name: str, *words: str, **options: Any) -> str:
    """A call as it is typed.

    >>> call("answer", epsilon="1")
    "answer(epsilon='1')"
    """
    return f"{name}({', '.join([*words, *(f'{key}={value!r}' for key, value in options.items())])})"


def table(terms: Sequence[dict[str, str]]) -> list[str]:
    """The terms of a run as Markdown."""
    rows = [
        [each[name] for name in ("comparison", "side")]
        + [f"`{each['call']}`", each["epsilon"], each["delta"], each["remark"]]
        for each in terms
    ]
    used = [index for index in range(len(HEADINGS)) if any(row[index] for row in rows)]
    return [
        f"| {' | '.join(HEADINGS[index] for index in used)} |",
        f"|{'---|' * len(used)}",
        *(f"| {' | '.join(row[index].replace('|', '∣') for index in used)} |" for row in rows),
    ]
