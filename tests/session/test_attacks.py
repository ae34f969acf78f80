"""What attackers tried on sessions; each must stay impossible."""

from __future__ import annotations

import datetime as dt
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.plan import Domain, Kind
from giveortake.session import Session
from giveortake.session.storage import Spool
from inside import engine_of, measured
from replay import exact_integers
from stated_caps import stating_caps
from tiers import tiered


class OwnDate(dt.date):
    """A date of another library."""


PEOPLE = pl.DataFrame(
    {
        "id": [f"p{i}" for i in range(60)],
        "note": ["q"] * 60,
        "k": ["a", "b", "c"] * 20,
        "x": [float(i) for i in range(60)],
    }
)


def session(table: Any = PEOPLE, **options: Any) -> Session:
    said: dict[str, Any] = {"unit": "id", "budget": gt.ApproxDP(100, "1e-6"), "domains": {"x": (0, 100)}, "name": "t"}
    return gt.protect(table, **stating_caps({**said, **options}))


def with_bob(table: pl.DataFrame = PEOPLE) -> pl.DataFrame:
    return table.vstack(pl.DataFrame({"id": ["bob"], "note": ["bob"], "k": ["a"], "x": [1.0]}))


@all_cases("place", ["1, 9999999999", "9999999999", "4294967297, 2"])
def test_places_in_texts_that_an_engine_cannot_count_are_refused_unseen(place: str) -> None:
    with pytest.raises(gt.errors.QueryRefused, match="SUBSTRING"):
        session().sql(f"SELECT COUNT(*) AS n FROM t WHERE SUBSTRING(note, {place}) = 'q'")
    with pytest.raises(gt.errors.InvalidParameter, match="above"):
        session(domains={"note": {"max_length": 10**10}})


