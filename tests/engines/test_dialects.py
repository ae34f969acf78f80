"""Every dialect answers every construct by itself, as the golden file has it, and no function fails on any value."""

from __future__ import annotations

import random
from abc import ABC
from pathlib import Path
from typing import Any

import pytest
from golden_statements import DATA, GOLDEN, MODES, golden, laid_out, on_one_line, sections, write
from golden_statements import DIALECTS as BY_NAME

from evil_calls import LEAVES, ROWS, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.audit.neighbours import random_row
from giveortake.engines import KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.dialect import PostgresDialect
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.sql import dialect as shared
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import PRINTED, Printer
from giveortake.errors import QueryFailed
from giveortake.plan import ColumnReference, Derive, Expression, Filter, Kind, PrivateTable, Scan
from giveortake.plan.expressions import declared
from giveortake.plan.functions import FUNCTIONS
from tiers import tiered

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


@pytest.mark.parametrize("name", BY_NAME)
def test_every_shape_is_printed_as_the_golden_file_has_it(name: str) -> None:
    """After a change that is meant: python tests/engines/golden_statements.py, and read the difference."""
    assert golden(name).split("\n") == (GOLDEN / f"{name}.sql").read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_laid_out_is_what_is_printed(name: str) -> None:
    for mode in MODES:
        for heading, text in sections(mode, BY_NAME[name]):
            assert on_one_line(laid_out(text)) == text, heading


def test_every_shape_of_every_mode_is_there() -> None:
    for mode in MODES:
        printed = {heading.partition(": ")[0] for heading, _ in sections(mode, BY_NAME["duckdb"])}
        assert set(mode.shapes()) <= printed


def test_writing_them_anew_says_how_many_changed(tmp_path: Path) -> None:
    assert write(tmp_path) == "3 files, 3 changed"
    (tmp_path / "spark.sql").write_text("as it was")
    assert write(tmp_path) == "3 files, 1 changed"


@pytest.fixture(scope="module")
def engine() -> Any:
    made = DuckDBEngine(threads=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def scan(engine: DuckDBEngine) -> Scan:
    source = engine.add("evil", frame(ROWS, SCHEMA), {})
    engine.lock()
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS and name != "y" else domain)
        for name, domain in source.columns
    )
    return Scan(PrivateTable("evil", columns, None))


def _run(engine: DuckDBEngine, scan: Scan, values: list[Expression]) -> None:
    """Count values, in one statement, and use each as a condition or as a key where it can be one."""
    schema = scan.schema
    engine.tally(Tally(scan, Keys(), tuple(Summand("values", value) for value in values)))
    truths = [value for value in values if value.domain(schema).kind is Kind.BOOLEAN][:2]
    for truth in truths:
        engine.tally(Tally(Filter(scan, truth), Keys(), (Summand("rows"),)))
    keys = [value for value in values if value.domain(schema).kind not in {Kind.REAL, Kind.TIMESTAMP}][:2]
    for key in keys:
        derived = Derive(scan, (("k", key),))
        column = KeyColumn("k", ColumnReference("k"), derived.schema["k"].keys())
        list(engine.persons(Persons(derived, Keys((column,)), 1)))
        if column.values is not None:
            engine.tally(Tally(derived, Keys((column,)), (Summand("rows"),)))


def test_every_function_is_total_on_evil_values_and_inside_every_other(engine: DuckDBEngine, scan: Scan) -> None:
    failed = []
    for name in sorted(FUNCTIONS):
        try:
            _require_total(name, engine, scan)
        except QueryFailed:
            failed.append(name)
    assert failed == []


def _require_total(name: str, engine: DuckDBEngine, scan: Scan) -> None:
    luck = random.Random(name)  # noqa: S311 (see above)
    plain = calls(name, LEAVES, luck, tiered(8, 24), scan)
    assert plain, name
    nested = [
        call
        for outer in luck.sample(sorted(FUNCTIONS), tiered(10, 40))
        for call in calls(outer, [*plain, *plain, *LEAVES], luck, 1, scan)
    ]
    _run(engine, scan, plain)
    _run(engine, scan, nested)


TYPES = {
    Kind.INTEGER: ("BIGINT", "INTEGER"),
    Kind.REAL: ("DOUBLE",),
    Kind.TEXT: ("VARCHAR",),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.DATE: ("DATE",),
    Kind.TIMESTAMP: ("TIMESTAMP",),
    Kind.DECIMAL: ("DECIMAL",),
}


@pytest.fixture(scope="module")
def asked() -> Any:
    engine = DuckDBEngine(threads=1)
    luck = random.Random("types")  # noqa: S311 (which rows are tried need not be secret)
    source = engine.add("evil", frame([random_row(luck, 1) for _ in range(3)], SCHEMA), {})
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS else domain) for name, domain in source.columns
    )
    yield engine, Scan(PrivateTable("evil", columns, None))
    engine.close()


def test_every_function_has_the_type_of_its_kind(asked: Any) -> None:
    assert [wrong for name in sorted(FUNCTIONS) for wrong in _wrong_types(name, *asked)] == []


def _wrong_types(name: str, engine: Any, scan: Scan) -> list[tuple[Any, str]]:
    luck = random.Random(name)  # noqa: S311 (see above)
    printer = engine._printer
    plain = calls(name, LEAVES, luck, tiered(10, 30), scan)
    others = luck.sample(sorted(FUNCTIONS), tiered(15, len(FUNCTIONS)))
    nested = [call for outer in others for call in calls(outer, [*plain, *LEAVES], luck, 1, scan)]
    expressions = [*plain, *nested]
    listed = ", ".join(f"typeof({printer.expression(each, scan.schema)})" for each in expressions)
    types = engine._rows(f"SELECT {listed} FROM ({printer.relation(scan)}) AS t LIMIT 1")[0]
    return [
        (each, found)
        for each, found in zip(expressions, types, strict=True)
        if found != '"NULL"' and not found.startswith(TYPES[each.domain(scan.schema).kind])
    ]
