"""The site is built of the pages and the docstrings, strictly; in a long run a real browser reads it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import giveortake
import waiting

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def built(builder: str, folder: Path) -> Path:
    """The folder of a strict build: a dead link, a missing picture or a public name without a docstring fails."""
    line = [sys.executable, "-m", "sphinx", "-q", "-b", builder, "--fail-on-warning", "--keep-going", str(DOCS)]
    done = subprocess.run([*line, str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.long
def test_pages_and_docstrings_are_read_without_a_warning_and_no_link_is_dead(tmp_path: Path) -> None:
    built("dummy", tmp_path)  # everything but the writing


@pytest.mark.long
def test_a_browser_finds_in_the_site_what_it_looks_for(browser: Any, tmp_path: Path) -> None:
    with served(built("html", tmp_path)) as address:
        read(browser.new_page(), address)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder: the search reads other pages, which a browser does not do in files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            serving.join()


def read(page: Any, address: str) -> None:
    """Open the front page, look for something, and open what is found."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_default_timeout(1000 * waiting.LONGEST)
    page.goto(f"{address}/index.html")
    assert page.locator(".entrance strong a").count() == 4
    page.fill("input[name=q]", "discrete Gaussian")
    page.press("input[name=q]", "Enter")
    found = page.locator("ul.search a", has_text="DiscreteGaussian").first
    found.wait_for()
    found.click()
    page.wait_for_url(re.compile(r"/api/\w+\.html"))
    assert page.locator("dt.sig", has_text="DiscreteGaussian").first.is_visible()
    assert wrong == []
    page.close()


def test_every_public_room_has_a_page_of_the_reference() -> None:
    packages = {name for name in giveortake.__all__ if (ROOT / "src" / "giveortake" / name).is_dir()} | {"errors"}
    assert {page.stem for page in (DOCS / "api").glob("*.md")} == packages | {"index"}
