"""Intervals hold as often as they say: of counts, sums, quotients, truncated numbers, and all of an answer."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Confidence
from giveortake.compile import Measurement, Release, Spend, Terms, combined
from giveortake.compile.formulas import Evaluated, Ratio
from giveortake.compile.intervals import truncated_interval
from giveortake.compile.measures import Decided
from giveortake.compile.partition_selection import NoisyCounts
from giveortake.compile.postprocessing import answer_columns
from giveortake.configuration import protection_arguments
from giveortake.errors import InvalidParameter
from giveortake.mechanisms.additive import LaplaceTail, NormalTail, Tail
from giveortake.session import Session
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from stated_caps import stating_caps
from tiers import tiered

REDRAWS = tiered(2_000, 10_000)
SIGMA = math.sqrt(0.95 * 0.05 / REDRAWS)
ENOUGH, TOO_MUCH = 0.95 - 6 * SIGMA, 0.95 + max(6 * SIGMA, 0.02)

Truth: TypeAlias = "float | tuple[float, float]"

VALUES = [0.0, 0.7, 1.9, 2.5, 2.5, 3.1, 4.4, 7.25, 9.9, 11.0] * 40
TABLE = pl.DataFrame(
    {
        "x": VALUES,
        "y": [value / 2 + 1 for value in reversed(VALUES)],
        "i": [int(10 * value) for value in VALUES],
        "p": list(range(len(VALUES))),
    }
)
DOMAINS: dict[str, Any] = {"x": (0, 10), "y": (0, 8), "i": (0, 100)}
OPTIONS: dict[str, Any] = {"domains": DOMAINS, "threads": 1}
CLAMPED = [min(value, 10.0) for value in VALUES]
SPENDS = {"Laplace": Spend(epsilon=Fraction(1, 10)), "Gaussian": Spend(rho=Fraction(1, 200))}


def _redrawn(made: Measurement, exact: tuple[npt.NDArray[Any], ...], entropy: RecordedEntropy) -> Release:
    """Noise on the same integers, again and again, each as if it were a key of its own."""
    arrays = []
    for array, noise in zip(exact, made.noises, strict=True):
        rows = array.reshape(1, -1) if array.ndim == 2 else array.reshape(1, 1)
        drawn = noise.release(np.repeat(rows, REDRAWS, axis=0).ravel(), entropy).reshape(REDRAWS, -1)
        arrays.append(drawn if array.ndim == 2 else drawn.ravel())
    return Release(tuple(arrays), made.noises)


@cache
def _session(unit: Any) -> Session:
    """One for all: nothing is charged, and opening it costs more than what it is asked."""
    return gt.protect(TABLE, **stating_caps({"unit": unit, "budget": gt.ApproxDP(100, "1e-6"), **OPTIONS}))


@pytest.fixture(autouse=True, scope="module")
def _closed() -> Iterator[None]:
    yield
    for unit in (gt.ROW, "p"):
        _session(unit).close()
    _session.cache_clear()


def _intervals(text: str, spend: Spend, entropy: RecordedEntropy, unit: Any = gt.ROW, redraws: int = 1) -> Evaluated:
    made = measured(_session(unit), text, spend)
    exact = exact_integers(made, engine_of(_session(unit)))
    releases = [_redrawn(made, exact, entropy) for _ in range(redraws)]
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, releases), 0.05, REDRAWS)


def _coverage(found: Evaluated, truth: Truth) -> float:
    """How often an interval holds the truth, or all of a stretch of equally true values."""
    low, high = truth if isinstance(truth, tuple) else (truth, truth)
    tiny = 1e-6 * max(1.0, abs(low), abs(high))  # the truth is computed in doubles here
    held = (np.asarray(found.low, dtype=float) <= high + tiny) & (np.asarray(found.high, dtype=float) >= low - tiny)
    return float(held.mean())


MEAN = sum(CLAMPED) / len(CLAMPED)
SPREAD = sum((value - MEAN) ** 2 for value in CLAMPED) / len(CLAMPED)
SUM_Y = sum(value / 2 + 1 for value in VALUES)
LINEAR: dict[str, tuple[str, float]] = {
    "count": ("COUNT(*)", len(VALUES)),
    "sum": ("SUM(x)", sum(CLAMPED)),
    "sum of integers": ("SUM(i)", sum(min(int(10 * value), 100) for value in VALUES)),
    "difference": ("COUNT(*) - 2 * COUNT_IF(x > 3)", len(VALUES) - 2 * sum(value > 3 for value in VALUES)),
    "sum of two sums": ("SUM(x) + SUM(y)", sum(CLAMPED) + SUM_Y),
    "half": ("COUNT(*) / 2", len(VALUES) / 2),
}
RATIOS: dict[str, tuple[str, Truth]] = {
    "mean": ("AVG(x)", MEAN),
    "quotient of sums": ("SUM(x) / SUM(y)", sum(CLAMPED) / SUM_Y),
    "share": ("COUNT_IF(x > 3) / COUNT(*)", sum(value > 3 for value in VALUES) / len(VALUES)),
    "mean, scaled and moved": ("10 - 3 * AVG(x)", 10 - 3 * MEAN),
}
OF_Y = [value / 2 + 1 for value in reversed(VALUES)]
COVARIANCE = float(np.cov(CLAMPED, OF_Y, bias=True)[0, 1])
SLOPE = COVARIANCE / SPREAD
OTHERS: dict[str, tuple[str, Truth]] = {
    "covariance": ("COVAR_POP(y, x)", COVARIANCE),
    "covariance of a sample": ("COVAR_SAMP(y, x)", COVARIANCE * len(VALUES) / (len(VALUES) - 1)),
    "correlation": ("CORR(y, x)", float(np.corrcoef(CLAMPED, OF_Y)[0, 1])),
    "slope": ("REGR_SLOPE(y, x)", SLOPE),
    "intercept": ("REGR_INTERCEPT(y, x)", SUM_Y / len(VALUES) - SLOPE * MEAN),
    "variance": ("VAR_POP(x)", SPREAD),
    "deviation": ("STDDEV(x)", math.sqrt(SPREAD)),
    "median": ("MEDIAN(x)", (2.5, 3.1)),
    "ninth decile": ("QUANTILE(x, 0.9)", (9.9, 10.0)),
    "median of integers": ("MEDIAN(i)", (25, 31)),
    "product": ("AVG(x) * AVG(y)", MEAN * SUM_Y / len(VALUES)),
    "quotient of means": ("AVG(x) / AVG(y)", MEAN / (SUM_Y / len(VALUES))),
}


@pytest.mark.statistical
@all_cases("noise", SPENDS)
@all_cases("name", LINEAR)
def test_intervals_of_counts_and_sums_hold_as_often_as_they_say_and_no_oftener(
    name: str, noise: str, entropy: RecordedEntropy
) -> None:
    text, truth = LINEAR[name]
    coverage = _coverage(_intervals(f"SELECT {text} AS a FROM data", SPENDS[noise], entropy), truth)
    assert ENOUGH <= coverage <= TOO_MUCH


@pytest.mark.statistical
@all_cases("noise", SPENDS)
@all_cases("name", RATIOS)
def test_intervals_of_quotients_hold(name: str, noise: str, entropy: RecordedEntropy) -> None:
    text, truth = RATIOS[name]
    coverage = _coverage(_intervals(f"SELECT {text} AS a FROM data", SPENDS[noise], entropy), truth)
    assert ENOUGH <= coverage <= TOO_MUCH


@pytest.mark.statistical
@all_cases("name", RATIOS)
def test_intervals_of_quotients_hold_where_noise_drowns_them(name: str, entropy: RecordedEntropy) -> None:
    text, truth = RATIOS[name]
    coverage = _coverage(_intervals(f"SELECT {text} AS a FROM data", Spend(epsilon=Fraction(1, 200)), entropy), truth)
    assert coverage >= ENOUGH


@pytest.mark.statistical
@all_cases("noise", SPENDS)
@all_cases("name", OTHERS)
def test_intervals_of_everything_else_hold(name: str, noise: str, entropy: RecordedEntropy) -> None:
    text, truth = OTHERS[name]
    assert _coverage(_intervals(f"SELECT {text} AS a FROM data", SPENDS[noise], entropy), truth) >= ENOUGH


@pytest.mark.statistical
@all_cases("text", ["COUNT(*)", "SUM(x)", "AVG(x)"])
def test_intervals_of_persons_hold(text: str, entropy: RecordedEntropy) -> None:
    truth = {"COUNT(*)": len(VALUES), "SUM(x)": sum(CLAMPED), "AVG(x)": MEAN}[text]
    found = _intervals(f"SELECT {text} AS a FROM data", SPENDS["Laplace"], entropy, unit="p")
    assert ENOUGH <= _coverage(found, truth) <= TOO_MUCH


@pytest.mark.statistical
@all_cases("text", ["COUNT(*)", "SUM(x)", "AVG(x)"])
def test_intervals_of_refined_answers_hold(text: str, entropy: RecordedEntropy) -> None:
    truth = {"COUNT(*)": len(VALUES), "SUM(x)": sum(CLAMPED), "AVG(x)": MEAN}[text]
    found = _intervals(f"SELECT {text} AS a FROM data", SPENDS["Laplace"], entropy, redraws=3)
    assert _coverage(found, truth) >= ENOUGH


@pytest.mark.statistical
def test_intervals_of_large_noise_steps_hold_at_least(entropy: RecordedEntropy) -> None:
    """Below ten steps of scale whole numbers leave gaps, and intervals hold oftener."""
    found = _intervals("SELECT COUNT(*) AS a FROM data", Spend(epsilon=Fraction(2)), entropy)
    assert _coverage(found, len(VALUES)) >= ENOUGH


@pytest.mark.statistical
def test_answers_of_a_session_hold() -> None:
    """End to end: questions at slightly different prices; of 200 95 % less six deviations are 172."""
    held, turns = 0, tiered(50, 200)
    said = {"unit": "p", "budget": gt.PureDP(1000), "domains": DOMAINS, "threads": 1}
    with gt.protect(TABLE, **stating_caps(said)) as session:
        query = session.sql("SELECT COUNT(*) AS n, AVG(x) AS m, SUM(i) AS s FROM data")
        truths = {"n": len(VALUES), "m": MEAN, "s": LINEAR["sum of integers"][1]}
        worst = dict.fromkeys(truths, 0)
        for turn in range(turns):
            row = query.answer(epsilon=Fraction(1, 2) + Fraction(turn, 10**6)).to_polars().row(0, named=True)
            for name, truth in truths.items():
                worst[name] += row[f"{name}_low"] - 1e-6 <= truth <= row[f"{name}_high"] + 1e-6
        held = min(worst.values())
    assert held >= turns * 0.95 - 6 * math.sqrt(turns * 0.95 * 0.05)


ENOUGH_QUOTIENTS = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
RARE = [1.0] * 2 + [0.0] * 98  # a share of 0.02 of a hundred rows, far below the noise
QUESTIONS = {
    "mean": "AVG(x)",
    "share": "COUNT_IF(x > 0) / COUNT(*)",
    "percent": "100 * COUNT_IF(x > 0) / COUNT(*)",
    "complement": "1 - COUNT_IF(x > 0) / COUNT(*)",
    "mean of a feature": "AVG(CASE WHEN x > 0 THEN 1 ELSE 0 END)",
}
TRUTHS = {"mean": 0.02, "share": 0.02, "percent": 2.0, "complement": 0.98, "mean of a feature": 0.02}


def _redrawn_answer(values: list[float], most: int, text: str, spend: Spend, entropy: RecordedEntropy) -> Evaluated:
    """The answer to a question about one column of values between 0 and `most`, redrawn again and again."""
    options: Any = {"unit": gt.ROW, "budget": gt.ApproxDP(99, "1e-6"), "domains": {"x": (0, most)}}
    with gt.protect(pl.DataFrame({"x": values}), engine={"threads": 1}, **options) as session:
        made = measured(session, f"SELECT {text} AS a FROM data", spend)
        exact = exact_integers(made, engine_of(session))
    arrays = [noise.release(np.repeat(each, REDRAWS), entropy) for each, noise in zip(exact, made.noises, strict=True)]
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release(tuple(arrays), made.noises)]), 0.05, REDRAWS)


@pytest.mark.statistical
@all_cases("noise", SPENDS)
@all_cases("name", QUESTIONS)
def test_intervals_hold_where_the_noise_takes_a_quotient_out_of_its_bounds(
    name: str, noise: str, entropy: RecordedEntropy
) -> None:
    found = _redrawn_answer(RARE, 1, QUESTIONS[name], SPENDS[noise], entropy)
    least, greatest = (0.0, 100.0) if name == "percent" else (0.0, 1.0)
    assert ((found.values >= least) & (found.values <= greatest)).all()
    assert ((found.low >= least) & (found.high <= greatest)).all()
    at_a_bound = (found.values == least) | (found.values == greatest)
    assert at_a_bound.mean() > 0.2
    assert ((found.high - found.low)[at_a_bound] > 0.005 * greatest).all()
    held = (found.low <= TRUTHS[name]) & (found.high >= TRUTHS[name])
    assert held.mean() >= ENOUGH_QUOTIENTS
    assert held[at_a_bound].mean() >= 0.93
    assert not held.all()


def test_no_interval_is_cut_off_at_a_bound(entropy: RecordedEntropy) -> None:
    assert (_redrawn_answer(RARE, 1, "AVG(x)", SPENDS["Laplace"], entropy).high > 1e-3).all()


@all_cases("text", ["COUNT_IF(x > 0) / COUNT_IF(x > 2)", "SUM(x) / COUNT_IF(x > 2)"])
def test_a_quotient_whose_denominator_may_be_zero_is_unbounded_and_says_so(text: str) -> None:
    table = pl.DataFrame({"x": RARE})
    options: Any = {"unit": gt.ROW, "budget": gt.PureDP(9), "domains": {"x": (0, 1)}, "threads": 1}
    with gt.protect(table, **protection_arguments(options)) as session:
        answer = session.sql(f"SELECT {text} AS a FROM data").answer(
            epsilon="0.1", confidence="0.999999"
        )  # so sure that noise does not decide
    shown = answer.to_polars()
    assert (shown["a_low"][0], shown["a_high"][0]) == (-math.inf, math.inf)
    assert "unbounded" in str(answer)


def test_of_a_mean_whose_interval_is_its_whole_range_the_answer_says_that_nothing_is_known() -> None:
    table = pl.DataFrame({"g": ["many"] * 5_000, "x": [30.0] * 5_000})
    domains: Any = {"g": ["many", "none"], "x": (0, 100)}
    said, at_bounds = [], 0
    with gt.protect(table, unit=gt.ROW, budget=gt.PureDP(99), domains=domains, engine={"threads": 1}) as session:
        for turn in range(20):
            answer = session.sql(f"SELECT g, AVG(x) AS m FROM data WHERE x > {turn} GROUP BY g").answer(epsilon=1)
            column: Any = answer["m"]
            is_wide = column.high[1] - column.low[1] >= 95
            at_bounds += is_wide and column[1] in {0, 100}
            notes = [note for note in answer.notes if "`m`" in note]
            assert len(notes) == is_wide
            assert all("1 of 2" in note and "0 to 100" in note for note in notes)
            said += notes
    assert len(said) > 10  # 19 in twenty, of a group without rows
    assert at_bounds == 0


def test_counts_over_other_things_than_all_rows_have_no_bounds() -> None:
    table = pl.DataFrame({"x": [0.5, None], "y": [1.0, 2.0]})
    options: Any = {"unit": gt.ROW, "budget": gt.PureDP(9), "domains": {"x": (0, 1), "y": (0, 2)}, "threads": 1}
    bounded = {"COUNT(x) / COUNT(*)": (0, 1), "COUNT(*) * -2 / COUNT(*)": (-2, 0)}
    free = ["COUNT_IF(y > 1) / COUNT(x)", "(COUNT(x) + 1) / COUNT(*)", "SUM(y) / COUNT(*)", "COUNT(*) / COUNT(x)"]
    with gt.protect(table, **protection_arguments(options)) as session:
        for text in [*bounded, *free]:
            made = measured(session, f"SELECT {text} AS a FROM data", SPENDS["Laplace"])
            ((_, formula),) = made.formulas
            assert isinstance(formula, Ratio)
            assert (formula.low, formula.high) == bounded.get(text, (None, None)), text


LAWS = [
    (NormalTail(4.8), 28),
    (NormalTail(0.9), 5),
    (NormalTail(60.0), 310),
    (LaplaceTail(5.0), 87),
    (LaplaceTail(80.0), 900),
]


def chances(tail: Tail, threshold: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that may be shown, and how likely each is given that one is."""
    continuous = stats.norm(scale=tail.scale) if isinstance(tail, NormalTail) else stats.laplace(scale=tail.scale)
    numbers = np.arange(threshold, max(threshold, n) + int(40 * tail.scale))
    law = continuous.sf(numbers - 0.5 - n) - continuous.sf(numbers + 0.5 - n)
    return numbers, law / continuous.sf(threshold - 0.5 - n)


