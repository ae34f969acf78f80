"""The reference of frames names everything that there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import giveortake as gt
from giveortake import frame
from giveortake.frame.aggregates import Agg
from giveortake.frame.expressions import Expr, When

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "frames.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", PAGE)
TYPES = {"Agg", "Check", "Expr", "Grouped", "Table"}


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def is_named(name: str, before: str) -> bool:
    return any(re.search(rf"{before}{name}\(", code) for code in CODE)


def test_every_method_of_a_table_an_expression_and_an_aggregate_is_on_the_page() -> None:
    for kind in (frame.Table, frame.Grouped, Expr, Agg, When):
        missing = {name for name in public(kind) - {"ask"} if not is_named(name, r"\.")}
        assert not missing, kind.__name__


def test_every_function_of_frames_is_on_the_page_and_in_the_package() -> None:
    for name in set(frame.__all__) - TYPES:
        assert is_named(name, r"(gt\.|\b)"), name
        assert getattr(gt, name) is getattr(frame, name)


def test_every_word_of_the_page_exists() -> None:
    methods = set().union(*map(public, (frame.Table, frame.Grouped, Expr, Agg, When)))
    named = {name for code in CODE for name in re.findall(r"(?<![\w)])\.(\w+)\(", code)}
    assert named <= methods
    assert {name for code in CODE for name in re.findall(r"\bgt\.(\w+)\(", code)} <= {*frame.__all__, "protect"}
