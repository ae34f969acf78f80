from __future__ import annotations

import math
from fractions import Fraction

import every_set
import pytest
from every_set import tables
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import some_examples
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.privacy import PureDP
from giveortake.verify import Log, LogSum, Table
from giveortake.verify.numbers import StatedEpsilon

ratios = st.fractions(1, 8, max_denominator=6)
deltas = st.fractions(0, 1, max_denominator=12)


@some_examples
@given(tables())
def test_the_tight_epsilon_is_the_greatest_over_every_set_of_outputs(t: Table) -> None:
    found = max(every_set.greatest_ratio(t.law(x), t.law(y)) for x, y in t.neighbours)
    assert t.ratio() == found
    assert t.epsilon() == Log(found)


@some_examples
@given(tables(), ratios)
def test_delta_is_the_greatest_excess_over_every_set_of_outputs(t: Table, ratio: Fraction) -> None:
    found = max(every_set.excess(t.law(x), t.law(y), ratio) for x, y in t.neighbours)
    assert t.delta(Log(ratio)) == found


@some_examples
@given(tables(), deltas)
def test_the_approximate_max_divergence_is_that_of_rot11_definition_2(t: Table, delta: Fraction) -> None:
    found = every_set.greatest_ratio(t.law(0), t.law(1), delta)
    assert t.max_divergence(0, 1, delta) == Log(found)
    if 1 <= found < math.inf:
        assert t.delta(Log(found)) >= every_set.excess(t.law(0), t.law(1), Fraction(found))


@some_examples
@given(tables(), deltas)
def test_epsilon_at_a_delta_is_the_least_that_holds(t: Table, delta: Fraction) -> None:
    tight = t.epsilon(delta)
    assert t.check(tight, delta)
    if 1 < tight.ratio < math.inf:
        assert not t.check(Log(1 + (tight.ratio - 1) * Fraction(99, 100)), delta)


@some_examples
@given(tables(inputs=3), ratios, deltas)
def test_a_false_claim_gets_a_counterexample_of_as_few_outputs_as_there_can_be(
    t: Table, ratio: Fraction, delta: Fraction
) -> None:
    verdict = t.check(Log(ratio), delta)
    sizes = [every_set.fewest(t.law(x), t.law(y), ratio, delta) for x, y in t.neighbours]
    least = min((size for size in sizes if size is not None), default=None)
    case = verdict.counterexample
    if case is None:
        assert least is None
    else:
        assert len(case.outputs) == least
        assert case.p > ratio * case.q + delta


@some_examples
@given(tables(inputs=3), ratios)
def test_the_whole_curve_is_straight_between_its_bends(t: Table, ratio: Fraction) -> None:
    bends = t.curve()
    places = [Fraction(place.ratio) for place, _ in bends]
    if ratio >= places[-1]:
        assert t.delta(Log(ratio)) == bends[-1][1]
        return
    right = next(i for i, place in enumerate(places) if place > ratio)
    (low, high), (a, b) = (places[right - 1], places[right]), (bends[right - 1][1], bends[right][1])
    assert t.delta(Log(ratio)) == a + (b - a) * (ratio - low) / (high - low)


@some_examples
@given(tables(), st.fractions(0, 1, max_denominator=12))
def test_the_tradeoff_and_the_curve_say_the_same(t: Table, fpr: Fraction) -> None:
    """f(α) = max over e^ε ≥ 0 of 1 − δ(P, Q) − e^ε·α, so no point of the curve may lie above it."""
    found = t.tradeoff(fpr, 0, 1)
    for ratio in [Fraction(k, 12) for k in range(60)]:
        height = sum((max(Fraction(0), t.probability(1, o) - ratio * t.probability(0, o)) for o in t.outputs), 0 * fpr)
        assert found >= 1 - height - ratio * fpr
    assert 0 <= found <= 1 - fpr


@some_examples
@given(tables())
def test_kullback_and_leibler_stay_below_the_bound_of_rot11_lemma_7(t: Table) -> None:
    found, bound = t.kl(0, 1), t.kl_bound(0, 1)
    if isinstance(bound, LogSum):
        assert isinstance(found, LogSum)
        assert found.up() >= 0
        assert found <= bound
        terms = [p * math.log(p / t.probability(1, o)) for o, p in t.law(0).items()]
        assert float(found) == pytest.approx(math.fsum(terms), abs=1e-12)
    else:
        assert bound == math.inf


