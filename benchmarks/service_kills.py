"""Services on one ledger whose fronts, workers and clerks are killed, over and over, while clients insist on answers.

`python service_kills.py WHERE FOLDER --kills 50` prints what was found as JSON and ends with 1 if anything is wrong.
WHERE is a path or a PostgreSQL URL. Two services share the ledger; each front starts its worker and its clerk as it
always does, but that these are forked from a process which has imported everything, and live 1 s of CPU earlier.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import random
import select
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from giveortake import ledger as ledgers
from giveortake.errors import LedgerError
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.server import pool, worker
from giveortake.server.running import running
from giveortake.server.settings import Settings
from giveortake.session.configuration import from_toml

if TYPE_CHECKING:
    from collections.abc import Callable

FRONTS = 2
CLIENTS = 4  # two and two are one analyst, and race for the last unit
TRIED = 4  # questions of each client before its analyst gets another budget
AFFORDED = 6  # of the eight that two clients ask
EPSILON = Fraction(1, 1000)
EVERY = 40  # entries from one checkpoint to the next, so that kills meet many
LONGEST = 60.0  # seconds without an answer after which something hangs
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


@dataclass
class Found:
    """What was killed, and what was left behind."""

    kills: Counter[str] = field(default_factory=Counter)
    charges: int = 0
    releases: int = 0
    refused: int = 0
    insisted: int = 0
    problems: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for heavy in ("giveortake.server.session_desk", "giveortake.server.ledger_desk", "duckdb", "polars"):
        import_module(heavy)
    if arguments.where.startswith("postgresql://"):
        import_module("giveortake.ledger.postgres")
    (opened.__kwdefaults__ or {})["every"] = EVERY
    started, found = time.monotonic(), Found()
    chosen = random.Random(arguments.seed)  # noqa: S311 (when to kill)
    settings = prepared(arguments.where, arguments.folder)
    kill_services(settings, arguments.folder, arguments.kills, chosen, found)
    check(settings, arguments.folder, found)
    document = {
        "kills": sum(found.kills.values()),
        "by kind": found.kills,
        "charges": found.charges,
        "releases": found.releases,
        "refused": found.refused,
        "insisted": found.insisted,
        "seconds": round(time.monotonic() - started, 1),
        "problems": found.problems,
    }
    sys.stdout.write(json.dumps(document) + "\n")
    return 1 if found.problems else 0


def prepared(where: str, folder: Path) -> Settings:
    """The bundled table, registered in the ledger."""
    folder.mkdir(parents=True)
    with as_file(files("giveortake").joinpath("data", "visits.csv")) as path:
        (folder / "visits.csv").write_bytes(path.read_bytes())
    toml = folder / "giveortake.toml"
    mark = "" if where.startswith("postgresql://") else f"mark = {json.dumps(str(folder / 'mark'))}"
    toml.write_text(TOML.format(ledger=json.dumps(where), mark=mark), encoding="utf-8")
    with from_toml(toml):
        pass
    limits: dict[str, Any] = {
        "requests_per_second": 1e6,
        "burst": 1e6,
        "in_flight": 64,
        "address_space": None,
        "spares": 0,
    }
    return replace(Settings.read(toml, port=0), workers=1, clerks=1, **limits)


# -- killing -----------------------------------------------------------------------------------------------------


def kill_services(settings: Settings, folder: Path, kills: int, chosen: random.Random, found: Found) -> None:
    """Keep two services and four clients alive until enough has died, then let the clients ask everything again."""
    fronts = {name: begun(front, settings, folder / f"front-{name}") for name in range(FRONTS)}
    clients = [begun(client, settings, folder, number) for number in range(CLIENTS)]
    while sum(found.kills.values()) < kills and not found.problems:
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


def begun(what: Callable[..., None], *arguments: Any) -> int:
    """A child that does something, and ends."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        what(*arguments)
        code = 0
    except pool.WorkerFailed:
        code = 1  # its first worker was killed
    except BaseException as error:  # noqa: BLE001 (a child)
        sys.stderr.write(f"{what.__name__}: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


# -- a front and its nursery -------------------------------------------------------------------------------------


def front(settings: Settings, address: Path) -> None:
    """Serve until killed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        with contextlib.suppress(OSError):  # the front is gone
            nursery(theirs)
        os._exit(0)
    theirs.close()

    async def start_worker(*_command: str, stdin: int, **_outputs: int) -> Process:
        socket.send_fds(ours, [b"."], [stdin])
        return Process(int(ours.recv(64)))

    vars(asyncio)["create_subprocess_exec"] = start_worker  # instead of spawning it

    async def serve() -> None:
        async with running(settings) as (where, _):
            written = Path(tempfile.mktemp(dir=address.parent))  # noqa: S306 (our own folder)
            written.write_text(where)
            written.rename(address)
            await asyncio.Event().wait()

    asyncio.run(serve())


def nursery(asked: socket.socket) -> None:
    """Fork a worker for each socket that comes, until the front is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, given, _, _ = socket.recv_fds(asked, 1, 1)
        if not given:
            return
        pid = os.fork()
        if not pid:
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(given[0], 0)
            os.close(given[0])
            os._exit(worker.main())
        os.close(given[0])
        asked.send(str(pid).encode())


class Process:
    """What a pool asks of the process of a worker, for one that is somebody else's child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._watched = os.pidfd_open(pid)
        except ProcessLookupError:  # killed already
            self._watched = -1

    @property
    def returncode(self) -> int | None:
        if self._watched < 0 or select.select([self._watched], [], [], 0)[0]:
            return -signal.SIGKILL
        return None

    def kill(self) -> None:
        if self.returncode is None:
            signal.pidfd_send_signal(self._watched, signal.SIGKILL)

    async def wait(self) -> int | None:
        while self.returncode is None:
            await asyncio.sleep(0.002)
        if self._watched >= 0:
            os.close(self._watched)
            self._watched = -1
        return -signal.SIGKILL


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
        status, document = posted(folder / f"front-{chosen.randrange(FRONTS)}", token, body)
        if status == 200:
            return {"answer": document["columns"], "release": document["release_id"], "tries": tries}
        cause = document.get("error", {}).get("cause")
        if cause == "budget":
            return {"answer": None, "release": None, "tries": tries}
        if cause not in {None, "worker_lost", "overloaded", "busy"}:
            raise RuntimeError(f"refused: {document}")
        time.sleep(0.03)


def posted(address: Path, token: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The status of an answer and the document; 0 if nobody is there, or somebody was."""
    try:
        place = urlsplit(address.read_text())
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=LONGEST)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request("POST", "/v1/datasets/visits/answer", json.dumps(body), headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}


