"""Quantiles over continuous values: how often their intervals hold, and the rank of a median beside OpenDP's."""

from __future__ import annotations

import math
import runpy
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.compile import Release, Spend, combined
from giveortake.session.session import mechanism_of
from harness.terms import Terms, statements

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from replay import exact_integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.compile import Measurement
    from giveortake.session import Session
    from harness.report import Report

SIZES = (500, 5_000, 500_000)
SPENDS = {
    "ε = 1": Spend(epsilon=Fraction(1)),
    "ε = 0.1": Spend(epsilon=Fraction(1, 10)),
    "μ = 1/4": Spend(mu=Fraction(1, 4)),
}
QUANTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
SHAPES = ("skewed", "even")
EPSILONS = ("1", "0.1")
MEDIAN = "MEDIAN(x)"
TERMS = [
    Terms("median", side, text, epsilon)
    for epsilon in EPSILONS
    for side, text in (
        ("ours", f"gt.protect(…, unit=gt.ROW).sql('SELECT {MEDIAN} AS a FROM data').answer(epsilon={epsilon!r})"),  # noqa: S608 (our own text)
        ("OpenDP", statements("peers/opendp_quantiles.py", "d_out=")),
    )
]
CANDIDATES = (1_001, 10_001)
TABLES, QUICK_TABLES = 8, 2
REDRAWS, QUICK_REDRAWS = 10_000, 1_000
BINS = 1_000
PEER = runpy.run_path(str(Path(__file__).parent / "peers" / "opendp_quantiles.py"))  # which makes the same values
GREATEST: int = PEER["GREATEST"]
values: Callable[..., list[float]] = PEER["values"]


def run(report: Report) -> None:
    _coverage(report)
    _medians(report)


# -- coverage ---------------------------------------------------------------------------------------------------------


def _coverage(report: Report) -> None:
    """How often intervals hold, of very many draws on the same integers, by the number of values in a bin."""
    redraws = QUICK_REDRAWS if report.quick else REDRAWS
    for rows in SIZES:
        table = np.sort(np.array(values("skewed", rows)))
        for label, spend in SPENDS.items():
            for quantile in QUANTILES:
                truth = table[math.ceil(quantile * rows) - 1]
                found = _evaluated(table.tolist(), f"QUANTILE(x, {float(quantile)})", spend, redraws)
                held = float(((found.low <= truth) & (truth <= found.high)).mean())
                ranks = np.searchsorted(table, found.high) - np.searchsorted(table, found.low)
                start = truth // (GREATEST / BINS) * (GREATEST / BINS)
                inside = int(((table >= start) & (table < start + GREATEST / BINS)).sum())
                report.fact(
                    f"quantile {float(quantile):g} of {rows:,} values ({inside:,} in its bin), {label}",
                    f"holds {held:.1%}, ± {ranks.mean() / 2:,.3g} ranks, ± {(found.high - found.low).mean() / 2:,.3g}",
                    goal="≥ 95 %",
                    met=held >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / redraws),
                )


def session_of(table: list[float]) -> Session:
    options: Any = {"unit": gt.ROW, "budget": gt.ApproxDP(10**6, "1e-6"), "domains": {"x": (0, GREATEST)}}
    return gt.protect(pl.DataFrame({"x": table}), name="data", **options)


def measured(session: Session, text: str, spend: Spend) -> Measurement:
    """What an answer would measure; what it draws is drawn often here, and nothing is charged."""
    question = session.sql(f"SELECT {text} AS a FROM data").question  # noqa: S608 (our own text)
    return mechanism_of(session).measured(question, session.describe().caps, spend)


def _evaluated(table: list[float], text: str, spend: Spend, redraws: int) -> Any:
    with session_of(table) as session:
        made = measured(session, text, spend)
        (exact,) = exact_integers(made, mechanism_of(session).engine)
    noise = made.noises[0]
    drawn = np.concatenate([noise.release(exact.ravel()).reshape(1, -1) for _ in range(redraws)])
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release((drawn,), (noise,))]), 0.05, redraws)


# -- medians beside OpenDP --------------------------------------------------------------------------------------------


def _medians(report: Report) -> None:
    """The mean error of a median's rank at the same ε, over several tables. OpenDP's has no interval."""
    peer = report.peer("OpenDP", "opendp_quantiles.py", "opendp")
    tables = QUICK_TABLES if report.quick else TABLES
    for shape in SHAPES:
        for epsilon in EPSILONS:
            spend = Spend(epsilon=Fraction(epsilon))
            for rows in SIZES:
                errors, widths = zip(*(_ranks(values(shape, rows, each), spend) for each in range(tables)), strict=True)
                ours, width = float(np.mean(errors)), float(np.mean(widths))
                for candidates in CANDIDATES:
                    watch = peer.stopwatch(f"{shape} {rows} {tables} {candidates} {epsilon}")
                    theirs = None if watch is None else watch()
                    beside = peer.named("OpenDP") if theirs is None else f"OpenDP {theirs:,.3g}, no interval"
                    report.fact(
                        f"median of {rows:,} {shape} values, ε = {epsilon}, {candidates:,} candidates",
                        f"rank off by {ours:,.3g}, interval ± {width:,.3g} ranks; {beside}",
                        goal="≤ OpenDP's",
                        met=None if theirs is None else ours <= theirs,
                    )
    report.note(f"Means over {tables} tables. OpenDP's candidates are equally far apart between the same bounds.")


def _ranks(table: list[float], spend: Spend) -> tuple[float, float]:
    """How far the median's rank is off, and half of the width of its interval in ranks, in the mean."""
    found, ordered = _evaluated(table, MEDIAN, spend, QUICK_REDRAWS), np.sort(np.array(table))
    off = np.abs(np.searchsorted(ordered, found.values) - len(table) / 2)
    wide = np.searchsorted(ordered, found.high) - np.searchsorted(ordered, found.low)
    return float(off.mean()), float(wide.mean()) / 2
