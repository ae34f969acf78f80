"""Oracles for composition: every outcome enumerated, in certified arithmetic of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb, fmpq
from scipy.integrate import quad

from giveortake.exact import precision

Atoms: TypeAlias = dict[Fraction, Any]  # loss → probability, as balls; what is missing to 1 is an infinite loss
BITS = 300


def ball(number: Fraction | int) -> Any:
    return arb(fmpq(Fraction(number).numerator, Fraction(number).denominator))


def randomized_response(epsilon: Fraction, categories: int = 2, leak: Fraction = Fraction(0)) -> Atoms:
    with precision(BITS):
        grown = ball(epsilon).exp()
        total = (grown + categories - 1) / (1 - ball(leak))
        atoms = {epsilon: grown / total, -epsilon: 1 / total}
        return atoms | ({Fraction(0): ball(categories - 2) / total} if categories > 2 else {})


def discrete_laplace(scale: Fraction, steps: int) -> Atoms:
    """Noise k with P[k] ∝ e^(−|k|/scale) on 0 against on `steps`, the two infinite tails summed."""
    with precision(BITS):
        ratio = (-1 / ball(scale)).exp()
        weight = (1 - ratio) / (1 + ratio)
        atoms = {(steps - 2 * k) / scale: weight * ratio**k for k in range(1, steps)}
        return atoms | {steps / scale: 1 / (1 + ratio), -steps / scale: ratio**steps / (1 + ratio)}


def composed(parts: Iterable[tuple[Atoms, int]]) -> Atoms:
    with precision(BITS):
        total: Atoms = {Fraction(0): arb(1)}
        for atoms, times in parts:
            for _ in range(times):
                longer: Atoms = {}
                for loss, mass in total.items():
                    for more, share in atoms.items():
                        longer[loss + more] = longer.get(loss + more, arb(0)) + mass * share
                total = longer
        return total


def delta(atoms: Atoms, epsilon: Fraction) -> Any:
    """δ(ε) = P[∞] + Σ P[L](1 − e^(ε − L)) over L > ε, as a ball."""
    with precision(BITS):
        kept = sum(atoms.values(), arb(0))
        finite = (-mass * ball(epsilon - loss).expm1() for loss, mass in atoms.items() if loss > epsilon)
        return 1 - kept + sum(finite, arb(0))


def delta_of_two(density: Callable[[float], float], tail: Callable[[float], float], ends: tuple[float, float]) -> float:
    """∫ density(x)·tail(x): δ of two releases, given the first one's density and the second one's δ at what is left."""
    value, _ = quad(lambda x: density(x) * tail(x), *ends, limit=400, epsabs=1e-14, epsrel=1e-12)
    return float(value)


def many_responses(epsilon: Fraction, times: int, asked: Fraction) -> Any:
    """δ of many equal responses: Σ C(k, j) p^j (1−p)^(k−j) (1 − e^(ε′ − (2j − k)ε)), each term from the one before."""
    first = int((asked / epsilon + times) // 2) + 1
    with precision(BITS):
        up, down = 1 / (1 + ball(-epsilon).exp()), 1 / (1 + ball(epsilon).exp())
        logs = arb(times + 1).lgamma() - arb(first + 1).lgamma() - arb(times - first + 1).lgamma()
        mass = (logs + first * up.log() + (times - first) * down.log()).exp()
        total, odds = arb(0), up / down
        for j in range(first, times + 1):
            total -= mass * ball(asked - (2 * j - times) * epsilon).expm1()
            mass = mass * odds * (times - j) / (j + 1)
            if mass < 1e-40:
                break
        return total + arb(0, 1e-30)
