"""Two services of one configuration, started at once on a ledger that is not there yet: what they decide together.

`python two_fronts.py WHERE FOLDER` prints what was found as JSON; WHERE is a path or a PostgreSQL URL.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forked_fronts import begun, end, front, reply_of, warm
from giveortake import ledger as ledgers
from giveortake.privacy import PureDP
from giveortake.server import guard
from service_kills import QUESTION, described
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.ledger import Ledger

RATE, BURST = 1e-9, 16.0  # of one token: none is added while a test runs, however slow the machine
WRONG = (1e-9, 10.0)  # of wrong tokens
ANSWER = "/v1/datasets/visits/answer"
Asked = tuple[int, dict[str, Any]]


def main() -> None:
    where, folder = sys.argv[1], Path(sys.argv[2])
    warm(where)
    guard.WRONG_TOKENS = WRONG  # type: ignore[attr-defined]  # (of the fronts, which are forked from here)
    limits: dict[str, Any] = {"requests_per_second": RATE, "burst": BURST, "in_flight": 32, "fronts": 2}
    settings = replace(described(where, folder), **limits, log=folder / "service.log")
    places = [folder / "front-0", folder / "front-1"]
    fronts = [begun(front, settings, each) for each in places]
    try:
        until(lambda: all(each.exists() for each in places), "both fronts are up")
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
        first = at_once([self.answer(text, place, 1) for place in range(8)])
        again = at_once([self.answer(text, place, 1) for place in range(2)])
        other = at_once([self.answer(text, place, 2) for place in range(2)])
        return {
            "statuses": sorted({status for status, _ in (*first, *again)}),
            "answers": len({json.dumps(document["columns"]) for _, document in (*first, *again)}),
            "releases": len({document["release_id"] for _, document in (*first, *again)}),
            "spent": str(self.book.levels(analyst="ann")[0].spent),
            "other": [document["error"]["cause"] for _, document in other],
        }

    def answer(self, token: str, place: int, above: int) -> Callable[[], Asked]:
        body = {"sql": QUESTION.format(above), "terms": {"epsilon": "1/1000"}, "key": "one"}
        return partial(reply_of, self.places[place % 2], token, "POST", ANSWER, body)

    def revoked(self) -> list[list[int]]:
        """A token that one front revokes: what both say of it before, and in the end."""
        name, text = self.token("bob")
        _, custodian = self.book.issue_token(role="custodian")
        before = [reply_of(each, text, "GET", "/v1/me")[0] for each in self.places]
        reply_of(self.places[0], custodian, "POST", f"/v1/tokens/{name}/revoke", {"reason": "lost"})
        at_last = [until(lambda: self.refusal(each, text), "it is refused") for each in self.places]  # noqa: B023 (at once)
        return [before, at_last]

    @staticmethod
    def refusal(place: Path, token: str) -> int:
        """The status if a token is wrong, or 0."""
        status, _ = reply_of(place, token, "GET", "/v1/me")
        return status if status == 401 else 0  # 429 for as long as it is believed

    def let_through(self) -> dict[int, int]:
        """Twice as many requests of one token as may be, in turn: how many have which status."""
        _, text = self.token("carl")
        return self.counted([text] * int(2 * BURST))

    def wrong_tokens(self) -> dict[int, int]:
        """Twice as many wrong tokens of one address as are looked up, in turn: how many have which status."""
        return self.counted([f"got_{turn:08}_wrong" for turn in range(int(2 * WRONG[1]))])

    def counted(self, tokens: list[str]) -> dict[int, int]:
        return Counter(reply_of(self.places[turn % 2], each, "GET", "/v1/me")[0] for turn, each in enumerate(tokens))


def at_once(asked: list[Callable[[], Asked]]) -> list[Asked]:
    with ThreadPoolExecutor(len(asked)) as threads:
        return [each.result() for each in [threads.submit(each) for each in asked]]


if __name__ == "__main__":
    main()
