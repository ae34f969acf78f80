"""The service behind the routes: pools of workers by data set, clerks, and authentication."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, final

from giveortake.engines.runtime import remove_abandoned
from giveortake.errors import GiveOrTakeError
from giveortake.server.application import Metrics
from giveortake.server.guard import Logins
from giveortake.server.ledger_worker import LedgerCheck
from giveortake.server.limits import Work
from giveortake.server.pool import Pool
from giveortake.server.responses import Refused
from giveortake.server.routes import Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.pool import Worker
    from giveortake.server.routes import Call
    from giveortake.server.settings import Settings

BELIEVED = 0.5  # seconds for which a token that was let in is not looked up again: it is revoked within a second
_REMEMBERED = 3600.0  # seconds for which an address that sends wrong tokens does not disturb one that was let in
_ENDED = frozenset({"deadline", "worker_lost", "internal"})  # after which the worker has not said that it failed
_BUSY = frozenset({"busy", "overloaded", "too_many", "worker_lost", "deadline"})  # of clerks, who are asked again
_MOST_TROUBLES = 100  # that are told
_PROBED = 1.0  # seconds for which it is believed that the ledger can be written, or not
_WRITABLE = "the ledger and its mark need a disk with room that the user of the service may write to"
_PAUSE = 0.2  # seconds until then


@final
class Unready(GiveOrTakeError):
    """The service cannot be started: no charge could be written."""


@final
@dataclass(slots=True)
class Service:
    """Everything that routes need. It holds no row, no ledger, and no secret but the tokens of browsers logged in."""

    settings: Settings
    clerks: Pool
    pools: dict[str, Pool]
    metrics: Metrics = field(default_factory=Metrics)
    logins: Logins = field(default_factory=Logins, repr=False)
    draining: bool = False
    adding: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)  # of whoever adds a data set
    warn: Callable[[str], None] = lambda _words: None  # told once of each trouble, in words for the custodian
    check: LedgerCheck = field(init=False)
    _troubles: set[str] = field(default_factory=set, repr=False)
    _tables: Pool | None = None  # who reads headers of files, once somebody wants to know
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _believed: dict[str, tuple[Principal, float]] = field(default_factory=dict, repr=False)
    _looking: dict[str, asyncio.Future[Principal | None]] = field(default_factory=dict, repr=False)
    _doubts: int = 0
    _probe: tuple[asyncio.Future[bool] | None, float] = None, 0.0

    def __post_init__(self) -> None:
        self.check = LedgerCheck(self.settings, self.metrics.lose, self.trouble)

    @classmethod
    def from_settings(cls, settings: Settings) -> Service:
        """A service as it is configured; nothing is started yet."""
        metrics = Metrics()
        clerks = Pool("ledger", settings.ledger_task, settings.clerks, 0, settings.seconds, on_loss=metrics.lose)
        pools = {name: _pool(settings, name, metrics) for name in settings.datasets}
        service = cls(settings, clerks, pools, metrics)
        for pool in (clerks, *pools.values()):
            pool.on_trouble = service.trouble
        return service

    def trouble(self, words: str) -> None:
        """Tell whoever runs the service, once, why it cannot be used as it should."""
        if words not in self._troubles and len(self._troubles) < _MOST_TROUBLES:
            self._troubles.add(words)
            self.warn(words)

    async def open(self) -> None:
        """Start the workers, which register the data sets, and then the clerks, who need the ledger to exist."""
        await asyncio.to_thread(remove_abandoned)  # folders of workers of a front that was killed
        for pool in self.pools.values():  # one after the other: who is first registers
            await pool.open()
        await self.clerks.open()
        try:
            await self.clerks.ask("probe")
        except Refused as refused:
            raise Unready(refused.why or refused.cause.message or refused.cause.name, hint=_WRITABLE) from None

    async def add(self, name: str, first: Worker) -> None:
        """Serve one more data set of the configuration, beginning with a worker that has opened it."""
        pool = _pool(self.settings, name, self.metrics)
        pool.on_trouble = self.trouble
        await pool.open(first)
        self.pools[name] = pool
        self.doubt()  # custodians may ask it at once

    async def close(self) -> None:
        """End all processes."""
        await self.check.close()
        tables = () if self._tables is None else (self._tables,)
        await asyncio.gather(*(pool.close() for pool in (self.clerks, *self.pools.values(), *tables)))

    @property
    def is_ready(self) -> bool:
        """Whether every data set has a worker, and the ledger a clerk."""
        return not self.draining and all(pool.is_ready for pool in (self.clerks, *self.pools.values()))

    async def ready(self) -> bool:
        """Whether questions can be asked: the service is ready, and the ledger was written to less than a second ago.

        However many ask, one clerk writes at most once a second.
        """
        if not self.is_ready:
            return False
        probe, at = self._probe
        if probe is None or (probe.done() and time.monotonic() > at + _PROBED):
            probe = asyncio.ensure_future(self._writable())
            self._probe = probe, time.monotonic()
        return await asyncio.shield(probe)

    async def _writable(self) -> bool:
        try:
            await self.clerks.ask("probe")
        except Refused:  # the pool has told why
            return False
        return True

    # -- who asks -----------------------------------------------------------------------------------------------

    async def authenticate(self, token: str, address: str = "") -> Principal | None:
        """Whom a token lets in; the result is kept for half a second, so a revocation holds within one.

        The first look at a token waits in a queue of its address, apart from tokens that were let in before.
        """
        name = hashlib.sha256(token.encode()).hexdigest()
        believed = self._believed.get(name)
        if believed is not None and time.monotonic() < believed[1] + BELIEVED:
            return believed[0]
        looking, doubts = self._looking.get(name), self._doubts
        if looking is None:
            looking = self._looking[name] = asyncio.ensure_future(
                self._look(token, Work("" if believed is not None or not address else f"address {address}"))
            )
            looking.add_done_callback(lambda done: self._looked(name, done))
        principal = await asyncio.shield(looking)
        if principal is None:
            self._believed.pop(name, None)
        else:
            doubted = doubts != self._doubts  # it may have been revoked since a clerk looked
            self._believed[name] = (principal, time.monotonic() - (BELIEVED if doubted else 0))
            self._forget()
        return principal

    def _looked(self, name: str, done: asyncio.Future[Principal | None]) -> None:
        if self._looking.get(name) is done:
            del self._looking[name]

    def was_let_in(self, token: str) -> bool:
        """Whether a token was valid within the last hour."""
        believed = self._believed.get(hashlib.sha256(token.encode()).hexdigest())
        return believed is not None and time.monotonic() < believed[1] + _REMEMBERED

    def was_custodian(self, token: str) -> bool:
        """Whether a token was a custodian's within the last hour: they are told why nobody can be let in now."""
        believed = self._believed.get(hashlib.sha256(token.encode()).hexdigest())
        return self.was_let_in(token) and believed is not None and believed[0].role == "custodian"

    def doubt(self) -> None:
        """Look up every token again from now on: rights may have changed."""
        self._believed = {name: (principal, at - BELIEVED) for name, (principal, at) in self._believed.items()}
        self._looking.clear()  # nobody who comes now is told what was found before
        self._doubts += 1

    async def _look(self, token: str, work: Work) -> Principal | None:
        document, _ = await self.clerks.ask("authenticate", work=work, token=token, datasets=list(self.pools))
        fields = document["principal"]
        if fields is None:
            return None
        return Principal(**{**fields, "datasets": tuple(fields["datasets"])})

    def _forget(self) -> None:
        if len(self._believed) > 10_000:
            now = time.monotonic()
            self._believed = {name: belief for name, belief in self._believed.items() if now < belief[1] + BELIEVED}

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
        counted as a failure, durably, before. What may charge has a key, by which a clerk finds the charge.
        """
        name = call.path["dataset"]
        if name not in call.who.datasets:  # absent and forbidden are one and the same, however long one looks
            raise Refused("not_found")
        analyst, key, started = call.who.analyst, arguments.get("key"), datetime.now(UTC)
        try:
            return await self.pools[name].ask(
                operation, work=call.work, slow=slow, analyst=analyst, face=call.face, **arguments
            )
        except Refused as refused:
            if key is not None and refused.cause.name in _ENDED:
                # Written even if nobody waits any more; the pool has kept the pace.
                await asyncio.shield(self._count_failure(analyst, key, started, defect=refused.defect))
            raise

    async def _count_failure(self, analyst: str | None, key: str, started: datetime, *, defect: bool) -> None:
        """Record that what was charged under a key failed; retry until a clerk has written it."""
        while True:
            try:
                await self.clerks.ask("fail", analyst=analyst, key=key, since=started.isoformat(), defect=defect)
            except Refused as refused:
                if refused.cause.name not in _BUSY:
                    raise
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def ask_clerk(self, call: Call, operation: str, *, slow: bool = False, **arguments: Any) -> dict[str, Any]:
        """Ask a clerk, and return the reply; what the clerk writes names the token that did it."""
        asker = {"by": f"token {call.who.token}", "analyst": call.who.analyst, "face": call.face}
        document, _ = await self.clerks.ask(operation, work=call.work, slow=slow, **asker, **arguments)
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
