"""Allotments compose concurrently, exactly: whoever asks when, all together learn no more than their sum."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

from granted_ledgers import everyone

from giveortake.ledger import Charge, Ledger
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure
from tiers import tiered

UNITS = (1, 2)  # a question costs one or two units of ε = 0.1; its answer moves the likelihood ratio by e^(±ε)

DEPTH = tiered(4, 5)  # with four steps both have used up what they have


def test_two_analysts_who_interleave_as_they_like_learn_no_more_than_the_sum_of_their_allotments() -> None:
    """Every adaptive strategy of that depth, against randomised response: the exact log-likelihood of each transcript.

    A strategy chooses who asks next and how much from the answers so far. The answers are the worst ones, each a step
    of its full ε in one direction or the other; over all strategies that is every word over (who, how much, which way).
    """
    greatest = {"both": 0, "ann": 0, "bob": 0}
    moves = list(itertools.product(("ann", "bob"), UNITS))
    for number, strategy in enumerate(itertools.product(moves, repeat=DEPTH - 1)):
        with everyone(PureDP("0.7"), PureDP("0.3"), "ann", "bob") as ledger:
            loss = {"ann": 0, "bob": 0}
            for step, (who, units) in enumerate((*strategy, moves[number % len(moves)])):
                for each in moves if step == DEPTH - 1 else ():  # a look changes nothing: the last step goes each way
                    if is_admitted(ledger, loss, *each):
                        after = {**loss, each[0]: loss[each[0]] + each[1]}
                        seen = {"both": sum(after.values()), **after}
                        greatest = {name: max(most, seen[name]) for name, most in greatest.items()}
                if is_admitted(ledger, loss, who, units):
                    ledger.reserve(Charge(Pure(Fraction(units, 10)), dataset=f"of {who}", analyst=who))
                    loss[who] += units
            if set(strategy) == {moves[0]}:
                ledger.verify()
    assert greatest == {"both": 6, "ann": 3, "bob": 3}  # of the seven units that the people promised


def is_admitted(ledger: Ledger, loss: dict[str, int], who: str, units: int) -> bool:
    """What a ledger admits, which is what the asker has left: nobody else's choices matter."""
    found = ledger.admits(Pure(Fraction(units, 10)), dataset=f"of {who}", analyst=who)
    assert found == (loss[who] + units <= 3)
    return found


def likely(ratio: Fraction, delta: Fraction) -> dict[str, tuple[Fraction, Fraction]]:
    """The worst mechanism that is (ln ratio, δ)-DP, as the probabilities of its outputs on two neighbours."""
    high, low = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    return {"x": (delta, Fraction(0)), "a": (high, low), "b": (low, high), "y": (Fraction(0), delta)}


def hockey_stick(ratio: Fraction, game: Callable[[tuple[str, ...]], str | None]) -> Fraction:
    """δ at ln ratio, exactly, of the transcripts of a game that chooses which mechanism is asked next."""
    kinds = {"ann": likely(Fraction(2), Fraction(1, 100)), "bob": likely(Fraction(3), Fraction(1, 50))}
    reached: dict[tuple[str, ...], tuple[Fraction, Fraction]] = {(): (Fraction(1), Fraction(1))}
    ended: list[tuple[Fraction, Fraction]] = []
    while reached:
        after = {}
        for transcript, (p, q) in reached.items():
            who = game(transcript)
            if who is None:
                ended.append((p, q))
                continue
            for output, (one, other) in kinds[who].items():
                after[*transcript, f"{who} {output}"] = p * one, q * other
        reached = after
    return sum((max(Fraction(0), p - ratio * q) for p, q in ended), Fraction(0))


def test_concurrent_allotments_keep_the_sum_of_their_epsilons_and_deltas_exactly() -> None:
    """Each analyst's allotment is one worst (ε, δ) mechanism; whoever is asked first, and whether the other is at all,
    depends on what came out: e^Σε = 6, and δ never exceeds the sum of both."""

    def first(who: str, then: Callable[[str], bool]) -> Callable[[tuple[str, ...]], str | None]:
        other = "bob" if who == "ann" else "ann"
        return lambda seen: who if not seen else other if len(seen) == 1 and then(seen[0][-1]) else None

    outputs = "xaby"
    games = [
        first(who, lambda output, chosen=chosen: output in chosen)  # type: ignore[misc]  # (a lambda's default)
        for who in ("ann", "bob")
        for size in range(5)
        for chosen in itertools.combinations(outputs, size)
    ]
    worst = max(hockey_stick(Fraction(6), game) for game in games)
    assert worst <= Fraction(1, 100) + Fraction(1, 50)
    assert max(hockey_stick(Fraction(5), game) for game in games) > Fraction(1, 100) + Fraction(1, 50)  # and not less ε
