"""One golden suite for both front ends: the same question in SQL and in Python."""

# ruff: noqa: E501 (queries read best in one piece)

from __future__ import annotations

from fractions import Fraction

import pytest

from asked_tables import CATALOG
from giveortake import frame as gt
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.plan import AggregateKind, JoinPublic, PerPerson, identity
from paired_questions import PAIRS, col, trips


def test_sql_and_frame_build_the_same_question() -> None:
    for text, build in PAIRS:
        question, parsed = build(), sql.parse(text, CATALOG)
        assert parsed == question, text
        assert identity(parsed) == identity(question), text


def test_having_computes_with_columns_of_the_answer() -> None:
    text = "SELECT region, COUNT(*) AS n, SUM(amount) AS s FROM trips GROUP BY region HAVING "
    plain = sql.parse(text + "2 * COUNT(*) - SUM(amount) > COUNT(*)", CATALOG)
    assert sql.parse(text + "2 * N - SUM(amount) > (n)", CATALOG) == plain
    with pytest.raises(QueryRefused, match="`region`"):
        sql.parse(text + "n + region > 3", CATALOG)


def test_names_are_found_whatever_their_case() -> None:
    plain = sql.parse("SELECT region, SUM(amount) AS s FROM trips GROUP BY region", CATALOG)
    assert sql.parse('SELECT Region, SUM(t.AMOUNT) AS s FROM "TRIPS" AS T GROUP BY t.REGION', CATALOG) == plain


def test_columns_without_a_name_get_one_that_is_not_taken() -> None:
    text = "SELECT YEAR(day), COUNT(*), COUNT(*), SUM(amount) / 2, AVG(amount + 1) AS count_2 FROM trips GROUP BY 1"
    assert sql.parse(text, CATALOG).columns == ("year_day", "count", "count_3", "value", "count_2")


def test_a_part_named_by_with_hides_a_table_and_reads_the_table_it_hides() -> None:
    text = "WITH trips AS (SELECT * FROM trips WHERE paid) SELECT COUNT(*) AS n FROM trips"
    assert sql.parse(text, CATALOG) == trips().filter(col("paid")).agg(n=gt.count())
    inner = "SELECT COUNT(*) AS n FROM (WITH visits AS (SELECT * FROM trips) SELECT * FROM visits)"
    assert sql.parse(inner, CATALOG) == trips().agg(n=gt.count())


def test_a_column_hides_an_alias_in_group_by() -> None:
    question = sql.parse("SELECT region, COUNT(*) AS zone FROM trips GROUP BY region ORDER BY zone", CATALOG)
    assert question.order[0].column == "zone"
    with pytest.raises(QueryRefused, match="neither grouped"):
        sql.parse("SELECT YEAR(day) AS region, COUNT(*) AS n FROM trips GROUP BY region", CATALOG)


def test_a_column_defined_anew_has_the_bounds_of_its_definition() -> None:
    text = "SELECT SUM(amount) AS s FROM (SELECT amount * 100 AS amount FROM trips)"
    domain = sql.parse(text, CATALOG).relation.schema["amount"]
    assert domain.high is not None
    assert domain.high >= 50_000
    with pytest.raises(QueryRefused, match="needs bounds"):
        sql.parse("SELECT SUM(amount) AS s FROM (SELECT tip AS amount FROM trips)", CATALOG)


def test_numbers_are_exact() -> None:
    question = sql.parse("SELECT SUM(CLAMP(tip, 0, 0.1)) AS s FROM trips WHERE tip < 1e-2 AND age < 1_0", CATALOG)
    (aggregate,) = question.aggregates()
    assert aggregate.expression is not None
    assert aggregate.expression.domain(question.relation.schema).high == Fraction(1, 10)


def test_extremes_of_persons_are_features_and_those_of_everybody_are_quantiles() -> None:
    question = sql.parse("SELECT MAX(m) AS x FROM (SELECT MAX(age) AS m FROM trips GROUP BY user_id)", CATALOG)
    assert isinstance(question.relation, PerPerson)
    assert question.relation.features[0][1].kind is AggregateKind.MAXIMUM
    assert question.aggregates()[0].kind is AggregateKind.QUANTILE


def test_columns_of_a_join_that_share_a_name_are_told_apart() -> None:
    question = sql.parse(
        "SELECT z.region, COUNT(*) AS n FROM trips JOIN zones z USING (zone) GROUP BY z.region", CATALOG
    )
    assert isinstance(question.relation, JoinPublic)
    assert question.keys[0][0] == "region"
    assert ("region", "zones.region") in question.relation.taken


def test_the_person_keeps_its_place_under_another_name() -> None:
    text = "SELECT COUNT(DISTINCT who) AS n FROM (SELECT user_id AS who, amount FROM trips)"
    assert sql.parse(text, CATALOG).aggregates()[0].kind is AggregateKind.COUNT_PERSONS


def test_bigquery_options_are_read_and_bounds_become_clamps() -> None:
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, delta=1e-7, privacy_unit_column=USER_ID) region, "
        "SUM(tip * 2, contribution_bounds_per_group => (-1, 100)) AS s, "
        "PERCENTILE_CONT(tip, 0.9, contribution_bounds_per_row => (0, 9)) AS q FROM trips GROUP BY region"
    )
    found = sql.read(text, CATALOG)
    assert found.options == {"epsilon": Fraction(1, 10), "delta": Fraction(1, 10**7), "privacy_unit_column": "USER_ID"}
    assert found.question == trips().group_by("region").agg(
        s=gt.sum((col("tip") * 2).clamp(-1, 100)), q=gt.quantile(col("tip").clamp(0, 9), 0.9)
    )
    plain = sql.read("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM trips", CATALOG)
    assert (plain.options, plain.question) == ({}, sql.parse("SELECT COUNT(*) FROM trips", CATALOG))


def test_words_inside_texts_and_comments_are_not_read_as_clauses() -> None:
    text = "SELECT /* ; DROP */ COUNT(*) AS n FROM trips -- ; SET\nWHERE note = 'a; b -- contribution_bounds_per_group => '"
    assert sql.parse(text, CATALOG) == trips().filter(col("note") == "a; b -- contribution_bounds_per_group => ").agg(
        n=gt.count()
    )
