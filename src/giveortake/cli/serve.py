"""`giveortake serve`: analysts ask over HTTP; this process and those it starts stay beside the data."""

from __future__ import annotations

import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.cli.session_options import weakness
from giveortake.cli.shell import Command, number, report, terminal
from giveortake.configuration import configurations
from giveortake.errors import GiveOrTakeError, NotFound, extra

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import Console

    from giveortake.server.settings import Settings


def run(arguments: argparse.Namespace) -> int:
    """Serve what a TOML file describes, or the bundled table, until Ctrl-C."""
    out = terminal()
    if arguments.demo == (arguments.file is not None):
        raise GiveOrTakeError("either a TOML file or --demo is served", hint="giveortake serve --demo")
    if arguments.demo:
        return _demo(arguments, out)
    from giveortake.server.settings import Settings  # noqa: PLC0415 (for this command alone)

    service = Settings.read(arguments.file, **_overrides(arguments))

    def announce(address: str) -> None:
        out.print(f"serving {', '.join(service.datasets)} at {address}", markup=False)  # last on its line, for programs
        out.print(f"tokens: giveortake admin token issue --ledger {service.ledger}", soft_wrap=True, markup=False)
        if not is_local(service.host):
            out.print("[yellow]over plain HTTP others can read tokens on the way, and browsers keep none:[/]")
            out.print("put a proxy with TLS before it", markup=False)

    for section in configurations(arguments.file).values():
        if (weak := weakness(section.settings["budget"])) is not None:
            report(f"warning: {section.name}: {weak}\n")
    _serve(service, announce)
    return 0


def _serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until Ctrl-C."""
    try:
        from giveortake.server.running import serve  # noqa: PLC0415 (an extra, which may not be installed)
        from giveortake.server.workers.pool import WorkerFailed  # noqa: PLC0415 (as above)
    except ImportError as error:
        raise NotFound(f"a service needs {error.name}", hint=extra("server")) from None

    report("starting…\n")
    try:
        serve(settings, announce=announce)
    except WorkerFailed as error:
        raise WorkerFailed(error.message, hint=f"Ctrl-C ends workers that are starting; else: {error.hint}") from None


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0"), is_local("data.example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _demo(arguments: argparse.Namespace, out: Console) -> int:
    from giveortake.server import demo  # noqa: PLC0415 (as above)

    with tempfile.TemporaryDirectory(prefix="giveortake-demo-") as folder:
        service = demo.prepared(Path(folder), **_overrides(arguments))

        def announce(address: str) -> None:
            out.print(f"[bold]{address}[/]  serves the bundled table `visits` until Ctrl-C; then all of it is gone")
            out.print("Open it in a browser and paste one of these tokens:")
            for role, token in ((f"analyst {demo.ANALYST}", service.analyst), ("custodian", service.custodian)):
                out.print(f"  {role:<12} {token}", soft_wrap=True, markup=False)

        _serve(service.settings, announce)
    return 0


def _overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    options = {"host": arguments.host, "port": arguments.port}
    return {name: value for name, value in options.items() if value is not None}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="TOML", help="the data sets, and perhaps a section [server]")
    parser.add_argument("--demo", action="store_true", help="serve the bundled table, with a token for each role")
    parser.add_argument("--host", metavar="H", help="the address to listen at; 127.0.0.1 unless stated")
    parser.add_argument("--port", metavar="P", type=number, help="the port; 8431 unless stated, 0 for a free one")


COMMAND = Command(
    summary="answer many analysts over HTTP, within one budget",
    description="Serve data sets over HTTP: tokens say who asks, and nobody sees a row.",
    examples=("giveortake serve --demo", "giveortake serve giveortake.toml --port 8431"),
    add_arguments=_add_arguments,
    run=run,
)
