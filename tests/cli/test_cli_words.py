"""What the command line says is for the command line: options, commands, files and their names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.errors import InvalidParameter, NotFound

COUNT = "SELECT COUNT(*) AS n FROM stays"
TOML = """
[stays]
source = "stays.csv"
unit = "who"
budget = { epsilon = "1" }
ledger = "books/stays.ledger"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stays.csv").write_text("who,ward\n" + "".join(f"{n},surgery\n" for n in range(50)))
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(list(arguments)) == 2
    return capsys.readouterr().err


PROTECTED = ("--unit", "who", "--budget", "1")


def test_the_hint_for_a_profile_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "query", "stays.csv", COUNT, *PROTECTED, "--epsilon", "0.1", "--caps", "best")
    assert "`giveortake profile FILE --epsilon 0.1 --most-rows N` makes one" in told
    assert "s.profile" not in told
    told = refused(capsys, "query", "stays.csv", COUNT, *PROTECTED, "--epsilon", "0.1")
    assert "session.profile" not in told
    assert "gt.protect" not in told


def test_the_examples_of_query_and_quote_run(folder: Path) -> None:
    pl.DataFrame({"id": range(50), "amount": [1.5] * 50}).write_parquet(folder / "trips.parquet")
    (folder / "trips.csv").write_text("id\n" + "\n".join(map(str, range(50))))
    (folder / "trips.toml").write_text(
        '[trips]\nsource = "trips.parquet"\nunit = "id"\nbudget = { epsilon = "9" }\nledger = "t.ledger"\n'
        "[trips.domains]\namount = { bounds = [0, 5] }\n"
    )
    (folder / "weekly.sql").write_text("SELECT COUNT(*) AS n FROM trips")
    for name in ("query", "quote"):
        for line in cli.COMMANDS[name].examples:
            assert cli.main(shlex.split(line)[1:]) == 0, line


def test_a_budget_is_changed_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["query", "stays.csv", COUNT, *PROTECTED, "--rows-per-person", "1"]
    assert cli.main([*asked, "--epsilon", "0.7"]) == 0
    told = refused(capsys, *asked, "--epsilon", "0.8")
    assert "`giveortake admin budget change`" in told
    told += refused(capsys, *asked, "--epsilon", "0.1", "--budget", "2")
    assert "ledger.change_budget" not in told
    assert "ledger.affordable" not in told


def test_a_configuration_in_the_place_of_a_ledger_is_told_apart_and_names_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "stays.toml").write_text(TOML)
    told = refused(capsys, "ledger", "show", "stays.toml")
    assert "is a TOML file; its ledger is books/stays.ledger" in told
    assert "hint: giveortake ledger show books/stays.ledger" in told
    told = refused(capsys, "admin", "dataset", "list", "--ledger", "stays.toml")
    assert "is a TOML file" in told


def test_a_hint_about_a_configuration_is_written_as_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "stays.toml").write_text(TOML.replace("books/", "") + "[stays.domains]\nward = 3\n")
    told = refused(capsys, "quote", "stays.toml", COUNT, "--epsilon", "0.1")
    assert "write bounds { bounds = [0, 500] }, categories" in told
    (folder / "stays.toml").write_text(TOML.replace("books/", "").replace('"who"', '"whom"'))
    assert 'unit = "row"' in refused(capsys, "quote", "stays.toml", COUNT, "--epsilon", "0.1")


def test_a_file_that_is_not_there_is_looked_for_under_names_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "query", "stay.csv", COUNT, *PROTECTED, "--epsilon", "0.1", "--rows-per-person", "1")
    assert "there is no file stay.csv" in told
    assert "did you mean `stays.csv`?" in told
    assert "did you mean `stays.csv`?" in refused(capsys, "init", "stay.csv", "--output", "-")
    with pytest.raises(NotFound, match="there is no file") as absent:
        gt.protect("nowhere/at/all.parquet", unit="who", budget=gt.PureDP(1))
    assert absent.value.hint is None


def test_arguments_of_protect_that_are_missing_or_misspelt_are_told_by_name() -> None:
    with pytest.raises(InvalidParameter, match="unit is missing") as refused:
        gt.protect("stays.csv", budget=gt.PureDP(1))  # type: ignore[call-arg]
    assert "gt.ROW" in str(refused.value.hint)
    with pytest.raises(InvalidParameter, match="budget is missing"):
        gt.protect("stays.csv", unit="who")  # type: ignore[call-arg]
    with pytest.raises(InvalidParameter, match="domians = <hidden> is unknown") as refused:
        gt.protect("stays.csv", unit="who", budget=gt.PureDP(1), domians={})  # type: ignore[call-arg]
    assert str(refused.value.hint).startswith("did you mean `domains`? known: source, unit, budget")


