"""What a promise means to an attacker: rates, beliefs, and the outputs on which beliefs may break."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import ONE_OF_EACH, deltas, rates, sizes
from scipy.stats import norm

import giveortake as gt
from cases import all_cases
from giveortake import cli
from giveortake.exact import exp_down, exp_up, log_up, percent_down, percent_up
from giveortake.privacy import ZCDP, ApproxDP, ComputationalDP, GaussianDP, Guarantee, ProbabilisticDP, PureDP, RenyiDP
from giveortake.privacy.guarantee import beliefs
from tiers import tiered

NOTHING_KNOWN = (Fraction(0), Fraction(1))
checked = settings(max_examples=tiered(30, 60), deadline=None)
open_rates = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


@checked
@given(st.fractions(min_value=0, max_value=8, max_denominator=50), deltas, rates)
def test_the_tradeoff_of_a_pair_is_its_polygon(epsilon: Fraction, delta: Fraction, fpr: Fraction) -> None:
    rate, growth = float(fpr), math.exp(epsilon)
    polygon = max(0.0, 1 - float(delta) - growth * rate, (1 - float(delta) - rate) / growth)
    found = ApproxDP(epsilon, delta).tradeoff(fpr)
    assert float(found) == pytest.approx(polygon, rel=1e-9, abs=1e-12)


def test_the_ends_of_a_tradeoff_are_exact() -> None:
    for promise in ONE_OF_EACH:
        assert promise.tradeoff(1) == 0
    assert PureDP(1).tradeoff(0) == 1
    assert ApproxDP(1, "0.125").tradeoff(0) == Fraction(7, 8)
    assert ApproxDP("1e300", "0.125").tradeoff(0) == Fraction(7, 8)


def test_no_test_on_randomized_response_beats_the_tradeoff() -> None:
    """All 4 deterministic tests of one answer, and one mixture of them, at e^ε = 3."""
    truth, lie = Fraction(3, 4), Fraction(1, 4)
    promise = PureDP(log_up(Fraction(3)))
    for accepted in product([0, 1], repeat=2):
        fpr = accepted[0] * truth + accepted[1] * lie
        tpr = accepted[0] * lie + accepted[1] * truth
        assert tpr <= promise.membership_inference(fpr)
    assert promise.membership_inference(lie) == pytest.approx(truth)  # and the obvious test attains it


@all_cases("rho", ["0.01", "0.5", "2"])
def test_moments_leave_the_attacker_at_most_what_their_grid_allows(rho: str) -> None:
    """A Gaussian mechanism keeps ρ = μ²/2, so its own curve must lie above the bound drawn from moments."""
    mu = math.sqrt(2 * float(rho))
    for fpr in (0.001, 0.01, 0.1, 0.3, 0.6, 0.9):
        truth = norm.cdf(norm.isf(fpr) - mu)
        bound = float(ZCDP(rho).tradeoff(fpr))
        assert bound <= truth
        assert bound >= float(ZCDP(rho).renyi([2, 4]).tradeoff(fpr)) - 0.03
        assert bound > 0.2 * truth**2


def test_advantage_is_total_variation() -> None:
    assert float(PureDP(1).advantage()) == pytest.approx(math.tanh(0.5))
    assert float(GaussianDP(1).advantage()) == pytest.approx(2 * norm.cdf(0.5) - 1)
    for promise in ONE_OF_EACH:
        for fpr in ("0.05", "0.25", "0.5"):
            assert promise.membership_inference(fpr) - Fraction(fpr) <= promise.advantage() + Fraction(1, 10**40)


@checked
@given(sizes, open_rates)
def test_beliefs_move_as_in_lal20_equation_5(epsilon: Fraction, prior: Fraction) -> None:
    low, high = PureDP(epsilon).posterior(prior)
    growth, p = math.exp(epsilon), float(prior)
    assert float(low) == pytest.approx(p / (growth + (1 - growth) * p), rel=1e-9)
    assert float(high) == pytest.approx(growth * p / (1 + (growth - 1) * p), rel=1e-9)
    assert 0 < low <= prior <= high <= 1
    # rounded outwards: the odds move by at least e^±ε
    assert low / (1 - low) <= exp_up(-epsilon) * prior / (1 - prior)
    assert high == 1 or high / (1 - high) >= exp_down(epsilon) * prior / (1 - prior)


def test_the_poll_moves_beliefs_exactly_to_the_bounds() -> None:
    """RandResp with p = ½ is ln 3: after a Yes the odds are three times what they were."""
    prior = Fraction(1, 5)
    low, high = PureDP(log_up(Fraction(3))).posterior(prior)
    after_yes = prior * Fraction(3, 4) / (prior * Fraction(3, 4) + (1 - prior) * Fraction(1, 4))
    after_no = prior * Fraction(1, 4) / (prior * Fraction(1, 4) + (1 - prior) * Fraction(3, 4))
    assert 0 <= high - after_yes < Fraction(1, 10**40)
    assert 0 <= after_no - low < Fraction(1, 10**40)


@all_cases("promise", ONE_OF_EACH)
def test_certainty_stays_put(promise: Guarantee) -> None:
    assert promise.posterior(0) == (Fraction(0), Fraction(0))
    assert promise.posterior(1) == (Fraction(1), Fraction(1))


@all_cases("promise", [promise for promise in ONE_OF_EACH if not isinstance(promise, PureDP)])
def test_without_a_failure_probability_no_bound_holds_for_every_output(promise: Guarantee) -> None:
    assert promise.posterior("0.3") == NOTHING_KNOWN


def test_the_name_and_shame_mechanism_shows_why() -> None:
    """Publishing the input with probability δ is (0, δ)-DP, and then the belief is certain; except with probability δ
    it does not move."""
    promise = ApproxDP(0, "0.01")
    assert promise.posterior("0.5", failure="0.01") == NOTHING_KNOWN
    low, high = promise.posterior("0.5", failure="0.02")
    assert float(high / (1 - high)) == pytest.approx(2)  # ε″ = −ln(1 − δ/failure) = ln 2
    assert float(low / (1 - low)) == pytest.approx(0.5)


@checked
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_the_loss_bound_holds_on_every_pair_of_laws(p: list[int], q: list[int]) -> None:
    """P[loss > ε″] is at most `failure`, exactly, for random laws on four outputs with their own δ(ε)."""
    if not sum(p) or not sum(q):
        return
    first, second = [Fraction(a, sum(p)) for a in p], [Fraction(b, sum(q)) for b in q]
    factor = Fraction(3, 2)
    pairs = list(zip(first, second, strict=True))
    delta = sum((max(Fraction(0), a - factor * b) for a, b in pairs), Fraction(0))
    if not 0 < delta < 1:
        return
    promise = ApproxDP(log_up(factor), delta)
    for failure in (delta * Fraction(11, 10), delta * 2, Fraction(99, 100)):
        if delta < failure < 1:
            loss = promise.loss_bound(failure)
            assert loss is not None
            exceeding = [(a, b) for a, b in pairs if a > exp_up(loss) * b]
            assert sum(a for a, _ in exceeding) <= failure
            assert sum(b for _, b in exceeding) <= failure


def test_probabilistic_beliefs_hold_outside_the_bad_set() -> None:
    promise = ProbabilisticDP(1, "1e-6")
    assert promise.posterior("0.3", failure="1e-6") == PureDP(1).posterior("0.3")
    assert promise.posterior("0.3", failure="1e-7") == NOTHING_KNOWN
    approximate_low, approximate_high = promise.approximate().posterior("0.3", failure="1e-5")
    low, high = promise.posterior("0.3", failure="1e-5")
    assert approximate_low < low < high < approximate_high


@all_cases("promise", [GaussianDP(1), ZCDP("1/2"), RenyiDP({2: 1, 8: 4, 16: 8})])
def test_beliefs_under_a_curve_are_those_of_some_pair_on_it(promise: Guarantee) -> None:
    low, high = promise.posterior("0.5", failure="1e-4")
    best = min(float(promise.epsilon_at(1e-4 * share)) - math.log1p(-share) for share in (0.5, 0.25, 0.125))
    assert math.log(high / (1 - high)) <= best + 1e-9
    assert math.log(low / (1 - low)) >= -best - 1e-9
    # a Gaussian mechanism of this strength exceeds the bound less often than stated
    exceeded = norm.sf(math.log(high / (1 - high)) - 0.5)
    assert exceeded <= 1e-4


@all_cases("promise", [GaussianDP(1), ZCDP(1), RenyiDP({2: 1})])
def test_a_failure_too_small_to_be_split_leaves_no_bound(promise: Guarantee) -> None:
    assert promise.posterior("0.5", failure="1e-300") == NOTHING_KNOWN


def test_computational_promises_speak_of_rates() -> None:
    assert ComputationalDP(1, "1e-6").tradeoff("0.1") == ApproxDP(1, "1e-6").tradeoff("0.1")


PROMISES: list[Guarantee] = [
    gt.PureDP(1),
    gt.ApproxDP(1, "1e-6"),
    gt.ProbabilisticDP(1, "1e-6"),
    gt.ComputationalDP(1, "1e-6"),
    gt.ZCDP("1/2"),
    gt.GaussianDP(1),
    gt.RenyiDP({2: 1, 8: 2}),
    gt.PureDP("0.1", neighbours="change-one", unit=gt.unit("person_id")),
]


@all_cases("promise", PROMISES)
def test_every_kind_of_promise_explains_itself(promise: Guarantee) -> None:
    explanation = promise.explain(prior="0.1", group=3)
    assert str(explanation).startswith(str(promise))
    assert all(0 < len(paragraph) < 500 for paragraph in promise.explain().paragraphs)
    assert "<p>" in explanation._repr_html_()


def test_numbers_in_the_text_are_those_of_the_promise() -> None:
    text = str(gt.PureDP(1).explain(prior="1/2", group=1))
    for number in ("26.8 %", "73.2 %", "46.3 %", "2.8 %", "13.6 %"):
        assert number in text


def test_beliefs_come_with_how_often_they_fail() -> None:
    assert beliefs(gt.PureDP(1), "1/2") == (*gt.PureDP(1).posterior("1/2"), None)
    low, high, failure = beliefs(gt.ApproxDP(1, "1e-6"), "1/2") or (0, 0, 0)
    assert failure == Fraction(1, 1000)
    assert (low, high) == gt.ApproxDP(1, "1e-6").posterior("1/2", failure="1/1000")
    assert beliefs(gt.ComputationalDP(1, "1e-6"), "1/2") is None
    assert beliefs(gt.ApproxDP(1, "0.1"), "1/2") is None
    for text in (gt.ApproxDP(1, "1e-6").explain().belief, gt.ApproxDP("1/10", "1e-9").explain(group=3).group):
        assert "0.001" in text


def test_percentages_are_rounded_against_the_promise_however_long_the_fraction() -> None:
    """A quotient of 28 decimals would have been rounded to 50 % before it was rounded up."""
    assert (percent_up(Fraction(1, 3)), percent_down(Fraction(1, 3))) == ("33.4 %", "33.3 %")
    assert (percent_up(Fraction(1, 2)), percent_down(Fraction(0))) == ("50 %", "0 %")
    assert percent_up(Fraction(99999, 100000)) == "99.999 %"
    assert percent_up(Fraction(1, 2) + Fraction(1, 10**40)) == "50.1 %"
    assert percent_down(Fraction(1, 2) - Fraction(1, 10**40)) == "49.9 %"


@all_cases("options", [["--epsilon", "1"], ["--epsilon", "1", "--delta", "1e-6"], ["--rho", "1/2"]])
def test_the_command_prints_words_and_tables(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options, "--prior", "0.1", "--group", "4"]) == 0
    out = capsys.readouterr().out
    for heading in ("Beliefs", "Guesses", "Adding up"):
        assert heading in out


def test_the_command_saves_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--mu", "1", "--plot", str(tmp_path), "--format", "svg"]) == 0
    assert len(list(tmp_path.glob("*.svg"))) == 5
    assert str(tmp_path) in capsys.readouterr().out.replace("\n", "")


@all_cases(
    "options",
    [[], ["--epsilon", "1", "--mu", "1"], ["--mu", "1", "--delta", "0.1"], ["--epsilon", "0"], ["--epsilon", "ln 3"]],
)
def test_a_promise_that_is_none_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options]) == 2
    assert capsys.readouterr().err
