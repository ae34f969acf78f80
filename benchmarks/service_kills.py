"""Services on one ledger whose fronts, workers and clerks are killed, over and over, while clients insist on answers.

`python service_kills.py WHERE FOLDER --kills 50` prints what was found as JSON and ends with 1 if anything is wrong.
WHERE is a path or a PostgreSQL URL. Two services share the ledger; each front starts its worker and its clerk as it
always does, but that these are forked from a process which has imported everything, and live 1 s of CPU earlier.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from forked_fronts import LONGEST, begun, children, end, front, reply_of, warm
from giveortake import ledger as ledgers
from giveortake.configuration import from_toml
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.server.settings import Settings
from kill_findings import Found, arguments, released_lines

if TYPE_CHECKING:
    from pathlib import Path

FRONTS = 2
CLIENTS = 4  # two and two are one analyst, and race for the last unit
TRIED = 4  # questions of each client before its analyst gets another budget
AFFORDED = 6  # of the eight that two clients ask
EPSILON = Fraction(1, 1000)
EVERY = 40  # entries from one checkpoint to the next, so that kills meet many
QUESTION = "SELECT COUNT(*) AS n FROM visits WHERE amount > {}"
TOML = """\
[visits]
source = "visits.csv"
unit = "person_id"
budget = {{ epsilon = "100000" }}
ledger = {ledger}
rows_per_person = 4
{mark}

