"""Plans are public values; what they are made of is not taken on trust."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.errors import QueryRefused
from giveortake.plan import ColumnReference, Domain, JoinPublic, Kind, PublicTable

TABLE = pl.DataFrame({"p": [f"p{i % 30}" for i in range(300)], "k": ["a", "b", "c"] * 100, "x": [1.0] * 300})
ZONES = pl.DataFrame({"k": ["a", "b", "c"], "zone": ["n", "n", "s"]})


@pytest.fixture
def s() -> Any:
    said: dict[str, Any] = {"domains": {"k": ["a", "b", "c"], "x": (0, 1)}, "public": {"zones": ZONES}, "name": "t"}
    with gt.protect(TABLE, unit="p", budget=gt.PureDP(10), rows_per_person=20, **said) as session:
        yield session


def test_a_part_does_not_answer_questions_to_the_whole(s: gt.session.Session) -> None:
    whole = s.sql("SELECT COUNT(*) AS n FROM t").question
    part = s.partition("k")["a"]
    spent = s.budget.spent
    with pytest.raises(QueryRefused, match="own tables"):
        part.table().ask(whole).answer(epsilon=1)
    with pytest.raises(QueryRefused, match="own tables"):
        s.partition("k")["b"].table().ask(part.sql("SELECT COUNT(*) AS n FROM t").question).quote(epsilon=1)
    assert s.budget.spent == spent


def test_a_table_whose_persons_bounds_or_rows_are_forged_is_refused(s: gt.session.Session) -> None:
    table = s.table()
    scan: Any = table.relation
    forged = [
        dataclasses.replace(scan, table=dataclasses.replace(scan.table, person=None)),
        dataclasses.replace(scan, most_rows_of_person=1),
        dataclasses.replace(scan),
        dataclasses.replace(scan, table=dataclasses.replace(scan.table, columns=(("p", scan.schema["p"]),))),
    ]
    for relation in forged:
        with pytest.raises(QueryRefused, match="own tables"):
            dataclasses.replace(table, relation=relation).agg(n=gt.count()).answer(epsilon=1)


def test_a_public_table_that_claims_to_be_unique_is_refused(s: gt.session.Session) -> None:
    zone = Domain(Kind.TEXT)
    claimed = PublicTable("zones", (("k", zone), ("zone", zone)), frozenset({"zone"}))
    table = s.table()
    joined = JoinPublic(table.relation, claimed, ColumnReference("k"), "zone", (("zone", "z"),))
    with pytest.raises(QueryRefused, match="own tables"):
        dataclasses.replace(table, relation=joined).agg(n=gt.count()).answer(epsilon=1)


def test_an_expression_that_lies_about_its_domain_is_refused(s: gt.session.Session) -> None:
    class Narrow(ColumnReference):  # type: ignore[misc]
        def domain(self, schema: Any) -> Domain:
            return Domain(Kind.INTEGER, nullable=False)

    question = s.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").question
    forged = dataclasses.replace(question, keys=(("k", Narrow("k")),))
    with pytest.raises(QueryRefused, match="own tables"):
        s.table().ask(forged).answer(epsilon=1)


def test_catalogs_cannot_be_written_to(s: gt.session.Session) -> None:
    part: Any = s.partition("k")["a"]
    with pytest.raises(TypeError):
        part.describe().catalog.private["t"] = s.describe().catalog.private["t"]


def test_honest_questions_of_every_kind_pass(s: gt.session.Session) -> None:
    s.sql("SELECT zone, COUNT(*) AS n FROM t JOIN zones USING (k) GROUP BY zone").answer(epsilon=1)
    s.partition("k", parts_per_person=3)["a"].sql("SELECT SUM(x) AS n FROM t").answer(epsilon=1)
    s.profile().answer(epsilon=1)
