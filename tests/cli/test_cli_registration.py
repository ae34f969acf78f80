"""What commands say of a table: who is protected, by options or a configuration. A refusal registers nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from trips import COUNT, PROTECTED, ROWS, TOML, folder, query

import giveortake as gt
from giveortake import cli


def test_a_toml_file_says_who_is_protected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--confidence", "0.9"]) == 0
    assert "90 %" in capsys.readouterr().out
    assert (folder / "trips.toml.ledger").exists()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--unit", "row"]) == 2
    assert "--unit" in capsys.readouterr().err


def test_a_table_has_one_budget_whether_it_is_named_by_its_file_or_by_a_configuration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.6") == 0
    capsys.readouterr()
    for command in ("query", "quote"):
        assert cli.main([command, "trips.toml", COUNT, "--epsilon", "0.6"]) == 2
        assert 'ledger = "trips.csv.ledger"' in capsys.readouterr().err
    assert not (folder / "trips.toml.ledger").exists()
    (folder / "trips.toml").write_text(TOML.replace("unit", 'ledger = "trips.csv.ledger"\nunit', 1))
    assert cli.main(["query", "trips.toml", "SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.6"]) == 2
    assert "0.4" in capsys.readouterr().err


def test_an_option_names_no_second_ledger_for_a_file_that_has_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.6") == 0
    for asked in (["trips.csv", *PROTECTED], ["trips.toml"]):
        capsys.readouterr()
        assert cli.main(["query", *asked, COUNT, "--epsilon", "0.6", "--ledger", "others.ledger"]) == 2
        assert "trips.csv.ledger" in capsys.readouterr().err
        assert not (folder / "others.ledger").exists()
        assert cli.main(["query", *asked, COUNT, "--epsilon", "0.1", "--ledger", ":memory:"]) == 0


def test_a_refused_question_to_a_toml_file_registers_nothing(folder: Path) -> None:
    (folder / "trips.toml").write_text(TOML.replace("unit =", 'ledger = "kept.ledger"\nunit ='))
    assert cli.main(["query", "trips.toml", COUNT]) == 2
    assert cli.main(["query", "trips.toml", COUNT.replace("region", "regoin"), "--epsilon", "0.1"]) == 2
    assert not (folder / "kept.ledger").exists()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1"]) == 0
    assert (folder / "kept.ledger").exists()


def test_a_refused_question_registers_nothing_in_a_ledger_of_other_tables(folder: Path) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    assert query(COUNT, "--epsilon", "0.1", "--ledger", "all.ledger") == 0
    tours = ["query", "tours.csv", "--unit", "user_id", "--budget", "1", "--ledger", "all.ledger", "--epsilon", "0.1"]
    tours += ["--rows-per-person", "4"]
    mean = "SELECT AVG(amount) AS mean FROM tours"
    before = (folder / "all.ledger").read_bytes()
    assert cli.main([*tours, mean]) == 2
    assert cli.main([*tours, mean, "--domain", "amount=0:50"]) == 2
    assert (folder / "all.ledger").read_bytes() == before
    whose = ["--new-population", "people of tours"]
    assert cli.main([*tours, mean, "--domain", "amount=0:50", *whose]) == 0
    assert cli.main([*tours, mean, "--domain", "amount=0:50"]) == 0  # it was said once


def test_a_question_that_nothing_bounds_registers_nothing_and_names_the_options_that_bound_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["query", "trips.csv", COUNT, "--epsilon", "0.1", *PROTECTED[:-2]]
    assert cli.main(asked) == 2
    assert "--rows-per-person" in capsys.readouterr().err
    assert not (folder / "trips.csv.ledger").exists()
    for options in (["--rows-per-person", "10"], ["--groups-per-person", "4", "--rows-per-group", "4"]):
        assert cli.main([*asked, *options]) == 0
        assert "user_id" in capsys.readouterr().out  # rows without one are left out
    assert cli.main([*asked, "--caps", "best"]) == 2


def test_other_domains_are_asked_under_another_name_of_the_same_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4") == 0
    capsys.readouterr()
    other = ["--unit", "user_id", "--budget", "1,1e-8", "--epsilon", "0.4", "--domain", "amount=0:90"]
    other += ["--rows-per-person", "4"]
    assert cli.main(["query", "trips.csv", COUNT, *other]) == 2
    refused = capsys.readouterr().err
    assert all(name in refused for name in ("amount", '--population "people of trips"'))
    renamed = ["--name", "trips2", "--population", "people of trips", "--ledger", "trips.csv.ledger"]
    assert cli.main(["query", "trips.csv", COUNT.replace("trips", "trips2"), *other, *renamed]) == 0
    assert "80 %" in capsys.readouterr().err


def test_a_question_for_which_too_little_is_left_registers_neither_a_table_nor_its_domains(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    whose = ["--unit", "user_id", "--budget", "1,1e-8", "--rows-per-person", "1", "--ledger", "all.ledger"]
    total = ["query", "trips.csv", "SELECT COUNT(*) AS n FROM trips", *whose]
    assert cli.main([*total, "--epsilon", "0.4"]) == 0  # without domains
    before = (folder / "all.ledger").read_bytes()
    assert cli.main([*total, "--epsilon", "0.7", "--domain", "amount=0:50"]) == 2
    tours = ["query", "tours.csv", "SELECT COUNT(*) AS n FROM tours", *whose, "--population", "people of trips"]
    assert cli.main([*tours, "--epsilon", "0.7", "--domain", "amount=0:50"]) == 2
    assert capsys.readouterr().err.count("ε = 0.7") == 2
    assert cli.main(["quote", *total[1:], "--epsilon", "0.1", "--domain", "amount=0:50"]) == 0
    assert (folder / "all.ledger").read_bytes() == before
    assert cli.main([*total, "--epsilon", "0.1", "--domain", "amount=0:60"]) == 0  # other ones than were refused
    assert cli.main([*tours, "--epsilon", "0.1", "--domain", "amount=0:60"]) == 0
    assert cli.main(["ledger", "verify", "all.ledger"]) == 0


def test_a_first_call_without_domains_freezes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    total = "SELECT COUNT(*) AS n FROM trips"
    protected = ["--unit", "user_id", "--budget", "1", "--rows-per-person", "1"]
    asked = ["query", "trips.csv", total, "--epsilon", "0.1", "--format", "csv", *protected]
    assert cli.main(asked) == 0
    first = capsys.readouterr().out
    assert cli.main(asked) == 0
    assert capsys.readouterr().out == first
    assert cli.main([*asked, "--domain", "amount=0:50"]) == 0  # of a new version: the columns hold something else
    assert "20 %" in capsys.readouterr().err
    assert cli.main([*asked, "--domain", "amount=0:50"]) == 0
    assert "20 %" in capsys.readouterr().err
    for other in (["--domain", "amount=0:60"], []):  # they were declared, and are frozen now
        assert cli.main([*asked, *other]) == 2
        assert "amount" in capsys.readouterr().err
    assert cli.main(["ledger", "verify", "trips.csv.ledger"]) == 0
    with gt.ledger.open("trips.csv.ledger") as book:
        assert [version for version, _ in book.versions("trips")] == ["1", "2"]
