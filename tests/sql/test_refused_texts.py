"""What is not answered is refused by name, before any data is touched."""

from __future__ import annotations

import re

import pytest

from asked_tables import CATALOG
from giveortake import sql
from giveortake.errors import QueryRefused
from giveortake.plan import Catalog, Domain, Kind, PrivateTable, Scan

WITH_HINTS: list[tuple[str, str]] = [
    # rows
    ("SELECT * FROM trips", r"`\*`"),
    ("SELECT trips.* FROM trips", r"`\*`"),
    ("SELECT region FROM trips", "`region` is neither grouped"),
    ("SELECT amount + 1 FROM trips", "neither grouped by nor inside an aggregate"),
    ("SELECT amount, COUNT(*) FROM trips", "`amount` is neither grouped"),
    ("SELECT COUNT(*) + amount FROM trips", "`amount` is neither grouped"),
    ("SELECT DISTINCT note FROM trips", "found in the data"),
    ("SELECT DISTINCT region FROM trips WHERE amount > 3", "rows decide which keys"),
    ("SELECT DISTINCT region FROM trips JOIN zones USING (zone)", "rows decide which keys|ambiguous"),
    ("SELECT DISTINCT region, COUNT(*) FROM trips", "DISTINCT together with aggregates"),
    ("SELECT DISTINCT * FROM trips", "DISTINCT together with aggregates"),
    ("SELECT DISTINCT user_id FROM trips", "names people"),
    ("SELECT DISTINCT amount FROM trips", "found in the data"),
    ("SELECT DISTINCT ON (region) region, COUNT(*) FROM trips GROUP BY region", "DISTINCT"),
    ("SELECT region FROM trips GROUP BY region", "asks for keys"),
    ("SELECT user_id, COUNT(*) FROM trips GROUP BY user_id", "`user_id` names people"),
    ("SELECT COUNT(*) FROM trips GROUP BY region", "not selected"),
    ("SELECT region AS a, region AS b, COUNT(*) AS n FROM trips GROUP BY region", "selected twice"),
    ("SELECT region, amount, COUNT(*) FROM trips GROUP BY region, amount", "real values cannot be grouped by"),
    # places that are not tables
    ("SELECT COUNT(*) FROM read_csv('a.csv')", "READ_CSV"),
    ("SELECT COUNT(*) FROM read_parquet('a')", "table function"),
    ("SELECT COUNT(*) FROM range(10)", "table function|RANGE"),
    ("SELECT COUNT(*) FROM duckdb_settings()", "table function"),
    ("SELECT COUNT(*) FROM 'trips.parquet'", "queries cannot read files"),
    ("SELECT COUNT(*) FROM '/etc/passwd'", "queries cannot read files"),
    ('SELECT COUNT(*) FROM "a.csv"', "queries cannot read files"),
    ("SELECT COUNT(*) FROM nowhere", "no table `nowhere`"),
    ("SELECT COUNT(*) FROM main.trips", "schema"),
    ("SELECT COUNT(*) FROM db.main.trips", "schema|catalog"),
    ("SELECT COUNT(*) FROM information_schema.tables", "schema"),
    ("SELECT COUNT(*) FROM (VALUES (1)) AS v(a)", "column names after an alias|VALUES"),
    ("SELECT COUNT(*) FROM UNNEST([1, 2])", "UNNEST"),
    ("SELECT COUNT(*) FROM zones", "public table"),
    ("SELECT COUNT(*)", "without FROM"),
    ("SELECT 1", "without FROM"),
    # statements
    ("PRAGMA database_list", "PRAGMA"),
    ("SET threads = 1", "SET"),
    ("ATTACH 'a.db'", "ATTACH"),
    ("COPY trips TO 'a.csv'", "COPY"),
    ("INSTALL httpfs", "INSTALL"),
    ("LOAD httpfs", "LOAD"),
    ("SHOW TABLES", "SHOW"),
    ("DESCRIBE trips", "DESCRIBE"),
    ("EXPLAIN SELECT COUNT(*) FROM trips", "EXPLAIN"),
    ("CREATE TABLE x AS SELECT COUNT(*) FROM trips", "CREATE"),
    ("INSERT INTO trips SELECT 1", "INSERT"),
    ("DELETE FROM trips", "DELETE"),
    ("DROP TABLE trips", "DROP"),
    ("CALL pragma_version()", "CALL"),
    ("VALUES (1)", "VALUES"),
    ("FROM trips", "FROM"),
    ("SUMMARIZE trips", "SUMMARIZE"),
    ("SELECT COUNT(*) FROM trips; SELECT COUNT(*) FROM trips", "several statements"),
    ("SELECT COUNT(*) FROM trips; DROP TABLE trips", "several statements"),
    ("", "empty"),
    (" ; ", "empty"),
    ("WITH a AS (SELECT * FROM trips) DELETE FROM a", "DELETE|not understood"),
    ("SELECT COUNT(*) INTO x FROM trips", "INTO|not understood"),
    # windows, samples, locks
    ("SELECT COUNT(*) OVER () FROM trips", "window function"),
    ("SELECT SUM(amount) OVER (PARTITION BY region) FROM trips", "window function"),
    ("SELECT AVG(r) FROM (SELECT user_id, ROW_NUMBER() OVER (ORDER BY amount) AS r FROM trips)", "window function"),
    ("SELECT COUNT(*) FROM trips QUALIFY ROW_NUMBER() OVER () = 1", "QUALIFY"),
    ("SELECT CASE WHEN COUNT(*) > 9 THEN 1 ELSE 0 END AS many FROM trips", "noise would choose the branch"),
    ("SELECT region FROM trips GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1", "no number to measure"),
    ("SELECT IF(COUNT(*) > 9, 1, 0) AS many FROM trips", "IF is not answered over aggregates"),
    ("SELECT COUNT(*) % 10 AS rest FROM trips", "MOD is not answered over aggregates"),
    ("SELECT COUNT(*) FROM trips WINDOW w AS (ORDER BY amount)", "WINDOW"),
    ("SELECT COUNT(*) FROM trips USING SAMPLE 10%", "SAMPLE"),
    ("SELECT COUNT(*) FROM trips TABLESAMPLE (10 PERCENT)", "SAMPLE"),
    ("SELECT COUNT(*) FROM trips FOR UPDATE", "FOR UPDATE"),
    ("SELECT COUNT(*) FROM trips PIVOT (SUM(amount) FOR region IN ('north'))", "PIVOT"),
    # aggregates
    ("SELECT ANY_VALUE(region) FROM trips", "ANY_VALUE"),
    ("SELECT LIST(region) FROM trips", "LIST"),
    ("SELECT ARRAY_AGG(region) FROM trips", "ARRAY_AGG"),
    ("SELECT STRING_AGG(region, ',') FROM trips", "STRING_AGG"),
    ("SELECT APPROX_COUNT_DISTINCT(region) FROM trips", "APPROX"),
    ("SELECT COUNT(DISTINCT region, zone) FROM trips", "several columns"),
    ("SELECT COUNT() FROM trips", r"COUNT\(\)"),
    ("SELECT SUM(DISTINCT amount) FROM trips", "DISTINCT"),
    ("SELECT SUM(SUM(amount)) FROM trips", "SUM"),
    ("SELECT SUM(amount ORDER BY age) FROM trips", "ORDER"),
    ("SELECT QUANTILE(amount, [0.1, 0.9]) FROM trips", "fraction"),
    ("SELECT PERCENTILE_CONT(0.5) FROM trips", "fraction"),
    ("SELECT SUM(tip) FROM trips", "needs bounds"),
    ("SELECT COUNT(*) FROM trips WHERE COUNT(*) > 1", "COUNT"),
    ("SELECT COUNT(*) AS n FROM trips GROUP BY COUNT(*)", "GROUP BY"),
    ("SELECT ROUND(AVG(amount), 13) FROM trips", "ROUND takes"),
    ("SELECT ROUND(AVG(amount), COUNT(*)) FROM trips", "written out"),
    ("SELECT CAST(COUNT(*) AS VARCHAR) FROM trips", "an answer is a number"),
    ("SELECT CASE WHEN COUNT(*) > 3 THEN 1 ELSE 0 END AS c FROM trips", "CASE"),
    ("SELECT COUNT(*) % 7 AS c FROM trips", "MOD"),
    (
        "SELECT region, NTILE(0) OVER (ORDER BY COUNT(*)) AS c FROM trips GROUP BY region",
        "NTILE takes at least one part",
    ),
    ("SELECT region, PERCENT_RANK() OVER (ORDER BY COUNT(*)) AS c FROM trips GROUP BY region", "PERCENT_RANK"),
    (
        "SELECT region, NTILE(2.5) OVER (ORDER BY region) AS c FROM trips GROUP BY region",
        "NTILE takes a whole number of parts",
    ),
    ("SELECT region, SUM(SUM(COUNT(*)) OVER ()) OVER () AS c FROM trips GROUP BY region", "OVER inside OVER"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING SUM(COUNT(*)) OVER () > 3", "HAVING comes before"),
    ("SELECT region, RANK() OVER () AS c, COUNT(*) AS n FROM trips GROUP BY region", "needs an order"),
    ("SELECT region, SUM(COUNT(*)) OVER (PARTITION BY age) AS c FROM trips GROUP BY region", "goes by keys"),
    ("SELECT region, SUM(COUNT(*)) OVER (ORDER BY age) AS c FROM trips GROUP BY region", "not from people's rows"),
    ("SELECT region, LAG(COUNT(*), 1, 0) OVER (ORDER BY region) AS c FROM trips GROUP BY region", "DEFAULT inside LAG"),
    (
        "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM trips GROUP BY 1",
        "a frame counts ROWS",
    ),
    ("SELECT region, SUM(COUNT(*)) OVER w AS c FROM trips GROUP BY region WINDOW w AS ()", "WINDOW"),
    ("SELECT COUNT(DISTINCT user_id) FILTER (WHERE paid) FROM trips", "FILTER"),
    # values
    ("SELECT SUM(amount * RANDOM()) FROM trips", r"RANDOM\(\)"),
    ("SELECT COUNT(*) FROM trips WHERE day < CURRENT_DATE", "CURRENT_DATE"),
    ("SELECT COUNT(*) FROM trips WHERE day < NOW()", "CURRENT_TIMESTAMP|NOW"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + INTERVAL (age) DAY", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + age", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + 0.5", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE at < at + 7", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE INTERVAL 1 DAY - day > 1", "INTERVAL"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + INTERVAL 1 HOUR", "ADD_SECONDS needs timestamp"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + INTERVAL 1 CENTURY", "units are"),
    ("SELECT COUNT(*) FROM trips WHERE day < day + INTERVAL '\u0663' DAY", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE DATE_DIFF('second', day, at) = 1", "does not count SECONDS"),
    ("SELECT SUM(DATE_DIFF('day', day, at)) FROM trips", "needs bounds"),
    ("SELECT COUNT(*) FROM trips WHERE amount // 2 = 1", "//"),
    ("SELECT COUNT(*) FROM trips WHERE amount ** age > 1", "POWER needs a number"),
    ("SELECT COUNT(*) FROM trips WHERE amount ** 33 > 1", "exponents up to 32"),
    ("SELECT SUM(tip ** 2) FROM trips", "needs bounds"),
    ("SELECT SUM(amount % 7) FROM trips", "whole numbers"),
    ("SELECT SUM(LOG(amount)) FROM trips", "LOG"),
    ("SELECT COUNT(*) FROM trips WHERE region IS DISTINCT FROM 'x'", "IS DISTINCT FROM"),
    ("SELECT COUNT(*) FROM trips WHERE note LIKE 'a!%' ESCAPE '!'", "ESCAPE"),
    ("SELECT COUNT(*) FROM trips WHERE paid OR zone IN (SELECT zone FROM zones)", "IN with a subquery"),
    ("SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone, city FROM zones)", "takes one column"),
    ("SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone + 1 FROM zones)", "takes one column"),
    ("SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone FROM zones WHERE amount > 3)", "no column `amount`"),
    ("SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone FROM zones LIMIT 3)", "LIMIT"),
    ("SELECT COUNT(*) FROM trips WHERE zone IN (SELECT 3)", "reads one public table"),
    ("SELECT COUNT(*) FROM trips WHERE user_id IN (SELECT user_id FROM visits)", "rows of one person would decide"),
    ("SELECT COUNT(*) FROM trips WHERE note IN (SELECT zone FROM zones)", "cannot be looked up"),
    ("SELECT COVAR_POP(DISTINCT amount) FROM trips", "takes 2 arguments|not understood"),
    ("SELECT CORR(amount, tip) FROM trips", "needs bounds"),
    ("SELECT COUNT(*) FROM trips WHERE EXISTS (SELECT 1 FROM zones)", "EXISTS"),
    ("SELECT COUNT(*) FROM trips WHERE amount > (SELECT AVG(amount) FROM trips)", "subquery"),
    ("SELECT (SELECT COUNT(*) FROM trips) AS a FROM trips", "subquery"),
    ("SELECT COUNT(*) FROM trips WHERE amount > ?", "parameter"),
    ("SELECT COUNT(*) FROM trips WHERE amount > $1", "parameter"),
    ("SELECT COUNT(*) FROM trips WHERE day = 'soon'", "not a date"),
    ("SELECT COUNT(*) FROM trips WHERE EXTRACT(dow FROM day) = 0", "DOW"),
    ("SELECT SUM(ROUND(amount, 0.5)) FROM trips", "ROUND"),
    ("SELECT SUM(ROUND(amount, 10)) FROM trips", "ROUND"),
    ("SELECT SUM(CAST(amount AS DECIMAL(10, 2))) FROM trips", "DECIMAL|EXPRESSIONS"),
    ("SELECT COUNT(CAST(note AS BOOLEAN)) FROM trips", "BOOLEAN"),
    ("SELECT COUNT(*) FROM trips WHERE nothing = 1", "no column `nothing`"),
    (
        "SELECT regoin, COUNT(*) FROM trips GROUP BY regoin",
        r"no column `regoin` here\n\n  hint: did you mean `region`\? ",
    ),
    ("SELECT COUNT(*) FROM trips WHERE x.amount = 1", "no table `x`"),
    ("SELECT COUNT(*) FROM trips WHERE a.b.c = 1", "two parts"),
    ("SELECT COUNT(*) FROM trips WHERE a.b.c.d = 1", "two parts"),
    ("SELECT COUNT(*) FROM trips WHERE GETENV('HOME') = 'x'", "GETENV"),
    ("SELECT COUNT(*) FROM trips WHERE REGEXP_MATCHES(note, 'a')", "REGEXP"),
    ("SELECT SUM(FLOOR(tip)) FROM trips", "bounded"),
    # joins
    ("SELECT COUNT(*) FROM trips, visits", "cross join"),
    ("SELECT COUNT(*) FROM trips CROSS JOIN visits", "CROSS JOIN"),
    ("SELECT COUNT(*) FROM trips JOIN visits ON 1 = 1", "ON must"),
    ("SELECT COUNT(*) FROM trips JOIN visits ON trips.region = visits.region", "on the person"),
    ("SELECT COUNT(*) FROM trips JOIN visits ON trips.user_id > visits.user_id", "something else than ="),
    ("SELECT COUNT(*) FROM trips JOIN zones ON trips.zone = zones.zone AND trips.region = zones.region", "several"),
    ("SELECT COUNT(*) FROM trips JOIN zones ON trips.region = zones.region", "not unique"),
    ("SELECT COUNT(*) FROM trips FULL JOIN zones USING (zone)", "FULL JOIN"),
    ("SELECT COUNT(*) FROM trips RIGHT JOIN zones USING (zone)", "belong to nobody"),
    ("SELECT COUNT(*) FROM trips SEMI JOIN zones USING (zone)", "SEMI JOIN"),
    ("SELECT COUNT(*) FROM trips ANTI JOIN zones USING (zone)", "ANTI JOIN"),
    ("SELECT COUNT(*) FROM trips NATURAL JOIN zones", "NATURAL"),
    ("SELECT COUNT(*) FROM trips ASOF JOIN visits ON trips.user_id = visits.user_id", "ASOF"),
    ("SELECT COUNT(*) FROM trips, LATERAL (SELECT 1) AS l", "LATERAL"),
    ("SELECT COUNT(*) FROM zones LEFT JOIN trips USING (zone)", "belong to nobody"),
    ("SELECT COUNT(*) FROM zones JOIN zones AS other USING (zone)", "begins with a private table"),
    ("SELECT COUNT(*) FROM trips JOIN trips USING (user_id)", "two tables"),
    ("SELECT COUNT(*) FROM trips JOIN zones USING (zone) WHERE region = 'x'", "ambiguous"),
    ("SELECT COUNT(*) FROM trips JOIN visits USING (user_id, region)", "several columns"),
    ("SELECT COUNT(*) FROM (trips JOIN zones USING (zone))", "parentheses"),
    ("SELECT COUNT(*) FROM rows JOIN visits ON rows.x = visits.minutes", "on the person"),
    # subqueries
    ("WITH RECURSIVE a AS (SELECT * FROM trips) SELECT COUNT(*) FROM a", "RECURSIVE"),
    ("WITH a(x) AS (SELECT amount FROM trips) SELECT COUNT(*) FROM a", "column names after an alias"),
    ("WITH a AS (SELECT * FROM trips), A AS (SELECT * FROM trips) SELECT COUNT(*) FROM a", "twice"),
    ("SELECT AVG(n) FROM (SELECT region, COUNT(*) AS n FROM trips GROUP BY region)", "does not group by the person"),
    ("SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM trips)", "does not group by the person"),
    ("SELECT COUNT(*) FROM (SELECT * FROM trips LIMIT 10)", "LIMIT inside a subquery"),
    ("SELECT COUNT(*) FROM (SELECT * FROM trips ORDER BY amount)", "ORDER BY inside a subquery"),
    ("SELECT COUNT(*) FROM (SELECT * EXCLUDE (amount) FROM trips)", "EXCLUDE"),
    ("SELECT COUNT(*) FROM (SELECT * REPLACE (1 AS amount) FROM trips)", "REPLACE"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT region FROM trips)", "does not group by the person"),
    ("SELECT COUNT(*) FROM (SELECT user_id FROM trips UNION SELECT user_id FROM visits)", "UNION"),
    ("SELECT COUNT(*) FROM (SELECT user_id FROM trips INTERSECT SELECT user_id FROM visits)", "INTERSECT"),
    ("SELECT COUNT(*) FROM (SELECT user_id FROM trips EXCEPT SELECT user_id FROM visits)", "EXCEPT"),
    ("SELECT COUNT(*) FROM trips UNION ALL SELECT COUNT(*) FROM trips", "UNION"),
    (
        "SELECT COUNT(*) FROM (SELECT user_id, region FROM trips UNION ALL SELECT user_id FROM visits)",
        "same number of columns",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT zone, user_id FROM trips UNION ALL SELECT user_id, user_id AS b FROM visits)",
        "person",
    ),
    ("SELECT SUM(amount + 1) FROM (SELECT amount + 1 FROM trips)", "needs a name"),
    ("SELECT COUNT(*) FROM (SELECT user_id, amount FROM trips GROUP BY user_id)", "neither grouped"),
    ("SELECT COUNT(*) FROM (SELECT user_id, MEDIAN(amount) AS m FROM trips GROUP BY user_id)", "within one person"),
    ("SELECT COUNT(*) FROM (SELECT region FROM trips) WHERE user_id = 3", "no column `user_id`"),
    # the person is the custodian's
    ("SELECT COUNT(*) FROM (SELECT region AS user_id FROM trips)", "cannot be redefined|the custodian chose"),
    ("SELECT COUNT(*) FROM (SELECT region AS USER_ID FROM trips)", "cannot be redefined|the custodian chose"),
    ("SELECT COUNT(*) FROM (SELECT user_id, region AS user_id FROM trips)", "two columns"),
    ("SELECT COUNT(*) FROM (SELECT user_id + 1 AS user_id FROM trips)", "cannot be redefined|the custodian chose"),
    (
        "SELECT COUNT(*) FROM (SELECT user_id AS a, zone AS user_id FROM trips)",
        "cannot be redefined|the custodian chose",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT user_id AS a, COUNT(*) AS User_Id FROM trips GROUP BY user_id)",
        "cannot be redefined|the custodian chose",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT zone AS user_id FROM trips UNION ALL SELECT user_id FROM visits)",
        "cannot be redefined|the custodian chose",
    ),
    # the answer
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY ALL", "GROUP BY ALL"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY ROLLUP (region)", "ROLLUP"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY CUBE (region)", "CUBE"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY GROUPING SETS ((region))", "GROUPING SETS"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY 7", "GROUP BY 7"),
    ("SELECT COUNT(*) AS n FROM trips LIMIT 3 OFFSET 2", "OFFSET"),
    ("SELECT COUNT(*) AS n FROM trips LIMIT 10%", "LIMIT"),
    ("SELECT COUNT(*) AS n FROM trips LIMIT n", "LIMIT"),
    ("SELECT COUNT(*) AS n FROM trips FETCH FIRST 3 ROWS ONLY", "FETCH"),
    ("SELECT COUNT(*) AS n FROM trips ORDER BY 9", "ORDER BY 9"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY LENGTH(region)", "does not hold"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING region LIKE 'n%'", "LIKE"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING amount > 3", "`amount`"),
    ("SELECT COUNT(*) AS n, SUM(amount) AS n FROM trips", "two columns"),
    ("SELECT COUNT(*) AS n, SUM(amount) AS n_low FROM trips", "the same name"),
    ("SELECT COUNT(*) AS n, 3 AS x FROM trips", "neither grouped"),
    # BigQuery
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=region) COUNT(*) FROM trips",
        "cannot be redefined|the custodian chose",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=x) COUNT(*) FROM rows",
        "cannot be redefined|the custodian chose",
    ),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(gamma=3) COUNT(*) FROM trips", "gamma"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon='a') COUNT(*) FROM trips", "epsilon"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon COUNT(*) FROM trips", "OPTIONS"),
    ("SELECT COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY * FROM trips)", "outermost"),
    ("SELECT COUNT(*, contribution_bounds_per_group => (0, 3)) FROM trips", "COUNT"),
    ("SELECT SUM(amount, contribution_bounds_per_group => 3) FROM trips", "two numbers"),
    ("SELECT SUM(contribution_bounds_per_group => (0, 1), amount) FROM trips", "last argument"),
    ("SELECT contribution_bounds_per_group => (0, 1) FROM trips", "contribution_bounds_per_group"),
    ("SELECT COUNT(*) FROM trips WHERE amount", "needs a condition"),
    ("SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING n > 'x'", "cannot be compared"),
    ("SELECT SUM(CLAMP(tip, 3, 1)) FROM trips", "lower bound above"),
]
WITHOUT_HINTS: list[tuple[str, str]] = [
    ("SELECT COUNT(*) FROM trips WHERE amount > 'x'", "cannot be compared"),
    ("SELECT COUNT(*) FROM trips WHERE paid = 1", "cannot be compared"),
    ("SELECT COUNT(*) FROM trips WHERE age > 99999999999999999999", "64 bits"),
    ("SELECT COUNT(*) FROM trips\0", "NUL"),
    ("SELECT SUM(CLAMP(tip, amount, 3)) FROM trips", "written out"),
    ("SELECT COUNT(*) FROM trips WHERE note LIKE note", "written out"),
    ("SELECT QUANTILE(amount, 1.5) FROM trips", "from 0 to 1"),
]


