"""The service behind the routes: its pools of workers, authentication, and the verification of its ledger."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.engines.runtime import remove_abandoned
from giveortake.errors import GiveOrTakeError
from giveortake.server.application import Metrics
from giveortake.server.guard import Logins
from giveortake.server.jobs import ENDED, Jobs, is_long
from giveortake.server.limits import Work
from giveortake.server.responses import Refusal
from giveortake.server.routes import Principal
from giveortake.server.workers.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.routes import Call
    from giveortake.server.settings import Settings
    from giveortake.server.workers.pool import Worker

TOKEN_TTL = 0.5  # seconds for which a token that was let in is not looked up again: it is revoked within a second
_REMEMBERED = 3600.0  # seconds for which an address that sends wrong tokens does not disturb one that was let in
_BUSY = frozenset(
    {"busy", "overloaded", "too_many", "worker_lost", "deadline"}
)  # of ledger workers, which are asked again
_MOST_PROBLEMS = 100  # that are reported
_PROBE_TTL = 1.0  # seconds for which the ledger is not tried again
_WRITABLE = "the ledger and its mark need a disk with room that the user of the service may write to"
_A_DAY = 86_400.0  # seconds for one step, which takes about one
_PAUSE = 0.2  # seconds until then


State: TypeAlias = Literal["none", "running", "holds", "failed"]


@final
class Unready(GiveOrTakeError):
    """The service cannot be started: no charge could be written."""


@final
@dataclass(slots=True)
class LedgerCheck:
    """The check of a ledger that runs now, or the last one.

    It has no deadline of a request and takes no worker from others. Whoever asks while it runs joins it; nobody
    who leaves ends it.
    """

    settings: Settings
    on_loss: Callable[[str], None]
    on_problem: Callable[[str], None]
    state: State = "none"
    checked: int = 0
    entries: int = 0
    result: dict[str, Any] | None = None
    _running: asyncio.Task[dict[str, Any]] | None = field(default=None, repr=False)

    def progress(self) -> dict[str, Any]:
        """How far it is, and what the last one found."""
        return {"state": self.state, "checked": self.checked, "entries": self.entries, "result": self.result}

    async def run(self, patience: float | None = None) -> dict[str, Any] | None:
        """Begin a check, or join the one that runs; return what it finds, or None if `patience` ends before that."""
        if self._running is None or self._running.done():
            self.state, self.checked, self.entries, self.result = "running", 0, 0, None
            self._running = asyncio.ensure_future(self._run())
            self._running.add_done_callback(self._ended)
        await asyncio.wait({self._running}, timeout=patience)
        return await self._running if self._running.done() else None

    async def _run(self) -> dict[str, Any]:
        pool = Pool("check", self.settings.ledger_task, 1, 0, _A_DAY, on_loss=self.on_loss, on_problem=self.on_problem)
        try:
            await pool.open()
            while True:
                document, _ = await pool.ask("check")
                self.checked, self.entries = document["checked"], document["entries"]
                if "result" in document:
                    self.result = dict(document["result"])
                    return self.result
        finally:
            await pool.close()

    def _ended(self, running: asyncio.Task[dict[str, Any]]) -> None:
        failed = running.cancelled() or running.exception() is not None
        self.state = "failed" if failed else "holds"

    async def close(self) -> None:
        """End the check that runs."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._running


