"""A table or a ledger that is replaced under a running service: it goes on with what is there, or says why not."""

from __future__ import annotations

import shutil
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from demo_service import COUNT, running_demo
from giveortake.configuration import from_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")


@pytest.fixture(scope="module")
def replaced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose files are replaced: its table first, and its ledger by the last test."""
    with running_demo(tmp_path_factory.mktemp("replaced"), spares=1) as found:
        yield found


def test_a_table_that_got_a_new_version_elsewhere_is_opened_anew_by_the_next_question(replaced: Running) -> None:
    assert replaced.answer("bob", COUNT, "before", epsilon="1/10").status_code == 200
    (table,) = replaced.folder.glob("visits.csv")
    table.write_text(table.read_text() + table.read_text().splitlines()[1] + "\n")
    with from_toml(replaced.folder / "giveortake.toml") as session:
        assert session.describe().version == "2"
    for key in ("after", "later"):
        found = replaced.answer("bob", COUNT, key, epsilon="1/10")
        assert found.status_code == 200, found.text
    with replaced.book() as book:
        (bob,) = book.levels(analyst="bob")
        assert bob.spent == Fraction(1, 5)  # of both versions, since the same people are in them
    assert replaced.call(None, "GET", "/health/ready").status_code == 200


def test_why_the_ledger_cannot_be_used_is_printed_once_and_told_to_custodians_alone(
    replaced: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(replaced.folder / "visits.ledger", replaced.folder / "old")
    assert replaced.answer("bob", COUNT, "one", epsilon="1/20").status_code == 200
    assert replaced.call("custodian", "GET", "/v1/me").status_code == 200
    for name in ("visits.ledger-wal", "visits.ledger-shm"):
        (replaced.folder / name).unlink(missing_ok=True)
    (replaced.folder / "old").replace(replaced.folder / "visits.ledger")
    replaced.service.expire_tokens()  # no token is believed unseen
    told = {who: replaced.call(who, "GET", "/v1/datasets").json()["error"] for who in ("bob", "custodian", "bob")}
    assert {each["cause"] for each in told.values()} == {"ledger"}
    printed = capfd.readouterr().err
    assert told["custodian"]["message"] in printed
    assert told["custodian"]["message"] not in str(told["bob"])
    assert printed.count(f"giveortake: {told['custodian']['message']}\n") == 1
