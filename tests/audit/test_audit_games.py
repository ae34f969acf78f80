from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from pipelines import Pipeline, Rows

import giveortake as gt
from cases import all_cases
from giveortake import audit
from giveortake.audit.adversaries import ALL, Repeater, Shamer, coin
from giveortake.audit.game import Adversary, Round
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.mechanisms import Laplace, RandomizedResponse
from statistics_of_draws import ALPHA
from tiers import tiered

CONFIDENCE = 1 - ALPHA


@pytest.mark.statistical
@all_cases("adversary", ALL)
@all_cases("budget", [gt.PureDP(1), gt.ApproxDP(1, "1e-2")])
def test_no_shipped_adversary_beats_a_filter(adversary: Adversary, budget: gt.privacy.Guarantee) -> None:
    """[Rot11, Algorithm 1]."""
    found = audit.play(adversary, budget, rounds=tiered(8, 16), trials=400, confidence=CONFIDENCE)
    assert not found.violated
    assert found.advantage <= found.promised_advantage


@pytest.mark.statistical
def test_an_adversary_wins_against_a_guard_that_admits_everything() -> None:
    class Generous:
        budget = gt.PureDP(1)

        def charge(self, event: object) -> None:
            """Nothing is counted."""

    found = audit.play(Repeater(Fraction(1, 2)), Generous, rounds=16, trials=3000, confidence=CONFIDENCE)
    assert found.violated
    assert found.advantage > found.promised_advantage
    assert "VIOLATED" in str(found)
    assert found.admitted == 16


def test_a_function_of_the_view_is_an_adversary_too() -> None:
    seen: list[int] = []

    def curious(view: list[Round]) -> object:
        seen.append(len(view))
        if view and view[-1].refused:
            return None
        return coin(Fraction(2, 5)) if view else (0, 1, RandomizedResponse("2/5", (0, 1)))

    found = audit.play(curious, gt.accounting.filter(gt.PureDP(1)), rounds=5, trials=400, confidence=CONFIDENCE)
    assert found.admitted == 2
    assert max(seen) == 3
    assert not found.violated


def test_a_move_may_be_any_mechanism_and_its_evidence_is_nearness() -> None:
    mechanism = Laplace(1)
    move = audit.Move(10, 11, mechanism, mechanism.event())
    assert isinstance(move.answer(1), int)
    assert move.evidence(20) == 1
    assert audit.Move("a", "b", str, mechanism.event()).evidence("b") == 1
    assert repr(audit.REFUSED) == "<refused>"


def test_the_shamer_keeps_the_promise_that_it_pays_for() -> None:
    move = Shamer().move([])
    assert move is not None
    finding = audit.check(move.mechanism, 0, 1, gt.ApproxDP("1/20", "1/1000"), samples=20_000, confidence=CONFIDENCE)
    assert finding


@all_cases(("adversary", "guard"), [(7, gt.PureDP(1)), (Repeater(), 7)])
def test_what_cannot_play_is_refused(adversary: object, guard: object) -> None:
    with pytest.raises(InvalidParameter):
        audit.play(adversary, guard, trials=400)


def test_replay_never_runs_on_what_is_durable_or_shared() -> None:
    class Durable(Pipeline):
        durable = True

    with pytest.raises(GiveOrTakeError, match="durable"):
        audit.replay(Durable, ["sum"])
    one = Pipeline([])
    with pytest.raises(InvalidParameter, match="twice"):
        audit.replay(lambda rows: one, ["sum"])


def test_replay_hands_out_copies_of_generated_tables_only() -> None:
    def vandal(rows: Rows) -> Pipeline:
        for row in rows:
            row["user_id"] = 0
        return Pipeline([])

    pairs = list(audit.random_neighbours(20))
    before = repr(pairs)
    report = audit.replay(vandal, ["sum"], tables=pairs)
    assert repr(pairs) == before
    assert report
    assert "no proof" in str(report)


def test_generated_neighbours_are_what_they_say() -> None:
    for pair in audit.random_neighbours(60):
        people = [{row["user_id"] for row in rows} for rows in (pair.x, pair.y)]
        if pair.equal:
            assert sorted(map(repr, pair.x)) == sorted(map(repr, pair.y))
        elif pair.kind == "one person more":
            assert len(people[0] - people[1]) == 1
        else:
            assert people[0] == people[1]
    assert repr(list(audit.random_neighbours(9))) == repr(list(audit.random_neighbours(9)))


def test_replay_knows_both_notions_of_neighbour_and_both_norms() -> None:
    class Euclid(Pipeline):
        def run(self, query: str) -> list[audit.Recorded]:
            pair = [len(self.contributions())] * 2
            return [audit.Recorded(pair, 1.5, 1, "twice", norm=query)]  # type: ignore[arg-type]

    assert audit.replay(Euclid, ["l2"])
    assert not audit.replay(Euclid, ["l1"])
    assert audit.replay(Euclid, ["l1"], neighbours="change-one")
    assert "changes by 2 where 1.5 is declared" in str(audit.replay(Euclid, ["l1"]))


def test_observations_name_what_differs() -> None:
    class Shouting(Pipeline):
        def observe(self, query: str) -> audit.Observation:
            return audit.Observation("answered", text=f"{len(self.rows)} rows")

    report = audit.observations(Shouting, ["sum"])
    assert not report
    assert "text is" in str(report)
    assert audit.observations(Shouting, ["sum"], tables=[p for p in audit.random_neighbours(30) if p.equal])


@pytest.mark.statistical
def test_what_an_adversary_keeps_between_games_tells_nothing() -> None:
    """It counts its games, and says that the later ones are experiment 1: once, all of experiment 1 came later."""

    @dataclass
    class Counting:
        games: int = 0

        def move(self, view: Sequence[Round]) -> audit.Move | None:
            self.games += not view
            return None

        def score(self, view: Sequence[Round]) -> float:
            return float(self.games)

    made = Counting()
    found = audit.play(made, gt.PureDP("1/10"), rounds=2, trials=400, confidence=CONFIDENCE)
    assert found
    assert made.games == 0

    games = [0]

    def leaking(view: Sequence[Round]) -> None:
        games[0] += not view

    leaking.score = lambda view: float(games[0])  # type: ignore[attr-defined]
    assert audit.play(leaking, gt.PureDP("1/10"), rounds=2, trials=400, confidence=CONFIDENCE)
    assert games[0] >= 800


def test_long_arrays_are_compared_to_the_last_number() -> None:
    class Long:
        def __init__(self, rows: Rows) -> None:
            self.rows = rows

        def observe(self, query: object) -> audit.Observation:
            shape = np.zeros(5000)
            shape[2500] = len(self.rows)
            return audit.Observation("ok", shape=shape)

    assert not audit.observations(Long, ["q"], tables=list(audit.random_neighbours(6)))
