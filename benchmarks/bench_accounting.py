"""Four compositions: how fast and how tight, beside dp-accounting, prv-accountant, autodp and OpenDP."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from giveortake.accounting import epsilon_interval, events
from giveortake.exact import shown
from harness.report import Case, Report, faster, timed

if TYPE_CHECKING:
    from giveortake.accounting import Interval
    from giveortake.privacy.events import Event

CASES: dict[str, tuple[str, list[Event], str]] = {
    "i": ("1,000 Gaussians, σ = 50", [events.Repeated(events.Gaussian(50), 1000)], "1e-6"),
    "ii": (
        "500 Laplace, 50 + 500 Gaussians, σ = 30",
        [events.Repeated(events.Laplace(50), 500), events.Repeated(events.Gaussian(30), 500)],
        "1e-6",
    ),
    "iii": (
        "10,000 sampled Gaussians, q = 0.01, σ = 1",
        [events.Repeated(events.Subsampled(events.Gaussian(1), "0.01"), 10_000)],
        "1e-5",
    ),
    "iv": (
        "100 randomized responses, ln 3",
        [events.Repeated(events.RandomizedResponse(math.log(3), 2), 100)],
        "1e-6",
    ),
}
PEERS = {
    "dp_accounting": "dp-accounting",
    "prv_accountant": "prv-accountant",
    "autodp": "autodp",
    "opendp": "OpenDP (as zCDP)",
}
TRUTHS = {"i": 2.9216005904, "iv": 94.2898678929}  # exact curve; exact binomial sum
WIDTH, ABOVE = 1e-3, 1e-3
_TURN = count()


def run(report: Report) -> None:
    peer = report.peer("accounting_peers.py", "dp-accounting")
    cases = [
        Case(
            name,
            timed(partial(fresh, charges, delta)),
            peer.named(PEERS["dp_accounting"]),
            peer.stopwatch(f"dp_accounting {case}"),
            faster(5),
        )
        for case, (name, charges, delta) in CASES.items()
    ]
    report.measure(cases, rounds=11)
    for case, (_, charges, delta) in CASES.items():
        tightness(report, case, fresh(charges, delta))
        if not peer.installed:
            continue
        for package, label in PEERS.items():
            beside(report, case, label, ask(peer.stopwatch(f"{package} {case} epsilon")))
    for package in ("dp_accounting", "prv_accountant"):
        told = ask(peer.stopwatch(f"{package} iv as told epsilon")) if peer.installed else math.nan
        if told < TRUTHS["iv"]:
            report.note(f"{PEERS[package]}'s own way to compose 100 equal events says ε = {told:.4g} in iv: unsound.")
    report.note("In iv dp-accounting is given the events one by one, prv-accountant its domain by hand.")


def fresh(charges: list[Event], delta: str) -> Interval:
    """A δ that differs in the 20th digit each time, so that nothing is remembered from the time before."""
    return epsilon_interval(charges, Fraction(delta) + Fraction(next(_TURN), 10**26))


def ask(stopwatch: object) -> float:
    return float(stopwatch()) if callable(stopwatch) else math.nan


def tightness(report: Report, case: str, found: Interval) -> None:
    width = float(found.width / found.high)
    text = f"[{shown(found.low, 8)}, {shown(found.high, 8)}]"
    inside = TRUTHS.get(case)
    sound = inside is None or float(found.low) - 1e-9 <= inside <= float(found.high) + 1e-9
    report.fact(f"ε of {case}: width {width:.2g}", text, goal="< 0.1 %, truth inside", met=sound and width < WIDTH)


def beside(report: Report, case: str, label: str, theirs: float) -> None:
    if math.isnan(theirs):
        return
    _, charges, delta = CASES[case]
    ours = float(fresh(charges, delta).high)
    sound = theirs >= float(fresh(charges, delta).low)
    met = ours <= theirs * (1 + ABOVE) if sound else None
    report.fact(
        f"  {label}: {theirs:.7g}", f"{ours / theirs - 1:+.3%}", goal="≤ +0.1 %" if sound else "unsound", met=met
    )