@all_cases(("tail", "threshold"), LAWS)
@all_cases("miss", [0.05, 0.3])
def test_of_every_true_number_the_interval_holds_as_often_as_it_says(tail: Tail, threshold: int, miss: float) -> None:
    for n in {1, 2, threshold // 2, threshold - 1, threshold, threshold + 1, 2 * threshold}:
        numbers, law = chances(tail, threshold, n)
        low, high = truncated_interval(Decided(numbers, tail, threshold, alone=True), miss)
        assert law[(low <= n) & (n <= high)].sum() >= 1 - miss - 1e-6
        assert low.min() >= 1
        assert (low <= high).all()


@all_cases(("tail", "threshold"), LAWS)
def test_an_interval_that_forgets_the_threshold_does_not_hold(tail: Tail, threshold: int) -> None:
    numbers, law = chances(tail, threshold, 1)
    half = 3 * tail.scale
    assert law[np.abs(numbers - 1) <= half].sum() < 0.05


@all_cases(("tail", "threshold"), LAWS)
def test_far_above_the_threshold_the_interval_is_the_plain_one(tail: Tail, threshold: int) -> None:
    number = np.array([threshold + int(30 * tail.scale)])
    low, high = truncated_interval(Decided(number, tail, threshold, alone=True), 0.05)
    continuous = stats.norm(scale=tail.scale) if isinstance(tail, NormalTail) else stats.laplace(scale=tail.scale)
    half = continuous.isf(0.025)
    assert abs(low[0] - (number[0] - half)) <= 1
    assert abs(high[0] - (number[0] + half)) <= 1


def test_of_no_numbers_there_are_no_intervals() -> None:
    low, high = truncated_interval(Decided(np.zeros(0, dtype=np.int64), NormalTail(3.0), 9, alone=True), 0.05)
    assert low.size == high.size == 0


ENOUGH_ANSWERS = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
KEYS = [f"k{place}" for place in range(40)]
TABLE_OF_KEYS = pl.DataFrame({"k": KEYS * 25, "x": [float(place % 11) for place in range(1000)]})
BY_KEY = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY k"


def _session_of_keys(**more: Any) -> gt.Session:
    domains: Any = {"k": KEYS, "x": (0, 10)}
    return gt.protect(
        TABLE_OF_KEYS, unit=gt.ROW, budget=gt.ApproxDP(1000, "1e-6"), domains=domains, **more, engine={"threads": 1}
    )


@pytest.mark.statistical
@all_cases(("over", "least", "most"), [("cell", 0.0, 0.2), ("answer", 0.93, 0.99)])
def test_all_intervals_of_an_answer_hold_together_if_that_is_what_was_asked(
    over: str, least: float, most: float, entropy: RecordedEntropy
) -> None:
    """Of 80 intervals that hold with 95 % each, hardly ever all do."""
    turns = tiered(150, 400)
    with _session_of_keys() as session:
        made = measured(session, BY_KEY, Spend(epsilon=Fraction(1, 5)))
        exact = exact_integers(made, engine_of(session))
    grouped = TABLE_OF_KEYS.group_by("k", maintain_order=True).agg(n=pl.len(), s=pl.col("x").sum())
    truth = {name: grouped[name].cast(pl.Float64).to_numpy() for name in ("n", "s")}
    held = 0
    for _ in range(turns):
        arrays = tuple(noise.release(each, entropy) for each, noise in zip(exact, made.noises, strict=True))
        columns = answer_columns(made, made.keys, [Release(arrays, made.noises)], Confidence("0.95", over))
        held += all(
            (np.asarray(column.low, dtype=float) <= truth[column.name] + 1e-6).all()
            and (np.asarray(column.high, dtype=float) >= truth[column.name] - 1e-6).all()
            for column in columns
            if column.has_interval
        )
    assert least <= held / turns <= most


def test_the_term_widens_intervals_and_every_face_says_so() -> None:
    with _session_of_keys() as session:
        query = session.sql(BY_KEY)
        each = query.answer(epsilon=1)
        together = query.answer(epsilon=1, confidence_over="answer")
        assert query.quote(epsilon=1, confidence_over="answer").margins["n"] > query.quote(epsilon=1).margins["n"]
        refined = together.refine(epsilon=1)
    assert together["n"].values.tolist() == each["n"].values.tolist()
    assert together["n"].margins[0] > each["n"].margins[0]
    assert "95 % all together" in str(together)
    assert "95 % each" in str(each)
    assert refined.confidence.over == "answer"
    assert gt.answers.Answer.from_json(together.to_json()).confidence.over == "answer"
    assert gt.answers.Answer.from_json(each.to_json()).confidence.over == "cell"


def test_margins_of_found_keys_are_open_if_all_shall_hold() -> None:
    with gt.protect(TABLE_OF_KEYS, unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains={"x": (0, 10)}) as session:
        query = session.sql("SELECT k, COUNT(*) AS n FROM data GROUP BY k")
        assert query.quote(epsilon=1, confidence_over="answer").margins == {"n": None}
        assert query.quote(epsilon=1).margins["n"] is not None
        streamed = list(query.stream(epsilon=5, confidence_over="answer"))
        whole = query.answer(epsilon=5, confidence_over="answer")
    assert [each.confidence.over for each in streamed] == ["answer"]
    assert streamed[0]["n"] == whole["n"]


def test_a_confidence_is_a_number_and_knows_what_it_is_about() -> None:
    sure = Confidence("0.9", "answer")
    assert sure == Fraction(9, 10)
    assert [copy.copy(sure).over, copy.deepcopy(sure).over, pickle.loads(pickle.dumps(sure)).over] == ["answer"] * 3  # noqa: S301 (our own)
    assert Confidence(sure).over == "answer"
    assert Confidence(sure, cells=50).miss(3) == pytest.approx(0.002)
    assert Confidence(Fraction(9, 10)).miss(50) == Confidence("0.9").miss(50) == pytest.approx(0.1)
    assert sure.miss(0) == pytest.approx(0.1)
    with pytest.raises(InvalidParameter, match="confidence_over"):
        Confidence("0.9", "table")
    with pytest.raises(InvalidParameter):
        Confidence(1)


# -- samples ----------------------------------------------------------------------------------------------------------

FEW = [1.0, 4.0, 4.5, 9.0, 10.0, 2.0, 7.0, 7.5]


@pytest.mark.statistical
@all_cases("epsilon", [1, 20, 200])
def test_the_variance_of_a_sample_holds(epsilon: int, entropy: RecordedEntropy) -> None:
    truth = float(np.var(FEW, ddof=1))
    found = _redrawn_answer(FEW, 10, "VAR_SAMP(x)", Spend(epsilon=Fraction(epsilon)), entropy)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= ENOUGH_ANSWERS
    deviation = _redrawn_answer(FEW, 10, "STDDEV_SAMP(x)", Spend(epsilon=Fraction(epsilon)), entropy)
    assert ((deviation.low <= math.sqrt(truth)) & (math.sqrt(truth) <= deviation.high)).mean() >= ENOUGH_ANSWERS


def test_a_sample_is_not_a_population_and_costs_the_same() -> None:
    with gt.protect(pl.DataFrame({"x": FEW}), unit=gt.ROW, budget=gt.PureDP(10**9), domains={"x": (0, 10)}) as session:
        texts = ("VAR_SAMP", "VAR_POP", "VARIANCE", "STDDEV_SAMP", "STDDEV_POP", "STDDEV")
        asked = [session.sql(f"SELECT {name}(x) AS a FROM data") for name in texts]
        answers = [query.answer(epsilon=10**7) for query in asked]
        found = [answer.to_polars()["a"][0] for answer in answers]
        frame = session.table("data").agg(v=gt.sample_variance("x"), d=gt.sample_stddev("x")).answer(epsilon=10**7)
    variances = [np.var(FEW, ddof=ddof) for ddof in (1, 0, 0)]
    assert found == pytest.approx([*variances, *(math.sqrt(each) for each in variances)], rel=1e-4)
    assert frame.to_polars().row(0)[:1] == pytest.approx((variances[0],), rel=1e-4)
    assert len({answer.cost for answer in [*answers, frame]}) == 1


def test_a_sample_of_one_has_no_variance(entropy: RecordedEntropy) -> None:
    found = _redrawn_answer([3.0], 10, "VAR_SAMP(x)", Spend(epsilon=Fraction(5)), entropy)
    assert np.isinf(found.high).mean() > 0.9
    assert (found.low[np.isinf(found.high)] >= 0).all()
    assert np.isnan(found.values).any()


# -- numbers that decided which groups are shown ----------------------------------------------------------------------

ALIKE = tiered(1_200, 4_000)
OF_KEYS = (
    "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, 10 - 2 * COUNT(*) AS l, STDDEV(x) AS d, SUM(x) / (COUNT(*) + 2) AS q"
)


@pytest.mark.statistical
@all_cases("spend", [{"epsilon": "1/5", "key_delta": "1e-6"}, {"mu": "1/10", "key_delta": "1e-6"}])
@all_cases("away", [Fraction(-3, 2), Fraction(0), Fraction(2)])
def test_intervals_at_shown_groups_hold_though_the_number_decided(spend: dict[str, str], away: Fraction) -> None:
    """Some scales of noise below the threshold only groups are shown whose number is too large, and above it others.

    Sums and means beside the number hold too. Plain intervals would miss a fourth of what is shown below it.
    """
    domains = {"x": {"bounds": (0, 10), "nullable": False}}
    text = f"SELECT k, {OF_KEYS} FROM data GROUP BY k"

    def session(rows: int) -> Session:
        values = [CLAMPED[index % 10] for index in range(rows)]
        keys = np.repeat(np.arange(ALIKE), rows)
        table = pl.DataFrame({"k": keys, "x": values * ALIKE})
        return gt.protect(table, unit=gt.ROW, budget=gt.ApproxDP(100, "1e-3"), domains=domains, name="data")

    with session(1) as s:
        stated = Terms.of(spend).spend
        assert stated is not None
        selection = measured(s, text, stated).selection
        assert isinstance(selection, NoisyCounts)
        rows = selection.least + math.ceil(away * selection.scale)
    with session(rows) as s:
        answer = s.sql(text).answer(**spend)
    values = np.array([CLAMPED[index % 10] for index in range(rows)])
    truths = {"n": rows, "s": values.sum(), "m": values.mean(), "l": 10 - 2 * rows, "d": values.std()}
    truths["q"] = values.sum() / (rows + 2)
    assert ALIKE / 25 <= len(answer) <= ALIKE
    enough = 0.95 - 6 * math.sqrt(0.95 * 0.05 / len(answer))
    for name, truth in truths.items():
        low, high = (np.array(answer.to_dict()[f"{name}_{end}"], dtype=float) for end in ("low", "high"))
        assert ((low <= truth + 1e-5) & (truth - 1e-5 <= high)).mean() >= enough, name
    spread = np.array(answer.to_dict()["n_high"], dtype=float) - np.array(answer.to_dict()["n_low"], dtype=float)
    assert np.median(spread) < 2.2 * selection.least  # and yet says something
