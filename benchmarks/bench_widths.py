"""How wide intervals are: what a share of the budget buys, by noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import giveortake as gt

if TYPE_CHECKING:
    from harness.report import Report

SHARES = ("1/2", "1/10", "1/100", "1/1000")
KEYS = [f"k{place}" for place in range(4)]


def run(report: Report) -> None:
    table = pl.DataFrame({"k": KEYS})
    budget = gt.ApproxDP(1, "1e-6")
    with gt.protect(table, unit=gt.ROW, budget=budget, domains={"k": KEYS}, name="data") as session:
        query = session.sql("SELECT k, COUNT(*) AS n FROM data GROUP BY k")
        for share in SHARES:
            quote = query.quote(share=share)
            report.fact(f"share {share} of (1, 1e-6), a number by key", f"± {quote.margins['n']:g}  {quote.spend}")
