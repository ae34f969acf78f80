"""Sessions described in TOML."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.configuration import from_toml
from giveortake.errors import InvalidParameter, NotFound, QueryRefused, SameTable

ROWS = "user_id,region,amount,day\n" + "".join(
    f"{person},{'north' if person % 3 else 'south'},{person % 50},2024-01-0{1 + person % 9}\n" for person in range(300)
)
WHOLE = """
[trips]
source = "trips.csv"
unit = "user_id"
neighbours = "add-remove"
budget = { epsilon = "1", delta = "1e-8" }
ledger = "trips.ledger"
groups_per_person = 5
rows_per_group = 3
memory = "500MB"
[trips.domains]
amount = { bounds = [0, 50.5] }
region = ["north", "south"]
day = { bounds = [2024-01-01, 2024-01-09] }
[trips.public]
regions = "regions.csv"

[rows]
source = "trips.csv"
unit = "row"
budget = { rho = 0.1 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(ROWS)
    (tmp_path / "regions.csv").write_text("region,climate\nnorth,cold\nsouth,warm\n")
    (tmp_path / "trips.toml").write_text(WHOLE)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "other.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("source", ["own.csv", "own", "own/*.parquet"])
@pytest.mark.parametrize("name", ["Row", "ROW", "row"])
def test_a_person_column_that_is_called_like_a_row_is_never_taken_for_rows(
    name: str, source: str, folder: Path
) -> None:
    (folder / "own").mkdir()
    table = pl.DataFrame({name: [row % 3 for row in range(300)], "x": 1})
    table.write_csv(folder / "own.csv")
    table.write_parquet(folder / "own" / "own.parquet")
    path = write(folder, f'[own]\nsource = "{source}"\nunit = "{name}"\nbudget = "1"\nledger = "own.ledger"\n')
    if name == "row":
        with pytest.raises(InvalidParameter):
            from_toml(path)
        assert not (folder / "own.ledger").exists()
        return
    with from_toml(path) as session, pytest.raises(QueryRefused, match="rows_per_person"):
        session.sql("SELECT COUNT(*) AS n FROM own").quote(epsilon="0.5")


def test_the_word_for_rows_means_them_in_python_where_no_column_has_it() -> None:
    budget = gt.PureDP(1)
    with gt.protect(pl.DataFrame({"x": [1]}), name="t", unit="row", budget=budget) as session:
        assert session.budget.granted.unit == gt.ROW
    for said in (gt.ROW, gt.unit("Row")):
        gt.protect(pl.DataFrame({"Row": [1]}), name="t", unit=said, budget=budget).close()
    with pytest.raises(InvalidParameter, match="a column 'Row'"):
        gt.protect(pl.DataFrame({"Row": [1]}), name="t", unit="row", budget=budget)


def test_a_file_says_what_protect_says(folder: Path) -> None:
    with from_toml(folder / "trips.toml", "trips") as said:
        assert said.budget.granted == gt.ApproxDP("1", "1e-8", unit=gt.unit("user_id"))
        assert (said.describe().caps.groups_per_person, said.describe().caps.rows_per_group) == (5, 3)
        assert said.describe().durable
        question = "SELECT climate, SUM(amount) AS total FROM trips JOIN regions USING (region) GROUP BY climate"
        answer = said.sql(question).answer(epsilon="0.5")
        assert sorted(answer["climate"].values) == ["cold", "warm"]
    assert (folder / "trips.ledger").exists()
    with gt.protect(
        folder / "trips.csv",
        unit="user_id",
        budget=gt.ApproxDP("1", "1e-8"),
        domains={"amount": (0, 50.5), "region": ["north", "south"], "day": (date(2024, 1, 1), date(2024, 1, 9))},
        public={"regions": folder / "regions.csv"},
        ledger=folder / "trips.ledger",
        caps={"groups_per_person": 5, "rows_per_group": 3},
    ) as same:
        assert same.describe().version == said.describe().version
        assert same.sql(question).answer(epsilon="0.5")["total"] == answer["total"]


def test_several_sessions_need_a_name(folder: Path) -> None:
    with pytest.raises(InvalidParameter, match="describes several"):
        from_toml(folder / "trips.toml")
    with pytest.raises(InvalidParameter):
        from_toml(folder / "trips.toml", "trip")
    with from_toml(folder / "trips.toml", "rows") as session:
        assert session.budget.granted == gt.ZCDP("0.1")
        assert not session.describe().durable


MINIMAL = 'source = "trips.csv"\nunit = "user_id"\nbudget = { epsilon = "1" }\n'


DECLARED = f"[trips]\n{MINIMAL}[trips.domains]\n"


@all_cases(
    ("text", "fact"),
    [
        ("", "no session"),
        ("[trips", "TOML"),
        ('source = "trips.csv"', "section"),
        ("[trips]", "source"),
        (f"[trips]\n{MINIMAL}buget = 3", "`budget`"),
        (f"[trips]\n{MINIMAL}".replace("epsilon", "epsilom"), "epsilom"),
        (f"[trips]\n{MINIMAL}".replace('"1"', '"-1"'), "budget"),
        (f"[trips]\n{MINIMAL}".replace('"1"', '"1", rho = 1'), "rho"),
        (f"[trips]\n{MINIMAL}".replace('"user_id"', "3"), "unit = 3"),
        (f"[trips]\n{MINIMAL}groups_per_person = '3'", "groups_per_person"),
        (f"[trips]\n{MINIMAL}domains = 3", "domains = 3"),
        (f"{DECLARED}amount = [0, 50]", "amount"),
        (f"{DECLARED}amount = FILL IN", "FILL IN"),
        (f"{DECLARED}user id = 3", "user id"),
        (f"{DECLARED}rows_per_person = 3", "[trips.domains]"),
        (f"{DECLARED}region = ['north', '']", "region"),
        (f"{DECLARED}amount = {{ bounds = [true, false] }}", "amount"),
        (f"{DECLARED}amount = {{ bounds = ['0', 'five'] }}", "'five'"),
        (f"{DECLARED}amount = {{ bounds = [5, 0] }}", "[0, 5]"),
        (f"{DECLARED}amounts = {{ bounds = [0, 50] }}", "`amount`"),
        (f"[trips]\n{MINIMAL}".replace('"user_id"', '"usr_id"'), "`user_id`"),
        (f"[trips]\n{MINIMAL}".replace("trips.csv", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_a_mistake_is_refused_by_file_and_key(folder: Path, text: str, fact: str) -> None:
    with pytest.raises((InvalidParameter, NotFound)) as refused:
        from_toml(write(folder, text))
    assert fact in str(refused.value)
    assert "other.toml" in str(refused.value)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        from_toml(tmp_path / "nothing.toml")


@pytest.mark.parametrize("source", ['"trips.csv"', '{ trips = "trips.csv", people = "regions.csv" }'])
def test_a_section_without_a_ledger_is_refused_if_its_file_has_one(folder: Path, source: str) -> None:
    said = f'[trips]\nsource = {source}\nunit = "user_id"\nbudget = {{ epsilon = 1 }}\n'
    gt.ledger.open(folder / "trips.csv.ledger").close()
    with pytest.raises(SameTable):
        from_toml(write(folder, said))
    forgetful = said.replace(source, f'{source}\nledger = ":memory:"').replace(source, '"trips.csv"')
    with from_toml(write(folder, forgetful)) as session:
        assert not session.describe().durable


def test_a_section_with_another_ledger_is_refused_if_its_file_has_one_beside_it(folder: Path) -> None:
    gt.ledger.open(folder / "trips.csv.ledger").close()
    with pytest.raises(SameTable) as refused:
        from_toml(folder / "trips.toml", "trips")
    assert "csv.ledger" in str(refused.value.hint)
    assert not (folder / "trips.ledger").exists()
    same = WHOLE.replace('"trips.ledger"', '"./trips.csv.ledger"')
    with from_toml(write(folder, same), "trips") as session:
        assert session.describe().durable
