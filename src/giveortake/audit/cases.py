"""What the harness buys: every shape of query, and every other kind of request, of generated tables.

A kind of request that has no case here fails a test. To add a case, write a function that yields what it buys of a
session: its quote, and then its answers.
"""

# ruff: noqa: S608 (texts of our own)

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from giveortake import learn, synth, workload
from giveortake.audit.conformance import Case
from giveortake.frame import col

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.audit.conformance import Purchase, Terms
    from giveortake.session import Session

    Bought: TypeAlias = Iterator[Any]

AGGREGATES = {
    "rows": "COUNT(*) AS a",
    "values": "COUNT(x) AS a",
    "sum": "SUM(x) AS a",
    "sum away from zero": "SUM(y) AS a",
    "sum of integers": "SUM(i) AS a",
    "sum of decimals": "SUM(c) AS a",
    "mean": "AVG(x) AS a",
    "mean and sum": "AVG(i) AS a, SUM(i) AS s",
    "variance": "VAR_POP(y) AS a",
    "deviation": "STDDEV(i) AS a",
    "median": "MEDIAN(x) AS a",
    "quantile of integers": "QUANTILE(i, 0.9) AS a",
    "greatest": "MAX(y) AS a",
    "distinct": "COUNT(DISTINCT w) AS a",
    "distinct text": "COUNT(DISTINCT q) AS a",
    "count if": "COUNT_IF(x > 1) AS a",
    "filtered": "SUM(x) FILTER (WHERE b) AS a, COUNT(*) FILTER (WHERE i IS NULL) AS f",
    "correlation": "CORR(y, x) AS a",
    "covariance": "COVAR_POP(i, x) AS a, COVAR_SAMP(i, x) AS s",
    "line": "REGR_SLOPE(x, y) AS a, REGR_INTERCEPT(x, y) AS s",
    "functions of answers": "ROUND(AVG(x), 2) AS a, COALESCE(SUM(x) / NULLIF(COUNT(i), 0), 0) AS f, "
    "GREATEST(COUNT(*), 0) AS g",
    "powers and signs": "SUM(POWER(x, 2)) AS a, SUM(SIGN(y - 11)) AS s, SUM(ROUND(x, 1)) AS f",
    "between dates": "SUM(CLAMP(DATE_DIFF('week', DATE '2024-01-01', t), -9, 9)) AS a, "
    "SUM(CLAMP(e - DATE '2024-01-03', -2, 2)) AS s",
    "ratio": "SUM(x) / SUM(y) AS a, COUNT(*) - 2 * COUNT(x) AS f",
}
KEYS = {
    "declared": "r",
    "two": "r, b",
    "discovered": "q",
    "discovered with declared": "q, r",
    "discovered dates": "d",
    "discovered integers": "w",
    "bucket": "BUCKET(x, 2.5)",
    "with NULL": "n",
    "boolean": "b",
    "days": "e",
    "month": "MONTH(t)",
    "name of the day": "DAYNAME(t)",
    "name of the month": "MONTHNAME(d)",
    "days later": "(e + INTERVAL 1 MONTH)",
    "case": "CASE WHEN x > 2 THEN 'high' WHEN x <= 2 THEN 'low' END",
}


def _plain() -> dict[str, str]:
    shapes = {f"{name}, ungrouped": f"SELECT {text} FROM data" for name, text in AGGREGATES.items()}
    for name, key in KEYS.items():
        names = key if "(" not in key and "CASE" not in key else "k"
        shown = key if names == key else f"{key} AS k"
        shapes[f"several by {name}"] = f"SELECT {shown}, COUNT(*) AS c1, SUM(x) AS c2 FROM data GROUP BY {names}"
    for name in ("mean", "median", "distinct", "variance", "quantile of integers", "sum away from zero"):
        shapes[f"{name} by declared"] = f"SELECT r, {AGGREGATES[name]} FROM data GROUP BY r"
        shapes[f"{name} by discovered"] = f"SELECT q, {AGGREGATES[name]} FROM data GROUP BY q"
    return shapes


