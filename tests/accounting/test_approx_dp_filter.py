"""The numbers of the specification: how many queries each filter admits at (1, 1e-6), and what admission costs."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import pytest

from cases import all_cases
from filter_strategies import admitted
from giveortake.accounting.filters import ApproxDPFilter, Filter, admitted_rho, best_order, filter, limit, lineup  # noqa: A004
from giveortake.accounting.pricing import Currency, Divergence, Epsilon, Rho, SquaredMu
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.exact import sqrt_up
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, events
from giveortake.privacy.definitions import delta_from_order

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
