"""Other accountants, one timing at a time: `PACKAGE` reads `CASE` or `CASE epsilon`, writes seconds or ε.

The package says `missing` if it is not there, whatever else is; one that fails answers `nan`.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SQUARED = {"i": 1000 / 50**2, "ii": 500 / 30**2}


def dp_accounting() -> dict[str, Callable[[], float]]:
    """The default accountant by privacy-loss distributions, and its way of composing equal events."""
    import dp_accounting as dp  # noqa: PLC0415 (its absence is an answer)
    from dp_accounting import pld  # noqa: PLC0415

    relation = dp.NeighboringRelation

    def run(events: list[tuple[Any, int]], delta: float, neighbours: Any) -> float:
        accountant = pld.PLDAccountant(neighbours)
        for event, count in events:
            accountant.compose(event, count)
        return float(accountant.get_epsilon(delta))

    def responses() -> float:
        accountant = pld.PLDAccountant(relation.REPLACE_ONE)
        for _ in range(100):  # compose(event, 100) forgets the 100
            accountant.compose(dp.RandomizedResponseDpEvent(0.5, 2))
        return float(accountant.get_epsilon(1e-6))

    added = relation.ADD_OR_REMOVE_ONE
    sampled = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))
    mixed = [(dp.LaplaceDpEvent(50), 500), (dp.GaussianDpEvent(30), 500)]
    return {
        "i": lambda: run([(dp.GaussianDpEvent(50), 1000)], 1e-6, added),
        "ii": lambda: run(mixed, 1e-6, added),
        "iii": lambda: run([(sampled, 10_000)], 1e-5, added),
        "iv": responses,
        "iv as told": lambda: run([(dp.RandomizedResponseDpEvent(0.5, 2), 100)], 1e-6, relation.REPLACE_ONE),
    }


def prv_accountant() -> dict[str, Callable[[], float]]:
    """Upper ends at the error of its documentation; the domain of case iv is given by hand."""
    from prv_accountant import PRVAccountant  # noqa: PLC0415
    from prv_accountant import privacy_random_variables as prv  # noqa: PLC0415

    def run(kinds: list[Any], counts: list[int], delta: float, **domain: float) -> float:
        accountant = PRVAccountant(
            prvs=kinds, max_self_compositions=counts, eps_error=0.01, delta_error=delta / 1000, **domain
        )
        return float(accountant.compute_epsilon(delta=delta, num_self_compositions=counts)[2])

    response = prv.PureDPMechanism
    return {
        "i": lambda: run([prv.GaussianMechanism(50.0)], [1000], 1e-6),
        "ii": lambda: run([prv.LaplaceMechanism(mu=1 / 50), prv.GaussianMechanism(30.0)], [500, 500], 1e-6),
        "iii": lambda: run([prv.PoissonSubsampledGaussianMechanism(0.01, 1.0)], [10_000], 1e-5),
        "iv": lambda: run([response(math.log(3))], [100], 1e-6, eps_max=120.0),
        "iv as told": lambda: run([response(math.log(3))], [100], 1e-6),
    }


def autodp() -> dict[str, Callable[[], float]]:
    """Rényi curves, its composition of mechanisms."""
    from autodp import mechanism_zoo as zoo  # noqa: PLC0415
    from autodp.transformer_zoo import AmplificationBySampling, Composition  # noqa: PLC0415

    def run(kinds: list[Any], counts: list[int], delta: float) -> float:
        return float(Composition()(kinds, counts).get_approxDP(delta))

    def sampled() -> float:
        step = zoo.GaussianMechanism(sigma=1.0)
        step.neighboring = "add_remove"
        return run([AmplificationBySampling(PoissonSampling=True)(step, 0.01)], [10_000], 1e-5)

    return {
        "i": lambda: run([zoo.GaussianMechanism(sigma=50.0)], [1000], 1e-6),
        "ii": lambda: run([zoo.LaplaceMechanism(b=50.0), zoo.GaussianMechanism(sigma=30.0)], [500, 500], 1e-6),
        "iii": sampled,
        "iv": lambda: run([zoo.RandresponseMechanism(p=0.75)], [100], 1e-6),
    }


def opendp() -> dict[str, Callable[[], float]]:
    """Its measure of everything as ρ-zCDP, stated at δ; sampling has no counterpart."""
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def at(rho: float, delta: float) -> float:
        none = dp.m.make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
        return float(dp.c.make_zCDP_to_approxDP(none).map(1.0).epsilon(delta=delta))

    return {
        "i": lambda: at(SQUARED["i"] / 2, 1e-6),
        "ii": lambda: at(500 / 50**2 / 2 + SQUARED["ii"] / 2, 1e-6),
        "iv": lambda: at(100 * math.log(3) ** 2 / 2, 1e-6),
    }


def answer(cases: dict[str, Callable[[], float]], case: str, *, value: bool) -> float:
    if case not in cases:
        return math.nan
    started = time.perf_counter()
    try:
        epsilon = cases[case]()
    except Exception as error:  # noqa: BLE001 (whatever a peer raises, it has no answer)
        print(f"{case}: {type(error).__name__}: {error}", file=sys.stderr)
        return math.nan
    return epsilon if value else time.perf_counter() - started


def main() -> None:
    warnings.filterwarnings("ignore")
    packages = {"dp_accounting": dp_accounting, "prv_accountant": prv_accountant, "autodp": autodp, "opendp": opendp}
    package = sys.argv[1]
    if importlib.util.find_spec(package) is None:
        print("missing", flush=True)
        return
    cases = packages[package]()
    print("ready", flush=True)
    for line in sys.stdin:
        case = line.strip()
        print(answer(cases, case.removesuffix(" epsilon"), value=case.endswith(" epsilon")), flush=True)


if __name__ == "__main__":
    main()
