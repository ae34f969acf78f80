"""Four compositions: how fast and how tight, beside dp-accounting, prv-accountant, autodp and OpenDP."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from giveortake.accounting import epsilon_interval, events
from giveortake.exact import decimal
from harness.report import Case, Report, faster, timed
from harness.terms import Terms, entry

if TYPE_CHECKING:
    from giveortake.accounting import Interval
    from giveortake.privacy.events import Event
    from harness.report import Stopwatch

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
    "opendp": "OpenDP",
}
SCRIPT = "peers/accounting_peers.py"
HOW = {"opendp": " (as zCDP)"}
NO_COUNTERPART = {("opendp", "iii")}  # it has no sampling
TERMS = [
    Terms(name, side, text, delta=delta, remark="the ε of these events at δ is what is asked")
    for case, (name, charges, delta) in CASES.items()
    for side, text in (
        ("ours", f"epsilon_interval({charges!r}, {delta!r})"),
        *((PEERS[package], entry(SCRIPT, package, case)) for package in PEERS if (package, case) not in NO_COUNTERPART),
    )
]
TRUTHS = {"i": 2.9216005904, "iv": 94.2898678929}  # exact curve; exact binomial sum
WIDTH, ABOVE = 1e-3, 1e-3
_TURN = count()


def run(report: Report) -> None:
    peers = {
        package: report.peer(name, "accounting_peers.py", name.casefold(), package) for package, name in PEERS.items()
    }
    peer = peers["dp_accounting"]
    cases = [
        Case(
            name,
            timed(partial(fresh, charges, delta)),
            peer.named(PEERS["dp_accounting"]),
            peer.stopwatch(case),
            faster(5),
        )
        for case, (name, charges, delta) in CASES.items()
    ]
    report.measure(cases, rounds=11)
    for case, (_, charges, delta) in CASES.items():
        tightness(report, case, fresh(charges, delta))
        for package, label in PEERS.items():
            if (package, case) not in NO_COUNTERPART:
                beside(report, case, label + HOW.get(package, ""), peers[package].stopwatch(f"{case} epsilon"))
    for package in ("dp_accounting", "prv_accountant"):
        ask = peers[package].stopwatch("iv as told epsilon")
        told = math.nan if ask is None else ask()
        if told < TRUTHS["iv"]:
            report.note(f"{PEERS[package]}'s own way to compose 100 equal events says ε = {told:.4g} in iv: unsound.")
    report.note("In iv dp-accounting is given the events one by one, prv-accountant its domain by hand.")


def fresh(charges: list[Event], delta: str) -> Interval:
    """A δ that differs in the 20th digit each time, so that nothing is remembered from the time before."""
    return epsilon_interval(charges, Fraction(delta) + Fraction(next(_TURN), 10**26))


def tightness(report: Report, case: str, found: Interval) -> None:
    width = float(found.width / found.high)
    text = f"[{decimal(found.low, 8)}, {decimal(found.high, 8)}]"
    inside = TRUTHS.get(case)
    sound = inside is None or float(found.low) - 1e-9 <= inside <= float(found.high) + 1e-9
    report.fact(f"ε of {case}: width {width:.2g}", text, goal="< 0.1 %, truth inside", met=sound and width < WIDTH)


def beside(report: Report, case: str, label: str, ask: Stopwatch | None) -> None:
    if ask is None:
        report.fact(f"  {label}", "left out")
        return
    theirs = ask()
    if math.isnan(theirs):
        report.unanswered(f"{label}: {case}")
        report.fact(f"  {label}", "**failed**")
        return
    _, charges, delta = CASES[case]
    ours = float(fresh(charges, delta).high)
    sound = theirs >= float(fresh(charges, delta).low)
    met = ours <= theirs * (1 + ABOVE) if sound else None
    report.fact(
        f"  {label}: {theirs:.7g}", f"{ours / theirs - 1:+.3%}", goal="≤ +0.1 %" if sound else "unsound", met=met
    )
