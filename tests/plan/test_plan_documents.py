"""Plans as JSON: what is written is read again, exactly, and whatever else is refused by a sentence."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asked_tables import CATALOG, table
from cases import all_cases
from giveortake import frame as gt
from giveortake import sql
from giveortake.codec import MOST_PARTS, read, schema, text_of
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import MOST_DIGITS
from giveortake.plan import (
    AggregateKind,
    Call,
    Catalog,
    ColumnReference,
    Computed,
    Expression,
    Filter,
    KeepParts,
    Measured,
    Origin,
    Question,
    Quotient,
    Relation,
    Scan,
    Window,
)
from giveortake.plan.expressions import DEEPEST
from giveortake.plan.question import Condition, Order
from paired_questions import PAIRS
from tiers import tiered

GOLDEN = Path(__file__).with_name("golden_plans.json")
WHOLE = {name: Scan(scan.table, is_whole=True) for name, scan in CATALOG.private.items() if isinstance(scan, Scan)}
ORIGIN = Origin(CATALOG.private, WHOLE, CATALOG.public)
REFUSED = (InvalidParameter, QueryRefused)
MORE = {
    "semi join": "SELECT COUNT(*) AS n FROM trips WHERE zone NOT IN (SELECT zone FROM zones WHERE city = 'Rome')",
    "join public": "SELECT city, COUNT(*) AS n FROM trips LEFT JOIN zones ON trips.zone = zones.zone GROUP BY city",
    "join persons": "SELECT SUM(minutes) AS m FROM trips JOIN visits ON trips.user_id = visits.user_id",
    "union": "SELECT COUNT(*) AS n FROM (SELECT user_id FROM trips UNION ALL SELECT user_id FROM visits)",
    "per person": "SELECT AVG(CLAMP(n, 0, 9)) AS mean FROM "
    "(SELECT user_id, COUNT(*) AS n, MAX(amount) AS top FROM trips WHERE day > DATE '2024-02-29' GROUP BY user_id)",
    "pairs": "SELECT CORR(amount, age) AS c, COVAR_SAMP(amount, age) AS s, COVAR_POP(amount, age) AS p, "
    "REGR_SLOPE(amount, age) AS b, REGR_INTERCEPT(amount, age) AS i FROM trips",
    "samples": "SELECT VAR_SAMP(amount) AS v, STDDEV_SAMP(amount) AS d FROM trips",
    "having": "SELECT region, COUNT(*) AS n FROM trips GROUP BY region "
    "HAVING (COUNT(*) > 3 OR region IN ('north', 'x')) AND NOT SUM(amount) IS NULL ORDER BY AVG(amount) DESC LIMIT 3",
    "windows": "SELECT region, paid, SUM(COUNT(*)) OVER (PARTITION BY region ORDER BY paid ROWS 2 PRECEDING) AS t, "
    "NTILE(4) OVER (ORDER BY COUNT(*) DESC) AS k, ROUND(SQRT(AVG(amount)), 2) AS r FROM trips GROUP BY region, paid",
    "moments": "SELECT COUNT(*) AS n FROM trips WHERE at < TIMESTAMP '2024-01-01 12:30:00' "
    "AND amount < 1.25 AND paid = TRUE",
    "distinct": "SELECT DISTINCT region FROM trips",
    "quantile": "SELECT QUANTILE(amount, 0.9) AS q, COUNT(DISTINCT note) AS d FROM trips",
}


def questions() -> Iterator[tuple[str, Question]]:
    for text, build in PAIRS:
        yield text, build()
    for name, text in MORE.items():
        yield name, sql.parse(text, CATALOG)
    kept = KeepParts(CATALOG.private["trips"], ("region",), 1)
    yield "keep parts", gt.Table(kept, CATALOG, lambda each: each).agg(n=gt.count())
    whole = gt.Table(WHOLE["trips"], Catalog(WHOLE), lambda each: each)
    yield "whole table", whole.agg(n=gt.count())


def written(question: Question) -> Any:
    return json.loads(text_of(question, references=ORIGIN))


def again(document: Any) -> Question:
    question: Question = read(Question, document, references=ORIGIN)
    return question


def golden() -> dict[str, Any]:
    """The documents that ledgers hold from here on. A change is a new format."""
    return {name: written(question) for name, question in questions() if name in MORE or name == "keep parts"}


def test_every_question_is_read_as_it_was_written() -> None:
    for name, question in questions():
        read = again(written(question))
        assert read == question, name
        assert written(read) == written(question), name
        ORIGIN.require(read)  # made of the very tables of the origin


def test_documents_stay_as_they_were_first_written() -> None:
    assert golden() == json.loads(GOLDEN.read_text())
    for content in json.loads(GOLDEN.read_text()).values():
        assert written(again(content)) == content


def test_the_golden_documents_hold_every_kind_of_node() -> None:
    text = json.dumps([written(question) for _, question in questions()])
    for base in (Relation, Expression, Measured, Quotient, Computed, Window, Condition, Order):
        for kind in schema(base)["$defs"]:
            assert "." not in kind or f'"{kind.rpartition(".")[2]}"' in text, kind
    for kind in ("table", "whole table", "public table", *(kind for kind in AggregateKind if kind != "minimum")):
        assert f'"{kind}"' in text, kind
    for value in ("null", "true", "7", '"north"', '{"fraction": "', '{"day": "', '{"time": "'):
        assert f'"value": {value}' in text, value


ROWS = {"kind": "count rows"}
TRIPS = {"kind": "table", "name": "trips"}


def column(name: str) -> dict[str, Any]:
    return {"kind": "column", "name": name}


def literal(value: Any) -> dict[str, Any]:
    return {"kind": "literal", "value": value}


def outputs(output: Any) -> dict[str, Any]:
    return {"outputs": [["n", output]]}


def having(operation: str, *parts: Any) -> dict[str, Any]:
    return {"having": {"kind": "condition", "operation": operation, "parts": list(parts)}}


UNKNOWN: list[dict[str, Any]] = [
    {"relation": {"kind": "recursive", "source": TRIPS}},
    {"relation": {"kind": "scan", "table": "trips", "most_rows_of_person": 1}},
    {"relation": {"kind": "table", "name": "wages"}},
    {"relation": {**TRIPS, "most_rows_of_person": 9}},
    {"relation": {"kind": "public table", "name": "zones", "fingerprint": ""}},
    {"relation": {"kind": "derive", "source": TRIPS, "named": [["", literal(1)]]}},
    {"relation": {"kind": "keep parts", "source": TRIPS, "columns": ["region"], "most": 0}},
    {"relation": {"kind": "keep parts", "source": TRIPS, "columns": ["nobody"], "most": 1}},
    outputs({"kind": "measured", "aggregate": {"kind": "mode"}}),
    outputs({"kind": "measured", "aggregate": {"kind": "sum"}}),
    outputs({"kind": "measured", "aggregate": {**ROWS, "expression": column("age")}}),
    outputs({"kind": "measured", "aggregate": {"kind": "quantile", "expression": column("age"), "quantile": "1e-9"}}),
    outputs({"kind": "oracle"}),
    outputs("1e30000000"),
    outputs({"kind": "arithmetic", "operation": "power", "left": "1/1", "right": "1/1"}),
    outputs({"kind": "computed", "function": "shell", "parts": ["1/1"]}),
    outputs({"kind": "computed", "function": "round", "parts": ["1/1"], "constant": "1e30000000"}),
    outputs({"kind": "window", "function": "shell"}),
    {"keys": [["k", {"kind": "shell", "name": "rm"}]]},
    {"keys": [["k", {"kind": "call", "name": "shell", "arguments": [column("region")]}]]},
    {"keys": [["k", literal({"bytes": "x"})]]},
    {"keys": [["k", literal({"fraction": "1e30000000"})]]},
    {"keys": [["k", literal({"fraction": "nan"})]]},
    {"keys": [["k", literal({"time": "2024-01-01T00:00:00+01:00"})]]},
    {"keys": [["k", literal(0.5)]]},
    {"keys": [["k\n", column("region")]]},
    having("like", column("region"), "%"),
    having("eq", column("region"), {"fraction": "1/1"}),
    having("and", {"fraction": "1/1"}),
    {"order": [{"kind": "order", "column": "nobody"}]},
    {"columns": ["n", "n"]},
    {"limit": -1},
    {"limit": True},
    {"more": 1},
    {"kind": "answer"},
]


@all_cases("change", UNKNOWN)
def test_what_is_not_known_is_refused(change: dict[str, Any]) -> None:
    document = written(table("trips").group_by("region").agg(n=gt.count()))
    with pytest.raises(REFUSED):
        again({**document, **change})


def test_a_public_table_of_other_content_is_refused() -> None:
    text = json.dumps(written(dict(questions())["join public"]))
    other = text.replace('"fingerprint": ""', '"fingerprint": "other"')
    assert other != text
    with pytest.raises(QueryRefused, match="zones"):
        again(json.loads(other))


def test_a_table_that_is_not_the_origins_own_cannot_be_written() -> None:
    trips: Any = CATALOG.private["trips"]
    question = sql.parse("SELECT COUNT(*) AS n FROM trips", CATALOG)
    for relation in (dataclasses.replace(trips), dataclasses.replace(trips, most_rows_of_person=1)):
        with pytest.raises(QueryRefused):
            written(dataclasses.replace(question, relation=relation))


def test_deep_and_wide_documents_are_refused_and_not_walked_to_the_end() -> None:
    document = written(table("trips").agg(n=gt.count()))
    deep: Any = column("paid")
    for _ in range(5_000):
        deep = {"kind": "call", "name": "not", "arguments": [deep]}
    many: Any = TRIPS
    for _ in range(300):
        many = {"kind": "union", "left": many, "right": TRIPS}
    wide = {"kind": "call", "name": "in", "arguments": [column("age"), *[literal(1)] * (MOST_PARTS // 2)]}
    for change in (
        {"relation": {"kind": "filter", "source": TRIPS, "condition": deep}},
        {"relation": many},
        {"relation": {"kind": "filter", "source": TRIPS, "condition": wide}},
        {"keys": [["k", literal(1 << (8 * MOST_DIGITS))]]},
    ):
        with pytest.raises(REFUSED):
            again({**document, **change})


def test_the_deepest_question_is_read_as_it_was_written() -> None:
    relation: Any = CATALOG.private["trips"]
    for _ in range(150):
        relation = Filter(relation, ColumnReference("paid"))
    condition: Any = ColumnReference("paid")
    for _ in range(DEEPEST):
        condition = Call("not", (condition,))
    question = table("trips").agg(n=gt.count())
    deepest = dataclasses.replace(question, relation=Filter(relation, condition))
    assert again(written(deepest)) == deepest


def test_a_mangled_document_is_a_question_or_a_refusal_and_nothing_else() -> None:
    luck = random.Random("mangled plans")  # noqa: S311 (which documents are tried need not be secret)
    documents = [written(question) for _, question in questions()]
    spare: list[Any] = [
        None,
        True,
        -1,
        2**70,
        0.5,
        "",
        "north",
        "region",
        "x" * 99,
        [],
        {"kind": "table", "name": "trips"},
        {},
        "1/0",
        "nan",
    ]
    read = 0
    for _ in range(tiered(800, 5_000)):
        mangled = json.loads(json.dumps(luck.choice(documents)))
        for _ in range(luck.randint(1, 3)):
            _mangle(mangled, luck, [*spare, luck.choice(documents)["relation"], luck.choice(documents)["outputs"]])
        try:
            question = again(mangled)
        except REFUSED:
            continue
        read += 1
        ORIGIN.require(question)
        assert again(written(question)) == question
    assert read > 3  # some changes leave a question


def _mangle(document: Any, luck: random.Random, spare: list[Any]) -> None:
    """Put something else into a random place."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in range(len(node)) if isinstance(node, list) else list(node):
            places.append((node, key))
            if isinstance(node[key], list | dict):
                walk(node[key])

    walk(document)
    node, key = luck.choice(places)
    others = [each[place] for each, place in luck.sample(places, min(4, len(places)))]
    node[key] = json.loads(json.dumps(luck.choice([*spare, *others])))


@pytest.mark.parametrize("digits", ["1_0", "\uff11", "\u0663", "77"])
def test_whole_numbers_of_a_plan_are_numbers_of_json(digits: str) -> None:
    document = json.dumps(written(sql.parse("SELECT COUNT(*) AS n FROM trips WHERE age < 77", CATALOG)))
    assert ": 77}" in document
    with pytest.raises(REFUSED):
        again(json.loads(document.replace(": 77}", f": {json.dumps(digits)}}}")))
