"""Two services of one configuration, started at once on a ledger that is not there yet: what they decide together.

`python two_fronts.py WHERE FOLDER` prints what was found as JSON; WHERE is a path or a PostgreSQL URL.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forked_fronts import LONGEST, begun, end, front, reply_of, warm
from giveortake import ledger as ledgers
from giveortake.privacy import PureDP
from giveortake.server.service import BELIEVED
from giveortake.server.settings import WRONG_TOKENS
from service_kills import QUESTION, described

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.ledger import Ledger

FIXED = 0.4  # seconds, of everything about rows
MANY = 40  # requests, twice as many as may be
RATE, BURST = 0.5, 16.0  # of one token
ANSWER = "/v1/datasets/visits/answer"
Asked = tuple[int, dict[str, Any]]


def main() -> None:
    where, folder = sys.argv[1], Path(sys.argv[2])
    warm(where)
    limits: dict[str, Any] = {"requests_per_second": RATE, "burst": BURST, "in_flight": 32, "fronts": 2}
    settings = replace(described(where, folder), **limits, latency={"visits": FIXED}, log=folder / "service.log")
    places = [folder / "front-0", folder / "front-1"]
    fronts = [begun(front, settings, each) for each in places]
    try:
        wait_for(places)
        with ledgers.open(settings.ledger, mark=settings.mark, create=False) as book:
            found = Fronts(places, book).found()
            found["registered"] = sum(entry.kind == "dataset" for entry in book.history())
            book.verify()
    finally:
        for pid in fronts:
            end(pid)
    lines = (folder / "service.log").read_text(encoding="utf-8").splitlines()
    found["logging"] = len({json.loads(line)["front"] for line in lines})
    sys.stdout.write(json.dumps(found) + "\n")


def wait_for(places: list[Path]) -> None:
    deadline = time.monotonic() + LONGEST
    while not all(each.exists() for each in places):
        if time.monotonic() > deadline:
            raise TimeoutError("no front is up")
        time.sleep(0.01)


class Fronts:
    """What two services say, asked at once or in turn."""

    def __init__(self, places: list[Path], book: Ledger) -> None:
        self.places, self.book = places, book

    def token(self, name: str) -> tuple[str, str]:
        """Of a new analyst: its id, and its text."""
        self.book.analyst(name, datasets=["visits"], budget=PureDP("1/100"), failures=100)
        return self.book.issue_token(role="analyst", analyst=name)

    def found(self) -> dict[str, Any]:
        return {
            "one key": self.one_key(),
            "revoked": self.revoked(),
            "let through": self.let_through(),
            "wrong tokens": self.wrong_tokens(),
        }

    def one_key(self) -> dict[str, Any]:
        """One question under one key, asked of both at the same time and again, and another question under it."""
        _, text = self.token("ann")
        began = time.monotonic()
        asked = [self.answer(text, place, 1) for place in range(8)]
        first = at_once(asked)
        earliest = time.monotonic() - began
        again = at_once([self.answer(text, place, 1) for place in range(2)])
        other = at_once([self.answer(text, place, 2) for place in range(2)])
        return {
            "statuses": sorted({status for status, _ in (*first, *again)}),
            "answers": len({json.dumps(document["columns"]) for _, document in (*first, *again)}),
            "releases": len({document["release_id"] for _, document in (*first, *again)}),
            "spent": str(self.book.levels(analyst="ann")[0].spent),
            "other": [document["error"]["cause"] for _, document in other],
            "waited": earliest >= FIXED,
        }

    def answer(self, token: str, place: int, above: int) -> Callable[[], Asked]:
        body = {"sql": QUESTION.format(above), "terms": {"epsilon": "1/1000"}, "key": "one"}
        return partial(reply_of, self.places[place % 2], token, "POST", ANSWER, body)

    def revoked(self) -> list[list[int]]:
        """A token that one front revokes: what both say of it before, and once nothing is believed any more."""
        name, text = self.token("bob")
        _, custodian = self.book.issue_token(role="custodian")
        before = [reply_of(each, text, "GET", "/v1/me")[0] for each in self.places]
        reply_of(self.places[0], custodian, "POST", f"/v1/tokens/{name}/revoke", {"reason": "lost"})
        time.sleep(BELIEVED)
        return [before, [reply_of(each, text, "GET", "/v1/me")[0] for each in self.places]]

    def let_through(self) -> dict[str, Any]:
        """Many requests of one token, in turn: how many are let through, and how many may be."""
        _, text = self.token("carl")
        began = time.monotonic()
        statuses = Counter(reply_of(self.places[turn % 2], text, "GET", "/v1/me")[0] for turn in range(MANY))
        most = BURST + RATE * (time.monotonic() - began)
        return {"statuses": sorted(statuses), "within": statuses[200] <= most, "most of it": statuses[200] >= BURST - 2}

    def wrong_tokens(self) -> dict[str, Any]:
        """Many wrong tokens from one address, in turn: how many are looked up."""
        began = time.monotonic()
        statuses: Counter[int] = Counter()
        for turn in range(int(2 * WRONG_TOKENS[1])):
            statuses[reply_of(self.places[turn % 2], f"got_{turn:08}_wrong", "GET", "/v1/me")[0]] += 1
        most = WRONG_TOKENS[1] + WRONG_TOKENS[0] * (time.monotonic() - began)
        return {
            "statuses": sorted(statuses),
            "within": statuses[401] <= most,
        }


def at_once(asked: list[Callable[[], Asked]]) -> list[Asked]:
    with ThreadPoolExecutor(len(asked)) as threads:
        return [each.result() for each in [threads.submit(each) for each in asked]]


if __name__ == "__main__":
    main()
