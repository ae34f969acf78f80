"""Processes that buy requests of every kind and are killed, at each durable step; then the same is asked again.

`python request_kills.py WHERE FOLDER --kills 200` prints what was found, by case, as JSON, and ends with 1 if anything
is wrong; `--kills 0` kills at every moment. WHERE is a path or a PostgreSQL URL. Each case is bought once to learn the
moments that it passes: calls and returns of what charges, stores and forgets, each labelled step of a transaction,
files that become durable, and questions about rows. Then a process is forked for each kill, and dies at a moment chosen
beforehand; another asks for the same again, twice, with the same key and without one. Each kill has its own ledger.
"""

from __future__ import annotations

import csv
import json
import mmap
import os
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: threads are not forked
sys.path.append(str(Path(__file__).parents[1] / "tests"))

import giveortake as gt
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.ledger import Ledger
from giveortake.ledger.opening import opened
from giveortake.session import Session, storage
from giveortake.session.releases import released_tables
from giveortake.session.session import mechanism_of
from giveortake.session.storage import Spool
from kill_findings import Found, arguments
from recorded_entropy import recorded_system

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.ledger import Entry

Purchase: TypeAlias = Callable[[Session, str | None], Iterator[Any]]  # yields what is released, in order
Moment: TypeAlias = tuple[str, int]  # what is passed, and for the how manieth time

PORTION = 2  # groups of a portion of a stream, so that three groups are stored in several
ANALYST, BUDGET = "ann", gt.ApproxDP(100, "1e-4")
MANNERS = (("key", "key"), (None, None), ("key", None))  # the keys of who dies, and of who asks after that
ROWS = "rows"
WATCHED: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (Ledger, ("reserve", "keep", "settle", "begin_again", "fail", "pad")),
    (Spool, ("first", "write", "forget")),
    (DuckDBEngine, ("tally", "bins", "distinct", "persons", "vectors", "in_parts")),
    (os, ("fsync", "link", "replace", "unlink")),
)


# -- what is bought ---------------------------------------------------------------------------------------------------


def answered(ask: Callable[[Session], Any], **terms: Any) -> Purchase:
    """A query that is answered at once."""

    def purchase(session: Session, key: str | None) -> Iterator[Any]:
        yield plain(ask(session).answer(**terms, key=key))

    return purchase


def fitted(fit: Callable[[Session, str | None], Any]) -> Purchase:
    """A run, of which nobody sees anything before it ends."""

    def purchase(session: Session, key: str | None) -> Iterator[Any]:
        yield plain(fit(session, key))

    return purchase


def streamed(session: Session, key: str | None) -> Iterator[Any]:
    for answer in session.sql(DISCOVERED).stream(epsilon=1, delta="1e-6", key=key):
        yield plain(answer)


def refined(session: Session, key: str | None) -> Iterator[Any]:
    first = session.sql(DISCOVERED).answer(epsilon="1/2", delta="1e-6", key=key)
    yield plain(first)
    yield plain(first.refine(epsilon=1, key=None if key is None else f"{key} again"))


def counted(session: Session, _key: str | None) -> Iterator[Any]:
    """Three of four periods; those that were released are there already."""
    counter = session.counter("d", horizon=4).answer(rho="1/10")
    for period in range(3):
        while len(counter.answers()) <= period:
            counter.next()
        yield counter.answers().to_dict()["n"][period]


def weighed(session: Session, _key: str | None) -> Iterator[Any]:
    weights = session.weights(["r", "z"], accuracy="0.2", queries=5).answer(epsilon=20, delta="1e-6")
    for pattern in ({"r": "north"}, {"z": ["no"]}, {"r": "south", "z": "yes"}):
        yield weights.count(pattern).to_dict()


def profiled(session: Session, key: str | None) -> Iterator[Any]:
    profile = session.profile(by=["r"], columns=["x"], most_rows=50).answer(epsilon=1, key=key)
    yield [plain(answer) for answer in released_tables(mechanism_of(session), profile.release_id)]


def synthesised(session: Session, key: str | None) -> Iterator[Any]:
    """The model: rows are drawn from it anew each time."""
    table = gt.synth.synthesize(session, columns=["r", "z", "y"], bins={"y": 3}, **FIT, key=key)
    yield plain([table.marginal("r", "z"), table.marginal("y")])


