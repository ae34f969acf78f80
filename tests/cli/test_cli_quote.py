"""`giveortake quote`: what an answer would cost, without a trace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from trips import COUNT, PROTECTED, ROWS, TOML, WHOM, folder, query

import giveortake as gt
from giveortake import cli


def test_a_quote_says_what_it_costs_and_leaves_no_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(folder.iterdir())
    question = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region"
    assert cli.main(["quote", "trips.csv", question, "--epsilon", "0.1", *PROTECTED]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in ("95 %", "Laplace", "mean"))
    longer = question.replace(" FROM", ", MEDIAN(amount) AS half FROM")
    assert cli.main(["quote", "trips.csv", longer, "--epsilon", "0.1", *PROTECTED]) == 0
    assert "--mu" in capsys.readouterr().out  # a better way, as an option
    assert set(folder.iterdir()) == before


def test_after_a_profile_caps_are_compared_in_a_table_and_the_best_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["profile", "trips.csv", "--epsilon", "0.1", *WHOM]) == 0
    capsys.readouterr()
    assert cli.main(["quote", "trips.csv", "SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.1", *PROTECTED]) == 0
    told = capsys.readouterr().out
    assert "caps" in told
    assert len([line for line in told.splitlines() if line.startswith("→")]) == 1
    assert "10 %" in told


def test_a_quote_knows_what_was_spent_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4") == 0
    capsys.readouterr()
    assert cli.main(["quote", "trips.csv", COUNT, "--epsilon", "0.7", "--format", "json", *PROTECTED]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert quote["admitted"] is False
    assert (quote["remaining"]["ε"], quote["share"], quote["meter"]) == ("3/5", "7/10", "sum of ε")
    assert set(quote["margins"]) == {"n"}


def test_a_quote_finds_a_table_whose_name_is_not_that_of_its_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my-trips.csv").write_text(ROWS)
    question = ["my-trips.csv", COUNT.replace("trips", "my_trips"), "--epsilon", "0.4", *PROTECTED]
    assert cli.main(["query", *question]) == 0
    capsys.readouterr()
    assert cli.main(["quote", *question, "--format", "json"]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert (quote["paid"], quote["remaining"]["ε"], quote["more"]) == (True, "3/5", 1)


def test_a_quote_registers_nothing_in_a_ledger_of_other_tables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    assert query(COUNT, "--epsilon", "0.1", "--ledger", "all.ledger") == 0
    tours = ["quote", "tours.csv", "SELECT COUNT(*) FROM tours", "--ledger", "all.ledger", "--epsilon", "0.1"]
    before = (folder / "all.ledger").read_bytes()
    assert cli.main([*tours, *PROTECTED]) == 0
    assert "--population NAME" in " ".join(capsys.readouterr().out.split())
    (folder / "tours.toml").write_text(
        TOML.replace("trips", "tours").replace("unit =", 'ledger = "all.ledger"\nunit =', 1)
    )
    assert cli.main(["quote", "tours.toml", "SELECT COUNT(*) FROM tours", "--epsilon", "0.1"]) == 0
    assert 'population = "NAME"' in " ".join(capsys.readouterr().out.split())
    (folder / "tours.toml").unlink()
    for option in ("--population", "--new-population"):
        people = "people of trips" if option == "--population" else "people of tours"
        assert cli.main([*tours, *PROTECTED, option, people]) == 0
        assert "--population NAME" not in " ".join(capsys.readouterr().out.split())
    assert (folder / "all.ledger").read_bytes() == before
    assert cli.main(["ledger", "show", "all.ledger"]) == 0
    assert "tours" not in capsys.readouterr().out


@pytest.mark.parametrize("configured", [False, True])
def test_a_quote_of_a_new_table_knows_what_its_people_have_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], configured: bool
) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    assert query(COUNT, "--epsilon", "0.4", "--ledger", "all.ledger") == 0
    before = (folder / "all.ledger").read_bytes()
    toml = TOML.replace("trips", "tours") + '[tours.public]\nregions = "regions.csv"\n'
    said = 'ledger = "all.ledger"\npopulation = "people of trips"\n[tours.domains]'
    (folder / "tours.toml").write_text(toml.replace("[tours.domains]", said, 1))
    options = [*PROTECTED, "--ledger", "all.ledger", "--population", "people of trips"]
    where = ["tours.toml"] if configured else ["tours.csv", *options]
    asked = [*where, COUNT.replace("trips", "tours"), "--epsilon", "0.7"]
    capsys.readouterr()
    assert cli.main(["quote", *asked]) == 0
    assert re.search("used so far +40 %", capsys.readouterr().out)
    assert cli.main(["quote", *asked, "--format", "json"]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert (quote["admitted"], quote["remaining"]["ε"]) == (False, "3/5")
    assert (folder / "all.ledger").read_bytes() == before


def test_what_analysts_were_given_counts_as_used_before_and_after_a_question(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gt.protect("trips.csv", unit="user_id", budget=gt.ApproxDP(1, "1e-6"), ledger="trips.csv.ledger"):
        pass
    with gt.ledger.open("trips.csv.ledger") as book:
        book.analyst("ann", datasets=["trips"], budget=gt.ApproxDP("0.5", "1e-7"))
    asked = ["trips.csv", "SELECT COUNT(*) AS n FROM trips", "--unit", "user_id", "--budget", "1,1e-6"]
    asked += ["--rows-per-person", "1", "--epsilon", "0.1"]
    capsys.readouterr()
    assert cli.main(["quote", *asked]) == 0
    told = capsys.readouterr().out
    found = re.search(r"used so far +([\d.]+) %.*admitted[^;]*; ([\d.]+) %", told, re.DOTALL)
    assert found is not None
    used, then = map(float, found.groups())
    assert "50 % given" in told
    assert 50 <= used < then < 75
    assert cli.main(["query", *asked]) == 0
    assert f"{then:g} %" in capsys.readouterr().err
