"""Logins of the console: a browser's cookie names a login, and never holds the token it was begun with."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 12 * 3600.0  # seconds after which a login ends
_IDLE = 3600.0  # seconds without a request after which it ends
_MOST = 20  # logins of one token; one more ends the one that began first


@final
@dataclass(slots=True)
class _Login:
    token: str
    began: float
    seen: float


@final
@dataclass(slots=True)
class Logins:
    """The logins of one front, in memory: they end with it.

    Guarantee: a cookie lets nobody in after log-out, twelve hours after the login, or after an hour without a request.
    What it names is found by its SHA-256, and drawn from 2²⁵⁶ by the operating system.
    """

    clock: Callable[[], float] = time.monotonic
    _open: dict[str, _Login] = field(default_factory=dict, repr=False)

    def begin(self, token: str) -> str:
        """Begin a login with a valid token; return the secret for a cookie."""
        now, secret = self.clock(), secrets.token_hex(32)
        self._open = {name: login for name, login in self._open.items() if _lasts(login, now)}
        same = [name for name, login in self._open.items() if login.token == token]
        for name in same[: max(0, len(same) + 1 - _MOST)]:
            del self._open[name]
        self._open[_name(secret)] = _Login(token, now, now)
        return secret

    def token(self, secret: str) -> str | None:
        """The token of a login that still lasts, which begins to be idle now; None if there is none."""
        login, now = self._open.get(_name(secret)), self.clock()
        if login is None:
            return None
        if not _lasts(login, now):
            self.end(secret)
            return None
        login.seen = now
        return login.token

    def end(self, secret: str) -> None:
        """End a login, if there is one."""
        self._open.pop(_name(secret), None)


def _name(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _lasts(login: _Login, now: float) -> bool:
    return now < login.began + _LONGEST and now < login.seen + _IDLE
