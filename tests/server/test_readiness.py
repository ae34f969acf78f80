"""Readiness: whether a charge could be written now, found out by writing."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import giveortake as gt
from giveortake.errors import LedgerUnavailable
from giveortake.ledger.verification import probe
from giveortake.server import demo
from giveortake.server.workers.pool import Pool
from served_process import served
from tiers import tiered
from waiting import LONGEST, until

if TYPE_CHECKING:
    from demo_service import Running
    from giveortake.server.demo import Demo

pytestmark = pytest.mark.xdist_group("service")
_DROP, _WRITES_ANYWHERE = 24, 1  # of prctl: a capability that root has


def bound_by_modes() -> None:
    """From the next program on, modes of files hold for root too."""
    ctypes.CDLL(None).prctl(_DROP, _WRITES_ANYWHERE, 0, 0, 0)


@pytest.fixture
def ready(tmp_path: Path) -> Demo:
    """A service whose ledger and mark have folders of their own."""
    found = demo.prepared(tmp_path)
    for name in ("ledger", "mark"):
        (tmp_path / f"of_{name}").mkdir()
        for file in tmp_path.glob(f"visits.{name}*"):
            file.rename(tmp_path / f"of_{name}" / file.name)
    text = found.settings.toml.read_text(encoding="utf-8")
    for name in ("ledger", "mark"):
        text = text.replace(f'"visits.{name}"', f'"of_{name}/visits.{name}"')
    found.settings.toml.write_text(f"{text}workers = 1\nspares = 0\nclerks = 1\n", encoding="utf-8")
    return found


@pytest.mark.parametrize("name", tiered(["of_mark"], ["of_ledger", "of_mark"]))
def test_a_service_does_not_start_where_it_cannot_write_and_names_the_folder(
    ready: Demo, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).chmod(0o500)
    command = [sys.executable, "-m", "giveortake", "serve", str(ready.settings.toml), "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=bound_by_modes,  # noqa: PLW1509 (no thread holds a lock that it needs)
    ) as process:
        try:
            out, err = process.communicate(timeout=LONGEST)
        finally:
            process.kill()
    assert process.returncode == 2
    assert "http://" not in out
    assert str(tmp_path / name) in err.replace("\n", "")


@pytest.mark.long
def test_a_service_is_unready_while_a_folder_is_read_only(ready: Demo, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()

    def status() -> int:
        return service.call("GET", "/health/ready")[0]

    with served(ready.settings.toml, tmp_path / "scratch", preexec_fn=bound_by_modes) as service:
        until(lambda: status() == 200, "the service is ready")
        for name in ("of_ledger", "of_mark"):
            (tmp_path / name).chmod(0o500)
            until(lambda: status() == 503, "it is unready")
            assert service.call("GET", "/health/live")[0] == 200
            (tmp_path / name).chmod(0o700)
            until(lambda: status() == 200, "it is ready again")


def test_a_service_is_unready_while_nothing_more_fits_on_the_disk(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that may not grow fail as a full disk does, when they are written."""
    monkeypatch.setattr("giveortake.server.service._PROBE_TTL", 0.0)
    (clerk,) = service.service.ledger_workers.working
    limits = resource.prlimit(clerk.process.pid, resource.RLIMIT_FSIZE)
    assert service.call(None, "GET", "/health/ready").status_code == 200
    resource.prlimit(clerk.process.pid, resource.RLIMIT_FSIZE, (1024, limits[1]))
    until(lambda: service.call(None, "GET", "/health/ready").status_code == 503, "it is unready")
    resource.prlimit(clerk.process.pid, resource.RLIMIT_FSIZE, limits)
    until(lambda: service.call(None, "GET", "/health/ready").status_code == 200, "it is ready again")
    with service.book() as book:
        book.verify()
    assert not list(service.folder.glob(".*.probe"))


def test_many_health_checks_write_no_more_than_one(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    operations, ask = [], Pool.ask

    async def counted(pool: Pool, operation: str, **arguments: Any) -> Any:
        operations.append(operation)
        return await ask(pool, operation, **arguments)

    monkeypatch.setattr(Pool, "ask", counted)
    monkeypatch.setattr(service.service, "_probe", (None, 0.0))
    monkeypatch.setattr("giveortake.server.service._PROBE_TTL", 10 * LONGEST)
    assert {service.call(None, "GET", "/health/ready").status_code for _ in range(30)} == {200}
    assert operations == ["probe"]


def test_a_ledger_in_postgres_is_probed_by_writing(server: str) -> None:
    where = f"{server}&schema=probed_{uuid4().hex[:12]}"
    with gt.ledger.open(where) as book:
        book.population("people", budget=gt.PureDP(1), unit="row")
        before = len(book.history())
        probe(book)
        assert len(book.history()) == before
        connection = book.chain.store.connected()  # type: ignore[attr-defined]
        connection.execute("SET default_transaction_read_only = on")  # as on a standby
        with pytest.raises(LedgerUnavailable):
            probe(book)
        connection.execute("SET default_transaction_read_only = off")
        probe(book)


@pytest.mark.postgres
def test_a_ledger_whose_server_is_away_is_not_writable(tmp_path: Path) -> None:
    from postgres_server import start_server  # noqa: PLC0415 (heavy)

    found = start_server(tmp_path / "postgres")
    try:
        with gt.ledger.open(f"{found.get_uri()}&schema=away") as book:
            probe(book)
            found.cleanup()
            with pytest.raises(LedgerUnavailable):
                probe(book)
    finally:
        found.cleanup()
