"""One service for all tests that change nothing about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from demo_service import running_demo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The demonstration, with patience for one second."""
    with running_demo(tmp_path_factory.mktemp("service")) as found:
        yield found
