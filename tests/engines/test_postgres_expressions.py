"""PostgreSQL computes what DuckDB computes: every function on every evil value, row by row."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from evil_calls import LEAVES, ROWS, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.plan import Call, ColumnReference, Expression, Literal, PrivateTable, Scan
from giveortake.plan.expressions import declared
from giveortake.plan.functions import FUNCTIONS
from postgres_server import stored
from tiers import tiered

NEAR = 1e-15  # C libraries differ in the last bit of exp and ln, and only there
AT_ONCE = 40
TABLE = frame([{**row, "q": row["q"] and row["q"].replace("\0", "")} for row in ROWS], SCHEMA)
EXTREMES: list[Expression] = [
    Literal(Fraction(value))
    for value in (
        1e308,
        -1e308,
        1.7976931348623157e308,
        5e-324,
        -5e-324,
        2.0**-1022,
        2.0**-537,
        3.0e-163,
        1e-160,
        1.5e154,
    )
]
DATES = ["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "9999-12-31", "2024-13-01", "2024-00-10"]
TEXTS = [
    *DATES,
    "2024-04-31",
    "2024-01-00",
    " 12 ",
    "1e5",
    ".5",
    "5.",
    "-7.25e-3",
    "1e400",
    "0x10",
    "nan",
    "inf",
    "1_0",
]
Asked = tuple[tuple[DuckDBEngine, PostgresEngine], Scan]


@pytest.fixture(scope="module")
def asked(server: str) -> Iterator[Asked]:
    engines = DuckDBEngine(threads=1), PostgresEngine(server)
    one = engines[0].add("evil", TABLE, {})
    other = engines[1].add("evil", stored(server, "evil", TABLE), None)
    assert one.columns == other.columns
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS and name != "y" else domain)
        for name, domain in one.columns
    )
    yield engines, Scan(PrivateTable("evil", columns, None))
    for engine in engines:
        engine.close()


def _values(engine: Any, scan: Scan, expressions: Sequence[Expression]) -> list[tuple[Any, ...]]:
    printer = engine._printer
    listed = ", ".join(f"{printer.expression(each, scan.schema)} AS e{i}" for i, each in enumerate(expressions))
    rows = engine._rows(f'SELECT {listed} FROM ({printer.relation(scan)}) AS t ORDER BY "p"')
    return list(zip(*rows, strict=True))


def _plain(value: Any) -> Any:
    return value if not isinstance(value, Decimal) else Fraction(value)


def _same(one: Any, other: Any, *, near: bool) -> bool:
    one, other = _plain(one), _plain(other)
    if near and isinstance(one, float) and isinstance(other, float) and one != other:
        return abs(one - other) <= NEAR * abs(one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _uses_libraries(expression: Expression) -> bool:
    return isinstance(expression, Call) and (
        expression.name in {"exp", "ln"} or any(map(_uses_libraries, expression.arguments))
    )


def check(asked: Asked, expressions: Sequence[Expression]) -> None:
    """Every expression on every row, on both engines, few in one statement."""
    starts = range(0, len(expressions), AT_ONCE)
    assert [each for start in starts for each in _differing(asked, expressions[start : start + AT_ONCE])] == []


def _differing(asked: Asked, expressions: Sequence[Expression]) -> Iterator[tuple[Expression, list[Any]]]:
    engines, scan = asked
    found = [_values(engine, scan, expressions) for engine in engines]
    for expression, one, other in zip(expressions, *found, strict=True):
        near = _uses_libraries(expression)
        pairs = [pair for pair in zip(one, other, strict=True) if not _same(*pair, near=near)]
        if pairs:
            yield expression, pairs[:3]


def test_every_function_has_the_same_values_plain_and_nested(asked: Asked) -> None:
    plain_calls, nested_calls = tiered(8, 12), tiered(8, 20)
    expressions: list[Expression] = []
    for name in sorted(FUNCTIONS):
        luck = random.Random(name)  # noqa: S311 (which calls are tried need not be secret)
        plain = calls(name, LEAVES, luck, plain_calls, asked[1])
        others = luck.sample(sorted(FUNCTIONS), nested_calls)
        expressions += plain
        expressions += [c for outer in others for c in calls(outer, [*plain, *plain, *LEAVES], luck, 1, asked[1])]
    check(asked, expressions)


def test_extremes_overflow_and_underflow_alike(asked: Asked) -> None:
    numbers = [ColumnReference("x"), ColumnReference("w"), ColumnReference("c"), *EXTREMES]
    expressions: list[Expression] = []
    for name in ("add", "subtract", "multiply", "divide", "exp", "ln", "sqrt", "greatest", "negate"):
        if FUNCTIONS[name].least == 1:
            expressions += [Call(name, (number,)) for number in numbers]
            continue
        pairs = [Call(name, (one, other)) for one in numbers for other in numbers]
        expressions += pairs
        expressions += [
            Call(name, (pair, Call("multiply", (ColumnReference("x"), EXTREMES[5])))) for pair in pairs[::5]
        ]
    check(asked, expressions)


def test_texts_become_numbers_and_dates_alike(asked: Asked) -> None:
    check(asked, [Call(name, (Literal(text),)) for name in ("to_date", "to_real") for text in TEXTS])
    cases = [(Call("eq", (ColumnReference("p"), Literal(i))), Literal(text)) for i, text in enumerate(TEXTS)]
    chosen = Call("case", (*(each for pair in cases for each in pair), ColumnReference("q")))
    check(asked, [Call("to_date", (chosen,)), Call("to_real", (chosen,)), Call("upper", (chosen,))])


def test_patterns_know_no_escapes_and_texts_no_percent_signs(asked: Asked) -> None:
    patterns = ["%", "_", "\\%", "%'%", "a\\_b", "100%%", "q_", "%s", "é", "", "日_"]
    texts = [Literal(text) for text in ("100%", "a\\_b", "\\", "%s %(x)s", "a'b", 'a"b', "é", "ÉSSß ıİ Ωω Жж")]
    check(asked, [Call("like", (text, Literal(each))) for text in [ColumnReference("q"), *texts] for each in patterns])
    check(asked, [Call(name, (text,)) for name in ("upper", "lower", "length") for text in texts])
    check(asked, [Call("ilike", (text, Literal("ÉSS%"))) for text in texts])
