"""Every public name stands in an example that the tests run: in its own docstring, in another one, or in a page."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from inspect import isclass, isfunction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = sorted(page.stem for page in (ROOT / "docs" / "api").glob("*.md") if page.stem not in {"index", "errors"})
MADE = {  # types that nobody makes: a call gives them
    "accounting": "Filter",
    "answers": "Stream",
    "audit": (
        "Adversary Evidence Excess Finding LowerBound Move Neighbours Observation Observations Play "
        "Repetition Replay Round TradeoffCurve"
    ),
    "client": "RemoteSession",
    "frame": "Agg Check Expr Grouped Table",
    "learn": "Choice Contingency Descent HypothesisTest LinearModel PerturbedModel Score Selection",
    "ledger": (
        "Allowance Approval Entry Ledger Principal Registered ReleaseRecord Reservation Standing "
        "TokenRecord Trial Verification"
    ),
    "local": "Oracle Reports SurveyPlan",
    "privacy": "Unit",
    "publication": "Publication",
    "session": "Quote Session",
    "synth": "Determines Model Report SynthesisQuote SyntheticTable WeightedTable",
    "verify": "Family Flip Table Verdict",
    "workload": "WorkloadAnswer",
}


def shown() -> set[str]:
    """All words of all examples."""
    texts = [page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]]
    for file in (ROOT / "src").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if ">>>" in source:
            nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED))
            texts += [ast.get_docstring(node) or "" for node in nodes]
    examples = (example for text in texts if ">>>" in text for example in doctest.DocTestParser().get_examples(text))
    return {word for example in examples for word in re.findall(r"\w+", example.source + example.want)}


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
SHOWN = shown()


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_stands_in_an_example_that_runs(room: str) -> None:
    module = importlib.import_module(f"giveortake.{room}")
    names = {name for name in module.__all__ if isclass(value := getattr(module, name)) or isfunction(value)}
    assert names - SHOWN - set(MADE.get(room, "").split()) == set()


@pytest.mark.parametrize("room", MADE)
def test_nobody_is_excused_who_has_an_example(room: str) -> None:
    assert set(MADE[room].split()) & SHOWN == set()
