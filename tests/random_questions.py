"""Random questions, and neighbouring tables of which one holds a person as heavy as a person may be.

Whether a question is answered, refused or fails must not depend on that person. Under little memory, it would if any
row could make an engine hold more than a bounded number of characters, or more rows than a person may have.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import giveortake as gt
from evil_tables import DOMAINS, SCHEMA, VISITS_DOMAINS, VISITS_SCHEMA, frame
from giveortake.audit.neighbours import LEAST, MOST, Row, random_row
from giveortake.configuration import protection_arguments
from giveortake.errors import GiveOrTakeError, QueryFailed
from giveortake.session import Session
from replay import ZONES

Luck: TypeAlias = random.Random

HEAVY = 1_000  # the number of the heavy person
LONG = 5_000  # characters of a stored text, more than are read
ROWS_OF_HEAVY, ROWS_OF_HEAVIEST = 200, 3_000
MODES: dict[str, dict[str, Any]] = {
    "caps": {"groups_per_person": 40, "rows_per_group": 5},
    "few rows": {"rows_per_person": 150},
    "one group": {"groups_per_person": 1, "rows_per_group": 1},
    "a part": {"groups_per_person": 40, "rows_per_group": 5},
    "caps of each question": {},
}
OF_A_QUESTION: list[dict[str, Any]] = [
    {"rows_per_person": 150},
    {"rows_per_person": {"data": 200, "visits": 1}, "groups_per_person": 40},
    {"rows_per_person": {"data": 3, "visits": 150}, "rows_per_group": 2},
    {"groups_per_person": 40, "rows_per_group": 5},
]
LITTLE = "150MB"
_SPEND: dict[str, Any] = {"epsilon": 1}
_COLUMNS = "p, q, r, n, x, y, i, w, c, b, d, e, t"


# -- tables -----------------------------------------------------------------------------------------------------------


def light_rows(luck: Luck, persons: int = 40) -> tuple[list[Row], list[Row]]:
    """Rows and visits of persons with short texts."""
    rows = [random_row(luck, person) for person in range(persons) for _ in range(luck.randint(1, 4))]
    visits = [{"p": person, "k": luck.choice("uv"), "v": luck.random()} for person in range(persons)]
    return rows, visits


def heavy_rows(luck: Luck, count: int) -> tuple[list[Row], list[Row]]:
    """A person with so many rows, each with a longest text of its own and with extremes of every type."""
    rows = []
    for number in range(count):
        letter = luck.choice(["a", "ß", "日", "𝄞", "%", "'", "\u0000", "ŉ"])
        text = f"{number} {letter * LONG}"
        row = random_row(luck, HEAVY)
        rows.append({**row, "q": text, "w": luck.choice([LEAST, MOST, number])})
    visits = [{"p": HEAVY, "k": luck.choice("uv"), "v": luck.choice([5.0, 1e308])} for _ in range(count)]
    return rows, visits


def neighbours(
    stack: ExitStack, mode: str, seed: object, count: int = ROWS_OF_HEAVY, **more: Any
) -> tuple[Session, Session]:
    """Sessions on two tables: without the heavy person, and with them."""
    luck = random.Random(f"tables {seed}")  # noqa: S311 (which tables are tried need not be secret)
    rows, visits = light_rows(luck)
    heavy, heavy_visits = heavy_rows(luck, count)
    pair = [(rows, visits), (rows + heavy, visits + heavy_visits)]
    light, weighty = (stack.enter_context(_session(*each, mode, **more)) for each in pair)
    if mode == "a part":
        light, weighty = (each.partition("r")["north"] for each in (light, weighty))
    return light, weighty


def _session(rows: list[Row], visits: list[Row], mode: str, **more: Any) -> Session:
    tables: dict[str, Any] = {"data": frame(rows, SCHEMA), "visits": frame(visits, VISITS_SCHEMA)}
    domains: dict[str, Any] = {"data": DOMAINS, "visits": VISITS_DOMAINS}
    if mode == "a part":  # every table has the column that tells parts apart
        del tables["visits"], domains["visits"]
    options: dict[str, Any] = {
        "unit": "p",
        "budget": gt.ApproxDP(10**9, "1e-3"),
        "domains": domains,
        "public": {"zones": ZONES},
        "threads": 1,
        "memory": LITTLE,
        "failures": 10**6,
        **MODES[mode],
        **more,
    }
    return gt.protect(tables, **protection_arguments(options))


# -- questions --------------------------------------------------------------------------------------------------------


@final
@dataclass
class Questions:
    """Random questions: `text` is a whole one; the others are its parts, at most `depth` deep."""

    luck: Luck
    texts: tuple[str, ...] = ("q", "q", "q", "r", "n")
    numbers: tuple[str, ...] = ("x", "y", "i", "w", "c")

    def text(self) -> str:
        """A whole question."""
        relation = self.relation(self.luck.choice([0, 0, 0, 1, 1, 2, 4]))
        keys = [key for key in (self.key(), self.key()) if self.luck.random() < 0.5]
        where = f" WHERE {self.condition(2)}" if self.luck.random() < 0.4 else ""
        shown = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        numbers = [f"{self.aggregate()} AS a{place}" for place in range(self.luck.choice([1, 1, 1, 2, 3]))]
        grouped = f" GROUP BY {', '.join(f'k{place}' for place in range(len(keys)))}" if keys else ""
        having = " HAVING COUNT(*) > 2" if keys and self.luck.random() < 0.2 else ""
        return f"SELECT {', '.join(shown + numbers)} FROM {relation}{where}{grouped}{having}"

    def growing(self) -> str:
        """A question whose texts double in every subquery, for the heavy person alone."""
        inner = f"SELECT p, CASE WHEN p = {HEAVY} THEN q ELSE '' END AS s FROM data"
        for _ in range(self.luck.randint(1, 9)):
            inner = f"SELECT p, {self.luck.choice(['s || s', 'UPPER(s) || s', 's || LOWER(s)'])} AS s FROM ({inner})"
        return f"SELECT COUNT(DISTINCT s) AS a FROM ({inner})"

    # -- relations ------------------------------------------------------------------------------------------------

    def relation(self, depth: int) -> str:
        """What stands behind FROM. Every subquery has the columns of the table, some of them made anew."""
        if depth == 0:
            return self.luck.choice(["data", "data", "data", "data", self.joined()])
        inner = self.relation(depth - 1)
        style = self.luck.choice(["made", "made", "made", "union", "distinct", "per person"])
        if style == "union":
            return (
                f"(SELECT {_COLUMNS} FROM {inner} UNION ALL SELECT {_COLUMNS} FROM {inner} WHERE {self.condition(1)})"
            )
        if style == "distinct":
            return f"(SELECT DISTINCT {_COLUMNS} FROM {inner})"
        if style == "per person":
            having = " HAVING COUNT(*) > 1" if self.luck.random() < 0.3 else ""
            return (
                "(SELECT p, q, r, n, CLAMP(MAX(x), -3, 7) AS x, AVG(y) AS y, CLAMP(COUNT(*), 0, 99) AS i,"
                " COUNT(DISTINCT w) AS w, MAX(c) AS c, b, d, e, t"
                f" FROM {inner} GROUP BY p, q, r, n, b, d, e, t{having})"
            )
        where = f" WHERE {self.condition(1)}" if self.luck.random() < 0.3 else ""
        made = {"q": self.words(2), "x": f"CLAMP({self.number(2)}, -3, 7)"}
        made |= {self.luck.choice(["r", "n"]): self.words(1)} if self.luck.random() < 0.3 else {}
        columns = [f"{made[name]} AS {name}" if name in made else name for name in "qrnxyiwcbdet"]
        return f"(SELECT p, {', '.join(columns)} FROM {inner}{where})"

    def joined(self) -> str:
        left = "LEFT " if self.luck.random() < 0.5 else ""
        other, n = self.luck.choice(
            [
                ("zones ON r = zone", "part"),
                ("zones ON r = zone", "part"),
                ("(SELECT p, SUM(v) AS total FROM visits GROUP BY p) AS f ON data.p = f.p", "n"),
                ("visits ON data.p = visits.p", "k"),
            ]
        )
        return f"(SELECT data.p AS p, q, r, {n} AS n, x, y, i, w, c, b, d, e, t FROM data {left}JOIN {other})"

    # -- keys and aggregates --------------------------------------------------------------------------------------

    def key(self) -> str:
        return self.luck.choice(
            [
                "r",
                "b",
                "q",
                "w",
                "d",
                "MONTH(t)",
                "DATE_TRUNC('week', t)",
                "BUCKET(x, 2.5)",
                self.words(2),
                f"SUBSTRING({self.words(1)}, 1, {self.luck.choice([1, 3, 100])})",
                f"CASE WHEN {self.condition(1)} THEN 'one' ELSE 'other' END",
            ]
        )

    def aggregate(self) -> str:
        number = f"CLAMP({self.number(2)}, -10, 10)"
        found = self.luck.choice(
            [
                "COUNT(*)",
                f"COUNT({self.words(2)})",
                f"SUM({number})",
                f"AVG({number})",
                f"STDDEV({number})",
                f"MEDIAN({number})",
                f"QUANTILE({number}, 0.9)",
                f"MAX({number})",
                f"COUNT(DISTINCT {self.words(3)})",
                f"COUNT(DISTINCT {self.words(2)})",
                "COUNT(DISTINCT w)",
                "COUNT(DISTINCT p)",
                f"COUNTIF({self.condition(2)})",
            ]
        )
        return f"{found} FILTER (WHERE {self.condition(1)})" if self.luck.random() < 0.15 else found

    # -- expressions ----------------------------------------------------------------------------------------------

    def words(self, depth: int) -> str:
        """A text."""
        if depth == 0 or self.luck.random() < 0.2:
            return self.luck.choice([*self.texts, "'%a_'", "'øst'"])
        one, other = self.words(depth - 1), self.words(depth - 1)
        return self.luck.choice(
            [
                f"({one} || {other})",
                f"CONCAT({one}, {other})",
                f"UPPER({one})",
                f"LOWER({one})",
                f"TRIM({one})",
                f"SUBSTRING({one}, {self.luck.choice([1, 2, 4000])}, {self.luck.choice([1, 50, 4096])})",
                f"COALESCE({one}, {other})",
                f"NULLIF({one}, {other})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {one} ELSE {other} END",
                f"CAST({self.luck.choice(['i', 'w', f'LENGTH({one})'])} AS VARCHAR)",
                f"CAST({self.luck.choice(['d', 't', 'b', 'c'])} AS VARCHAR)",
            ]
        )

    def number(self, depth: int) -> str:
        if depth == 0 or self.luck.random() < 0.2:
            return self.luck.choice([*self.numbers, "0", "2", "-1.5", str(MOST)])
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.luck.choice(
            [
                f"({one} {self.luck.choice('+-*/')} {other})",
                f"LENGTH({self.words(depth - 1)})",
                f"{self.luck.choice(['ABS', 'FLOOR', 'CEIL', 'ROUND', 'SQRT', 'LN', 'EXP'])}({one})",
                f"GREATEST({one}, {other})",
                f"COALESCE({one}, {other})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {one} ELSE {other} END",
                f"CAST({self.words(depth - 1)} AS DOUBLE)",
                f"(i % {self.luck.choice(['7', 'i', '0'])})",
                f"{self.luck.choice(['YEAR', 'MONTH', 'DAYOFYEAR', 'HOUR'])}(t)",
            ]
        )

    def condition(self, depth: int) -> str:
        if depth == 0 or self.luck.random() < 0.2:
            return self.luck.choice(["b", "x > 1", "q IS NULL", f"p = {HEAVY}", "r IN ('north', 'øst')", "i % 7 = 3"])
        return self.luck.choice(
            [
                f"{self.words(depth - 1)} LIKE {self.luck.choice(['%a%', '%_%_%a', '日%'])!r}",
                f"{self.words(depth - 1)} ILIKE {self.luck.choice(['%SS%', '%_%A'])!r}",
                f"{self.words(depth - 1)} < {self.words(depth - 1)}",
                f"{self.number(depth - 1)} >= {self.number(depth - 1)}",
                f"({self.condition(depth - 1)} OR NOT {self.condition(depth - 1)})",
                f"CAST({self.words(depth - 1)} AS DATE) IS NULL",
            ]
        )


# -- outcomes ---------------------------------------------------------------------------------------------------------


@final
@dataclass
class Fuzz:
    """What became of questions on both tables: how many of each kind, and those that ended otherwise on one of them."""

    kinds: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def ask(self, light: Session, heavy: Session, text: str) -> None:
        """Ask both. What a refusal says is part of the outcome; of what failed, that it failed."""
        one, other = outcome(light, text), outcome(heavy, text)
        self.kinds[one.partition(":")[0]] += 1
        if one != other:
            self.differences.append(f"{one} / {other}: {text}")


def outcome(session: Session, text: str) -> str:
    """Answered, failed, or refused with a text."""
    finds_keys: dict[str, Any] = {"key_delta": "1e-9"}
    try:
        question = session.sql(text)
        caps = {} if session.describe().caps.stated else OF_A_QUESTION[len(text) % len(OF_A_QUESTION)]
        question.answer(**_SPEND, **caps, **(finds_keys if question.question.finds_keys else {}))
    except QueryFailed as failed:
        return f"failed: {failed.cause}"
    except GiveOrTakeError as refused:
        return f"refused: {type(refused).__name__} {refused}"
    return "answered"


def fuzz(
    count: int,
    seed: object = 0,
    *,
    per_table: int = 100,
    growing: float = 0.1,
    rows: int = ROWS_OF_HEAVY,
    mode: str | None = None,
    **more: Any,
) -> Fuzz:
    """So many questions, on new tables with other caps every now and then; some see a part of the data alone.

    The heavy person has so many `rows`.
    """
    found = Fuzz()
    for start in range(0, count, per_table):
        luck = random.Random(f"questions {seed} {start}")  # noqa: S311 (which questions are tried need not be secret)
        questions = Questions(luck)
        with ExitStack() as stack:
            light, heavy = neighbours(stack, mode or luck.choice(sorted(MODES)), f"{seed} {start}", rows, **more)
            for _ in range(min(per_table, count - start)):
                text = questions.growing() if luck.random() < growing else questions.text()
                found.ask(light, heavy, text)
    return found
