"""Frames: what Python code builds, and what it is told when it errs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from asked_tables import CATALOG, table
from giveortake import frame as gt
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.frame.expressions import node_of
from giveortake.plan import AggregateKind, Call, ColumnReference, Literal, Measured, Question
from giveortake.plan.question import Condition, Order

col = gt.col


def trips() -> gt.Table:
    return table("trips")


def doubled(times: int) -> gt.Table:
    found = trips()
    for _ in range(times):
        found = found.union(found)
    return found


def filtered(times: int) -> gt.Table:
    found = trips()
    for _ in range(times):
        found = found.filter(col("paid"))
    return found


def test_agg_gives_what_ask_makes_of_the_question() -> None:
    def names(question: Question) -> tuple[str, ...]:
        return question.columns

    assert gt.Table(CATALOG.private["trips"], CATALOG, names).agg(n=gt.count()) == ("n",)


def test_a_table_stays_what_it_was() -> None:
    before = trips()
    before.filter(col("amount") > 3).derive(x=col("amount") * 2).select("region")
    assert before == trips()


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (Decimal("0.25"), Fraction(1, 4)),
        (3, 3),
        (np.int64(3), 3),
        (np.float64(0.1), Fraction(1, 10)),
        ("a", "a"),
        (True, True),
        (None, None),
        (dt.date(2024, 1, 31), dt.date(2024, 1, 31)),
    ],
)
def test_a_number_means_its_shortest_decimal(value: Any, exact: object) -> None:
    assert node_of(gt.lit(value)) == Literal(exact)  # type: ignore[arg-type]


def test_operators_work_from_both_sides() -> None:
    amount = ColumnReference("amount")
    assert node_of(1 + col("amount")) == Call("add", (Literal(1), amount))
    assert node_of(1 - col("amount")) == Call("subtract", (Literal(1), amount))
    assert node_of(2 * col("amount")) == Call("multiply", (Literal(2), amount))
    assert node_of(1 / col("amount")) == Call("divide", (Literal(1), amount))
    assert node_of(1 < col("amount")) == Call("gt", (amount, Literal(1)))  # noqa: SIM300 (the point)
    assert node_of(-col("amount")) == Call("negate", (amount,))


def test_an_expression_reads_as_it_is_written() -> None:
    assert repr((col("a") + 0.5 >= 1) & ~col("b").isin(["x"])) == "(((a + 1/2) >= 1) & not(in(b, 'x')))"


def test_a_condition_on_the_answer_may_name_keys_outputs_and_aggregates() -> None:
    question = (
        trips()
        .group_by("region", "paid")
        .having((col("n") >= 2) & col("paid"), ~(gt.maximum("age") > 3) | (gt.count_distinct("user_id") != 4))
        .order_by("n", missing_first=True)
        .order_by("region", descending=True)
        .limit(0)
        .agg(n=gt.count())
    )
    kinds = [aggregate.kind for aggregate in question.aggregates()]
    assert kinds == [AggregateKind.COUNT_ROWS, AggregateKind.QUANTILE, AggregateKind.COUNT_PERSONS]
    assert question.having.parts[0].parts[1] == Condition("eq", (ColumnReference("paid"), True))
    assert question.order == (Order("n", missing_first=True), Order("region", descending=True))
    assert question.limit == 0


def test_extremes_within_arithmetic_are_quantiles() -> None:
    question = trips().agg(spread=gt.maximum("age") - gt.minimum("age"))
    assert {aggregate.quantile for aggregate in question.aggregates()} == {Fraction(0), Fraction(1)}
    assert isinstance(question.outputs[0][1].left, Measured)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: bool(col("a") > 1), "neither true nor false"),
    (lambda: (col("a") > 1) and (col("b") > 2), "neither true nor false"),
    (lambda: 1 < col("a") < 3, "neither true nor false"),
    (lambda: bool(gt.count()), "before it is answered"),
    (lambda: bool(gt.count() > 3), "before it is answered"),
    (lambda: col(3), "named by text"),  # type: ignore[arg-type]
    (lambda: col("a") + {1}, "not a value of a column"),  # type: ignore[operator]
    (lambda: gt.lit(float("nan")), "not finite"),
    (lambda: gt.lit(1 << 70), "64 bits"),
    (lambda: col("a").isin([]), "list of values"),
    (lambda: col("a").isin("north"), "list of values"),
    (lambda: col("a").cast("blob"), "blob"),
    (lambda: gt.when(col("a")).when(col("b")), "followed by then"),
    (lambda: gt.when(col("a")).otherwise(1), "follows then"),
    (lambda: gt.when(col("a")).then(1).then(2), "follows when"),
    (lambda: gt.quantile("age", "most"), "fraction"),
    (lambda: gt.quantile("age", 1.5), "from 0 to 1"),
    (lambda: gt.count() + "1 apple", "number"),  # type: ignore[operator]
    (lambda: trips().filter(col("nothing") > 1), "no column `nothing`"),
    (lambda: trips().filter(col("amount")), "needs a condition"),
    (lambda: trips().derive(user_id=col("zone")), "whose row it is"),
    (lambda: trips().derive(User_ID=col("zone")), "whose row it is"),
    (lambda: trips().derive(Amount=col("zone")), "differ only in case"),
    (lambda: trips().select(USER_ID=col("region")), "whose row it is"),
    (lambda: trips().select("region", "region"), "selected twice"),
    (lambda: trips().select("region", Region=col("zone")), "selected twice"),
    (lambda: trips().select("nothing"), "no column `nothing`"),
    (lambda: trips().per_person(user_id=gt.count()), "whose row it is"),
    (lambda: trips().per_person(by=["region"], REGION=gt.count()), "grouped by and computed"),
    (lambda: trips().per_person(r=gt.sum("amount") / gt.count()), "not one aggregate"),
    (lambda: trips().per_person(r=gt.median("amount")), "within one person"),
    (lambda: trips().per_person(by=["nothing"]), "no column `nothing`"),
    (lambda: trips().join("zones", on="region"), "not unique"),
    (lambda: trips().join("zones", on="amount", column="zone"), "cannot be joined"),
    (lambda: trips().join("zones", on="zone", how="cross"), "cross"),
    (lambda: trips().join("zones", on=col("zone")), "needs column"),
    (lambda: trips().join("zones", on="age"), "no column `age` in `zones`"),
    (lambda: trips().join("visits", on="user_id"), "private"),
    (lambda: trips().join("nowhere", on="zone"), "no table `nowhere`"),
    (lambda: trips().join_person(table("rows")), "no person column"),
    (lambda: trips().join_person(table("visits"), how="outer"), "outer"),
    (lambda: trips().union(table("rows")), "UNION ALL"),
    (lambda: trips().group_by(), "needs a key"),
    (lambda: trips().group_by("user_id").agg(n=gt.count()), "names people"),
    (lambda: trips().group_by("amount").agg(n=gt.count()), "real values cannot be grouped by"),
    (lambda: trips().group_by("region").agg(region=gt.count()), "the same name"),
    (lambda: trips().group_by("region").agg(), "asks for keys"),
    (lambda: trips().agg(n=3), "not an aggregate"),  # type: ignore[arg-type]
    (lambda: trips().agg(s=gt.sum("tip")), "needs bounds"),
    (lambda: trips().group_by("region").order_by("m").agg(n=gt.count()), "`m` is not a column"),
    (lambda: trips().group_by("region").having(col("amount") > 1).agg(n=gt.count()), "`amount` is not a column"),
    (lambda: trips().group_by("region").having(col("n") + 1).agg(n=gt.count()), "having compares"),
    (lambda: trips().group_by("region").having(col("n") + 1 > 2).agg(n=gt.count()), "having compares"),
    (lambda: trips().group_by("region").having(col("n") > "many").agg(n=gt.count()), "real value cannot be compared"),
    (lambda: trips().group_by("region").having(col("region") == 1).agg(n=gt.count()), "text value cannot be compared"),
    (lambda: trips().group_by("region").limit(-1), "whole number"),
    (lambda: trips().agg(**{"": gt.count()}), "printable"),
    (lambda: trips().derive(**{"a\n": col("age")}), "printable"),
    (lambda: doubled(40), "steps"),
    (lambda: filtered(1_000), "steps"),
]


@pytest.mark.parametrize(("build", "names"), REFUSED, ids=[names for _, names in REFUSED])
def test_what_cannot_be_asked_is_refused_by_name(build: Callable[[], object], names: str) -> None:
    with pytest.raises(QueryRefused, match=names):
        build()


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda: trips().agg("count"), "agg(n=gt.count()"),  # type: ignore[arg-type]
        (lambda: trips().group_by("region").agg(gt.count()), "agg(n=gt.count()"),  # type: ignore[arg-type]
        (lambda: trips().filter("amount > 1"), 'filter(gt.col("fee") > 1)'),
    ],
)
def test_other_ways_to_ask_are_refused_with_the_way_here(ask: Callable[[], object], hint: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        ask()
    assert hint in str(refused.value.hint)


DATED: dict[str, tuple[Callable[[gt.Table], gt.Table], str]] = {
    "after": (lambda t: t.filter(col("day") > "2024-01-31"), "day > '2024-01-31'"),
    "between": (
        lambda t: t.filter(col("day").between("2024-01-31", "2024-02-29")),
        "day BETWEEN '2024-01-31' AND '2024-02-29'",
    ),
    "one of": (lambda t: t.filter(col("day").isin(["2024-01-31"])), "day IN ('2024-01-31')"),
    "inside others": (
        lambda t: t.filter((col("amount") > 1) & ~(col("day") == "2024-01-31")),
        "amount > 1 AND NOT (day = '2024-01-31')",
    ),
}


@pytest.mark.parametrize(("written", "condition"), DATED.values(), ids=DATED)
def test_texts_beside_dates_are_dates_as_in_sql(written: Callable[[gt.Table], gt.Table], condition: str) -> None:
    asked = sql.read(f"SELECT COUNT(*) AS n FROM trips WHERE {condition}", CATALOG).question
    assert written(trips()).agg(n=gt.count()) == asked
    with pytest.raises(QueryRefused, match="2024-01-31"):
        trips().filter(col("day") > "January")
    late = trips().group_by(late=col("day") >= "2024-07-01").agg(n=gt.count())
    assert late == trips().group_by(late=col("day") >= dt.date(2024, 7, 1)).agg(n=gt.count())
    assert trips().derive(late=col("day") >= "2024-07-01").relation.schema["late"].kind.value == "boolean"
