"""Names that every example in the documentation may use."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest

import giveortake

# Laws are deterministic: no deadline on a shared machine, and the same examples in every run.
hypothesis.settings.register_profile("laws", deadline=None, derandomize=True)
hypothesis.settings.load_profile("laws")


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["gt"] = giveortake