@some_examples
@given(tables(inputs=3), ratios)
def test_post_processing_never_loses_privacy(t: Table, ratio: Fraction) -> None:
    merged = t.post_process(lambda output: output // 2)
    assert merged.delta(Log(ratio)) <= t.delta(Log(ratio))
    noisy = t.post_process(lambda output, flip: output if flip("1/3") else 0)
    assert noisy.delta(Log(ratio)) <= t.delta(Log(ratio))
    assert noisy.remainder() == 0


@some_examples
@given(tables(outputs=3), tables(outputs=3))
def test_composition_adds_epsilons_at_most(t: Table, u: Table) -> None:
    both = t.compose(u)
    assert both.probability(0, (1, 2)) == t.probability(0, 1) * u.probability(0, 2)
    if math.inf not in {t.ratio(), u.ratio()}:
        assert both.epsilon() <= t.epsilon() + u.epsilon()


@some_examples
@given(tables(outputs=3), tables(outputs=3), tables(outputs=3))
def test_adaptive_composition_costs_the_first_and_the_worse_of_the_seconds(a: Table, b: Table, c: Table) -> None:
    """[PDP21, L1.1]: the second mechanism is chosen by the first one's output."""
    both = a.compose(lambda output: b if output == 0 else c)
    if math.inf not in {a.ratio(), b.ratio(), c.ratio()}:
        assert both.ratio() <= a.ratio() * max(b.ratio(), c.ratio())


@some_examples
@given(tables(outputs=3), ratios)
def test_merging_outputs_that_tell_the_same_changes_nothing(t: Table, ratio: Fraction) -> None:
    twice = t.compose(t)
    merged = twice.simplified()
    assert len(merged.outputs) <= len(twice.outputs)
    assert merged.delta(Log(ratio)) == twice.delta(Log(ratio))
    assert merged.ratio() == twice.ratio()
    assert t.repeat(2).delta(Log(ratio)) == twice.delta(Log(ratio))
    once = t.simplified()
    assert t.repeat(1) == once
    assert t.repeat(3) == once.compose(once).simplified().compose(once).simplified()  # with the names of its outputs


def test_k_runs_of_randomized_response_follow_the_binomial_law() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    fifty = t.repeat(50)
    assert len(fifty.outputs) == 51
    assert fifty.epsilon() == 50 * Log(3)
    exactly = gt.accounting.epsilon_interval([PureDP(t.epsilon().up())] * 50, "1e-6")
    assert exactly.low <= fifty.epsilon("1e-6").up()
    assert fifty.epsilon("1e-6").down() <= exactly.high


@some_examples
@given(tables(), st.fractions("1/10", "9/10", max_denominator=20))
def test_posteriors_follow_bayes_and_stay_within_lal20_equation_5(t: Table, prior: Fraction) -> None:
    ratio = t.ratio()
    for output in t.outputs:
        after = t.posterior({0: prior, 1: 1 - prior}, output)
        assert sum(after.values()) == 1
        assert after == t.posterior(prior, output) == t.posterior([prior, 1 - prior], output)
        if ratio < math.inf:
            assert prior / (prior + ratio * (1 - prior)) <= after[0] <= ratio * prior / (1 - prior + ratio * prior)


@some_examples
@given(tables(inputs=4, outputs=3), st.lists(st.integers(1, 5), min_size=4, max_size=4))
def test_beliefs_with_and_without_a_person_stay_within_two_epsilon(t: Table, prior: list[int]) -> None:
    """[PDP21, Theorem 2.1], for every prior: persons are the two bits of the input, and the first is left out."""
    if t.ratio() < math.inf:
        shares = [Fraction(weight, sum(prior)) for weight in prior]
        assert t.belief_ratio(shares, lambda x: x & 1) <= t.ratio() ** 2


def test_a_group_is_as_far_as_its_steps() -> None:
    t = gt.verify.program(lambda x, flip: x if flip("1/4") else flip.choose(4), range(4)).under(lambda x, y: y == x + 1)
    assert t.distance(0, 3) == 3
    assert len(t.neighbours) == 6
    assert len(t.group(2).neighbours) == 10
    assert t.group(3).epsilon() <= 3 * t.epsilon()
    with pytest.raises(InvalidParameter, match="reached"):
        t.under([(0, 1)]).distance(0, 3)


def test_tables_of_rows_know_both_notions_of_neighbour() -> None:
    inputs = [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    rows = {x: {sum(x): 1} for x in inputs}
    added = gt.verify.table(rows, neighbours="add-remove").neighbours
    changed = gt.verify.table(rows, neighbours="change-one").neighbours
    assert ((0,), (1, 0)) in added
    assert ((0,), (1,)) not in added
    assert ((0,), (1,)) in changed
    assert ((0, 1), (1, 0)) not in changed


def test_epsilons_are_taken_in_every_usual_form() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    assert t.delta("ln 2") == t.delta("log(2)") == t.delta(Log(2)) == Fraction(1, 4)
    assert t.delta("1.5") == t.delta(1.5) == t.delta(Fraction(3, 2)) == 0
    assert t.delta(math.inf) == 0
    assert float(t.delta(1)) == pytest.approx((3 - math.e) / 4)
    assert t.check(math.log(3) + 1e-9)
    assert not t.check(math.log(3) - 1e-9)
    with pytest.raises(InvalidParameter, match="negative"):
        t.delta("ln 1/2")


def test_logarithms_behave_like_numbers() -> None:
    tight = Log(3)
    assert (str(tight), f"{tight:.4f}", str(Log("10/3"))) == ("ln 3", "1.0986", "ln(10/3)")
    assert tight == math.log(3) == pytest.approx(float(tight))
    assert tight == pytest.approx(math.log(3))
    assert Fraction(1) < tight < Fraction(11, 10)
    assert Log(1) == 0 == float(Log(1))
    assert tight.down() < tight < tight.up()
    assert float(Log(math.inf)) == math.inf > tight
    assert (tight - Log(3), tight + Log(2), 1 + tight) == (0, Log(6), 1 + float(tight))
    assert Log(1 + Fraction(1, 10**40)) > 0


def test_probabilities_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="is not 1"):
        gt.verify.table({0: {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}})
    assert gt.verify.table({0: {"a": 0.1, "b": 0.2, "c": 0.7}}).epsilon() == 0


def test_an_output_that_only_one_input_gives_is_infinitely_bad() -> None:
    t = gt.verify.table({0: {"a": "1/2", "b": "1/2"}, 1: {"a": 1}})
    assert t.ratio() == math.inf
    assert str(t.epsilon()) == "∞"
    assert t.delta(math.inf) == 0
    assert t.epsilon("1/2") == 0
    assert "infinitely" in str(t.check(math.inf))
    assert not t.check(1000)


def test_what_was_cut_off_counts_against_the_mechanism() -> None:
    def waiting(x: int, flip: gt.verify.Flip) -> int:
        while flip():
            x += 1
        return x

    t = gt.verify.program(waiting, depth=20)
    assert t.remainder() == Fraction(1, 2**20)
    assert t.delta("ln 2") == Fraction(1, 2) + t.remainder()
    with pytest.raises(Unprovable, match="not enumerated"):
        t.epsilon()
    assert not t.check("ln 4")
    with pytest.raises(Unprovable):
        t.posterior("1/2", 3)


def test_sums_of_logarithms_behave_like_numbers() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    found = t.kl(0, 1)
    assert found == pytest.approx(math.log(3) / 2)
    assert abs(found - math.log(3) / 2) < 1e-15
    assert 0.5 < found < 0.6 <= 2 * found
    assert found == LogSum([(Fraction(1, 4), Fraction(9))])
    assert (round(Log(3), 3), f"{found:.3f}") == (1.099, "0.549")


def test_a_table_makes_a_promise_that_explains_itself() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    assert t.promise().epsilon >= t.epsilon()
    assert t.promise().epsilon < Fraction("1.09861229")
    assert t.promise("1/4").epsilon_at("1/4") >= t.epsilon("1/4")
    assert str(t.promise().explain()).startswith(str(t.promise()))
    assert t.post_process({0: "a", 1: "a"}).promise() == PureDP(Fraction(1, 10**300), neighbours="change-one")
    with pytest.raises(Unprovable):
        gt.verify.table({0: {0: 1}, 1: {1: 1}}).promise()


def failures(x: int, flip: gt.verify.Flip) -> int:
    while not flip("1/3"):
        x += 1
    return x


def test_a_claim_that_paths_were_cut_off_from_is_neither_true_nor_false() -> None:
    t = gt.verify.program(failures, [0, 1], depth=20)
    open_ = t.check(100, "1/10")
    assert not open_.holds
    assert open_.counterexample is None
    assert str(open_).startswith("NOT SHOWN")
    refuted = t.check("1/10", "1/100")
    assert str(refuted).startswith("FALSE")
    case = refuted.counterexample
    assert case is not None
    assert case.p > Fraction("1.1") * (case.q + t.remainder(case.y)) + Fraction(1, 100)


def test_a_true_claim_with_delta_shows_the_set_that_needs_it() -> None:
    t = gt.verify.program(lambda x, flip: ("name", x) if flip("1/20") else flip(), [0, 1])
    verdict = t.check(0, "1/20")
    assert verdict.holds
    assert "(0, 1/20)-DP" in str(verdict)
    assert "('name', 0)" in str(verdict)


def test_a_claim_is_printed_as_it_was_made() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    assert t.check("1.09861228866810969139").claim == "(109861228866810969139/100000000000000000000)-DP"
    assert t.check(2, "0.1234567890123").claim == "(2, 1234567890123/10000000000000)-DP"
    assert t.check(PureDP(2)).claim == "(2)-DP"
    assert t.check(gt.ApproxDP(1, "1/10")).claim == "(1, 1/10)-DP"
    with pytest.raises(InvalidParameter, match="claim"):
        t.check(gt.ZCDP(1))


def test_no_counterexample_is_smaller_even_if_the_exponential_is_hard_to_tell() -> None:
    """The best output alone exceeds δ by less than 2^−192: a second one must not be added for safety."""
    low, high = StatedEpsilon(1).between(4096)
    q = Fraction(1, 10)
    p = high * q + Fraction(1, 100) + Fraction(1, 2**260)
    t = gt.verify.table({0: {0: p, 1: 1 - p}, 1: {0: q, 1: 1 - q}})
    case = t.check(1, "1/100").counterexample
    assert case is not None
    assert case.outputs == (0,)
    assert low < high


def test_nothing_is_true_of_no_neighbours() -> None:
    t = gt.verify.program(lambda x, flip: x, [0])
    for ask in (lambda: t.check(0), t.promise):
        with pytest.raises(Unprovable, match="neighbours"):
            ask()


def test_a_promise_names_the_relation_that_it_was_proved_for() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    assert t.promise().neighbours == "change-one"
    sizes = gt.verify.program(lambda rows, flip: len(rows) + flip("1/3"), [(), (1,)], neighbours="add-remove")
    assert sizes.promise("2/3").neighbours == "add-remove"
    assert sizes.under("add-remove").post_process(lambda n: 0).promise().neighbours == "add-remove"
    with pytest.raises(Unprovable, match="group"):
        t.group(2).promise()
    assert t.group(1).promise() == t.promise()


def test_beliefs_need_a_prior_and_know_infinite_bounds() -> None:
    t = gt.verify.program(lambda x, flip: x if flip() else flip())
    with pytest.raises(InvalidParameter, match="one"):
        t.posterior({0: "1/2", 1: "1/3"}, 0)
    with pytest.raises(InvalidParameter, match="one"):
        t.belief_ratio([1, 1], lambda x: 0)
    with pytest.raises(InvalidParameter, match="table"):
        t.belief_ratio(["1/2", "1/2"], lambda x: 7)
    half = gt.verify.table({0: {0: 1}, 1: {0: "1/2", 1: "1/2"}})
    assert half.kl(0, 1) <= half.kl_bound(0, 1) == math.inf