def refusal_of(text: str) -> QueryRefused | None:
    """The refusal of a text; None if it is read as a question."""
    try:
        sql.parse(text, CATALOG)
    except QueryRefused as refusal:
        return refusal
    return None


def test_a_text_is_refused_by_name_with_a_hint() -> None:
    wrong = []
    for text, names in WITH_HINTS:
        refusal = refusal_of(text)
        if refusal is None or not refusal.hint or not re.search(names, str(refusal)):
            wrong.append((text, names, str(refusal)))
    assert wrong == []


def test_a_text_is_refused_by_name() -> None:
    refusals = [(text, names, str(refusal_of(text))) for text, names in WITHOUT_HINTS]
    assert [found for found in refusals if not re.search(found[1], found[2])] == []


def test_what_is_too_deep_too_long_or_broken_is_refused() -> None:
    texts = [
        "SELECT COUNT(*) FROM trips WHERE " + "(" * 5_000 + "paid" + ")" * 5_000,
        "SELECT COUNT(*) FROM trips WHERE " + "(" * 140 + "paid" + ")" * 140 + " AND " * 2 + "paid",
        "SELECT COUNT(*) FROM trips WHERE " + "NOT " * 5_000 + "paid",
        "SELECT SUM(" + "- " * 5_000 + "amount) FROM trips",
        "SELECT SUM(amount" + " + 1" * 5_000 + ") FROM trips",
        "SELECT COUNT(*)" + " + 1" * 5_000 + " FROM trips",
        "SELECT COUNT(*) FROM trips WHERE paid" + " AND paid" * 5_000,
        "SELECT COUNT(*) AS n FROM trips HAVING n > 1" + " OR n > 2" * 5_000,
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 2_000 + "trips" + ")" * 2_000,
        "SELECT COUNT(*) FROM (SELECT * FROM trips" + " UNION ALL SELECT * FROM trips" * 3_000 + ")",
        "SELECT COUNT(*) FROM trips" + "".join(f" JOIN zones z{i} ON z{i}.zone = trips.zone" for i in range(999)),
        "WITH a0 AS (SELECT * FROM trips)"
        + "".join(f", a{i + 1} AS (SELECT * FROM a{i} UNION ALL SELECT * FROM a{i})" for i in range(40))
        + " SELECT COUNT(*) FROM a40",
        "SELECT " + ", ".join(["COUNT(*)"] * 1_001) + " FROM trips",
        'SELECT COUNT(*) AS "" FROM trips',
        f"SELECT COUNT(*) AS {'n' * 101} FROM trips",
        "SELECT COUNT(*) FROM trips WHERE " + "CASE WHEN " * 9_000 + "paid",
        "SELECT COUNT(*) FROM trips WHERE paid" + " " * 100_000,
        "SELECT COUNT(*) FROM trips WHERE age > " + "9" * 50_000,
        "SELECT COUNT(*) FROM trips WHERE age > 1e999999999",
        "SELECT COUNT(*) FROM trips WHERE age > 1e-999999999",
        "SELECT COUNT(*) FROM trips WHERE note = 'unfinished",
        'SELECT COUNT(*) FROM "unfinished',
        "SELECT COUNT(*) FROM trips /* unfinished",
        "SELECT COUNT(*) FROM trips WHERE `note` = 1",
        "SELECT COUNT(*) FROM trips LIMIT 99999999999999999999",
        "SELECT",
        "WITH",
        "SELECT COUNT(*) FROM",
        ")",
        "((((",
    ]
    assert [f"{text[:50]}…{len(text)}" for text in texts if refusal_of(text) is None] == []


