"""Nobody can tell by their own requests what another analyst has asked: caches belong to askers."""

from __future__ import annotations

import ast
import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_requests import golden_session

import giveortake as gt
from giveortake.caching import Cache, serving
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from tiers import tiered

SOURCE = Path(gt.__file__).parent
CONSTANT = {  # functions whose arguments no analyst chooses
    "server/console/views.py:static_file",  # files of the console
    "engines/spark/tables.py:_classes",  # of a Java machine
    "ledger/chain/store.py:_spelled",  # statements of the ledger's own
    "ledger/chain/entries.py:entries_of",  # names that the custodian gives
    "ledger/chain/entries.py:asked_of",
    "ledger/chain/checkpoints.py:_hints",  # of the package's own classes
    "codec.py:_classes_below",  # as above
    "codec.py:parts_of",
    "codec.py:_form",  # of their annotations
}
OUTSIDE = ("audit", "local")  # run by whoever asks, in their own process


def query(text: str, **terms: Any) -> Callable[[Session, int], object]:
    return lambda session, variant: session.sql(text.format(variant)).quote(
        **{name: value if name == "share" else f"{variant}.{value}" for name, value in terms.items()}
    )


QUOTES: dict[str, Callable[[Session, int], object]] = {
    "sums": query("SELECT r, SUM(x) AS a, AVG(x) AS m FROM data WHERE y > {} GROUP BY r", epsilon=1),
    "deviations": query("SELECT STDDEV(x) AS s FROM data WHERE y > {}", rho=25),
    "medians": query("SELECT MEDIAN(x) AS m FROM data WHERE y > {}", mu=1),
    "discovered groups": query("SELECT q, COUNT(*) AS n FROM data WHERE y > {} GROUP BY q", mu=1),
    "margin": query("SELECT COUNT(*) AS n FROM data WHERE y > {}", margin=5),
    "share": query("SELECT SUM(x) AS n FROM data WHERE y > {}", share="1/10"),
    "workload": lambda session, variant: session.workload(
        gt.workload.marginals(["r", "z"]) if variant == 1 else gt.workload.marginals(["r", "z", "y"], up_to=2)
    ).quote(rho=f"1/{variant}"),
    "counter": lambda session, variant: session.counter("d", horizon=3 + variant).quote(rho=f"1/{variant}"),
    "weights": lambda session, variant: session.weights(["r", "z"][:variant]).quote(mu=variant),
    "fit": lambda session, variant: gt.learn.Ridge("x", ["y"], epsilon=variant, delta="1e-6").quote(session),
    "synthesis": lambda session, variant: gt.synth.quote(session, columns=["r", "z"], epsilon=variant, delta="1e-6"),
}


def calls(quote: Callable[[], object]) -> Counter[str]:
    """How often each function of the package is called."""
    counted: Counter[str] = Counter()

    def count(frame: Any, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            counted[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1

    gc.collect()  # what earlier tests leave is not cleared away meanwhile
    gc.disable()
    sys.setprofile(count)
    try:
        quote()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def calls_of_second(kind: str, asked_before: int) -> Counter[str]:
    """What the second analyst's quote of variant 1 calls after the first has quoted some variant, in a new process."""
    for module in [module for name, module in sys.modules.items() if name.startswith("giveortake.")]:
        for function in list(vars(module).values()):
            if hasattr(function, "cache_clear"):
                function.cache_clear()
    with serving(Cache()), golden_session() as session:
        ledger = mechanism_of(session).ledger
        for name in ("ann", "ben"):
            ledger.analyst(name, datasets=["data"], budget=gt.ApproxDP(10, "1e-5"))
        QUOTES[kind](session.as_analyst("ann"), asked_before)
        ben = session.as_analyst("ben")
        return calls(lambda: QUOTES[kind](ben, 1))


@pytest.mark.parametrize("kind", tiered([*QUOTES][::2], [*QUOTES]))
def test_a_quote_makes_the_same_calls_whether_or_not_another_analyst_asked_the_same_before(kind: str) -> None:
    calls_of_second(kind, 2)  # so that everything is imported
    after_same, after_other = calls_of_second(kind, 1), calls_of_second(kind, 2)
    assert after_same == after_other
    assert sum(after_same.values()) > 100


def test_a_cache_that_analysts_share_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("sums", "medians", "synthesis"):
        calls_of_second(kind, 2)
        after = []
        for asked_before in (1, 2):
            shared = Cache()
            monkeypatch.setattr("giveortake.session.mechanism.Cache", lambda shared=shared: shared)
            after.append(calls_of_second(kind, asked_before))
        assert after[0] != after[1], kind


def test_what_analysts_choose_is_not_cached_for_the_whole_process() -> None:
    offenders = [
        function
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in OUTSIDE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.args.args
        if (function := f"{path.relative_to(SOURCE).as_posix()}:{node.name}") not in CONSTANT
        for decorator in node.decorator_list
        if "lru_cache" in ast.unparse(decorator) or ast.unparse(decorator) in {"cache", "functools.cache"}
    ]
    assert offenders == []
