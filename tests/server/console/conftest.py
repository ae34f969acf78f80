"""One service for all tests of the console: workers are killed, budgets used up, analysts revoked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from console_desk import EVIL, Desk
from demo_service import Running, running_demo


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of this folder's own."""
    with running_demo(tmp_path_factory.mktemp("console"), spares=1) as found:
        yield found


@pytest.fixture(scope="package")
def desk(browser: Any, service: Running) -> Iterator[Desk]:
    """Windows; dora, elsa and somebody whose name would run may ask a little."""
    found = Desk(browser, service)
    for name, epsilon in (("dora", "0.02"), ("elsa", "0.02"), (EVIL, "0.03")):
        found.analyst(name, epsilon)
    yield found
    for context in found.windows:
        context.close()


@pytest.fixture(autouse=True)
def _nothing_to_complain_about(desk: Desk) -> Iterator[None]:
    """No page says anything to the browser's console, least of all about what the policy forbids."""
    desk.complaints.clear()
    yield
    assert desk.complaints == []


@pytest.fixture(scope="package")
def bob(desk: Desk) -> Any:
    """A window of an analyst who is logged in, and may spend ε = 1."""
    return desk.window("bob")
