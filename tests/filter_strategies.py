"""Budgets and events of every kind, for tests that state laws about all filters."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from giveortake.accounting.filters import Filter
from giveortake.errors import BudgetExceeded
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, events

BUDGETS: list[Guarantee] = [
    PureDP("1"),
    ApproxDP("1", "1e-6"),
    ZCDP("0.5"),
    GaussianDP("1"),
    RenyiDP({2: "0.5", 8: "1", 32: "2"}),
]

sizes = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2), max_denominator=1000)
multipliers = st.fractions(min_value=1, max_value=200, max_denominator=100)
deltas = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10**7), max_denominator=10**9)

pure_events: st.SearchStrategy[events.Event] = st.one_of(
    st.builds(events.Pure, sizes),
    st.builds(events.Laplace, multipliers),
    st.builds(events.Exponential, sizes),
    st.builds(events.RandomizedResponse, sizes, st.integers(2, 9)),
    st.builds(events.AboveThreshold, sizes),
    st.builds(events.Geometric, multipliers, st.just(1)),
)
single_events: st.SearchStrategy[events.Event] = st.one_of(
    pure_events,
    st.builds(events.Gaussian, multipliers),
    st.builds(events.DiscreteGaussian, multipliers, st.just(Fraction(1))),
    st.builds(events.ZCDP, sizes),
    st.builds(events.Approx, sizes, deltas),
    st.builds(events.DiscoveredKeys, sizes, deltas),
    st.builds(events.GaussianKeys, sizes, deltas),
)


def _made_of(parts: st.SearchStrategy[events.Event]) -> st.SearchStrategy[events.Event]:
    some = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        st.builds(events.Composed, some),
        st.builds(events.Repeated, parts, st.integers(1, 4)),
        st.builds(events.Parallel, some, st.integers(1, 3)),
    )


every_event: st.SearchStrategy[events.Event] = st.recursive(single_events, _made_of, max_leaves=4)


def admitted(guard: Filter, event: events.Event, *, most: int = 10_000) -> int:
    """How often an event can be charged, one at a time."""
    for count in range(most):
        try:
            guard.charge(event)
        except BudgetExceeded:
            return count
    return most
