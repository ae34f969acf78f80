"""The site is built of the pages and the docstrings, strictly, and a real browser reads it."""

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

import giveortake

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_the_site_has_no_dead_link_and_a_browser_finds_what_it_looks_for(browser: Any, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "sphinx", "-q", "--fail-on-warning", "--keep-going", str(DOCS), str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with served(tmp_path) as address:
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
    page.set_default_timeout(120_000)  # milliseconds, on a machine that has much else to do
    page.goto(f"{address}/index.html")
    assert page.locator(".entrance a").all_inner_texts() == [
        "I hold data",
        "I ask questions",
        "I build on it",
        "I teach or audit",
    ]
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
    rooms = {name for name in giveortake.__all__ if (ROOT / "src" / "giveortake" / name).is_dir()} | {"errors"}
    assert {page.stem for page in (DOCS / "api").glob("*.md")} == rooms | {"index"}
