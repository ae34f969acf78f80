"""Exact enumeration: a million paths of coins, and the verdicts that follow from a table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from giveortake import verify
from harness.report import Case, Report, below, slower_at_most, timed

if TYPE_CHECKING:
    from giveortake.verify import Flip


def run(report: Report) -> None:
    coins = 14 if report.quick else 20
    table = verify.program(partial(walk, 12), range(4), neighbours=lambda x, y: y == x + 1)
    report.measure(
        [
            Case(
                f"{2**coins:,} paths of {coins} coins",
                timed(lambda: verify.program(partial(walk, coins), [0]), calls=1, batches=1),
                "the program alone, as often",
                timed(partial(bare, coins), calls=1, batches=1),
                slower_at_most(6) if report.quick else below(10),
            ),
            Case("tight ε of a table", timed(lambda: table.epsilon("1/10"), calls=20, batches=5), goal=below(0.01)),
            Case("its whole curve δ(ε)", timed(table.curve, calls=5, batches=5), goal=below(0.1)),
            Case("100-fold composition", timed(partial(composed, 100), calls=1, batches=3), goal=below(2)),
        ],
        rounds=3,
    )
    report.note("Probabilities are fractions; nothing is sampled and nothing rounded.")


def walk(coins: int, x: int, flip: Flip) -> int:
    for _ in range(coins):
        x += flip()
    return x


def bare(coins: int) -> None:
    """The same calls of the program and of a coin, without keeping track of anything."""

    def flip() -> int:
        return 1

    for _ in range(2**coins):
        walk(coins, 0, flip)  # type: ignore[arg-type]


def composed(times: int) -> None:
    verify.program(lambda x, flip: x if flip() else flip()).repeat(times).epsilon("1e-6")