PLAIN = _plain()
TOGETHER = {
    "number, sum and mean": "SELECT COUNT(*) AS n, SUM(y) AS s, AVG(y) AS m FROM data",
    "numbers and means by declared": "SELECT r, COUNT(*) AS n, AVG(x) AS m, AVG(i) AS k FROM data GROUP BY r",
    "rows and deviation by discovered": "SELECT q, COUNT(*) AS n, STDDEV(i) AS d FROM data GROUP BY q",
}
RELATIONS = {
    "where": "SELECT r, SUM(x) AS a FROM data WHERE x > 1 OR i IS NULL GROUP BY r",
    "where not": "SELECT COUNT(*) AS a FROM data WHERE NOT (x > 1 AND b)",
    "where in": "SELECT COUNT(*) AS a FROM data WHERE q IN ('q0', '日本') AND t < DATE '2024-06-01'",
    "case": "SELECT SUM(CASE WHEN b THEN x WHEN i > 5 THEN 3 END) AS a FROM data",
    "arithmetic": "SELECT r, SUM(x * 2 + y) AS a, SUM(CLAMP(y / i, -1, 1)) AS s FROM data GROUP BY r",
    "missing against its bounds": "SELECT SUM(100 + 1 / COALESCE(y, 10)) AS a FROM data",
    "infinite against its bounds": "SELECT SUM(COALESCE(x, 1) - COALESCE(x, 1) + 50) AS a FROM data",
    "cte": "WITH s AS (SELECT p, r, x * x AS z FROM data WHERE i >= 0) SELECT r, SUM(z) AS a FROM s GROUP BY r",
    "redefined": "WITH s AS (SELECT p, 100 - 10 * x AS x, r FROM data) "
    "SELECT r, SUM(x) AS a, AVG(x) AS m FROM s GROUP BY r",
    "union": "SELECT r, COUNT(*) AS a, SUM(x) AS s FROM "
    "(SELECT p, r, x FROM data UNION ALL SELECT p, r, x FROM data WHERE b) GROUP BY r",
    "join public": "SELECT part, COUNT(*) AS a, SUM(weight) AS s FROM data JOIN zones ON r = zone GROUP BY part",
    "right join public": "SELECT part, COUNT(*) AS a FROM zones RIGHT JOIN data ON zone = r GROUP BY part",
    "semi join": "SELECT r, COUNT(*) AS a, SUM(x) AS s FROM data WHERE r IN (SELECT zone FROM zones WHERE code > 1) "
    "AND x < 5 GROUP BY r",
    "anti join": "SELECT COUNT(*) AS a FROM data WHERE q NOT IN (SELECT part FROM zones)",
    "moved moments": "SELECT COUNT(*) AS a FROM data WHERE t + INTERVAL 90 MINUTE < d - 7 OR d + INTERVAL 1 YEAR > t",
    "windows": "SELECT r, b, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY r) AS a, SUM(x) AS s, "
    "RANK() OVER (ORDER BY SUM(x)) AS k FROM data GROUP BY r, b ORDER BY COUNT(x)",
    "windows of found keys": "SELECT q, SUM(COUNT(*)) OVER (ORDER BY q) AS a FROM data GROUP BY q",
    "constant": "SELECT COUNT(*) AS a FROM data WHERE x > (SELECT 1 + 1)",
    "left join public": "SELECT part, COUNT(*) AS a, SUM(x * weight) AS s FROM data "
    "LEFT JOIN zones ON r = zone GROUP BY part",
}
OF_PERSONS = {
    "persons": "SELECT COUNT(DISTINCT p) AS a FROM data",
    "persons by declared": "SELECT r, COUNT(DISTINCT p) AS a FROM data GROUP BY r",
    "persons by discovered": "SELECT q, COUNT(DISTINCT p) AS a FROM data GROUP BY q",
    "per person": "SELECT SUM(CLAMP(s, 0, 20)) AS a, COUNT(*) AS c FROM (SELECT p, SUM(x) AS s FROM data GROUP BY p)",
    "per person, counted": "SELECT BUCKET(CLAMP(c, 0, 50), 10) AS k, COUNT(*) AS a, SUM(CLAMP(m, -1, 1)) AS s FROM "
    "(SELECT p, COUNT(*) AS c, AVG(x) AS m FROM data GROUP BY p) GROUP BY k",
    "per person and key": "SELECT r, AVG(g) AS a FROM (SELECT p, r, MAX(i) AS g FROM data GROUP BY p, r) GROUP BY r",
    "per person, distinct": "SELECT AVG(CLAMP(c, 0, 9)) AS a FROM "
    "(SELECT p, COUNT(DISTINCT q) AS c FROM data WHERE b GROUP BY p)",
    "per person, having": "SELECT q, COUNT(*) AS a FROM "
    "(SELECT p, q, MIN(i) AS g FROM data GROUP BY p, q HAVING COUNT(*) > 1) GROUP BY q",
    "join features": "SELECT r, SUM(CLAMP(s, 0, 9)) AS a FROM data JOIN "
    "(SELECT p, SUM(v) AS s FROM visits GROUP BY p) AS f ON data.p = f.p GROUP BY r",
    "left join features": "SELECT r, COUNT(*) AS c, SUM(CLAMP(s, 0, 9)) AS a FROM data LEFT JOIN "
    "(SELECT p, SUM(v) AS s FROM visits GROUP BY p) AS f ON data.p = f.p GROUP BY r",
    "union of two tables": "SELECT COUNT(*) AS a, SUM(z) AS s FROM "
    "(SELECT p, x AS z FROM data UNION ALL SELECT p, v AS z FROM visits)",
    "distinct rows": "SELECT r, COUNT(*) AS a FROM (SELECT DISTINCT p, r FROM data) GROUP BY r",
}
OF_PERSONS_WITH_FEW_ROWS = {
    "join persons": "SELECT k, COUNT(*) AS a, SUM(x) AS s FROM data JOIN visits ON data.p = visits.p GROUP BY k",
    "left join persons": "SELECT k, COUNT(*) AS a, SUM(v) AS s FROM data "
    "LEFT JOIN visits ON data.p = visits.p GROUP BY k",
}


