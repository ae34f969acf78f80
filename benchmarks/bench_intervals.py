"""How wide intervals of every shape of question are, by the rules of 0.1 and by the latest."""

from __future__ import annotations

import datetime as dt
import math
import random
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.answers.confidence import Confidence
from giveortake.compile import Rules, Spend
from giveortake.compile.postprocessing import answer_columns
from giveortake.errors import GiveOrTakeError
from giveortake.session.session import mechanism_of

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from evil_tables import DOMAINS, SCHEMA
from query_shapes import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.session import Session
    from harness.report import Report

ROWS = 20_000
KEYS = Fraction(1, 10**7)
SPENDS = {"ε = 1": Spend(epsilon=Fraction(1), keys=KEYS), "μ = 1/4": Spend(mu=Fraction(1, 4), keys=KEYS)}


def run(report: Report) -> None:
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
