"""Everything that can be bought is bought from a service by the same calls, and read by its id as it was."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import giveortake as gt
from cases import all_cases
from demo_service import in_a_thread
from giveortake.configuration import from_toml
from giveortake.server.settings import Settings
from giveortake.session.requests import KINDS
from tiers import tiered
from waiting import LONGEST

sys.path.insert(0, str(Path(__file__).parents[1] / "session"))
from golden_requests import DOMAINS, PUBLIC, PURCHASES, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

OF_EVERY_KIND = ["counts", "batch", "refinement", "workload", "profile", "counter", "weights", "moments", "synthesis"]


@dataclass
class Afar:
    """A service that has the table of the golden requests, and what opens its table beside it."""

    address: str
    token: str
    toml: Path


@pytest.fixture(scope="module")
def afar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Afar]:
    folder = tmp_path_factory.mktemp("afar")
    ROWS.write_parquet(folder / "data.parquet")
    PUBLIC.write_parquet(folder / "zones.parquet")
    toml = folder / "giveortake.toml"
    domains = {name: list(map(str, ends)) if name == "d" else list(ends) for name, ends in DOMAINS.items()}
    lines = [
        "[data]",
        'source = "data.parquet"',
        'unit = "p"',
        'budget = { epsilon = "10000", delta = "1e-4" }',
        "rows_per_person = 3",
        'ledger = "data.ledger"',
        'mark = "data.mark"',
        "[data.domains]",
        *(
            f"{name} = {{ bounds = {json.dumps(ends)} }}" if name in "xyd" else f"{name} = {json.dumps(ends)}"
            for name, ends in domains.items()
        ),
        "[data.public]",
        'zones = "zones.parquet"',
    ]
    toml.write_text("\n".join(lines), encoding="utf-8")
    with from_toml(toml):
        pass
    with gt.ledger.open(folder / "data.ledger", mark=folder / "data.mark") as book:
        _, token = book.issue_token(role="custodian", by="olga")
    much: Any = {"requests_per_second": 10_000.0, "burst": 10_000.0, "worker_seconds": 10_000.0, "seconds": LONGEST}
    settings = Settings.read(toml, port=0, secure_cookies=False, workers=1, spares=0, clerks=1, **much)
    with in_a_thread(settings) as (address, _service, _loop):
        yield Afar(address, token, toml)


@all_cases("name", tiered(OF_EVERY_KIND, [*PURCHASES]))
def test_whatever_is_bought_from_afar_is_what_a_session_beside_the_data_reads(afar: Afar, name: str) -> None:
    with gt.connect(afar.address, token=afar.token) as s, from_toml(afar.toml) as beside:
        before = {release.id for release in s.releases(limit=1000)}
        assert list(PURCHASES[name](s))
        releases = [release for release in s.releases(limit=1000) if release.id not in before]
        assert releases
        for release in releases:
            assert release.readable
            assert shown(s.release(release.id)) == shown(beside.release(release.id)), name


def shown(release: Any) -> Any:
    """What can be compared of a release."""
    if isinstance(release, list):
        return [shown(answer) for answer in release]
    if isinstance(release, gt.synth.SyntheticTable):
        return [(measured.columns, np.asarray(measured.counts).tolist()) for measured in release.measured]
    if hasattr(release, "stacked"):
        release = release.stacked()
    return release.to_json() if hasattr(release, "to_json") else repr(release)


def test_every_kind_of_request_was_bought() -> None:
    kinds = {"counts": "query", "moments": "fit"}
    assert {kinds.get(name, name) for name in OF_EVERY_KIND} == KINDS.keys()