def shapes_of(*, by_person: bool, few_rows: bool = False) -> dict[str, str]:
    """Every question that can be asked of rows, of persons where there are some, and of persons with few rows each."""
    of_persons = {**OF_PERSONS, **(OF_PERSONS_WITH_FEW_ROWS if few_rows else {})}
    return {**PLAIN, **RELATIONS, **(of_persons if by_person else {})}


EXTREMES = (  # of derived columns: powers of two at the ends of types, and what lies beside them
    *("4611686018427387904", "-4611686018427387905", "9223372036854775807", "-9223372036854775807"),
    *("1125899906842624", "(4611686018427387904 * 2.0 - 1024.0)", "(4611686018427387904 * 2.0 + 2048.0)"),
    *("(9223372036854775807 * (9223372036854775807 * 2.0))", "(-9223372036854775807 * (9223372036854775807 * 2.0))"),
)


def _derived_extremes(keys: str) -> str:
    """A table whose columns are as large as can be derived, in some rows or in all others."""
    one = {number: "1.0" if "." in number else "1" for number in EXTREMES}
    columns = [
        f"CASE WHEN x > 1 THEN {(number, one[number])[index % 2]} ELSE {('0', number)[index % 2]} END AS z{index}"
        for index, number in enumerate(EXTREMES)
    ]
    return f"(SELECT p, {keys}, {', '.join(columns)} FROM data)"


AT_THE_ENDS = {
    "sums of extremes": f"SELECT r, {', '.join(f'SUM(z{index}) AS s{index}' for index in range(len(EXTREMES)))} "
    f"FROM {_derived_extremes('r')} GROUP BY r",
    "statistics of extremes": "SELECT AVG(z2) AS a, SUM(z6 - z5) AS s, MAX(z4) AS g, VAR_POP(z4) AS v, "
    f"COUNT_IF(z3 + z3 < z2) AS c FROM {_derived_extremes('r')}",
    "extremes as groups": f"SELECT z3, COUNT(*) AS a FROM {_derived_extremes('r')} GROUP BY z3",
}
REFUSED = {
    "rows": "SELECT x FROM data",
    "sum without bounds": "SELECT SUM(w) AS a FROM data",
    "unknown column": "SELECT SUM(z) AS a FROM data",
    "distinct numbers": "SELECT COUNT(DISTINCT x) AS a FROM data",
    "function of an engine": "SELECT COUNT(*) AS a FROM data WHERE pg_sleep(1) IS NULL",
}
_GROUPED = "SELECT r, COUNT(*) AS n, AVG(x) AS m FROM data GROUP BY r"
_DISCOVERED = "SELECT q, COUNT(*) AS n, SUM(x) AS a FROM data GROUP BY q"


def query(text: str) -> Purchase:
    """A query in SQL."""

    def purchase(session: Session, terms: Terms) -> Bought:
        yield session.sql(text).quote(**terms)
        yield session.sql(text).answer(**terms)

    return purchase


def _many_groups(session: Session, terms: Terms) -> Bought:
    """Groups that weights find, and their numbers."""
    yield session.sql(_DISCOVERED).quote(**terms, aim="groups")
    yield session.sql(_DISCOVERED).answer(**terms, aim="groups")


def _part(session: Session, terms: Terms) -> Bought:
    north = session.partition("r")["north"]
    yield north.sql("SELECT COUNT(*) AS n, SUM(x) AS a FROM data").quote(**terms)
    yield north.sql("SELECT COUNT(*) AS n, SUM(x) AS a FROM data").answer(**terms)
    yield north.sql("SELECT b, SUM(i) AS a FROM data GROUP BY b").answer(**terms)


