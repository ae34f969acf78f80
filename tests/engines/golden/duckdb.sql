-- Statements as duckdb gets them; see tests/engines/golden_statements.py

-- ==== rows ====

-- [data]
SELECT "p",
    "x",
    "y",
    "i",
    "w",
    "r",
    "n",
    "q",
    "b",
    "d",
    "e",
    "t",
    "c"
FROM (SELECT "p" AS "p",
      CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
      CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
      "i" AS "i",
      "w" AS "w",
      CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
      CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n",
      CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
      "b" AS "b",
      CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
      CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
      CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t",
      "c" AS "c"
  FROM table_data AS t) AS t
WHERE "y" IS NOT NULL

-- anti join: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT "p"
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS ours
        WHERE ours."q" NOT IN (SELECT theirs."part"
          FROM (SELECT CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
            FROM table_zones AS t) AS theirs)) AS t) AS r) AS s) AS g

-- arithmetic: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0,
    g.t1 AS a1
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      coalesce(sum(s1), 0) AS t1
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('3.999999999999991' AS DOUBLE) AND CAST('26.000000000000036' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('3.999999999999991' AS DOUBLE) THEN CAST('3.999999999999991' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('26.000000000000036' AS DOUBLE) THEN CAST('26.000000000000036' AS DOUBLE) END * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('-1.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('-1.0' AS DOUBLE) THEN CAST('-1.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "r" AS k0,
          CASE WHEN isnan((("x" * CAST(2 AS DOUBLE)) + "y")) THEN NULL ELSE (("x" * CAST(2 AS DOUBLE)) + "y") END AS v0,
          CASE WHEN isnan(("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END)) THEN NULL ELSE ("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END) END AS v1
      FROM (SELECT "x",
            "y",
            "i",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- between dates, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0,
    g.t1 AS a1
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      coalesce(sum(s1), 0) AS t1
  FROM (SELECT CAST(CASE WHEN v0 BETWEEN -9 AND 9 THEN v0 WHEN v0 < -9 THEN -9 WHEN v0 > 9 THEN 9 END AS BIGINT) AS s0,
        CAST(CASE WHEN v1 BETWEEN -2 AND 2 THEN v1 WHEN v1 < -2 THEN -2 WHEN v1 > 2 THEN 2 END AS BIGINT) AS s1
    FROM (SELECT CAST((date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', CAST("t" AS DATE)) AS DATE)) - date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', DATE '2024-01-01') AS DATE))) / 7 AS BIGINT) AS v0,
          (date_diff('day', DATE '1970-01-01', "e") - date_diff('day', DATE '1970-01-01', DATE '2024-01-03')) AS v1
      FROM (SELECT "e",
            "t"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
              CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- case: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN "b" THEN "x" WHEN ("i" > 5) THEN CAST(3 AS DOUBLE) ELSE CAST(NULL AS DOUBLE) END AS v0
      FROM (SELECT "x",
            "i",
            "b"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- constant: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT *
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE ("x" > CAST(TRY_CAST((CAST(1 AS DOUBLE) + CAST(1 AS DOUBLE)) AS BIGINT) AS DOUBLE))) AS t) AS r) AS s) AS g

-- correlation, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (738197504) AS a2,
    g.t4 - CAST(g.t5 AS HUGEINT) * (419430400) AS a3,
    g.t6 - CAST(g.t7 AS HUGEINT) * (536870912) AS a4,
    g.t8 AS a5
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3,
      coalesce(sum(s2), 0) AS t4,
      count(s2) AS t5,
      coalesce(sum(s3), 0) AS t6,
      count(s3) AS t7,
      coalesce(sum(s4), 0) AS t8
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1,
        CAST(floor(CASE WHEN CAST(v2 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('25.0' AS DOUBLE) THEN CAST(v2 AS DOUBLE) WHEN CAST(v2 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v2 AS DOUBLE) > CAST('25.0' AS DOUBLE) THEN CAST('25.0' AS DOUBLE) END * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) AS s2,
        CAST(floor(CASE WHEN CAST(v3 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v3 AS DOUBLE) WHEN CAST(v3 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v3 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s3,
        CAST(floor(CASE WHEN CAST(v4 AS DOUBLE) BETWEEN CAST('-5.0' AS DOUBLE) AND CAST('5.0' AS DOUBLE) THEN CAST(v4 AS DOUBLE) WHEN CAST(v4 AS DOUBLE) < CAST('-5.0' AS DOUBLE) THEN CAST('-5.0' AS DOUBLE) WHEN CAST(v4 AS DOUBLE) > CAST('5.0' AS DOUBLE) THEN CAST('5.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s4
    FROM (SELECT "x" AS v0,
          CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END AS v1,
          CASE WHEN isnan((("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE (("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE))) END AS v2,
          CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END AS v3,
          CASE WHEN isnan(((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE))) END AS v4
      FROM (SELECT "x",
            "y"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- count if, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(v0) AS t0
  FROM (SELECT v0
    FROM (SELECT CASE WHEN ("x" > CAST(1 AS DOUBLE)) THEN 1 ELSE NULL END AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- covariance, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (147) AS a2,
    g.t4 AS a3
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3,
      coalesce(sum(s2), 0) AS t4
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(CASE WHEN v1 BETWEEN -5 AND 300 THEN v1 WHEN v1 < -5 THEN -5 WHEN v1 > 300 THEN 300 END AS BIGINT) AS s1,
        CAST(floor(CASE WHEN CAST(v2 AS DOUBLE) BETWEEN CAST('-762.5' AS DOUBLE) AND CAST('762.5' AS DOUBLE) THEN CAST(v2 AS DOUBLE) WHEN CAST(v2 AS DOUBLE) < CAST('-762.5' AS DOUBLE) THEN CAST('-762.5' AS DOUBLE) WHEN CAST(v2 AS DOUBLE) > CAST('762.5' AS DOUBLE) THEN CAST('762.5' AS DOUBLE) END * CAST('1048576.0' AS DOUBLE) + 0.5) AS INTEGER) AS s2
    FROM (SELECT CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END AS v0,
          CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END AS v1,
          CASE WHEN isnan(((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE))) END AS v2
      FROM (SELECT "x",
            "i"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- cte: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-21.000000000000018' AS DOUBLE) AND CAST('49.00000000000004' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-21.000000000000018' AS DOUBLE) THEN CAST('-21.000000000000018' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('49.00000000000004' AS DOUBLE) THEN CAST('49.00000000000004' AS DOUBLE) END * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "z" AS v0
      FROM (SELECT "r" AS "r",
            CASE WHEN isnan(("x" * "x")) THEN NULL ELSE ("x" * "x") END AS "z"
        FROM (SELECT *
          FROM (SELECT "x",
                "i",
                "r"
            FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  "i" AS "i",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "y" IS NOT NULL) AS t
          WHERE ("i" >= 0)) AS t) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- deviation, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-5) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (300) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (381030400) AS a2
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3
  FROM (SELECT CAST(CASE WHEN v0 BETWEEN -5 AND 300 THEN v0 WHEN v0 < -5 THEN -5 WHEN v0 > 300 THEN 300 END AS BIGINT) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('23256.25' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('23256.25' AS DOUBLE) THEN CAST('23256.25' AS DOUBLE) END * CAST('32768.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "i" AS v0,
          CASE WHEN isnan(((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE))) END AS v1
      FROM (SELECT "i"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- distinct by declared: distinct
SELECT CAST(d0.code AS INTEGER) AS code,
    g.n
FROM (SELECT k0,
      count(DISTINCT v0) AS n
  FROM (SELECT "r" AS k0,
        "w" AS v0
    FROM (SELECT "w",
          "r"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            "w" AS "w",
            CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- distinct by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- distinct by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- distinct by discovered: distinct
SELECT CAST(d0.code AS INTEGER) AS code,
    g.n
FROM (SELECT k0,
      count(DISTINCT v0) AS n
  FROM (SELECT "q" AS k0,
        "w" AS v0
    FROM (SELECT "w",
          "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            "w" AS "w",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- distinct text, ungrouped: distinct
SELECT CAST(0 AS INTEGER) AS code,
    g.n
FROM (SELECT count(DISTINCT CASE WHEN strlen(v0) < 64 THEN v0 ELSE sha256(v0) END) AS n
  FROM (SELECT "q" AS v0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS g

-- distinct, ungrouped: distinct
SELECT CAST(0 AS INTEGER) AS code,
    g.n
FROM (SELECT count(DISTINCT v0) AS n
  FROM (SELECT "w" AS v0
    FROM (SELECT "w"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            "w" AS "w"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS g

-- filtered, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0,
    g.t1 - g.t2 AS a1
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(*) AS t1,
      count(v1) AS t2
  FROM (SELECT v1,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN "b" THEN "x" ELSE CAST(NULL AS DOUBLE) END AS v0,
          "i" AS v1
      FROM (SELECT "x",
            "i",
            "b"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- functions of answers, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2,
    g.t3 AS a3
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2,
      count(v1) AS t3
  FROM (SELECT v1,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "x" AS v0,
          "i" AS v1
      FROM (SELECT "x",
            "i"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- greatest, ungrouped: bins
SELECT CAST(0 AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT b,
      count(*) AS n
  FROM (SELECT CAST(floor(least(greatest(((v0 - CAST('10.0' AS DOUBLE)) / CASE WHEN CAST('0.002' AS DOUBLE) <> 0 THEN CAST('0.002' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "y" AS v0
      FROM (SELECT "y"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY b) AS g

-- infinite against its bounds: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('39.99999999999996' AS DOUBLE) AND CAST('60.000000000000064' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('39.99999999999996' AS DOUBLE) THEN CAST('39.99999999999996' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('60.000000000000064' AS DOUBLE) THEN CAST('60.000000000000064' AS DOUBLE) END * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN isnan(((coalesce("x", CAST(1 AS DOUBLE)) - coalesce("x", CAST(1 AS DOUBLE))) + CAST(50 AS DOUBLE))) THEN NULL ELSE ((coalesce("x", CAST(1 AS DOUBLE)) - coalesce("x", CAST(1 AS DOUBLE))) + CAST(50 AS DOUBLE)) END AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- join public: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-268435456) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (1073741824) AS a1
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-1.0' AS DOUBLE) AND CAST('4.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-1.0' AS DOUBLE) THEN CAST('-1.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('4.0' AS DOUBLE) THEN CAST('4.0' AS DOUBLE) END * CAST('268435456.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "part" AS k0,
          "weight" AS v0
      FROM (SELECT theirs."weight" AS "weight",
            theirs."part" AS "part"
        FROM (SELECT "p",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS ours
        JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
              CASE WHEN isnan(CAST("weight" AS DOUBLE)) THEN NULL ELSE CAST("weight" AS DOUBLE) END AS "weight",
              CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
          FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- left join public: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-12.00000000000001' AS DOUBLE) AND CAST('28.000000000000025' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-12.00000000000001' AS DOUBLE) THEN CAST('-12.00000000000001' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('28.000000000000025' AS DOUBLE) THEN CAST('28.000000000000025' AS DOUBLE) END * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "part" AS k0,
          CASE WHEN isnan(("x" * "weight")) THEN NULL ELSE ("x" * "weight") END AS v0
      FROM (SELECT ours."x",
            theirs."weight" AS "weight",
            theirs."part" AS "part"
        FROM (SELECT "x",
              "r"
          FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS ours
        LEFT
        JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
              CASE WHEN isnan(CAST("weight" AS DOUBLE)) THEN NULL ELSE CAST("weight" AS DOUBLE) END AS "weight",
              CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
          FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- line, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (671088640) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (805306368) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (268435456) AS a2,
    g.t4 - CAST(g.t5 AS HUGEINT) * (536870912) AS a3,
    g.t6 AS a4
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3,
      coalesce(sum(s2), 0) AS t4,
      count(s2) AS t5,
      coalesce(sum(s3), 0) AS t6
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1,
        CAST(floor(CASE WHEN CAST(v2 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v2 AS DOUBLE) WHEN CAST(v2 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v2 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s2,
        CAST(floor(CASE WHEN CAST(v3 AS DOUBLE) BETWEEN CAST('-5.0' AS DOUBLE) AND CAST('5.0' AS DOUBLE) THEN CAST(v3 AS DOUBLE) WHEN CAST(v3 AS DOUBLE) < CAST('-5.0' AS DOUBLE) THEN CAST('-5.0' AS DOUBLE) WHEN CAST(v3 AS DOUBLE) > CAST('5.0' AS DOUBLE) THEN CAST('5.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s3
    FROM (SELECT CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END AS v0,
          "x" AS v1,
          CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END AS v2,
          CASE WHEN isnan(((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE))) END AS v3
      FROM (SELECT "x",
            "y"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- mean and sum, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-5) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (300) AS a1
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT CAST(CASE WHEN v0 BETWEEN -5 AND 300 THEN v0 WHEN v0 < -5 THEN -5 WHEN v0 > 300 THEN 300 END AS BIGINT) AS s0
    FROM (SELECT "i" AS v0
      FROM (SELECT "i"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- mean by declared: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- mean by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT *
      FROM (SELECT "x",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t
      WHERE (NOT ("x" IS NULL))) AS t) AS r) AS t
GROUP BY k0

-- mean by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT *
    FROM (SELECT "x",
          "q"
      FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t
    WHERE (NOT ("x" IS NULL))) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- mean by discovered: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (268435456) AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "q" AS k0,
          "x" AS v0
      FROM (SELECT *
        FROM (SELECT "x",
              "q"
          FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE (NOT ("x" IS NULL))) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- mean, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- median by declared: bins
SELECT CAST(d0.code AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT k0,
      b,
      count(*) AS n
  FROM (SELECT k0,
        CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY k0,
      b) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- median by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- median by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- median by discovered: bins
SELECT CAST(d0.code AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT k0,
      b,
      count(*) AS n
  FROM (SELECT k0,
        CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "q" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY k0,
      b) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- median, ungrouped: bins
SELECT CAST(0 AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT b,
      count(*) AS n
  FROM (SELECT CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY b) AS g

-- missing against its bounds: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('100.08333333333324' AS DOUBLE) AND CAST('100.1000000000001' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('100.08333333333324' AS DOUBLE) THEN CAST('100.08333333333324' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('100.1000000000001' AS DOUBLE) THEN CAST('100.1000000000001' AS DOUBLE) END * CAST('8388608.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN isnan((CAST(100 AS DOUBLE) + (CAST(1 AS DOUBLE) / CASE WHEN coalesce("y", CAST(10 AS DOUBLE)) <> 0 THEN coalesce("y", CAST(10 AS DOUBLE)) END))) THEN NULL ELSE (CAST(100 AS DOUBLE) + (CAST(1 AS DOUBLE) / CASE WHEN coalesce("y", CAST(10 AS DOUBLE)) <> 0 THEN coalesce("y", CAST(10 AS DOUBLE)) END)) END AS v0
      FROM (SELECT "y"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- moved moments: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT *
        FROM (SELECT "p",
              "d",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE ((CAST(CASE WHEN "t" BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 22:29:59.999999' THEN ("t" + to_seconds(5400)) END AS TIMESTAMP) < CAST(CASE WHEN "d" BETWEEN DATE '0001-01-08' AND DATE '9999-12-31' THEN ("d" + -7) END AS TIMESTAMP)) OR (CAST(CASE WHEN "d" BETWEEN DATE '0001-01-01' AND DATE '9998-12-31' THEN CAST("d" + to_months(12) AS DATE) END AS TIMESTAMP) > CAST("t" AS TIMESTAMP)))) AS t) AS r) AS s) AS g

-- powers and signs, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0,
    g.t1 AS a1,
    g.t2 AS a2
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      coalesce(sum(s1), 0) AS t1,
      coalesce(sum(s2), 0) AS t2
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('49.00000000000013' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('49.00000000000013' AS DOUBLE) THEN CAST('49.00000000000013' AS DOUBLE) END * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(CASE WHEN v1 BETWEEN -1 AND 1 THEN v1 WHEN v1 < -1 THEN -1 WHEN v1 > 1 THEN 1 END AS BIGINT) AS s1,
        CAST(floor(CASE WHEN CAST(v2 AS DOUBLE) BETWEEN CAST('-3.0000000000000027' AS DOUBLE) AND CAST('7.000000000000006' AS DOUBLE) THEN CAST(v2 AS DOUBLE) WHEN CAST(v2 AS DOUBLE) < CAST('-3.0000000000000027' AS DOUBLE) THEN CAST('-3.0000000000000027' AS DOUBLE) WHEN CAST(v2 AS DOUBLE) > CAST('7.000000000000006' AS DOUBLE) THEN CAST('7.000000000000006' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s2
    FROM (SELECT CASE WHEN isnan(("x" * "x")) THEN NULL ELSE ("x" * "x") END AS v0,
          TRY_CAST(CASE WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END > 0 THEN CAST('1.0' AS DOUBLE) WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END < 0 THEN (- CAST('1.0' AS DOUBLE)) WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END = 0 THEN CAST('0.0' AS DOUBLE) END AS BIGINT) AS v1,
          CASE WHEN isnan((floor((("x" * CAST('10.0' AS DOUBLE)) + CAST('0.5' AS DOUBLE))) / CASE WHEN CAST('10.0' AS DOUBLE) <> 0 THEN CAST('10.0' AS DOUBLE) END)) THEN NULL ELSE (floor((("x" * CAST('10.0' AS DOUBLE)) + CAST('0.5' AS DOUBLE))) / CASE WHEN CAST('10.0' AS DOUBLE) <> 0 THEN CAST('10.0' AS DOUBLE) END) END AS v2
      FROM (SELECT "x",
            "y"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- quantile of integers by declared: bins
SELECT CAST(d0.code AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT k0,
      b,
      count(*) AS n
  FROM (SELECT k0,
        CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "r" AS k0,
          "i" AS v0
      FROM (SELECT "i",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY k0,
      b) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- quantile of integers by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- quantile of integers by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- quantile of integers by discovered: bins
SELECT CAST(d0.code AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT k0,
      b,
      count(*) AS n
  FROM (SELECT k0,
        CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "q" AS k0,
          "i" AS v0
      FROM (SELECT "i",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY k0,
      b) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- quantile of integers, ungrouped: bins
SELECT CAST(0 AS INTEGER) AS code,
    g.b,
    g.n
FROM (SELECT b,
      count(*) AS n
  FROM (SELECT CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
    FROM (SELECT "i" AS v0
      FROM (SELECT "i"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r
    WHERE v0 IS NOT NULL) AS r
  GROUP BY b) AS g

-- ratio, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (671088640) AS a2,
    g.t2 - CAST(g.t3 AS HUGEINT) * (805306368) AS a3
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "x" AS v0,
          "y" AS v1
      FROM (SELECT "x",
            "y"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- redefined: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (125829120) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (545259520) AS a1
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('29.99999999999991' AS DOUBLE) AND CAST('130.00000000000014' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('29.99999999999991' AS DOUBLE) THEN CAST('29.99999999999991' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('130.00000000000014' AS DOUBLE) THEN CAST('130.00000000000014' AS DOUBLE) END * CAST('4194304.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT CASE WHEN isnan((CAST(100 AS DOUBLE) - (CAST(10 AS DOUBLE) * "x"))) THEN NULL ELSE (CAST(100 AS DOUBLE) - (CAST(10 AS DOUBLE) * "x")) END AS "x",
            "r" AS "r"
        FROM (SELECT "x",
              "r"
          FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- right join public: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      count(*) AS t0
  FROM (SELECT k0
    FROM (SELECT "part" AS k0
      FROM (SELECT theirs."part" AS "part"
        FROM (SELECT "p",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS ours
        LEFT
        JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
              CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
          FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- rows, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT "p"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- semi join: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "r"
        FROM (SELECT *
          FROM (SELECT "x",
                "r"
            FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "y" IS NOT NULL) AS t
          WHERE ("x" < CAST(5 AS DOUBLE))) AS ours
        WHERE ours."r" IN (SELECT theirs."zone"
          FROM (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
                "code" AS "code"
            FROM table_zones AS t) AS theirs
          WHERE (theirs."code" > 1))) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- several by boolean: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "b" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "b"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by bucket: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN "x" IS NULL THEN NULL ELSE CAST(CAST(CAST(floor(least(greatest(("x" / CASE WHEN CAST('2.5' AS DOUBLE) <> 0 THEN CAST('2.5' AS DOUBLE) END), CAST('-2.0' AS DOUBLE)), CAST('2.0' AS DOUBLE))) AS BIGINT) AS DECIMAL(19, 0)) * CAST('2.5' AS DECIMAL(18, 9)) AS DECIMAL(38, 9)) END AS k0,
          "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by case: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN ("x" > CAST(2 AS DOUBLE)) THEN 'high' WHEN ("x" <= CAST(2 AS DOUBLE)) THEN 'low' ELSE NULL END AS k0,
          "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by days: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "e" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "e"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by days later: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN "e" BETWEEN DATE '0001-01-01' AND DATE '9999-11-30' THEN CAST("e" + to_months(1) AS DATE) END AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "e"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by declared: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- several by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- several by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- several by discovered: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "q" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- several by discovered dates: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "d" AS k0
    FROM (SELECT "d"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- several by discovered dates: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "d" AS k0
  FROM (SELECT "d"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- several by discovered dates: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "d" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "d"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- several by discovered integers: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "w" AS k0
    FROM (SELECT "w"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            "w" AS "w"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- several by discovered integers: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "w" AS k0
  FROM (SELECT "w"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          "w" AS "w"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- several by discovered integers: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "w" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "w"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "w" AS "w"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- several by discovered with declared: units of keys
SELECT k0,
    k1,
    count(*) AS n
FROM (SELECT r.k0 AS k0,
      r.k1 AS k1
  FROM (SELECT "q" AS k0,
        "r" AS k1
    FROM (SELECT "r",
          "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r
  JOIN values_of_key_1 AS d1 ON r.k1 = d1.value) AS t
GROUP BY k0,
    k1

-- several by discovered with declared: units of keys, by codes
SELECT CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0,
      "r" AS k1
  FROM (SELECT "r",
        "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN values_of_key_1 AS d1 ON r.k1 = d1.value
JOIN wanted_keys AS w ON CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) = w.code
GROUP BY ALL

-- several by discovered with declared: tally
SELECT CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      k1,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        k1,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "q" AS k0,
          "r" AS k1,
          "x" AS v0
      FROM (SELECT "x",
            "r",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0,
      k1) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN values_of_key_1 AS d1 ON g.k1 = d1.value
JOIN wanted_keys AS w ON CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) = w.code

-- several by month: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CAST(month("t") AS BIGINT) AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "t"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by name of the day: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE CAST(isodow("t") AS BIGINT) WHEN 1 THEN 'Monday' WHEN 2 THEN 'Tuesday' WHEN 3 THEN 'Wednesday' WHEN 4 THEN 'Thursday' WHEN 5 THEN 'Friday' WHEN 6 THEN 'Saturday' WHEN 7 THEN 'Sunday' END AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "t"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by name of the month: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE CAST(month("d") AS BIGINT) WHEN 1 THEN 'January' WHEN 2 THEN 'February' WHEN 3 THEN 'March' WHEN 4 THEN 'April' WHEN 5 THEN 'May' WHEN 6 THEN 'June' WHEN 7 THEN 'July' WHEN 8 THEN 'August' WHEN 9 THEN 'September' WHEN 10 THEN 'October' WHEN 11 THEN 'November' WHEN 12 THEN 'December' END AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "d"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- several by two: tally
SELECT CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      k1,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        k1,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "b" AS k1,
          "x" AS v0
      FROM (SELECT "x",
            "r",
            "b"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0,
      k1) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value
JOIN values_of_key_1 AS d1 ON g.k1 IS NOT DISTINCT
FROM d1.value

-- several by with NULL: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "n" AS k0,
          "x" AS v0
      FROM (SELECT "x",
            "n"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- sum away from zero by declared: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "y" AS v0
      FROM (SELECT "y",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- sum away from zero by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- sum away from zero by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- sum away from zero by discovered: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "q" AS k0,
          "y" AS v0
      FROM (SELECT "y",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- sum away from zero, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "y" AS v0
      FROM (SELECT "y"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- sum of decimals, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('100.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('100.0' AS DOUBLE) THEN CAST('100.0' AS DOUBLE) END * CAST('100.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "c" AS v0
      FROM (SELECT "c"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "c" AS "c"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- sum of integers, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(CASE WHEN v0 BETWEEN -5 AND 300 THEN v0 WHEN v0 < -5 THEN -5 WHEN v0 > 300 THEN 300 END AS BIGINT) AS s0
    FROM (SELECT "i" AS v0
      FROM (SELECT "i"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- sum, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT coalesce(sum(s0), 0) AS t0
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- union: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT "r",
            "x"
        FROM (SELECT "r" AS "r",
              "x" AS "x"
          FROM (SELECT "x",
                "r"
            FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "y" IS NOT NULL) AS t) AS t
        UNION ALL
        SELECT "r",
            "x"
        FROM (SELECT "r" AS "r",
              "x" AS "x"
          FROM (SELECT *
            FROM (SELECT "x",
                  "r",
                  "b"
              FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                    "b" AS "b"
                FROM table_data AS t) AS t
              WHERE "y" IS NOT NULL) AS t
            WHERE "b") AS t) AS t) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- values, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(v0) AS t0
  FROM (SELECT v0
    FROM (SELECT "x" AS v0
      FROM (SELECT "x"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- variance by declared: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (671088640) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (805306368) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (536870912) AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "r" AS k0,
          "y" AS v0,
          CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END AS v1
      FROM (SELECT "y",
            "r"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- variance by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- variance by discovered: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- variance by discovered: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (738197504) AS a0,
    g.t2 - CAST(g.t3 AS HUGEINT) * (536870912) AS a1
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "q" AS k0,
          "y" AS v0,
          CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END AS v1
      FROM (SELECT "y",
            "q"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- variance, ungrouped: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (671088640) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (805306368) AS a1,
    g.t2 - CAST(g.t3 AS HUGEINT) * (536870912) AS a2
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      coalesce(sum(s1), 0) AS t2,
      count(s1) AS t3
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('10.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('12.0' AS DOUBLE) END * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0,
        CAST(floor(CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v1 AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s1
    FROM (SELECT "y" AS v0,
          CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END AS v1
      FROM (SELECT "y"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s) AS g

-- where: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "x" AS v0
      FROM (SELECT *
        FROM (SELECT "x",
              "i",
              "r"
          FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "i" AS "i",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE (("x" > CAST(1 AS DOUBLE)) OR ("i" IS NULL))) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- where in: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT *
        FROM (SELECT "p",
              "q",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE (("q" IN ('q0', '日本')) AND (CAST("t" AS TIMESTAMP) < CAST(DATE '2024-06-01' AS TIMESTAMP)))) AS t) AS r) AS s) AS g

-- where not: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT count(*) AS t0
  FROM (SELECT 1 AS one
    FROM (SELECT 1 AS one
      FROM (SELECT *
        FROM (SELECT "p",
              "x",
              "b"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "b" AS "b"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t
        WHERE (NOT (("x" > CAST(1 AS DOUBLE)) AND "b"))) AS t) AS r) AS s) AS g

-- windows: tally
SELECT CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      k1,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        k1,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "r" AS k0,
          "b" AS k1,
          "x" AS v0
      FROM (SELECT "x",
            "r",
            "b"
        FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0,
      k1) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value
JOIN values_of_key_1 AS d1 ON g.k1 IS NOT DISTINCT
FROM d1.value

-- windows of found keys: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT r.k0 AS k0
  FROM (SELECT "q" AS k0
    FROM (SELECT "q"
      FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS t
GROUP BY k0

-- windows of found keys: units of keys, by codes
SELECT CAST(d0.code AS INTEGER) AS code,
    count(*)
FROM (SELECT "q" AS k0
  FROM (SELECT "q"
    FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
          CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
      FROM table_data AS t) AS t
    WHERE "y" IS NOT NULL) AS t) AS r
JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
GROUP BY ALL

-- windows of found keys: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      count(*) AS t0
  FROM (SELECT k0
    FROM (SELECT "q" AS k0
      FROM (SELECT "q"
        FROM (SELECT CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value
JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code

-- vectors: gram
SELECT coalesce(sum_no_overflow(w0 * w0), 0) AS a0,
    coalesce(sum_no_overflow(w0 * w1), 0) AS a1,
    coalesce(sum_no_overflow(w1 * w1), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(CAST(trunc(CAST(q0 AS DOUBLE) * f) AS BIGINT) AS INTEGER) AS w0,
        CAST(CAST(trunc(CAST(q1 AS DOUBLE) * f) AS BIGINT) AS INTEGER) AS w1
    FROM (SELECT *,
          CASE WHEN n <= 500 THEN CAST('1.0' AS DOUBLE) ELSE sqrt(CAST('500.0' AS DOUBLE) / CAST(n AS DOUBLE)) * CAST('0.9999999999999964' AS DOUBLE) END AS f
      FROM (SELECT *,
            CAST(q0 AS BIGINT) * q0 + CAST(q1 AS BIGINT) * q1 AS n
        FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
              CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
          FROM (SELECT "x" AS v0,
                "y" AS v1
            FROM (SELECT "x",
                  "y"
              FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                FROM table_data AS t) AS t
              WHERE "y" IS NOT NULL) AS t) AS r) AS q) AS q) AS q) AS q
  WHERE CAST(w0 AS BIGINT) * w0 + CAST(w1 AS BIGINT) * w1 <= 500) AS q

-- vectors in doubles: gram
SELECT CASE WHEN count(*) <= 8589934592 THEN coalesce(sum(w0 * w0), 0) END AS a0,
    CASE WHEN count(*) <= 8589934592 THEN coalesce(sum(w0 * w1), 0) END AS a1,
    CASE WHEN count(*) <= 8589934592 THEN coalesce(sum(w1 * w1), 0) END AS a2
FROM (SELECT *
  FROM (SELECT trunc(q0 * f) AS w0,
        trunc(q1 * f) AS w1
    FROM (SELECT *,
          CASE WHEN n <= 500 THEN CAST('1.0' AS DOUBLE) ELSE sqrt(CAST('500.0' AS DOUBLE) / CAST(n AS DOUBLE)) * CAST('0.9999999999999964' AS DOUBLE) END AS f
      FROM (SELECT *,
            q0 * q0 + q1 * q1 AS n
        FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
              CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
          FROM (SELECT "x" AS v0,
                "y" AS v1
            FROM (SELECT "x",
                  "y"
              FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                FROM table_data AS t) AS t
              WHERE "y" IS NOT NULL) AS t) AS r) AS q) AS q) AS q) AS q
  WHERE w0 * w0 + w1 * w1 <= 500) AS q

-- vectors: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT q0 AS a0,
                q0 * q1 AS a1,
                1 AS a2
            FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1
                FROM (SELECT "x",
                      "y"
                  FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "y" IS NOT NULL) AS t) AS r) AS q) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors in doubles: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT q0 AS a0,
                q0 * q1 AS a1,
                1 AS a2
            FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1
                FROM (SELECT "x",
                      "y"
                  FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "y" IS NOT NULL) AS t) AS r) AS q) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors: short sums
SELECT coalesce(sum_no_overflow(q0), 0) AS a0
FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0
  FROM (SELECT "x" AS v0
    FROM (SELECT "x"
      FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS q

-- vectors in doubles: short sums
SELECT CASE WHEN count(*) <= 8589934592 THEN coalesce(sum(q0), 0) END AS a0
FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0
  FROM (SELECT "x" AS v0
    FROM (SELECT "x"
      FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r) AS q

-- vectors: cells
SELECT code,
    sum(a) AS a0
FROM (SELECT unnest([CAST(b0 AS BIGINT), CAST(b1 AS BIGINT)]) AS code,
      unnest([CAST(a0 AS BIGINT), CAST(a1 AS BIGINT)]) AS a
  FROM (SELECT CASE WHEN c0 IS NOT NULL THEN q0 ELSE 0 END AS a0,
        CASE WHEN c0 IS NOT NULL AND c1 IS NOT NULL THEN 1 ELSE 0 END AS a1,
        CAST(0 + (CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) AS b0,
        CAST(2 + (CAST((CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) * 2 + c1) AS BIGINT) AS b1
    FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
          CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1,
          d0.code AS c0,
          d1.code AS c1
      FROM (SELECT "r" AS k0,
            "n" AS k1,
            "x" AS v0,
            "y" AS v1
        FROM (SELECT "x",
              "y",
              "r",
              "n"
          FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n"
            FROM table_data AS t) AS t
          WHERE "y" IS NOT NULL) AS t) AS r
      LEFT
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      LEFT
      JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
      FROM d1.value) AS q) AS t) AS l
WHERE code IS NOT NULL
GROUP BY code

-- vectors in arrays: cells
SELECT q0,
    q1,
    CAST(coalesce(c0, -1) AS INTEGER) AS c0,
    CAST(coalesce(c1, -1) AS INTEGER) AS c1
FROM (SELECT CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
      CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1,
      d0.code AS c0,
      d1.code AS c1
  FROM (SELECT "r" AS k0,
        "n" AS k1,
        "x" AS v0,
        "y" AS v1
    FROM (SELECT "x",
          "y",
          "r",
          "n"
      FROM (SELECT CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
            CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
            CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n"
        FROM table_data AS t) AS t
      WHERE "y" IS NOT NULL) AS t) AS r
  LEFT
  JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
  LEFT
  JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
  FROM d1.value) AS q LIMIT 16777217

-- ==== persons with caps ====

-- [data]
SELECT "p",
    "x",
    "y",
    "i",
    "w",
    "r",
    "n",
    "q",
    "b",
    "d",
    "e",
    "t",
    "c"
FROM (SELECT "p" AS "p",
      CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
      CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
      "i" AS "i",
      "w" AS "w",
      CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
      CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n",
      CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
      "b" AS "b",
      CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
      CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
      CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t",
      "c" AS "c"
  FROM table_data AS t) AS t
WHERE "p" IS NOT NULL AND "y" IS NOT NULL

-- [visits]
SELECT "p",
    "k",
    "v"
FROM (SELECT "p" AS "p",
      CASE WHEN strlen(CAST("k" AS VARCHAR)) <= 4096 THEN CAST("k" AS VARCHAR) ELSE left(CAST("k" AS VARCHAR), 4096) END AS "k",
      CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
  FROM table_visits AS t) AS t
WHERE "p" IS NOT NULL

-- anti join: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT "p"
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
        WHERE ours."q" NOT IN (SELECT theirs."part"
          FROM (SELECT CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
            FROM table_zones AS t) AS theirs)) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- arithmetic: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('3.999999999999991' AS DOUBLE)), CAST('26.000000000000036' AS DOUBLE)) * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-1.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a1
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1
      FROM (SELECT "r" AS k0,
            CASE WHEN isnan((("x" * CAST(2 AS DOUBLE)) + "y")) THEN NULL ELSE (("x" * CAST(2 AS DOUBLE)) + "y") END AS v0,
            CASE WHEN CASE WHEN isnan(("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END)) THEN NULL ELSE ("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END)) THEN NULL ELSE ("y" / CASE WHEN CAST("i" AS DOUBLE) <> 0 THEN CAST("i" AS DOUBLE) END) END, CAST('-1.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v1,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "y",
              "i",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "i" AS "i",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- between dates, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 * 1024 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(least(greatest(v0, -9), 9) AS BIGINT) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(least(greatest(v1, -2), 2) AS BIGINT) END) AS BIGINT), 0) AS a1
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT CASE WHEN CAST((date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', CAST("t" AS DATE)) AS DATE)) - date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', DATE '2024-01-01') AS DATE))) / 7 AS BIGINT) IS NULL THEN NULL ELSE CAST(least(greatest(CAST((date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', CAST("t" AS DATE)) AS DATE)) - date_diff('day', DATE '1970-01-01', CAST(date_trunc('week', DATE '2024-01-01') AS DATE))) / 7 AS BIGINT), -9), 9) AS BIGINT) END AS v0,
          CASE WHEN (date_diff('day', DATE '1970-01-01', "e") - date_diff('day', DATE '1970-01-01', DATE '2024-01-03')) IS NULL THEN NULL ELSE CAST(least(greatest((date_diff('day', DATE '1970-01-01', "e") - date_diff('day', DATE '1970-01-01', DATE '2024-01-03')), -2), 2) AS BIGINT) END AS v1,
          "p" AS p
      FROM (SELECT "p",
            "e",
            "t"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
              CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- case: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT CASE WHEN "b" THEN "x" WHEN ("i" > 5) THEN CAST(3 AS DOUBLE) ELSE CAST(NULL AS DOUBLE) END AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "i",
            "b"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- constant: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT *
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        WHERE ("x" > CAST(TRY_CAST((CAST(1 AS DOUBLE) + CAST(1 AS DOUBLE)) AS BIGINT) AS DOUBLE))) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- correlation, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2,
    sum(CASE WHEN c <= 3 AND TRUE THEN a3 ELSE CAST(trunc((CAST(a3 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a3,
    sum(CASE WHEN c <= 3 AND TRUE THEN a4 ELSE CAST(trunc((CAST(a4 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a4,
    sum(CASE WHEN c <= 3 AND TRUE THEN a5 ELSE CAST(trunc((CAST(a5 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a5
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (738197504) END) AS BIGINT), 0) AS a2,
      coalesce(TRY_CAST(sum(CASE WHEN v3 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v3 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('25.0' AS DOUBLE)) * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) - (419430400) END) AS BIGINT), 0) AS a3,
      coalesce(TRY_CAST(sum(CASE WHEN v4 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v4 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) - (536870912) END) AS BIGINT), 0) AS a4,
      coalesce(TRY_CAST(sum(CASE WHEN v5 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v5 AS DOUBLE), CAST('-5.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a5
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2,
        r.v3 AS v3,
        r.v4 AS v4,
        r.v5 AS v5
    FROM (SELECT "x" AS v0,
          "x" AS v1,
          CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END AS v2,
          CASE WHEN CASE WHEN isnan((("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE (("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan((("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE (("x" - CAST('2.0' AS DOUBLE)) * ("x" - CAST('2.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('25.0' AS DOUBLE)) END AS v3,
          CASE WHEN CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v4,
          CASE WHEN CASE WHEN isnan(((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE))) END, CAST('-5.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) END AS v5,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- count if, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      count(v0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT CASE WHEN ("x" > CAST(1 AS DOUBLE)) THEN 1 ELSE NULL END AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- covariance, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2,
    sum(CASE WHEN c <= 3 AND TRUE THEN a3 ELSE CAST(trunc((CAST(a3 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a3
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(least(greatest(v2, -5), 300) AS BIGINT) - (147) END) AS BIGINT), 0) AS a2,
      coalesce(TRY_CAST(sum(CASE WHEN v3 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v3 AS DOUBLE), CAST('-762.5' AS DOUBLE)), CAST('762.5' AS DOUBLE)) * CAST('1048576.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a3
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2,
        r.v3 AS v3
    FROM (SELECT CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END AS v0,
          CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END AS v1,
          CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END AS v2,
          CASE WHEN CASE WHEN isnan(((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("i" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "x" END, CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)) * (CAST(CASE WHEN CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END IS NULL THEN NULL ELSE CAST(least(greatest(CASE WHEN ("x" IS NULL) THEN NULL ELSE "i" END, -5), 300) AS BIGINT) END AS DOUBLE) - CAST('147.5' AS DOUBLE))) END, CAST('-762.5' AS DOUBLE)), CAST('762.5' AS DOUBLE)) END AS v3,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "i"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- cte: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-21.000000000000018' AS DOUBLE)), CAST('49.00000000000004' AS DOUBLE)) * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0
      FROM (SELECT "r" AS k0,
            "z" AS v0,
            "p" AS p
        FROM (SELECT "r" AS "r",
              CASE WHEN isnan(("x" * "x")) THEN NULL ELSE ("x" * "x") END AS "z",
              "p" AS "p"
          FROM (SELECT *
            FROM (SELECT "p",
                  "x",
                  "i",
                  "r"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    "i" AS "i",
                    CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
            WHERE ("i" >= 0)) AS t) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- deviation, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 * 1024 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(least(greatest(v0, -5), 300) AS BIGINT) - (-5) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(least(greatest(v1, -5), 300) AS BIGINT) - (300) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('23256.25' AS DOUBLE)) * CAST('32768.0' AS DOUBLE) + 0.5) AS INTEGER) - (381030400) END) AS BIGINT), 0) AS a2
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2
    FROM (SELECT "i" AS v0,
          "i" AS v1,
          CASE WHEN CASE WHEN isnan(((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)))) THEN NULL ELSE ((CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE)) * (CAST("i" AS DOUBLE) - CAST('147.5' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('23256.25' AS DOUBLE)) END AS v2,
          "p" AS p
      FROM (SELECT "p",
            "i"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- distinct by declared: distinct
SELECT code,
    count(DISTINCT v) AS n
FROM (SELECT code,
      v,
      dense_rank() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), code) AS g,
      row_number() OVER (PARTITION BY p, code ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(v AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), v) AS r
  FROM (SELECT DISTINCT p,
        code,
        v
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v
      FROM (SELECT "r" AS k0,
            "w" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "w",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "w" AS "w",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      WHERE v0 IS NOT NULL) AS l) AS t) AS t
WHERE g <= 2 AND r <= 3
GROUP BY code

-- distinct by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- distinct by discovered: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- distinct by discovered: distinct
SELECT code,
    count(DISTINCT v) AS n
FROM (SELECT code,
      v,
      dense_rank() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), code) AS g,
      row_number() OVER (PARTITION BY p, code ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(v AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), v) AS r
  FROM (SELECT DISTINCT p,
        code,
        v
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v
      FROM (SELECT "q" AS k0,
            "w" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "w",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "w" AS "w",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      WHERE v0 IS NOT NULL) AS l) AS t) AS t
WHERE g <= 2 AND r <= 3
GROUP BY code

-- distinct by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- distinct rows: tally
SELECT code,
    sum(CASE WHEN m <= 2 THEN least(c, 1) * 1024 ELSE CAST(trunc(least(c, 1) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / m) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code
      FROM (SELECT "r" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "r"
          FROM (SELECT "p",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          GROUP BY "p",
              "r") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- distinct text, ungrouped: distinct
SELECT code,
    count(DISTINCT v) AS n
FROM (SELECT code,
      v,
      dense_rank() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), code) AS g,
      row_number() OVER (PARTITION BY p, code ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(v), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), v) AS r
  FROM (SELECT DISTINCT p,
        code,
        v
    FROM (SELECT r.p AS p,
          CAST(0 AS INTEGER) AS code,
          r.v0 AS v
      FROM (SELECT "q" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      WHERE v0 IS NOT NULL) AS l) AS t) AS t
WHERE g <= 1 AND r <= 3
GROUP BY code

-- distinct, ungrouped: distinct
SELECT code,
    count(DISTINCT v) AS n
FROM (SELECT code,
      v,
      dense_rank() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), code) AS g,
      row_number() OVER (PARTITION BY p, code ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(code AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(v AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), v) AS r
  FROM (SELECT DISTINCT p,
        code,
        v
    FROM (SELECT r.p AS p,
          CAST(0 AS INTEGER) AS code,
          r.v0 AS v
      FROM (SELECT "w" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "w"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "w" AS "w"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      WHERE v0 IS NOT NULL) AS l) AS t) AS t
WHERE g <= 1 AND r <= 3
GROUP BY code

-- filtered, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 * 1024 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0,
      count(v1) AS a1
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT CASE WHEN "b" THEN "x" ELSE CAST(NULL AS DOUBLE) END AS v0,
          CASE WHEN ("i" IS NULL) THEN 1 ELSE NULL END AS v1,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "i",
            "b"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              "b" AS "b"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- functions of answers, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2,
    sum(CASE WHEN c <= 3 AND TRUE THEN a3 * 1024 ELSE CAST(trunc((CAST(a3 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a3
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
      count(v2) AS a2,
      count(v3) AS a3
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2,
        r.v3 AS v3
    FROM (SELECT "x" AS v0,
          "x" AS v1,
          CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
          "i" AS v3,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "i"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- greatest, ungrouped: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 1 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 1) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(0 AS INTEGER) AS code,
          CAST(floor(least(greatest(((v0 - CAST('10.0' AS DOUBLE)) / CASE WHEN CAST('0.002' AS DOUBLE) <> 0 THEN CAST('0.002' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "y" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "y"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- infinite against its bounds: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('39.99999999999996' AS DOUBLE)), CAST('60.000000000000064' AS DOUBLE)) * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT CASE WHEN isnan(((coalesce("x", CAST(1 AS DOUBLE)) - coalesce("x", CAST(1 AS DOUBLE))) + CAST(50 AS DOUBLE))) THEN NULL ELSE ((coalesce("x", CAST(1 AS DOUBLE)) - coalesce("x", CAST(1 AS DOUBLE))) + CAST(50 AS DOUBLE)) END AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- join features: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0
      FROM (SELECT "r" AS k0,
            CASE WHEN "s" IS NULL THEN NULL ELSE least(greatest("s", CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) END AS v0,
            "p" AS p
        FROM (SELECT ours."p",
              ours."r",
              theirs."s" AS "s"
          FROM (SELECT "p",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
          JOIN (SELECT "p",
                (CAST(sum(CASE WHEN "v" IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST("v" AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) END) AS DOUBLE)) * CAST('7.450580596923828e-09' AS DOUBLE) AS "s"
            FROM (SELECT "p",
                  "v"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
                FROM table_visits AS t) AS t
              WHERE "p" IS NOT NULL) AS t
            GROUP BY "p") AS theirs ON ours."p" = theirs."p") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- join public: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-1.0' AS DOUBLE)), CAST('4.0' AS DOUBLE)) * CAST('268435456.0' AS DOUBLE) + 0.5) AS INTEGER) - (-268435456) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-1.0' AS DOUBLE)), CAST('4.0' AS DOUBLE)) * CAST('268435456.0' AS DOUBLE) + 0.5) AS BIGINT) - (1073741824) END) AS BIGINT), 0) AS a1
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT "part" AS k0,
          "weight" AS v0,
          "weight" AS v1,
          "p" AS p
      FROM (SELECT ours."p",
            theirs."weight" AS "weight",
            theirs."part" AS "part"
        FROM (SELECT "p",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
        JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
              CASE WHEN isnan(CAST("weight" AS DOUBLE)) THEN NULL ELSE CAST("weight" AS DOUBLE) END AS "weight",
              CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
          FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- left join features: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (603979776) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            CASE WHEN "s" IS NULL THEN NULL ELSE least(greatest("s", CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) END AS v0,
            CASE WHEN "s" IS NULL THEN NULL ELSE least(greatest("s", CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) END AS v1,
            CASE WHEN (CASE WHEN "s" IS NULL THEN NULL ELSE least(greatest("s", CAST('0.0' AS DOUBLE)), CAST('9.0' AS DOUBLE)) END IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT ours."p",
              ours."r",
              theirs."s" AS "s"
          FROM (SELECT "p",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
          LEFT
          JOIN (SELECT "p",
                (CAST(sum(CASE WHEN "v" IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST("v" AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) END) AS DOUBLE)) * CAST('7.450580596923828e-09' AS DOUBLE) AS "s"
            FROM (SELECT "p",
                  "v"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
                FROM table_visits AS t) AS t
              WHERE "p" IS NOT NULL) AS t
            GROUP BY "p") AS theirs ON ours."p" = theirs."p") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- left join public: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-12.00000000000001' AS DOUBLE)), CAST('28.000000000000025' AS DOUBLE)) * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-12.00000000000001' AS DOUBLE)), CAST('28.000000000000025' AS DOUBLE)) * CAST('33554432.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "part" AS k0,
            CASE WHEN isnan(("x" * "weight")) THEN NULL ELSE ("x" * "weight") END AS v0,
            CASE WHEN isnan(("x" * "weight")) THEN NULL ELSE ("x" * "weight") END AS v1,
            CASE WHEN (CASE WHEN isnan(("x" * "weight")) THEN NULL ELSE ("x" * "weight") END IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT ours."p",
              ours."x",
              theirs."weight" AS "weight",
              theirs."part" AS "part"
          FROM (SELECT "p",
                "x",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
          LEFT
          JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
                CASE WHEN isnan(CAST("weight" AS DOUBLE)) THEN NULL ELSE CAST("weight" AS DOUBLE) END AS "weight",
                CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
            FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- line, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2,
    sum(CASE WHEN c <= 3 AND TRUE THEN a3 ELSE CAST(trunc((CAST(a3 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a3,
    sum(CASE WHEN c <= 3 AND TRUE THEN a4 ELSE CAST(trunc((CAST(a4 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a4
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (671088640) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (805306368) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (268435456) END) AS BIGINT), 0) AS a2,
      coalesce(TRY_CAST(sum(CASE WHEN v3 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v3 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) - (536870912) END) AS BIGINT), 0) AS a3,
      coalesce(TRY_CAST(sum(CASE WHEN v4 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v4 AS DOUBLE), CAST('-5.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a4
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2,
        r.v3 AS v3,
        r.v4 AS v4
    FROM (SELECT CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END AS v0,
          CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END AS v1,
          "x" AS v2,
          CASE WHEN CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE)) * (CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END - CAST('11.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v3,
          CASE WHEN CASE WHEN isnan(((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan(((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE)))) THEN NULL ELSE ((CASE WHEN CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END IS NULL THEN NULL ELSE least(greatest(CASE WHEN ("x" IS NULL) THEN CAST(NULL AS DOUBLE) ELSE "y" END, CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) END - CAST('11.0' AS DOUBLE)) * (CASE WHEN "x" IS NULL THEN NULL ELSE least(greatest("x", CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) END - CAST('2.0' AS DOUBLE))) END, CAST('-5.0' AS DOUBLE)), CAST('5.0' AS DOUBLE)) END AS v4,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- mean and sum, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 * 1024 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(least(greatest(v0, -5), 300) AS BIGINT) - (-5) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(least(greatest(v1, -5), 300) AS BIGINT) - (300) END) AS BIGINT), 0) AS a1
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT "i" AS v0,
          "i" AS v1,
          "p" AS p
      FROM (SELECT "p",
            "i"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- mean by declared: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "x" AS v1,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- mean by discovered: units of keys
SELECT k0,
    sum(c) AS n
FROM (SELECT k0,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT *
          FROM (SELECT "p",
                "x",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          WHERE (NOT ("x" IS NULL))) AS t) AS r) AS l
    GROUP BY p,
        k0) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- mean by discovered: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT *
          FROM (SELECT "p",
                "x",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          WHERE (NOT ("x" IS NULL))) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- mean by discovered: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (268435456) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "q" AS k0,
          "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "q"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs(((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("q"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "q" NULLS LAST) AS part_rank
          FROM (SELECT *
            FROM (SELECT "p",
                  "x",
                  "q"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
            WHERE (NOT ("x" IS NULL))) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- mean by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- mean, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT "x" AS v0,
          "x" AS v1,
          "p" AS p
      FROM (SELECT "p",
            "x"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- median by declared: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 2 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- median by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- median by discovered: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- median by discovered: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 2 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "q" AS k0,
            "x" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- median by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- median, ungrouped: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 1 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 1) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(0 AS INTEGER) AS code,
          CAST(floor(least(greatest(((v0 - CAST('-3.0' AS DOUBLE)) / CASE WHEN CAST('0.01' AS DOUBLE) <> 0 THEN CAST('0.01' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('999.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "x" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- missing against its bounds: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('100.08333333333324' AS DOUBLE)), CAST('100.1000000000001' AS DOUBLE)) * CAST('8388608.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT CASE WHEN isnan((CAST(100 AS DOUBLE) + (CAST(1 AS DOUBLE) / CASE WHEN coalesce("y", CAST(10 AS DOUBLE)) <> 0 THEN coalesce("y", CAST(10 AS DOUBLE)) END))) THEN NULL ELSE (CAST(100 AS DOUBLE) + (CAST(1 AS DOUBLE) / CASE WHEN coalesce("y", CAST(10 AS DOUBLE)) <> 0 THEN coalesce("y", CAST(10 AS DOUBLE)) END)) END AS v0,
          "p" AS p
      FROM (SELECT "p",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- moved moments: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT *
        FROM (SELECT "p",
              "d",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        WHERE ((CAST(CASE WHEN "t" BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 22:29:59.999999' THEN ("t" + to_seconds(5400)) END AS TIMESTAMP) < CAST(CASE WHEN "d" BETWEEN DATE '0001-01-08' AND DATE '9999-12-31' THEN ("d" + -7) END AS TIMESTAMP)) OR (CAST(CASE WHEN "d" BETWEEN DATE '0001-01-01' AND DATE '9998-12-31' THEN CAST("d" + to_months(12) AS DATE) END AS TIMESTAMP) > CAST("t" AS TIMESTAMP)))) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- per person: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (671088640) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('20.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('20.0' AS DOUBLE) THEN CAST('20.0' AS DOUBLE) END * CAST('33554432.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "s" AS v0
      FROM (SELECT "p",
            (CAST(sum(CASE WHEN "x" IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST("x" AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) END) AS DOUBLE)) * CAST('7.450580596923828e-09' AS DOUBLE) AS "s"
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        GROUP BY "p") AS t) AS r) AS s) AS g

-- per person and key: tally
SELECT code,
    sum(CASE WHEN c <= 1 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 1) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 1 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 1) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-5.0' AS DOUBLE)), CAST('300.0' AS DOUBLE)) * CAST('2097152.0' AS DOUBLE) + 0.5) AS INTEGER) - (-10485760) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-5.0' AS DOUBLE)), CAST('300.0' AS DOUBLE)) * CAST('2097152.0' AS DOUBLE) + 0.5) AS INTEGER) - (629145600) END) AS BIGINT), 0) AS a1
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1
      FROM (SELECT "r" AS k0,
            "g" AS v0,
            "g" AS v1,
            "p" AS p
        FROM (SELECT "p",
              "r",
              CAST(max("i") AS DOUBLE) AS "g"
          FROM (SELECT "p",
                "i",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  "i" AS "i",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          GROUP BY "p",
              "r") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- per person, counted: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-1073741824) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (1073741824) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-1.0' AS DOUBLE) AND CAST('1.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-1.0' AS DOUBLE) THEN CAST('-1.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('1.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) END * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT CASE WHEN CAST(CASE WHEN "c" IS NULL THEN NULL ELSE CAST(least(greatest("c", 0), 50) AS BIGINT) END AS DOUBLE) IS NULL THEN NULL ELSE CAST(floor(least(greatest((CAST(CASE WHEN "c" IS NULL THEN NULL ELSE CAST(least(greatest("c", 0), 50) AS BIGINT) END AS DOUBLE) / CASE WHEN CAST('10.0' AS DOUBLE) <> 0 THEN CAST('10.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('5.0' AS DOUBLE))) AS BIGINT) * 10 END AS k0,
          "m" AS v0
      FROM (SELECT "p",
            count(*) AS "c",
            (CAST(sum(CASE WHEN "x" IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST("x" AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) END) AS DOUBLE)) * CAST('7.450580596923828e-09' AS DOUBLE) / nullif(count("x"), 0) AS "m"
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        GROUP BY "p") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- per person, distinct: tally
SELECT CAST(0 AS INTEGER) AS code,
    g.t0 AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (9) AS a1
FROM (SELECT coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1
  FROM (SELECT CAST(CASE WHEN v0 BETWEEN 0 AND 9 THEN v0 WHEN v0 < 0 THEN 0 WHEN v0 > 9 THEN 9 END AS BIGINT) AS s0
    FROM (SELECT "c" AS v0
      FROM (SELECT "p",
            count(DISTINCT CASE WHEN strlen("q") < 64 THEN "q" ELSE sha256("q") END) AS "c"
        FROM (SELECT *
          FROM (SELECT "p",
                "q",
                "b"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
                  "b" AS "b"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          WHERE "b") AS t
        GROUP BY "p") AS t) AS r) AS s) AS g

-- per person, having: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT *
          FROM (SELECT "p",
                "q",
                count(*) AS "count"
            FROM (SELECT "p",
                  "q"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
            GROUP BY "p",
                "q") AS t
          WHERE ("count" > 1)) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- per person, having: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT *
        FROM (SELECT "p",
              "q",
              count(*) AS "count"
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          GROUP BY "p",
              "q") AS t
        WHERE ("count" > 1)) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- per person, having: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT *
            FROM (SELECT "p",
                  "q",
                  count(*) AS "count"
              FROM (SELECT "p",
                    "q"
                FROM (SELECT "p" AS "p",
                      CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                      CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
                  FROM table_data AS t) AS t
                WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
              GROUP BY "p",
                  "q") AS t
            WHERE ("count" > 1)) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- persons: tally
SELECT code,
    sum(1) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT "p"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- persons by declared: tally
SELECT code,
    sum(CASE WHEN m <= 2 THEN 1024 ELSE CAST(trunc(1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / m) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code
      FROM (SELECT "r" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- persons by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- persons by discovered: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- persons by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- powers and signs, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 * 1024 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('49.00000000000013' AS DOUBLE)) * CAST('16777216.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(least(greatest(v1, -1), 1) AS BIGINT) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('-3.0000000000000027' AS DOUBLE)), CAST('7.000000000000006' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a2
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2
    FROM (SELECT CASE WHEN isnan(("x" * "x")) THEN NULL ELSE ("x" * "x") END AS v0,
          TRY_CAST(CASE WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END > 0 THEN CAST('1.0' AS DOUBLE) WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END < 0 THEN (- CAST('1.0' AS DOUBLE)) WHEN CASE WHEN isnan(("y" - CAST(11 AS DOUBLE))) THEN NULL ELSE ("y" - CAST(11 AS DOUBLE)) END = 0 THEN CAST('0.0' AS DOUBLE) END AS BIGINT) AS v1,
          CASE WHEN isnan((floor((("x" * CAST('10.0' AS DOUBLE)) + CAST('0.5' AS DOUBLE))) / CASE WHEN CAST('10.0' AS DOUBLE) <> 0 THEN CAST('10.0' AS DOUBLE) END)) THEN NULL ELSE (floor((("x" * CAST('10.0' AS DOUBLE)) + CAST('0.5' AS DOUBLE))) / CASE WHEN CAST('10.0' AS DOUBLE) <> 0 THEN CAST('10.0' AS DOUBLE) END) END AS v2,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- quantile of integers by declared: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 2 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "r" AS k0,
            "i" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "i",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "i" AS "i",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- quantile of integers by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- quantile of integers by discovered: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- quantile of integers by discovered: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 2 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "q" AS k0,
            "i" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "i",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "i" AS "i",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- quantile of integers by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- quantile of integers, ungrouped: bins
SELECT code,
    b,
    sum(CAST(trunc(n * 1024 * (CASE WHEN c <= 3 AND m <= 1 THEN CAST('1.0' AS DOUBLE) ELSE least(c, 3) * CAST('0.9999999999999964' AS DOUBLE) * least(m, 1) / c / m END)) AS BIGINT)) AS n
FROM (WITH cells AS MATERIALIZED (SELECT p,
        code,
        b,
        count(*) AS n
    FROM (SELECT r.p AS p,
          CAST(0 AS INTEGER) AS code,
          CAST(floor(least(greatest(((CAST(v0 AS DOUBLE) - CAST('-5.0' AS DOUBLE)) / CASE WHEN CAST('1.0' AS DOUBLE) <> 0 THEN CAST('1.0' AS DOUBLE) END), CAST('0.0' AS DOUBLE)), CAST('305.0' AS DOUBLE))) AS INTEGER) AS b
      FROM (SELECT "i" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "i"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "i" AS "i"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      WHERE v0 IS NOT NULL) AS t
    GROUP BY p,
        code,
        b),
      pairs AS (SELECT p,
        code,
        sum(n) AS c
    FROM cells
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM cells
  JOIN pairs USING (p, code)
  JOIN groups USING (p)) AS t
GROUP BY code,
    b

-- ratio, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2,
    sum(CASE WHEN c <= 3 AND TRUE THEN a3 ELSE CAST(trunc((CAST(a3 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a3
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (671088640) END) AS BIGINT), 0) AS a2,
      coalesce(TRY_CAST(sum(CASE WHEN v3 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v3 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (805306368) END) AS BIGINT), 0) AS a3
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2,
        r.v3 AS v3
    FROM (SELECT "x" AS v0,
          "x" AS v1,
          "y" AS v2,
          "y" AS v3,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- redefined: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('29.99999999999991' AS DOUBLE)), CAST('130.00000000000014' AS DOUBLE)) * CAST('4194304.0' AS DOUBLE) + 0.5) AS INTEGER) - (125829120) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('29.99999999999991' AS DOUBLE)), CAST('130.00000000000014' AS DOUBLE)) * CAST('4194304.0' AS DOUBLE) + 0.5) AS INTEGER) - (545259520) END) AS BIGINT), 0) AS a1
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "x" AS v1,
            "p" AS p
        FROM (SELECT CASE WHEN isnan((CAST(100 AS DOUBLE) - (CAST(10 AS DOUBLE) * "x"))) THEN NULL ELSE (CAST(100 AS DOUBLE) - (CAST(10 AS DOUBLE) * "x")) END AS "x",
              "r" AS "r",
              "p" AS "p"
          FROM (SELECT "p",
                "x",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- right join public: tally
SELECT code,
    sum(CASE WHEN m <= 2 THEN least(c, 3) * 1024 ELSE CAST(trunc(least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / m) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code
      FROM (SELECT "part" AS k0,
            "p" AS p
        FROM (SELECT ours."p",
              theirs."part" AS "part"
          FROM (SELECT "p",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
          LEFT
          JOIN (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
                CASE WHEN strlen(CAST("part" AS VARCHAR)) <= 4096 THEN CAST("part" AS VARCHAR) ELSE left(CAST("part" AS VARCHAR), 4096) END AS "part"
            FROM table_zones AS t) AS theirs ON ours."r" = theirs."zone") AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- rows, ungrouped: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT "p"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- semi join: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r"
          FROM (SELECT *
            FROM (SELECT "p",
                  "x",
                  "r"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
            WHERE ("x" < CAST(5 AS DOUBLE))) AS ours
          WHERE ours."r" IN (SELECT theirs."zone"
            FROM (SELECT CASE WHEN strlen(CAST("zone" AS VARCHAR)) <= 4096 THEN CAST("zone" AS VARCHAR) ELSE left(CAST("zone" AS VARCHAR), 4096) END AS "zone",
                  "code" AS "code"
              FROM table_zones AS t) AS theirs
            WHERE (theirs."code" > 1))) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by boolean: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "b" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "b"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "b" AS "b"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by bucket: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CASE WHEN "x" IS NULL THEN NULL ELSE CAST(CAST(CAST(floor(least(greatest(("x" / CASE WHEN CAST('2.5' AS DOUBLE) <> 0 THEN CAST('2.5' AS DOUBLE) END), CAST('-2.0' AS DOUBLE)), CAST('2.0' AS DOUBLE))) AS BIGINT) AS DECIMAL(19, 0)) * CAST('2.5' AS DECIMAL(18, 9)) AS DECIMAL(38, 9)) END AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by case: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CASE WHEN ("x" > CAST(2 AS DOUBLE)) THEN 'high' WHEN ("x" <= CAST(2 AS DOUBLE)) THEN 'low' ELSE NULL END AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by days: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "e" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "e"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by days later: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CASE WHEN "e" BETWEEN DATE '0001-01-01' AND DATE '9999-11-30' THEN CAST("e" + to_months(1) AS DATE) END AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "e"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by declared: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by discovered: units of keys
SELECT k0,
    sum(c) AS n
FROM (SELECT k0,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
    GROUP BY p,
        k0) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- several by discovered: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- several by discovered: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "q" AS k0,
          "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "q"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs(((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("q"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "q" NULLS LAST) AS part_rank
          FROM (SELECT "p",
                "x",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- several by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- several by discovered dates: units of keys
SELECT k0,
    sum(c) AS n
FROM (SELECT k0,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(date_diff('day', DATE '1970-01-01', k0) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "d" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "d"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
    GROUP BY p,
        k0) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- several by discovered dates: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "d" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "d"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- several by discovered dates: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "d" AS k0,
          "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "d"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs(((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(date_diff('day', DATE '1970-01-01', "d") AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "d" NULLS LAST) AS part_rank
          FROM (SELECT "p",
                "x",
                "d"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- several by discovered dates: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "d" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "d"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(date_diff('day', DATE '1970-01-01', k0) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- several by discovered integers: units of keys
SELECT k0,
    sum(c) AS n
FROM (SELECT k0,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(k0 AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "w" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "w"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "w" AS "w"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
    GROUP BY p,
        k0) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- several by discovered integers: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "w" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "w"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "w" AS "w"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- several by discovered integers: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "w" AS k0,
          "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "w"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs(((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST("w" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "w" NULLS LAST) AS part_rank
          FROM (SELECT "p",
                "x",
                "w"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  "w" AS "w"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- several by discovered integers: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "w" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "w"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  "w" AS "w"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(k0 AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- several by discovered with declared: units of keys
SELECT k0,
    k1,
    sum(c) AS n
FROM (SELECT k0,
      k1,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k1), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST, k1 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        k1,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0,
          r.k1 AS k1
      FROM (SELECT "q" AS k0,
            "r" AS k1,
            "p" AS p
        FROM (SELECT "p",
              "r",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_1 AS d1 ON r.k1 = d1.value) AS l
    GROUP BY p,
        k0,
        k1) AS t) AS t
WHERE place <= 2
GROUP BY k0,
    k1

-- several by discovered with declared: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs((((((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647) + 14348907) * ((d1.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "q" AS k0,
            "r" AS k1,
            "p" AS p
        FROM (SELECT "p",
              "r",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN values_of_key_1 AS d1 ON r.k1 = d1.value
      JOIN wanted_keys AS w ON CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs((((((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647) + 14348907) * ((d1.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- several by discovered with declared: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "q" AS k0,
          "r" AS k1,
          "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x",
            "r",
            "q"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs((((((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("q"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("r"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "q" NULLS LAST, "r" NULLS LAST) AS part_rank
          FROM (SELECT *
            FROM (SELECT "p",
                  "x",
                  "r",
                  "q"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                    CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
            WHERE ("r" IN ('north', 'south', 'øst'))) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN values_of_key_1 AS d1 ON r.k1 = d1.value
    JOIN wanted_keys AS w ON CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- several by discovered with declared: weights of keys
SELECT k0,
    k1,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0,
          k1
      FROM (SELECT r.p AS p,
            r.k0 AS k0,
            r.k1 AS k1
        FROM (SELECT "q" AS k0,
              "r" AS k1,
              "p" AS p
          FROM (SELECT "p",
                "r",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
        JOIN values_of_key_1 AS d1 ON r.k1 = d1.value) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      k1,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      k1,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        k1,
        row_number() OVER (PARTITION BY p ORDER BY abs((((((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k1), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST, k1 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0,
    k1

-- several by month: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CAST(month("t") AS BIGINT) AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by name of the day: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CASE CAST(isodow("t") AS BIGINT) WHEN 1 THEN 'Monday' WHEN 2 THEN 'Tuesday' WHEN 3 THEN 'Wednesday' WHEN 4 THEN 'Thursday' WHEN 5 THEN 'Friday' WHEN 6 THEN 'Saturday' WHEN 7 THEN 'Sunday' END AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by name of the month: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT CASE CAST(month("d") AS BIGINT) WHEN 1 THEN 'January' WHEN 2 THEN 'February' WHEN 3 THEN 'March' WHEN 4 THEN 'April' WHEN 5 THEN 'May' WHEN 6 THEN 'June' WHEN 7 THEN 'July' WHEN 8 THEN 'August' WHEN 9 THEN 'September' WHEN 10 THEN 'October' WHEN 11 THEN 'November' WHEN 12 THEN 'December' END AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "d"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by two: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "b" AS k1,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r",
              "b"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                "b" AS "b"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
      FROM d1.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- several by with NULL: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "n" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "n"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- sum away from zero by declared: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0
      FROM (SELECT "r" AS k0,
            "y" AS v0,
            "p" AS p
        FROM (SELECT "p",
              "y",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- sum away from zero by discovered: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- sum away from zero by discovered: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- sum away from zero by discovered: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "q" AS k0,
          "y" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "y",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- sum away from zero by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- sum away from zero, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "y" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- sum of decimals, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('100.0' AS DOUBLE)) * CAST('100.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "c" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "c"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "c" AS "c"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- sum of integers, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(least(greatest(v0, -5), 300) AS BIGINT) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "i" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "i"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- sum, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- union: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "r",
              "x",
              "p"
          FROM (SELECT "r" AS "r",
                "x" AS "x",
                "p" AS "p"
            FROM (SELECT "p",
                  "x",
                  "r"
              FROM (SELECT "p" AS "p",
                    CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                    CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                    CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
                FROM table_data AS t) AS t
              WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
          UNION ALL
          SELECT "r",
              "x",
              "p"
          FROM (SELECT "r" AS "r",
                "x" AS "x",
                "p" AS "p"
            FROM (SELECT *
              FROM (SELECT "p",
                    "x",
                    "r",
                    "b"
                FROM (SELECT "p" AS "p",
                      CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                      CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                      CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                      "b" AS "b"
                  FROM table_data AS t) AS t
                WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
              WHERE "b") AS t) AS t) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- union of two tables: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
      count(v2) AS a2
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2
    FROM (SELECT "z" AS v0,
          "z" AS v1,
          CASE WHEN ("z" IS NULL) THEN 1 ELSE NULL END AS v2,
          "p" AS p
      FROM (SELECT "z",
            "p"
        FROM (SELECT "x" AS "z",
              "p" AS "p"
          FROM (SELECT "p",
                "x"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
        UNION ALL
        SELECT "z",
            "p"
        FROM (SELECT "v" AS "z",
              "p" AS "p"
          FROM (SELECT "p",
                "v"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
              FROM table_visits AS t) AS t
            WHERE "p" IS NOT NULL) AS t) AS t) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- values, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 * 1024 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0
FROM (SELECT p,
      code,
      count(*) AS c,
      count(v0) AS a0
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0
    FROM (SELECT "x" AS v0,
          "p" AS p
      FROM (SELECT "p",
            "x"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- variance by declared: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (671088640) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (805306368) END) AS BIGINT), 0) AS a1,
        coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) - (536870912) END) AS BIGINT), 0) AS a2
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "y" AS v0,
            "y" AS v1,
            CASE WHEN CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "y",
              "r"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- variance by discovered: units of keys
SELECT k0,
    sum(c) AS n
FROM (SELECT k0,
      c,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT p,
        k0,
        least(count(*), 3) AS c
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
    GROUP BY p,
        k0) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- variance by discovered: units of keys, by codes
SELECT code,
    CAST(sum(c) AS BIGINT)
FROM (SELECT CAST(x.o & 4294967295 AS BIGINT) AS code,
      x.c AS c
  FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) AS x
    FROM (SELECT r.p AS p,
          {'o': (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER),
          'c': least(count(*), 3)} AS ordered
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
      FROM d0.value
      JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code
      GROUP BY r.p,
          (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER)) AS t
    GROUP BY p) AS l) AS t
GROUP BY code

-- variance by discovered: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (738197504) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) - (536870912) END) AS BIGINT), 0) AS a1
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1
    FROM (SELECT "q" AS k0,
          "y" AS v0,
          CASE WHEN CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v1,
          "p" AS p
      FROM (SELECT "p",
            "y",
            "q"
        FROM (SELECT t.*,
              dense_rank() OVER (PARTITION BY "p" ORDER BY abs(((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("q"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), "q" NULLS LAST) AS part_rank
          FROM (SELECT "p",
                "y",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS t
        WHERE part_rank <= 2) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- variance by discovered: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- variance, ungrouped: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND TRUE THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND TRUE THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND TRUE THEN a2 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) / c)) AS BIGINT) END) AS a2
FROM (SELECT p,
      code,
      count(*) AS c,
      coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (671088640) END) AS BIGINT), 0) AS a0,
      coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('10.0' AS DOUBLE)), CAST('12.0' AS DOUBLE)) * CAST('67108864.0' AS DOUBLE) + 0.5) AS INTEGER) - (805306368) END) AS BIGINT), 0) AS a1,
      coalesce(TRY_CAST(sum(CASE WHEN v2 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v2 AS DOUBLE), CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) * CAST('1073741824.0' AS DOUBLE) + 0.5) AS INTEGER) - (536870912) END) AS BIGINT), 0) AS a2
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code,
        r.v0 AS v0,
        r.v1 AS v1,
        r.v2 AS v2
    FROM (SELECT "y" AS v0,
          "y" AS v1,
          CASE WHEN CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END IS NULL THEN NULL ELSE least(greatest(CASE WHEN isnan((("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE)))) THEN NULL ELSE (("y" - CAST('11.0' AS DOUBLE)) * ("y" - CAST('11.0' AS DOUBLE))) END, CAST('0.0' AS DOUBLE)), CAST('1.0' AS DOUBLE)) END AS v2,
          "p" AS p
      FROM (SELECT "p",
            "y"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- where: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) END) AS BIGINT), 0) AS a0
    FROM (SELECT r.p AS p,
          CAST(d0.code AS INTEGER) AS code,
          r.v0 AS v0
      FROM (SELECT "r" AS k0,
            "x" AS v0,
            "p" AS p
        FROM (SELECT *
          FROM (SELECT "p",
                "x",
                "i",
                "r"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  "i" AS "i",
                  CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
          WHERE (("x" > CAST(1 AS DOUBLE)) OR ("i" IS NULL))) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- where in: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT *
        FROM (SELECT "p",
              "q",
              "t"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
                CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        WHERE (("q" IN ('q0', '日本')) AND (CAST("t" AS TIMESTAMP) < CAST(DATE '2024-06-01' AS TIMESTAMP)))) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- where not: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(0 AS INTEGER) AS code
    FROM (SELECT "p" AS p
      FROM (SELECT *
        FROM (SELECT "p",
              "x",
              "b"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                "b" AS "b"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t
        WHERE (NOT (("x" > CAST(1 AS DOUBLE)) AND "b"))) AS t) AS r) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- windows: tally
SELECT code,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a0 ELSE CAST(trunc((CAST(a0 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a0,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a1 ELSE CAST(trunc((CAST(a1 AS DOUBLE)) * (least(c, 3) * 1 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a1,
    sum(CASE WHEN c <= 3 AND m <= 2 THEN a2 * 1024 ELSE CAST(trunc((CAST(a2 AS DOUBLE)) * (least(c, 3) * 1024 * CAST('0.9999999999999964' AS DOUBLE) * least(m, 2) / c / m)) AS BIGINT) END) AS a2
FROM (WITH pairs AS MATERIALIZED (SELECT p,
        code,
        count(*) AS c,
        coalesce(TRY_CAST(sum(CASE WHEN v0 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v0 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) - (-402653184) END) AS BIGINT), 0) AS a0,
        coalesce(TRY_CAST(sum(CASE WHEN v1 IS NULL THEN NULL ELSE CAST(floor(least(greatest(CAST(v1 AS DOUBLE), CAST('-3.0' AS DOUBLE)), CAST('7.0' AS DOUBLE)) * CAST('134217728.0' AS DOUBLE) + 0.5) AS BIGINT) - (939524096) END) AS BIGINT), 0) AS a1,
        count(v2) AS a2
    FROM (SELECT r.p AS p,
          CAST((CAST(d0.code AS BIGINT) * 3 + d1.code) AS INTEGER) AS code,
          r.v0 AS v0,
          r.v1 AS v1,
          r.v2 AS v2
      FROM (SELECT "r" AS k0,
            "b" AS k1,
            "x" AS v0,
            "x" AS v1,
            CASE WHEN ("x" IS NULL) THEN 1 ELSE NULL END AS v2,
            "p" AS p
        FROM (SELECT "p",
              "x",
              "r",
              "b"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                "b" AS "b"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
      JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
      JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
      FROM d1.value) AS l
    GROUP BY p,
        code),
      groups AS (SELECT p,
        count(*) AS m
    FROM pairs
    GROUP BY p)
  SELECT *
  FROM pairs
  JOIN groups USING (p)) AS t
GROUP BY code

-- windows of found keys: units of keys
SELECT k0,
    count(*) AS n
FROM (SELECT k0,
      row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
  FROM (SELECT DISTINCT p,
        k0
    FROM (SELECT r.p AS p,
          r.k0 AS k0
      FROM (SELECT "q" AS k0,
            "p" AS p
        FROM (SELECT "p",
              "q"
          FROM (SELECT "p" AS "p",
                CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
            FROM table_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l) AS t) AS t
WHERE place <= 2
GROUP BY k0

-- windows of found keys: units of keys, by codes
SELECT CAST(code AS BIGINT) AS code,
    count(*)
FROM (SELECT unnest(CASE WHEN count(*) <= 2 THEN list(ordered) ELSE list_slice(list_sort(list(ordered)), 1, 2) END) & 4294967295 AS code
  FROM (SELECT DISTINCT r.p AS p,
        (CAST(abs(((((((coalesce(TRY_CAST(r.p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((d0.mark) + 11184811)) % 2147483647)) AS BIGINT) << 32) + CAST(d0.code AS INTEGER) AS ordered
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS t
  GROUP BY p) AS t
GROUP BY code

-- windows of found keys: tally
SELECT code,
    sum(least(c, 3) * 1024) AS a0
FROM (SELECT p,
      code,
      count(*) AS c
  FROM (SELECT r.p AS p,
        CAST(d0.code AS INTEGER) AS code
    FROM (SELECT "q" AS k0,
          "p" AS p
      FROM (SELECT "p",
            "q"
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
          FROM table_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
    JOIN values_of_key_0 AS d0 ON r.k0 IS NOT DISTINCT
    FROM d0.value
    JOIN wanted_keys AS w ON CAST(d0.code AS INTEGER) = w.code) AS l
  GROUP BY p,
      code) AS t
GROUP BY code

-- windows of found keys: weights of keys
SELECT k0,
    sum(w) AS n
FROM (WITH counted AS (WITH pairs AS MATERIALIZED (SELECT DISTINCT p,
          k0
      FROM (SELECT r.p AS p,
            r.k0 AS k0
        FROM (SELECT "q" AS k0,
              "p" AS p
          FROM (SELECT "p",
                "q"
            FROM (SELECT "p" AS "p",
                  CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                  CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q"
              FROM table_data AS t) AS t
            WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS l),
        groups AS (SELECT p,
          count(*) AS m
      FROM pairs
      GROUP BY p)
    SELECT *
    FROM pairs
    JOIN groups USING (p))
  SELECT k0,
      x.w AS w
  FROM counted AS c
  JOIN weights AS x ON c.m = x.m
  UNION ALL
  SELECT k0,
      CAST(9268 AS BIGINT) AS w
  FROM (SELECT k0,
        row_number() OVER (PARTITION BY p ORDER BY abs(((((((coalesce(TRY_CAST(p AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5(k0), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)), k0 NULLS LAST) AS place
    FROM counted
    WHERE m > 50) AS r
  WHERE place <= 50) AS g
GROUP BY k0

-- vectors: gram
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 2 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum_no_overflow(q0 * q0) AS a0,
                sum_no_overflow(q0 * q1) AS a1,
                sum_no_overflow(q1 * q1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 2 + w2 * w2 * 1 <= 250000) AS u

-- vectors in doubles: gram
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 2 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum(q0 * q0) AS a0,
                sum(q0 * q1) AS a1,
                sum(q1 * q1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 2 + w2 * w2 * 1 <= 250000) AS u

-- vectors by sorting: gram
SELECT p,
    CAST(q0 AS SMALLINT) AS q0,
    CAST(q1 AS SMALLINT) AS q1
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
      CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
  FROM (SELECT "x" AS v0,
        "y" AS v1,
        "p" AS p
    FROM (SELECT "p",
          "x",
          "y"
      FROM (SELECT "p" AS "p",
            CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
        FROM table_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum_no_overflow(q0) AS a0,
                sum_no_overflow(q0 * q1) AS a1,
                sum_no_overflow(1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors in doubles: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum(q0) AS a0,
                sum(q0 * q1) AS a1,
                sum(1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors by sorting: sums
SELECT p,
    CAST(q0 AS SMALLINT) AS q0,
    CAST(q1 AS SMALLINT) AS q1
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
      CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
  FROM (SELECT "x" AS v0,
        "y" AS v1,
        "p" AS p
    FROM (SELECT "p",
          "x",
          "y"
      FROM (SELECT "p" AS "p",
            CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
        FROM table_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: short sums
SELECT coalesce(sum(w0), 0) AS a0
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0
          FROM (SELECT p,
                sum_no_overflow(q0) AS a0
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0
              FROM (SELECT "x" AS v0,
                    "p" AS p
                FROM (SELECT "p",
                      "x"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 <= 250000) AS u

-- vectors in doubles: short sums
SELECT coalesce(sum(w0), 0) AS a0
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0
          FROM (SELECT p,
                sum(q0) AS a0
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0
              FROM (SELECT "x" AS v0,
                    "p" AS p
                FROM (SELECT "p",
                      "x"
                  FROM (SELECT "p" AS "p",
                        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
                    FROM table_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 <= 250000) AS u

-- vectors by sorting: short sums
SELECT p,
    CAST(q0 AS SMALLINT) AS q0
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0
  FROM (SELECT "x" AS v0,
        "p" AS p
    FROM (SELECT "p",
          "x"
      FROM (SELECT "p" AS "p",
            CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
            CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y"
        FROM table_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: cells
SELECT code,
    sum(w) AS a0
FROM (WITH rows AS MATERIALIZED (SELECT p,
        code,
        CAST(trunc(CAST(a AS DOUBLE) * f) AS BIGINT) AS w
    FROM (SELECT p,
          code,
          a,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (WITH rows AS MATERIALIZED (SELECT p,
              code,
              least(greatest(coalesce(a, 0), -35184372088832), 35184372088832) AS a
          FROM (SELECT p,
                code,
                TRY_CAST(sum(a) AS BIGINT) AS a
            FROM (SELECT p,
                  unnest([CAST(CAST(0 + (CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) AS BIGINT), CAST(CAST(2 + (CAST((CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) * 2 + c1) AS BIGINT) AS BIGINT)]) AS code,
                  unnest([CAST(q0 AS BIGINT), CAST(1 AS BIGINT)]) AS a
              FROM (SELECT r.p AS p,
                    CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                    CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1,
                    d0.code AS c0,
                    d1.code AS c1
                FROM (SELECT "r" AS k0,
                      "n" AS k1,
                      "x" AS v0,
                      "y" AS v1,
                      "p" AS p
                  FROM (SELECT "p",
                        "x",
                        "y",
                        "r",
                        "n"
                    FROM (SELECT "p" AS "p",
                          CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
                          CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
                          CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
                          CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n"
                      FROM table_data AS t) AS t
                    WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
                LEFT
                JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
                LEFT
                JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
                FROM d1.value) AS t) AS l
            WHERE code IS NOT NULL
            GROUP BY p,
                code) AS t),
            totals AS (SELECT p,
              sum((CASE WHEN code < 2 THEN 1 WHEN code < 6 THEN 2 ELSE 1 END) * (CAST(a AS HUGEINT) * a)) AS n
          FROM rows
          GROUP BY p)
        SELECT *
        FROM rows
        JOIN totals USING (p)) AS t) AS t),
      totals AS (SELECT p,
        sum((CASE WHEN code < 2 THEN 1 WHEN code < 6 THEN 2 ELSE 1 END) * w * w) AS m
    FROM rows
    GROUP BY p)
  SELECT *
  FROM rows
  JOIN totals USING (p)) AS t
WHERE m <= 250000
GROUP BY code

-- ==== persons with few rows ====

-- few_rows_of_data
WITH beyond AS MATERIALIZED (SELECT "p" AS p
  FROM (SELECT "p" AS "p",
        CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
        CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
        "i" AS "i",
        "w" AS "w",
        CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
        CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n",
        CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
        "b" AS "b",
        CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
        CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
        CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t",
        "c" AS "c"
    FROM table_data AS t) AS t
  GROUP BY "p" HAVING count(*) > 5)
SELECT t.*
FROM (SELECT "p" AS "p",
      CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
      CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
      "i" AS "i",
      "w" AS "w",
      CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
      CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n",
      CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
      "b" AS "b",
      CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
      CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
      CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t",
      "c" AS "c"
  FROM table_data AS t) AS t ANTI
JOIN beyond ON t."p" = beyond.p
WHERE t."p" IS NOT NULL
UNION ALL
SELECT "p",
    "x",
    "y",
    "i",
    "w",
    "r",
    "n",
    "q",
    "b",
    "d",
    "e",
    "t",
    "c"
FROM (SELECT "p",
      "x",
      "y",
      "i",
      "w",
      "r",
      "n",
      "q",
      "b",
      "d",
      "e",
      "t",
      "c",
      row_number() OVER (PARTITION BY "p" ORDER BY CASE WHEN row_ordinal = 1 THEN row_hash ELSE abs((((((((row_hash) + 14348907) * ((((coalesce(TRY_CAST(row_ordinal AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(row_ordinal AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)) END, row_rank) AS row_rank
  FROM (SELECT "p",
        "x",
        "y",
        "i",
        "w",
        "r",
        "n",
        "q",
        "b",
        "d",
        "e",
        "t",
        "c",
        row_hash,
        row_number() OVER w AS row_rank,
        1 + row_number() OVER w - rank() OVER w AS row_ordinal
    FROM (SELECT "p",
          "x",
          "y",
          "i",
          "w",
          "r",
          "n",
          "q",
          "b",
          "d",
          "e",
          "t",
          "c",
          abs((((((((((((((((((((((((((((((((((((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CASE WHEN abs("x") < CAST('1099511627776.0' AS DOUBLE) THEN CAST(floor("x" * CAST('1048576.0' AS DOUBLE)) AS BIGINT) WHEN "x" IS NOT NULL THEN 1 END AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CASE WHEN abs("y") < CAST('1099511627776.0' AS DOUBLE) THEN CAST(floor("y" * CAST('1048576.0' AS DOUBLE)) AS BIGINT) WHEN "y" IS NOT NULL THEN 1 END AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST("i" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST("w" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("r"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("n"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("q"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST("b" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(date_diff('day', DATE '1970-01-01', "d") AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(date_diff('day', DATE '1970-01-01', "e") AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST((date_diff('day', DATE '1970-01-01', CAST("t" AS DATE)) * 1440 + CAST(hour("t") AS BIGINT) * 60 + CAST(minute("t") AS BIGINT)) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CASE WHEN abs(CAST("c" AS DOUBLE)) < CAST('1099511627776.0' AS DOUBLE) THEN CAST(floor(CAST("c" AS DOUBLE) * CAST('1048576.0' AS DOUBLE)) AS BIGINT) WHEN CAST("c" AS DOUBLE) IS NOT NULL THEN 1 END AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)) AS row_hash
      FROM (SELECT t.*
        FROM (SELECT "p" AS "p",
              CASE WHEN isnan(CAST("x" AS DOUBLE)) THEN NULL ELSE CAST("x" AS DOUBLE) END AS "x",
              CASE WHEN isnan(CAST("y" AS DOUBLE)) THEN NULL ELSE CAST("y" AS DOUBLE) END AS "y",
              "i" AS "i",
              "w" AS "w",
              CASE WHEN strlen(CAST("r" AS VARCHAR)) <= 4096 THEN CAST("r" AS VARCHAR) ELSE left(CAST("r" AS VARCHAR), 4096) END AS "r",
              CASE WHEN strlen(CAST("n" AS VARCHAR)) <= 4096 THEN CAST("n" AS VARCHAR) ELSE left(CAST("n" AS VARCHAR), 4096) END AS "n",
              CASE WHEN strlen(CAST("q" AS VARCHAR)) <= 4096 THEN CAST("q" AS VARCHAR) ELSE left(CAST("q" AS VARCHAR), 4096) END AS "q",
              "b" AS "b",
              CASE WHEN TRY_CAST("d" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("d" AS DATE) END AS "d",
              CASE WHEN TRY_CAST("e" AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN TRY_CAST("e" AS DATE) END AS "e",
              CASE WHEN TRY_CAST("t" AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59' THEN TRY_CAST("t" AS TIMESTAMP) END AS "t",
              "c" AS "c"
          FROM table_data AS t) AS t SEMI
        JOIN beyond ON t."p" = beyond.p) AS t
      WHERE "p" IS NOT NULL) AS t WINDOW w AS (PARTITION BY "p" ORDER BY row_hash, "x" NULLS LAST, "y" NULLS LAST, "i" NULLS LAST, "w" NULLS LAST, "r" NULLS LAST, "n" NULLS LAST, "q" NULLS LAST, "b" NULLS LAST, "d" NULLS LAST, "e" NULLS LAST, "t" NULLS LAST, "c" NULLS LAST)) AS t) AS t
WHERE row_rank <= 5

-- few_rows_of_visits
WITH beyond AS MATERIALIZED (SELECT "p" AS p
  FROM (SELECT "p" AS "p",
        CASE WHEN strlen(CAST("k" AS VARCHAR)) <= 4096 THEN CAST("k" AS VARCHAR) ELSE left(CAST("k" AS VARCHAR), 4096) END AS "k",
        CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
    FROM table_visits AS t) AS t
  GROUP BY "p" HAVING count(*) > 5)
SELECT t.*
FROM (SELECT "p" AS "p",
      CASE WHEN strlen(CAST("k" AS VARCHAR)) <= 4096 THEN CAST("k" AS VARCHAR) ELSE left(CAST("k" AS VARCHAR), 4096) END AS "k",
      CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
  FROM table_visits AS t) AS t ANTI
JOIN beyond ON t."p" = beyond.p
WHERE t."p" IS NOT NULL
UNION ALL
SELECT "p",
    "k",
    "v"
FROM (SELECT "p",
      "k",
      "v",
      row_number() OVER (PARTITION BY "p" ORDER BY CASE WHEN row_ordinal = 1 THEN row_hash ELSE abs((((((((row_hash) + 14348907) * ((((coalesce(TRY_CAST(row_ordinal AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(row_ordinal AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)) END, row_rank) AS row_rank
  FROM (SELECT "p",
        "k",
        "v",
        row_hash,
        row_number() OVER w AS row_rank,
        1 + row_number() OVER w - rank() OVER w AS row_ordinal
    FROM (SELECT "p",
          "k",
          "v",
          abs((((((((((coalesce(TRY_CAST("p" AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CAST('0x' || left(md5("k"), 15) AS BIGINT) AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647) + 14348907) * ((((coalesce(TRY_CAST(CASE WHEN abs("v") < CAST('1099511627776.0' AS DOUBLE) THEN CAST(floor("v" * CAST('1048576.0' AS DOUBLE)) AS BIGINT) WHEN "v" IS NOT NULL THEN 1 END AS BIGINT), -1) % 2147483647) * 1583458089) % 2147483647) + 11184811)) % 2147483647)) AS row_hash
      FROM (SELECT t.*
        FROM (SELECT "p" AS "p",
              CASE WHEN strlen(CAST("k" AS VARCHAR)) <= 4096 THEN CAST("k" AS VARCHAR) ELSE left(CAST("k" AS VARCHAR), 4096) END AS "k",
              CASE WHEN isnan(CAST("v" AS DOUBLE)) THEN NULL ELSE CAST("v" AS DOUBLE) END AS "v"
          FROM table_visits AS t) AS t SEMI
        JOIN beyond ON t."p" = beyond.p) AS t
      WHERE "p" IS NOT NULL) AS t WINDOW w AS (PARTITION BY "p" ORDER BY row_hash, "k" NULLS LAST, "v" NULLS LAST)) AS t) AS t
WHERE row_rank <= 5

-- [data]
SELECT "p",
    "x",
    "y",
    "i",
    "w",
    "r",
    "n",
    "q",
    "b",
    "d",
    "e",
    "t",
    "c"
FROM (SELECT "p",
      "x",
      "y",
      "i",
      "w",
      "r",
      "n",
      "q",
      "b",
      "d",
      "e",
      "t",
      "c"
  FROM few_rows_of_data AS t) AS t
WHERE "p" IS NOT NULL AND "y" IS NOT NULL

-- [visits]
SELECT "p",
    "k",
    "v"
FROM (SELECT "p",
      "k",
      "v"
  FROM few_rows_of_visits AS t) AS t
WHERE "p" IS NOT NULL

-- join persons: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 - CAST(g.t1 AS HUGEINT) * (-402653184) AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (939524096) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-3.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('7.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "k" AS k0,
          "x" AS v0
      FROM (SELECT ours."x",
            theirs."k" AS "k"
        FROM (SELECT "p",
              "x"
          FROM (SELECT "p",
                "x",
                "y"
            FROM few_rows_of_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
        JOIN (SELECT "p",
              "k"
          FROM (SELECT "p",
                "k"
            FROM few_rows_of_visits AS t) AS t
          WHERE "p" IS NOT NULL) AS theirs ON ours."p" = theirs."p") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- left join persons: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0,
    g.t0 - CAST(g.t1 AS HUGEINT) * (671088640) AS a1,
    g.t2 - g.t1 AS a2
FROM (SELECT k0,
      coalesce(sum(s0), 0) AS t0,
      count(s0) AS t1,
      count(*) AS t2
  FROM (SELECT k0,
        CAST(floor(CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('0.0' AS DOUBLE) AND CAST('5.0' AS DOUBLE) THEN CAST(v0 AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('0.0' AS DOUBLE) THEN CAST('0.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) > CAST('5.0' AS DOUBLE) THEN CAST('5.0' AS DOUBLE) END * CAST('134217728.0' AS DOUBLE) + 0.5) AS INTEGER) AS s0
    FROM (SELECT "k" AS k0,
          "v" AS v0
      FROM (SELECT theirs."k" AS "k",
            theirs."v" AS "v"
        FROM (SELECT "p"
          FROM (SELECT "p",
                "y"
            FROM few_rows_of_data AS t) AS t
          WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS ours
        LEFT
        JOIN ([visits]) AS theirs ON ours."p" = theirs."p") AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 IS NOT DISTINCT
FROM d0.value

-- rows by declared: tally
SELECT CAST(d0.code AS INTEGER) AS code,
    g.t0 AS a0
FROM (SELECT k0,
      count(*) AS t0
  FROM (SELECT k0
    FROM (SELECT "r" AS k0
      FROM (SELECT "r"
        FROM (SELECT "p",
              "y",
              "r"
          FROM few_rows_of_data AS t) AS t
        WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS s
  GROUP BY k0) AS g
JOIN values_of_key_0 AS d0 ON g.k0 = d0.value

-- vectors: gram
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 2 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum_no_overflow(q0 * q0) AS a0,
                sum_no_overflow(q0 * q1) AS a1,
                sum_no_overflow(q1 * q1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 2 + w2 * w2 * 1 <= 250000) AS u

-- vectors in doubles: gram
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 2 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum(q0 * q0) AS a0,
                sum(q0 * q1) AS a1,
                sum(q1 * q1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 2 + w2 * w2 * 1 <= 250000) AS u

-- vectors by sorting: gram
SELECT p,
    CAST(q0 AS SMALLINT) AS q0,
    CAST(q1 AS SMALLINT) AS q1
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
      CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
  FROM (SELECT "x" AS v0,
        "y" AS v1,
        "p" AS p
    FROM (SELECT "p",
          "x",
          "y"
      FROM (SELECT "p",
            "x",
            "y"
        FROM few_rows_of_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum_no_overflow(q0) AS a0,
                sum_no_overflow(q0 * q1) AS a1,
                sum_no_overflow(1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors in doubles: sums
SELECT coalesce(sum(w0), 0) AS a0,
    coalesce(sum(w1), 0) AS a1,
    coalesce(sum(w2), 0) AS a2
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0,
        CAST(trunc(x1 * f) AS BIGINT) AS w1,
        CAST(trunc(x2 * f) AS BIGINT) AS w2
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 + x1 * x1 * 1 + x2 * x2 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0,
              CAST(a1 AS DOUBLE) AS x1,
              CAST(a2 AS DOUBLE) AS x2
          FROM (SELECT p,
                sum(q0) AS a0,
                sum(q0 * q1) AS a1,
                sum(1) AS a2
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0,
                  CASE WHEN CAST(v1 AS DOUBLE) BETWEEN CAST('10.0' AS DOUBLE) AND CAST('12.0' AS DOUBLE) THEN floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN CAST('96.0' AS DOUBLE) WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN CAST('80.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q1
              FROM (SELECT "x" AS v0,
                    "y" AS v1,
                    "p" AS p
                FROM (SELECT "p",
                      "x",
                      "y"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 + w1 * w1 * 1 + w2 * w2 * 1 <= 250000) AS u

-- vectors by sorting: sums
SELECT p,
    CAST(q0 AS SMALLINT) AS q0,
    CAST(q1 AS SMALLINT) AS q1
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
      CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1
  FROM (SELECT "x" AS v0,
        "y" AS v1,
        "p" AS p
    FROM (SELECT "p",
          "x",
          "y"
      FROM (SELECT "p",
            "x",
            "y"
        FROM few_rows_of_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: short sums
SELECT coalesce(sum(w0), 0) AS a0
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0
          FROM (SELECT p,
                sum_no_overflow(q0) AS a0
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0
              FROM (SELECT "x" AS v0,
                    "p" AS p
                FROM (SELECT "p",
                      "x"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 <= 250000) AS u

-- vectors in doubles: short sums
SELECT coalesce(sum(w0), 0) AS a0
FROM (SELECT *
  FROM (SELECT CAST(trunc(x0 * f) AS BIGINT) AS w0
    FROM (SELECT *,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (SELECT *,
            x0 * x0 * 1 AS n
        FROM (SELECT CAST(a0 AS DOUBLE) AS x0
          FROM (SELECT p,
                sum(q0) AS a0
            FROM (SELECT r.p AS p,
                  CASE WHEN CAST(v0 AS DOUBLE) BETWEEN CAST('-3.0' AS DOUBLE) AND CAST('7.0' AS DOUBLE) THEN floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN CAST('56.0' AS DOUBLE) WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN CAST('-24.0' AS DOUBLE) ELSE CAST('0.0' AS DOUBLE) END AS q0
              FROM (SELECT "x" AS v0,
                    "p" AS p
                FROM (SELECT "p",
                      "x"
                  FROM (SELECT "p",
                        "x",
                        "y"
                    FROM few_rows_of_data AS t) AS t
                  WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q
            GROUP BY p HAVING count(*) <= 8589934592) AS u) AS u) AS u) AS u) AS u
  WHERE w0 * w0 * 1 <= 250000) AS u

-- vectors by sorting: short sums
SELECT p,
    CAST(q0 AS SMALLINT) AS q0
FROM (SELECT r.p AS p,
      CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0
  FROM (SELECT "x" AS v0,
        "p" AS p
    FROM (SELECT "p",
          "x"
      FROM (SELECT "p",
            "x",
            "y"
        FROM few_rows_of_data AS t) AS t
      WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r) AS q LIMIT 16777217

-- vectors: cells
SELECT code,
    sum(w) AS a0
FROM (WITH rows AS MATERIALIZED (SELECT p,
        code,
        CAST(trunc(CAST(a AS DOUBLE) * f) AS BIGINT) AS w
    FROM (SELECT p,
          code,
          a,
          CASE WHEN CAST(n AS DOUBLE) * CAST('1.0000000000009095' AS DOUBLE) <= CAST('250000.0' AS DOUBLE) THEN CAST('1.0' AS DOUBLE) ELSE CAST('499.99999999999824' AS DOUBLE) / sqrt(CAST(n AS DOUBLE)) END AS f
      FROM (WITH rows AS MATERIALIZED (SELECT p,
              code,
              least(greatest(coalesce(a, 0), -35184372088832), 35184372088832) AS a
          FROM (SELECT p,
                code,
                TRY_CAST(sum(a) AS BIGINT) AS a
            FROM (SELECT p,
                  unnest([CAST(CAST(0 + (CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) AS BIGINT), CAST(CAST(2 + (CAST((CAST(0 AS BIGINT) * 2 + c0) AS BIGINT) * 2 + c1) AS BIGINT) AS BIGINT)]) AS code,
                  unnest([CAST(q0 AS BIGINT), CAST(1 AS BIGINT)]) AS a
              FROM (SELECT r.p AS p,
                    CASE WHEN CAST(v0 AS DOUBLE) >= CAST('-3.0' AS DOUBLE) AND CAST(v0 AS DOUBLE) <= CAST('7.0' AS DOUBLE) THEN CAST(floor(CAST(v0 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v0 AS DOUBLE) > CAST('7.0' AS DOUBLE) THEN 56 WHEN CAST(v0 AS DOUBLE) < CAST('-3.0' AS DOUBLE) THEN -24 ELSE 0 END AS q0,
                    CASE WHEN CAST(v1 AS DOUBLE) >= CAST('10.0' AS DOUBLE) AND CAST(v1 AS DOUBLE) <= CAST('12.0' AS DOUBLE) THEN CAST(floor(CAST(v1 AS DOUBLE) * CAST('8.0' AS DOUBLE) + 0.5) AS INTEGER) WHEN CAST(v1 AS DOUBLE) > CAST('12.0' AS DOUBLE) THEN 96 WHEN CAST(v1 AS DOUBLE) < CAST('10.0' AS DOUBLE) THEN 80 ELSE 0 END AS q1,
                    d0.code AS c0,
                    d1.code AS c1
                FROM (SELECT "r" AS k0,
                      "n" AS k1,
                      "x" AS v0,
                      "y" AS v1,
                      "p" AS p
                  FROM (SELECT "p",
                        "x",
                        "y",
                        "r",
                        "n"
                    FROM (SELECT "p",
                          "x",
                          "y",
                          "r",
                          "n"
                      FROM few_rows_of_data AS t) AS t
                    WHERE "p" IS NOT NULL AND "y" IS NOT NULL) AS t) AS r
                LEFT
                JOIN values_of_key_0 AS d0 ON r.k0 = d0.value
                LEFT
                JOIN values_of_key_1 AS d1 ON r.k1 IS NOT DISTINCT
                FROM d1.value) AS t) AS l
            WHERE code IS NOT NULL
            GROUP BY p,
                code) AS t),
            totals AS (SELECT p,
              sum((CASE WHEN code < 2 THEN 1 WHEN code < 6 THEN 2 ELSE 1 END) * (CAST(a AS HUGEINT) * a)) AS n
          FROM rows
          GROUP BY p)
        SELECT *
        FROM rows
        JOIN totals USING (p)) AS t) AS t),
      totals AS (SELECT p,
        sum((CASE WHEN code < 2 THEN 1 WHEN code < 6 THEN 2 ELSE 1 END) * w * w) AS m
    FROM rows
    GROUP BY p)
  SELECT *
  FROM rows
  JOIN totals USING (p)) AS t
WHERE m <= 250000
GROUP BY code
