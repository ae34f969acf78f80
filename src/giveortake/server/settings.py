"""The section `[server]` of a configuration: where the service listens, and how much it may take."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, final

from giveortake.configuration import configurations
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.ledger.discovery import MEMORY, beside

_SIZE = re.compile(r"([0-9]+)\s*(MB|GB)")
_BYTES = {"MB": 1 << 20, "GB": 1 << 30}
WRONG_TOKENS = (2.0, 60.0)  # different ones, each second and at once, that one address may send
_OF_A_QUESTION = 0.8  # of the deadline of a request: a question that is too slow fails before its worker is killed
_CONNECTIONS = ("connections", "connections_per_address")
KEYS = (
    *("host", "port", "workers", "spares", "clerks", "address_space", "seconds", "patience", "waiting", "latency"),
    *(
        "requests_per_second",
        "burst",
        "in_flight",
        "worker_seconds",
        "jobs",
        "fronts",
        "proxies",
        "log",
        "secure_cookies",
    ),
    *("folders", *_CONNECTIONS),
)


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """What `[server]` says, checked, and the data sets of the same file."""

    toml: Path
    datasets: tuple[str, ...]
    ledger: str
    mark: str | None = None
    host: str = "127.0.0.1"
    port: int = 8431
    workers: int = 2
    spares: int = 1
    clerks: int = 2
    address_space: int | None = 8 << 30
    seconds: float = 60.0
    patience: float = 10.0
    waiting: int = 64
    requests_per_second: float = 20.0
    burst: float = 60.0
    in_flight: int = 8
    worker_seconds: float = 5.0  # of one analyst's requests under way
    jobs: int = 1  # fits and syntheses at once, each in a process of its own
    connections: int = 1000
    connections_per_address: int = 100  # but for proxies
    fronts: int = 1  # services of this configuration, behind one proxy: each has its part of the limits
    latency: dict[str, float] = field(default_factory=dict)
    proxies: tuple[str, ...] = ()
    log: Path | None = None
    secure_cookies: bool = True
    folders: tuple[Path, ...] = ()  # below which tables may be added by a form
    demo: bool = False  # whether a terminal has printed the tokens: the login page then says so

    @classmethod
    def read(cls, path: str | Path, **instead: Any) -> Self:
        """Read the settings of a file; `instead` overrides them."""
        file = Path(path)
        sections = configurations(file)
        if not sections:
            raise InvalidParameter("file", file.name, "describes no data set", hint="docs/how-to-configure.md")
        ledgers = {(section.ledger, section.mark) for section in sections.values()}
        if len(ledgers) > 1 or next(iter(ledgers))[0] in {None, MEMORY}:
            raise InvalidParameter(
                "ledger",
                sorted(str(ledger) for ledger, _ in ledgers),
                "is not one lasting ledger of all data sets: tokens belong to one",
                hint='ledger = "trips.ledger" in every section; one service for each ledger',
            )
        for name, section in sections.items():
            if "analyst" in section.settings:
                raise InvalidParameter(
                    f"[{name}] analyst", section.settings["analyst"], "is said by tokens", hint="leave it out"
                )
        ((ledger, mark),) = ledgers
        fields = tomllib.loads(file.read_text(encoding="utf-8")).get("server", {})
        settings = cls(
            file.absolute(), tuple(sections), str(ledger), mark, **{**_checked(file, fields, sections), **instead}
        )
        _require_parts(settings)
        _require_time(settings)
        return settings

    @property
    def ledger_task(self) -> dict[str, Any]:
        """The task of a ledger worker."""
        return {"kind": "ledger", "ledger": self.ledger, "mark": self.mark, "address_space": self.address_space}

    @property
    def table_task(self) -> dict[str, Any]:
        """The task of the process that reads headers of files."""
        folders = [str(folder) for folder in self.folders]
        return {"kind": "tables", "toml": str(self.toml), "folders": folders, "address_space": self.address_space}

    def session_task(self, name: str) -> dict[str, Any]:
        """The task of a worker of a data set."""
        return {
            "kind": "session",
            "toml": str(self.toml),
            "name": name,
            "address_space": self.address_space,
            "seconds": min(_OF_A_QUESTION * self.seconds, 1e6),  # unless the data set says something else
            "pace": self.latency.get(name),
        }


def _checked(file: Path, fields: dict[str, Any], datasets: Any) -> dict[str, Any]:
    for name, value in fields.items():
        if name not in KEYS:
            raise InvalidParameter(
                f"[server] {name}", value, "is unknown", hint=f"{did_you_mean(name, KEYS)}known: {', '.join(KEYS)}"
            )
    checked = dict(fields)
    for name in ("port", "workers", "spares", "clerks", "waiting", "in_flight", "jobs", "fronts", *_CONNECTIONS):
        if name in fields:
            checked[name] = _number(name, fields[name], whole=True, least=0 if name in {"spares", "port"} else 1)
    for name in ("seconds", "patience", "requests_per_second", "burst", "worker_seconds"):
        if name in fields:
            checked[name] = float(_number(name, fields[name]))
    if "address_space" in fields:
        checked["address_space"] = _size(fields["address_space"])
    if "log" in fields:
        checked["log"] = Path(beside(file, str(fields["log"])))
    if "folders" in fields:
        checked["folders"] = _folders(file, fields["folders"])
    if "proxies" in fields:
        checked["proxies"] = tuple(map(str, fields["proxies"]))
    for name in fields.get("latency", {}):
        if name not in datasets:
            raise InvalidParameter("[server.latency]", name, "is not a data set", hint=f"known: {', '.join(datasets)}")
    checked["latency"] = {
        name: float(_number("latency", seconds)) for name, seconds in fields.get("latency", {}).items()
    }
    return checked


def _require_parts(settings: Settings) -> None:
    """Refuse more fronts than a limit can be divided by: each has to let at least one request through."""
    limits = {"burst": settings.burst, "in_flight": settings.in_flight, "wrong tokens": WRONG_TOKENS[1]}
    for name, most in limits.items():
        if settings.fronts > most:
            raise InvalidParameter(
                *("[server] fronts", settings.fronts, f"are more than the limit {name} = {most:g} has parts"),
                hint=f"fronts = {max(1, int(most))}",
            )


def _require_time(settings: Settings) -> None:
    """Refuse fixed times that few questions could keep: answers are written half a fixed time late.

    What takes longer than half a fixed time is written after one and a half, and half of one is left for the rest.
    """
    for name, fixed in settings.latency.items():
        if not 0 < 2 * fixed <= settings.seconds:
            raise InvalidParameter(
                *(
                    f"[server.latency] {name}",
                    fixed,
                    f"is not above 0 and at most half of {settings.seconds:g}, the deadline",
                ),
                hint=f"{name} = 2.0, or a longer [server] seconds",
            )


def _folders(file: Path, setting: Any) -> tuple[Path, ...]:
    names = setting if isinstance(setting, list) else [setting]
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidParameter("[server] folders", setting, "are not folders", hint='folders = ["incoming"]')
    folders = tuple(Path(beside(file, name)) for name in names)
    for folder in folders:
        if not folder.is_dir():
            raise InvalidParameter("[server] folders", str(folder), "is not a folder", hint="make it, or leave it out")
    return folders


def _number(name: str, value: Any, *, whole: bool = False, least: float = 0.0) -> Any:
    kinds = (int,) if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not math.isfinite(value) or value < least:
        raise InvalidParameter(f"[server] {name}", value, "is not a number of that kind", hint=f"{name} = 4")
    return value


def _size(value: Any) -> int | None:
    if value == "unlimited":
        return None
    match = _SIZE.fullmatch(str(value))
    if match is None:
        raise InvalidParameter("[server] address_space", value, "is not a size", hint='address_space = "8GB"')
    return int(match[1]) * _BYTES[match[2]]
