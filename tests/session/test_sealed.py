"""Nothing that a session hands out leads to rows or exact counts, by any public attribute.

The walk starts at everything an analyst can get and follows public names: attributes, properties, and methods that need
no argument; of errors also what led to them. Python locks nobody out: names that begin with an underscore are not
followed, and neither are traces. The table holds numbers and texts that occur nowhere else, and the noise is so large
that no answer comes near them.
"""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import giveortake as gt
from giveortake.compile import Spend
from giveortake.errors import GiveOrTakeError
from giveortake.ledger import Ledger
from giveortake.ledger.chain.chain import Chain
from giveortake.mechanisms import Sensitive
from giveortake.session import Session
from giveortake.session.mechanism import InteractiveMechanism
from giveortake.session.storage import Spool
from inside import engine_of, ledger_of, measured
from replay import exact_integers
from stated_caps import stating_caps

LITTLE = "1e-12"
SHARES = {"north": 4337, "south": 2749, "east": 1931}
DEEPEST, MOST_OF_A_TYPE = 8, 40  # frames can be derived from frames without end
SKIPPED = {"close", "plot"}  # the one ends the session, the other draws what `columns` holds
FORBIDDEN = (Sensitive, InteractiveMechanism, Ledger, Chain, Spool, sqlite3.Connection, sqlite3.Cursor)


def table() -> pl.DataFrame:
    regions = [region for region, count in SHARES.items() for _ in range(count)]
    rows = range(len(regions))
    return pl.DataFrame(
        {
            "p": [f"secret-person-{row // 3}" for row in rows],
            "region": regions,
            "note": [f"secret-note-{row % 7}" for row in rows],
            "x": [3.0731 + (row % 1009) / 100 for row in rows],
        }
    )


def exact_numbers() -> set[Fraction]:
    """Counts, sums and cells of the table."""
    rows = table()
    by_region = rows.group_by("region").agg(n=pl.len(), s=pl.col("x").sum(), p=pl.col("p").n_unique())
    found = [rows.height, rows["x"].sum(), rows["p"].n_unique(), *rows["x"].unique().to_list()]
    for name in ("n", "s", "p"):
        found += by_region[name].to_list()
    return {Fraction(each) for each in found}


EXACT = exact_numbers()
TOLD = re.compile(
    r"secret-(person|note)|(?<![\d.,])(" + "|".join(map(str, [table().height, *SHARES.values()])) + r")(?!\d)"
)


def session(**options: Any) -> Session:
    said: dict[str, Any] = {
        "unit": "p",
        "budget": gt.ApproxDP("1", "1e-6"),
        "domains": {"region": list(SHARES), "x": (0, 50)},
        "name": "t",
        "public": {"zones": pl.DataFrame({"zone": list(SHARES), "part": ["up", "down", "down"]})},
        **options,
    }
    return gt.protect(table(), **stating_caps(said))


def leak(thing: object) -> str | None:
    """Why a value must not be reached, if it must not."""
    if isinstance(thing, FORBIDDEN) or type(thing).__module__.partition(".")[0] in {"duckdb", "_duckdb", "psycopg"}:
        return f"is a {type(thing).__name__}"
    if hasattr(thing, "tally") and hasattr(thing, "unchanged"):
        return f"is an engine, {type(thing).__name__}"
    if isinstance(thing, np.ndarray | np.generic):
        thing = np.asarray(thing).ravel().tolist()
        return next((why for each in thing if (why := leak(each)) is not None), None)
    if isinstance(thing, bytes):
        thing = thing.decode(errors="replace")
    if isinstance(thing, str):
        told = TOLD.search(thing)
        return None if told is None else f"tells {told[0]!r}"
    if isinstance(thing, int | float | Fraction | Decimal) and np.isfinite(float(thing)) and Fraction(thing) in EXACT:
        return f"is the exact number {thing}"
    return None


