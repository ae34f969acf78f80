"""What is stored and shown of everything that can be bought stays as it is, whatever classes and modules are called."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from fractions import Fraction

import golden_requests
import pytest
from golden_requests import PURCHASES, file_of, golden, golden_session, is_same, written

import giveortake
from giveortake import codec
from giveortake.compile import Spend
from giveortake.ledger.chain.checkpoints import shape
from giveortake.privacy import Guarantee
from giveortake.session.session import mechanism_of
from tiers import tiered


@pytest.mark.parametrize("name", PURCHASES)
def test_a_request_has_the_name_price_margins_entries_and_answer_of_its_golden_file(name: str) -> None:
    assert is_same(json.loads(written(golden(name))), json.loads(file_of(name).read_text(encoding="utf-8")))


def test_every_golden_file_is_of_a_request() -> None:
    assert {path.name for path in golden_requests.GOLDEN.iterdir()} == {file_of(name).name for name in PURCHASES}


@contextmanager
def renamed_classes() -> Iterator[None]:
    """Every class of the package by another name, in another module, as if it had been moved and renamed."""
    classes = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("giveortake.")
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith("giveortake.") and not issubclass(value, Guarantee)
    }  # promises are shown by their public names
    for kind in classes:
        if is_dataclass(kind):
            with suppress(NameError, TypeError):  # what is never written may name what is not imported
                codec.parts_of(kind)  # what fields may hold is looked up by names
    names = {kind: (kind.__name__, kind.__qualname__, kind.__module__) for kind in classes}
    try:
        for number, kind in enumerate(sorted(classes, key=lambda kind: (kind.__module__, kind.__qualname__))):
            kind.__name__ = kind.__qualname__ = f"Renamed{number}"
            kind.__module__ = "giveortake.elsewhere"
        yield
    finally:
        for kind, (name, qualified, module) in names.items():
            kind.__name__, kind.__qualname__, kind.__module__ = name, qualified, module


def names_on_disk() -> list[str]:
    """The shape of checkpoints, and the names of the files of discovered groups until they are settled."""
    spends = (Spend(epsilon=Fraction(1)), Spend(epsilon=Fraction(1), delta=Fraction(1, 10**6)), Spend(mu=Fraction(1)))
    texts = ("SELECT q, COUNT(DISTINCT p) AS n FROM data GROUP BY q", "SELECT q, AVG(x) AS m FROM data GROUP BY q")
    with golden_session() as session:
        mechanism = mechanism_of(session)
        selections = [
            mechanism.measured(session.sql(text).question, session.describe().caps, spend).selection
            for text in texts
            for spend in spends
        ]
    return [shape.__wrapped__(), *(selection.scratch_name for selection in selections if selection is not None)]


def test_no_stored_name_and_no_answer_holds_the_name_of_a_class_or_a_module() -> None:
    for module in pkgutil.walk_packages(giveortake.__path__, "giveortake."):
        importlib.import_module(module.name)
    on_disk = names_on_disk()
    assert len(set(on_disk)) == len(on_disk) == 7
    with renamed_classes():
        changed = [
            name
            for name in tiered([*PURCHASES][::3], [*PURCHASES])
            if not is_same(json.loads(written(golden(name))), json.loads(file_of(name).read_text(encoding="utf-8")))
        ]
        assert names_on_disk() == on_disk
    assert changed == []