DECLARED = "SELECT r, COUNT(*) AS n FROM data GROUP BY r"
DISCOVERED = "SELECT q, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY q"
FIT: Any = {"epsilon": 5, "delta": "1e-6"}
CASES: dict[str, Purchase] = {  # by the kind of the request, and what is special about it
    "query": answered(lambda s: s.sql(DECLARED), epsilon=1),
    "query, discovered groups": answered(lambda s: s.sql(DISCOVERED), epsilon=1, delta="1e-6"),
    "query, stream": streamed,
    "query, part": answered(lambda s: s.partition("r")["south"].sql("SELECT SUM(x) AS a FROM data"), epsilon=1),
    "batch": answered(lambda s: s.batch([DECLARED, DISCOVERED]), epsilon=1, delta="1e-6"),
    "refinement": refined,
    "workload": answered(lambda s: s.workload(gt.workload.marginals(["r", "z"])), epsilon=1),
    "counter": counted,
    "profile": profiled,
    "weights": weighed,
    "fit": fitted(lambda s, key: gt.learn.LogisticRegression("z", ["x", "y"], **FIT).fit(s, key=key)),
    "fit, moments": fitted(lambda s, key: gt.learn.moments(s, ["x", "y"], **FIT, key=key)),
    "fit, descent": fitted(lambda s, key: gt.learn.sgd(s, "z", ["x", "y"], **FIT, steps=3, n=120, key=key)),
    "fit, output perturbation": fitted(
        lambda s, key: gt.learn.output_perturbation(s, "z", ["x", "y"], regularisation=10, passes=2, **FIT, key=key)
    ),
    "synthesis": synthesised,
}


def plain(release: Any) -> Any:
    """The numbers and groups of a release, as JSON; not its notes, which say whether it was paid for just now."""
    if isinstance(release, list):
        return [plain(answer) for answer in release]
    document = json.loads(release.to_json())
    for notes in (document, document.get("provenance", {})):
        notes.pop("notes", None)
    return document


# -- dying ------------------------------------------------------------------------------------------------------------


class Facts:
    """What a process says in memory that it shares, since it may die at any moment."""

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, 3)

    def note(self, call: str, label: str) -> None:
        """Count questions about rows, and stores; and remember whether rows were read since the last store."""
        if (call, label) == (ROWS, "called"):
            self._bytes[0], self._bytes[1] = min(self.rows_read + 1, 255), 1
        elif call in {"keep", "settle"} and label == "returned":
            self._bytes[1], self._bytes[2] = 0, min(self.stores + 1, 255)

    def begin_again(self) -> None:
        """Count questions about rows from now on."""
        self._bytes[0] = 0

    @property
    def rows_read(self) -> int:
        return self._bytes[0]

    @property
    def has_drawn(self) -> bool:
        return bool(self._bytes[1])

    @property
    def stores(self) -> int:
        return self._bytes[2]


