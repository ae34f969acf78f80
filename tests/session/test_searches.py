"""Groups that have to be found: which search is taken, whatever the spelling, and what a quote offers beside it."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib.resources import files
from typing import Any

import pytest

import giveortake as gt
from cases import all_cases
from giveortake.compile import Caps, Terms
from giveortake.configuration import protection_arguments
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.mechanisms import CountedKeys, WeightedKeys
from giveortake.privacy import ApproxDP
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import measured

REASONS = "SELECT reason, COUNT(*) AS n FROM visits GROUP BY reason"
NUMBERS = "SELECT reason, COUNT(*) AS n, AVG(amount) AS m FROM visits GROUP BY reason"


def session(**options: Any) -> Session:
    said: dict[str, Any] = {"unit": "person_id", "rows_per_person": 4, "domains": {"amount": (0, 500)}} | options
    budget = gt.ApproxDP("10", "1e-5")
    visits = files("giveortake") / "data" / "visits.csv"
    return gt.protect(visits, **protection_arguments({"name": "visits", "budget": budget, "ledger": ":memory:"} | said))


def kind_of(quote: gt.session.Quote) -> str:
    """Which noise decides: of counts "Laplace" or "Gaussian", or of weights."""
    (noise,) = set(quote.noise.values()) if len(quote.noise) == 1 else {next(iter(quote.noise.values()))}
    return "weights" if "weight" in str(quote.keys) else noise.partition(" ")[0]


def test_the_commonest_question_has_the_margin_that_its_caps_need() -> None:
    """OpenDP 0.16.0 shows ± 12.5 at the same ε = 1 and δ = 10⁻⁶, with at most four rows of a person."""
    with session() as s:
        quote = s.sql(REASONS).quote(epsilon="1", key_delta="1e-6")
        assert quote.margins == {"n": pytest.approx(4 * math.log(20) + 0.5)}
        answer = s.sql(REASONS).answer(epsilon="1", key_delta="1e-6")
        assert len(answer) >= 10
        assert isinstance(answer.cost, ApproxDP)
        assert answer.cost.epsilon == 1
        assert answer.cost.delta < Fraction(1, 10**6)
        ends: dict[str, Any] = answer.to_dict()
        sure = [high - low for low, high in zip(ends["n_low"], ends["n_high"], strict=True)]
        assert sorted(sure)[len(sure) // 2] == 24  # ± 12 at the middle one


@all_cases("sql", [REASONS, NUMBERS])
def test_more_groups_cost_wider_numbers(sql: str) -> None:
    with session() as s:
        numbers, groups = (s.sql(sql).quote(epsilon=1, delta="1e-6", aim=aim) for aim in ("numbers", "groups"))
        assert kind_of(numbers) == "Gaussian"
        assert kind_of(groups) == "weights"
        assert numbers.margins["n"] < groups.margins["n"]  # type: ignore[operator]  # (both are numbers)
        (way,) = [way for way in numbers.advice if way.terms.get("aim") == "groups"]
        assert (way.margin, way.now) == (groups.margins["n"], numbers.margins["n"])
        assert way.groups is not None
        assert not any("aim" in way.terms for way in groups.advice)


def test_in_a_sum_of_epsilon_a_pair_is_kept_by_laplace_counts_and_gaussian_ones_are_offered() -> None:
    with session(meter="epsilon") as s:
        pair = s.sql(REASONS).quote(epsilon=1, delta="1e-6")
        assert kind_of(pair) == "Laplace"
        assert isinstance(pair.cost, ApproxDP)
        assert pair.cost.epsilon == 1
        assert pair.cost.delta <= 1e-6
        pure = s.sql(REASONS).quote(epsilon=1)
        assert kind_of(pure) == "Laplace"
        (way,) = [way for way in pure.advice if "aim" in way.terms]
        assert way.terms["delta"] == "0.000001"
        assert "ends the sum of ε" in str(way)
        spent = s.budget.status().spent
        many = s.sql(REASONS).quote(epsilon=1, aim="groups")  # which Laplace noise finds: weights would end it
        assert kind_of(many) == "Laplace"
        s.sql(REASONS).answer(epsilon=1, delta="1e-6")
        assert s.budget.status().spent != spent
        assert s.budget.left["ε"] > 0


def test_after_gaussian_noise_a_pure_search_may_be_one_by_weights_that_keeps_its_promise() -> None:
    with session() as s:
        laplace = s.sql(NUMBERS).answer(epsilon="0.5")
        s.sql("SELECT COUNT(*) AS n FROM visits").answer(mu="0.05")  # ends the sum of ε, and shares are of μ² now
        quote = s.sql(REASONS).quote(epsilon=1, key_delta="1e-7", aim="groups")
        assert kind_of(quote) == "weights"
        assert isinstance(quote.cost, ApproxDP)
        assert quote.cost.epsilon == 1
        assert quote.cost.delta == Fraction(1, 10**7)
        assert any("keeps this promise" in note for note in quote.notes)
        answer = s.sql(REASONS).answer(epsilon=1, key_delta="1e-7", aim="groups")
        spent = s.budget.status().spent
        again = s.sql(REASONS).answer(epsilon=1, key_delta="1e-7", aim="groups")
        assert again.to_dict() == answer.to_dict()
        assert s.sql(NUMBERS).answer(epsilon="0.5").to_dict() == laplace.to_dict()  # as it was bought
        assert s.budget.status().spent == spent


def test_a_search_by_other_noise_that_was_paid_for_is_free_after_the_meter_has_ended() -> None:
    with session(meter="epsilon") as s:
        answer = s.sql(REASONS).answer(epsilon=1, delta="1e-6")  # Laplace counts
        s.sql("SELECT COUNT(*) AS n FROM visits").answer(mu="0.05")
        spent = s.budget.status().spent
        assert s.sql(REASONS).answer(epsilon=1, delta="1e-6").to_dict() == answer.to_dict()
        assert s.budget.status().spent == spent


def test_an_aim_is_a_term_of_every_face_and_changes_nothing_where_groups_are_known() -> None:
    with session(domains={"region": ["north", "east"], "amount": (0, 500)}) as s:
        with pytest.raises(InvalidParameter, match="aim") as refused:
            s.sql(REASONS).quote(epsilon=1, aim="rows")
        assert refused.value.name == "aim"
        options = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, aim = 'groups')"
        text = REASONS.replace("SELECT", options)
        assert kind_of(s.sql(text).quote()) == "weights"
        assert kind_of(s.sql(text).quote(aim="numbers")) != "weights"
        known = s.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region")
        answer = known.answer(epsilon="0.1")
        assert known.answer(epsilon="0.1", aim="groups").to_dict() == answer.to_dict()
        assert s.budget.used == mechanism_of(s).standing().share
        with pytest.raises(GiveOrTakeError, match="aim"):
            s.counter("visited", horizon=3).quote(epsilon=1, aim="groups")


def test_thresholds_follow_from_the_public_caps_alone() -> None:
    """So do those of weights, in which a person with one row has one key."""
    counts, weights = (Terms.of({"epsilon": 1, "delta": "1e-6", "aim": aim}).spend for aim in ("numbers", "groups"))
    assert counts is not None
    assert weights is not None
    with session() as s:
        of_caps = [Caps(rows_per_person=1), Caps(2, 1, 4), Caps(2, 2, 4), Caps(rows_per_person=4)]
        selections = [measured(s, REASONS, counts, caps).selection for caps in of_caps]
        found = [selection.mechanism for selection in selections if selection is not None]
        assert all(isinstance(mechanism, CountedKeys) for mechanism in found)
        told = [(each.caps.groups, each.caps.rows, each.caps.total) for each in found]
        assert told == [(1, 1, 1), (2, 1, 2), (2, 2, 4), (4, 4, 4)]
        thresholds = [mechanism.threshold for mechanism in found]
        assert thresholds == sorted(set(thresholds))
        one, several = (measured(s, REASONS, weights, caps).selection for caps in (of_caps[0], of_caps[3]))
        assert one is not None
        assert several is not None
        assert isinstance(one.mechanism, CountedKeys)  # of one key a weight is a count
        assert isinstance(several.mechanism, WeightedKeys)
