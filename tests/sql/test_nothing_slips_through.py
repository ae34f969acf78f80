"""Whatever the reader is given becomes a question or a refusal, and what is not listed never gets in."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from test_refused_texts import WITH_HINTS

from asked_tables import CATALOG
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.plan import Question
from giveortake.sql.refusals import allow
from giveortake.sql.select import ARGUMENTS
from paired_questions import PAIRS
from tiers import tiered

GOLDEN = [text for text, _ in PAIRS]
PIECES = sorted({piece for text in (*GOLDEN, *(text for text, _ in WITH_HINTS)) for piece in text.split()})
ALONE = ["{0}(amount)", "{0}(amount, 0.5)"]
INSIDE = [
    f"COUNT({{0}}({each}))" for each in ("", "amount", "note", "day", "amount, 0.5", "'month', day", "note, 1, 2")
]
CALLS: Any = tiered(["{0}(amount)", "COUNT({0}(amount, 0.5))"], [*ALONE, *INSIDE])


def read(text: str) -> Question | None:
    try:
        return sql.parse(text, CATALOG)
    except QueryRefused:
        return None


@settings(max_examples=tiered(30, 300))
@given(st.text(max_size=80))
def test_arbitrary_text_is_refused(text: str) -> None:
    assert read(text) is None


@settings(max_examples=tiered(30, 300))
@given(st.text(max_size=40))
def test_arbitrary_text_after_select_is_refused_or_read(text: str) -> None:
    read(f"SELECT COUNT(*) AS n FROM trips WHERE {text}")
    read(f"SELECT {text} FROM trips")


@settings(max_examples=tiered(60, 600))
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_shuffled_words_are_refused_or_read(pieces: list[str]) -> None:
    read(" ".join(pieces))
    read("SELECT COUNT(*) AS n FROM trips " + " ".join(pieces))


@settings(max_examples=tiered(80, 800))
@given(st.sampled_from(GOLDEN), st.data())
def test_damaged_queries_are_refused_or_read(text: str, data: st.DataObject) -> None:
    words = text.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.sampled_from(["drop", "double", "replace", "swap", "cut"])):
            case "drop" if len(words) > 1:
                del words[place]
            case "double":
                words.insert(place, words[place])
            case "replace":
                words[place] = data.draw(st.sampled_from(PIECES))
            case "swap":
                other = data.draw(st.integers(0, len(words) - 1))
                words[place], words[other] = words[other], words[place]
            case _:
                words[place] = words[place][: data.draw(st.integers(0, len(words[place])))]
    question = read(" ".join(words))
    if question is not None and question.relation.person is not None:
        assert question.relation.person == "user_id"
        assert question.relation.schema["user_id"] == CATALOG.private["trips"].schema["user_id"]


def test_every_function_that_the_parser_knows_is_listed_or_refused() -> None:
    parser = DuckDB.Parser
    names = {*exp.FUNCTION_BY_NAME, *parser.FUNCTIONS, *parser.FUNCTION_PARSERS, *parser.NO_PAREN_FUNCTION_PARSERS}
    assert len(names) > 500
    accepted = {
        name for name in names for text in CALLS if read(f"SELECT {text.format(name)} AS x FROM trips") is not None
    }
    assert accepted
    assert accepted - {"@"} <= set(ARGUMENTS)  # @ is how DuckDB writes ABS


def test_arguments_and_names_that_the_parser_would_drop_are_refused() -> None:
    calls = [
        "QUANTILE(amount, 0.5, 1)",
        "COUNT(DATE_TRUNC('month', day, day))",
        "COUNT(IFNULL(amount))",
        "COUNT(CONCAT(note))",
        "COUNT(DATE_TO_DATE_STR(day))",
        'COUNT("sum"(amount))',
        "COUNT(CAST(note AS VARCHAR(3)))",
        "COUNT(note.lower())",
    ]
    assert [call for call in calls if read(f"SELECT {call} AS x FROM trips") is not None] == []


def test_every_clause_of_a_select_that_is_not_read_is_refused_when_it_is_set() -> None:
    listed = {"expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit"}
    for name in set(exp.Select.arg_types) - listed:
        node = sqlglot.parse_one("SELECT COUNT(*) FROM trips", dialect="duckdb")
        node.set(name, exp.Var(this="x"))
        with pytest.raises(QueryRefused):
            allow(node, *listed)


def test_every_kind_of_expression_is_listed_or_refused() -> None:
    from giveortake.sql.rows import (  # noqa: PLC0415
        SCALARS,
        SPECIAL,
        Rows,
        Scope,
    )

    relation = CATALOG.private["trips"]
    rows = Rows(Scope(relation, (("trips", {name: name for name in relation.schema}),)))
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expression)]
    refused = [kind for kind in kinds if kind not in SCALARS and kind not in SPECIAL]
    assert len(refused) > 700
    for kind in refused:
        with pytest.raises(QueryRefused):
            rows.expression(kind(this=exp.column("amount")))
