"""How wide intervals are, by the rules of 0.1 and by the latest, how often they hold, and medians beside OpenDP's."""

from __future__ import annotations

import datetime as dt
import math
import random
import runpy
import sys
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.answers.confidence import Confidence
from giveortake.compile import Release, Rules, Spend, combined, evaluated
from giveortake.compile.postprocessing import answer_columns
from giveortake.errors import GiveOrTakeError
from giveortake.session.session import mechanism_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from evil_tables import DOMAINS, SCHEMA
from query_shapes import PLAIN
from replay import exact_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.compile import Measurement
    from giveortake.session import Session
    from harness.report import Report

ROWS = 20_000
KEYS = Fraction(1, 10**7)
SPENDS = {"ε = 1": Spend(epsilon=Fraction(1), keys=KEYS), "μ = 1/4": Spend(mu=Fraction(1, 4), keys=KEYS)}
SIZES = (500, 5_000, 500_000)
CANDIDATES = (101, 1_001)
REDRAWS, QUICK_REDRAWS = 20_000, 2_000
PEER = runpy.run_path(str(Path(__file__).parent / "peers" / "opendp_quantiles.py"))  # which makes the same values
GREATEST: int = PEER["GREATEST"]
values: Callable[[int], list[float]] = PEER["values"]


def run(report: Report) -> None:
    _widths(report)
    _coverage(report)
    _medians(report)


# -- widths -----------------------------------------------------------------------------------------------------------


def _widths(report: Report) -> None:
    """Half of the mean width of every column whose interval is another by the latest rules."""
    with gt.protect(_table(), unit=gt.ROW, budget=gt.ApproxDP(10**6, "1e-3"), domains=DOMAINS, name="data") as session:
        for name, text in PLAIN.items():
            for label, spend in SPENDS.items():
                for column, before, after in _compared(session, text, spend):
                    ratio = f", {before / after:.3g}× narrower" if after < before else ""
                    report.fact(f"{name} ({column}), {label}", f"± {before:,.4g} → ± {after:,.4g}{ratio}")


def _compared(session: Session, text: str, spend: Spend) -> Iterator[tuple[str, float, float]]:
    found = [_half_widths(session, text, spend, rules) for rules in (Rules.FIRST, Rules.SECOND)]
    for column in found[0].keys() & found[1].keys():
        before, after = (each[column] for each in found)
        if math.isfinite(before + after) and abs(before - after) > 0.02 * before:
            yield column, before, after


def _half_widths(session: Session, text: str, spend: Spend, rules: Rules) -> dict[str, float]:
    mechanism = mechanism_of(session)
    question = session.sql(text).question
    try:
        priced = mechanism.price_at(question, session.caps, spend, rules=rules)
        if priced.keys is None:
            return {}  # whose keys are found: other keys have other intervals
        release = priced.made.release(mechanism.engine, priced.keys)
    except GiveOrTakeError:
        return {}
    columns = answer_columns(priced.made, priced.keys, [release], Confidence("0.95"))
    return {
        column.name: float(np.mean(np.asarray(column.high, dtype=float) - np.asarray(column.low, dtype=float))) / 2
        for column in columns
        if column.has_interval and len(column)
    }


def _table() -> pl.DataFrame:
    """An ordinary table with the columns of every shape."""
    luck = random.Random("widths")  # noqa: S311 (a table for everybody)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(5)]
    rows = [
        {
            "p": luck.randrange(5_000),
            "x": luck.gauss(1.5, 1.2),
            "y": luck.uniform(10, 12),
            "i": min(300, int(luck.expovariate(1 / 60))),
            "w": luck.randrange(40),
            "r": luck.choice(["north", "south", "øst"]),
            "n": luck.choice(["a", "b", None]),
            "q": f"q{int(luck.expovariate(0.3))}",
            "b": luck.random() < 0.3,
            "d": luck.choice(days),
            "e": luck.choice(days),
            "t": dt.datetime(2024, luck.randrange(1, 13), 3, 7),
            "c": Decimal(luck.randrange(10_000)) / 100,
        }
        for _ in range(ROWS)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


# -- coverage ---------------------------------------------------------------------------------------------------------


def _coverage(report: Report) -> None:
    """How often intervals of quantiles over continuous values hold, of very many draws on the same integers."""
    redraws = QUICK_REDRAWS if report.quick else REDRAWS
    for rows in SIZES[:2]:
        for label, spend in SPENDS.items():
            for quantile in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
                held, width = _held(values(rows), quantile, spend, redraws)
                report.fact(
                    f"interval of quantile {float(quantile):g} of {rows:,} values, {label}",
                    f"holds {held:.1%}, ± {width:,.3g} ranks",
                    goal="≥ 95 %",
                    met=held >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / redraws),
                )


def _held(table: list[float], quantile: Fraction, spend: Spend, redraws: int) -> tuple[float, float]:
    found, ordered = _evaluated(table, f"QUANTILE(x, {float(quantile)})", spend, redraws), sorted(table)
    truth = ordered[math.ceil(quantile * len(table)) - 1]
    ranks = np.searchsorted(ordered, found.high) - np.searchsorted(ordered, found.low)
    return float(((found.low <= truth) & (truth <= found.high)).mean()), float(ranks.mean()) / 2


def _evaluated(table: list[float], text: str, spend: Spend, redraws: int) -> Any:
    options: Any = {"unit": gt.ROW, "budget": gt.ApproxDP(10**6, "1e-6"), "domains": {"x": (0, GREATEST)}}
    with gt.protect(pl.DataFrame({"x": table}), name="data", **options) as session:
        mechanism = mechanism_of(session)
        question = session.sql(f"SELECT {text} AS a FROM data").question  # noqa: S608 (our own text)
        made: Measurement = mechanism.measure(question, session.caps, spend)
        (exact,) = exact_integers(made, mechanism.engine)
    noise = made.noises[0]
    drawn = np.concatenate([noise.release(exact.ravel()).reshape(1, -1) for _ in range(redraws)])
    ((_, formula),) = made.formulas
    return evaluated(formula, combined(made.measures, [Release((drawn,), (noise,))]), 0.05, redraws)


# -- medians beside OpenDP --------------------------------------------------------------------------------------------


def _medians(report: Report) -> None:
    """The mean error of a median's rank at the same ε. OpenDP's has no interval."""
    peer = report.peer("opendp_quantiles.py", "opendp")
    spend = Spend(epsilon=Fraction(1))
    for rows in SIZES:
        table = values(rows)
        ordered = sorted(table)
        found = _evaluated(table, "MEDIAN(x)", spend, QUICK_REDRAWS)
        ours = float(np.mean([abs(bisect_left(ordered, value) - rows / 2) for value in found.values.tolist()]))
        for candidates in CANDIDATES:
            errors = peer.stopwatch(f"{rows} {candidates} 1.0")
            theirs = None if errors is None else errors()
            beside = peer.named("OpenDP") if theirs is None else f"OpenDP {theirs:,.4g}"
            report.fact(
                f"rank error of the median of {rows:,} values, {candidates:,} candidates",
                f"{ours:,.4g} ranks; {beside}",
                goal="≤ OpenDP's",
                met=None if theirs is None else ours <= theirs,
            )
    report.note("Our median comes with an interval, for the same ε; the exponential mechanism has none.")
