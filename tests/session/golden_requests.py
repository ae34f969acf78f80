"""Everything that can be bought, bought once from a small table, with all that is stored and shown of it.

The golden files beside this one hold, for each request: the numbers of its quote, the entries it leaves in the ledger
(the name of the request, the event, the record, the stored release), the answer as JSON, and a digest of the statements
that the engine ran. Noise is recorded, so all of it is the same in every run. After an intended change, write the files
again and read the difference:

    python tests/session/golden_requests.py
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import polars as pl

import giveortake as gt
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from giveortake.wire.documents import profile_document
from recorded_entropy import recorded_system

GOLDEN = Path(__file__).with_name("golden")
Purchase: TypeAlias = Callable[[Session], Iterator[Any]]  # yields quotes and answers, in order

ROWS = pl.DataFrame(
    {
        "p": [person for person in range(120) for _ in range(1 + person % 3)],
        "x": [float((7 * row) % 11) for row in range(240)],
        "y": [(5 * row) % 7 for row in range(240)],
        "z": [["no", "yes"][(row // 3) % 2] for row in range(240)],
        "r": [["north", "south"][row % 2] for row in range(240)],
        "q": [f"q{row % 3}" for row in range(240)],
        "d": [dt.date(2024, 1, 1) + dt.timedelta(days=row % 10) for row in range(240)],
    }
)
DOMAINS: dict[str, Any] = {
    "x": (0, 10),
    "y": (0, 6),
    "z": ["no", "yes"],
    "r": ["north", "south"],
    "d": (dt.date(2024, 1, 1), dt.date(2024, 1, 10)),
}
PUBLIC = pl.DataFrame({"zone": ["north", "south"], "weight": [1.5, 2.0]})
VOLATILE = {"fingerprint", "under_pad"}  # depend on a secret of the ledger, which is drawn when it is made


def golden_session(**options: Any) -> Session:
    """The table behind a large budget."""
    stated = {"unit": "p", "budget": gt.ApproxDP(100, "1e-4"), "domains": DOMAINS, "public": {"zones": PUBLIC}}
    return gt.protect(ROWS, name="data", rows_per_person=3, **{**stated, **options}, engine={"threads": 1})


def query(text: str, **terms: Any) -> Purchase:
    """A purchase of one query in SQL."""

    def purchase(session: Session) -> Iterator[Any]:
        yield session.sql(text).quote(**terms)
        yield session.sql(text).answer(**terms)

    return purchase


def counter(session: Session) -> Iterator[Any]:
    yield session.counter("d", horizon=4).quote(rho="1/10")
    running = session.counter("d", horizon=4).answer(rho="1/10")
    yield running.next()
    yield running.next()


def workload(session: Session) -> Iterator[Any]:
    tables = gt.workload.marginals(["r", "z", "y"], up_to=2) + gt.workload.ranges("y") + gt.workload.total()
    for terms in ({"epsilon": 1}, {"rho": "1/8"}):
        yield session.workload(tables).quote(**terms)
        yield session.workload(tables).answer(**terms)


def grouping_sets(session: Session) -> Iterator[Any]:
    request = session.workload("SELECT r, z, COUNT(*) AS n FROM data GROUP BY CUBE (r, z)")
    yield request.quote(mu="1/2")
    yield request.answer(mu="1/2")


def batch(session: Session) -> Iterator[Any]:
    texts = ["SELECT r, COUNT(*) AS n FROM data GROUP BY r", "SELECT AVG(x) AS m FROM data"]
    yield session.batch(texts).quote(epsilon=1)
    yield from session.batch(texts).answer(epsilon=1)
    yield from session.batch(texts).answer(rho="1/8")


def refinement(session: Session) -> Iterator[Any]:
    first = session.sql("SELECT q, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY q").answer(epsilon=1, delta="1e-6")
    yield first
    yield first.refine(epsilon=1)


def profile(session: Session) -> Iterator[Any]:
    request = session.profile(by=["r"], columns=["x"], most_rows=50)
    yield request.quote(epsilon=1)
    yield profile_document(request.answer(epsilon=1))
    text = "SELECT r, COUNT(*) AS n FROM data GROUP BY r"
    yield session.sql(text).quote(epsilon=1, caps="best")
    yield session.sql(text).answer(epsilon=1, caps="best")


def part(session: Session) -> Iterator[Any]:
    south = session.partition("r")["south"]
    yield south.sql("SELECT COUNT(*) AS n, SUM(x) AS a FROM data").answer(epsilon=1)
    yield south.sql("SELECT COUNT(*) AS n, SUM(x) AS a FROM data").answer(mu="1/2")


def weights(session: Session) -> Iterator[Any]:
    request = session.weights(["r", "z"], accuracy="0.2", queries=5)
    yield request.quote(epsilon=20, delta="1e-6")
    released = request.answer(epsilon=20, delta="1e-6")
    yield released.count({"r": "north"})
    yield released.count({"z": ["no"]}, {"r": "south"})


def synthesis(session: Session) -> Iterator[Any]:
    terms: Any = {"columns": ["r", "z", "y"], "epsilon": 5, "delta": "1e-6"}
    yield gt.synth.quote(session, **terms)
    yield gt.synth.synthesize(session, **terms)


def learner(made: Callable[[], Any]) -> Purchase:
    """A purchase of one fit."""

    def purchase(session: Session) -> Iterator[Any]:
        yield made().quote(session)
        yield made().fit(session)

    return purchase


def moments(session: Session) -> Iterator[Any]:
    yield gt.learn.moments(session, ["x", "y"], epsilon=5, delta="1e-6")


def statistical_query(session: Session) -> Iterator[Any]:
    yield gt.learn.statistical_query(session, gt.col("x") / 10, tolerance="0.3", n=200)


def contingency(session: Session) -> Iterator[Any]:
    yield gt.learn.contingency(session, ["r", "z"], mu=1)


def descent(session: Session) -> Iterator[Any]:
    terms: Any = {"epsilon": 5, "delta": "1e-6", "steps": 5, "n": 120}
    yield gt.learn.sgd(session, "z", ["x", "y"], **terms)


def output_perturbation(session: Session) -> Iterator[Any]:
    yield gt.learn.output_perturbation(session, "z", ["x", "y"], regularisation=10, passes=3, epsilon=5, delta="1e-6")


FIT: Any = {"epsilon": 5, "delta": "1e-6"}
PURCHASES: dict[str, Purchase] = {
    "counts": query("SELECT r, COUNT(*) AS n, COUNT(DISTINCT p) AS people FROM data GROUP BY r", epsilon=1),
    "sums": query("SELECT r, SUM(x) AS a, AVG(x) AS m FROM data WHERE y > 1 GROUP BY r", epsilon=1, delta="1e-6"),
    "moments of groups": query("SELECT z, STDDEV(x) AS s, CORR(x, y) AS c FROM data GROUP BY z", rho=1),
    "medians": query("SELECT r, MEDIAN(x) AS m FROM data GROUP BY r", mu=1),
    "discovered groups": query("SELECT q, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY q", epsilon=4, delta="1e-6"),
    "many groups": query("SELECT q, COUNT(*) AS n FROM data GROUP BY q", epsilon=1, delta="1e-6", aim="groups"),
    "discovered groups, Laplace": query("SELECT q, COUNT(*) AS n FROM data GROUP BY q", epsilon=2, key_delta="1e-6"),
    "windows": query("SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS n FROM data GROUP BY d", mu=1),
    "functions of answers": query(
        "SELECT r, SUM(x) / COUNT(*) AS m FROM data GROUP BY r HAVING COUNT(*) > 5 ORDER BY m DESC LIMIT 1", epsilon=4
    ),
    "joins": query("SELECT zone, SUM(weight) AS w FROM data JOIN zones ON r = zone GROUP BY zone", epsilon=2),
    "persons": query("SELECT AVG(n) AS m FROM (SELECT p, COUNT(*) AS n FROM data GROUP BY p) AS persons", epsilon=2),
    "margin": query("SELECT COUNT(*) AS n FROM data", margin=10),
    "share": query("SELECT COUNT(*) AS n FROM data", share="1/100"),
    "caps": query("SELECT r, COUNT(*) AS n FROM data GROUP BY r", mu=1, groups_per_person=1, rows_per_group=2),
    "batch": batch,
    "refinement": refinement,
    "workload": workload,
    "grouping sets": grouping_sets,
    "counter": counter,
    "profile": profile,
    "part": part,
    "weights": weights,
    "synthesis": synthesis,
    "moments": moments,
    "statistical query": statistical_query,
    "contingency": contingency,
    "descent": descent,
    "output perturbation": output_perturbation,
    "linear regression": learner(lambda: gt.learn.LinearRegression("x", ["y", "r"], **FIT)),
    "ridge": learner(lambda: gt.learn.Ridge("x", ["y"], **FIT)),
    "logistic regression": learner(lambda: gt.learn.LogisticRegression("z", ["x", "y"], **FIT)),
    "additive classifier": learner(lambda: gt.learn.AdditiveClassifier("z", ["x", "r"], **FIT)),
    "additive regressor": learner(lambda: gt.learn.AdditiveRegressor("x", ["y", "r"], **FIT)),
    "naive Bayes": learner(lambda: gt.learn.NaiveBayes("z", ["x", "r"], **FIT)),
    "clusters": learner(lambda: gt.learn.KMeans(features=["x", "y"], n_clusters=2, **FIT)),
    "components": learner(lambda: gt.learn.PCA(features=["x", "y"], **FIT)),
}
ADAPTIVE = {  # later statements hold floats that were computed from what was released before
    *("synthesis", "weights", "descent", "output perturbation", "linear regression", "ridge", "logistic regression"),
    *("additive classifier", "additive regressor", "naive Bayes", "clusters", "components", "moments"),
}
CHANGE_ONE = ("counts", "discovered groups", "workload", "counter", "linear regression")  # bought so as well


def golden(name: str) -> dict[str, Any]:
    """What is stored and shown of a purchase, and of its change-one counterpart where there is one."""
    document = {"add-remove": bought(name)}
    if name in CHANGE_ONE:
        budget = gt.ApproxDP(100, "1e-4", neighbours="change-one")
        document["change-one"] = bought(name, budget=budget)
    return document


def bought(name: str, **options: Any) -> dict[str, Any]:
    """Quotes, answers, ledger entries and statements of one purchase."""
    with (
        recorded_system(("golden", name)),
        recorded_names(),
        statements() as texts,
        golden_session(**options) as session,
    ):
        ledger = mechanism_of(session).ledger
        first = len(texts)
        outcomes = [plain(outcome) for outcome in PURCHASES[name](session)]
        entries = [[entry.kind, rounded(entry.content)] for entry in ledger.entries()]
        ran = texts[first:]
    digest = hashlib.sha256("\n".join(ran[:1] if name in ADAPTIVE else ran).encode()).hexdigest()
    return {"outcomes": outcomes, "entries": entries, "statements": [len(ran), digest]}


def is_same(one: Any, other: Any) -> bool:
    """Whether two documents are equal, but for the last digits of floats, which depend on the machine."""
    match one, other:
        case float(), float():
            return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
        case dict(), dict():
            return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
        case list(), list():
            return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other)


@contextmanager
def recorded_names() -> Iterator[None]:
    """Random names of ledgers, reservations and samples, which are not noise, from a counter."""
    count = itertools.count(1)
    with patch("secrets.token_hex", lambda size: hashlib.sha256(b"%d" % next(count)).hexdigest()[: 2 * size]):
        yield


@contextmanager
def statements() -> Iterator[list[str]]:
    """The texts of all statements that DuckDB runs about rows, in order."""
    texts: list[str] = []
    run = DuckDBEngine._guarded

    def recorded(engine: DuckDBEngine, text: str, parameters: Any, take: Any) -> Any:
        texts.append(text)
        return run(engine, text, parameters, take)

    with patch.object(DuckDBEngine, "_guarded", recorded):
        yield texts


def plain(outcome: Any) -> Any:
    """A quote, an answer or a model as JSON."""
    if isinstance(outcome, dict):
        return rounded(outcome)
    to_json = getattr(outcome, "to_json", None)
    if callable(to_json):
        written = to_json()
        return rounded(json.loads(written) if isinstance(written, str) else written)
    if hasattr(outcome, "to_dict"):
        return rounded(outcome.to_dict())
    fields = {name: getattr(outcome, name) for name in dir(outcome) if _is_fact(outcome, name)}
    return rounded(fields)


def _is_fact(outcome: Any, name: str) -> bool:
    return not name.startswith("_") and not callable(getattr(outcome, name))


def rounded(value: Any) -> Any:
    """Plain lists, texts and numbers, without what no two runs have in common."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case float():
            return float(f"{value:.12g}")
        case dict():
            return {str(key): rounded(inner) for key, inner in value.items() if key not in VOLATILE}
        case np.ndarray():
            return rounded(value.tolist())
        case list() | tuple():
            return [rounded(inner) for inner in value]
        case str() | int() | bool() | None:
            return value
        case Fraction() | dt.date():
            return str(value)
    return str(value)


def file_of(name: str) -> Path:
    return GOLDEN / f"{name.replace(' ', '_').replace(',', '').lower()}.json"


def written(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    changed = 0
    for purchase in sys.argv[1:] or PURCHASES:
        text = written(golden(purchase))
        file = file_of(purchase)
        changed += not file.exists() or file.read_text(encoding="utf-8") != text
        file.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(PURCHASES)} files, {changed} changed\n")
