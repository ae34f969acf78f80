"""A real browser, without a window: one for the whole run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from waiting import LONGEST

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def opened_browser() -> Iterator[Any]:
    """The browser of this machine; without one the tests that need it fail."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no browser: install chromium, as script/test does")
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=1000 * LONGEST)
    try:
        yield browser
    finally:
        with loop_of_the_browser():
            browser.close()
            playwright.stop()


_loops: list[asyncio.AbstractEventLoop | None] = [None]


@contextmanager
def loop_of_the_browser() -> Iterator[None]:
    """While the block lasts, the event loop of playwright is the one that runs in this thread; outside there is none.

    Playwright leaves its loop marked as running between two calls. Without the mark, other tests run loops of their own
    in the same thread, and one browser serves tests of many modules.
    """
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(outer or _loops[0])
    try:
        yield
    finally:
        _loops[0] = asyncio._get_running_loop()
        if outer is None:
            asyncio._set_running_loop(None)
