"""`giveortake serve`: a real process that announces itself, answers, and stops when it is asked to."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from giveortake import cli
from waiting import LONGEST

SMALL = """
import sys
from dataclasses import replace
from giveortake import cli
from giveortake.server import demo

usual = demo.prepared

def small(*arguments, **options):
    ready = usual(*arguments, **options)
    return replace(ready, settings=replace(ready.settings, workers=1, spares=0, clerks=1))

demo.prepared = small
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.xdist_group("service")
def test_the_demonstration_prints_two_tokens_answers_and_stops_when_what_is_under_way_is_done() -> None:
    command = [sys.executable, "-c", SMALL, "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            out, err = asked_and_stopped(process)
        finally:
            process.kill()  # one that goes on serving would be waited for
    assert (process.returncode, err) == (0, "starting…\n")
    assert "got_" not in out


def asked_and_stopped(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a service says that is asked a question, and told to stop while that is under way."""
    assert process.stdout is not None
    said = ""
    while len(re.findall(r"got_\w+", said)) < 2:
        line = process.stdout.readline()
        assert line
        said += line
    found = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert found is not None
    token = re.findall(r"got_\w+", said)[0]
    place, headers = urlsplit(found[0]).netloc, {"Authorization": f"Bearer {token}"}
    assert who(place, headers) == "ann"
    workers = [int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    engines = [each for each in workers if "duckdb" in Path(f"/proc/{each}/maps").read_text()]
    for pid in engines:
        os.kill(pid, signal.SIGSTOP)
    body = json.dumps({"sql": "SELECT COUNT(*) AS n FROM visits", "terms": {"epsilon": "0.01"}, "key": "last"})
    with closing(HTTPConnection(place, timeout=LONGEST)) as asking:
        asking.request("POST", "/v1/datasets/visits/answer", body, headers | {"Content-Type": "application/json"})
        assert who(place, headers) == "ann"  # so that the question is under way
        process.send_signal(signal.SIGTERM)
        for pid in engines:
            os.kill(pid, signal.SIGCONT)
        assert json.load(asking.getresponse())["columns"]["n"]
    return process.communicate(timeout=LONGEST)


def who(place: str, headers: dict[str, str]) -> str:
    with closing(HTTPConnection(place, timeout=LONGEST)) as connection:
        connection.request("GET", "/v1/me", headers=headers)
        return str(json.load(connection.getresponse())["analyst"])


def test_what_a_configuration_says_wrongly_is_refused_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = '[visits]\nsource = "visits.csv"\nunit = "row"\nbudget = "1"\nledger = "visits.csv.ledger"\n'
    for server in ("prot = 1", "port = -1", "workers = 0", 'address_space = "much"', "latency = { trips = 1 }"):
        (tmp_path / "giveortake.toml").write_text(f"{session}[server]\n{server}\n", encoding="utf-8")
        assert cli.main(["serve", str(tmp_path / "giveortake.toml")]) == 2
        assert server.partition(" = ")[0] in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["giveortake.toml"]


def test_a_service_needs_a_ledger_that_lasts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "giveortake.toml"
    path.write_text('[visits]\nsource = "visits.csv"\nunit = "row"\nbudget = "1"\n', encoding="utf-8")
    assert cli.main(["serve", str(path)]) == 2
    assert "ledger" in capsys.readouterr().err
    assert cli.main(["serve"]) == 2
    assert "--demo" in capsys.readouterr().err


def test_a_service_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = tmp_path / "trips.toml"
    toml.write_text(
        '[trips]\nsource = "trips.csv"\nunit = "row"\nbudget = 1\nledger = "trips.ledger"\n', encoding="utf-8"
    )
    monkeypatch.setitem(sys.modules, "giveortake.server.running", None)
    assert cli.main(["serve", str(toml)]) == 2
    assert "giveortake[server]" in capsys.readouterr().err


def test_an_address_of_another_machine_is_told_from_a_port_that_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "giveortake.toml"
    text = '[visits]\nsource = "visits.csv"\nunit = "row"\nbudget = "400"\nledger = "visits.csv.ledger"\n'
    path.write_text(text, encoding="utf-8")
    assert cli.main(["serve", str(path), "--host", "192.0.2.1"]) == 2
    told = capsys.readouterr().err
    assert "--host" in told
    assert "warning: visits: ε = 400" in told
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        assert cli.main(["serve", str(path), "--port", port]) == 2
    refused = capsys.readouterr().err
    assert port in refused
    assert "--host" not in refused


def test_a_table_in_place_of_a_configuration_is_told_from_a_misspelt_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "spend.csv"
    for content in (b"person,amount\n1,2\n", b"PAR1\xff\xfe"):
        table.write_bytes(content)
        assert cli.main(["serve", str(table)]) == 2
        assert f"giveortake init {table}" in " ".join(capsys.readouterr().err.split())
