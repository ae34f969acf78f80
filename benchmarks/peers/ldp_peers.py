"""Other libraries for surveys: reads `LIBRARY ORACLE` or `LIBRARY ORACLE error`, writes seconds or a squared error.

Seconds are for one respondent, randomised and aggregated, at a domain of 1,024 and ε = 1. The error is the mean squared
error of all shares times the number of respondents.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAIN, EPSILON = 1024, 1.0
COUNTS = {"grr": 20_000, "oue": 4_000, "sue": 4_000, "olh": 256, "blh": 256, "hr": 4_000, "rappor": 4_000}
ERROR_ROUNDS = 4
HASHES = 2  # of RAPPOR, whose bits are replaced with a probability f: its ε is 2 · hashes · ln((1 − f/2) / (f/2))
FLIPPED = 2 / (1 + math.exp(EPSILON / (2 * HASHES)))


def pure_ldp() -> dict[str, Callable[[int], Any]]:
    """For every oracle a run with so many respondents, which returns the shares."""
    import numpy as np  # noqa: PLC0415 (its absence is an answer)
    from pure_ldp import frequency_oracles as fo  # noqa: PLC0415

    def run(client: Any, server: Any, count: int) -> Any:
        for person in range(count):
            server.aggregate(client.privatise(person % DOMAIN + 1))
        return np.array(server.estimate_all(range(1, DOMAIN + 1))) / count

    def hadamard(count: int) -> Any:
        server = fo.HadamardResponseServer(EPSILON, DOMAIN)
        return run(fo.HadamardResponseClient(EPSILON, DOMAIN, server.get_hash_funcs()), server, count)

    def bloom(count: int) -> Any:
        server = fo.RAPPORServer(FLIPPED, 64, HASHES, DOMAIN, num_of_cohorts=8)
        client = fo.RAPPORClient(FLIPPED, 64, server.get_hash_funcs(), num_of_cohorts=8)
        for person in range(count):
            server.aggregate(client.privatise(person % DOMAIN + 1))

    args = (EPSILON, DOMAIN)
    return {
        "grr": lambda count: run(fo.DEClient(*args), fo.DEServer(*args), count),
        "oue": lambda count: run(fo.UEClient(*args, use_oue=True), fo.UEServer(*args, use_oue=True), count),
        "sue": lambda count: run(fo.UEClient(*args, use_oue=False), fo.UEServer(*args, use_oue=False), count),
        "olh": lambda count: run(fo.LHClient(*args, use_olh=True), fo.LHServer(*args, use_olh=True), count),
        "blh": lambda count: run(fo.LHClient(*args), fo.LHServer(*args), count),
        "hr": hadamard,
        "rappor": bloom,
    }


def multi_freq_ldpy() -> dict[str, Callable[[int], Any]]:
    """The same; this library cuts negative shares and rescales."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, UE  # noqa: PLC0415

    def unary(count: int, optimal: bool) -> Any:
        reports = [UE.UE_Client(person % DOMAIN, DOMAIN, EPSILON, optimal) for person in range(count)]
        return UE.UE_Aggregator_MI(reports, EPSILON, optimal)

    def hashing(count: int, optimal: bool) -> Any:
        reports = [LH.LH_Client(person % DOMAIN, DOMAIN, EPSILON, optimal) for person in range(count)]
        return LH.LH_Aggregator_MI(reports, DOMAIN, EPSILON, optimal)

    def direct(count: int) -> Any:
        reports = [GRR.GRR_Client(person % DOMAIN, DOMAIN, EPSILON) for person in range(count)]
        return GRR.GRR_Aggregator_MI(reports, DOMAIN, EPSILON)

    return {
        "grr": direct,
        "oue": lambda count: unary(count, True),
        "sue": lambda count: unary(count, False),
        "olh": lambda count: hashing(count, True),
        "blh": lambda count: hashing(count, False),
    }


def seconds(run: Callable[[int], Any], count: int) -> float:
    started = time.perf_counter()
    run(count)
    return (time.perf_counter() - started) / count


def error(run: Callable[[int], Any], count: int) -> float:
    import numpy as np  # noqa: PLC0415

    truth = np.bincount(np.arange(count) % DOMAIN, minlength=DOMAIN) / count
    return float(np.mean([((run(count) - truth) ** 2).mean() * count for _ in range(ERROR_ROUNDS)]))


def main() -> None:
    warnings.simplefilter("ignore")
    try:
        libraries = {"pure-ldp": pure_ldp(), "multi-freq-ldpy": multi_freq_ldpy()}
    except ImportError:
        print("missing", flush=True)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        library, oracle, *what = line.split()
        work = libraries[library][oracle]
        print((error if what else seconds)(work, COUNTS[oracle]), flush=True)


if __name__ == "__main__":
    main()
