"""What is mistyped or misplaced is refused by the name of what is wrong, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from giveortake import cli
from giveortake.errors import InvalidParameter, NotFound

MEAN = "SELECT AVG(cost) AS m FROM stays"
ASKED = ["quote", "stays.csv", MEAN, "--unit", "who", "--epsilon", "0.1", "--budget", "1", "--rows-per-person", "4"]
TOML = '[stays]\nsource = "stays.csv"\nunit = "who"\nbudget = { epsilon = "1" }\nledger = "books/stays.ledger"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stays.csv").write_text("who,ward,cost,day\n1,surgery,2,2024-01-01\n")
    pl.DataFrame({"who": [1], "cost": [2.0]}).write_parquet(tmp_path / "stays.parquet")
    (tmp_path / "names.csv").write_text("patient id,ward\n1,surgery\n")
    (tmp_path / "stays.xlsx").touch()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "stays.toml").write_text(TOML)
    return tmp_path


def question(text: str, *options: str) -> list[str]:
    return [*ASKED[:2], text, *ASKED[3:], *options]


# by what is called: what it names
REFUSED: list[tuple[list[str], tuple[str, ...]]] = [
    ([*ASKED, "--budget", "eps=1"], ("--budget",)),
    ([*ASKED, "--budget", "epsilon=1,epsilon=2"], ("--budget",)),
    ([*ASKED, "--budget", "1,delta=1e-6"], ("--budget",)),
    ([*ASKED, "--budget", "epsilon=x"], ("--budget",)),
    ([*ASKED, "--budget", "1e-6,1"], ("--budget", "delta")),
    ([*ASKED, "--domain", "cost=0-5000"], ("--domain", "cost=0:5000")),
    ([*ASKED, "--domain", 'cost="0-5000"'], ("`cost`", "cost=0:5000")),
    ([*ASKED, "--domain", "cost=9:0"], ("--domain", "0:9")),
    ([*ASKED, "--domain", "cost=(0,200)"], ("cost=0:200",)),
    ([*ASKED, "--domain", "cost=low,high"], ("cost",)),
    ([*ASKED, "--domain", "ward=[a,b]"], ("ward",)),
    ([*ASKED, "--domain", "day=2024-12-31:2024-01-01"], ("--domain", "day")),
    ([*ASKED, "--domain", "day=1.1.2024:31.12.2024"], ("--domain", "2024-01-01")),
    ([*ASKED, "--domain", "cost=0:9", "--rows-per-person", "four"], ("--rows-per-person", "four")),
    ([*ASKED, "--unti", "who"], ("`--unit`",)),
    ([*ASKED, "--uni", "who"], ("`--unit`",)),  # half of an option is none
    ([*ASKED, "--eps", "1"], ("`--epsilon`",)),
    ([*ASKED, "--q", "1"], ("--q", "--help")),
    ([*ASKED, "--caps", "best", "--domain", "cost=0:9"], ("profile",)),
    (ASKED, ("--domain", "cost")),
    (["quote", "stays.parquet", *ASKED[2:]], ("--domain", "cost")),
    (["quote", "stays.xlsx", *ASKED[2:]], (".csv",)),
    (["quote", "none", *ASKED[2:]], (".csv",)),
    (["quote", "stay.csv", *ASKED[2:]], ("stay.csv", "`stays.csv`")),
    (["init", "stay.csv", "--output", "-"], ("stay.csv", "`stays.csv`")),
    (["quote", "stays.csv", "SELECT", "COUNT(*)", "FROM", "stays"], ("SELECT",)),
    (["quote", MEAN, "stays.csv", *ASKED[3:]], ("quote stays.csv",)),
    (question("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward"), ("--delta", "budget")),
    (question("SELECT COUNT(*) FROM stays WHERE ward = surgery", "--domain", "ward=surgery,eyes"), ("'surgery'",)),
    (question("SELECT COUNT(*) FROM stays WHERE ward = 'a' OR ward IS NULL = 1"), ("TRUE",)),
    (["quote", "names.csv", "SELECT COUNT(DISTINCT patient id) FROM names", *ASKED[3:]], ()),
    (["query", *ASKED[1:], "--domain", "cost=0:9", "--output", "nowhere/a.csv"], ("nowhere",)),
    (["ledger", "show", "stays.csv"], ("stays.csv.ledger",)),
    (["ledger", "verify", "stays.csv"], ("stays.csv.ledger",)),
    (["query", *ASKED[1:], "--domain", "cost=0:9", "--ledger", "stays.csv"], ("--ledger", "stays.csv.ledger")),
    (["admin", "dataset", "list", "--ledger", "none/stays.toml"], ("none/books",)),
    (["query", *ASKED[1:3], "--epsilon", "1", "--budget", "1"], ("--unit",)),
    (["query", *ASKED[1:3], "--epsilon", "1", "--unit", "row"], ("--budget",)),
]


def test_what_is_wrong_is_named_and_nothing_is_left_behind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, wrong = set(folder.rglob("*")), []
    for arguments, names in REFUSED:
        code = cli.main(arguments)
        captured = capsys.readouterr()
        if (code, captured.out) != (2, "") or not all(name in captured.err for name in names):
            wrong.append((arguments, names, code, captured))
    assert wrong == []
    assert set(folder.rglob("*")) == before
    assert cli.main([*ASKED, "--budget", "epsilon=1, delta=1e-6", "--domain", "cost=0:9"]) == 0


def test_a_wrong_configuration_is_refused_by_the_name_of_its_entry(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, name in ((f"{TOML}[stays.domains]\nward = 3\n", "ward"), (TOML.replace('"who"', '"whom"'), "unit")):
        (folder / "stays.toml").write_text(text.replace("books/", ""))
        assert cli.main(["quote", "stays.toml", MEAN, "--epsilon", "0.1"]) == 2
        assert name in capsys.readouterr().err
    assert not list(folder.glob("*.ledger"))
