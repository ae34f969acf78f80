"""Bounds, widths and spends at the ends of what numbers can be: an answer, or a refusal that costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer
from giveortake.configuration import protection_arguments
from giveortake.errors import GiveOrTakeError, InvalidParameter, QueryRefused
from giveortake.session import Session
from tiers import is_long, tiered

LAST_BIT = 1.0000000000000002
FAR = 2**63 - 1

BOUNDS: dict[str, tuple[Any, Any]] = {
    "the least double": (0, 5e-324),
    "below zero": (-5e-324, 0),
    "no normal double": (0, Decimal("1e-310")),
    "no steps below": (0, 1e-300),
    "steps below": (-1e-278, 1e-278),
    "squares that are nothing": (0, 1e-160),
    "squares that are small": (-1e-140, 1e-140),
    "the last bit": (1, LAST_BIT),
    "one number": (0.1, 0.1),
    "zero": (0, 0),
    "62 bits": (-(2**62), 2**62),
    "63 bits": (-FAR, FAR),
    "far from zero": (2**62, 2**62 + 4096),
    "from the least to far": (5e-324, 2**62),
    "three hundred digits": (Decimal("-0." + "9" * 300), Decimal("0." + "1" * 300)),
}
OUTPUTS = (
    "COUNT(*) AS n, COUNT(x) AS m",
    "SUM(x) AS a",
    "AVG(x) AS a",
    "COUNT(*) AS n, AVG(x) AS a",
    "COUNT(x) AS n, SUM(x) AS s, AVG(x) AS a",
    "VAR_POP(x) AS a",
    "STDDEV_SAMP(x) AS a",
    "MEDIAN(x) AS a, MIN(x) AS b",
    "CORR(x, y) AS a",
    "REGR_INTERCEPT(x, y) AS a",
    "SUM(x * x * x * x * x * x * x * x * x * x * x * x * x * x * x * x * x) AS a",
    "SUM(x / 1e-308) AS a",
    "SUM(x) / 1e-308 / 1e-308 AS a",
    "COUNT(*) * 9e18 * 9e18 * 9e18 * 9e18 * 9e18 AS a",
    "100 * SUM(x) / SUM(y) AS a",
    "AVG(EXP(x)) AS a",
    "AVG(POWER(x, 30)) AS a",
    "COUNT(DISTINCT BUCKET(x, 1e-9)) AS a",
)
BUCKETS = ("1e-300", "0.000000001", "0.333333333", "1000000000.5", "1e18", "9223372036854775807", "1e19")
SPENDS: tuple[dict[str, Any], ...] = (
    {"epsilon": "0.1"},
    {"mu": "0.1"},
    {"epsilon": "1e-12"},
    {"rho": "1e-20"},
    {"epsilon": 10**9},
    {"epsilon": "1e-300"},
)
BUDGET = gt.ApproxDP(10**9, "1e-3")
MODES: dict[str, dict[str, Any]] = {
    "rows": {"unit": gt.ROW, "budget": BUDGET},
    "changed rows": {"unit": gt.ROW, "budget": gt.ApproxDP(10**9, "1e-3"), "neighbours": "change-one"},
    "persons": {"unit": "p", "budget": BUDGET, "groups_per_person": 3, "rows_per_group": 2},
    "rows of persons": {"unit": "p", "budget": BUDGET, "rows_per_person": 2},
}


def column(low: Any, high: Any, kind: str) -> pl.Series:
    ends = [float(low), float(high)]
    if kind == "integer":
        return pl.Series("x", [max(-FAR, min(FAR, int(end))) for end in ends] * 2 + [None, 0], dtype=pl.Int64)
    return pl.Series("x", [*ends, *ends, None, 0.0], dtype=pl.Float64)


def session(bounds: tuple[Any, Any], mode: str, kind: str = "real") -> Session:
    rows = {"p": [0, 0, 1, 1, 2, 2], "x": column(*bounds, kind), "y": [0.5] * 6}
    domains = {"x": bounds, "y": (0, 1)}
    return gt.protect(
        pl.DataFrame(rows),
        name="t",
        domains=domains,
        **protection_arguments({**MODES[mode], "failures": 10**6, "threads": 1}),
    )


def told(answer: Answer) -> None:
    """Every face of an answer."""
    assert all([str(answer), answer.to_json(), answer.to_csv(), answer._repr_html_()])
    with suppress(InvalidParameter):  # Arrow has no whole numbers of more than 38 digits
        assert answer.to_arrow().num_rows == len(answer)


def require_answer_or_free_refusal(s: Session, ask: Callable[[], Any], what: str) -> str:
    before = s.budget.spent
    try:
        found = ask()
    except GiveOrTakeError as refused:
        assert s.budget.spent == before, f"{what} was charged, and then {refused}"  # noqa: PT017 (either outcome is right)
        return type(refused).__name__
    if isinstance(found, Answer):
        told(found)
    return "answered"


@all_cases("name", BOUNDS)
def test_every_aggregate_of_extreme_bounds_is_answered_or_refused_at_no_cost(name: str) -> None:
    spends, ended, place = cycle(SPENDS), set(), list(BOUNDS).index(name)
    whole = name in {"zero", "62 bits", "63 bits", "far from zero"}
    for mode in (list(MODES)[place % 4], list(MODES)[(place // 4 + place + 1) % 4])[: tiered(1, 2)]:
        with session(BOUNDS[name], mode, "integer" if whole and "rows" not in mode else "real") as s:
            for output in OUTPUTS[place % 2 :: 2] if not is_long() else OUTPUTS:
                question, spend = f"SELECT {output} FROM t", next(spends)
                ended.add(require_answer_or_free_refusal(s, lambda: s.sql(question).answer(**spend), question))  # noqa: B023 (called at once)
    assert "answered" in ended
    assert "QueryFailed" not in ended


@all_cases("name", ["no steps below", "the last bit", "62 bits", "63 bits", "from the least to far"])
def test_buckets_of_extreme_widths_are_answered_or_refused_at_no_cost(name: str) -> None:
    for mode in ("rows", "persons")[: tiered(1, 2)]:
        with session(BOUNDS[name], mode) as s:
            for width in BUCKETS:
                question = f"SELECT BUCKET(x, {width}) AS k, COUNT(*) AS n FROM t GROUP BY k"
                ended = require_answer_or_free_refusal(s, lambda: s.sql(question).answer(epsilon=1), question)  # noqa: B023 (called at once)
                assert ended in {"answered", "QueryRefused", "InvalidParameter"}


def test_no_value_near_the_ends_of_64_bits_makes_buckets_fail() -> None:
    """The bucket of -2^63 + 1 would begin at -10^19: asked for, it failed if there was such a row."""
    with session(BOUNDS["63 bits"], "rows") as s:
        with pytest.raises(QueryRefused, match="64 bits"):
            s.sql("SELECT BUCKET(x, 1e18) AS k, COUNT(*) AS n FROM t GROUP BY k")
        assert (
            len(
                s.sql("SELECT BUCKET(CLAMP(x, -9e18, 9e18), 1e18) AS k, COUNT(*) AS n FROM t GROUP BY k").answer(
                    epsilon=1
                )
            )
            == 20
        )


@all_cases(
    "name", tiered(["steps below", "63 bits"], ["the least double", "steps below", "the last bit", "zero", "63 bits"])
)
def test_profiles_bounds_streams_parts_and_found_keys_of_extreme_bounds(name: str) -> None:
    with session(BOUNDS[name], "persons") as s:
        asked: dict[str, Callable[[], Any]] = {
            "profile": lambda: s.profile(columns=["x"]).answer(epsilon=1),
            "stream": lambda: list(s.sql("SELECT AVG(x) AS a FROM t").stream(epsilon=1)),
            "batch": lambda: s.batch(["SELECT SUM(x) AS a FROM t", "SELECT COUNT(*) AS n FROM t"]).answer(epsilon=1),
            "found keys": lambda: s.sql("SELECT p, SUM(x) AS a FROM t GROUP BY p").answer(epsilon=1, key_delta="1e-6"),
            "refined": lambda: s.sql("SELECT COUNT(*) AS n, AVG(x) AS a FROM t").answer(epsilon=1).refine(epsilon=1),
            "margin": lambda: s.sql("SELECT SUM(x) AS a FROM t").answer(margin="1e-280"),
            "share": lambda: s.sql("SELECT AVG(x) AS a FROM t").answer(share="1e-9"),
        }
        for what, ask in asked.items():
            assert require_answer_or_free_refusal(s, ask, what) != "QueryFailed"


@all_cases("bounds", [(0, 2**63), (0, 1e308), (-1.7e308, 1.7e308), (0, Decimal("1e400"))])
def test_bounds_beyond_64_bits_are_refused_when_they_are_declared(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidParameter, match="64 bits"):
        session(bounds, "rows")


def test_bounds_too_near_to_zero_are_refused_with_the_column_and_a_way_that_works() -> None:
    with session((0, 1e-285), "rows") as s:
        with pytest.raises(QueryRefused) as refused:
            s.sql("SELECT AVG(x) AS a FROM t").quote(epsilon=1)
        assert "AVG(x * 1000000000)" in str(refused.value)
        answer: Any = s.sql("SELECT AVG(x * 1000000000) AS a FROM t").answer(epsilon=1)
        assert answer.to_dict()["a"][0] <= 1e-276


def test_shares_of_small_numbers_do_not_depend_on_their_unit() -> None:
    """Where doubles hold the squares of both, a column in other units is measured alike."""
    found = []
    for unit in (1, 2**-200):
        with session((0, unit), "rows") as s:
            found.append(s.sql("SELECT COUNT(*) AS n, AVG(x) AS a FROM t").quote(epsilon=1).margins["n"])
    assert found[0] == found[1]


def test_a_margin_that_the_least_spend_reaches_is_priced_and_not_searched_for_ever() -> None:
    with session((0, 1), "rows") as s:
        quote: Any = s.sql("SELECT COUNT(*) AS n FROM t").quote(margin=10**15)
    assert float(quote.spend.partition("= ")[2]) <= 1e-12
    assert quote.margins["n"] <= 10**15


@all_cases("spend", [{"epsilon": 1}, {"mu": 1}])
def test_margins_are_as_wide_in_the_smallest_unit_as_in_any(spend: dict[str, Any]) -> None:
    """Where squares of standard deviations are no doubles, intervals were too narrow."""
    found = []
    for unit in (1, 2**-920):
        with session((0, unit), "rows") as s:
            margins: Any = s.sql("SELECT SUM(x) AS a FROM t").quote(**spend).margins
            found.append(margins["a"] / unit)
    assert found[1] == pytest.approx(found[0], rel=1e-8)


def test_a_quantile_at_the_end_of_64_bits_is_a_whole_number_within_its_interval() -> None:
    with session((-FAR, FAR), "rows", "integer") as s:
        answer: Any = s.sql("SELECT MAX(x) AS a, MIN(x) AS b FROM t").answer(epsilon=10**6)
    for name in "ab":
        low, high = answer[name].low[0], answer[name].high[0]
        assert low <= answer[name].values[0] <= high
        assert max(-low, high) <= 2**63


@all_cases("bound", tiered([FAR], [2**62, FAR]))
@all_cases("caps", [{"rows_per_person": 1}, {"groups_per_person": 2, "rows_per_group": 3}])
def test_a_paid_answer_in_which_no_group_is_shown_can_be_read_in_every_form(
    bound: int, caps: dict[str, int], tmp_path: Path
) -> None:
    table = pl.DataFrame({"p": ["a", "b"], "k": ["u", "v"], "x": [1, 2]})
    said: dict[str, Any] = {"unit": "p", "name": "t", "budget": gt.ApproxDP(1000, "1e-3"), **caps}
    outputs = ["SUM(x)", "AVG(x)", "COUNT(*)", "COUNT(x)", "COUNT(DISTINCT x)", "MEDIAN(x)", "VARIANCE(x)"]
    outputs += ["SUM(x) + 1", "SUM(x) * 2", "SUM(x) - COUNT(*)", "SUM(SUM(x)) OVER ()", "RANK() OVER (ORDER BY SUM(x))"]
    with gt.protect(table, domains={"x": (-bound, bound)}, **protection_arguments(said)) as s:
        for output in outputs:
            answer = s.sql(f"SELECT k, {output} AS a FROM t GROUP BY k").answer(epsilon="1/100", key_delta="1e-9")
            assert len(answer) == 0
            assert answer.to_dict() == {name: [] for name in answer.to_dict()}
            forms = (answer.to_arrow, answer.to_polars, answer.to_pandas, answer.to_html, answer.to_csv, answer.to_json)
            assert all(form() is not None for form in forms)
            answer.to_parquet(tmp_path / "none.parquet")
            assert Answer.from_json(answer.to_json()).to_dict() == answer.to_dict()
