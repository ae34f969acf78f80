"""Questions of every shape that is answered: each aggregate, each kind of key, each kind of relation."""

from __future__ import annotations

import re
from collections import defaultdict

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


def together(shapes: dict[str, str], most: int = 10) -> dict[str, str]:
    """The same aggregates in fewer questions: those of the same rows and keys are asked at once, up to some number.

    For an engine that takes a second to plan a question, however little it asks for. Whatever is measured is measured
    as before, in a statement that measures more.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(shapes):
        asked = _PLAIN_QUESTION.fullmatch(shapes[name])
        alike[name if asked is None else asked["key"] or ""].append(name)
    found = {}
    for names in alike.values():
        for start in range(0, len(names), most):
            some = names[start : start + most]
            found[" + ".join(some)] = shapes[some[0]] if len(some) == 1 else _asked_at_once([shapes[n] for n in some])
    return found


_PLAIN_QUESTION = re.compile(r"SELECT (?:(?P<key>\w+), )?(?P<asked>.+?) FROM data(?: GROUP BY (?P=key))?")


def _asked_at_once(texts: list[str]) -> str:
    parts = [_PLAIN_QUESTION.fullmatch(text) for text in texts]
    key = next(part["key"] for part in parts if part is not None)
    numbered = [
        re.sub(r" AS (\w+)", rf" AS \g<1>{place}", part["asked"])
        for place, part in enumerate(parts)
        if part is not None
    ]
    listed = ", ".join([*([key] if key else []), *numbered])
    return f"SELECT {listed} FROM data{f' GROUP BY {key}' if key else ''}"
