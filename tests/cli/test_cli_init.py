"""`giveortake init`: a draft from names and types, whatever the rows are."""

from __future__ import annotations

import datetime as dt
import shlex
import tomllib
from pathlib import Path

import duckdb
import polars as pl
import pytest

import giveortake as gt
from giveortake import cli, configuration

CSV = "user_id,region,amount\n1,north,2.5\n2,south,3\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trips.csv").write_text(CSV)
    return tmp_path


def drafted(*arguments: str) -> str:
    assert cli.main(["init", *arguments, "--output", "draft.toml"]) == 0
    written = Path("draft.toml").read_text(encoding="utf-8")
    Path("draft.toml").unlink()
    return written


def test_a_draft_is_a_configuration_once_it_is_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", "trips.csv"]) == 0
    assert "giveortake.toml" in capsys.readouterr().err
    draft = Path("giveortake.toml")
    text = draft.read_text(encoding="utf-8")
    assert tomllib.loads(text)["trips"]["source"] == "trips.csv"
    asked = ["query", "giveortake.toml", "SELECT region, AVG(amount) AS m FROM trips GROUP BY region", "--epsilon", "1"]
    for place, value in (
        ('unit = "FILL IN"', 'unit = "user_id"'),
        ('epsilon = "FILL IN"', 'epsilon = "1"'),
        ('# "amount" = FILL IN', '"amount" = { bounds = [0, 500] }'),
        ('# "region" = FILL IN', '"region" = ["north", "south"]'),
        ("# rows_per_person = FILL IN", "rows_per_person = 1"),
    ):
        assert cli.main(asked) == 2
        text = text.replace(place, value)
        draft.write_text(text, encoding="utf-8")
    told = capsys.readouterr().err
    assert "[trips] unit = 'FILL IN'" in told
    assert "[trips] budget.epsilon = 'FILL IN'" in told
    assert cli.main(asked) == 0
    assert Path("trips.csv.ledger").exists()
    direct = ["query", "trips.csv", asked[2], "--unit", "user_id", "--budget", "1", "--epsilon", "1"]
    direct += ["--domain", "amount=0:500", "--domain", "region=north,south", "--rows-per-person", "1"]
    assert cli.main(direct) == 0  # the same ledger, so the same answer, for nothing
    with gt.ledger.open("trips.csv.ledger") as book:
        assert book.verify().reservations == 1


def test_names_with_blanks_at_their_ends_are_remarked_on(folder: Path) -> None:
    (folder / "padded.csv").write_text("user_id, region,amount \n1,north,2\n")
    text = drafted("padded.csv")
    assert ': " region", "amount "\n' in text
    assert tomllib.loads(text)


def test_no_row_decides_a_word_of_the_draft(folder: Path) -> None:
    first = drafted("trips.csv")
    for rows in ("user_id,region,amount\n", "user_id,region,amount\nx,2,2020-01-01\n" * 3, CSV + '"no end'):
        (folder / "trips.csv").write_text(rows)
        assert drafted("trips.csv") == first


def test_types_of_parquet_files_and_databases_say_what_may_be_declared(folder: Path) -> None:
    table = pl.DataFrame(
        {"who": [1], "where": ["a"], "paid": [1.5], "day": [dt.date(2020, 1, 1)], "late": [True], "list": [[1]]}
    )
    table.write_parquet(folder / "trips.parquet")
    from_parquet = drafted("trips.parquet")
    for line in (
        '# "who" = FILL IN  # whole numbers: { bounds = [0, 120], integer = true }',
        '# "where" = FILL IN  # text: ["north", "south"], what there may be; or { max_length = 100 }',
        '# "paid" = FILL IN  # numbers: { bounds = [0, 500] }',
        '# "day" = FILL IN  # dates: { bounds = [2024-01-01, 2024-12-31] }',
        '# "late" = FILL IN  # true or false: nothing has to be said',
    ):
        assert line in from_parquet
    assert '"list"' not in from_parquet
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE trips AS SELECT * FROM 'trips.parquet'; CREATE TABLE other AS SELECT 1 AS a")
    from_database = drafted("shop.duckdb", "--table", "trips")
    assert 'table = "trips"' in from_database
    assert '# "paid" = FILL IN  # numbers' in from_database


