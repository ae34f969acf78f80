"""Pages of the console without a browser: they are light, load what is ours alone, and nothing of the data runs."""

from __future__ import annotations

import gzip
import html
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import giveortake as gt
from console_desk import BY_REGION, EVIL, PAGES
from giveortake.server.console.views import Form
from giveortake.server.responses import POLICY

if TYPE_CHECKING:
    from demo_service import Running

LARGEST = 40 * 1024  # bytes of a page with all that it loads, compressed


class Markup(HTMLParser):
    """What a page loads, and what in it could run or hide: scripts, styles and pictures that are no files of ours."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.foreign: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        address = known.get("src") or (known.get("href") if tag == "link" else None)
        if address is not None:
            self.loads.add(address)
        own = address is not None and address.startswith("/static/")
        names = [name for name in known if name == "style" or name.startswith("on")]
        if names or tag in {"img", "style", "iframe", "object", "embed"} or (tag in {"script", "link"} and not own):
            self.foreign.append(f"{tag} {known}")


def test_a_page_is_light_and_loads_only_what_is_ours(service: Running) -> None:
    release = service.answer("ann", BY_REGION, "a light page", epsilon="0.001").json()["release_id"]
    for path in (*PAGES, f"/releases/visits/{release}", f"/ask/visits?release={release}"):
        page = service.call("ann", "GET", path)
        assert page.status_code == 200, path
        markup = Markup(page.text)
        assert markup.foreign == [], path
        parts = [page, *(service.call(None, "GET", each) for each in sorted(markup.loads))]
        assert len(parts) > 2, path
        assert sum(len(gzip.compress(each.content)) for each in parts) < LARGEST, path
        assert {each.headers["content-security-policy"] for each in parts} == {POLICY}, path
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_names_that_would_run_are_inert(service: Running) -> None:
    with service.book() as book:
        book.analyst(EVIL, datasets=["visits"], budget=gt.PureDP("1/100"))
        service.tokens[EVIL] = book.issue_token(role="analyst", analyst=EVIL)[1]
    name = EVIL.replace('"', '""')
    sql = f'SELECT region AS "{name}", COUNT(*) AS "n {name}" FROM visits GROUP BY region'
    release = service.answer(EVIL, sql, EVIL, epsilon="0.005").json()["release_id"]
    pages = [(EVIL, path) for path in (*PAGES, f"/releases/visits/{release}", f"/ask/visits?release={release}")]
    for who, path in (*pages, ("custodian", "/custodian")):
        page = service.call(who, "GET", path)
        assert page.status_code == 200, path
        assert EVIL in html.unescape(page.text), path
        assert Markup(page.text).foreign == [], path


def test_what_cannot_be_asked_says_so_and_costs_nothing(service: Running) -> None:
    def shown(**fields: str) -> str:
        headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        return service.call("bob", "POST", "/ask/visits", headers=headers, content=urlencode(fields)).text

    before = service.call("bob", "GET", "/v1/datasets/visits/budget").json()
    count = "SELECT COUNT(*) AS n FROM visits WHERE amount > 3"
    for fields, cause in (
        ({"do": "price", "sql": "SELECT * FROM visits", "spend": "0.1"}, "refused"),
        ({"do": "price", "sql": count, "spend": "nonsense"}, "invalid"),
        ({"do": "price", "sql": count, "spend": "0.1", "confidence": "95"}, "invalid"),
        ({"do": "ask", "sql": count, "spend": "0.1"}, "unquoted"),
    ):
        assert f'data-cause="{cause}"' in shown(**fields), fields
    dear = shown(do="price", sql=count, spend="50")
    assert 'id="ask"' not in dear
    assert 'id="fit"' in dear
    assert service.call("bob", "GET", "/v1/datasets/visits/budget").json() == before


def test_a_quote_has_a_name_of_its_own() -> None:
    def name(sql: str = "SELECT 1 -- all\nFROM t", dataset: str = "t", version: str = "1", price: str = "free") -> str:
        return Form(sql=sql, nonce="0" * 32).quote_name(dataset, version, price)

    assert name() == name("SELECT 1 -- all\r\nFROM t") == name("SELECT 1 -- all\rFROM t")
    others = [
        name("SELECT 1 -- all FROM t"),
        name(dataset="u"),
        name(version="2"),
        name(price="charged"),
        name("SELECT 2"),
    ]
    assert len({name(), *others}) == 6
    assert max(map(len, others)) <= 64
