"""Plans as JSON: what is written is read again, exactly, and whatever else is refused by a sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asked_tables import CATALOG, table
from giveortake import frame as gt
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.plan import Catalog, KeepParts, Origin, Question, Scan
from giveortake.plan.codec import question_from_json, question_to_json
from giveortake.plan.question import AggregateKind
from paired_questions import PAIRS
from tiers import tiered

GOLDEN = Path(__file__).with_name("golden_plans.json")
WHOLE = {name: Scan(scan.table, is_whole=True) for name, scan in CATALOG.private.items() if isinstance(scan, Scan)}
ORIGIN = Origin(CATALOG.private, WHOLE, CATALOG.public)
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
    kept = KeepParts(CATALOG.private["trips"], "region", 1)
    yield "keep parts", gt.Table(kept, CATALOG, lambda each: each).agg(n=gt.count())
    whole = gt.Table(WHOLE["trips"], Catalog(WHOLE), lambda each: each)
    yield "whole table", whole.agg(n=gt.count())


def written(question: Question) -> Any:
    return json.loads(json.dumps(question_to_json(question, ORIGIN)))


def golden() -> dict[str, Any]:
    """The documents that ledgers hold from here on. A change is a new format."""
    return {name: written(question) for name, question in questions() if name in MORE or name == "keep parts"}


def test_every_question_is_read_as_it_was_written() -> None:
    for name, question in questions():
        again = question_from_json(written(question), ORIGIN)
        assert again == question, name
        assert written(again) == written(question), name
        ORIGIN.require(again)  # made of the very tables of the origin


def test_documents_stay_as_they_were_first_written() -> None:
    assert golden() == json.loads(GOLDEN.read_text())
    for content in json.loads(GOLDEN.read_text()).values():
        assert written(question_from_json(content, ORIGIN)) == content


def test_the_golden_documents_hold_every_kind_of_node() -> None:
    text = json.dumps([written(question) for _, question in questions()])
    relations = (
        "table, whole table, filter, derive, join public, semi join, join persons, union, per person, keep parts"
    )
    outputs = "measured, arithmetic, computed, window, number, condition"
    literals = "NoneType, bool, int, Fraction, str, date, datetime"
    aggregates = ", ".join(each for each in AggregateKind if each != "minimum")
    for kind in f"{relations}, {outputs}, {literals}, {aggregates}".split(", "):
        assert f'"{kind}"' in text, kind


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"relation": ["recursive", ["table", "trips"]]}, "'recursive'"),
    ({"relation": ["scan", "trips", 1]}, "'scan'"),
    ({"relation": ["table", "wages"]}, "`wages`"),
    ({"outputs": [["n", ["measured", ["mode", None, None]]]]}, "'mode'"),
    ({"outputs": [["n", ["measured", ["sum", None, None]]]]}, "of something else"),
    ({"outputs": [["n", ["oracle"]]]}, "'oracle'"),
    ({"keys": [["k", ["shell", "rm"]]]}, "'shell'"),
    ({"keys": [["k", ["call", "shell", ["column", "region"]]]]}, "SHELL"),
    ({"keys": [["k", ["literal", "bytes", "x"]]]}, "'bytes'"),
    ({"keys": [["k", ["literal", "Fraction", "1e30000000"]]]}, "a number"),
    ({"keys": [["k", ["literal", "Fraction", "1e-30000000"]]]}, "a number"),
    ({"keys": [["k", ["literal", "Fraction", "nan"]]]}, "a number"),
    ({"outputs": [["n", ["number", "1e30000000"]]]}, "a number"),
    ({"outputs": [["n", ["computed", "round", [["number", "1"]], "1e30000000"]]]}, "a number"),
    (
        {"outputs": [["n", ["measured", ["quantile", ["column", "amount"], "1e-30000000"]]]]},
        "a number",
    ),
    ({"keys": [["k\n", ["column", "region"]]]}, "printable"),
    ({"having": ["condition", "like", [["column", "region"], ["literal", "str", "%"]]]}, "'like'"),
    ({"having": ["condition", "eq", [["column", "region"], ["number", "1"]]]}, "compared"),
    ({"having": ["condition", "and", [["number", "1"]]]}, "joins conditions"),
    ({"order": [["nobody", False, False, None]]}, "orders"),
    ({"shown": ["n", "n"]}, "shows columns"),
    ({"format": 2}, "later version"),
    ({"limit": -1}, "negative"),
    ({"limit": True}, "damaged"),
    ({"more": 1}, "no others"),
]


def test_what_is_not_known_is_refused_by_its_kind() -> None:
    document = written(table("trips").group_by("region").agg(n=gt.count()))
    for change, fact in UNKNOWN:
        with pytest.raises(QueryRefused, match=fact):
            question_from_json({**document, **change}, ORIGIN)


def test_a_public_table_of_other_content_is_refused() -> None:
    document = written(dict(questions())["join public"])
    text = json.dumps(document).replace(json.dumps(["zones", ""]), json.dumps(["zones", "other"]))
    assert text != json.dumps(document)
    with pytest.raises(QueryRefused, match="zones"):
        question_from_json(json.loads(text), ORIGIN)


def test_deep_and_wide_documents_are_refused_and_not_walked_to_the_end() -> None:
    document = written(table("trips").agg(n=gt.count()))
    deep: Any = ["column", "paid"]
    for _ in range(5_000):
        deep = ["call", "not", deep]
    many: Any = ["table", "trips"]
    for _ in range(300):
        many = ["union", many, ["table", "trips"]]
    wide = ["call", "in", ["column", "age"], *([["literal", "int", "1"]] * 30_000)]
    for change in (
        {"relation": ["filter", ["table", "trips"], deep]},
        {"relation": many},
        {"relation": ["filter", ["table", "trips"], wide]},
        {"keys": [["k", ["literal", "int", "9" * 5_000]]]},
    ):
        with pytest.raises(QueryRefused):
            question_from_json({**document, **change}, ORIGIN)


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
        ["table", "trips"],
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
            again = question_from_json(mangled, ORIGIN)
        except QueryRefused:
            continue
        read += 1
        ORIGIN.require(again)
        assert question_from_json(written(again), ORIGIN) == again
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


@pytest.mark.parametrize("digits", ["1_0", "\uff11", "\u0663"])
def test_whole_numbers_of_a_plan_are_plain_digits(digits: str) -> None:
    text = "SELECT COUNT(*) AS n FROM trips WHERE age < 77"
    document = json.dumps(written(sql.read(text, CATALOG).question))
    assert '"77"' in document
    with pytest.raises(QueryRefused):
        question_from_json(json.loads(document.replace('"77"', json.dumps(digits))), ORIGIN)