def test_many_columns_of_found_keys_answer_alike_whether_or_not_somebody_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The product of so many columns has 1 combination without bob and too many for a position with him."""
    columns = tiered(6, 66)
    if columns < 62:
        monkeypatch.setattr("giveortake.engines.duckdb.engine.WIDEST", 1 << 5)
        monkeypatch.setattr("giveortake.compile.partition_selection.WIDEST", 1 << 5)
    keys = ", ".join(f"LOWER(CASE WHEN note = 'bob' THEN 'z' ELSE 'a' END || '{i}') AS k{i}" for i in range(columns))
    text = f"SELECT {keys}, COUNT(*) AS n FROM t GROUP BY {', '.join(str(i + 1) for i in range(columns))}"
    for table in (PEOPLE, with_bob()):
        assert len(session(table).sql(text).answer(epsilon=50, key_delta="1e-8")) == 1


def test_wide_keys_choose_the_same_keys_of_a_person_as_narrow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    from giveortake.engines.duckdb import engine as duckdb  # noqa: PLC0415

    rows = [(f"p{i % 50}", f"k{i * 7 % 40}", f"m{i * 3 % 11}") for i in range(3000)]
    table = pl.DataFrame(rows, schema=["id", "k", "m"], orient="row")
    text = "SELECT k, m, COUNT(*) AS n FROM t GROUP BY k, m"

    def found() -> Any:
        s = session(table, domains={}, groups_per_person=3, rows_per_group=4)
        made = measured(s, text, _spend())
        assert made.selection is not None
        keys = made.columns
        from giveortake.engines import Keys, Persons  # noqa: PLC0415

        hidden = next(engine_of(s).persons(Persons(made.question.relation, Keys(keys), 3)))
        names, counts = hidden._hidden
        return dict(zip(names, counts.tolist(), strict=True))

    narrow = found()
    monkeypatch.setattr(duckdb, "WIDEST", 1)
    assert found() == narrow


def _spend() -> Any:

    from giveortake.compile import Spend  # noqa: PLC0415

    return Spend(epsilon=Fraction(1), keys=Fraction(1, 10**8))


def test_frames_of_other_sessions_and_parts_do_not_mix() -> None:
    s = session(domains={"k": ["a", "b", "c"]})
    part = s.partition("k")["a"]
    with pytest.raises(gt.errors.QueryRefused):
        part.table().union(s.table())
    with pytest.raises(gt.errors.QueryRefused):
        s.table().join_person(session().table())


def test_a_persons_rows_do_not_multiply_without_end() -> None:
    text = "SELECT COUNT(*) AS n FROM t AS a " + " ".join(f"JOIN t AS b{i} ON a.id = b{i}.id" for i in range(4))
    with pytest.raises(gt.errors.QueryRefused):
        session(rows_per_person=1).sql(text)
    joined = session().sql("SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.id = b.id")
    for ask in (joined.quote, joined.answer):
        with pytest.raises(gt.errors.QueryRefused):
            ask(epsilon=1)
    with pytest.raises(gt.errors.QueryRefused, match="more than 100,000"):
        joined.quote(epsilon=1, rows_per_person=400)
    assert joined.quote(epsilon=1, rows_per_person=300).admitted


def test_no_persons_text_grows_until_a_question_fails() -> None:
    """Doubled through subqueries, bob's three letters would fill any memory, and everybody else's text stays empty."""
    text = "SELECT id, CASE WHEN id = 'bob' THEN 'xxx' ELSE '' END AS w FROM t"
    for _ in range(40):
        text = f"SELECT id, w || w AS w FROM ({text})"
    for table in (PEOPLE, with_bob()):
        with pytest.raises(gt.errors.QueryRefused, match="characters"):
            session(table).sql(f"SELECT COUNT(*) AS n FROM ({text}) WHERE w = 'x'")


def test_a_public_key_is_unique_as_it_is_joined() -> None:
    moments = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1)]
    public = pl.DataFrame(
        {"at": pl.Series(moments).cast(pl.Datetime("ns")) + pl.Series([0, 300]).cast(pl.Duration("ns"))}
    )
    table = PEOPLE.with_columns(at=pl.lit(moments[0]).cast(pl.Datetime("ns")))
    s = session(table, public={"times": public.with_columns(w=pl.Series([1, 2]))})
    with pytest.raises(gt.errors.QueryRefused, match="not unique"):
        s.sql("SELECT COUNT(*) AS n FROM t JOIN times ON t.at = times.at")


def test_texts_that_a_collation_calls_equal_are_refused(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id VARCHAR COLLATE NOCASE, x DOUBLE)")
    with pytest.raises(gt.errors.InvalidParameter, match="collation"):
        session(tmp_path / "d.duckdb")


def test_persons_are_named_by_text_or_whole_numbers() -> None:
    table = pl.DataFrame({"id": [dt.datetime(2024, 1, 1)], "x": [1.0]})
    with pytest.raises(gt.errors.InvalidParameter):
        session(table)


def test_files_of_other_types_are_refused_before_a_row_can_make_them_fail(tmp_path: Path) -> None:
    for place, kind in enumerate([pl.Int32, pl.Int64]):
        PEOPLE.with_columns(n=pl.lit(1).cast(kind)).write_parquet(tmp_path / f"{place}.parquet")
    with pytest.raises(gt.errors.InvalidParameter, match="same types"):
        session(tmp_path / "*.parquet")


def test_a_history_tells_nothing_about_the_content_of_the_data() -> None:
    for entry in session().history():
        assert "fingerprint" not in entry.content
        assert not entry.body
        assert not entry.hash


def test_a_domain_made_by_hand_is_held_to_the_same_rules() -> None:
    with pytest.raises(gt.errors.InvalidParameter):
        session(domains={"k": Domain(Kind.TEXT, categories=("a", "a"))})


@all_cases(
    ("column", "keys"),
    [
        ("north", ["north", np.str_("north")]),
        (dt.date(2020, 1, 1), [dt.date(2020, 1, 1), pd.Timestamp("2020-01-01").date(), OwnDate(2020, 1, 1)]),
        (dt.datetime(2020, 1, 1), [dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01 00:00:00.000000001")]),
        (dt.datetime(2020, 1, 1), [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
    ],
)
def test_keys_that_python_tells_apart_and_an_engine_does_not_are_no_two_parts(column: Any, keys: list[Any]) -> None:
    """Both parts would hold the same rows, and be charged as if they did not."""
    with pytest.raises(gt.errors.InvalidParameter, match=r"twice|zone"):
        gt.protect(pl.DataFrame({"c": [column] * 9}), unit=gt.ROW, budget=gt.PureDP(1), domains={"c": keys}, name="t")


def test_one_is_not_true_in_what_is_remembered() -> None:
    s = session(pl.DataFrame({"id": ["p"], "k": ["1"]}), domains={}, budget=gt.PureDP(10**6))
    ones = s.sql("SELECT COUNT(*) AS n FROM t WHERE k = CAST(1 AS VARCHAR)").answer(epsilon=10**4).value
    trues = s.sql("SELECT COUNT(*) AS n FROM t WHERE k = CAST(TRUE AS VARCHAR)").answer(epsilon=10**4).value
    assert (ones, trues) == (1, 0)


def test_refining_an_answer_without_keys_is_possible() -> None:
    s = session(PEOPLE.with_columns(k=pl.col("id")))
    answer = s.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").answer(epsilon=1)
    assert len(answer) == 0
    assert len(answer.refine(epsilon=1)) == 0


def test_the_mean_of_whole_numbers_is_as_sure_as_it_was_quoted() -> None:
    s = session(budget=gt.PureDP(10**6), rows_per_person=1)
    q = s.sql("SELECT AVG(CASE WHEN x > 30 THEN 1 ELSE 0 END) AS share FROM t")
    answer = q.answer(epsilon=1000)
    assert float(answer.high) - float(answer.low) < 0.05  # type: ignore[arg-type]


def test_a_refusal_speaks_of_what_was_asked() -> None:
    s = session(budget=gt.ApproxDP(1, "1e-6"))
    with pytest.raises(gt.errors.BudgetExceeded):
        s.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=2)
    with pytest.raises(gt.errors.BudgetExceeded):
        s.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").answer(epsilon="0.1", key_delta="5e-7")
    s.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon="0.9")
    with pytest.raises(gt.errors.BudgetExceeded):
        s.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon="0.8")


def test_the_same_table_under_another_name_gets_no_second_budget(tmp_path: Path) -> None:
    PEOPLE.write_parquet(tmp_path / "t.parquet")
    with gt.ledger.open(tmp_path / "l") as book:
        session(tmp_path / "t.parquet", ledger=book).close()
        with pytest.raises(gt.errors.SameTable):
            session(tmp_path / "t.parquet", ledger=book, name="again")
        again = session(tmp_path / "t.parquet", ledger=book, name="again", population="people of t")
        assert again.describe().population == "people of t"


def test_a_margin_can_be_asked_for_where_keys_are_found() -> None:
    answer = session().sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").quote(margin=30)
    assert answer.margins["n"] is not None


@all_cases("spend", [{"epsilon": 1, "delta": "1e-7"}, {"rho": "0.1"}, {"mu": "0.5"}])
def test_found_keys_and_gaussian_noise_are_answered_with_one_promise(spend: dict[str, Any]) -> None:
    q = session(budget=gt.ApproxDP(10, "1e-5")).sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    assert isinstance(q.quote(**spend).cost, gt.ApproxDP)
    answer = q.answer(**spend)
    assert isinstance(answer.guarantee, gt.ApproxDP)
    if "epsilon" in spend:
        assert answer.guarantee.epsilon <= Fraction(1) + Fraction(1, 10**6)
        assert answer.guarantee.delta <= Fraction(1, 10**7)


def test_keys_that_combine_to_more_than_64_bits_are_tallied_from_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    from giveortake.compile import partition_selection as found  # noqa: PLC0415

    s = session()
    text = "SELECT k, COUNT(*) AS n, COUNT(DISTINCT id) AS d, MEDIAN(x) AS m FROM t GROUP BY k"
    made = measured(s, text, _spend())
    listed = [("a",), ("b",)]
    narrow = found.with_keys(made, listed)
    monkeypatch.setattr(found, "WIDEST", 2)
    wide = found.with_keys(made, listed)
    assert (narrow.discovered, wide.wanted) == (None, None)
    assert wide.rows() == narrow.rows() == listed
    for one, other in zip(
        exact_integers(made, engine_of(s), narrow), exact_integers(made, engine_of(s), wide), strict=True
    ):
        assert one.tolist() == other.tolist()
        assert one.any()


@all_cases("spend", [{"epsilon": 1}, {"mu": 1}])
def test_a_confidence_close_to_one_is_answered(spend: dict[str, Any]) -> None:
    q = session().sql("SELECT COUNT(*) AS n, AVG(x) AS m FROM t")
    assert len(q.answer(**spend, confidence="0.99999999999999999999")) == 1


def test_an_analysts_own_cap_refuses_in_its_own_name() -> None:
    with gt.ledger.open(":memory:") as book:
        session(ledger=book).close()
        book.analyst("ana", datasets=["t"], budget=gt.PureDP(1))
        with pytest.raises(gt.errors.BudgetExceeded, match="analyst 'ana'"):
            session(ledger=book, analyst="ana").sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=2)


@all_cases("nested", ["SQRT(1 + {})", "(1 / (1 + {}))", "GREATEST(x, {})", "CASE WHEN b THEN {} + 1 END"])
def test_a_question_that_grows_beyond_measure_is_refused_before_it_is_charged(nested: str) -> None:
    text = "x"
    for _ in range(14):
        text = nested.format(text).replace("b THEN", "x > 0 THEN")
    s = session()
    before = s.budget.spent
    with pytest.raises(gt.errors.QueryRefused, match="too long"):
        s.sql(f"SELECT SUM(CLAMP({text}, 0, 1)) AS a FROM t").answer(epsilon="0.1")
    assert s.budget.spent == before


def test_sums_of_many_columns_are_quick_and_read_again_by_their_id() -> None:
    many = " + ".join(["x"] * 98)
    with session() as s:
        answer = s.sql(f"SELECT SUM(CLAMP({many}, 0, 1)) AS a FROM t").answer(epsilon="0.1")
        assert s.release(answer.release_id or "").rows() == answer.rows()


@all_cases("question", ["VAR_POP(x)", "STDDEV(x)", "VARIANCE(4)"])
def test_a_question_that_the_bounds_alone_decide_is_refused_at_no_cost(question: str) -> None:
    with session(domains={"x": (5, 5)}) as s:
        with pytest.raises(gt.errors.QueryRefused):
            s.sql(f"SELECT {question} AS v FROM t").answer(epsilon=1)
        assert s.budget.spent == session().budget.spent


@all_cases("spend", [{"epsilon": "1e-300"}, {"epsilon": "1e-120"}, {"epsilon": 10**9 + 1}, {"mu": 10**10}])
def test_spends_that_nothing_can_be_said_about_are_refused_at_no_cost(spend: dict[str, Any]) -> None:
    with session(budget=gt.ApproxDP(10**12, "1e-6")) as s:
        with pytest.raises(gt.errors.InvalidParameter, match=r"so small|above|outside"):
            s.sql("SELECT COUNT(*) AS n FROM t").answer(**spend)
        assert len([entry for entry in s.history() if entry.kind == "reserved"]) == 0


@all_cases("what", ["MEDIAN(x)", "VAR_POP(x)", "AVG(x)", "COUNT(*)", "COUNT(DISTINCT k)"])
@all_cases("epsilon", ["1e-15", "1e-30", "1e-80"])
def test_noise_beyond_64_bits_is_answered_with_a_margin_that_says_so(what: str, epsilon: str) -> None:
    with session() as s:
        found: dict[str, Any] = s.sql(f"SELECT {what} AS v FROM t").answer(epsilon=epsilon).to_dict()
    assert found["v_low"][0] <= found["v"][0] <= found["v_high"][0]


def test_neither_refinements_nor_files_of_keys_tell_how_many_charges_there_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, first = [], Spool.first

    def seen(spool: Spool, name: str, lines: Any) -> Path:
        path = first(spool, name, lines)
        files.append((name, stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)))
        return path

    monkeypatch.setattr(Spool, "first", seen)
    with session(ledger=tmp_path / "t.ledger", spool=tmp_path / "kept") as s:
        answer = s.sql("SELECT note, COUNT(*) AS n FROM t GROUP BY note").answer(epsilon=50, key_delta="1e-8")
        answer.refine(epsilon=1)
        last = [entry for entry in s.history() if entry.kind == "reserved"][-1]
    assert last.content["name"]["refines"] == [answer.release_id]
    ((name, mode, folder),) = files
    assert name.startswith(f"{answer.release_id}-0-")
    assert (mode, folder) == (0o600, 0o700)
