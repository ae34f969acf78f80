"""What every filter must do, whatever it adds up."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb, exp, log
from typing import TYPE_CHECKING, Any

import pytest
from brute_force import (
    Composing,
    Forgiving,
    Frozen,
    Guarded,
    Move,
    Refunding,
    excess_over,
    leaky,
    randomized_response,
    worst,
)
from hypothesis import given
from hypothesis import strategies as st

import filter_contract
from cases import all_cases, some_examples
from filter_strategies import BUDGETS, admitted
from giveortake.accounting import pricing
from giveortake.accounting.filters import (
    METERS,
    ApproxDPFilter,
    Filter,
    GaussianDPFilter,
    PureDPFilter,
    RenyiDPFilter,
    ZCDPFilter,
    admitted_rho,
    best_order,
    filter,  # noqa: A004 (the noun of the theory)
    limit,
    lineup,
)
from giveortake.accounting.pricing import Currency, Delta, Divergence, Epsilon, Rho, SquaredMu, amount, price
from giveortake.errors import (
    BudgetExceeded,
    GiveOrTakeError,
    InvalidParameter,
    MismatchedPromises,
    Unpriced,
    Unprovable,
)
from giveortake.exact import exp_up, log_up, sqrt_up
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    Neighbours,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    Unit,
    events,
    gaussian_delta,
    unit,
)
from giveortake.privacy.definitions import delta_from_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.accounting.filters import Meter
    from giveortake.accounting.pricing import Account
    from giveortake.privacy.events import Event

budgets = all_cases("budget", BUDGETS)


@pytest.mark.parametrize("law", filter_contract.LAWS)
@budgets
def test_every_filter_keeps_every_law(law: Callable[..., None], budget: Guarantee) -> None:
    law(partial(filter, budget))


def test_each_kind_of_budget_has_its_filter() -> None:
    kinds = [PureDPFilter, ApproxDPFilter, ZCDPFilter, GaussianDPFilter, RenyiDPFilter]
    assert [type(filter(budget)) for budget in BUDGETS] == kinds


@all_cases("budget", [ProbabilisticDP("1", "1e-6"), ComputationalDP("1", "1e-6")])
def test_budgets_that_no_filter_guards_are_refused(budget: Guarantee) -> None:
    with pytest.raises(Unprovable):
        filter(budget)


def test_what_is_no_budget_or_no_event_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a promise"):
        filter(1)  # type: ignore[arg-type]
    wrong: list[Any] = [0.1, None, PureDP(1), float("nan"), []]
    for event in wrong:
        with pytest.raises(InvalidParameter):
            filter(PureDP(1)).charge(event)


@all_cases("amount", [-1, 0, float("nan"), float("inf"), "1e400", True, None])
def test_amounts_that_mean_nothing_cannot_be_charged(amount: float) -> None:
    with pytest.raises(GiveOrTakeError):
        filter(PureDP(1)).charge(events.Pure(amount))


@budgets
def test_a_snapshot_of_something_else_is_refused(budget: Guarantee) -> None:
    filter_contract.a_snapshot_of_something_else_is_refused(partial(filter, budget))
    with pytest.raises(MismatchedPromises):
        filter(replace_unit(budget), snapshot=filter(budget).snapshot())


def test_a_refusal_carries_what_it_costs_and_what_is_left() -> None:
    guard = filter(PureDP("0.3", unit=unit("user_id")))
    guard.charge(events.Pure("0.2"))
    with pytest.raises(BudgetExceeded) as refused:
        guard.charge(events.Pure("0.2"))
    assert (refused.value.cost, refused.value.remaining) == (Fraction(1, 5), Fraction(1, 10))


def test_what_is_left_is_never_overstated() -> None:
    guard = filter(PureDP("2/3"))
    with pytest.raises(BudgetExceeded, match=r"0\.666666 "):
        guard.charge(events.Pure(1))


@all_cases(
    ("budget", "event"),
    [
        (PureDP(9), events.Gaussian(100)),
        (PureDP(9), events.ZCDP("1e-9")),
        (PureDP(9), events.Approx("0.1", "1e-9")),
        (ZCDP(9), events.Approx("0.1", "1e-9")),
        (ZCDP(9), events.Composed([events.Pure("0.1"), events.DiscoveredKeys("0.1", "1e-9")])),
        (GaussianDP(9), events.ZCDP("1e-9")),
        (GaussianDP(9), events.DiscreteGaussian(100, 1)),
        (RenyiDP({2: 9}), events.Parallel([events.Approx("0.1", "1e-9")])),
        (PureDP(9, neighbours="change-one"), events.Parallel([events.Pure("0.1")])),
        (ApproxDP(9, "1e-6", neighbours="change-one"), events.Repeated(events.Parallel([events.Pure("0.1")]), 2)),
    ],
)
def test_what_has_no_proved_price_is_refused_by_name(budget: Guarantee, event: events.Event) -> None:
    guard = filter(budget)
    assert not guard.admits(event)
    with pytest.raises(Unpriced):
        guard.charge(event)
    assert guard == filter(budget)


def replace_unit(budget: Guarantee) -> Guarantee:
    kind: Any = type(budget)
    numbers = {name: getattr(budget, name, None) for name in ("epsilon", "delta", "rho", "mu", "curve")}
    changed: Guarantee = kind(
        **{name: value for name, value in numbers.items() if value is not None}, unit=unit("user_id")
    )
    return changed


def test_no_total_of_deltas_runs_in_a_race() -> None:
    budget = ApproxDP(1, "1e-6")
    good: Any = filter(budget).snapshot()
    free: Any = {"currency": "delta", "delta": "0/1", "spent": "0/1", "alive": True}
    with pytest.raises(InvalidParameter):
        filter(budget, snapshot={**good, "totals": [*good["totals"], free]})
    with pytest.raises(InvalidParameter):
        ApproxDPFilter(budget, contestants=[(Delta(), Fraction(0))])
    with pytest.raises(InvalidParameter, match="not negative"):
        ApproxDPFilter(budget, contestants=[(Epsilon(), Fraction(-1, 2)), (SquaredMu(), Fraction(1, 2))])


class Foreign(events.Event):
    """An event of a kind that the library does not know."""

    kind = "foreign"

    def __init__(self, promise: Guarantee) -> None:
        object.__setattr__(self, "promise", promise)

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        promise: Guarantee = object.__getattribute__(self, "promise")
        return promise


def test_events_of_foreign_kinds_are_priced_one_by_one_and_by_the_right_relation() -> None:
    guard = filter(PureDP(1))
    guard.charge(Foreign(PureDP("0.001")))
    assert not guard.admits(Foreign(PureDP(50)))
    with pytest.raises(BudgetExceeded):
        filter(PureDP(1, neighbours="change-one")).charge(Foreign(PureDP("0.1")))


@all_cases(
    "budget", [PureDP("1e-90"), PureDP("1e300"), ZCDP("1e-25"), ApproxDP(1, "1e-300"), PureDP(1 + Fraction(1, 2**150))]
)
def test_what_is_affordable_is_admitted(budget: Guarantee) -> None:
    guard = filter(budget)
    most = guard.affordable()
    assert most > 0
    guard.charge(events.Pure(most))
    assert filter(budget, snapshot=guard.snapshot()) == guard


@all_cases("budget", [PureDP("1"), ApproxDP("1", "1e-6")])
@all_cases("tenth", [events.Pure(0.1), events.Laplace(10), events.AboveThreshold("1/10")])
def test_ten_tenths_fit_one_and_nothing_after_not_even_1e_300(budget: Guarantee, tenth: events.Event) -> None:
    guard = filter(budget)
    assert admitted(guard, tenth) == 10
    assert not guard.admits(events.Pure("1e-300"))


def test_three_tenths_fit_three_tenths() -> None:
    guard = filter(PureDP(0.3))
    assert admitted(guard, events.Pure(0.1)) == 3
    assert guard.remaining == 0
    assert not guard.admits(events.Pure("1e-300"))


@all_cases("denominator", [3, 7, 11, 17, 49, 64, 97, 100])
def test_every_small_share_of_a_budget_fits_exactly_as_often(denominator: int) -> None:
    guard = filter(PureDP(1))
    assert admitted(guard, events.Pure(Fraction(1, denominator))) == denominator
    assert guard.spent == 1


def test_the_smallest_amount_is_counted() -> None:
    guard = filter(PureDP(1))
    guard.charge(events.Pure("1e-300"))
    assert guard.spent == Fraction(1, 10**300)


@some_examples
@given(st.fractions(min_value=0, max_value=10))
def test_grains_round_prices_up_and_limits_down(number: Fraction) -> None:
    assert number <= pricing.amount(pricing.grains_up(number)) <= number + Fraction(1, 2**100)
    assert number - Fraction(1, pricing.GRAINS) < pricing.amount(pricing.grains_down(number)) <= number


@some_examples
@given(st.fractions(min_value=0, max_value=1, max_denominator=100))
def test_short_fractions_and_their_squares_are_exact(number: Fraction) -> None:
    for exactly in (number, number**2 / 2, number / 10**20):
        assert pricing.amount(pricing.grains_up(exactly)) == exactly


@some_examples
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=3))
def test_irrational_prices_are_multiples_of_a_small_power_of_two(epsilon: Fraction) -> None:
    for currency in (SquaredMu(), Divergence(Fraction(23))):
        price = currency.pure(epsilon)
        assert price in {epsilon, currency.pure(epsilon)}
        assert pricing.grains_up(price) % (pricing.GRAINS >> 100) == 0 or price in {
            epsilon,
            Fraction(23) * epsilon**2 / 2,
        }


def test_an_irrational_price_is_rounded_up() -> None:
    for epsilon in (Fraction(1, 7), Fraction(1), Fraction(3)):
        assert SquaredMu().pure(epsilon) >= PureDP(epsilon).gaussian().mu ** 2
        ((_, divergence),) = PureDP(epsilon).renyi([23]).curve
        assert Divergence(Fraction(23)).pure(epsilon) >= divergence


def test_a_divergence_is_read_at_no_lower_order() -> None:
    curve = [(Fraction(2), Fraction(1)), (Fraction(4), Fraction(3)), (Fraction(8), Fraction(5))]
    assert [Divergence(Fraction(order)).renyi(curve) for order in (2, 3, 4, 8, 9)] == [1, 3, 3, 5, None]


@all_cases("budget", BUDGETS)
def test_totals_stay_short_under_amounts_with_ever_new_denominators(budget: Guarantee) -> None:
    guard = filter(budget)
    for denominator in range(10**6 + 1, 10**6 + 400):
        guard.charge(events.Pure(Fraction(1, denominator)))
    for account in guard.accounts:
        assert account.spent.denominator <= pricing.GRAINS
    assert len(str(guard.snapshot())) < 6000


def test_prices_are_the_stated_theorems() -> None:
    def price(event: events.Event, currency: Epsilon | Rho | SquaredMu | Divergence) -> Fraction | None:
        grains = pricing.price(event, currency, "add-remove")
        return None if grains is None else pricing.amount(grains)

    assert price(events.Laplace(10), Epsilon()) == Fraction(1, 10)
    assert price(events.Laplace(10), Rho()) == Fraction(1, 200)
    assert price(events.Exponential("0.1"), Rho()) == Fraction(1, 800)
    assert price(events.Gaussian(10), Rho()) == Fraction(1, 200)
    assert price(events.Gaussian(10), SquaredMu()) == Fraction(1, 100)
    assert price(events.Gaussian(10), Divergence(Fraction(8))) == Fraction(8, 200)
    assert price(events.DiscreteGaussian(10, 2), Rho()) == Fraction(1, 50)
    assert price(events.Pure(5), Rho()) == 5
    assert price(events.Approx(0, "1e-9"), Rho()) == 0
    assert price(events.Gaussian(10), Epsilon()) is None
    assert price(events.ZCDP(1), SquaredMu()) is None


def test_parallel_parts_cost_the_largest_in_each_currency_and_count_what_is_touched() -> None:
    # in ε the first part is the largest, in ρ the second
    parts = [events.Exponential("0.15"), events.Laplace(10), events.Pure("0.01")]
    one, two, all_of_them = (events.Parallel(parts, touched=count) for count in (1, 2, 9))
    costs = {
        touched: tuple(pricing.amount(pricing.price(event, c, "add-remove") or 0) for c in (Epsilon(), Rho()))
        for touched, event in ((1, one), (2, two), (9, all_of_them))
    }
    assert costs[1] == (Fraction("0.15"), Fraction("0.005"))
    assert costs[2] == (Fraction("0.25"), Fraction("0.005") + Fraction("0.0225") / 8)
    assert costs[9] == (Fraction("0.26"), costs[2][1] + Fraction("0.00005"))


def test_parallel_parts_spend_the_largest_deltas() -> None:
    parts = [events.Approx("0.1", "1e-9"), events.DiscoveredKeys("0.2", "3e-9"), events.Pure("0.1")]
    assert pricing.amount(pricing.failure(events.Parallel(parts), "add-remove")) == Fraction(3, 10**9)
    assert pricing.amount(pricing.failure(events.Repeated(events.Composed(parts), 5), "add-remove")) == Fraction(
        20, 10**9
    )


@some_examples
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100),
    st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(8), Fraction(64)]),
)
def test_laplace_noise_costs_the_integral_that_defines_its_divergence(epsilon: Fraction, order: Fraction) -> None:
    """The density ratio is e^ε left of 0, e^-ε right of ε and e^(ε−2x) between: three exact pieces, in floats."""
    e, a = float(epsilon), float(order)
    between = exp(a * e) * (1 - exp(-(2 * a - 1) * e)) / (2 * a - 1) * exp(-e)
    moment = (exp((a - 1) * e) + between + exp(-a * e)) / 2
    exactly = log(moment) / (a - 1)
    price = float(Divergence(order).laplace(epsilon))
    assert price == pytest.approx(exactly, rel=1e-9, abs=1e-12)
    assert Divergence(order).laplace(epsilon) <= Divergence(order).pure(epsilon)


@some_examples
@given(st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50), st.integers(2, 40))
def test_randomized_response_attains_the_pure_price(epsilon: Fraction, order: int) -> None:
    truth, lie = exp(epsilon) / (1 + exp(epsilon)), 1 / (1 + exp(epsilon))
    moment = truth**order * lie ** (1 - order) + lie**order * truth ** (1 - order)
    assert float(Divergence(Fraction(order)).pure(epsilon)) == pytest.approx(log(moment) / (order - 1), rel=1e-9)


def test_releases_from_samples_are_priced_by_the_promise_they_make() -> None:
    sampled = events.Subsampled(events.Pure(1), "0.01")
    guard = filter(PureDP(1))
    guard.charge(sampled)
    assert isinstance(guard.spent, Fraction)
    assert Fraction("0.017036") < guard.spent < Fraction("0.017037")
    assert guard.spent.denominator <= 2**100
    assert not filter(PureDP(1)).admits(events.Subsampled(events.Gaussian(1), "0.01"))
    assert filter(ApproxDP(1, "1e-6")).admits(events.Subsampled(events.Gaussian(20), "0.1"))


def test_what_a_race_has_left_is_told_as_a_share_of_its_meter_and_counted_exactly() -> None:
    guard = filter(ApproxDP(1, "1e-6"))
    for _ in range(3):
        guard.charge(events.Pure("0.1"))
    assert (guard.meter, guard.share) == (Epsilon(), Fraction(3, 10))
    assert repr(guard.spent).startswith("30 %")
    assert repr(guard.remaining).startswith("70 %")
    used: Any = guard.spent
    left: Any = guard.remaining
    assert (used["ε"], dict(left)["ε"]) == (Fraction(3, 10), Fraction(7, 10))
    assert copy.deepcopy(guard.remaining) == guard.remaining


releases = st.one_of(
    st.builds(events.Pure, st.fractions("1/100", "1/3", max_denominator=300)),
    st.builds(events.Laplace, st.fractions(3, 100, max_denominator=20)),
    st.builds(events.Gaussian, st.fractions(5, 60, max_denominator=20)),
    st.builds(events.ZCDP, st.fractions("1/10000", "1/100", max_denominator=10**5)),
    st.builds(events.Exponential, st.fractions("1/100", "1/3", max_denominator=300)),
)


def takes(event: Event, account: Account) -> Fraction | None:
    """The share of an account that an event takes, worked out from its price alone."""
    grains = price(event, account.currency, "add-remove")
    return None if grains is None else amount(grains) / account.limit


@some_examples
@given(st.lists(releases, min_size=1, max_size=40), st.sampled_from([None, *METERS]))
def test_shares_of_the_meter_that_add_up_to_one_fit_and_are_what_is_used(
    history: list[Event], meter: Meter | None
) -> None:
    """Against brute force: the first charge fixes the contestant where it takes least, and sums decide from then on."""
    guard = filter(ApproxDP(1, "1e-6"), meter=meter)
    accounts = {account.currency: account for account in guard.accounts}
    total = Fraction(0)
    for event in history:
        shares = {currency: takes(event, account) for currency, account in accounts.items()}
        cheapest = min(share for share in shares.values() if share is not None)
        share = cheapest if guard.meter is None else shares[guard.meter]
        assert guard.share_of(event) == share
        if share is None or total + share > 1:
            continue
        assert guard.admits(event)
        guard.charge(event)
        total += share
        assert guard.meter is not None
        assert shares[guard.meter] == share
        assert guard.share == total
        assert meter is None or isinstance(guard.meter, METERS[meter])


@some_examples
@given(st.lists(releases, min_size=1, max_size=25))
def test_a_meter_that_ends_is_followed_by_the_contestant_with_most_left(history: list[Event]) -> None:
    guard = filter(ApproxDP(1, "1e-6"), meter="epsilon")
    for event in history:
        before = guard.meter
        if not guard.admits(event):
            continue
        guard.charge(event)
        alive = {account.currency: account for account in guard.accounts if account.alive}
        if before in alive:
            assert guard.meter == before
        else:
            assert guard.share == min(account.spent / account.limit for account in alive.values())
        restored = filter(guard.budget, snapshot=guard.snapshot())
        assert (restored.meter, restored.share, restored.copy().meter) == (guard.meter, guard.share, guard.meter)


def test_a_meter_is_chosen_for_races_alone_and_among_their_contestants() -> None:
    assert filter(ApproxDP(1, "1e-6")).meter is None
    assert [type(filter(ApproxDP(1, "1e-6"), meter=name).meter) for name in METERS] == list(METERS.values())
    for budget in (PureDP(1), ZCDP(1), GaussianDP(1), RenyiDP({2: 1})):
        assert filter(budget).meter is not None
        with pytest.raises(InvalidParameter):
            filter(budget, meter="epsilon")
    nonsense: Any = "rho"
    with pytest.raises(InvalidParameter):
        filter(ApproxDP(1, "1e-6"), meter=nonsense)
    snapshot = filter(ApproxDP(1, "1e-6"), meter="mu").snapshot()
    for wrong in (5, -1, "mu", True):
        with pytest.raises(InvalidParameter):
            filter(ApproxDP(1, "1e-6"), snapshot={**snapshot, "meter": wrong})


def test_the_part_of_what_is_left_says_how_many_charges_fit() -> None:
    """Of a race, those that fit its meter: here the first of them fixes it."""
    for budget in (PureDP(1), ApproxDP(1, "1e-6"), ZCDP("0.1"), GaussianDP("0.3")):
        for event in (events.Laplace(25), events.Gaussian(40)):
            guard, times = filter(budget), 0
            part = guard.part_of_rest(event)
            while guard.admits(event):
                guard.charge(event)
                times += 1
            assert (part is None) == (times == 0)
            assert part is None or int(1 / part) == times
            assert guard.part_of_rest(event) is None


BUDGET = ApproxDP("1", "1e-6")
DELTA = BUDGET.delta


def alone(currency: Currency, delta: Fraction = DELTA) -> ApproxDPFilter:
    return ApproxDPFilter(BUDGET, keys=0, contestants=[(currency, delta)])


def test_a_concentrated_filter_alone_admits_487_or_4() -> None:
    assert admitted(alone(Rho()), events.Pure("0.01")) == 487
    assert admitted(alone(Rho()), events.Pure("0.1")) == 4


def test_the_basic_filter_admits_100_or_10() -> None:
    assert admitted(alone(Epsilon(), Fraction(0)), events.Pure("0.01")) == 100
    assert admitted(alone(Epsilon(), Fraction(0)), events.Pure("0.1")) == 10


@all_cases(
    ("event", "least", "most"),
    [
        (events.Pure("0.01"), 460, 487),
        (events.Laplace(100), 460, 490),
        (events.Pure("0.1"), 10, 10),
        (events.Laplace(10), 10, 10),
        (events.Exponential("0.01"), 1800, 1990),
        (events.Gaussian(100), 480, 560),
        (events.DiscreteGaussian(100, 1), 460, 487),
        (events.ZCDP("0.00005"), 460, 487),
    ],
)
def test_the_race_serves_many_small_and_few_large_charges(event: events.Event, least: int, most: int) -> None:
    assert least <= admitted(filter(BUDGET), event) <= most


def test_a_large_charge_first_leaves_more_small_ones_than_the_sum_would() -> None:
    guard = filter(BUDGET)
    guard.charge(events.Pure("0.5"))
    assert admitted(guard, events.Pure("0.01")) > 100  # the sum of ε alone: 50; the best order alone: none


def test_the_filter_at_the_best_order_admits_what_the_concentrated_one_admits() -> None:
    order = best_order(Fraction(1), DELTA, 4096)
    for event in (events.Pure("0.01"), events.Gaussian(50), events.Exponential("0.3"), events.Laplace(3)):
        assert admitted(alone(Divergence(order)), event) >= admitted(alone(Rho()), event)


@all_cases("epsilon", ["0", "1e-300", "0.01", "1", "20", "1e6", "1e300"])
@all_cases("delta", ["1e-300", "1e-12", "0.1", "0.999"])
def test_the_deltas_of_a_race_add_up_to_the_budget_whatever_its_size(epsilon: str, delta: str) -> None:
    budget = ApproxDP(epsilon, delta)
    race = ApproxDPFilter(budget)
    assert race.pot is not None
    assert race.pot.delta == budget.delta / 10
    assert race.pot.delta + sum(account.delta for account in race.accounts) == budget.delta
    assert all(account.limit >= 0 for account in race.accounts)
    race.admits(events.Pure("0.001"))


@all_cases(("epsilon", "delta"), [("0.1", "1e-9"), ("1", "1e-6"), ("8", "0.01")])
def test_each_limit_implies_the_budget(epsilon: str, delta: str) -> None:
    target, allowed = Fraction(epsilon), Fraction(delta)
    slack = 1 + Fraction(1, 10**30)
    assert ZCDP(limit(Rho(), target, allowed)).delta_at(target) <= allowed * slack
    for currency, share in lineup(target, allowed):
        most = limit(currency, target, share)
        if isinstance(currency, Divergence):
            assert delta_from_order(currency.order, most, target) <= share * slack
        elif isinstance(currency, SquaredMu):
            assert GaussianDP(sqrt_up(most)).delta_at(target) <= share * slack


def test_more_delta_than_the_budget_has_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="contestants"):
        ApproxDPFilter(BUDGET, contestants=[(Rho(), DELTA)])
    with pytest.raises(InvalidParameter, match="contestants"):
        ApproxDPFilter(BUDGET, contestants=[])
    with pytest.raises(InvalidParameter):
        filter(BUDGET, keys="1e-5")
    with pytest.raises(InvalidParameter, match="no δ"):
        filter(ZCDP(1), keys="1e-7")


def test_what_exceeds_a_contestant_closes_it_and_a_refusal_closes_none() -> None:
    race = ApproxDPFilter(BUDGET)
    with pytest.raises(BudgetExceeded):
        race.charge(events.Pure("1.5"))
    assert all(account.alive for account in race.accounts)
    race.charge(events.Pure("0.9"))
    assert [account.alive for account in race.accounts] == [True, False, False, True, False]
    with pytest.raises(BudgetExceeded):
        race.charge(events.Gaussian(1))
    assert [account.alive for account in race.accounts] == [True, False, False, True, False]
    race.charge(events.Pure("0.1"))
    assert not race.admits(events.Pure("1e-300"))


def test_keys_draw_on_the_pot_and_pure_queries_do_not() -> None:
    race = ApproxDPFilter(BUDGET)
    for _ in range(10):
        race.charge(events.DiscoveredKeys("0.01", "1e-8"))
    assert race.remaining["δ"] == 0
    with pytest.raises(BudgetExceeded, match="δ"):
        race.charge(events.DiscoveredKeys("0.01", "1e-9"))
    race.charge(events.Pure("0.01"))
    generous = filter(BUDGET, keys="5e-7")
    assert admitted(generous, events.Approx("0.001", "1e-7")) == 5
    none = filter(BUDGET, keys=0)
    assert not none.admits(events.Approx("0.001", "1e-20"))


def test_the_orders_and_deltas_of_a_snapshot_outlive_a_change_of_the_defaults() -> None:
    old = ApproxDPFilter(
        BUDGET, keys="2e-7", contestants=[(Epsilon(), Fraction(0)), (Divergence(Fraction(17)), Fraction("8e-7"))]
    )
    old.charge(events.Pure("0.25"))
    again = filter(BUDGET, snapshot=old.snapshot())
    assert again == old
    assert [account.currency for account in again.accounts] == [Epsilon(), Divergence(Fraction(17))]


def test_admission_after_a_hundred_thousand_charges_takes_the_steps_of_the_first() -> None:
    """Steps and not seconds: those are the benchmark's, which holds them to twice the first charge's."""
    event, fresh, used = events.Laplace(10**6), filter(BUDGET), filter(BUDGET)
    fresh.charge(event)
    for _ in range(100_000):
        used.charge(event)
    size = len(json.dumps(fresh.snapshot()))
    assert len(json.dumps(used.snapshot())) < size + 200  # digits of what was spent
    assert _steps_of_a_charge(used, event) == _steps_of_a_charge(fresh, event)


def _steps_of_a_charge(guard: Filter, event: events.Event) -> int:
    """How many functions are called for it."""
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        guard.charge(event)
    finally:
        sys.setprofile(None)
    return steps


@all_cases(("epsilon", "delta"), [("1", "1e-9"), ("1/10", "1e-6"), ("8", "1e-12")])
def test_the_admitted_rho_is_the_greatest_that_a_fresh_race_takes(epsilon: str, delta: str) -> None:
    budget = ApproxDP(epsilon, delta)
    rho = admitted_rho(budget)
    assert ApproxDPFilter(budget).admits(events.ZCDP(rho))
    assert not ApproxDPFilter(budget).admits(events.ZCDP(rho * Fraction(1001, 1000)))
    assert ZCDP(rho).delta_at(budget.epsilon) < budget.delta  # and it alone would imply more


EPSILON = Fraction(1)
ZERO = Fraction(0)
FAMILIES = [
    pytest.param([Fraction(5, 4), Fraction(3, 2), Fraction(2)], 10, id="5/4, 3/2, 2"),
    pytest.param([Fraction(6, 5), Fraction(3)], 12, id="6/5, 3"),
    pytest.param([Fraction(11, 10), Fraction(3, 2)], 14, id="11/10, 3/2"),
]
DELTAS = [Fraction(1, 5), Fraction(1, 20), Fraction(1, 100)]


def contestants(delta: Fraction) -> dict[str, list[tuple[Currency, Fraction]]]:
    return {
        "concentrated alone": [(Rho(), delta)],
        "Gaussian alone": [(SquaredMu(), delta)],
        "order 4 alone": [(Divergence(Fraction(4)), delta)],
        "sum and two orders": [
            (Epsilon(), ZERO),
            (Divergence(Fraction(3)), delta / 2),
            (Divergence(Fraction(9)), delta / 2),
        ],
        "sum, order and Gaussian": [(Epsilon(), ZERO), (Divergence(Fraction(5)), delta / 2), (SquaredMu(), delta / 2)],
    }


@all_cases(("odds", "rounds"), FAMILIES)
@all_cases("delta", DELTAS)
def test_no_adversary_beats_a_race(odds: list[Fraction], rounds: int, delta: Fraction) -> None:
    moves = [randomized_response(each) for each in odds]
    budget = ApproxDP(EPSILON, delta)
    guards = [
        ApproxDPFilter(budget),
        *(ApproxDPFilter(budget, keys=0, contestants=each) for each in contestants(delta).values()),
    ]
    for guard in guards:
        assert worst(Guarded(guard), moves, excess_over(EPSILON), rounds=rounds) <= delta


@all_cases(("odds", "rounds"), FAMILIES)
def test_no_adversary_beats_the_pure_filter(odds: list[Fraction], rounds: int) -> None:
    moves = [randomized_response(each) for each in odds]
    guard = Guarded(filter(PureDP(EPSILON)))
    assert worst(guard, moves, excess_over(EPSILON), rounds=rounds) == 0
    assert worst(guard, moves, excess_over(Fraction(4, 5)), rounds=rounds) > 0


@all_cases("order", [2, 3, 6])
@all_cases("kind", ["Rényi", "concentrated"])
def test_no_adversary_beats_the_divergence_that_is_promised(order: int, kind: str) -> None:
    """E_P[(P/Q)^(α−1)] ≤ e^((α−1)·ε_α), exactly."""
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    rho = Fraction(1, 8)
    guard: Filter = filter(RenyiDP({order: order * rho}) if kind == "Rényi" else ZCDP(rho))
    moment = worst(Guarded(guard), moves, lambda _state, ratio: ratio ** (1 - order), rounds=10)
    assert 1 < moment <= exp_up((order - 1) * order * rho)


@all_cases("epsilon", ["1/4", "1/2", "1"])
def test_no_adversary_beats_the_gaussian_curve(epsilon: str) -> None:
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    mu = Fraction(4, 5)
    found = worst(Guarded(filter(GaussianDP(mu))), moves, excess_over(Fraction(epsilon)), rounds=10)
    assert 0 < found <= gaussian_delta(mu, Fraction(epsilon))


def test_no_adversary_beats_the_pot_for_queries_that_spend_delta() -> None:
    delta, keys = Fraction(1, 10), Fraction(1, 20)
    small, half = Fraction(1, 100), Fraction(1, 40)
    moves = [
        leaky(Fraction(3, 2), small),
        leaky(Fraction(6, 5), half),
        randomized_response(Fraction(3, 2)),
    ]
    lineup = [(Epsilon(), ZERO), (Divergence(Fraction(4)), delta - keys)]
    guard = ApproxDPFilter(ApproxDP(EPSILON, delta), keys=keys, contestants=lineup)
    found = worst(Guarded(guard), moves, excess_over(EPSILON), rounds=8)
    assert keys / 2 < found <= delta
    assert worst(Guarded(ApproxDPFilter(ApproxDP(EPSILON, delta))), moves, excess_over(EPSILON), rounds=8) <= delta


def test_no_adversary_beats_the_pot_for_keys_that_are_found_by_gaussian_noise() -> None:
    """Randomized response that leaks is one of the mechanisms that such an event may be: its odds are μ-close."""
    delta, keys = Fraction(1, 10), Fraction(1, 20)

    def found_keys(odds: Fraction, chance: Fraction) -> Move:
        mu = PureDP(log_up(odds)).gaussian().mu
        return replace(leaky(odds, chance), event=events.GaussianKeys(1 / mu, chance))

    moves = [
        found_keys(Fraction(3, 2), Fraction(1, 100)),
        found_keys(Fraction(6, 5), Fraction(1, 40)),
        randomized_response(Fraction(3, 2)),
    ]
    lineup = [(Epsilon(), ZERO), (Divergence(Fraction(4)), (delta - keys) / 2), (SquaredMu(), (delta - keys) / 2)]
    guard = ApproxDPFilter(ApproxDP(EPSILON, delta), keys=keys, contestants=lineup)
    found = worst(Guarded(guard), moves, excess_over(EPSILON), rounds=8)
    assert keys / 2 < found <= delta
    free = [replace(move, event=events.Gaussian(move.event.noise_multiplier)) for move in moves[:2]]  # type: ignore[attr-defined]  # (of keys)
    assert worst(Guarded(guard), free, excess_over(EPSILON), rounds=8) > delta  # δ that nobody pays for is caught


def test_composing_curves_along_the_path_is_caught() -> None:
    """Declared together every admitted set of moves is (1, 1/20)-DP; chosen adaptively they are not."""
    moves = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]
    delta = Fraction(1, 20)
    assert worst(Composing(EPSILON, delta), moves, excess_over(EPSILON), rounds=9) > delta * Fraction(6, 5)


def test_refunding_failed_queries_is_caught() -> None:
    moves = [randomized_response(Fraction(3, 2))]
    guard = Refunding(Guarded(filter(PureDP(EPSILON))))
    assert worst(guard, moves, excess_over(EPSILON), rounds=8) > Fraction(1, 100)


def test_a_race_without_death_is_caught() -> None:
    """Filters that count only what they admit themselves let an adversary spend each of them separately."""
    delta = Fraction(1, 20)
    budget = ApproxDP(EPSILON, delta)
    moves = [randomized_response(Fraction(odds)) for odds in ("6/5", "2")]
    alone = [ApproxDPFilter(budget, keys=0, contestants=[each]) for each in ((Epsilon(), ZERO), (Rho(), delta))]
    assert worst(Forgiving(*alone), moves, excess_over(EPSILON), rounds=14) > delta
    together = ApproxDPFilter(budget, keys=0, contestants=[(Epsilon(), ZERO), (Rho(), delta)])
    assert worst(Guarded(together), moves, excess_over(EPSILON), rounds=14) <= delta


def test_the_solver_finds_the_exact_delta_of_plain_composition() -> None:
    """With one kind of move there is nothing to choose but when to stop, and stopping early never helps."""
    move = randomized_response(Fraction(2))
    truth, lie = Fraction(2, 3), Fraction(1, 3)
    reward = excess_over(EPSILON)
    exactly = sum(
        (comb(4, k) * truth**k * lie ** (4 - k) * reward((), Fraction(1, 2) ** (2 * k - 4)) for k in range(5)), ZERO
    )
    assert worst(_Anything(), [move], reward, rounds=4) == exactly


class _Anything:
    start: Hashable = ()

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        return state


def test_states_of_the_game_are_compared_by_what_the_filter_knows() -> None:
    one, two = Guarded(filter(PureDP(1))), Guarded(filter(PureDP(1)))
    assert isinstance(one.start, Frozen)
    assert one.start == two.start
