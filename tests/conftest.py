"""Fixtures that all tests share."""

from __future__ import annotations

import pytest

from recorded_entropy import RecordedEntropy

collect_ignore_glob = ["ledger/frozen_*"]  # what older versions left behind


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> RecordedEntropy:
    """Reproducible bytes, a stream of its own for every test."""
    return RecordedEntropy(request.node.nodeid)