# -- what is left ------------------------------------------------------------------------------------------------


def check(settings: Settings, folder: Path, found: Found) -> None:
    """Every released answer is charged and kept, once; nobody spent more than their budget; the chain is whole."""
    try:
        with ledgers.open(settings.ledger, mark=settings.mark, create=False) as ledger:
            ledger.verify()
            history, standings = ledger.history(), ledger.levels()
    except LedgerError as error:
        found.problems.append(f"{type(error).__name__}: {error}")
        return
    reserved = {entry.number: entry.content for entry in history if entry.kind == "reserved"}
    settled = Counter(entry.content["reservation"] for entry in history if entry.kind == "settled")
    keys = Counter((content["analyst"], content["key"]) for content in reserved.values())
    found.problems += [f"{key} was charged {times} times" for key, times in keys.items() if times > 1]
    found.problems += [f"reservation {each} was answered {times} times" for each, times in settled.items() if times > 1]
    kept = {(reserved[each]["analyst"], reserved[each]["key"]): reserved[each]["id"] for each in settled}
    charged = Counter(content["analyst"] for content in reserved.values())
    for standing in standings:
        if standing.kind == "analyst":
            times = charged[standing.name]
            if times > AFFORDED or standing.spent != times * EPSILON:
                found.problems.append(f"{standing.name} was charged {times} times and has spent {standing.spent}")
    for log in sorted(folder.glob("client-*.jsonl")):
        for text in log.read_text(encoding="ascii").splitlines():
            line = json.loads(text)
            found.insisted += line["tries"] - 1
            if "again" in line:
                found.problems.append(f"answered otherwise when asked again: {line}")
            elif line["answer"] is None:
                found.refused += 1
                if charged[line["analyst"]] < AFFORDED:
                    found.problems.append(f"refused although there was budget: {line}")
            else:
                found.releases += 1
                if kept.get((line["analyst"], line["key"])) != line["release"]:
                    found.problems.append(f"released but not kept: {line}")
    found.charges += len(reserved)


if __name__ == "__main__":
    sys.exit(main())
