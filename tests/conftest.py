"""Fixtures that all tests share."""

from __future__ import annotations

import pytest

from recorded_entropy import RecordedEntropy


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> RecordedEntropy:
    """Reproducible bytes, a stream of its own for every test."""
    return RecordedEntropy(request.node.nodeid)
