"""No row decides how much memory a question takes: texts are of bounded length and rows do not multiply."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import polars as pl
import pytest

import giveortake as gt
from asked_tables import CATALOG, TRIPS, VISITS, ZONES
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    Catalog,
    ColumnReference,
    Derive,
    Domain,
    Expression,
    Filter,
    JoinPersons,
    JoinPublic,
    Kind,
    Literal,
    Measured,
    PerPerson,
    PrivateTable,
    Question,
    Relation,
    Scan,
    Union,
)
from giveortake.plan.expressions import USUAL_CHARACTERS
from giveortake.plan.relations import MOST_MADE, require_few_matches

TABLE = PrivateTable(
    "t",
    (
        ("p", Domain(Kind.INTEGER, nullable=False)),
        ("note", Domain(Kind.TEXT)),
        ("code", Domain(Kind.TEXT, longest=8)),
        ("flag", Domain(Kind.BOOLEAN)),
        ("at", Domain(Kind.TIMESTAMP)),
    ),
    "p",
)
SCHEMA = TABLE.schema
NOTE, CODE, FLAG = ColumnReference("note"), ColumnReference("code"), ColumnReference("flag")


def count(relation: Relation, *keys: Expression) -> Question:
    named = tuple((f"k{index}", key) for index, key in enumerate(keys))
    return Question(relation, named, (("n", Measured(Aggregate(AggregateKind.COUNT_ROWS))),))


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


@pytest.mark.parametrize(
    ("made", "width"),
    [
        (NOTE, USUAL_CHARACTERS),
        (CODE, 8),
        (call("upper", CODE), 8),
        (call("concat", CODE, Literal("abc"), CODE), 19),
        (call("substring", NOTE, Literal(3), Literal(5)), 5),
        (call("substring", CODE, Literal(1), Literal(50)), 8),
        (call("case", FLAG, CODE, FLAG, Literal("a longer text"), Literal("")), 13),
        (call("coalesce", CODE, NOTE), USUAL_CHARACTERS),
        (call("nullif", CODE, Literal("x")), 8),
        (call("to_text", FLAG), 5),
        (call("to_text", ColumnReference("p")), 40),
        (call("to_text", ColumnReference("at")), 26),
        (call("to_text", CODE), 8),
    ],
)
def test_the_width_of_every_text_is_known_beforehand(made: Expression, width: int) -> None:
    assert made.domain(SCHEMA).width == width


def test_a_stored_text_longer_than_every_category_is_none_of_them_once_it_is_cut() -> None:
    listed = Domain(Kind.TEXT, categories=("a" * 5_000, "b", None))
    assert listed.width == 5_001
    assert Domain(Kind.TEXT, categories=("north",)).width == USUAL_CHARACTERS


def test_a_text_that_doubles_in_every_subquery_is_refused_when_it_could_be_too_long() -> None:
    relation: Relation = Derive(Scan(TABLE), (("t", call("case", FLAG, Literal("xxx"), Literal(""))),))
    made = width = 3
    while made + 2 * width <= MOST_MADE:
        relation = Derive(relation, (("t", call("concat", ColumnReference("t"), ColumnReference("t"))),))
        width *= 2
        made += width
        assert relation.schema["t"].width == width
        count(relation)
    with pytest.raises(QueryRefused, match=f"{made + 2 * width:,} characters"):
        count(Derive(relation, (("t", call("concat", ColumnReference("t"), ColumnReference("t"))),)))


def test_texts_that_are_not_nested_add_up() -> None:
    made = [(f"t{index}", call("concat", NOTE, Literal(str(index)))) for index in range(20)]
    count(Derive(Scan(TABLE), tuple(made[:15])))
    with pytest.raises(QueryRefused, match=r"characters") as refusal:
        count(Derive(Scan(TABLE), tuple(made)))
    assert "SUBSTRING" in str(refusal.value.hint)


def test_texts_that_are_made_and_kept_are_shorter_still() -> None:
    count(Scan(TABLE), call("lower", NOTE))
    with pytest.raises(QueryRefused, match="distinct values"):
        count(Scan(TABLE), *(call(name, NOTE) for name in ("lower", "upper", "trim")), call("concat", NOTE, CODE))
    count(Scan(TABLE), NOTE, NOTE, CODE)  # what is stored is not made
    distinct = Aggregate(AggregateKind.COUNT_DISTINCT, call("concat", NOTE, NOTE, NOTE, NOTE, CODE))
    with pytest.raises(QueryRefused, match="distinct values"):
        Question(Scan(TABLE), (), (("n", Measured(distinct)),))
    made = Derive(Scan(TABLE), (("long", call("concat", NOTE, NOTE, NOTE, NOTE, CODE)),))
    with pytest.raises(QueryRefused, match="distinct values"):
        count(PerPerson(made, ("long",), ()))


def test_kept_texts_of_a_join_count_for_all_rows_that_it_makes() -> None:
    joined = JoinPersons(Scan(TABLE, 100), Scan(TABLE, 100), (("note", "other"),))
    count(joined, call("concat", CODE, ColumnReference("code")))
    with pytest.raises(QueryRefused, match="join"):
        count(joined, call("lower", NOTE))


@pytest.mark.parametrize("name", ["lower", "upper", "trim"])
def test_texts_inside_of_conditions_and_features_count_too(name: str) -> None:
    condition: Expression = call("eq", NOTE, Literal("x"))
    for _ in range(20):
        condition = call("and", condition, call("eq", call(name, NOTE), Literal("x")))
    with pytest.raises(QueryRefused, match="characters"):
        count(Filter(Scan(TABLE), condition))
    features = tuple(
        (f"f{index}", Aggregate(AggregateKind.COUNT_DISTINCT, call("concat", NOTE, Literal(str(index)))))
        for index in range(20)
    )
    with pytest.raises(QueryRefused, match="characters"):
        count(PerPerson(Scan(TABLE), (), features))


def test_patterns_that_ignore_case_make_a_text_too() -> None:
    pattern = call("ilike", NOTE, Literal("%a%"))
    condition: Expression = pattern
    for _ in range(20):
        condition = call("or", condition, pattern)
    with pytest.raises(QueryRefused, match="characters"):
        count(Filter(Scan(TABLE), condition))


def test_relations_without_bounds_on_a_persons_rows_are_not_joined_with_each_other() -> None:
    with pytest.raises(QueryRefused, match="both sides") as refusal:
        require_few_matches(JoinPersons(Scan(TABLE), Scan(TABLE), (("note", "other"),)))
    assert "rows_per_person" in str(refusal.value.hint)
    one_row = PerPerson(Scan(TABLE), (), (("n", Aggregate(AggregateKind.COUNT_ROWS)),))
    for joined in (
        JoinPersons(Scan(TABLE), one_row, (("n", "n"),)),
        JoinPersons(one_row, Scan(TABLE), (("note", "note"),)),
    ):
        require_few_matches(joined)
        assert joined.most_rows is None


def test_the_product_of_caps_is_bounded() -> None:
    few = JoinPersons(Scan(TABLE, 300), Scan(TABLE, 300), (("note", "other"),))
    require_few_matches(few)
    assert few.most_rows == 90_000
    with pytest.raises(QueryRefused, match="100,000"):
        require_few_matches(JoinPersons(Scan(TABLE, 400), Scan(TABLE, 300), (("note", "other"),)))
    with pytest.raises(QueryRefused, match="101"):
        require_few_matches(JoinPersons(Scan(TABLE), Scan(TABLE, 101), (("note", "other"),)))


def test_all_joins_and_unions_together_repeat_a_row_a_hundred_times_at_most() -> None:
    once = Scan(TABLE)
    ten = JoinPersons(once, Scan(TABLE, 10), (("note", "other"),))
    hundred = JoinPersons(ten, Scan(TABLE, 10), (("note", "third"),))
    require_few_matches(hundred)
    several = Union(once, once)
    one_row = PerPerson(once, (), (("n", Aggregate(AggregateKind.COUNT_ROWS)),))
    rows = Union(Union(one_row, one_row), one_row)  # three rows of each person, that nobody has to cap
    tripled = JoinPersons(JoinPersons(once, rows, (("n", "a"),)), rows, (("n", "b"),))
    require_few_matches(tripled)
    for relation, times in (
        (JoinPersons(hundred, Scan(TABLE, 2), (("note", "last"),)), 200),
        (Union(hundred, hundred), 200),
        (JoinPersons(Scan(TABLE, 11), JoinPersons(several, Scan(TABLE, 5), (("note", "o"),)), (("note", "q"),)), 110),
        (JoinPersons(tripled, Scan(TABLE, 12), (("note", "last"),)), 108),
    ):
        with pytest.raises(QueryRefused, match=f"{times} times"):
            require_few_matches(relation)
    most = JoinPersons(
        JoinPersons(Scan(TABLE, 40), Scan(TABLE, 50), (("note", "a"),)), Scan(TABLE, 51), (("note", "b"),)
    )
    with pytest.raises(QueryRefused, match="102,000 rows"):
        require_few_matches(most)
    require_few_matches(PerPerson(hundred, (), (("n", Aggregate(AggregateKind.COUNT_ROWS)),)))


def test_lengths_of_texts_are_bounded_only_where_that_was_declared() -> None:
    assert call("length", CODE).domain(SCHEMA).high == Fraction(8)
    assert call("length", NOTE).domain(SCHEMA).high is None


def test_half_a_character_is_refused_at_no_cost_in_sql_and_in_frames() -> None:
    table = pl.DataFrame({"p": [1, 2], "k": ["a", "b"]})
    with gt.protect(table, unit="p", budget=gt.PureDP(1), name="t", rows_per_person=1) as s:
        for half in ("\ud800", "a\udfffb"):
            with pytest.raises(QueryRefused, match="character"):
                s.sql(f"SELECT COUNT(*) AS n FROM t WHERE k = '{half}'")
            with pytest.raises(QueryRefused, match="character"):
                s.table("t").filter(gt.col("k") == half)
        assert s.sql("SELECT COUNT(*) AS n FROM t WHERE k = '\U0001f642'").answer(epsilon="0.5").value is not None
        assert s.budget.spent == 0.5


COUNT = Aggregate(AggregateKind.COUNT_ROWS)
SCAN = Scan(TRIPS)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Derive(SCAN, (("USER_ID", ColumnReference("region")),)),
        lambda: Derive(SCAN, (("USER_ID", ColumnReference("user_id")),)),
        lambda: Derive(SCAN, (("a", ColumnReference("region")), ("A", ColumnReference("zone")))),
        lambda: PerPerson(SCAN, (), (("user_id", COUNT),)),
        lambda: PerPerson(SCAN, (), (("User_ID", COUNT),)),
        lambda: PerPerson(SCAN, ("region",), (("REGION", COUNT),)),
        lambda: PerPerson(SCAN, (), (("n", COUNT), ("N", COUNT))),
        lambda: JoinPublic(SCAN, ZONES, ColumnReference("zone"), "zone", (("city", "USER_ID"),)),
        lambda: JoinPersons(SCAN, Scan(VISITS, 3), (("minutes", "Amount"),)),
    ],
)
def test_a_name_that_differs_in_case_alone_is_refused(build: Callable[[], Relation]) -> None:
    with pytest.raises(QueryRefused, match=r"columns|row"):
        build()


def test_a_chain_of_definitions_costs_no_more_than_its_length() -> None:
    relation: Relation = SCAN
    for _ in range(30):
        relation = Derive(relation, tuple((name, ColumnReference(name)) for name in TRIPS.schema))
    assert relation.schema == TRIPS.schema


def test_a_catalog_finds_names_whatever_their_case_and_keeps_them_apart() -> None:
    assert CATALOG.find("TRIPS") is CATALOG.private["trips"]
    assert CATALOG.find_public("Zones") is ZONES
    with pytest.raises(QueryRefused, match="`x`") as refusal:
        CATALOG.find("x")
    assert "trips, visits, rows, zones" in str(refusal.value.hint)
    with pytest.raises(InvalidParameter, match="tables"):
        Catalog({"a": SCAN}, {"A": ZONES})