[visits.domains]
region = ["north", "east", "south", "west", "coast", "islands"]
amount = {{ bounds = [0, 500] }}
"""


def main() -> int:
    said, found = arguments(__doc__, 50), Found()
    warm(said.where)
    (opened.__kwdefaults__ or {})["every"] = EVERY
    settings = prepared(said.where, said.folder)
    kill_services(settings, said.folder, said.kills, random.Random(said.seed), found)  # noqa: S311 (when to kill)
    check(settings, said.folder, found)
    return found.told()


def prepared(where: str, folder: Path) -> Settings:
    """The bundled table, registered in the ledger."""
    settings = described(where, folder)
    with from_toml(settings.toml):
        pass
    return settings


def described(where: str, folder: Path) -> Settings:
    """The bundled table, in a configuration that has no limits to speak of."""
    folder.mkdir(parents=True)
    with as_file(files("giveortake").joinpath("data", "visits.csv")) as path:
        (folder / "visits.csv").write_bytes(path.read_bytes())
    toml = folder / "giveortake.toml"
    mark = "" if where.startswith("postgresql://") else f"mark = {json.dumps(str(folder / 'mark'))}"
    toml.write_text(TOML.format(ledger=json.dumps(where), mark=mark), encoding="utf-8")
    limits: dict[str, Any] = {
        "requests_per_second": 1e6,
        "burst": 1e6,
        "in_flight": 64,
        "worker_seconds": 1e6,
        "address_space": None,
    }
    return replace(Settings.read(toml, port=0), workers=1, clerks=1, spares=0, **limits)


# -- killing -----------------------------------------------------------------------------------------------------


def kill_services(settings: Settings, folder: Path, kills: int, chosen: random.Random, found: Found) -> None:
    """Keep two services and four clients alive until enough has died, then let the clients ask everything again."""
    fronts = {name: begun(front, settings, folder / f"front-{name}") for name in range(FRONTS)}
    clients = [begun(client, settings, folder, number) for number in range(CLIENTS)]
    while found.killed < kills and not found.problems:
        if not went_on(folder, chosen.uniform(0.01, 0.25)):
            found.problems.append("nothing is answered any more")
        name = chosen.randrange(FRONTS)
        address = folder / f"front-{name}"
        inside = [each for nursery in children(fronts[name]) for each in children(nursery)]
        if os.waitpid(fronts[name], os.WNOHANG)[0]:  # its first worker was killed before it served: it has ended
            found.kills["front, by its worker"] += 1
            fronts[name] = begun(front, settings, address)
        elif chosen.random() < 0.5:
            found.kills["front" if address.exists() else "front that starts"] += 1
            end(fronts[name])
            address.unlink(missing_ok=True)
            fronts[name] = begun(front, settings, address)
        else:
            for pid in inside:
                if chosen.random() < 0.6:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        found.kills["worker or clerk"] += 1
    (folder / "enough").touch()
    for pid in clients:
        _, status = os.waitpid(pid, 0)
        if status:
            found.problems.append(f"a client ended with status {status}")
    for pid in fronts.values():
        end(pid)


def went_on(folder: Path, seconds: float) -> bool:
    """Wait that long, and then until one more question was answered: what is killed next is doing something."""
    before, began = answered(folder), time.monotonic()
    time.sleep(seconds)
    while answered(folder) == before:
        if time.monotonic() > began + LONGEST:
            return False
        time.sleep(0.005)
    return True


def answered(folder: Path) -> int:
    return sum(log.stat().st_size for log in folder.glob("client-*.jsonl"))


# -- clients -----------------------------------------------------------------------------------------------------


def client(settings: Settings, folder: Path, number: int) -> None:
    """Ask one question after the other, each with its key until it is answered or refused; then all of them again."""
    chosen = random.Random(number)  # noqa: S311 (which front to ask)
    log = os.open(folder / f"client-{number}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with ledgers.open(settings.ledger, mark=settings.mark) as book:
        tokens: dict[str, str] = {}
        lines: list[dict[str, Any]] = []
        while not (folder / "enough").exists():
            asked = len(lines)
            analyst = f"analyst {number % 2} {asked // TRIED}"
            if analyst not in tokens:
                book.analyst(analyst, datasets=["visits"], budget=PureDP(AFFORDED * EPSILON), failures=10**6)
                tokens[analyst] = book.issue_token(role="analyst", analyst=analyst)[1]
            line: dict[str, Any] = {
                "analyst": analyst,
                "key": f"client {number}, question {asked}",
                "asked": asked * CLIENTS + number,
            }
            line |= insisted(folder, tokens[analyst], line, chosen)
            lines.append(line)
            os.write(log, json.dumps(line).encode() + b"\n")  # the answer is out
    for line in lines:
        if line["answer"] is not None:
            again = insisted(folder, tokens[line["analyst"]], line, chosen)
            if (again["answer"], again["release"]) != (line["answer"], line["release"]):
                os.write(log, json.dumps(line | again | {"again": True}).encode() + b"\n")


def insisted(folder: Path, token: str, line: dict[str, Any], chosen: random.Random) -> dict[str, Any]:
    """The answer under a key, of whichever front is there; None if there was no budget for it."""
    body = {
        "sql": QUESTION.format(line["asked"]),
        "terms": {"epsilon": str(EPSILON)},
        "key": line["key"],
    }
    tries = 0
    while True:
        tries += 1
        where = folder / f"front-{chosen.randrange(FRONTS)}"
        status, document = reply_of(where, token, "POST", "/v1/datasets/visits/answer", body)
        if status == 200:
            return {"answer": document["columns"], "release": document["release_id"], "tries": tries}
        cause = document.get("error", {}).get("cause")
        if cause == "budget":
            return {"answer": None, "release": None, "tries": tries}
        if cause not in {None, "worker_lost", "overloaded", "busy"}:
            raise RuntimeError(f"refused: {document}")
        time.sleep(0.03)


# -- what is left ------------------------------------------------------------------------------------------------


def check(settings: Settings, folder: Path, found: Found) -> None:
    """Every released answer is charged and kept, once; nobody spent more than their budget; the chain is whole."""
    left = found.left_in(partial(ledgers.open, settings.ledger, mark=settings.mark, create=False))
    if left is None:
        return
    kept, charged = left.kept(), Counter(content["analyst"] for content in left.reserved.values())
    for standing in left.levels:
        if standing.kind == "analyst":
            times = charged[standing.name]
            if times > AFFORDED or standing.spent != times * EPSILON:
                found.problems.append(f"{standing.name} was charged {times} times and has spent {standing.spent}")
    for line in released_lines(folder):
        found.more["insisted"] += line["tries"] - 1
        if "again" in line:
            found.problems.append(f"answered otherwise when asked again: {line}")
        elif line["answer"] is None:
            found.refused += 1
            if charged[line["analyst"]] < AFFORDED:
                found.problems.append(f"refused although there was budget: {line}")
        else:
            found.releases += 1
            if kept.get((line["analyst"], line["key"]), (None,))[0] != line["release"]:
                found.problems.append(f"released but not kept: {line}")


if __name__ == "__main__":
    sys.exit(main())