def _stream(session: Session, terms: Terms) -> Bought:
    yield list(session.sql("SELECT q, COUNT(*) AS n FROM data GROUP BY q").stream(**terms))


def _read_again(session: Session, terms: Terms) -> Bought:
    answer = session.sql("SELECT n, COUNT(*) AS a FROM data GROUP BY n").answer(**terms)
    yield session.release(str(answer.release_id))
    yield session.budget.spent


def _batch(session: Session, terms: Terms) -> Bought:
    texts = [_GROUPED, "SELECT MEDIAN(x) AS m FROM data", "SELECT w, COUNT(*) AS n FROM data GROUP BY w"]
    yield session.batch(texts).quote(**terms)
    yield from session.batch(texts).answer(**terms)


def _refinement(session: Session, terms: Terms) -> Bought:
    declared = session.sql(_GROUPED).answer(epsilon="1/2")
    yield declared.refine(**terms)
    discovered = session.sql(_DISCOVERED + " ORDER BY n").answer(epsilon="1/2", delta="1e-7")
    yield discovered
    yield discovered.refine(**terms)
    means = session.sql("SELECT q, AVG(x) AS m FROM data GROUP BY q").answer(epsilon="1/2", key_delta="1e-7")
    yield means
    yield means.refine(**terms)


def _workload(session: Session, terms: Terms) -> Bought:
    tables = workload.marginals(["r", "b", "e"], up_to=2) + workload.ranges("e") + workload.total()
    yield session.workload(tables, table="data").quote(**terms)
    yield session.workload(tables, table="data").answer(**terms)


def _clipped_workload(session: Session, terms: Terms) -> Bought:
    tables = workload.marginals(["r", "b"], up_to=2) + workload.marginals(["r"], of="i")
    yield session.workload(tables, table="data", norm=2).quote(**terms)
    yield session.workload(tables, table="data", norm=2).answer(**terms)


def _ranges(session: Session, terms: Terms) -> Bought:
    tables = workload.ranges("i", by="r", bins=8) + workload.marginals(["r", "b"], of="x")
    yield session.workload(tables, table="data").quote(**terms)
    yield session.workload(tables, table="data").answer(**terms)


def _extreme_sums(session: Session, terms: Terms) -> Bought:
    sums = ", ".join(f"SUM(z{index}) AS s{index}" for index in range(len(EXTREMES)))
    text = f"SELECT r, b, e, {sums} FROM {_derived_extremes('r, b, e')} GROUP BY CUBE (r, b, e)"
    yield session.workload(text).answer(**terms)


def _grouping_sets(session: Session, terms: Terms) -> Bought:
    request = session.workload("SELECT r, b, COUNT(*) AS a FROM data GROUP BY CUBE (r, b)")
    yield request.quote(**terms)
    yield request.answer(**terms)


def _counter(session: Session, terms: Terms) -> Bought:
    request = session.counter("e", horizon=5, table="data")
    yield request.quote(**terms)
    counter = request.answer(**terms)
    for _ in range(5):
        yield counter.next()


def _profile(session: Session, terms: Terms) -> Bought:
    request = session.profile("data", by=["r"], columns=["x"], most_rows=50)
    yield request.quote(**terms)
    yield request.answer(**terms)


def _best_caps(session: Session, terms: Terms) -> Bought:
    yield session.profile("data", by=["r"], columns=["x"], most_rows=20).answer(**terms)
    yield session.sql(_GROUPED).quote(**terms, caps="best")
    yield session.sql(_GROUPED).answer(**terms)  # the same: whoever states no caps gets the best ones
    yield session.sql("SELECT COUNT(*) AS n, MEDIAN(x) AS m, STDDEV(i) AS d FROM data WHERE b").answer(**terms)
    yield session.sql("SELECT r, COUNT(DISTINCT q) AS n FROM data WHERE b GROUP BY r").answer(**terms)


def _weights(session: Session, terms: Terms) -> Bought:
    request = session.weights(["r", "b"], accuracy="0.3", queries=4, table="data")
    yield request.quote(**terms)
    weights = request.answer(**terms)
    yield weights.count({"r": "north"})
    yield weights.count({"b": True}, {"r": "south"})
    yield weights.count({"r": ["north", "øst"]})


def _synthesis(session: Session, terms: Terms) -> Bought:
    yield synth.quote(session, columns=["r", "b", "e"], table="data", **terms)
    yield synth.synthesize(session, columns=["r", "b", "e"], table="data", **terms)


def _clip(session: Session) -> dict[str, Any]:
    """How many rows' worth of a person count in a model, where nothing else bounds them."""
    rows = session.describe().catalog.private["data"]
    return {} if rows.person is None or rows.most_rows is not None else {"clip": 2}