@final
@dataclass(slots=True)
class Service:
    """Everything that routes need. It holds no row, no ledger, and no secret but the tokens of browsers logged in."""

    settings: Settings
    ledger_workers: Pool
    pools: dict[str, Pool]
    metrics: Metrics = field(default_factory=Metrics)
    logins: Logins = field(default_factory=Logins, repr=False)
    draining: bool = False
    adding: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)  # of whoever adds a data set
    warn: Callable[[str], None] = lambda _words: None  # called once for each problem, in words for the custodian
    check: LedgerCheck = field(init=False)
    jobs: Jobs = field(init=False)
    _problems: set[str] = field(default_factory=set, repr=False)
    _tables: Pool | None = None  # who reads headers of files, once somebody wants to know
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _token_cache: dict[str, tuple[Principal, float]] = field(default_factory=dict, repr=False)
    _lookups: dict[str, asyncio.Future[Principal | None]] = field(default_factory=dict, repr=False)
    _expiries: int = 0
    _probe: tuple[asyncio.Future[bool] | None, float] = None, 0.0

    def __post_init__(self) -> None:
        self.check = LedgerCheck(self.settings, self.metrics.lose, self.report_problem)
        self.jobs = Jobs(self.settings, self.metrics.lose, self._count_failure)

    @classmethod
    def from_settings(cls, settings: Settings) -> Service:
        """A service as it is configured; nothing is started yet."""
        metrics = Metrics()
        task, seconds = settings.ledger_task, settings.seconds
        ledger_workers = Pool("ledger", task, settings.clerks, 0, seconds, on_loss=metrics.lose)
        pools = {name: _pool(settings, name, metrics) for name in settings.datasets}
        service = cls(settings, ledger_workers, pools, metrics)
        for pool in (ledger_workers, *pools.values()):
            pool.on_problem = service.report_problem
        return service

    def report_problem(self, words: str) -> None:
        """Tell whoever runs the service, once, why it cannot be used as it should."""
        if words not in self._problems and len(self._problems) < _MOST_PROBLEMS:
            self._problems.add(words)
            self.warn(words)

    async def open(self) -> None:
        """Start the workers, which register the data sets, and then those of the ledger, which has to exist."""
        await asyncio.to_thread(remove_abandoned)  # folders of workers of a front that was killed
        for pool in self.pools.values():  # one after the other: who is first registers
            await pool.open()
        await self.ledger_workers.open()
        try:
            await self.ledger_workers.ask("probe")
        except Refusal as refused:
            raise Unready(refused.why or refused.cause.message or refused.cause.name, hint=_WRITABLE) from None

    async def add(self, name: str, first: Worker) -> None:
        """Serve one more data set of the configuration, beginning with a worker that has opened it."""
        pool = _pool(self.settings, name, self.metrics)
        pool.on_problem = self.report_problem
        await pool.open(first)
        self.pools[name] = pool
        self.expire_tokens()  # custodians may ask it at once

    async def close(self) -> None:
        """End all processes."""
        await self.check.close()
        await self.jobs.close()
        tables = () if self._tables is None else (self._tables,)
        await asyncio.gather(*(pool.close() for pool in (self.ledger_workers, *self.pools.values(), *tables)))

    @property
    def is_ready(self) -> bool:
        """Whether every data set has a worker, and so has the ledger."""
        return not self.draining and all(pool.is_ready for pool in (self.ledger_workers, *self.pools.values()))

    async def ready(self) -> bool:
        """Whether questions can be asked: the service is ready, and the ledger was written to less than a second ago.

        However many ask, one worker writes at most once a second.
        """
        if not self.is_ready:
            return False
        probe, at = self._probe
        if probe is None or (probe.done() and time.monotonic() > at + _PROBE_TTL):
            probe = asyncio.ensure_future(self._writable())
            self._probe = probe, time.monotonic()
        return await asyncio.shield(probe)

    async def _writable(self) -> bool:
        try:
            await self.ledger_workers.ask("probe")
        except Refusal:  # the pool has told why
            return False
        return True

    # -- who asks -----------------------------------------------------------------------------------------------

    async def authenticate(self, token: str, address: str = "") -> Principal | None:
        """Whom a token lets in; the result is kept for half a second, so a revocation holds within one.

        The first look at a token waits in a queue of its address, apart from tokens that were let in before.
        """
        name = hashlib.sha256(token.encode()).hexdigest()
        cached = self._token_cache.get(name)
        if cached is not None and time.monotonic() < cached[1] + TOKEN_TTL:
            return cached[0]
        lookup, expiries = self._lookups.get(name), self._expiries
        if lookup is None:
            lookup = self._lookups[name] = asyncio.ensure_future(
                self._look_up(token, Work("" if cached is not None or not address else f"address {address}"))
            )
            lookup.add_done_callback(lambda done: self._forget_lookup(name, done))
        principal = await asyncio.shield(lookup)
        if principal is None:
            self._token_cache.pop(name, None)
        else:
            is_stale = expiries != self._expiries  # it may have been revoked since a ledger worker looked
            self._token_cache[name] = (principal, time.monotonic() - (TOKEN_TTL if is_stale else 0))
            self._forget()
        return principal

    def _forget_lookup(self, name: str, lookup: asyncio.Future[Principal | None]) -> None:
        if self._lookups.get(name) is lookup:
            del self._lookups[name]

    def was_let_in(self, token: str) -> bool:
        """Whether a token was valid within the last hour."""
        return self._lately(token) is not None

    def was_custodian(self, token: str) -> bool:
        """Whether a token was a custodian's within the last hour: they are told why nobody can be let in now."""
        principal = self._lately(token)
        return principal is not None and principal.role == "custodian"

    def _lately(self, token: str) -> Principal | None:
        """Whom a token let in within the last hour."""
        principal, at = self._token_cache.get(hashlib.sha256(token.encode()).hexdigest(), (None, 0.0))
        return principal if time.monotonic() < at + _REMEMBERED else None

    def expire_tokens(self) -> None:
        """Look up every token again from now on: rights may have changed."""
        self._token_cache = {name: (principal, at - TOKEN_TTL) for name, (principal, at) in self._token_cache.items()}
        self._lookups.clear()  # nobody who comes now learns the result of an earlier one
        self._expiries += 1

    async def _look_up(self, token: str, work: Work) -> Principal | None:
        document, _ = await self.ledger_workers.ask("authenticate", work=work, token=token, datasets=list(self.pools))
        fields = document["principal"]
        if fields is None:
            return None
        return Principal(**{**fields, "datasets": tuple(fields["datasets"])})

    def _forget(self) -> None:
        if len(self._token_cache) > 10_000:
            now = time.monotonic()
            self._token_cache = {name: entry for name, entry in self._token_cache.items() if now < entry[1] + TOKEN_TTL}

    # -- asking workers -----------------------------------------------------------------------------------------

    async def ask(self, call: Call, operation: str, *, slow: bool = False, **arguments: Any) -> dict[str, Any]:
        """Ask a worker of the data set in the path, and return its reply."""
        document, _ = await self.ask_for_bytes(call, operation, slow=slow, **arguments)
        return document

    async def ask_for_bytes(
        self, call: Call, operation: str, *, slow: bool = False, **arguments: Any
    ) -> tuple[dict[str, Any], bytes]:
        """Ask a worker as `ask` does, and return its reply with the file that comes with it, if any.

        Guarantee: whoever is told of a deadline, of a lost worker or of an error of ours after a charge has had that
        counted as a failure, durably, before. What may charge has a key, by which a ledger worker finds the charge.
        """
        name = call.path["dataset"]
        if name not in call.who.datasets:  # absent and forbidden are one and the same, however long one looks
            raise Refusal("not_found")
        analyst, key, started = call.who.analyst, arguments.get("key"), datetime.now(UTC)
        advanced = arguments["release"] if operation == "advance" else None
        if is_long(arguments):
            request = {"operation": operation, "analyst": analyst, "face": call.face, **arguments}
            sent = await self.jobs.ask(name, call.who.caller, request)
            return ({"pending": sent}, b"") if isinstance(sent, int) else sent
        try:
            return await self.pools[name].ask(
                operation, work=call.work, slow=slow, analyst=analyst, face=call.face, **arguments
            )
        except Refusal as refused:
            if (key is not None or advanced is not None) and refused.cause.name in ENDED:
                # Written even if nobody waits any more; the pool has kept the pace.
                await asyncio.shield(
                    self._count_failure(analyst, key, started, release=advanced, defect=refused.defect)
                )
            raise

    async def _count_failure(
        self,
        analyst: str | None,
        key: str | None,
        started: datetime,
        *,
        release: str | None = None,
        defect: bool,
    ) -> None:
        """Record that what has a key, or is released in steps, failed; retry until a ledger worker has written it."""
        while True:
            try:
                await self.ledger_workers.ask(
                    "fail", analyst=analyst, key=key, release=release, since=started.isoformat(), defect=defect
                )
            except Refusal as refused:
                if refused.cause.name not in _BUSY:
                    raise
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def ask_ledger(self, call: Call, operation: str, *, slow: bool = False, **arguments: Any) -> dict[str, Any]:
        """Ask a ledger worker, and return the reply; what it writes names the token that did it."""
        caller = {"by": f"token {call.who.token}", "analyst": call.who.analyst, "face": call.face}
        document, _ = await self.ledger_workers.ask(operation, work=call.work, slow=slow, **caller, **arguments)
        return document

    async def ask_tables(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Ask the process that looks at files, which is started when it is first needed."""
        async with self._opening:
            if self._tables is None:
                settings = self.settings
                pool = Pool("tables", settings.table_task, 1, 0, settings.seconds, on_loss=self.metrics.lose)
                await pool.open()
                self._tables = pool
        document, _ = await self._tables.ask(operation, **arguments)
        return document


def _pool(settings: Settings, name: str, metrics: Metrics) -> Pool:
    """Workers of one data set."""
    return Pool(
        name,
        settings.session_task(name),
        settings.workers,
        settings.spares,
        settings.seconds,
        settings.waiting,
        on_loss=metrics.lose,
        pace=settings.latency.get(name),
    )