@dataclass
class Moments:
    """The moments that a process passes, each named by the call that it is in; at one of them it may die."""

    death: Moment | None = None
    facts: Facts = field(default_factory=Facts)
    passed: Counter[str] = field(default_factory=Counter)
    calls: list[str] = field(default_factory=lambda: ["session"])

    def at(self, label: str) -> None:
        name = f"{self.calls[-1]}: {label}"
        self.facts.note(self.calls[-1], label)
        self.passed[name] += 1
        if self.death == (name, self.passed[name]):
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(self, call: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watching(*positional: Any, **named: Any) -> Any:
            self.calls.append(call)
            try:
                self.at("called")
                outcome = function(*positional, **named)
                self.at("returned")
            finally:
                self.calls.pop()
            return outcome

        return watching

    def begin(self) -> None:
        """Watch everything from now on, until this process ends."""
        for owner, names in WATCHED:
            for name in names:
                call = {DuckDBEngine: ROWS, os: f"{self.calls[-1]}, {name}"}.get(owner, name)
                setattr(owner, name, self.watched(call, getattr(owner, name)))
        (opened.__kwdefaults__ or {})["at"] = self.at


# -- buying -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shop:
    """A table with a ledger of its own, of which every level has a budget, and a folder for what is released."""

    ledger: str
    folder: Path

    @classmethod
    def opened(cls, where: str, folder: Path, number: int) -> Shop:
        """A new one, with an analyst."""
        if where.startswith("postgresql://"):
            where = f"{where}{'&' if '?' in where else '?'}schema=kill_{os.getpid()}_{number}"
        else:
            where = f"{where}-{number}.ledger"
        shop = cls(where, folder / str(number))
        shop.folder.mkdir(parents=True)
        with shop.opened_ledger() as ledger:
            ledger.population("people", budget=BUDGET, unit="p", analysts="pooled")
            with shop.session(ledger):
                (dataset,) = (level for level in ledger.levels() if level.kind == "data set")
                ledger.change_budget(dataset, BUDGET, reason="every level has a budget")
            ledger.analyst(ANALYST, datasets=["data"], budget=BUDGET)
        return shop

    def opened_ledger(self) -> Ledger:
        mark = None if self.ledger.startswith("postgresql://") else f"{self.ledger}.mark"
        return gt.ledger.open(self.ledger, mark=mark)

    def session(self, ledger: Ledger) -> Session:
        domains: Any = {"x": (0, 10), "y": (0, 6), "z": ["no", "yes"], "r": ["north", "south"]}
        domains["d"] = ("2024-01-01", "2024-01-10")
        place = gt.ledger.at(ledger, population="people", spool=self.folder / "spool")
        options: Any = {"engine": {"threads": 1}, "rows_per_person": 3, "ledger": place}
        return gt.protect(
            self.folder.parent / "data.csv", unit="p", budget=BUDGET, domains=domains, name="data", **options
        )

    def buy(self, purchase: Purchase, keys: Sequence[str | None], logs: Sequence[str], moments: Moments) -> None:
        """Buy the same for each key, and write down every release once it is out."""
        with self.opened_ledger() as ledger, self.session(ledger) as session:
            for key, log in zip(keys, logs, strict=True):
                moments.facts.begin_again()
                out = os.open(self.folder / log, os.O_WRONLY | os.O_CREAT)
                for release in purchase(session.as_analyst(ANALYST), key):
                    os.write(out, json.dumps(release).encode() + b"\n")
                os.close(out)

    def released(self, log: str) -> list[bytes]:
        """What was written down."""
        path = self.folder / log
        return path.read_bytes().splitlines() if path.exists() else []

    def left(self) -> Left:
        """What was left behind; it is verified."""
        with self.opened_ledger() as ledger:
            ledger.verify()
            names = {path.name for path in (self.folder / "spool").glob("*")}
            return Left(ledger.entries(), [level.used for level in ledger.levels()], names)


@dataclass(frozen=True)
class Left:
    """What a purchase has left behind: entries of the ledger, what is used of each budget, and files beside it."""

    entries: list[Entry]
    used: list[Fraction | None]
    files: set[str]

    def contents(self, kind: str) -> list[Any]:
        return [entry.content for entry in self.entries if entry.kind == kind]

    @property
    def charges(self) -> list[int]:
        """Of each charge, how many levels paid for it."""
        return [len(content["levels"]) for content in self.contents("reserved")]

    @property
    def failures(self) -> int:
        return sum(len(self.contents(kind)) for kind in ("repeated", "failed", "defect"))

    @property
    def stores(self) -> list[Any]:
        """Draws and answers, in order."""
        return [entry.content for entry in self.entries if entry.kind in {"drawn", "settled"}]

    @property
    def unnamed_files(self) -> set[str]:
        """Files with draws that no answer names. Found groups are in the answer, and a step begun is no draw."""
        answers = json.dumps(self.contents("settled"))
        return {name for name in self.files if not (name in answers or ".begun" in name or name.endswith(".keys"))}


# -- killing ----------------------------------------------------------------------------------------------------------


def main() -> int:
    stated, found = arguments(__doc__, 200), Found()
    stated.folder.mkdir(parents=True)
    write_table(stated.folder / "data.csv")
    storage.MANY = PORTION
    shops = (Shop.opened(stated.where, stated.folder, number) for number in count())
    references = {name: reference(shops, name) for name in CASES}
    found.cases = {name: Counter(moments=moments.total()) for name, (moments, _) in references.items()}
    chosen = deaths({name: moments for name, (moments, _) in references.items()}, stated.kills, stated.seed)
    for number, (name, moment) in enumerate(chosen):
        _, expected = references[name]
        for wrong, problem in kill(next(shops), name, moment, MANNERS[number % len(MANNERS)], expected):
            found.cases[name][wrong] += 1
            found.problems.append(f"{name}, killed at {moment[0]} {moment[1]}: {wrong}: {problem}")
        found.cases[name]["kills"] += 1
        found.kills[moment[0]] += 1
    return found.told()


def write_table(path: Path) -> None:
    with path.open("w", newline="", encoding="ascii") as file:
        writer = csv.writer(file)
        writer.writerow(["p", "x", "y", "z", "r", "q", "d"])
        for row in range(240):
            words = ("no", "yes")[row // 3 % 2], ("north", "south")[row % 2], f"q{row % 3}"
            writer.writerow([row // 2, 7 * row % 11, 5 * row % 7, *words, f"2024-01-{1 + row % 10:02}"])


def reference(shops: Iterator[Shop], name: str) -> tuple[Counter[str], Left]:
    """The moments that a case passes if nobody dies, and what it leaves behind.

    It is bought here first, so that what is imported and cached for it is there when others are forked.
    """
    shop = next(shops)
    shop.buy(CASES[name], [None], ["first"], Moments())
    shop = next(shops)

    def tell() -> None:
        moments = Moments()
        buy_to_the_end(shop, name, "key", moments)
        (shop.folder / "moments").write_text(json.dumps(moments.passed), encoding="ascii")

    if forked(tell):
        raise RuntimeError(f"{name} cannot be bought")
    return Counter(json.loads((shop.folder / "moments").read_text(encoding="ascii"))), shop.left()


def buy_to_the_end(shop: Shop, name: str, key: str | None, moments: Moments) -> None:
    """Buy with noise that is the same in every such process of a case, so that all pass the same moments."""
    with recorded_system(("kill", name)):
        moments.begin()
        shop.buy(CASES[name], [key], ["dying"], moments)


def forked(function: Callable[[], None]) -> int:
    """How a forked process ends: 0 if the function returns, 3 if it raises, and -9 if it is killed."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 3
    try:
        function()
        code = 0
    except BaseException:  # noqa: BLE001 (a child)
        traceback.print_exc()
    finally:
        os._exit(code)


def deaths(moments: dict[str, Counter[str]], kills: int, seed: int) -> Iterator[tuple[str, Moment]]:
    """So many moments, of all cases in turn: at each turn one of those that were met least. All of them if 0."""
    chosen, met = random.Random(seed), Counter[str]()  # noqa: S311 (when to kill)
    left = {
        name: [(label, passing) for label, times in passed.items() for passing in range(1, times + 1)]
        for name, passed in moments.items()
    }
    while any(left.values()) and (not kills or met.total() < kills):
        for name, remaining in left.items():
            if remaining and (not kills or met.total() < kills):
                least = min(met[label] for label, _ in remaining)
                moment = chosen.choice([moment for moment in remaining if met[moment[0]] == least])
                remaining.remove(moment)
                met[moment[0]] += 1
                yield name, moment


def kill(
    shop: Shop, name: str, moment: Moment, keys: tuple[str | None, str | None], expected: Left
) -> Iterator[tuple[str, str]]:
    """Let a process die that buys a case, ask for the same twice, and yield what is lost, double, over or left."""
    dying, following = Moments(moment), Moments()
    if (ended := forked(lambda: buy_to_the_end(shop, name, keys[0], dying))) != -signal.SIGKILL:
        yield "alive", f"it ended with {ended}"
    before = shop.left()

    def ask() -> None:
        following.begin()
        shop.buy(CASES[name], [keys[1], None], ["next", "last"], following)

    if ended := forked(ask):
        yield "lost", f"who asked again ended with {ended}"
        return
    logs = [shop.released(log) for log in ("dying", "next", "last")]
    yield from Trial(expected, before, shop.left(), dying.facts, following.facts, *logs).wrongs()


@dataclass(frozen=True)
class Trial:
    """What a purchase leaves behind if nobody dies, after a death, and in the end; and what was released by whom."""

    expected: Left
    before: Left
    after: Left
    dying: Facts
    following: Facts
    released: list[bytes]
    again: list[bytes]
    last: list[bytes]

    def wrongs(self) -> Iterator[tuple[str, str]]:
        before, after, expected = self.before, self.after, self.expected
        if self.again[: len(self.released)] != self.released:
            yield "lost", "what was released is not released again"
        if after.stores[: len(before.stores)] != before.stores:
            yield "lost", "what was stored is not there any more"
        if self.last != self.again:
            yield "double", "who asks once more is answered differently"
        if self.following.rows_read:
            yield "double", "who asks once more reads rows"
        if after.charges != expected.charges:
            yield "double", f"charges of {after.charges} levels instead of {expected.charges}"
        if after.used != expected.used:
            yield "over", f"{after.used} of the budgets are used instead of {expected.used}"
        if after.failures > 1:
            yield "over", f"{after.failures} failures are counted"
        if self.dying.has_drawn and len(before.stores) == self.dying.stores and not after.failures:
            yield "over", "what was begun twice is not counted"
        if after.unnamed_files:
            yield "left", f"files that no answer names: {sorted(after.unnamed_files)}"


if __name__ == "__main__":
    sys.exit(main())
