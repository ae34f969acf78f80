"""A million reports at domain 1,024, randomised and aggregated, beside pure-ldp and multi-freq-ldpy; their errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.cli.report import Case, Report, faster, timed
from giveortake.local import HadamardResponse, LocalHashing, Poll, RandomizedResponse, UnaryEncoding
from giveortake.local.consistency import rescaled

if TYPE_CHECKING:
    from giveortake.cli.peer import Peer

RESPONDENTS, DOMAIN, EPSILON = 1_000_000, 1024, 1
SURVEYS: dict[str, tuple[str, Any]] = {
    "grr": ("randomized response", RandomizedResponse(range(DOMAIN), EPSILON)),
    "oue": ("unary encoding, optimised", UnaryEncoding(range(DOMAIN), EPSILON)),
    "sue": ("unary encoding, symmetric", UnaryEncoding(range(DOMAIN), EPSILON, symmetric=True)),
    "olh": ("local hashing, optimised", LocalHashing(range(DOMAIN), EPSILON)),
    "blh": ("local hashing, binary", LocalHashing(range(DOMAIN), EPSILON, buckets=2)),
    "hr": ("Hadamard response", HadamardResponse(range(DOMAIN), EPSILON)),
}
COUNTS = {"grr": 20_000, "oue": 4_000, "sue": 4_000, "olh": 256, "blh": 256, "hr": 4_000}  # of the peers' errors
ERROR_ROUNDS = 40
ALIKE = 1.15  # errors over 4 × 1,024 shares differ by less than this by chance


def run(report: Report) -> None:
    peer = report.peer("ldp_peers.py", "pure-ldp multi-freq-ldpy scikit-learn statsmodels 'xxhash<4'")
    answers = np.arange(RESPONDENTS) % DOMAIN
    cases = []
    for key, (name, survey) in SURVEYS.items():
        ours = timed(partial(collected, survey, answers), units=RESPONDENTS)
        cases += [
            Case(name, ours, peer.named(library), peer.stopwatch(f"{library} {key}"), faster(50), RESPONDENTS)
            for library in ("pure-ldp", "multi-freq-ldpy")
            if not (key == "hr" and library == "multi-freq-ldpy")  # it has none
        ]
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
    report.note("Peers run with 256 to 20,000 respondents, and their time is scaled to a million.")


def collected(survey: Any, answers: Any) -> Any:
    return survey.counts(survey.randomize(answers).data)


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
