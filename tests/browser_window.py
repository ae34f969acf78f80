"""A real browser, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

PATIENCE = 180_000  # milliseconds until it is there, on a machine that has much else to do
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def opened_browser() -> Iterator[Any]:
    """The browser of this machine; without one the tests that need it fail."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no browser: install chromium, as script/test does")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()