def test_something_that_is_no_text_is_refused() -> None:
    with pytest.raises(QueryRefused, match="bytes"):
        sql.parse(b"SELECT 1", CATALOG)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "message", "hint"),
    [
        ("SELECT COUTN(*) AS n FROM trips", "the function COUTN is not answered", "did you mean `COUNT`? available: "),
        ("SELECT region, MEDAIN(amount) AS m FROM trips GROUP BY region", "MEDAIN", "did you mean `MEDIAN`? "),
        (
            "SELECT COUNT(*) AS n FROM trips WHERE strftime(day, '%Y') = '1'",
            "the function STRFTIME",
            "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM trips GROUP BY month",
        ),
        (
            "SELECT COUNT(*) AS n FROM trips WHERE strftime('%Y', t.amount) = '1'",
            "the function STRFTIME",
            "DATE_TRUNC('month', amount) AS month",
        ),
        (
            "SELECT COUNT(*) AS n FROM trips WHERE TO_CHAR(day) = '1'",
            "the function TO_CHAR",
            "DATE_TRUNC('month', day)",
        ),
        ('SELECT COUNT(*) AS n FROM trips WHERE region = "nort\'h"', "no column `nort'h`", "single quotes: 'nort''h'"),
        ("SELECT COUNT(*) AS n FROM trips WHERE region = nowhere", "no column `nowhere`", "the columns are"),
        ('SELECT COUNT(*) AS n FROM trips WHERE " Region" = 1', "no column ` Region`", "did you mean `region`? texts"),
        ("SELECT COUNT(*) AS n FROM trip", "there is no table `trip`", "did you mean `trips`? the tables are"),
        ("SELECT COUNT(*) AS n FORM trips", "not understood at `FORM` (line 1, column 22)", "did you mean FROM? an ex"),
        (
            "SELECT COUNT(*)\nFORM trips",
            "not understood at `FORM` (line 2, column 1)",
            "did you mean FROM? an example: ",
        ),
        ("SELECT COUNT(*) FROM trips WHRE amount > 1", "at `WHRE` (line 1, column 28)", "did you mean WHERE? "),
        ("SELECT region, COUNT(*) FROM trips GRUOP BY region", "at `GRUOP`", "did you mean GROUP BY? "),
        ("SELECT region, COUNT(*) FROM trips GROUP region", "at `region`", "did you mean GROUP BY? "),
        ("SELECT COUNT(*) FROM trips WHERE amount > 1 ADN tip > 2", "at `ADN`", "did you mean AND? "),
        ("SELECT COUNT(* FROM trips", "at `FROM`", "a parenthesis is not closed before it; an example: SELECT"),
        ("SELECT COUNT(*) FROM trips WHERE note = 'x", "not understood", "a text is not closed: 'north'; an example"),
    ],
)
def test_a_slip_is_named_as_it_was_written_and_what_was_meant_is_said(question: str, message: str, hint: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        sql.parse(question, CATALOG)
    assert message in refused.value.message
    assert hint in str(refused.value.hint)


def test_names_that_need_quotes_are_shown_in_quotes_and_found_by_their_beginning() -> None:
    columns = (("person", Domain(Kind.TEXT)), ("Fee (EUR)", Domain(Kind.REAL)), (" Day", Domain(Kind.DATE)))
    catalog = Catalog({"loans": Scan(PrivateTable("loans", columns, "person"))})
    for text, hint in (
        ("SELECT AVG(Fee) FROM loans", 'did you mean `"Fee (EUR)"`? the columns are person, "Fee (EUR)", " Day";'),
        ("SELECT COUNT(*) FROM loans WHERE \"Day\" > DATE '2024-01-01'", 'did you mean `" Day"`? texts stand'),
        ("SELECT COUNT(*) FROM loans WHERE day > DATE '2024-01-01'", 'did you mean `" Day"`? '),
    ):
        with pytest.raises(QueryRefused) as refused:
            sql.parse(text, catalog)
        assert str(refused.value.hint).startswith(hint)
