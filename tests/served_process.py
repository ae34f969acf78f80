"""`giveortake serve` as a real process, for tests that stop it, kill it, or take something from under it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from waiting import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Served:
    """A service and where it listens."""

    process: subprocess.Popen[str]
    place: str

    def call(self, method: str, path: str, token: str | None = None, body: Any = None) -> tuple[int, Any]:
        with closing(HTTPConnection(self.place, timeout=LONGEST)) as connection:
            return self.reply(self.ask(connection, method, path, token, body))

    @staticmethod
    def ask(connection: HTTPConnection, method: str, path: str, token: str | None, body: Any) -> HTTPConnection:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection

    @staticmethod
    def reply(connection: HTTPConnection) -> tuple[int, Any]:
        response = connection.getresponse()
        return response.status, json.load(response)

    @property
    def workers(self) -> list[int]:
        """The processes that it has started."""
        return [int(pid) for pid in children(self.process.pid).split()]


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")


@contextmanager
def served(toml: Path, scratch: Path, **options: Any) -> Iterator[Served]:
    """A service of a configuration, with a temporary folder of its own."""
    command = [sys.executable, "-m", "giveortake", "serve", str(toml), "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options
    )
    with process:
        try:
            yield Served(process, urlsplit(_address(process)).netloc)
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[\d.]+:\d+", line):
            return found[0]
    raise AssertionError("the service does not start")
