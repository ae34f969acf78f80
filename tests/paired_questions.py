"""The same questions in SQL and in Python."""

# ruff: noqa: E501, ISC004 (queries read best in one piece)

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from asked_tables import table
from giveortake import frame as gt

col = gt.col


def trips() -> gt.Table:
    return table("trips")


def visits() -> gt.Table:
    return table("visits")


PAIRS: list[tuple[str, Callable[[], Any]]] = [
    (
        "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips WHERE amount > 0 GROUP BY region",
        lambda: trips().filter(col("amount") > 0).group_by("region").agg(n=gt.count(), mean=gt.mean("amount")),
    ),
    ("SELECT COUNT(*) FROM trips", lambda: trips().agg(count=gt.count())),
    ("SELECT COUNT(1) AS n FROM trips;", lambda: trips().agg(n=gt.count())),
    ("select count(AMOUNT) from TRIPS", lambda: trips().agg(count_amount=gt.count("amount"))),
    (
        "SELECT COUNT(DISTINCT user_id) AS people, COUNT(DISTINCT zone) FROM trips",
        lambda: trips().agg(people=gt.count_distinct("user_id"), count_distinct_zone=gt.count_distinct("zone")),
    ),
    (
        "SELECT SUM(amount), MEAN(amount) AS m, VARIANCE(amount), VAR_POP(amount) AS p, STDDEV(amount) FROM trips",
        lambda: trips().agg(
            sum_amount=gt.sum("amount"),
            m=gt.mean("amount"),
            variance_amount=gt.variance("amount"),
            p=gt.variance("amount"),
            stddev_amount=gt.stddev("amount"),
        ),
    ),
    (
        "SELECT MEDIAN(amount), QUANTILE_CONT(amount, 0.9) AS a, PERCENTILE_CONT(amount, 0.9) AS b, "
        "APPROX_QUANTILE(amount, 0.9) AS c, QUANTILE(amount, 0.9) AS d, "
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY amount) AS e FROM trips",
        lambda: trips().agg(median_amount=gt.median("amount"), **{n: gt.quantile("amount", 0.9) for n in "abcde"}),
    ),
    (
        "SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM trips",
        lambda: trips().agg(youngest=gt.minimum("age"), oldest=gt.maximum("age")),
    ),
    (
        "SELECT BUCKET(amount, 12.5) AS b, COUNT(*) AS n FROM trips GROUP BY BUCKET(amount, 12.5)",
        lambda: trips().group_by(b=col("amount").bucket(12.5)).agg(n=gt.count()),
    ),
    (
        "SELECT SUM(amount) / COUNT(*) AS r, SUM(amount) - 2 * COUNT(*) AS d, -COUNT(*) AS m FROM trips",
        lambda: trips().agg(r=gt.sum("amount") / gt.count(), d=gt.sum("amount") - 2 * gt.count(), m=-gt.count()),
    ),
    (
        "SELECT (1.5 + SUM(amount)) * 3 AS r, 100 / COUNT(*) AS s, 1 - CAST(COUNT(*) AS DOUBLE) AS t FROM trips",
        lambda: trips().agg(r=(1.5 + gt.sum("amount")) * 3, s=100 / gt.count(), t=1 - gt.count()),
    ),
    (
        "SELECT COUNT_IF(amount > 10) AS a, COUNTIF(amount > 10) AS b, COUNT(*) FILTER (WHERE amount > 10) AS c FROM trips",
        lambda: trips().agg(**{n: gt.count_if(col("amount") > 10) for n in "abc"}),
    ),
    (
        "SELECT SUM(amount) FILTER (WHERE paid) AS s, COUNT(age) FILTER (WHERE NOT paid) AS n FROM trips",
        lambda: trips().agg(
            s=gt.sum(gt.when(col("paid")).then(col("amount")).end()),
            n=gt.count(gt.when(~col("paid")).then(col("age")).end()),
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE paid AND (amount >= 1 OR amount <> 3) AND NOT age = 4",
        lambda: (
            trips()
            .filter(col("paid") & ((col("amount") >= 1) | (col("amount") != 3)) & ~(col("age") == 4))
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE region IN ('north', 'east') AND age NOT IN (1, 2)",
        lambda: trips().filter(col("region").isin(["north", "east"]) & ~col("age").isin([1, 2])).agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE age BETWEEN 18 AND 65 AND amount NOT BETWEEN -1 AND 0.1",
        lambda: trips().filter(col("age").between(18, 65) & ~col("amount").between(-1, 0.1)).agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE note LIKE 'a%' AND note NOT LIKE '_b' AND note ILIKE 'C%'",
        lambda: (
            trips().filter(col("note").like("a%") & ~col("note").like("_b") & col("note").ilike("C%")).agg(n=gt.count())
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE tip IS NULL OR note IS NOT NULL",
        lambda: trips().filter(col("tip").is_null() | ~col("note").is_null()).agg(n=gt.count()),
    ),
    (
        "SELECT SUM(CLAMP(tip, -5, 50.5)) AS s FROM trips",
        lambda: trips().agg(s=gt.sum(col("tip").clamp(-5, 50.5))),
    ),
    (
        "SELECT SUM(COALESCE(amount, 0)) AS a, SUM(IFNULL(amount, 0)) AS b, COUNT(NULLIF(age, 0)) AS c FROM trips",
        lambda: trips().agg(
            a=gt.sum(col("amount").coalesce(0)), b=gt.sum(col("amount").coalesce(0)), c=gt.count(col("age").nullif(0))
        ),
    ),
    (
        "SELECT SUM(CASE WHEN paid THEN amount WHEN age > 3 THEN 1 ELSE 0 END) AS s FROM trips",
        lambda: trips().agg(
            s=gt.sum(gt.when(col("paid")).then(col("amount")).when(col("age") > 3).then(1).otherwise(0))
        ),
    ),
    (
        "SELECT CASE region WHEN 'north' THEN 'N' ELSE 'other' END AS r, COUNT(*) AS n FROM trips GROUP BY r",
        lambda: trips().group_by(r=gt.when(col("region") == "north").then("N").otherwise("other")).agg(n=gt.count()),
    ),
    (
        "SELECT SUM(amount * 2 + 1 - amount / 4) AS s, COUNT(*) AS n FROM trips WHERE age % 2 = 0",
        lambda: (
            trips().filter(col("age") % 2 == 0).agg(s=gt.sum(col("amount") * 2 + 1 - col("amount") / 4), n=gt.count())
        ),
    ),
    (
        "SELECT SUM(POWER(amount, 2)) AS a, SUM(amount ** 0.5) AS b, SUM(SIGN(tip)) AS c, SUM(MOD(age, 7)) AS d, SUM(ROUND(amount, 1)) AS e FROM trips",
        lambda: trips().agg(
            a=gt.sum(col("amount").power(2)),
            b=gt.sum(col("amount") ** 0.5),
            c=gt.sum(col("tip").sign()),
            d=gt.sum(col("age") % 7),
            e=gt.sum(col("amount").round(1)),
        ),
    ),
    (
        "SELECT DAYNAME(day) AS d, MONTHNAME(at) AS m, COUNT(*) AS n FROM trips GROUP BY d, m",
        lambda: trips().group_by(d=col("day").dayname(), m=col("at").monthname()).agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE day + 7 < at AND day - 7 < at AND 7 + day < at",
        lambda: (
            trips()
            .filter((col("day") + 7 < col("at")) & (col("day") - 7 < col("at")) & (7 + col("day") < col("at")))
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 1 WEEK < at AND at - INTERVAL '90 minutes' > day AND DATE_SUB(day, INTERVAL 1 QUARTER) < at",
        lambda: (
            trips()
            .filter(
                (col("day") + dt.timedelta(weeks=1) < col("at"))
                & (col("at") - dt.timedelta(minutes=90) > col("day"))
                & (col("day").add_months(-3) < col("at"))
            )
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT AVG(CLAMP(DATE_DIFF('month', '2024-01-31', day), 0, 12)) AS m, AVG(CLAMP(day - DATE '2024-01-01', 0, 365)) AS d FROM trips",
        lambda: trips().agg(
            m=gt.mean(gt.lit(dt.date(2024, 1, 31)).date_diff(col("day"), "month").clamp(0, 12)),
            d=gt.mean((col("day") - dt.date(2024, 1, 1)).clamp(0, 365)),
        ),
    ),
    (
        "SELECT ROUND(AVG(amount), 2) AS a, CAST(COUNT(*) AS BIGINT) AS b, COALESCE(SUM(amount) / NULLIF(COUNT(age), 0), 0) AS c, "
        "GREATEST(COUNT(*), 0) AS d, LEAST(COUNT(*), SUM(amount), 3) AS e, CAST(AVG(amount) AS DECIMAL(9, 2)) AS f, "
        "SQRT(ABS(COUNT(*) - 3)) AS g, POWER(LN(EXP(SIGN(COUNT(*)))), 2) AS h, FLOOR(CEIL(AVG(age))) AS i, "
        "CLAMP(COUNT(*), 0, 9) AS j, COUNT(*) * (SELECT 2) AS k FROM trips",
        lambda: trips().agg(
            a=gt.mean("amount").round(2),
            b=gt.count().to_integer(),
            c=(gt.sum("amount") / gt.count("age").nullif(0)).coalesce(0),
            d=gt.count().greatest(0),
            e=gt.count().least(gt.sum("amount"), 3),
            f=gt.mean("amount").round(2),
            g=(gt.count() - 3).abs().sqrt(),
            h=gt.count().sign().exp().ln().power(2),
            i=gt.mean("age").ceil().floor(),
            j=gt.count().clamp(0, 9),
            k=gt.count() * 2,
        ),
    ),
    (
        "SELECT region, paid, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share, RANK() OVER (ORDER BY COUNT(*) DESC) AS place, "
        "SUM(MAX(age)) OVER (PARTITION BY paid ORDER BY region ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s, "
        "LAG(COUNT(*), 2) OVER (ORDER BY region) AS l, NTILE(4) OVER (ORDER BY COUNT(*)) AS q FROM trips GROUP BY region, paid",
        lambda: (
            trips()
            .group_by("region", "paid")
            .agg(
                n=gt.count(),
                share=gt.count() / gt.over("sum", gt.count()),
                place=gt.over("rank", order_by=gt.count(), descending=True),
                s=gt.over("sum", gt.maximum("age"), by="paid", order_by="region", rows=(2, 1)),
                l=gt.over("lag", gt.count(), order_by="region", places=2),
                q=gt.over("ntile", order_by=gt.count(), places=4),
            )
        ),
    ),
    (
        "SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY SUM(amount) DESC, COUNT(*), MAX(age)",
        lambda: (
            trips()
            .group_by("region")
            .order_by(gt.sum("amount"), descending=True)
            .order_by(gt.count(), gt.maximum("age"))
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT CORR(amount, age) AS a, COVAR_POP(amount, age) AS b, COVAR_SAMP(amount, age) AS c, REGR_SLOPE(amount, age) AS d, "
        "REGR_INTERCEPT(amount, age) AS e FROM trips",
        lambda: trips().agg(
            a=gt.corr("amount", "age"),
            b=gt.covar_pop("amount", "age"),
            c=gt.covar_samp("amount", "age"),
            d=gt.regr_slope("amount", "age"),
            e=gt.regr_intercept("amount", "age"),
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE paid AND zone IN (SELECT DISTINCT z.zone FROM zones AS z WHERE city = 'Rome' OR z.region LIKE 'n%') "
        "AND region NOT IN (SELECT region FROM zones) AND amount > (SELECT 3)",
        lambda: (
            trips()
            .filter(col("paid") & (col("amount") > 3))
            .join("zones", on="zone", how="semi", where=(col("city") == "Rome") | col("region").like("n%"))
            .join("zones", on="region", how="anti")
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT city, COUNT(*) AS n FROM zones RIGHT JOIN trips ON zones.zone = trips.zone GROUP BY city",
        lambda: trips().join("zones", on="zone", how="left").group_by("city").agg(n=gt.count()),
    ),
    (
        "SELECT city, COUNT(*) AS n FROM zones JOIN trips USING (zone) GROUP BY city",
        lambda: trips().join("zones", on="zone").group_by("city").agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(minutes) AS n, COUNT(amount) AS a FROM visits RIGHT JOIN trips USING (user_id)",
        lambda: trips().join_person(visits(), how="left").agg(n=gt.count("minutes"), a=gt.count("amount")),
    ),
    ("SELECT DISTINCT region, paid FROM trips", lambda: trips().distinct("region", "paid")),
    (
        "SELECT AVG(ABS(amount)) AS a, AVG(FLOOR(amount)) AS b, AVG(CEIL(amount)) AS c, AVG(ROUND(amount, 0)) AS d, "
        "AVG(SQRT(amount)) AS e, AVG(LN(amount + 1)) AS f, AVG(EXP(age / 100)) AS g FROM trips",
        lambda: trips().agg(
            a=gt.mean(col("amount").abs()),
            b=gt.mean(col("amount").floor()),
            c=gt.mean(col("amount").ceil()),
            d=gt.mean(col("amount").round()),
            e=gt.mean(col("amount").sqrt()),
            f=gt.mean((col("amount") + 1).ln()),
            g=gt.mean((col("age") / 100).exp()),
        ),
    ),
    (
        "SELECT AVG(GREATEST(amount, age, 3)) AS a, AVG(LEAST(amount, 10)) AS b FROM trips",
        lambda: trips().agg(a=gt.mean(col("amount").greatest(col("age"), 3)), b=gt.mean(col("amount").least(10))),
    ),
    (
        "SELECT LOWER(note) AS a, UPPER(TRIM(note)) AS b, SUBSTRING(note, 1, 3) AS c, note || '!' AS d, COUNT(*) AS n "
        "FROM trips WHERE LENGTH(note) < 9 AND CONCAT(note, 'x') = 'yx' GROUP BY 1, 2, 3, 4",
        lambda: (
            trips()
            .filter((col("note").length() < 9) & (col("note").concat("x") == "yx"))
            .group_by(
                a=col("note").lower(),
                b=col("note").trim().upper(),
                c=col("note").substring(1, 3),
                d=col("note").concat("!"),
            )
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT YEAR(day) AS y, EXTRACT(quarter FROM day) AS q, DATE_PART('month', day) AS m, WEEK(day) AS w, "
        "DAY(day) AS d, DAYOFWEEK(day) AS dw, DAYOFYEAR(day) AS dy, COUNT(*) AS n FROM trips GROUP BY 1,2,3,4,5,6,7",
        lambda: (
            trips()
            .group_by(
                y=col("day").year(),
                q=col("day").quarter(),
                m=col("day").month(),
                w=col("day").week(),
                d=col("day").day(),
                dw=col("day").dayofweek(),
                dy=col("day").dayofyear(),
            )
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT HOUR(at) AS h, EXTRACT(minute FROM at) AS m, COUNT(*) AS n FROM trips GROUP BY h, m",
        lambda: trips().group_by(h=col("at").hour(), m=col("at").minute()).agg(n=gt.count()),
    ),
    (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM trips GROUP BY m",
        lambda: trips().group_by(m=col("day").date_trunc("month")).agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips WHERE day >= '2024-01-31' AND day < DATE '2024-03-01' AND at > '2024-02-01 10:00'",
        lambda: (
            trips()
            .filter(
                (col("day") >= dt.date(2024, 1, 31))
                & (col("day") < dt.date(2024, 3, 1))
                & (col("at") > dt.datetime(2024, 2, 1, 10))
            )
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT SUM(CAST(paid AS DOUBLE)) AS a, SUM(age::BIGINT) AS b, COUNT(TRY_CAST(note AS DATE)) AS c FROM trips "
        "WHERE CAST(age AS VARCHAR) = '3'",
        lambda: (
            trips()
            .filter(col("age").cast("varchar") == "3")
            .agg(
                a=gt.sum(col("paid").cast("double")),
                b=gt.sum(col("age").cast("bigint")),
                c=gt.count(col("note").cast("date")),
            )
        ),
    ),
    (
        "SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING n > 10 AND region <> 'south' ORDER BY n DESC LIMIT 3",
        lambda: (
            trips()
            .group_by("region")
            .having((col("n") > 10) & (col("region") != "south"))
            .order_by("n", descending=True)
            .limit(3)
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT region, COUNT(*) AS n FROM trips GROUP BY 1 HAVING SUM(amount) / COUNT(*) >= 2 ORDER BY 1, COUNT(*)",
        lambda: (
            trips()
            .group_by("region")
            .having(gt.sum("amount") / gt.count() >= 2)
            .order_by("region", "n")
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT day, COUNT(*) AS n FROM trips GROUP BY day HAVING day IN ('2024-01-01') OR n BETWEEN 1 AND 2 OR day IS NULL",
        lambda: (
            trips()
            .group_by("day")
            .having(col("day").isin([dt.date(2024, 1, 1)]) | col("n").between(1, 2) | col("day").is_null())
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT city, COUNT(*) AS n FROM trips JOIN zones USING (zone) GROUP BY city",
        lambda: trips().join("zones", on="zone").group_by("city").agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips AS t LEFT JOIN zones AS z ON z.zone = t.age + 1 WHERE z.region = t.region",
        lambda: (
            trips()
            .join("zones", on=col("age") + 1, column="zone", how="left")
            .filter(col("zones.region") == col("region"))
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips LEFT JOIN zones USING (zone) WHERE zones.zone IS NULL AND zone > 3",
        lambda: (
            trips()
            .join("zones", on="zone", how="left")
            .filter(col("zones.zone").is_null() & (col("zone") > 3))
            .agg(n=gt.count())
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips JOIN visits ON visits.user_id = trips.user_id WHERE visits.region = trips.region",
        lambda: trips().join_person(visits()).filter(col("visits.region") == col("region")).agg(n=gt.count()),
    ),
    (
        "SELECT AVG(n) AS m FROM (SELECT user_id, COUNT(*) AS n FROM trips GROUP BY user_id) AS q",
        lambda: trips().per_person(n=gt.count()).agg(m=gt.mean("n")),
    ),
    (
        "SELECT region, AVG(s) AS m FROM (SELECT user_id, region, SUM(amount) AS s, MAX(age) AS a, MIN(age) AS b "
        "FROM trips GROUP BY user_id, region HAVING MAX(age) > 18) GROUP BY region",
        lambda: (
            trips()
            .per_person(by=["region"], s=gt.sum("amount"), a=gt.maximum("age"), b=gt.minimum("age"))
            .filter(col("a") > 18)
            .group_by("region")
            .agg(m=gt.mean("s"))
        ),
    ),
    (
        "SELECT AVG(CLAMP(r, 0, 10)) AS m FROM (SELECT SUM(amount) AS s, COUNT(*) AS n, SUM(amount) / COUNT(*) AS r "
        "FROM trips GROUP BY user_id)",
        lambda: (
            trips()
            .per_person(s=gt.sum("amount"), n=gt.count())
            .select("s", "n", r=col("s") / col("n"))
            .agg(m=gt.mean(col("r").clamp(0, 10)))
        ),
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT user_id, region FROM trips)",
        lambda: trips().per_person(by=["region"]).agg(n=gt.count()),
    ),
    (
        "SELECT y, COUNT(*) AS n FROM (SELECT user_id, YEAR(day) AS y FROM trips GROUP BY 1, 2) GROUP BY y",
        lambda: trips().derive(y=col("day").year()).per_person(by=["y"]).group_by("y").agg(n=gt.count()),
    ),
    (
        "WITH big AS (SELECT * FROM trips WHERE amount > 9), two AS (SELECT *, amount * 2 AS double FROM big) "
        "SELECT SUM(double) AS s FROM two",
        lambda: trips().filter(col("amount") > 9).derive(double=col("amount") * 2).agg(s=gt.sum("double")),
    ),
    (
        "SELECT SUM(amount) AS s FROM (SELECT user_id, region, amount * 100 AS amount FROM trips) WHERE region = 'north'",
        lambda: (
            trips()
            .select("region", amount=col("amount") * 100)
            .filter(col("region") == "north")
            .agg(s=gt.sum("amount"))
        ),
    ),
    (
        "SELECT region, COUNT(*) AS n FROM (SELECT user_id, region FROM trips UNION ALL SELECT user_id, region FROM visits) "
        "GROUP BY region",
        lambda: trips().select("region").union(visits().select("region")).group_by("region").agg(n=gt.count()),
    ),
    (
        "SELECT COUNT(*) AS n FROM trips t JOIN (SELECT user_id AS who, SUM(minutes) AS m FROM visits GROUP BY who) v "
        "ON t.user_id = v.who WHERE m > 30",
        lambda: trips().join_person(visits().per_person(m=gt.sum("minutes"))).filter(col("m") > 30).agg(n=gt.count()),
    ),
    (
        'SELECT COUNT(DISTINCT "None") AS n, SUM(x) AS s FROM rows',
        lambda: table("rows").agg(n=gt.count_distinct("None"), s=gt.sum("x")),
    ),
]
