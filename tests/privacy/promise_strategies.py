"""Promises of every kind, for tests that state laws about all of them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
)

ORDERS = (Fraction(3, 2), Fraction(2), Fraction(8), Fraction(32))

sizes = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=1000)
deltas = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 3), max_denominator=10**9)
rates = st.fractions(min_value=0, max_value=1, max_denominator=1000)

pure = st.builds(PureDP, sizes)
approximate = st.builds(ApproxDP, st.just(Fraction(0)) | sizes, deltas)
probabilistic = st.builds(ProbabilisticDP, sizes, deltas)
computational = st.builds(ComputationalDP, sizes, deltas)
concentrated = st.builds(ZCDP, sizes)
gaussian = st.builds(GaussianDP, sizes)
renyi = st.builds(lambda values: RenyiDP(dict(zip(ORDERS, values, strict=True))), st.tuples(sizes, sizes, sizes, sizes))

statistical: st.SearchStrategy[Guarantee] = st.one_of(pure, approximate, probabilistic, concentrated, gaussian, renyi)
every_kind: st.SearchStrategy[Guarantee] = st.one_of(statistical, computational)
adding_exactly: list[st.SearchStrategy[Guarantee]] = [
    pure,
    approximate,
    probabilistic,
    computational,
    concentrated,
    renyi,
]

ONE_OF_EACH: list[Guarantee] = [
    PureDP("0.5"),
    ApproxDP("0.5", "1e-6"),
    ProbabilisticDP("0.5", "1e-6"),
    ComputationalDP("0.5", "1e-6"),
    ZCDP("0.125"),
    GaussianDP("0.5"),
    RenyiDP({2: "0.25", 8: "1", 32: "4"}),
]


def smallest_delta(promise: Guarantee) -> Fraction:
    """The least δ for which a promise can have an ε at all."""
    return promise.delta if isinstance(promise, ApproxDP | ProbabilisticDP | ComputationalDP) else Fraction(1, 10**300)
