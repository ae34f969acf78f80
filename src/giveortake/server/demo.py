"""`giveortake serve --demo`: the bundled table behind a service, with an analyst and two tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, final

from giveortake import ledger as ledgers
from giveortake.configuration import from_toml
from giveortake.privacy import ApproxDP
from giveortake.server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

_TOML = """\
[visits]
source = {source}
unit = "person_id"
budget = {{ epsilon = "4", delta = "1e-6" }}
ledger = "visits.ledger"
mark = "visits.mark"
rows_per_person = 4

[visits.domains]
region = ["north", "east", "south", "west", "coast", "islands"]
amount = {{ bounds = [0, 500] }}

[server]
folders = ["incoming"]
"""
_TRIPS = "rider,day,fare,zone\n" + "".join(
    f"{trip % 211},2024-{trip % 12 + 1:02}-{trip % 28 + 1:02},{trip * 7 % 90},{('inner', 'outer')[trip % 2]}\n"
    for trip in range(600)
)
ANALYST = "ann"


@final
@dataclass(frozen=True, slots=True)
class Demo:
    """A service that is ready to be started, and its two tokens, which are shown only once."""

    settings: Settings
    analyst: str
    custodian: str


def prepared(folder: Path, *, port: int = 0) -> Demo:
    """Prepare a folder with the bundled table, an analyst who may spend ε = 2 of 4, and a token for each role."""
    with as_file(files("giveortake").joinpath("data", "visits.csv")) as path:
        table = folder / "visits.csv"
        table.write_bytes(path.read_bytes())
    (folder / "incoming").mkdir()
    (folder / "incoming" / "trips.csv").write_text(_TRIPS, encoding="utf-8")  # to be added in the console
    toml = folder / "giveortake.toml"
    toml.write_text(_TOML.format(source=json.dumps(table.name)), encoding="utf-8")
    with from_toml(toml):
        pass
    with ledgers.open(folder / "visits.ledger", mark=folder / "visits.mark") as book:
        book.analyst(ANALYST, datasets=["visits"], budget=ApproxDP("2", "5e-7"))
        _, analyst = book.issue_token(role="analyst", analyst=ANALYST, by="serve --demo")
        _, custodian = book.issue_token(role="custodian", by="serve --demo")
    return Demo(Settings.read(toml, port=port, secure_cookies=False, demo=True), analyst, custodian)
