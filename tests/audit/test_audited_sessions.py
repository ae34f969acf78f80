"""Sessions under audit: the pipeline is as declared on generated tables, mistakes are found, live data is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import giveortake as gt
from giveortake import audit
from giveortake.audit import sessions
from giveortake.audit.sessions import Sessions
from giveortake.compile.sensitivity import Stability
from giveortake.engines import Bounding
from giveortake.engines.duckdb import engine as own_statements
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.sql import statements
from giveortake.engines.sql.dialect import Dialect
from giveortake.errors import GiveOrTakeError, InvalidParameter, QueryRefused
from giveortake.mechanisms.histogram import DiscoveredHistogram
from giveortake.privacy.events import Repeated
from giveortake.session import Session
from giveortake.session.kinds.queries import BoundQuestions
from inside import engine_of, ledger_of
from tiers import tiered

SUSPECTS = ["declared keys", "sum", "number of rows", "found keys", "median", "distinct text by key"]


def _replayed(mode: str, names: list[str] = SUSPECTS, *, pairs: int = 3, seed: int = 0) -> audit.Replay:
    made = sessions.DECLARATIONS[mode]
    every = {**sessions.OF_ROWS, **sessions.OF_PERSONS}
    tables = sessions.generated_neighbours(made, pairs, seed=seed)
    return audit.replay(made, [every[name] for name in names], tables=tables, neighbours=made.neighbours)


def _observed(mode: str, names: list[str], pairs: int = 4) -> audit.Observations:
    made = sessions.DECLARATIONS[mode]
    every = {**sessions.OF_ROWS, **sessions.OF_PERSONS, **sessions.REFUSED}
    tables = sessions.generated_neighbours(made, pairs)
    return audit.observations(made, [every[name] for name in names], tables=tables, neighbours=made.neighbours)


@pytest.mark.parametrize("mode", sessions.DECLARATIONS)
def test_every_shape_moves_by_no_more_than_is_declared(mode: str) -> None:
    persons = list(sessions.OF_PERSONS) if sessions.DECLARATIONS[mode].by_person else []
    names = [*sessions.OF_ROWS, *persons]
    assert len(names) >= 35
    report = _replayed(mode, names, pairs=tiered(1, 2), seed=7)
    assert report.excesses == ()
    assert len(report.nearest) == len(names)
    assert max(report.nearest.values()) == 1  # and some reach it


@pytest.mark.parametrize("mode", sessions.DECLARATIONS)
def test_status_text_charge_and_shape_are_equal_on_neighbours(mode: str) -> None:
    pairs = tiered(1, 2)
    report = _observed(mode, [*SUSPECTS, *sessions.REFUSED], pairs=pairs)
    assert report.differences == ()
    assert report.pairs == pairs * (len(SUSPECTS) + len(sessions.REFUSED))


def test_a_missing_key_that_noise_may_hide_is_no_difference_between_neighbours() -> None:
    base = [{"user_id": row, "group": None if row < 12 else "a", "value": 1.0} for row in range(60)]
    pairs = [audit.NeighbouringTables(base, base[1:], "one person more")] * tiered(4, 12)
    made = Sessions(caps={"groups_per_person": 1, "rows_per_group": 1})
    seen = audit.observations(made, ['SELECT "group", COUNT(*) AS n FROM data GROUP BY "group"'], tables=pairs)
    assert not seen.differences


def test_observations_tell_what_was_seen() -> None:
    subject = sessions.DECLARATIONS["persons, add-remove"]([{"p": 1, "x": 2.0, "r": "north"}])
    answered = subject.observe(sessions.OF_ROWS["declared keys"])
    assert answered.status == "answered"
    assert answered.shape == [("r", "text", False), ("a", "integer", True), ("s", "float", True), 3]
    assert "laplace" in repr(answered.charge)
    refused = subject.observe(sessions.REFUSED["refused: unknown column"])
    assert refused.status == "refused: QueryRefused"
    assert refused.charge[0] == []
    subject.close()


def test_trees_are_recorded_level_by_level_and_found_keys_with_their_units() -> None:
    subject = sessions.DECLARATIONS["persons, add-remove"](
        [{"p": 1, "x": 2.0, "y": 11.0, "q": "q0"}, {"p": 2, "y": 11.0, "q": "q0"}]
    )
    levels = [each for each in subject.run(sessions.OF_ROWS["median"]) if each.norm == "l1"]
    assert len(levels) == 3
    assert all(sum(each.exact.values()) == 64 * 1024 for each in levels)  # one value of one person, in parts
    units = next(iter(subject.run(sessions.OF_ROWS["found keys"])))
    assert units.exact == {("q0",): 2}
    subject.close()


def test_a_factory_works_with_the_usual_generated_tables() -> None:
    made = Sessions(domains={"value": (0, 10)}, caps={"groups_per_person": 1, "rows_per_group": 1})
    tables = list(audit.random_neighbours(3))
    assert audit.replay(made, ["SELECT SUM(value) AS s FROM data"], tables=tables)
    assert audit.observations(made, ["SELECT SUM(value) AS s FROM data"], tables=tables)


# -- mistakes that are planted ------------------------------------------------------------------------------------


def _halved(patch: pytest.MonkeyPatch) -> None:
    sound = Stability.sensitivity
    patch.setattr(Stability, "sensitivity", lambda *a, **k: tuple(each / 2 for each in sound(*a, **k)))


def _uncapped(patch: pytest.MonkeyPatch) -> None:
    for name in ("tally_statement", "bins_statement", "distinct_statement"):
        sound = getattr(statements, name)

        def statement(printer: Any, asked: Any, coded: Any, sound: Any = sound) -> str:
            bounding = None if asked.bounding is None else Bounding(10**6, 10**6)
            return str(sound(printer, replace(asked, bounding=bounding), coded))

        patch.setattr(statements, name, statement)


def _unclamped(patch: pytest.MonkeyPatch) -> None:
    def steps(_dialect: Dialect, column: str, _kind: Any, quantum: Any) -> str:
        real = f"least(greatest(CAST({column} AS DOUBLE), -1e9), 1e9)"
        return f"CAST(floor({real} * {float(1 / quantum.granularity)!r} + 0.5) AS HUGEINT)"

    patch.setattr(fast_paths, "steps_before_shift", steps)


def _any_number_of_keys(patch: pytest.MonkeyPatch) -> None:
    sound = own_statements.persons_statement
    patch.setattr(
        own_statements,
        "persons_statement",
        lambda printer, persons, coded, weights=None: sound(printer, replace(persons, groups=1000), coded, weights),
    )


def _rows_unlimited(patch: pytest.MonkeyPatch) -> None:
    def prepare(self: DuckDBEngine, relation: Any) -> None:
        from giveortake.engines.sql.printer import bounded_name  # noqa: PLC0415

        for scan in relation.scans():
            self._sources[bounded_name(scan)] = self._sources[scan.table.name]

    patch.setattr(DuckDBEngine, "_prepare", prepare)


MISTAKES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "sensitivities are halved, for rows": ("rows, add-remove", _halved),
    "sensitivities are halved, for a changed person": ("persons, change-one", _halved),
    "caps are ignored": ("persons, add-remove", _uncapped),
    "numbers are not clamped": ("rows, add-remove", _unclamped),
    "numbers of a changed row are not clamped": ("rows, change-one", _unclamped),
    "a person has any number of keys": ("persons, add-remove", _any_number_of_keys),
    "rows of a person are not limited": ("few rows, add-remove", _rows_unlimited),
}


@pytest.mark.parametrize(
    "name",
    tiered(["sensitivities are halved, for rows", "caps are ignored", "numbers are not clamped"], list(MISTAKES)),
)
def test_planted_mistakes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mode, plant = MISTAKES[name]
    plant(monkeypatch)
    found = next((report for seed in range(8) if not (report := _replayed(mode, seed=seed))), None)
    assert found is not None
    assert "declared" in str(found.excesses[0])


def _number_of_rows(session: Any) -> int:
    return _rows_in(engine_of(session))


def _rows_in(engine: Any) -> int:
    ((count,),) = engine._connection.execute(f"SELECT count(*) FROM {engine._sources['data']}").fetchall()
    return int(count)


def test_a_text_that_depends_on_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def talkative(self: Session, _: str) -> None:
        raise QueryRefused(f"the table has {_number_of_rows(self)} rows")

    monkeypatch.setattr(Session, "sql", talkative)
    assert "text is" in str(_observed("rows, add-remove", ["sum"]))


def test_a_charge_that_depends_on_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = BoundQuestions.event

    def counting(self: BoundQuestions, measurements: Any) -> Any:
        return Repeated(sound(self, measurements), 1 + _rows_in(self.mechanism.engine))

    monkeypatch.setattr(BoundQuestions, "event", counting)
    assert "charge is" in str(_observed("rows, add-remove", ["sum"]))


def test_a_shape_that_depends_on_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Session.sql
    limited = "SELECT r, SUM(x) AS a FROM data GROUP BY r ORDER BY r LIMIT {}"
    monkeypatch.setattr(
        Session, "sql", lambda self, _: sound(self, limited.format(1 if _number_of_rows(self) % 2 else 2))
    )
    assert "shape is" in str(_observed("rows, add-remove", ["declared keys"]))


def test_how_many_keys_were_found_is_released_and_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscoveredHistogram, "select", lambda self, found, _entropy=None: found.open(self)[0])
    assert _observed("rows, add-remove", ["found keys"])


# -- what is never audited ----------------------------------------------------------------------------------------

PLAIN = Sessions(domains={"value": (0, 10)}, caps={"rows_per_person": 1})


def _live(folder: Path) -> dict[str, Any]:
    session = gt.protect(
        gt.answers.Answer([gt.answers.Column("user_id", [1, 2]), gt.answers.Column("value", [1.0, 2.0])]),
        unit="user_id",
        budget=gt.PureDP(1),
        ledger=folder / "live.db",
    )
    return {
        "session": session,
        "engine": engine_of(session),
        "ledger": ledger_of(session),
        "path": str(folder / "live.db"),
    }


@pytest.mark.parametrize("what", ["session", "engine", "ledger", "path"])
def test_what_is_live_is_refused(what: str, tmp_path: Path) -> None:
    live = _live(tmp_path)
    asked = ["SELECT SUM(value) AS s FROM data"]
    with live["session"]:
        cell = [[{"value": live[what]}]] if what != "path" else []  # a path in a cell is a text, and never opened
        for given in (live[what], [live[what]], *cell):
            with pytest.raises(InvalidParameter, match="generated table"):
                PLAIN(given)
            with pytest.raises(InvalidParameter):
                replace(PLAIN, public={"zones": given})([])
        for look in (audit.replay, audit.observations):
            with pytest.raises(InvalidParameter, match="generated"):
                look(live[what], asked)
            with pytest.raises(GiveOrTakeError):
                look(lambda _: live[what], asked)


def test_a_row_of_no_declared_table_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="elsewhere"):
        PLAIN([{"table": "elsewhere", "user_id": 1}])
    with pytest.raises(InvalidParameter, match="public"):
        replace(PLAIN, public={"zones": []})([])


def test_a_subject_asks_a_session_of_its_own_and_lets_it_go() -> None:
    rows: list[dict[str, Any]] = [{"user_id": 1, "group": "a", "value": 5.0}]
    subject = PLAIN(rows)
    (one, _) = subject.run("SELECT SUM(value) AS s FROM data")
    rows[0]["value"] = 1.0
    subject.close()
    (two, _) = subject.run("SELECT SUM(value) AS s FROM data")
    assert one == two
    assert subject._session is not None
    assert not subject._session.durable
    subject.close()
    subject.close()
    assert subject._session is None


def test_nothing_prices_what_adds_no_noise() -> None:
    with pytest.raises(GiveOrTakeError, match="no price"):
        audit.sessions._Bare().event()