def test_what_a_newcomer_mistypes_is_told_with_the_option_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("quote", "stays.csv", "SELECT AVG(cost) AS m FROM stays", "--unit", "who", "--epsilon", "0.1")
    Path("stays.csv").write_text("who,ward,cost\n1,surgery,2\n")
    told = refused(capsys, *asked, "--budget", "1", "--domain", "cost=0-5000")
    assert "--domain = 'cost=0-5000' could be bounds or one category" in told
    assert "hint: did you mean cost=0:5000? one category stands in quotes: 'cost=\"0-5000\"'\n" in told
    told = refused(capsys, *asked, "--budget", "1", "--domain", 'cost="0-5000"')
    assert "the mean of `cost` needs numbers, and its values are text" in told
    assert "hint: its one category, '0-5000', looks like bounds: --domain cost=0:5000\n" in told
    for domain in ("cost=9-1", "cost=low,high", "cost=0-9,9-99"):
        assert "bounds" not in refused(capsys, *asked, "--budget", "1", "--domain", domain)
    told = refused(capsys, *asked, "--budget", "1", "--domain", "cost=500:0")
    assert "hint: the lower one comes first" in told
    told = refused(capsys, *asked, "--budget", "1e-6,1")
    assert "--budget = '1e-6,1' is not a budget: delta = 1 is not strictly between 0 and 1" in told
    told = refused(capsys, *asked, "--budget", "1", "--domain", "cost=0:9", "--rows-per-person", "four")
    assert "--rows-per-person = 'four' is not a whole number\n\n  hint: write a whole number, such as 10" in told
    by_ward = ("quote", "stays.csv", "SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward", *PROTECTED)
    told = refused(capsys, *by_ward, "--epsilon", "0.1", "--rows-per-person", "4")
    assert "--delta is missing" in told
    assert "hint: use a budget with a δ (--budget 1,1e-6), of which a part pays for it, or declare the domain" in told


def test_hints_name_the_column_the_option_and_the_form(capsys: pytest.CaptureFixture[str]) -> None:
    Path("stays.csv").write_text("who,ward,cost,day\n1,surgery,2,2024-01-01\n")
    asked = ("quote", "stays.csv", "SELECT AVG(cost) AS m FROM stays", "--unit", "who", "--epsilon", "0.1")
    protected = (*asked, "--budget", "1", "--rows-per-person", "4")
    for option, value, told in (
        ("--budget", "eps=1", "--budget = 'eps=1' is not a budget\n"),
        ("--budget", "epsilon=1,epsilon=2", "--budget = 'epsilon=1,epsilon=2' is not a budget\n"),
        ("--budget", "1,delta=1e-6", "--budget = '1,delta=1e-6' is not a budget\n"),
        ("--budget", "epsilon=x", "--budget = 'epsilon=x' is not a budget: epsilon = 'x' is not a number"),
        ("--domain", "cost=9:0", "hint: the lower one comes first: 0:9\n"),
        ("--domain", "day=2024-12-31:2024-01-01", "--domain day = (2024-12-31, 2024-01-01) has its lower bound above"),
        ("--domain", "day=1.1.2024:31.12.2024", "or --domain day=2024-01-01:2024-12-31; one --domain for each column"),
        ("--unti", "who", "hint: did you mean `--unit`? `giveortake quote --help` shows"),
        ("--uni", "who", "hint: did you mean `--unit`?"),  # half of an option is none
        ("--eps", "1", "hint: did you mean `--epsilon`?"),
        ("--q", "1", "hint: `giveortake quote --help` shows"),
        ("--domain", "cost=(0,200)", "hint: bounds are written cost=0:200"),
        ("--domain", "ward=[a,b]", "categories ward=north,south"),
    ):
        assert told in refused(capsys, *protected, option, value)
    unquoted = ("quote", "stays.csv", "SELECT", "COUNT(*)", "FROM", "stays")
    assert 'hint: put the question in quotes: "SELECT' in refused(capsys, *unquoted)
    boolean = (*protected[:2], "SELECT COUNT(*) FROM stays WHERE ward = {}", *protected[3:], "--domain")
    for said, domain, told in (
        ("surgery", "ward=surgery,eyes", "hint: texts stand in single quotes: 'surgery'\n"),
        ("'a' OR ward IS NULL = 1", "cost=0:9", "hint: a truth value is compared with TRUE or FALSE: x = TRUE\n"),
    ):
        asked_for = [each.format(said) for each in boolean]
        assert told in refused(capsys, *asked_for, domain)
    Path("names.csv").write_text("patient id,ward\n1,surgery\n")
    named = ("quote", "names.csv", "SELECT COUNT(DISTINCT patient id) FROM names", "--unit", "patient id")
    told = refused(capsys, *named, "--budget", "1", "--epsilon", "0.1", "--rows-per-person", "1")
    assert 'hint: a name with blanks stands in double quotes: "patient id"\n' in told
    assert "until its domain is declared, such as --domain cost=0:500\n" in refused(capsys, *protected)
    assert cli.main([*protected, "--budget", "epsilon=1, delta=1e-6", "--domain", "cost=0:9"]) == 0
    pl.DataFrame({"who": [1], "cost": [2.0]}).write_parquet("stays.parquet")
    told = refused(capsys, "quote", "stays.parquet", *protected[2:])
    assert "hint: narrow it: CLAMP(x, lower, upper), or declare its domain, such as --domain cost=0:500\n" in told
    Path("stays.xlsx").touch()
    Path("none").mkdir()
    assert "hint: CSV files end in .csv" in refused(capsys, "quote", "stays.xlsx", *protected[2:])
    assert "hint: CSV files end in .csv" in refused(capsys, "quote", "none", *protected[2:])
    written = ("query", *protected[1:], "--domain", "cost=0:9", "--output", "nowhere/a.csv")
    assert "hint: make the folder nowhere first" in refused(capsys, *written)


