"""What a promise means, in the words on which people decide whether to take part."""

from __future__ import annotations

import giveortake as gt


def test_a_weak_promise_is_called_weak() -> None:
    assert "looks almost the same" in gt.PureDP("0.1").explain().plainly
    assert "may look different" in gt.PureDP(1).explain().plainly
    assert "protects" not in gt.PureDP(4).explain().plainly
    assert "protects hardly anybody" in gt.PureDP(6).explain().plainly
    assert "protects nobody" in gt.PureDP(21).explain().plainly


def test_what_is_not_limited_is_said() -> None:
    assert "sets no limit to an attacker's belief" in gt.ApproxDP(5, "0.1").explain().belief
    assert "sets no limit to beliefs" in gt.ApproxDP(1, "1e-4").explain(group=8).group
    assert "promises nothing useful" in gt.ApproxDP(1, "1e-5").explain(group=20).group
    assert "What is not promised" in str(gt.PureDP(1).explain())


def test_a_promise_that_may_fail_or_needs_bounded_attackers_says_so() -> None:
    assert "may fail, with probability 0.001 at most" in str(gt.ApproxDP(1, "1e-6").explain())
    assert "may fail" not in str(gt.PureDP(1).explain())
    assert "computing power is bounded" in str(gt.ComputationalDP(1, "1e-6").explain())
    assert "however long they compute" in str(gt.PureDP(1).explain())


def test_entries_that_change_are_guessed_as_entries() -> None:
    guessing = gt.PureDP("0.1", neighbours="change-one").explain().guessing
    assert "whether your entry is this or that" in guessing
    assert "outsiders" not in guessing
