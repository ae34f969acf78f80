"""`giveortake query` and `giveortake quote`."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import giveortake as gt
from giveortake import cli

ROWS = "user_id,region,amount\n" + "".join(
    f"{person},{'north' if person % 3 else 'south'},{person % 50}\n" for person in range(600)
)
COUNT = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
PROTECTED = ["--unit", "user_id", "--budget", "1,1e-8", "--domain", "region=north,south", "--domain", "amount=0:50"]
WHOM = list(PROTECTED)
PROTECTED += ["--rows-per-person", "4"]
TOML = """
[trips]
source = "trips.csv"
unit = "user_id"
budget = { epsilon = "1", delta = "1e-8" }
rows_per_person = 4
[trips.domains]
amount = { bounds = [0, 50] }
region = ["north", "south"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trips.csv").write_text(ROWS)
    (tmp_path / "regions.csv").write_text("region,climate\nnorth,cold\nsouth,warm\n")
    (tmp_path / "trips.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def query(*arguments: str) -> int:
    return cli.main(["query", "trips.csv", *arguments, *PROTECTED])


def test_a_second_call_knows_what_was_spent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    first = capsys.readouterr()
    assert first.out.splitlines()[0] == "region,n,n_low,n_high"
    assert first.err == "40 % of the budget is used, a question of up to ε = 0.6 is left; kept in trips.csv.ledger\n"
    assert (folder / "trips.csv.ledger").exists()
    assert query(COUNT, "--epsilon", "0.4", "--format", "csv") == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err.startswith("asked before, and free; 40 %")
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.7") == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "ε of up to 0.6 would fit" in refused.err


def test_a_throw_away_ledger_forgets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.9", "--ledger", ":memory:") == 0
        assert "kept nowhere: the ledger was in memory" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == {"trips.csv", "regions.csv", "trips.toml"}


@pytest.mark.parametrize("name", ["answer.csv", "answer.json", "answer.parquet", "answer.txt"])
def test_the_name_of_the_output_decides_its_format(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--rho", "0.01", "--output", name) == 0
    assert capsys.readouterr().out == ""
    written = folder / name
    if name.endswith("csv"):
        assert written.read_text().startswith("region,n,n_low,n_high\nnorth,")
    elif name.endswith("json"):
        assert json.loads(written.read_text())["columns"]["region"] == ["north", "south"]
    elif name.endswith("parquet"):
        import polars  # noqa: PLC0415

        assert polars.read_parquet(written).columns == ["region", "n", "n_low", "n_high"]
    else:
        assert "north" in written.read_text(encoding="utf-8")


def test_parquet_needs_no_arrow_library(folder: Path) -> None:
    program = (
        "import sys\n"
        "for name in ('pyarrow', 'polars', 'pandas'): sys.modules[name] = None\n"
        "from giveortake import cli\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    arguments = ["query", "trips.csv", COUNT, "--epsilon", "0.1", "--output", "it's.parquet", *PROTECTED]
    subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)
    assert (folder / "it's.parquet").read_bytes()[:4] == b"PAR1"


def test_a_question_comes_from_a_file_or_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "question.sql").write_text(COUNT)
    assert query("@question.sql", "--epsilon", "0.1", "--format", "csv") == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO(COUNT))
    assert query("-", "--epsilon", "0.1", "--format", "csv") == 0
    assert capsys.readouterr().out == first


def test_a_toml_file_says_who_is_protected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--confidence", "0.9"]) == 0
    assert "intervals hold with 90 % each" in capsys.readouterr().out
    assert (folder / "trips.toml.ledger").exists()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--unit", "row"]) == 2
    assert "--unit = 'row' is said by trips.toml already" in capsys.readouterr().err


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


def test_a_public_table_is_joined(capsys: pytest.CaptureFixture[str]) -> None:
    question = "SELECT climate, COUNT(*) AS n FROM trips JOIN regions USING (region) GROUP BY climate"
    assert query(question, "--mu", "0.1", "--public", "regions=regions.csv", "--format", "csv") == 0
    assert {line.partition(",")[0] for line in capsys.readouterr().out.splitlines()} == {"climate", "cold", "warm"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SELECT * FROM trips", "--epsilon", "1"], "rows are never shown"),
        ([COUNT], "--epsilon is missing: say what the answer may cost\n\n  hint: --epsilon 0.1, or --margin 50"),
        ([COUNT, "--epsilon", "nought"], "error: --epsilon = 'nought'"),
        ([COUNT, "--epsilon", "1", "--rho", "1"], "hint: pass --epsilon, --rho or --mu"),
        ([COUNT, "--epsilon", "2"], "`giveortake ledger show PATH` says what is left"),
        (["SELECT AVG(amount) AS m FROM trips", "--margin", "1"], "hint: pass --n, the number of rows"),
        ([COUNT, "--epsilon", "0.1", "--domain", "amunt=0:5"], "--domain = ['amunt'] are no columns"),
        ([COUNT, "--epsilon", "0.1", "--output", "o.xlsx"], "the formats are .csv, .json, .parquet and .txt"),
        ([COUNT, "--epsilon", "0.1", "--analyst", "ann"], "ann"),
        ([COUNT, "--epsilon", "0.1", "--format", "parquet"], "add --output"),
        ([COUNT, "--epsilon", "0.1", "--output", "nowhere/a.csv"], "a folder that does not exist"),
        ([COUNT, "--epsilon", "0.1", "--public", "regions"], "--public = 'regions' is not NAME=…"),
        ([COUNT, "--epsilon", "0.1", "--domain", "amount=a:b"], "neither numbers nor dates"),
        ([COUNT, "--epsilon", "0.1", "--budget-delta", "1e-9"], "goes with one ε in --budget"),
        (["@nothing.sql", "--epsilon", "0.1"], "nothing.sql cannot be read"),
    ],
)
def test_a_refusal_costs_nothing(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert query(*arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert not Path("trips.csv.ledger").exists()
    assert not list(Path().glob("*.mark"))
    assert query(COUNT, "--epsilon", "1") == 0  # the whole budget is still there


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


def test_an_option_states_the_caps_of_one_question_or_of_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1", "--rows-per-person", "2"]) == 0
    assert "at most 2 rows of a person, chosen before any filter" in capsys.readouterr().out
    (folder / "two.toml").write_text(
        TOML.replace('"trips.csv"', '{ trips = "trips.csv", tours = "trips.csv" }').replace("[trips", "[two")
    )
    asked = ["quote", "two.toml", "SELECT COUNT(*) AS n FROM trips JOIN tours ON trips.user_id = tours.user_id"]
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tours=1"]) == 0
    assert "at most 600 rows of a person in trips and 1 in tours" in " ".join(capsys.readouterr().out.split())
    assert cli.main([*asked, "--epsilon", "0.1", "--rows-per-person", "trips=600,tuors=1"]) == 2
    assert "did you mean `tours`?" in capsys.readouterr().err


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
    assert '--name trips2, --population "people of trips"' in refused
    renamed = ["--name", "trips2", "--population", "people of trips", "--ledger", "trips.csv.ledger"]
    assert cli.main(["query", "trips.csv", COUNT.replace("trips", "trips2"), *other, *renamed]) == 0
    assert "80 % of the budget is used" in capsys.readouterr().err


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
    assert cli.main(["publish", "codes.csv.ledger", "--to", "a.duckdb"]) == 2
    assert "hint: say the same as before: --unit who --budget 1,1e-8 --domain" in capsys.readouterr().err


def test_a_repeated_question_is_said_once_to_be_free(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        capsys.readouterr()
        assert query(COUNT, "--epsilon", "0.4") == 0
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("asked before") == 1


def test_the_line_in_the_readme_works_as_it_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "visits.csv").write_bytes(files("giveortake").joinpath("data", "visits.csv").read_bytes())
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith("giveortake query "))
    assert cli.main(shlex.split(line)[1:]) == 0
    assert "islands" in capsys.readouterr().out


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


def test_a_quote_says_what_it_costs_and_leaves_no_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(folder.iterdir())
    question = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region"
    assert cli.main(["quote", "trips.csv", question, "--epsilon", "0.1", *PROTECTED]) == 0
    output = capsys.readouterr().out
    for words in (
        "give or take, with 95 %",
        "for the whole answer",
        "of the budget",
        "Laplace noise",
        "yes",
    ):
        assert words in output
    longer = question.replace(" FROM", ", MEDIAN(amount) AS half FROM")
    assert cli.main(["quote", "trips.csv", longer, "--epsilon", "0.1", *PROTECTED]) == 0
    assert "cheaper" in capsys.readouterr().out
    assert set(folder.iterdir()) == before


def test_a_quote_knows_what_was_spent_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert query(COUNT, "--epsilon", "0.4") == 0
    capsys.readouterr()
    assert cli.main(["quote", "trips.csv", COUNT, "--epsilon", "0.7", "--format", "json", *PROTECTED]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert quote["admitted"] is False
    assert quote["affordable_epsilon"] == pytest.approx(0.6)
    assert quote["share"] == pytest.approx(0.7)
    assert set(quote["margins"]) == {"n"}


def test_a_quote_finds_a_table_whose_name_is_not_that_of_its_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my-trips.csv").write_text(ROWS)
    question = ["my-trips.csv", COUNT.replace("trips", "my_trips"), "--epsilon", "0.4", *PROTECTED]
    assert cli.main(["query", *question]) == 0
    capsys.readouterr()
    assert cli.main(["quote", *question, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["affordable_epsilon"] == pytest.approx(0.6)


def test_a_quote_registers_nothing_in_a_ledger_of_other_tables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tours.csv").write_text(ROWS + "600,north,1\n")
    assert query(COUNT, "--epsilon", "0.1", "--ledger", "all.ledger") == 0
    tours = ["quote", "tours.csv", "SELECT COUNT(*) FROM tours", "--ledger", "all.ledger", "--epsilon", "0.1"]
    before = (folder / "all.ledger").read_bytes()
    assert cli.main([*tours, *PROTECTED]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "what they have spent was not looked at; --population NAME says that they are" in told
    (folder / "tours.toml").write_text(
        TOML.replace("trips", "tours").replace("unit =", 'ledger = "all.ledger"\nunit =', 1)
    )
    assert cli.main(["quote", "tours.toml", "SELECT COUNT(*) FROM tours", "--epsilon", "0.1"]) == 0
    assert 'population = "NAME" says that they are' in " ".join(capsys.readouterr().out.split())
    (folder / "tours.toml").unlink()
    for option in ("--population", "--new-population"):
        people = "people of trips" if option == "--population" else "people of tours"
        assert cli.main([*tours, *PROTECTED, option, people]) == 0
        assert "was not looked at" not in " ".join(capsys.readouterr().out.split())
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
    assert "40 %; a question of up to ε = 0.6 is left" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["quote", *asked, "--format", "json"]) == 0
    quote = json.loads(capsys.readouterr().out)
    assert (quote["admitted"], quote["affordable_epsilon"]) == (False, pytest.approx(0.6))
    assert (folder / "all.ledger").read_bytes() == before


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
    assert capsys.readouterr().err.count("ε = 0.7 does not fit any more") == 2
    assert cli.main(["quote", *total[1:], "--epsilon", "0.1", "--domain", "amount=0:50"]) == 0
    assert (folder / "all.ledger").read_bytes() == before
    assert cli.main([*total, "--epsilon", "0.1", "--domain", "amount=0:60"]) == 0  # other ones than were refused
    assert cli.main([*tours, "--epsilon", "0.1", "--domain", "amount=0:60"]) == 0
    assert cli.main(["ledger", "verify", "all.ledger"]) == 0


def test_a_key_makes_a_retry_safe(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert query(COUNT, "--epsilon", "0.4", "--key", "monday") == 0
    assert "40 % of the budget is used" in capsys.readouterr().err.splitlines()[-1]
    assert query("SELECT COUNT(*) AS n FROM trips", "--epsilon", "0.4", "--key", "monday") == 2


def test_a_large_file_is_read_as_text_once_unless_no_copy_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "trips.csv").write_text(ROWS + "7,north,3\n" * 150_000)
    asked = [COUNT, "--epsilon", "0.1", "--format", "csv", "--rows-per-person", "1"]
    assert query(*asked, "--no-cache") == 0
    assert not (folder / "cache").exists()
    assert query(*asked) == 0
    (copy,) = (folder / "cache" / "giveortake").glob("*.duckdb")
    used = copy.stat().st_mtime_ns
    assert query(*asked) == 0
    assert copy.stat().st_mtime_ns > used
    assert len(set(capsys.readouterr().out.split("region,n,n_low,n_high\n"))) == 2  # nothing, and one answer
    toml = TOML.replace('source = "trips.csv"', 'source = "trips.csv"\nledger = ":memory:"')
    (folder / "trips.toml").write_text(toml)
    (folder / "cache" / "giveortake" / copy.name).unlink()
    assert cli.main(["query", "trips.toml", COUNT, "--epsilon", "0.1"]) == 0
    assert len(list((folder / "cache" / "giveortake").glob("*.duckdb"))) == 1


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


def test_releases_are_published_from_the_command_line_and_one_as_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.1") == 0
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv", "--to", "answers.duckdb", *WHOM]) == 0
    told = capsys.readouterr().out
    assert "1 table and a catalogue, releases, are published" in told
    with gt.ledger.open("trips.csv.ledger") as book:
        (record,) = book.releases()
    assert cli.main(["publish", "trips.csv", "--list", *WHOM]) == 0
    assert record.id in capsys.readouterr().out
    page = ["--release", record.id[:12], "--report", "release.html"]
    assert cli.main(["publish", "trips.csv", *page, "--to", "one.parquet", *WHOM]) == 0
    assert "1 table is published" in capsys.readouterr().out
    assert "What is promised" in (folder / "release.html").read_text()
    assert (folder / "one.parquet").exists()
    for arguments, words in (
        ([], "--to answers.duckdb, or --report release.html"),
        (["--report", "all.html"], "is about one release"),
        (["--to", "answers.txt"], "does not say what to write"),
        (["--to", "x.duckdb", "--release", "unknown"], "there is no release 'unknown'"),
    ):
        assert cli.main(["publish", "trips.csv", *arguments, *WHOM]) == 2
        assert words in capsys.readouterr().err


def test_a_ledger_is_published_by_what_beside_it_says_what_it_is_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert query(COUNT, "--epsilon", "0.1") == 0
    assert cli.main(["publish", "trips.csv.ledger", "--to", "x.duckdb", *WHOM]) == 0
    text = TOML.replace("rows_per_person = 4", 'ledger = "trips.csv.ledger"')
    (folder / "trips.toml").write_text(text)
    capsys.readouterr()
    assert cli.main(["publish", "trips.csv.ledger", "--to", "y.duckdb"]) == 0
    assert "1 table and a catalogue" in capsys.readouterr().out
    (folder / "trips.toml").write_text(text + text.replace("[trips", "[more"))
    assert cli.main(["publish", "trips.csv.ledger", "--to", "z.duckdb"]) == 2
    assert "[trips] of trips.toml, [more] of trips.toml" in capsys.readouterr().err
    (folder / "other.ledger").touch()
    assert cli.main(["publish", "other.ledger", "--to", "z.duckdb"]) == 2
    assert "no TOML file or table beside it" in capsys.readouterr().err


def test_a_free_repeat_under_a_key_of_its_own_is_told_as_free(capsys: pytest.CaptureFixture[str]) -> None:
    domains = {"region": ["north", "south"], "amount": (0, 50)}
    with gt.protect(
        "trips.csv",
        unit="user_id",
        budget=gt.ApproxDP(1, "1e-8"),
        domains=domains,
        rows_per_person=4,
        ledger="trips.csv.ledger",
    ) as session:
        for key in ("one", "two"):
            session.sql(COUNT).answer(epsilon="0.1", key=key)
    assert cli.main(["ledger", "show", "trips.csv.ledger"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("ε = 0.1, ") == 1
    assert "trips: free, asked before" in shown
