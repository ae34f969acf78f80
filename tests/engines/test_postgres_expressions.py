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
from giveortake.plan.domains import declared
from giveortake.plan.functions import FUNCTIONS
from postgres_server import stored

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
    for start in range(0, len(expressions), AT_ONCE):
        _check(asked, expressions[start : start + AT_ONCE])


def _check(asked: Asked, expressions: Sequence[Expression]) -> None:
    engines, scan = asked
    found = [_values(engine, scan, expressions) for engine in engines]
    for expression, one, other in zip(expressions, *found, strict=True):
        near = _uses_libraries(expression)
        differing = [pair for pair in zip(one, other, strict=True) if not _same(*pair, near=near)]
        assert not differing, (expression, differing[:3])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_the_same_values_plain_and_nested(name: str, asked: Asked) -> None:
    luck = random.Random(name)  # noqa: S311 (which calls are tried need not be secret)
    plain = calls(name, LEAVES, luck, 12, asked[1])
    check(asked, plain)
    others = luck.sample(sorted(FUNCTIONS), 20)
    check(asked, [c for outer in others for c in calls(outer, [*plain, *plain, *LEAVES], luck, 1, asked[1])])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "exp", "ln", "sqrt", "greatest", "negate"])
def test_extremes_overflow_and_underflow_alike(name: str, asked: Asked) -> None:
    numbers = [ColumnReference("x"), ColumnReference("w"), ColumnReference("c"), *EXTREMES]
    if FUNCTIONS[name].least == 1:
        check(asked, [Call(name, (each,)) for each in numbers])
        return
    calls = [Call(name, (one, other)) for one in numbers for other in numbers]
    check(asked, calls)
    outer = [Call(name, (call, Call("multiply", (ColumnReference("x"), EXTREMES[5])))) for call in calls[::5]]
    check(asked, outer)


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