def test_names_of_columns_that_would_break_a_file_are_escaped(folder: Path) -> None:
    (folder / "odd.csv").write_text('"a\nb","c""d",\u202eevil,[x]\n1,2,3,4\n', encoding="utf-8")
    written = drafted("odd.csv")
    assert "\u202e" not in written
    filled = written.replace("# ", "").replace("= FILL IN", "= 1").partition("[odd.domains]\n")[2]
    assert list(tomllib.loads(filled)) == ["a\nb", 'c"d', "\u202eevil", "[x]"]
    tomllib.loads(written)


def test_paths_are_relative_to_the_draft(folder: Path) -> None:
    (folder / "drafts").mkdir()
    assert cli.main(["init", "trips.csv", "--output", "drafts/trips.toml"]) == 0
    assert tomllib.loads((folder / "drafts" / "trips.toml").read_text())["trips"]["source"] == "../trips.csv"
    assert tomllib.loads((folder / "drafts" / "trips.toml").read_text())["trips"]["ledger"] == "../trips.csv.ledger"


def test_nothing_is_written_over_and_addresses_are_not_quoted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "giveortake.toml").write_text("mine")
    assert cli.main(["init", "trips.csv"]) == 2
    assert (folder / "giveortake.toml").read_text() == "mine"
    assert "giveortake.toml" in capsys.readouterr().err
    assert cli.main(["init", "postgresql://ann:secret@host/db?table=t"]) == 2
    assert "secret" not in capsys.readouterr().err
    assert cli.main(["init", "absent.csv"]) == 2
    assert "absent.csv" in capsys.readouterr().err
    (folder / "trips.parquet").write_text("secret rows, and no Parquet")
    assert cli.main(["init", "trips.parquet", "--output", "-"]) == 2
    assert "secret" not in capsys.readouterr().err
    (folder / "trips.json").write_text("{}")
    assert cli.main(["init", "trips.json", "--output", "-"]) == 2
    assert "Parquet" in capsys.readouterr().err


def test_a_draft_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", "trips.csv", "--output", "-"]) == 0
    printed = capsys.readouterr().out
    assert tomllib.loads(printed)["trips"]["unit"] == configuration.FILL_IN
    assert not Path("giveortake.toml").exists()


@pytest.mark.parametrize("source", ['"trips.csv"', '{ trips = "./trips.csv" }'])
def test_a_file_whose_budget_a_configuration_beside_it_keeps_elsewhere_gets_no_second_one(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    (folder / "not.toml").write_text("no configuration at all")
    (folder / "shop.toml").write_text(f'[trips]\nsource = {source}\nledger = "shop.ledger"\n')
    asked = [
        "quote",
        "trips.csv",
        "SELECT COUNT(*) AS n FROM trips",
        "--unit",
        "row",
        "--budget",
        "1",
        "--epsilon",
        "1",
    ]
    assert cli.main(asked) == 2
    assert "[trips] of shop.toml" in capsys.readouterr().err
    assert cli.main([*asked, "--ledger", "mine.ledger"]) == 0
    (folder / "shop.toml").write_text(f'[trips]\nsource = {source}\nledger = "trips.csv.ledger"\n')
    assert cli.main(asked) == 0


def test_the_commands_of_a_draft_run_once_it_is_filled_in_and_its_comment_has_every_form(folder: Path) -> None:
    text = (folder / "my trips.toml").name
    assert cli.main(["init", "trips.csv", "--output", text]) == 0
    written = Path(text).read_text(encoding="utf-8")
    for form in ("{ bounds = [0, 500] }", '["north", "south"]', "{ bounds = [2024-01-01, 2024-12-31] }"):
        assert form in written
    filled = written.replace('unit = "FILL IN"', 'unit = "user_id"').replace('epsilon = "FILL IN"', 'epsilon = "1"')
    assert '# profile = { share = "1/20", most_rows = FILL IN }' in filled
    filled = filled.replace("# profile =", "profile =").replace("most_rows = FILL IN", "most_rows = 50")
    Path(text).write_text(filled, encoding="utf-8")
    commands = [line.removeprefix("#   giveortake ") for line in written.splitlines() if "#   giveortake " in line]
    assert [command.split()[0] for command in commands] == ["quote", "profile"]
    for command in commands:
        assert cli.main(shlex.split(command)) == 0


def test_a_file_with_semicolons_has_the_columns_that_its_header_names() -> None:
    Path("stays.csv").write_text("who;ward;cost\nann;north;2,5\n")
    assert '# the columns: "who", "ward", "cost"' in drafted("stays.csv")
    Path("stays.csv").write_text("who\nann;north\n")  # what is in the rows says nothing
    assert '# the columns: "who"' in drafted("stays.csv")
