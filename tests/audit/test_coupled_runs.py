"""Every kind of request, in coupled runs on neighbouring tables; and mistakes, which the harness finds."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mistakes import ANYWHERE, BY_KIND, IN_THE_GATE, SHOWN_BY, SOMEWHERE, is_found

from engine_places import OTHERS as PLACES
from engine_places import place
from evil_tables import SCHEMAS, frame
from giveortake.audit.cases import OTHERS, queries
from giveortake.audit.conformance import DECLARATIONS, Report, compare, conform
from giveortake.audit.coupling import charged, coupled
from giveortake.audit.neighbours import Row, Table, random_rows
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.mechanisms import Laplace, Sensitive
from giveortake.session.requests import Request
from replay import Revealing
from tiers import is_long, tiered

EVERYTHING = [*queries(), *OTHERS]


ONLY_HERE = {"output perturbation", "descent by trusted code"}  # which other engines refuse


def stored(name: str, rows: Sequence[Row]) -> Any:
    """Rows in a Polars table, which has decimals, and dates that Python has not."""
    return frame(rows, SCHEMAS[name])


def _kinds(request: type[Any]) -> set[str]:
    own = {request.kind} if "kind" in vars(request) else set()
    return own.union(*(_kinds(inner) for inner in request.__subclasses__()))


def test_every_registered_kind_of_request_is_in_the_harness() -> None:
    kinds = _kinds(Request) | {"fit", "synthesis"}
    assert kinds <= {case.kind for case in EVERYTHING}


@pytest.mark.parametrize("declaration", DECLARATIONS)
def test_neighbours_lose_no_more_than_is_charged_and_look_alike(declaration: str) -> None:
    chosen = {declaration: DECLARATIONS[declaration]}
    report = conform(
        EVERYTHING, chosen, tables=tiered(1, 2), neighbours=tiered(1, 3), seed=8, every=tiered(9, 1), place=stored
    )
    assert report.violations == []
    assert report.draws["query"] > report.compared["query"] / 2
    assert max(report.nearest.values()) > 0.5  # and something comes near


@pytest.mark.parametrize("change", ["add-remove", "change-one"])
def test_every_kind_is_answered_and_draws(change: str) -> None:
    for kind, cases in BY_KIND.items():
        unit, spend = SHOWN_BY.get(kind, ("rows", "(ε, δ)"))
        chosen = {unit: DECLARATIONS[f"{unit}, {change}"]}
        report = conform([replace(case, spends=(spend,)) for case in cases[:1]], chosen, seed=1)
        assert report.violations == []
        assert report.refused[kind] == 0 < report.draws[kind]


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in ANYWHERE for kind in sorted(BY_KIND)] if is_long() else IN_THE_GATE
)
def test_mistakes_anywhere_are_found_in_every_kind(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ANYWHERE[name](monkeypatch)
    declaration, spend = SHOWN_BY.get(kind, ("rows", "(ε, δ)"))
    cases = [case for case in BY_KIND[kind] if spend in case.spends]
    assert is_found(cases, f"{declaration}, add-remove", spend=spend)


@pytest.mark.parametrize("name", list(SOMEWHERE) if is_long() else list(SOMEWHERE)[::6])
def test_mistakes_somewhere_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declaration, mistake, cases = SOMEWHERE[name]
    mistake(monkeypatch)
    chosen = declaration if ", " in declaration else f"{declaration}, add-remove"
    assert is_found(cases, chosen, seeds=40)


def _placed(where: str, request: pytest.FixtureRequest) -> Callable[[str, Sequence[Row]], Any]:
    put = place(where, request)
    return lambda name, rows: put(name, stored(name, rows))


@pytest.mark.parametrize("where", PLACES)
def test_every_kind_has_the_same_integers_and_words_on_every_engine(where: str, request: pytest.FixtureRequest) -> None:
    report, dice = Report(), random.Random("engines")  # noqa: S311 (which rows are tried need not be secret)
    few = where == "spark" and not is_long()
    for name in ("few rows, add-remove",) if few else ("rows, change-one", "few rows, add-remove"):
        rows = [row for person in range(9) for row in random_rows(dice, person)]
        table = Table(tuple({**row, "q": (row["q"] or "").replace("\0", "") or None} for row in rows))
        declared = DECLARATIONS[name]
        with (
            declared.session(table, _placed("duckdb", request)) as one,
            declared.session(table, _placed(where, request)) as two,
        ):
            for cases in BY_KIND.values():
                for case in cases[:1] if few else [case for case in cases if case.name not in ONLY_HERE]:
                    spend = case.spends[1 % len(case.spends)]
                    report.add(where, compare(case, spend, one, two, same=True))
    assert report.violations == []
    assert set(report.draws) >= set(BY_KIND)


def test_a_durable_session_is_never_compared(tmp_path: Path) -> None:
    declared, table = DECLARATIONS["rows, add-remove"], Table(())
    with declared.session(table, ledger=tmp_path / "live.ledger") as live, declared.session(table) as made:
        for pair in ((live, made), (made, live)):
            with pytest.raises(GiveOrTakeError, match="durable"):
                compare(EVERYTHING[0], "ε", *pair)
    with pytest.raises(InvalidParameter):
        declared.session([{"p": 1}])  # type: ignore[arg-type]  # (rows of a list are not generated)


def test_another_thread_draws_as_ever_while_a_thread_is_coupled() -> None:
    released: list[int] = []
    with coupled(object()) as first:
        Laplace(10**9).release(Sensitive(0))
    with coupled(object(), first) as second:
        assert Laplace(10**9).release(Sensitive(7)) == first.draws[0].released
        thread = threading.Thread(target=lambda: released.append(Laplace(10**9).release(Sensitive(7))))
        thread.start()
        thread.join()
    assert (len(first.draws), len(second.draws)) == (1, 1)
    assert released != [first.draws[0].released]  # by chance less than once in 10⁹
    assert second.loss(first) == charged(Laplace(10**9).event(7))
    assert Laplace(10**9).release(Sensitive(7)) != first.draws[0].released


def test_what_opens_a_value_and_is_no_known_mechanism_is_a_violation() -> None:
    with coupled(object()) as one:
        Revealing().release(Sensitive(5))
    assert "Revealing" in " ".join(one.differences(one))
