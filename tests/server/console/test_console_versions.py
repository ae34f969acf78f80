"""A table that changes while its page is open: a quote is of one version, and so is what is asked under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from console_desk import Desk, cause, quoted, spent
from demo_service import running_demo
from giveortake.configuration import from_toml

if TYPE_CHECKING:
    from pathlib import Path

    from demo_service import Running

pytestmark = pytest.mark.long
COUNT = "SELECT COUNT(*) AS n FROM visits"


def test_what_is_asked_after_the_table_has_changed_is_about_the_new_one(browser: Any, tmp_path: Path) -> None:
    with running_demo(tmp_path, spares=1) as service:
        desk = Desk(browser, service)
        page = quoted(desk.window("bob"), COUNT, "0.1")
        page.click("#ask")
        page.wait_for_selector("#answer")
        first = page.text_content("#answer tbody")
        _change(service)
        page.wait_for_selector("#ask:has-text('free')")
        page.click("#ask")  # which was quoted as free, for the table as it was
        assert cause(page) == "unquoted"
        assert "This is no longer free" in page.text_content(".state[data-cause]")
        assert spent(service, "bob") == pytest.approx(0.1)
        page.wait_for_selector("#ask:has-text('Ask for ε = 0.1')")
        page.click("#ask")
        page.wait_for_selector("#answer")
        assert page.text_content("#answer tbody") != first
        assert spent(service, "bob") == pytest.approx(0.2)
        for context in desk.windows:
            context.close()
    assert desk.complaints == []


def _change(service: Running) -> None:
    """Put every visit into the table three times."""
    (table,) = service.folder.glob("visits.csv")
    head, *rows = table.read_text().splitlines()
    table.write_text("\n".join([head, *rows, *rows, *rows]) + "\n")
    with from_toml(service.folder / "giveortake.toml") as session:
        assert session.describe().version == "2"
