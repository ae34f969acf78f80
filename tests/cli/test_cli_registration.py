"""What commands say of a table: who is protected, by options or a configuration. A refusal registers nothing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from trips import COUNT, PROTECTED, ROWS, TOML, folder, query

from giveortake import cli


def test_a_toml_file_says_who_is_protected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--confidence", "0.9"]) == 0
    assert "intervals hold with 90 % each" in capsys.readouterr().out
    assert (folder / "trips.toml.ledger").exists()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--unit", "row"]) == 2
    assert "--unit = 'row' is already set in trips.toml" in capsys.readouterr().err


def test_a_table_has_one_budget_whether_it_is_named_by_its_file_or_by_a_configuration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.6") == 0
    capsys.readouterr()
    for command in ("query", "quote"):
        assert cli.main([command, "trips.toml", COUNT, "--epsilon", "0.6"]) == 2
        assert 'hint: write ledger = "trips.csv.ledger" there' in capsys.readouterr().err
    assert not (folder / "trips.toml.ledger").exists()
    (folder / "trips.toml").write_text(TOML.replace("unit", 'ledger = "trips.csv.ledger"\nunit', 1))
    assert cli.main(["query", "trips.toml", "SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.6"]) == 2
    assert "ε of up to 0.4 would fit" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["trips.csv", "trips.toml"])
def test_an_option_names_no_second_ledger_for_a_file_that_has_one(
    folder: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.6") == 0
    said = PROTECTED if file == "trips.csv" else []
    capsys.readouterr()
    assert cli.main(["query", file, COUNT, "--epsilon", "0.6", *said, "--ledger", "others.ledger"]) == 2
    told = capsys.readouterr().err
    assert "trips.csv.ledger holds a budget of trips.csv" in told
    assert "hint: --ledger trips.csv.ledger goes on with that one" in told
    assert "owner_confirms" not in told
    assert not (folder / "others.ledger").exists()
    assert cli.main(["query", file, COUNT, "--epsilon", "0.1", *said, "--ledger", ":memory:"]) == 0


def test_a_refused_question_to_a_toml_file_registers_nothing_and_speaks_of_options(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "trips.toml").write_text(TOML.replace("unit =", 'ledger = "kept.ledger"\nunit ='))
    assert cli.main(["query", "trips.toml", COUNT]) == 2
    assert "hint: --epsilon 0.1, or --margin 50" in capsys.readouterr().err
    assert cli.main(["query", "trips.toml", COUNT.replace("region", "regoin"), "--epsilon", "0.1"]) == 2
    assert not (folder / "kept.ledger").exists()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1"]) == 0
    assert (folder / "kept.ledger").exists()


def test_a_refused_question_registers_nothing_in_a_ledger_of_other_tables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    assert query(COUNT, "--epsilon", "0.1", "--ledger", "all.ledger") == 0
    tours = ["query", "tours.csv", "--unit", "user_id", "--budget", "1", "--ledger", "all.ledger", "--epsilon", "0.1"]
    tours += ["--rows-per-person", "4"]
    mean = "SELECT AVG(amount) AS mean FROM tours"
    assert cli.main([*tours, mean]) == 2
    assert "such as --domain amount=0:500" in capsys.readouterr().err
    assert cli.main([*tours, mean, "--domain", "amount=0:50"]) == 2
    said = '--population "people of trips" says that it is; --new-population "people of tours" is your word'
    assert said in capsys.readouterr().err
    whose = ["--new-population", "people of tours"]
    assert cli.main([*tours, mean, "--domain", "amount=0:50", *whose]) == 0
    assert cli.main([*tours, mean, "--domain", "amount=0:50"]) == 0  # it was said once


def test_a_question_that_nothing_bounds_registers_nothing_and_names_the_options_that_bound_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["query", "trips.csv", COUNT, "--epsilon", "0.1", *PROTECTED[:-2]]
    assert cli.main(asked) == 2
    refused = capsys.readouterr().err
    assert "hint: --rows-per-person 10, or --groups-per-person 4, --rows-per-group 4; a TOML" in refused
    assert not (folder / "trips.csv.ledger").exists()
    for options in (["--rows-per-person", "10"], ["--groups-per-person", "4", "--rows-per-group", "4"]):
        assert cli.main([*asked, *options]) == 0
        assert "rows without a user_id are left out" in capsys.readouterr().out
    assert cli.main([*asked, "--caps", "best"]) == 2


def test_other_domains_are_asked_under_another_name_of_the_same_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4") == 0
    capsys.readouterr()
    other = ["--unit", "user_id", "--budget", "1,1e-8", "--epsilon", "0.4", "--domain", "amount=0:90"]
    other += ["--rows-per-person", "4"]
    assert cli.main(["query", "trips.csv", COUNT, *other]) == 2
    refused = capsys.readouterr().err
    assert (
        "amount: the ledger says real, 0 to 50, you said real, 0 to 90; region: the ledger says text, one of" in refused
    )
    assert '--name trips_2 --population "people of trips"' in refused
    renamed = ["--name", "trips2", "--population", "people of trips", "--ledger", "trips.csv.ledger"]
    assert cli.main(["query", "trips.csv", COUNT.replace("trips", "trips2"), *other, *renamed]) == 0
    assert "80 % of the budget is used" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "words"), [(["abc"], "--budget = 'abc'"), (["1", "--budget-delta", "2x"], "'2x'")])
def test_a_budget_that_is_none_is_named(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "trips.csv", COUNT, "--epsilon", "1", "--unit", "row", "--budget", *options]) == 2
    refused = capsys.readouterr().err
    assert refused.startswith("error: --budget")
    assert words in refused


@pytest.mark.parametrize("missing", ["--unit", "--budget"])
def test_who_is_protected_and_how_much_must_be_said(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = {"--unit": "user_id", "--budget": "1"}
    given = [word for name, value in said.items() if name != missing for word in (name, value)]
    assert cli.main(["query", "trips.csv", COUNT, "--epsilon", "1", *given]) == 2
    assert f"error: {missing} is missing" in capsys.readouterr().err


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
    assert capsys.readouterr().err.count("ε = 0.7 no longer fits") == 2
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
    assert capsys.readouterr().err.startswith("20 %")
    assert cli.main([*asked, "--domain", "amount=0:50"]) == 0
    assert capsys.readouterr().err.startswith("asked before, and free; 20 %")
    assert cli.main([*asked, "--domain", "amount=0:60"]) == 2
    assert (
        "with other domains: amount: the ledger says real, 0 to 50, you said real, 0 to 60" in capsys.readouterr().err
    )
    assert cli.main(asked) == 2  # they were declared, and are frozen now
    assert "with other domains" in capsys.readouterr().err
    assert cli.main(["ledger", "verify", "trips.csv.ledger"]) == 0
    assert cli.main(["ledger", "show", "trips.csv.ledger"]) == 0
    assert "trips: domains declared, version 2" in capsys.readouterr().out


def test_who_says_less_than_before_is_told_what_the_ledger_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "codes.csv").write_text("who,name,code,day,fee\n1,a b,1,2024-01-01,2\n")
    said = ["--unit", "who", "--budget", "1,1e-8", "--domain", "name=a b,c", "--domain", 'code="1","2"']
    said += ["--domain", "day=2024-01-01:2024-12-31", "--domain", "fee=0:2.5"]
    asked = ["query", "codes.csv", "SELECT COUNT(*) AS n FROM codes", "--epsilon", "0.1", "--rows-per-person", "1"]
    assert cli.main([*asked, *said]) == 0
    for less in ([], said[:2], said[:4]):
        capsys.readouterr()
        assert cli.main([*asked, *less]) == 2
        told = re.search("hint: say the same as before: ([^;\\n]*)", capsys.readouterr().err)
        assert told is not None
        options = shlex.split(told[1])
        assert options[:4] == said[:4]
        assert sorted(options[4:]) == sorted(said[4:])
    assert cli.main(["publish", "codes.csv.ledger", "--to", "a.duckdb"]) == 2  # which takes no caps
    assert "--rows-per-person" not in (printed := capsys.readouterr().err)
    assert "hint: say the same as before: --unit who --budget 1,1e-8 --domain" in printed


def test_what_is_told_to_say_again_can_be_pasted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "my trips.csv").write_text("a person,town\n1,x\n")
    keys = ",".join(f"town {n}" for n in range(40))
    asked = ["query", "my trips.csv", "SELECT town, COUNT(*) AS n FROM my_trips GROUP BY town", "--epsilon", "0.1"]
    said = ["--unit", "a person", "--budget", "1", "--neighbours", "change-one", "--domain", f"town={keys}"]
    caps = ["--rows-per-person", "my_trips=3", "--groups-per-person", "2"]
    assert cli.main([*asked, *said, *caps]) == 0
    first = capsys.readouterr().out
    for less in ([], ["--unit", "a person", "--budget", "2"], ["--unit", "row", "--budget", "1"]):
        assert cli.main([*asked, *less]) == 2
        told = re.search("hint: say the same as before: ([^;\\n]*)", capsys.readouterr().err)
        assert told is not None
        assert cli.main([*asked, *shlex.split(told[1])]) == 0
        assert capsys.readouterr().out.splitlines()[:2] == first.splitlines()[:2]
    assert cli.main([*asked, "--unit", "row", "--budget", "1"]) == 2
    assert "with another unit: 'a person', not single rows" in (printed := capsys.readouterr().err)
    assert "`giveortake admin budget change` changes a budget" in printed
    assert cli.main([*asked, *said[:4]]) == 2
    assert "another budget: ε = 1 under change-one, not ε = 1\n" in capsys.readouterr().err


def test_a_table_that_is_named_as_a_ledger_is_called_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["trips.csv", COUNT, "--unit", "user_id", "--budget", "1,1e-6", "--epsilon", "0.1"]
    asked += ["--rows-per-person", "1"]
    for action in ("show", "verify"):
        assert cli.main(["ledger", action, "trips.csv"]) == 2
        assert (
            "trips.csv is not a ledger\n\n  hint: there is none at trips.csv.ledger either" in capsys.readouterr().err
        )
    assert cli.main(["query", *asked, "--ledger", "trips.csv"]) == 2
    told = "--ledger = 'trips.csv' is the table itself\n\n  hint: leave it out: trips.csv.ledger, the usual ledger, is "
    assert f"{told}begun by the first question" in capsys.readouterr().err
    assert cli.main(["query", *asked]) == 0
    for line in (["show", "trips.csv"], ["verify", "trips.csv"], ["show", "trips.csv", "--mark", "none.mark"]):
        assert cli.main(["ledger", *line]) == 2
        assert "trips.csv is not a ledger\n\n  hint: did you mean trips.csv.ledger?" in capsys.readouterr().err
    for command in ("query", "quote"):
        assert cli.main([command, *asked, "--ledger", "./trips.csv"]) == 2
        assert "is the table itself" in capsys.readouterr().err
    (folder / "junk.ledger").write_text("junk")
    assert cli.main(["ledger", "show", "junk.ledger"]) == 2
    assert "has no mark here" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["query", "quote"])
@pytest.mark.parametrize("text", [COUNT, "with t as (select 1) select 2", "@weekly.sql", "-"])
def test_a_question_before_its_table_is_told_where_the_table_comes(
    command: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, text, "trips.csv", "--unit", "user_id", "--budget", "1", "--epsilon", "1"]) == 2
    printed = capsys.readouterr().err
    assert "the table comes first, and then the question" in printed
    assert f"hint: giveortake {command} trips.csv {shlex.quote(text)}" in printed
