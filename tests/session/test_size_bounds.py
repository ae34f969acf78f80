"""Bounds of what caps leave out hold for all caps at once as often as they say, and narrower ones would not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from giveortake.mechanisms.weighted_sums import reach
from giveortake.session import size_bounds
from giveortake.session.dimensions import size_edges
from giveortake.session.size_bounds import Share, Sizes, share_left_out, share_left_out_of_groups
from statistics_of_draws import ALPHA

MISS, REDRAWS = 0.2, 400
DICE = np.random.default_rng(14)
PEOPLE: dict[str, npt.NDArray[np.int64]] = {
    "most alike": DICE.integers(1, 9, 800),
    "heavy tail": np.minimum(1 + (DICE.pareto(1.1, 600) * 5).astype(np.int64), 3_000),
    "one heavy": np.array([2] * 300 + [2_900]),
}


def histogram(sizes: npt.NDArray[np.int64], most: int | None) -> npt.NDArray[np.int64]:
    edges = np.array(size_edges(most))
    return np.bincount(np.minimum(np.searchsorted(edges, sizes), len(edges) - 1), minlength=len(edges))


def noisy(sizes: npt.NDArray[np.int64], most: int | None, scale: float, dice: np.random.Generator) -> Sizes:
    counts = histogram(sizes, most)
    drawn = counts + np.round(dice.laplace(0, scale, len(counts))).astype(np.int64)
    return Sizes(size_edges(most), tuple(drawn.tolist()), scale, most is not None)


def forget() -> None:
    size_bounds._bounded.cache_clear()
    size_bounds._families.cache_clear()


def missed(sizes: npt.NDArray[np.int64], most: int | None, scale: float) -> int:
    """In how many redraws some cap has its share outside the bounds."""
    dice, total, count = np.random.default_rng(5), int(sizes.sum()), 0
    caps = [*size_edges(most)[::3], 9, 300, 4_000]
    truth = [np.maximum(sizes - cap, 0).sum() / total for cap in caps]
    for _ in range(REDRAWS):
        drawn = noisy(sizes, most, scale, dice)
        found = [share_left_out(drawn, cap, MISS) for cap in caps]
        outside = any(not each.low <= true <= each.high for each, true in zip(found, truth, strict=True))
        bounds, persons = drawn.bounded(MISS), len(sizes)
        count += outside or not bounds.kept_low[0] <= persons <= bounds.persons_high
    return count


@pytest.mark.statistical
@pytest.mark.parametrize("most", [None, 3_000])
@pytest.mark.parametrize("name", PEOPLE)
def test_all_caps_together_are_bounded_as_often_as_stated(name: str, most: int | None) -> None:
    misses = missed(PEOPLE[name], most, 2.0)
    assert stats.binomtest(misses, REDRAWS, MISS, alternative="greater").pvalue > ALPHA


@pytest.mark.statistical
def test_bounds_without_the_noise_or_of_a_smaller_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Callable[..., npt.NDArray[np.float64]]] = {
        "no noise": lambda weights, _scale, _miss: np.zeros(len(weights)),
        "a third of the noise": lambda weights, scale, miss: reach(weights, scale / 3, miss),
    }
    for name, change in changes.items():
        forget()
        monkeypatch.setattr(size_bounds, "reach", change)
        misses = missed(PEOPLE["most alike"], 3_000, 2.0)
        assert stats.binomtest(misses, REDRAWS, MISS, alternative="greater").pvalue < ALPHA, name
    forget()


def test_without_noise_the_bounds_close_in_on_the_truth() -> None:
    sizes = PEOPLE["heavy tail"]
    drawn = Sizes(size_edges(3_000), tuple(histogram(sizes, 3_000).tolist()), 1e-3, closed=True)
    for cap in (1, 5, 16, 64, 1_024):
        true = np.maximum(sizes - cap, 0).sum() / sizes.sum()
        found = share_left_out(drawn, cap, 0.05)
        assert found.low <= true <= found.high
        assert found.high - found.low < 0.12  # a bin is a fourth of a doubling wide
        assert abs(found.estimate - true) < 0.05


def test_only_a_public_maximum_bounds_from_above_what_is_left_out() -> None:
    sizes = PEOPLE["most alike"]
    without = Sizes(size_edges(None), tuple(histogram(sizes, None).tolist()), 0.5, closed=False)
    assert share_left_out(without, 8, 0.05).high == 1
    within = Sizes(size_edges(8), tuple(histogram(sizes, 8).tolist()), 0.5, closed=True)
    assert share_left_out(within, 8, 0.05).high == 0
    assert share_left_out(within, 100, 0.05).high == 0
    assert 0 < share_left_out(within, 4, 0.05).low < share_left_out(within, 4, 0.05).high < 1


def people_with_groups(dice: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """The rows of each person in each of their groups."""
    return [dice.integers(1, 1 + dice.integers(2, 12), dice.integers(1, 9)) for _ in range(500)]


@pytest.mark.statistical
def test_caps_on_groups_and_their_rows_are_bounded_together() -> None:
    people = people_with_groups(np.random.default_rng(1))
    rows = np.array([each.sum() for each in people])
    groups = np.array([len(each) for each in people])
    largest = np.array([each.max() for each in people])
    dice, misses = np.random.default_rng(2), 0
    found: dict[tuple[int, int], Share] = {}
    chosen = [(1, 1), (2, 3), (4, 4), (8, 2), (8, 8), (8, 12), (9, 120)]
    truth = {}
    for most_groups, most_rows in chosen:
        kept = sum(np.minimum(each, most_rows).sum() * min(1, most_groups / len(each)) for each in people)
        truth[most_groups, most_rows] = 1 - kept / rows.sum()
    for _ in range(REDRAWS):
        drawn = [
            noisy(rows, 120, 1.5, dice),
            noisy(groups, 9, 1.5, dice),
            noisy(largest, 120, 1.5, dice),
        ]
        found = {caps: share_left_out_of_groups(drawn[0], drawn[1], drawn[2], caps, MISS) for caps in chosen}
        misses += any(not found[caps].low <= true <= found[caps].high for caps, true in truth.items())
    assert stats.binomtest(misses, REDRAWS, MISS, alternative="greater").pvalue > ALPHA
    assert found[1, 1].low > 0.5
    assert found[8, 12].high < 0.8
    assert found[9, 120].high == 0


def test_who_is_lost_in_the_noise_is_not_counted_on() -> None:
    counts = [0] * len(size_edges(None))
    counts[0], counts[-1] = 900, 4  # four who may be nothing but noise, with a million rows each
    drawn = Sizes(size_edges(None), tuple(counts), 2.0, closed=False)
    assert drawn.edges[drawn.last_seen(0.05)] == 1
    assert share_left_out(drawn, 1, 0.05).low == 0
    assert share_left_out(drawn, 1, 0.05).likely < 0.02
