"""Every dialect answers every construct by itself; one that forgets a construct cannot be made."""

from __future__ import annotations

import random
from abc import ABC
from typing import Any

import pytest
from golden_statements import DATA, MODES, sections

from evil_calls import LEAVES, calls
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.postgres.dialect import PostgresDialect
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.sql import dialect as shared
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import PRINTED, Printer
from giveortake.plan import Kind
from giveortake.plan.functions import FUNCTIONS

DIALECTS: list[type[Dialect]] = [DuckDBDialect, PostgresDialect, SparkDialect]
CONSTRUCTS = sorted(Dialect.__abstractmethods__)
COMPOSED = {name for name, each in vars(Dialect).items() if getattr(each, "__final__", False)}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_that_forgets_a_construct_cannot_be_made(dialect: type[Dialect]) -> None:
    for forgotten in CONSTRUCTS:
        answered = {name: one for name, one in vars(dialect).items() if name not in {forgotten, "__abstractmethods__"}}
        forgetful = type("Forgetful", (Dialect,), answered)
        with pytest.raises(TypeError, match=rf"\b{forgotten}\b"):
            forgetful()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_inherits_from_no_other_and_changes_nothing_that_all_share(dialect: type[Dialect]) -> None:
    assert dialect.__mro__ == (dialect, Dialect, ABC, object)
    assert set(CONSTRUCTS) <= set(vars(dialect))
    assert COMPOSED.isdisjoint(vars(dialect))
    assert getattr(dialect, "__final__", False)


def test_what_all_dialects_share_is_a_construct_or_composed_of_constructs() -> None:
    public = {name for name in vars(Dialect) if not name.startswith("_")}
    assert public == {*CONSTRUCTS, *COMPOSED}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_has_a_type_except_decimals_whose_digits_vary(dialect: type[Dialect]) -> None:
    assert all(dialect().type_name(kind) for kind in Kind if kind is not Kind.DECIMAL)


def test_every_function_of_a_plan_is_printed_by_every_dialect() -> None:
    assert set(FUNCTIONS) <= set(PRINTED)
    for name in sorted(FUNCTIONS):
        found = calls(name, LEAVES, random.Random(name), 5, DATA)  # noqa: S311 (which calls are tried need not be secret)
        assert found, name
        for dialect in DIALECTS:
            printer = Printer(dialect(), {})
            assert all(printer.expression(call, DATA.schema) for call in found), name


def _noted(used: set[str]) -> Dialect:
    """DuckDB's dialect, which notes the constructs that are used."""

    def noting(name: str) -> property:
        def construct(self: Dialect) -> Any:
            used.add(name)
            return vars(DuckDBDialect)[name].__get__(self)

        return property(construct)

    made: Dialect = type("Noted", (Dialect,), {name: noting(name) for name in CONSTRUCTS})()
    return made


def test_every_construct_is_used_by_some_question() -> None:
    used: set[str] = set()
    dialect = _noted(used)
    for mode in MODES:
        assert dict(sections(mode, dialect))
    for name in sorted(FUNCTIONS):
        for each in calls(name, LEAVES, random.Random(name), 8, DATA):  # noqa: S311 (see above)
            Printer(dialect, {}).expression(each, DATA.schema)
    assert used == set(CONSTRUCTS)


def test_names_and_texts_are_quoted_as_the_standard_says() -> None:
    assert shared.double_quoted('a"b') == '"a""b"'
    assert shared.single_quoted("a'b") == "'a''b'"
