"""How this folder was made: run once, with 0.1.0. It is never run again: later code has to read what 0.1.0 wrote.

    PYTHONPATH=<a checkout of 0.1.0>/src:tests/ledger python tests/ledger/frozen_0_1_0/made_by.py

It uses insides of 0.1.0, so it is neither checked nor collected with the code of today.

More than 2^18 keys make a stream's file large, so while it was written a file had 5 keys to a line in place of 2^18;
its format is the same. The questions are those of `frozen_ledger.py`, where the test finds them.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import frozen_ledger as frozen
from frozen_ledger import FROZEN

import giveortake as gt
from giveortake.errors import ApprovalRequired, BudgetExceeded, QueryFailed, Unprovable
from giveortake.mechanisms import Laplace
from giveortake.privacy import events
from giveortake.session import keeping

PEOPLE = 400
ROWS = "rows of people"
BUDGETS: dict[str, Any] = {
    "pure people": gt.PureDP(40),
    "approximate people": gt.ApproxDP(40, "1e-3"),
    "concentrated people": gt.ZCDP(40),
    "gaussian people": gt.GaussianDP(40),
    "rényi people": gt.RenyiDP({2: 40, 8: 60}),
    "changed people": gt.ApproxDP(40, "1e-3", neighbours="change-one"),
}
EVENTS = [
    events.Pure("0.1"),
    events.Approx("0.1", "1e-6"),
    events.ZCDP("0.01"),
    events.Laplace(10),
    events.Gaussian(10),
    events.Geometric("10", 1),
    events.DiscreteGaussian("10", 1),
    events.Exponential("0.1"),
    events.RandomizedResponse("0.1", 4),
    events.DiscoveredKeys("0.1", "1e-6"),
    events.AboveThreshold("0.1"),
    events.Composed([events.Laplace(20), events.Gaussian(20)]),
    events.Repeated(events.Laplace(100), 5),
    events.Parallel([events.Pure("0.1"), events.Pure("0.2")], touched=2),
    events.InPart(events.Laplace(10), events.Laplace(20), partition=7, part=1, touched=2),
    events.InPart(events.Laplace(10), events.Laplace(20), partition=7, part=2, touched=2),
    events.InPart(events.Gaussian(10), events.Gaussian(20), partition=8, part=0),
    events.Subsampled(events.Pure("0.5"), "0.1"),
    events.Subsampled(events.Approx("0.5", "1e-6"), "0.1", "fixed-size"),
    events.Subsampled(events.Gaussian(4), "0.01"),
]


def main() -> None:
    """Write the tables, live through everything that 0.1.0 can write, and note down what it said."""
    ledger = FROZEN / "people.ledger"
    assert gt.__version__ == "0.1.0", "only 0.1.0 makes this fixture"
    assert not ledger.exists(), "it is made once"
    write_tables()
    lose_and_restore(ledger)
    charges = charge_every_event(ledger)
    expected: dict[str, Any] = {"made with": {"giveortake": gt.__version__, "engine": ""}, "charges": charges}
    first = FROZEN / "version_1.csv"
    first.write_text("".join((FROZEN / "visits.csv").read_text().splitlines(keepends=True)[:500]))
    with frozen.visits(FROZEN, first.name) as s:
        open_again(ledger)
        s.sql(frozen.COUNT).answer(epsilon="0.125")  # of a version that is gone: its charge stays
        expected["version 1"] = frozen.asked_of_version_1(s)
    first.unlink()
    with frozen.visits(FROZEN) as s:
        expected["made with"]["engine"] = s.engine.identity
        expected["visits"] = frozen.asked_of_visits(s)
        expected["stream"] = stream_in_short_lines(s)
    let_an_analyst_ask(ledger, expected)
    with frozen.visits_and_homes(FROZEN) as s:
        expected["both"] = frozen.asked_of_both(s)
    for neighbours in ("add-remove", "change-one"):
        with frozen.ratings(FROZEN, neighbours=neighbours) as s:
            open_again(ledger)
            expected[f"ratings, {neighbours}"] = frozen.asked_of_ratings(s)
    leave_open(ledger, expected)
    fail_after_the_keys(expected)
    with gt.ledger.open(ledger) as book:
        found = book.verify()
        expected["ledger"] = {"id": found.ledger, "entries": found.entries, "head": book.history()[-1].hash}
        expected["levels"] = frozen.standings(book)
        expected["waiting"] = book.waiting()
        expected["versions"] = [name for name, _ in book.versions("visits")]
        expected["shares"] = frozen.plain({number: steps[-1] for number, steps in book.burn_down().items()})
        expected["kinds"] = sorted({entry.kind for entry in book.history()})
    text = json.dumps(expected, indent=1, ensure_ascii=False, sort_keys=True)
    (FROZEN / "expected.json").write_text(f"{text}\n", encoding="utf-8")


def write_tables() -> None:
    """Some people with one to five visits, some ratings, and zones that everybody knows."""
    draw = random.Random("0.1.0")  # noqa: S311 (a made-up table)
    with (FROZEN / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(["person", "region", "amount", "age", "paid", "day", "product", "note"])
        for person in range(PEOPLE):
            age = draw.randrange(18, 24)
            for _ in range(draw.randrange(1, 4)):
                region = draw.choice(["north", "south", "east", ""])
                product = f"product {min(draw.randrange(12), draw.randrange(12))}"
                note = f"note {person % 16}"  # 25 persons each: some of these keys are just found, others just not
                amount = f"{draw.uniform(-5, 120):.2f}"
                paid = draw.choice(["true", "false"])
                write.writerow([person, region, amount, age, paid, f"2024-01-0{draw.randrange(1, 6)}", product, note])
    with (FROZEN / "ratings.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(["shop", "stars"])
        write.writerows([draw.choice(frozen.SHOPS), draw.randrange(1, 6)] for _ in range(200))
    with (FROZEN / "homes.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(["person", "town", "rooms"])
        write.writerows([person, draw.choice(["Rome", "Pisa"]), draw.randrange(1, 10)] for person in range(0, 400, 3))
    (FROZEN / "zones.csv").write_text("region,zone\nnorth,cold\nsouth,warm\neast,warm\n", encoding="utf-8")


def lose_and_restore(ledger: Path) -> None:
    """Two losses: one after which everything was closed, and one that was paid for."""
    with gt.ledger.open(ledger) as book:
        book.population("closed for good", budget=gt.PureDP(1), unit="person")
        book.population("opened again", budget=gt.PureDP(1), unit="person")
        for name, people in {"left behind": "closed for good", "carried on": "opened again"}.items():
            book.dataset(name, population=people)
        book.settle(book.reserve(events.Pure("0.1"), dataset="carried on", key="before the loss"), {"n": 41})
        book.reserve(events.Pure("0.1"), dataset="carried on", key="lost")
    lose_mark(ledger)
    gt.ledger.restore(ledger, reason="the disk died")
    with gt.ledger.open(ledger) as book:
        (level,) = [each for each in book.levels() if each.name == "opened again"]
        book.change_budget(level, gt.PureDP(3), reason="a new promise after the loss")
    lose_mark(ledger)
    gt.ledger.restore(ledger, reason="it died again", charge=events.Pure("0.25"))


def lose_mark(ledger: Path) -> None:
    """Without its mark a ledger is a copy that nobody vouches for."""
    Path(f"{ledger}.mark").unlink()


def open_again(ledger: Path) -> None:
    """After the loss every budget is closed until the owner states it anew."""
    with gt.ledger.open(ledger) as book:
        for level in book.levels():
            if level.closed and level.name != "closed for good":
                book.change_budget(level, level.budget, reason="nothing was asked of them before the loss")


def charge_every_event(ledger: Path) -> list[dict[str, Any]]:
    """Every kind of event, by `reserve` and `settle`, to a population of every kind of budget that can price it."""
    charged = []
    with gt.ledger.open(ledger) as book:
        for people, budget in BUDGETS.items():
            book.population(people, budget=budget, unit="person")
            book.dataset(f"persons of {people}", population=people)
        people = "approximate people"  # some of whom have two rows in a table of rows
        book.dataset(ROWS, population=people, unit=gt.ROW, rows_per_person=2, budget=gt.ApproxDP(9, "1e-5"))
        open_again(ledger)
        for dataset in (*(f"persons of {people}" for people in BUDGETS), ROWS):
            for place, event in enumerate(EVENTS):
                said = {"dataset": dataset, "key": f"{dataset} {place}", "request": {"asked": place}}
                try:
                    held = book.reserve(event, **said)
                except (BudgetExceeded, Unprovable):
                    continue  # has no price there
                answer = book.settle(held, {"n": place, "of": [dataset, 2.5, None, True]})
                charged.append({**said, "event": event.to_dict(), "entry": held.number, "answer": answer})
    assert {each["event"]["event"] for each in charged} == {event.kind for event in EVENTS}
    return charged


def stream_in_short_lines(s: Any) -> list[Any]:
    """A stream with a file of its own, five keys to a line."""
    usual, keeping.MANY = keeping.MANY, 5
    try:
        return frozen.streamed(s)
    finally:
        keeping.MANY = usual


def let_an_analyst_ask(ledger: Path, expected: dict[str, Any]) -> None:
    """An analyst with a cap, who is told to wait, approved, revoked and readmitted."""
    with gt.ledger.open(ledger) as book:
        cap, large = gt.ApproxDP(4, "1e-6"), gt.ApproxDP("0.6", "1e-7")
        book.analyst("ann", datasets=["visits"], budget=cap, approval_above=large)
        book.analyst("bob", datasets=["visits"])
        open_again(ledger)
        with frozen.visits(FROZEN, analyst="ann") as s:
            frozen.asked_as_analyst(s)
            expected["ann"] = frozen.asked_as_analyst(s)  # what others paid for is theirs from the second time on
            large_question = s.sql("SELECT SUM(age) AS ages FROM visits")
            try:
                large_question.answer(epsilon=1, key="large")
            except ApprovalRequired as waiting:
                book.approve(waiting.request, reason="one large spend")
            expected["ann"]["approved"] = frozen.told(large_question.answer(epsilon=1, key="large"))
            try:
                large_question.answer(epsilon="1.5")
            except ApprovalRequired as waiting:
                expected["request"] = waiting.request
        book.revoke("ann", reason="on leave")
        book.readmit("ann", reason="back")
        book.revoke("bob", reason="gone")


def leave_open(ledger: Path, expected: dict[str, Any]) -> None:
    """A reservation that nobody has settled yet, one that answers a known question, and a raised budget."""
    with gt.ledger.open(ledger) as book:
        people = "persons of pure people"
        asked = {"dataset": people, "question": "how many", "request": {"sql": "SELECT 1"}}
        held = book.reserve(events.Laplace(16), **asked, key="asked first")
        book.settle(held, {"n": 7})
        again = book.reserve(events.Laplace(16), **asked, key="asked second")  # stored under its own key, charged once
        expected["asked twice"] = [held.number, again.number]
        expected["unsettled"] = book.reserve(events.Pure("0.5"), dataset=people, key="never settled").number
        (level,) = [each for each in book.levels() if each.name == "gaussian people"]
        book.change_budget(level, gt.GaussianDP(50), reason="more was agreed on")


def fail_after_the_keys(expected: dict[str, Any]) -> None:
    """A question that finds keys and then fails: what it found is kept, its charge stands."""
    sound = Laplace.release

    def failing(*given: Any) -> Any:
        raise QueryFailed("a worker was lost")

    with frozen.visits(FROZEN) as s:
        drawn = gt.mechanisms.DiscoveredHistogram.select

        def selected(*given: Any) -> Any:
            Laplace.release = sound  # keys are drawn as ever
            try:
                return drawn(*given)
            finally:
                Laplace.release = failing

        gt.mechanisms.DiscoveredHistogram.select = selected
        try:
            s.sql(frozen.FAILED).answer(**frozen.FAILED_SPEND)
        except QueryFailed:
            expected["failed"] = s.book.history()[-1].number
        finally:
            Laplace.release = sound
            gt.mechanisms.DiscoveredHistogram.select = drawn
    (kept,) = (FROZEN / "people.ledger.answers").glob("*.keys")
    expected["keys"] = [row[0][1] for line in kept.read_text().splitlines() for row in json.loads(line)]


if __name__ == "__main__":
    main()
