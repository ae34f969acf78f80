"""Thousands of simulated surveys of every kind: intervals hold the truth at least as often as they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from surveys import COLOURS

import tiers
from giveortake.local import (
    CountMeanSketch,
    HadamardResponse,
    HeavyHitters,
    LocalHashing,
    Mean,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
)
from recorded_entropy import RecordedEntropy

pytestmark = pytest.mark.statistical

SURVEYS, RESPONDENTS = tiers.tiered(2_500, 10_000), 120
SHARES = np.array([0.5, 0.3, 0.15, 0.05])
LEAST = 0.95 - 6 * math.sqrt(0.95 * 0.05 / SURVEYS)


def population(seed: int, surveys: int = SURVEYS, respondents: int = RESPONDENTS) -> Any:
    return np.random.default_rng(seed).choice(len(SHARES), p=SHARES, size=surveys * respondents)


@pytest.mark.parametrize(
    "survey",
    [
        RandomizedResponse(COLOURS, 1),
        UnaryEncoding(COLOURS, 1),
        UnaryEncoding(COLOURS, 1, symmetric=True),
        LocalHashing(COLOURS, 1),
        LocalHashing(COLOURS, 1, buckets=2),
        HadamardResponse(COLOURS, 1),
    ],
    ids=["rr", "oue", "sue", "olh", "blh", "hr"],
)
def test_intervals_of_categories_cover_and_estimates_are_unbiased_with_the_stated_variance(survey: Any) -> None:
    answers = [COLOURS[code] for code in population(1)]
    reports = survey.randomize(answers, RecordedEntropy(survey.kind))
    parts = np.split(reports.data, SURVEYS)
    counts = np.stack([survey.counts(part) for part in parts])
    values, low, high = survey.shares(counts, RESPONDENTS, "0.95", "guaranteed")
    covered = ((low <= SHARES) & (high >= SHARES)).mean(axis=0)
    assert (covered >= LEAST).all()
    for place, share in enumerate(SHARES):
        variance = float(survey.variance(RESPONDENTS, str(share)))
        assert abs(values[:, place].mean() - share) < 6 * math.sqrt(variance / SURVEYS)
        assert values[:, place].var() == pytest.approx(variance, rel=6 * math.sqrt(2 / SURVEYS) * 1.2)


@pytest.mark.parametrize("poll", [Poll(truth="1/2"), Poll.two_coins("1/3")], ids=["fair", "two coins"])
@pytest.mark.parametrize("interval", ["guaranteed", "normal"])
def test_intervals_of_polls_cover(poll: Poll, interval: Any) -> None:
    answers = population(2) == 1
    reports = poll.randomize(answers, RecordedEntropy("polls")).data.reshape(SURVEYS, RESPONDENTS)
    _, low, high = poll.shares(reports.sum(axis=1), RESPONDENTS, "0.95", interval)
    covered = ((low <= 0.3) & (high >= 0.3)).mean()
    assert covered >= (LEAST if interval == "guaranteed" else 0.93)


@pytest.mark.parametrize("method", ["stochastic-rounding", "piecewise"])
def test_intervals_of_means_cover(method: Any) -> None:
    survey = Mean((0, 10), 2, method=method)
    numbers = np.random.default_rng(3).beta(2, 5, size=SURVEYS * RESPONDENTS) * 10
    reports = np.split(survey.randomize(numbers, RecordedEntropy(method)).data, SURVEYS)
    if method == "stochastic-rounding":  # all intervals at once: there are few different sums
        known = {
            int(total): survey.estimate([1] * int(total) + [0] * (RESPONDENTS - int(total)))
            for total in set(map(np.sum, reports))
        }
        estimates = [known[int(part.sum())] for part in reports]
    else:
        estimates = [survey.estimate(part) for part in reports]
    covered = np.mean([estimate.low <= 20 / 7 <= estimate.high for estimate in estimates])
    assert covered >= LEAST
    values = np.array([estimate.value for estimate in estimates])
    assert abs(values.mean() - 20 / 7) < 6 * values.std() / math.sqrt(SURVEYS)


def test_intervals_of_sketches_cover_over_the_draw_of_the_functions() -> None:
    answers = [COLOURS[code] for code in population(4, respondents=60)]
    surveys = [CountMeanSketch(2, functions=4, buckets=16, seed=str(number)) for number in range(SURVEYS)]
    mine = [answers[60 * number : 60 * (number + 1)] for number in range(SURVEYS)]
    reports = [survey.randomize(mine[number], RecordedEntropy(number)) for number, survey in enumerate(surveys)]
    rows = np.stack([part.data for part in reports])  # of bytes: two name a function, the others hold its buckets
    functions = np.ascontiguousarray(rows[..., :2]).view("<u2")[..., 0].astype(np.int64)
    buckets = np.unpackbits(rows[..., 2:], axis=2, bitorder="little")
    places = np.stack([survey.places([COLOURS[1]])[:, 0] for survey in surveys])
    places = np.take_along_axis(places, functions, axis=1)
    counts = np.take_along_axis(buckets, places[..., None], axis=2).sum(axis=(1, 2), dtype=np.int64)
    for number, survey in enumerate(surveys[:200]):  # what it counts itself, for all of them at once
        assert counts[number] == survey.counts(reports[number].data, [COLOURS[1]])[0]
    _, low, high = surveys[0].shares(
        counts, 60, "0.975", "guaranteed"
    )  # all intervals at once: it is the same function
    more, less = surveys[0].collisions("0.975")
    answer: Any = surveys[7].estimate(reports[7], candidates=[COLOURS[1]])
    assert (answer.low, answer.high) == pytest.approx((low[7] - more, high[7] + less))
    covered = ((low - more <= 0.3) & (high + less >= 0.3)).mean()
    assert covered >= LEAST


def test_intervals_of_rappor_cover_in_hundreds_of_surveys() -> None:
    surveys, respondents = tiers.tiered(400, 1000), 1000
    survey = Rappor(3, bits=16, hashes=2, cohorts=4)
    answers = [COLOURS[code] for code in population(5, surveys, respondents)]
    reports = np.split(survey.randomize(answers, RecordedEntropy("rappor")).data, surveys)
    covered = np.zeros(len(COLOURS))
    for part in reports:
        column: Any = survey.estimate(part, candidates=COLOURS)["share"]
        covered += [low <= share <= high for share, (_, low, high) in zip(SHARES, column.triples(), strict=True)]
    assert (covered / surveys >= 0.95 - 6 * math.sqrt(0.95 * 0.05 / surveys)).all()


def test_heavy_hitters_find_what_is_frequent_and_invent_little() -> None:
    words = ["apple", "pear", "plum", "fig", "quince", "medlar"]
    shares = np.array([0.3, 0.2, 0.15, 0.1, 0.02, 0.01])
    generator = np.random.default_rng(6)
    rare = ["".join(generator.choice(list("abcdefgh"), 6)) for _ in range(200)]
    answers = list(generator.choice(words, p=shares / shares.sum(), size=24_000)) + rare * 20
    survey = HeavyHitters(3, length=6, alphabet="abcdefghijklmnopqrstuvwxyz")
    found = list(survey.estimate(survey.randomize(answers, RecordedEntropy("words")))["text"])
    frequent = set(words[:4])
    assert len(frequent & set(found)) / len(frequent) == 1  # recall of what is above a tenth
    assert len(set(found) & set(words)) / len(found) >= 0.8  # precision