def test_a_ledger_is_shown_in_narrow_terminals_and_whole_in_pipes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["query", "stays.csv", COUNT, "--unit", "who", "--budget", "1,1e-6", "--rows-per-person", "1"]
    assert cli.main([*asked, "--epsilon", "0.1"]) == 0
    add = ["analyst", "add", "ann", "--dataset", "stays", "--budget", "0.3,1e-8"]
    change = ["budget", "change", "--analyst", "ann", "--budget", "0.4", "--reason", "more"]
    for said in (add, change, ["token", "issue"]):
        capsys.readouterr()
        assert cli.main(["admin", *said, "--ledger", "stays.csv.ledger"]) == 0
        if said is change:
            assert "It has no δ any more" in " ".join(capsys.readouterr().out.split())
    told = refused(capsys, *asked, "--epsilon", "0.1", "--analyst", "zed")
    assert "the ledger has no analyst 'zed'\n\n  hint: there are ann\n" in told
    told = refused(capsys, "ledger", "backup", "stays.csv.ledger", "--to", "nowhere/monday.ledger")
    assert "lies in a folder that does not exist\n\n  hint: mkdir -p " in told
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["ledger", "show", "stays.csv.ledger"]) == 0
    narrow = capsys.readouterr().out
    assert re.search(r"population +people.*ε ≤ 0\.5$", narrow, re.MULTILINE)
    monkeypatch.delenv("COLUMNS")
    assert cli.main(["ledger", "show", "stays.csv.ledger"]) == 0
    piped = capsys.readouterr().out
    assert "stays, of the population people of stays\n" in re.sub(" +\n", "\n", piped)
    assert "…" not in piped
    assert "token       for the custodian" in piped


def test_at_the_end_of_a_budget_nothing_is_left_rather_than_an_epsilon_of_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("stays.csv", COUNT, *PROTECTED, "--rows-per-person", "1")
    assert cli.main(["query", *asked, "--epsilon", "1"]) == 0
    assert "100 % of the budget is used, nothing is left; kept in" in capsys.readouterr().err
    told = refused(capsys, "query", *asked, "--epsilon", "0.5")
    assert "hint: nothing is left; the custodian can raise the budget" in told
    with gt.protect("stays.csv", unit="who", budget=gt.PureDP(1), ledger="stays.csv.ledger") as s:
        assert "100 % of the budget is used; nothing is left" in repr(s)
        assert ">nothing</td>" in s._repr_html_()


def test_the_margin_of_a_mean_says_what_n_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("stays.csv").write_text("who,ward,cost\n1,surgery,2\n")
    asked = ("quote", "stays.csv", "SELECT AVG(cost) AS m FROM stays", *PROTECTED, "--domain", "cost=0:5000")
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "4"]) == 0
    assert "/ n (n: the rows of the group; ± " in " ".join(capsys.readouterr().out.split())


def test_what_analysts_were_given_counts_as_used_before_and_after_a_question(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("stays.csv", COUNT, "--unit", "who", "--budget", "1,1e-6", "--rows-per-person", "1", "--epsilon", "0.1")
    with gt.protect("stays.csv", unit="who", budget=gt.ApproxDP(1, "1e-6"), ledger="stays.csv.ledger"):
        pass
    with gt.ledger.open("stays.csv.ledger") as book:
        book.analyst("ann", datasets=["stays"], budget=gt.ApproxDP("0.5", "1e-7"))
    capsys.readouterr()
    assert cli.main(["quote", *asked]) == 0
    told = capsys.readouterr().out
    found = re.search(r"used so far +([\d.]+) %.*admitted[^;]*; ([\d.]+) %", told, re.DOTALL)
    assert found is not None
    used, then = map(float, found.groups())
    assert "50 % given to analysts" in told
    assert 50 <= used < then < 75
    assert cli.main(["query", *asked]) == 0
    assert f"{then:g} % of the budget is used (50 % given to analysts)" in capsys.readouterr().err
