"""Thirty-two clients, threads in several processes, all wanting the last unit of a budget at the same moment.

`python race_for_the_last_unit.py WHERE ROUNDS` prints how many won each round. A process of its own, because it forks.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import threading
from typing import TYPE_CHECKING, Any

from giveortake.errors import BudgetExceeded
from giveortake.ledger import Charge
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

if TYPE_CHECKING:
    from giveortake.ledger import Ledger

PROCESSES, THREADS = 8, 4  # in each process two threads share a ledger, and two have one each
TENTH = Laplace(10)


def main() -> int:
    where, rounds = sys.argv[1], int(sys.argv[2])
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(PROCESSES * THREADS)
    wins = context.Array("i", rounds)
    with opened(where) as ledger:
        for turn in range(rounds):  # two of three units are spent already
            ledger.population(f"people-{turn}", budget=PureDP(0.3))
            ledger.dataset(f"data-{turn}", population=f"people-{turn}")
            for _ in range(2):
                ledger.reserve(Charge(TENTH, dataset=f"data-{turn}"))
    clients = [context.Process(target=race, args=(where, rounds, gate, wins)) for _ in range(PROCESSES)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    with opened(where) as ledger:
        found = ledger.verify()
        left = [str(level.remaining) for level in ledger.levels() if level.kind == "population"]
    codes = [client.exitcode for client in clients]
    sys.stdout.write(json.dumps({"wins": wins[:], "left": left, "codes": codes, "reservations": found.reservations}))
    return 0


def race(where: str, rounds: int, gate: Any, wins: Any) -> None:
    shared, *own = (opened(where) for _ in range(THREADS - 1))
    ledgers = [shared, shared, *own]
    threads = [threading.Thread(target=run, args=(ledger, rounds, gate, wins)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(ledger: Ledger, rounds: int, gate: Any, wins: Any) -> None:
    for turn in range(rounds):
        gate.wait()
        try:
            ledger.reserve(Charge(TENTH, dataset=f"data-{turn}"))
        except BudgetExceeded:
            continue
        with wins.get_lock():
            wins[turn] += 1


if __name__ == "__main__":
    sys.exit(main())
