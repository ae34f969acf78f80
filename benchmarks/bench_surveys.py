"""A million reports at domain 1,024, randomised and aggregated, beside pure-ldp and multi-freq-ldpy; their errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.local import (
    CountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
)
from giveortake.local.frequencies import rescaled
from giveortake.local.heavy_hitters import grouped_sums
from harness.report import Case, Report, faster, timed
from harness.terms import Terms, entry

if TYPE_CHECKING:
    from harness.peer import Peer

RESPONDENTS, DOMAIN, EPSILON = 1_000_000, 1024, 1
SURVEYS: dict[str, tuple[str, Any]] = {
    "grr": ("randomized response", RandomizedResponse(range(DOMAIN), EPSILON)),
    "oue": ("unary encoding, optimised", UnaryEncoding(range(DOMAIN), EPSILON)),
    "sue": ("unary encoding, symmetric", UnaryEncoding(range(DOMAIN), EPSILON, symmetric=True)),
    "olh": ("local hashing, optimised", LocalHashing(range(DOMAIN), EPSILON)),
    "blh": ("local hashing, binary", LocalHashing(range(DOMAIN), EPSILON, buckets=2)),
    "hr": ("Hadamard response", HadamardResponse(range(DOMAIN), EPSILON)),
}
SCRIPT, NOT_THERE = "peers/ldp_peers.py", {"hr", "rappor"}  # in multi-freq-ldpy
BLOOM = Rappor(EPSILON, bits=64, hashes=2, cohorts=8)
TERMS = [
    Terms(name, side, text, str(EPSILON))
    for key, (name, survey) in {**SURVEYS, "rappor": ("RAPPOR, 64 bits, 8 cohorts", BLOOM)}.items()
    for side, text in (
        ("ours", f"{type(survey).__name__}(…, epsilon={EPSILON}): randomize and count"),
        ("pure-ldp", entry(SCRIPT, "pure_ldp", key)),
        *(
            () if key in {"hr", "rappor"} else [("multi-freq-ldpy", entry(SCRIPT, "multi_freq_ldpy", key))]
        ),  # it has none
    )
]
COUNTS = {"grr": 20_000, "oue": 4_000, "sue": 4_000, "olh": 256, "blh": 256, "hr": 4_000}  # of the peers' errors
ERROR_ROUNDS = 40
ALIKE = 1.15  # errors over 4 × 1,024 shares differ by less than this by chance


def run(report: Report) -> None:
    peer = report.peer("pure-ldp", "ldp_peers.py", "pure-ldp multi-freq-ldpy scikit-learn statsmodels 'xxhash<4'")
    answers = np.arange(RESPONDENTS) % DOMAIN
    cases = []
    for key, (name, survey) in SURVEYS.items():
        ours = timed(partial(collected, survey, answers), units=RESPONDENTS)
        cases += [
            Case(name, ours, peer.named(library), peer.stopwatch(f"{library} {key}"), faster(50), RESPONDENTS)
            for library in ("pure-ldp", "multi-freq-ldpy")
            if not (key == "hr" and library == "multi-freq-ldpy")  # it has none
        ]
    words = [str(answer) for answer in answers.tolist()]
    sketch = CountMeanSketch(EPSILON, functions=64, buckets=256)
    for key, name, survey, groups, columns in (
        ("cms", "count-mean sketch, 64 × 256", sketch, 64, 256),
        ("rappor", "RAPPOR, 64 bits, 8 cohorts", BLOOM, 8, 64),
    ):
        ours = timed(partial(grouped, survey, words, groups, columns), units=RESPONDENTS)
        if key == "rappor":
            pure = peer.stopwatch(f"pure-ldp {key}")
            cases.append(Case(name, ours, peer.named("pure-ldp"), pure, faster(50), RESPONDENTS))
        else:
            cases.append(Case(name, ours, units=RESPONDENTS))
    poll, yes = Poll(truth="1/2"), answers % 3 == 0
    cases.append(
        Case(
            "poll, with estimate",
            timed(lambda: poll.estimate(poll.randomize(yes)), units=RESPONDENTS),
            units=RESPONDENTS,
        )
    )
    report.measure(cases, rounds=5)
    for key, (name, survey) in SURVEYS.items():
        errors(report, peer, key, name, survey)
    report.note("Ours draws from a secure generator and is exact; the peers use numpy's and Python's, in doubles.")
    report.note(
        "pure-ldp's sketch stops with an error on current versions of numpy; its RAPPOR has no second response."
    )
    report.note("Peers run with 256 to 20,000 respondents, and their time is scaled to a million.")


def collected(survey: Any, answers: Any) -> Any:
    return survey.counts(survey.randomize(answers).data)


def grouped(survey: Any, words: list[str], groups: int, columns: int) -> Any:
    """Reports that begin with the number of their group, in two bytes: counted by group and bit."""
    rows = survey.randomize(words).data
    heads = np.ascontiguousarray(rows[:, :2]).view("<u2").reshape(-1)
    return grouped_sums(heads, rows[:, 2:], groups, columns)


def errors(report: Report, peer: Peer, key: str, name: str, survey: Any) -> None:
    """The mean squared error times n, beside the closed form and beside the peers at the same n."""
    count = COUNTS[key]
    answers = np.arange(count) % DOMAIN
    truth = np.bincount(answers, minlength=DOMAIN) / count
    runs = [survey.shares(collected(survey, answers), count, "0.95", "normal")[0] for _ in range(ERROR_ROUNDS)]
    plain = float(np.mean([((shares - truth) ** 2).mean() for shares in runs])) * count
    consistent = float(np.mean([((rescaled(shares) - truth) ** 2).mean() for shares in runs])) * count
    stated = np.mean([float(survey.variance(count, str(share), fixed=True)) for share in np.unique(truth)]) * count
    report.fact(
        f"{name}: error · n",
        f"{plain:.4g}, stated {stated:.4g}",
        goal="stated ± 4 %",
        met=bool(abs(plain / stated - 1) < 0.04),
    )
    for library, ours in (("pure-ldp", plain), ("multi-freq-ldpy", consistent)):
        ask = peer.stopwatch(f"{library} {key} error") if key != "hr" or library == "pure-ldp" else None
        if ask is not None:
            theirs = ask()
            told = "unbiased" if library == "pure-ldp" else "rescaled"
            report.fact(f"  {library}: {theirs:.4g}", f"{ours:.4g} {told}", goal="no worse", met=ours <= ALIKE * theirs)
