"""The questions behind the frozen ledger of 0.1.0. They were asked once; ever after they are asked again, for free.

`frozen_0_1_0/` holds what 0.1.0 left behind: `people.ledger` with its mark, `people.ledger.answers` with a stream's
file and the keys of a question that failed, the tables, and `expected.json` with what everything has to give back.
`made_by.py` made it, once.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import giveortake as gt

FROZEN = Path(__file__).parent / "frozen_0_1_0"
REGIONS = ["north", "south", "east", None]
SHOPS = ["a", "b", "c"]
COUNT = "SELECT COUNT(*) AS n FROM visits"
STREAM = "SELECT product, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY product"
FAILED = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"
FAILED_SPEND: dict[str, Any] = {"epsilon": "4.25", "key_delta": "1e-7", "key": "it failed"}
OF_VERSION_1 = {
    "keyed": ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", {"epsilon": "0.25", "key": "version 1"}),
    "keyed, found": ("SELECT product, COUNT(*) AS n FROM visits GROUP BY product", {"epsilon": "2", "key": "v1 found"}),
}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "count": (COUNT, {"epsilon": "0.125"}),
    "count again, dearer": (COUNT, {"epsilon": "0.25"}),
    "count, gaussian": (COUNT, {"epsilon": "0.5", "delta": "1e-7"}),
    "count, rho": (COUNT, {"rho": "0.01"}),
    "count, mu": (COUNT, {"mu": "0.1"}),
    "count, within a margin": (COUNT, {"margin": 40, "confidence": "0.9"}),
    "persons": ("SELECT COUNT(DISTINCT person) AS n FROM visits", {"epsilon": "0.1", "key": "retry me"}),
    "distinct values": ("SELECT COUNT(DISTINCT product) AS n FROM visits", {"epsilon": "0.1"}),
    "sum by region": (
        "SELECT region, SUM(amount) AS total, AVG(amount) AS mean FROM visits GROUP BY region",
        {"epsilon": "0.5"},
    ),
    "sum by region, gaussian": (
        "SELECT region, SUM(amount) AS total, AVG(age) AS age FROM visits WHERE paid GROUP BY region",
        {"mu": "0.25"},
    ),
    "spread": ("SELECT VAR_POP(amount) AS v, STDDEV(age) AS d FROM visits", {"epsilon": "0.5"}),
    "quantiles": ("SELECT region, MEDIAN(amount) AS middle FROM visits GROUP BY region", {"epsilon": "0.5"}),
    "extremes": ("SELECT MIN(amount) AS least, MAX(amount) AS most FROM visits", {"epsilon": "0.25"}),
    "by truth and day": ("SELECT paid, day, COUNT(*) AS n FROM visits GROUP BY paid, day", {"epsilon": "0.25"}),
    "by bucket": ("SELECT BUCKET(amount, 12.5) AS b, COUNT(*) AS n FROM visits GROUP BY 1", {"epsilon": "0.25"}),
    "arranged": (
        "SELECT day, COUNT(*) AS n FROM visits GROUP BY day HAVING COUNT(*) > 0 ORDER BY n DESC LIMIT 3",
        {"epsilon": "0.25"},
    ),
    "joined": ("SELECT zone, COUNT(*) AS n FROM visits JOIN zones USING (region) GROUP BY zone", {"epsilon": "0.25"}),
    "per person": (
        "SELECT AVG(CLAMP(spent, 0, 200)) AS m FROM (SELECT person, SUM(amount) AS spent FROM visits GROUP BY person)",
        {"epsilon": "0.25"},
    ),
    "found": (
        "SELECT product, COUNT(*) AS n, SUM(amount) AS total FROM visits GROUP BY product",
        {"epsilon": "4", "key_delta": "1e-7"},
    ),
    "found, gaussian": (
        "SELECT product, region, AVG(age) AS age FROM visits GROUP BY product, region",
        {"epsilon": "4", "delta": "1e-6"},
    ),
    "found, of every kind": (
        "SELECT DATE_TRUNC('month', day) AS m, a, COUNT(*) AS n FROM "  # noqa: ISC004 (one text)
        "(SELECT person, day, age * 2 - age AS a FROM visits) WHERE a > 0 GROUP BY 1, 2",
        {"epsilon": "8", "key_delta": "1e-7"},
    ),
    "nothing found": ("SELECT note, COUNT(*) AS n FROM visits WHERE age > 96 GROUP BY note", {"epsilon": "0.01"}),
}


def visits(folder: Path, table: str = "visits.csv", **more: Any) -> gt.session.Session:
    """People, protected as persons under (ε, δ)."""
    said: dict[str, Any] = {
        "unit": "person",
        "budget": gt.ApproxDP(400, "1e-4"),
        "domains": {
            "region": REGIONS,
            "amount": (0, 100),
            "age": {"bounds": (0, 99), "integer": True},
            "paid": [True, False],
            "day": (dt.date(2024, 1, 1), dt.date(2024, 1, 5)),
        },
        "public": {"zones": folder / "zones.csv"},
        "name": "visits",
        "groups_per_person": 3,
        "rows_per_group": 2,
        "ledger": folder / "people.ledger",
    }
    return gt.protect(folder / table, **{**said, **more})


def visits_and_homes(folder: Path) -> gt.session.Session:
    """Two tables about the same people, of whom so many rows count; they pay from the same budget."""
    return gt.protect(
        {"visits": folder / "visits.csv", "homes": folder / "homes.csv"},
        unit="person",
        budget=gt.ApproxDP(400, "1e-4"),
        domains={"amount": (0, 100), "town": ["Rome", "Pisa"], "rooms": (1, 9)},
        name="both",
        population="people of visits",
        rows_per_person=4,
        ledger=folder / "people.ledger",
    )


def ratings(folder: Path, *, neighbours: Any) -> gt.session.Session:
    """Rows, each protected by itself, under one of the two relations between neighbours."""
    plain = neighbours == "add-remove"
    return gt.protect(
        folder / "ratings.csv",
        unit=gt.ROW,
        budget=gt.PureDP(50) if plain else gt.GaussianDP(20),
        neighbours=neighbours,
        domains={"shop": SHOPS, "stars": {"bounds": (1, 5), "integer": True}},
        name="ratings" if plain else "changed_ratings",
        owner_confirms=None if plain else "the same rows, asked under the other relation",
        ledger=folder / "people.ledger",
    )


def asked_of_version_1(s: gt.session.Session) -> dict[str, Any]:
    """Retries of what was asked, with a key, of an older version of the table."""
    return {name: told(s.sql(text).answer(**spend)) for name, (text, spend) in OF_VERSION_1.items()}


def asked_of_visits(s: gt.session.Session) -> dict[str, Any]:
    """Every kind of question to people, one after another."""
    found = {name: told(s.sql(text).answer(**spend)) for name, (text, spend) in QUESTIONS.items()}
    frame = s.table().filter(gt.col("age") >= 18).group_by("region").agg(n=gt.count(), mean=gt.mean("amount"))
    found["frame"] = told(frame.answer(epsilon="0.5"))
    batch = [COUNT, "SELECT region, SUM(age) AS ages FROM visits GROUP BY region"]
    for name, spend in {"pure": {"epsilon": "0.5"}, "gaussian": {"epsilon": "1", "delta": "1e-7"}}.items():
        for place, each in enumerate(s.batch(batch, **spend, key=f"batch {name}")):
            found[f"batch, {name}, {place}"] = told(each)
    for place, each in enumerate(s.batch([STREAM, COUNT], epsilon="5", key_delta="1e-7")):
        found[f"batch with found keys, {place}"] = told(each)
    for name in ("sum by region", "found"):
        text, spend = QUESTIONS[name]
        once = s.sql(text).answer(**spend).refine(epsilon="0.5")
        found[f"{name}, refined"] = told(once)
        found[f"{name}, refined twice"] = told(once.refine(mu="0.5", key=f"refined {name}"))
    parts = s.partition("region", parts_per_person=2)
    for region in parts:
        found[f"part {region}"] = told(parts[region].sql(COUNT).answer(epsilon="0.5"))
    found["part, gaussian"] = told(parts["north"].sql("SELECT AVG(amount) AS m FROM visits").answer(mu="0.25"))
    bounds = s.suggest_bounds(epsilon="4", by=["region"], columns=["amount"])
    found["suggested bounds"] = plain(
        {"groups": bounds.groups_per_person, "rows": bounds.rows_per_group, "bounds": bounds.bounds}
    )
    found["checked bounds"] = told(s.check_bounds(epsilon="2", by=["region"], columns=["amount"]))
    return found


def asked_as_analyst(s: gt.session.Session) -> dict[str, Any]:
    """What an analyst asked: something new, and something that others had paid for already."""
    return {
        "new": told(s.sql("SELECT SUM(amount) AS total FROM visits").answer(epsilon="0.25", key="ann's own")),
        "known to others": told(s.sql(COUNT).answer(epsilon="0.125")),
    }


def asked_of_both(s: gt.session.Session) -> dict[str, Any]:
    """Questions to two tables at once."""
    texts = {
        "joined": "SELECT town, COUNT(*) AS n, SUM(amount) AS total FROM visits JOIN homes "
        "ON visits.person = homes.person GROUP BY town",
        "union": "SELECT SUM(x) AS x FROM "
        "(SELECT person, amount AS x FROM visits UNION ALL SELECT person, rooms AS x FROM homes)",
    }
    return {name: told(s.sql(text).answer(epsilon="0.5")) for name, text in texts.items()}


def asked_of_ratings(s: gt.session.Session) -> dict[str, Any]:
    """Questions to rows and to disjoint parts of them."""
    spend: dict[str, Any] = {"epsilon": 1} if isinstance(s.budget, gt.PureDP) else {"mu": 1}
    found = {"stars": told(s.sql(f"SELECT AVG(stars) AS m FROM {s.name}").answer(**spend))}
    parts = s.partition("shop")
    for shop in parts:
        found[f"part {shop}"] = told(parts[shop].sql(f"SELECT COUNT(*) AS n FROM {s.name}").answer(**spend))
    return found


def streamed(s: gt.session.Session) -> list[Any]:
    """The stream, part by part; it was charged under a key."""
    return [told(part) for part in s.sql(STREAM).stream(epsilon=16, key_delta="1e-7", key="streamed")]


def told(answer: gt.answers.Answer) -> dict[str, Any]:
    """Everything that an answer says, as JSON holds it."""
    return {
        "columns": plain(answer.to_dict()),
        "release": answer.release_id,
        "guarantee": repr(answer.cost),  # of a refined answer, 0.1 took that of its last release for the guarantee
        "confidence": plain(answer.confidence),
    }


def standings(ledger: gt.ledger.Ledger) -> list[dict[str, Any]]:
    """Every level of a ledger, with its numbers, as JSON holds them."""
    return [
        {
            "number": level.number,
            "kind": level.kind,
            "name": level.name,
            "unit": str(level.unit),
            "budget": None if level.budget is None else repr(level.budget),
            "spent": plain(level.spent),
            "remaining": plain(level.remaining),
            "share": plain(level.share),
            "affordable": plain(ledger.affordable(level)),
            "closed": level.closed,
        }
        for level in ledger.levels()
    ]


def plain(value: Any) -> Any:
    """Values as JSON holds them; exact numbers, dates and keys of dictionaries as text."""
    match value:
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case Fraction() | Decimal() | dt.date():
            return str(value)
        case _:
            return value
