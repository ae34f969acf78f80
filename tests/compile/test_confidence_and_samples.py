"""All intervals of an answer at once, and the variance of a sample."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Confidence
from giveortake.compile import Release, Spend, combined
from giveortake.compile.formulas import Evaluated
from giveortake.compile.postprocessing import answer_columns
from giveortake.errors import InvalidParameter
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from tiers import tiered

REDRAWS = tiered(2_000, 10_000)
ENOUGH = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
KEYS = [f"k{place}" for place in range(40)]
TABLE = pl.DataFrame({"k": KEYS * 25, "x": [float(place % 11) for place in range(1000)]})
BY_KEY = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY k"


def _session(**more: Any) -> gt.Session:
    domains: Any = {"k": KEYS, "x": (0, 10)}
    return gt.protect(
        TABLE, unit=gt.ROW, budget=gt.ApproxDP(1000, "1e-6"), domains=domains, **more, engine={"threads": 1}
    )


@pytest.mark.statistical
@all_cases(("over", "least", "most"), [("cell", 0.0, 0.2), ("answer", 0.93, 0.99)])
def test_all_intervals_of_an_answer_hold_together_if_that_is_what_was_asked(
    over: str, least: float, most: float, entropy: RecordedEntropy
) -> None:
    """Of 80 intervals that hold with 95 % each, hardly ever all do."""
    turns = tiered(150, 400)
    with _session() as session:
        made = measured(session, BY_KEY, Spend(epsilon=Fraction(1, 5)))
        exact = exact_integers(made, engine_of(session))
    grouped = TABLE.group_by("k", maintain_order=True).agg(n=pl.len(), s=pl.col("x").sum())
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
    with _session() as session:
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
    with gt.protect(TABLE, unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains={"x": (0, 10)}) as session:
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


def _sampled(text: str, values: list[float], spend: Spend, entropy: RecordedEntropy) -> Evaluated:
    domains: Any = {"x": (0, 10)}
    with gt.protect(pl.DataFrame({"x": values}), unit=gt.ROW, budget=gt.PureDP(99), domains=domains) as session:
        made = measured(session, f"SELECT {text} AS a FROM data", spend)
        exact = exact_integers(made, engine_of(session))
    arrays = [noise.release(np.repeat(each, REDRAWS), entropy) for each, noise in zip(exact, made.noises, strict=True)]
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release(tuple(arrays), made.noises)]), 0.05, REDRAWS)


@pytest.mark.statistical
@all_cases("epsilon", [1, 20, 200])
def test_the_variance_of_a_sample_holds(epsilon: int, entropy: RecordedEntropy) -> None:
    truth = float(np.var(FEW, ddof=1))
    found = _sampled("VAR_SAMP(x)", FEW, Spend(epsilon=Fraction(epsilon)), entropy)
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= ENOUGH
    deviation = _sampled("STDDEV_SAMP(x)", FEW, Spend(epsilon=Fraction(epsilon)), entropy)
    assert ((deviation.low <= math.sqrt(truth)) & (math.sqrt(truth) <= deviation.high)).mean() >= ENOUGH


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
    found = _sampled("VAR_SAMP(x)", [3.0], Spend(epsilon=Fraction(5)), entropy)
    assert np.isinf(found.high).mean() > 0.9
    assert (found.low[np.isinf(found.high)] >= 0).all()
    assert np.isnan(found.values).any()
