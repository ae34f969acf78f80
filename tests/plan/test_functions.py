"""The functions of questions: each has a rule for its domain and a way to be printed, and both languages know it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

import giveortake as gt
from asked_tables import CATALOG, table
from giveortake import frame, sql
from giveortake.engines.sql.printer import PRINTED
from giveortake.plan.functions import CASTS, FUNCTIONS
from giveortake.plan.relations import AGGREGATES
from giveortake.sql.rows import OUR_OWN, OUR_OWN_AGGREGATES, Text

TEXTS = {"lower", "upper", "trim", "length"}
NUMBERS = {"abs", "floor", "ceil", "sqrt", "ln", "exp", "sign"}
OF_ONE = [(name, spelled) for name, each in FUNCTIONS.items() if each.most == 1 for spelled in each.sql]
SPELLED = [(name, spelled) for name, each in AGGREGATES.items() for spelled in each.sql]


def test_every_function_that_has_a_domain_can_be_printed_and_none_else() -> None:
    assert set(FUNCTIONS) == PRINTED


@pytest.mark.parametrize(("name", "spelled"), OF_ONE)
def test_both_languages_build_the_same_call_of_each_function(name: str, spelled: str) -> None:
    column = "note" if name in TEXTS else "age" if name in NUMBERS else "at"
    written = sql.parse(f"SELECT COUNT({spelled}({column})) AS a FROM trips", CATALOG)
    assert written == table("trips").agg(a=gt.count(getattr(gt.col(column), name)()))


@pytest.mark.parametrize(("name", "spelled"), SPELLED)
def test_both_languages_build_the_same_aggregate_by_each_name(name: str, spelled: str) -> None:
    columns = ["paid"] if name == "count_if" else ["amount", "age"][: AGGREGATES[name].arguments]
    written = sql.parse(f"SELECT {spelled}({', '.join(columns)}) AS a FROM trips", CATALOG)
    assert written == table("trips").agg(a=getattr(gt, name)(*map(gt.col, columns)))


def test_every_aggregate_of_the_table_is_a_word_of_frames_and_of_the_package() -> None:
    assert AGGREGATES.keys() <= set(frame.aggregates.__all__) <= set(frame.__all__)
    assert set(frame.aggregates.__all__) <= set(dir(gt))


def test_every_function_of_the_table_is_a_word_of_frames() -> None:
    page = Path(frame.expressions.__file__).read_text(encoding="utf-8")
    called = {*re.findall(r'_call\("(\w+)"', page), *re.findall(r'Call\("(\w+)"', page), *CASTS.values()}
    assert called == FUNCTIONS.keys()


def test_the_parser_takes_names_for_ours_exactly_where_we_say_so() -> None:
    own = {*OUR_OWN, *OUR_OWN_AGGREGATES}
    for name, spelled in [*OF_ONE, *SPELLED]:
        arguments = "x, y" if name in AGGREGATES and AGGREGATES[name].arguments == 2 else "x"
        (node,) = sqlglot.parse_one(f"SELECT {spelled}({arguments})", dialect=Text).expressions
        assert isinstance(node, exp.Anonymous) == (spelled in own)
        assert isinstance(node, exp.Anonymous) or type(node) is exp.FUNCTION_BY_NAME[spelled]