def fit(learner: Callable[..., Any]) -> Purchase:
    """A model that is fitted to a session."""

    def purchase(session: Session, terms: Terms) -> Bought:
        yield learner(**terms, **_clip(session)).quote(session.table("data"))
        yield learner(**terms, **_clip(session)).fit(session.table("data"))

    return purchase


def called(function: Callable[..., Any], *arguments: Any, **options: Any) -> Purchase:
    """A function that buys at once."""

    def purchase(session: Session, terms: Terms) -> Bought:
        yield function(session.table("data"), *arguments, **options, **terms)

    return purchase


def _scores(session: Session, terms: Terms) -> Bought:
    clip = _clip(session)
    candidates = [learn.Ridge("x", ["i"], **terms, **clip), learn.AdditiveClassifier("b", ["r"], **terms, **clip)]
    yield learn.select(session.table("data"), candidates, held_out="1/2", **terms, **clip)


def _moments(session: Session, terms: Terms) -> Bought:
    moments = learn.moments(session.table("data"), ["x", "i", "r", "b"], **terms, **_clip(session))
    yield moments
    yield learn.correlation(moments, "x", "i")
    yield learn.difference_of_means(moments, "x", "b")
    yield learn.anova(moments, "i", "r")


def _contingency(session: Session, terms: Terms) -> Bought:
    table = learn.contingency(session.table("data"), ["r", "b"], **terms, **_clip(session))
    yield table
    yield learn.independence(table)
    yield learn.goodness_of_fit(learn.contingency(session.table("data"), ["n"], **terms))


def _statistical_query(session: Session, _: Terms) -> Bought:
    yield learn.statistical_query(session.table("data"), col("x") / 10, tolerance="0.3", n=20)


def queries() -> list[Case]:
    """A case for each shape of query, and for each that is refused."""
    refused = {f"refused: {name}": text for name, text in REFUSED.items()}
    shapes = {**shapes_of(by_person=True, few_rows=True), **TOGETHER, **AT_THE_ENDS, **refused}
    return [
        *(Case(name, "query", query(text)) for name, text in shapes.items()),
        Case("many groups", "query", _many_groups),
        Case("a part", "query", _part),
        Case("a stream", "query", _stream),
        Case("a release that is read again", "query", _read_again),
    ]


OTHERS: list[Case] = [
    Case("batch", "batch", _batch),
    Case("refinement", "refinement", _refinement),
    Case("workload", "workload", _workload),
    Case("grouping sets", "workload", _grouping_sets),
    Case("workload of ranges and sums", "workload", _ranges),
    Case("workload of clipped persons", "workload", _clipped_workload),
    Case("workload of extremes", "workload", _extreme_sums),
    Case("counter", "counter", _counter),
    Case("profile", "profile", _profile),
    Case("best caps", "query", _best_caps),
    Case("weights", "weights", _weights),
    Case("synthesis", "synthesis", _synthesis),
    Case("scores", "fit", _scores),
    Case("moments and tests", "fit", _moments),
    Case("contingency and tests", "fit", _contingency),
    Case("statistical query", "fit", _statistical_query, ("ρ",)),
    Case("descent", "fit", called(learn.sgd, "b", ["x", "i"], steps=3, n=20, rate="9/10"), ("(ε, δ)",)),
    Case("descent by trusted code", "fit", called(learn.sgd, "b", ["x"], steps=2, n=20, loss="far@1"), ("(ε, δ)",)),
    Case("output perturbation", "fit", called(learn.output_perturbation, "b", ["x", "i"], regularisation=10, passes=2)),
    Case("linear regression", "fit", fit(partial(learn.LinearRegression, "x", ["i", "r"]))),
    Case("ridge", "fit", fit(partial(learn.Ridge, "x", ["i"]))),
    Case("logistic regression", "fit", fit(partial(learn.LogisticRegression, "b", ["x", "i"]))),
    Case("class means", "fit", fit(partial(learn.ClassMeans, "r", ["x", "i"]))),
    Case("naive Bayes", "fit", fit(partial(learn.NaiveBayes, "r", ["x", "n"]))),
    Case("additive classifier", "fit", fit(partial(learn.AdditiveClassifier, "b", ["x", "r"]))),
    Case("additive regressor", "fit", fit(partial(learn.AdditiveRegressor, "x", ["i", "r"]))),
    Case("clusters", "fit", fit(partial(learn.KMeans, features=["x", "i"], n_clusters=2))),
    Case("components", "fit", fit(partial(learn.PCA, features=["x", "i"]))),
]