def leaks(roots: Mapping[str, object]) -> list[str]:
    """The paths of public names from the roots to what must not be reached, nearest first."""
    waiting = deque((name, thing, 0) for name, thing in roots.items())
    seen: dict[int, object] = {}  # kept, so that no number is given twice
    kinds: Counter[type] = Counter()
    found = []
    while waiting:
        path, thing, depth = waiting.popleft()
        why = leak(thing)
        if why is not None:
            found.append(f"{path} {why}")
            continue
        if id(thing) in seen or depth > DEEPEST or kinds[type(thing)] >= MOST_OF_A_TYPE:
            continue
        seen[id(thing)] = thing
        if not isinstance(thing, str | bytes | int | float | list | tuple | dict):
            kinds[type(thing)] += 1
        waiting.extend((f"{path}{step}", each, depth + 1) for step, each in steps(thing))
    return found


def steps(thing: object) -> Iterator[tuple[str, object]]:
    """What one step leads to."""
    if isinstance(thing, str | bytes | type | np.ndarray):
        return
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", each) for key, each in thing.items())
        yield from ((".keys()", key) for key in thing)
    elif isinstance(thing, Iterable) and (isinstance(thing, list | tuple | set | frozenset) or _is_ours(thing)):
        yield from ((f"[{place}]", each) for place, each in enumerate(thing))
    if isinstance(thing, BaseException):
        yield from ((f".{name}", getattr(thing, name)) for name in ("__cause__", "__context__", "args"))
        yield "→ str", str(thing)
    if not _is_ours(thing):
        return
    yield "→ repr", repr(thing)
    for name in dir(thing):
        if name.startswith("_") or name in SKIPPED or (isinstance(thing, list) and hasattr(list, name)):
            continue  # what a list holds was looked at above
        try:
            each = getattr(thing, name)
        except (GiveOrTakeError, AttributeError) as error:
            yield f".{name} raises", error
            continue
        yield f".{name}", each
        if callable(each) and not isinstance(each, type) and _needs_nothing(each):
            try:
                yield f".{name}()", each()
            except (GiveOrTakeError, AssertionError, TypeError) as error:  # what is asserted was checked before
                yield f".{name}() raises", error


def _is_ours(thing: object) -> bool:
    planted = type(thing).__module__ == __name__
    return type(thing).__module__.startswith("giveortake") or planted or isinstance(thing, partial | BaseException)


