"""What processes of tests do to a ledger before they end or are killed; `forked` starts them."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from giveortake.errors import LedgerUnavailable
from giveortake.ledger import Charge
from giveortake.ledger import open as open_ledger
from giveortake.ledger.opening import opened
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure


def killed_at(step: str) -> Callable[[str], None]:
    """Kill this process at a labelled step."""

    def at(label: str) -> None:
        if label == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


def open_until(where: str, step: str) -> None:
    opened(where, at=killed_at(step)).population("people", budget=PureDP(1))


def write_facts(where: str, log: Path) -> None:
    """Begin a ledger, or go on with it, and write down which it is and how long."""
    with open_ledger(where) as ledger:
        ledger.population("people", budget=PureDP(1))
        report = ledger.verify()
    log.write_text(f"{report.ledger} {report.entries}", encoding="ascii")


def reserve_and_die(where: str) -> None:
    """Have the turn of a question, charge it, and be killed before it is answered."""
    with open_ledger(where) as ledger, ledger.turn(Charge(Laplace(1000), dataset="d", analyst="ann", name="q")):
        ledger.reserve(Charge(Laplace(1000), dataset="d", analyst="ann", name="q"))
        os.kill(os.getpid(), signal.SIGKILL)


def ask_together(where: str, questions: int, log: Path) -> None:
    """Two threads, each with a ledger of its own, ask the same questions, and answer what is not answered yet."""
    lines: list[str] = []

    def run() -> None:
        with open_ledger(where) as ledger:
            for number in range(questions):
                with ledger.turn(Charge(Laplace(1000), dataset="d", analyst="ann", name=f"q{number}")):
                    paid = ledger.reserve(Charge(Laplace(1000), dataset="d", analyst="ann", name=f"q{number}"))
                    if not paid.settled and not paid.fresh:
                        ledger.begin_again(paid)
                    answer = paid.answer if paid.settled else ledger.settle(paid, secrets.token_hex(8))
                lines.append(f"{number} {answer}")

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.write_text("\n".join(lines), encoding="ascii")


def fill_the_disk(where: str, log: Path) -> None:
    """Charge and answer until files may not grow any more, and then ask for something long."""
    import resource  # noqa: PLC0415 (not everywhere)

    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))
    released = 0
    with open_ledger(where) as ledger, log.open("w", encoding="ascii") as lines:
        for number in range(1000):
            try:
                ledger.settle(ledger.reserve(Charge(Laplace(10), dataset="d", key=str(number))), "x" * 500)
            except LedgerUnavailable:
                break
            released = number + 1
        try:
            ledger.reserve(Charge(Laplace(10), dataset="d", name="y" * 50_000))
        except LedgerUnavailable:
            lines.write(str(released))


def use_a_closed_folder(where: str, log: Path) -> None:
    """What somebody may do who may only read a folder: read a ledger there, and neither charge nor begin one."""
    lines = log.open("w", encoding="ascii")
    if os.getuid() == 0:  # who may write everywhere
        os.setgid(65534)
        os.setuid(65534)
    mark = f"{where}.mark"
    facts = []
    with open_ledger(where, mark=mark, read_only=True) as ledger:
        facts.append(f"{ledger.dataset('d').spent} {ledger.verify().entries}")
    for attempt in (
        lambda: open_ledger(where, mark=mark).reserve(Charge(Laplace(10), dataset="d")),
        lambda: open_ledger(Path(where).with_name("new.ledger"), mark=Path(where).with_name("new.mark")),
    ):
        try:
            attempt()
        except LedgerUnavailable:
            facts.append("refused")
    lines.write("\n".join(facts))
    lines.close()


def fork_with_open_ledgers(where: str, log: Path) -> None:
    """Charge from four children that inherit an open ledger and one in memory, and from their parent."""
    with open_ledger(where) as ledger, open_ledger(":memory:") as memory:
        for each in (ledger, memory):
            each.population("people", budget=PureDP(10))
            each.dataset("d", population="people")
            each.reserve(Charge(Pure("0.1"), dataset="d", key="before"))
        children = []
        for child in range(4):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    for number in range(5):
                        ledger.settle(ledger.reserve(Charge(Pure("0.1"), dataset="d", key=f"{child}-{number}")), number)
                    try:
                        memory.reserve(Charge(Pure("0.1"), dataset="d"))
                    except LedgerUnavailable:
                        code = 0
                finally:
                    os._exit(code)
            children.append(pid)
        for number in range(5):
            ledger.settle(ledger.reserve(Charge(Pure("0.1"), dataset="d", key=f"parent-{number}")), number)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        spent = [each.population("people").spent for each in (ledger, memory)]
        log.write_text(f"{codes} {spent[0]} {spent[1]} {ledger.verify().answers}", encoding="ascii")


def fork_while_threads_charge(where: str, log: Path) -> None:
    """Fork fifteen children that charge, one after the other, while two threads charge as well."""
    with open_ledger(where) as ledger:
        ledger.population("people", budget=PureDP(100))
        ledger.dataset("d", population="people")

        def spend() -> None:
            for _ in range(60):
                ledger.reserve(Charge(Pure("0.1"), dataset="d"))

        threads = [threading.Thread(target=spend) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = set()
        for _ in range(15):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    ledger.reserve(Charge(Pure("0.1"), dataset="d"))
                    ledger.close()
                    code = 0
                finally:
                    os._exit(code)
            codes.add(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        for thread in threads:
            thread.join()
        log.write_text(f"{codes} {ledger.verify().reservations}", encoding="ascii")
