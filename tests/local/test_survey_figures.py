"""The figures of [Lal20]."""

from __future__ import annotations

import math

import pytest

from giveortake.local import Poll
from giveortake.local.poll import margin_curves, posterior_figure, uncertainty_figure


def test_figure_1_shows_the_bounds_of_equation_5() -> None:
    rows = posterior_figure(["1"]).to_dict()["data"]["values"]
    after = {row["side"]: row["after"] for row in rows if row["before"] == 0.3}
    low, high = 0.3 / (math.e + (1 - math.e) * 0.3), math.e * 0.3 / (1 + (math.e - 1) * 0.3)
    assert after == pytest.approx({"low": low, "high": high})


def test_figure_2_shows_the_margins_of_equations_15_and_16() -> None:
    curves = margin_curves(["1"])
    assert list(curves) == ["ε = 1", "no privacy"]
    for (n, private), (m, free) in zip(*curves.values(), strict=True):
        assert n == m
        assert private == pytest.approx(1.959964 * math.sqrt(Poll(epsilon=1).variance(n, "1/2")), rel=1e-6)
        assert free == pytest.approx(1.959964 * math.sqrt(0.25 / n), rel=1e-6)
        assert private > free
    chart = uncertainty_figure(["1"]).to_dict()
    assert chart["encoding"]["x"]["scale"]["type"] == "log"