def _needs_nothing(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    free = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    return all(each.kind in free or each.default is not inspect.Parameter.empty for each in parameters)


def refusals(s: Session, monkeypatch: pytest.MonkeyPatch) -> dict[str, BaseException]:
    """Errors of every stage."""
    count = s.sql("SELECT COUNT(*) AS n FROM t")
    wrong: dict[str, Callable[[], object]] = {
        "not read": lambda: s.sql("SELECT p, x FROM t"),
        "unknown": lambda: s.sql("SELECT COUNT(*) AS n FROM t WHERE y > 1"),
        "too dear": lambda: count.answer(epsilon=100),
        "no price": lambda: count.answer(epsilon=-1),
        "no part": lambda: s.partition("region")["secret"],
        "no frame": lambda: s.table().filter(gt.col("nothing") > 1),
    }
    found: dict[str, BaseException] = {}
    for name, call in wrong.items():
        with pytest.raises(GiveOrTakeError) as refusal:
            call()
        found[name] = refusal.value
    failing = "SELECT CAST(note AS INTEGER) FROM " + engine_of(s)._sources["t"]
    with monkeypatch.context() as patch:
        patch.setattr("giveortake.engines.duckdb.engine.DuckDBEngine._tally_statement", lambda *_: failing)
        with pytest.raises(GiveOrTakeError) as failure:
            s.sql("SELECT SUM(x) AS s FROM t WHERE x > 5").answer(epsilon=LITTLE)
    found["the engine fails"] = failure.value
    return found


def test_no_public_name_leads_from_a_session_to_rows_or_exact_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session(ledger=tmp_path / "t.ledger") as s:
        by_region = s.sql("SELECT region, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY region")
        answer = by_region.answer(epsilon=LITTLE)
        found_keys = s.sql("SELECT note, COUNT(*) AS n FROM t GROUP BY note HAVING n > 0 ORDER BY n")
        framed = s.table().filter(gt.col("x") > 1).group_by("region")
        parts = s.partition("region", parts_per_person=2)
        roots: dict[str, object] = {
            "session": s,
            "query": by_region,
            "quote": by_region.quote(epsilon=LITTLE),
            "answer": answer,
            "refined": answer.refine(epsilon=LITTLE),
            "found keys": found_keys.answer(epsilon=LITTLE),
            "quantile": s.sql("SELECT MEDIAN(x) AS q, COUNT(DISTINCT note) AS d FROM t").answer(rho=LITTLE),
            "stream": by_region.stream(epsilon=LITTLE),
            "batch": s.batch([by_region, "SELECT COUNT(*) AS n FROM t"]).answer(mu="1e-9"),
            "partition": parts,
            "part's answer": parts["north"].sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=LITTLE),
            "profile": s.profile(by=["region"], columns=["x"]).answer(epsilon=LITTLE),
            "workload": s.workload(gt.workload.marginals(["region"])).answer(mu="1e-9", rows_per_person=3),
            "frame": s.table().join("zones", on="region", column="zone").derive(y=gt.col("x") * 2),
            "grouped": framed,
            "frame's query": framed.agg(n=gt.count(), m=gt.mean("x")),
            "errors": refusals(s, monkeypatch),
        }
        assert leaks(roots) == []


def test_no_public_name_leads_from_weights_to_rows_or_exact_counts() -> None:
    with session(unit=gt.ROW) as s:
        asked = s.weights(["region"])
        weights = asked.answer(rho="1e-18")
        counts = [weights.count({"region": "north"}), weights.answers(), s.release(weights.release_id)]
        assert leaks({"asked": asked, "quote": asked.quote(rho="1e-18"), "weights": weights, "counts": counts}) == []


def test_a_closed_session_leads_nowhere_either() -> None:
    s = session()
    s.close()
    assert leaks({"session": s, "query": s.sql("SELECT COUNT(*) AS n FROM t")}) == []


class Shown:
    """Has something at a public name."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    @property
    def shown(self) -> object:
        return self._thing


class Given:
    """Has something behind a method."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def given(self, _some: int = 3) -> object:
        return [{"inside": self._thing}]


def _failure(text: str) -> BaseException:
    try:
        try:
            raise ValueError(text)  # noqa: TRY301 (what an engine would say)
        except ValueError:
            raise gt.errors.QueryFailed("it failed") from None
    except GiveOrTakeError as error:
        return error


def test_the_walk_finds_what_is_planted() -> None:
    text = "SELECT region, COUNT(*) AS n FROM t GROUP BY region"
    with session(unit=gt.ROW) as s, duckdb.connect() as connection:
        (exact,) = exact_integers(measured(s, text, Spend(epsilon=Fraction(1))), engine_of(s))
        planted = {
            "engine": engine_of(s),
            "ledger": ledger_of(s),
            "connection": connection,
            "sensitive": Sensitive(1),
            "array": exact,
            "number": np.int64(SHARES["south"]),
            "text": f"there are {SHARES['east']} rows",
            "row": ("secret-person-0", 1),
            "context": _failure("cannot convert 'secret-note-1' to INTEGER"),
            "argument": partial(print, engine_of(s)),
        }
        for name, thing in planted.items():
            assert leaks({"planted": Shown(thing)}), name
            assert leaks({"planted": Given(thing)}), name
        assert leaks({"planted": Shown([1, "nothing", 0.5, exact + 10**12])}) == []
