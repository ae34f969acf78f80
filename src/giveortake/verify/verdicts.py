"""A claim checked against a table: true with its worst case, or false with a counterexample that people can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.exact import decimal
from giveortake.verify.numbers import Log

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from fractions import Fraction

    from giveortake.verify.numbers import Ratio, StatedEpsilon
    from giveortake.verify.table import Table

_MOST_ROWS, _MOST_COLUMNS, _WIDEST = 24, 8, 28


@final
@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two neighbours and a set of outputs: how likely the set is on each of them."""

    x: Any
    y: Any
    outputs: tuple[Any, ...]
    p: Fraction
    q: Fraction
    remainder: Fraction

    @property
    def ratio(self) -> Ratio:
        """How many times likelier the set is on x than on y."""
        return self.p / self.q if self.q else float("inf")


@final
@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """Whether a mechanism is (ε, δ)-DP: true, false with a counterexample, or not shown, which counts as false."""

    table: Table
    level: StatedEpsilon
    delta: Fraction
    counterexample: Counterexample | None
    worst: Counterexample | None
    is_proved: bool = True

    @property
    def holds(self) -> bool:
        """Whether the claim is true for sure."""
        return self.counterexample is None and self.is_proved

    def __bool__(self) -> bool:
        return self.holds

    @property
    def claim(self) -> str:
        """The claim as a formula."""
        return f"({self.level!r}{f', {self.delta}' if self.delta else ''})-DP"

    def __repr__(self) -> str:
        return f"<{self.headline()}>"

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.reasons()])

    def headline(self) -> str:
        """The verdict in one line."""
        if self.counterexample is None and not self.is_proved:
            cut = exactly(self.table.remainder())
            return f"NOT SHOWN: a probability of {cut} was not enumerated, so {self.claim} is neither true nor false"
        return f"{'true' if self.holds else 'FALSE'}: the mechanism is {'' if self.holds else 'not '}{self.claim}"

    def reasons(self) -> list[str]:
        """Why, as sentences."""
        case = self.counterexample
        if case is None and not self.is_proved:
            return [
                "Enumerate deeper, write endless loops with flip.until, or claim a δ above what was not enumerated."
            ]
        tight = self._tight()
        if case is None:
            if self.worst is None:
                return ["There are no two neighbours with different outputs."]
            if self.delta and not self.level.infinite:
                gain = self.worst.p - self.level.between()[0] * self.worst.q
                if gain > 0:
                    return [tight, f"{_ends(self.worst)}{self._needed(self.worst, gain)}"]
            return [tight, f"{_ends(self.worst)}{_compared(self.worst)}"]
        unknown = self.table.remainder(case.y)
        other = f"({exactly(case.q)} + {exactly(unknown)})" if unknown else exactly(case.q)
        allowed = f"e^ε · {other}" + (f" + {exactly(self.delta)}" if self.delta else "")
        finding = f"on input {case.x!r} the output {_one_of(case.outputs)} has probability {exactly(case.p)}"
        lines = [
            f"Counterexample: {finding}; on its neighbour {case.y!r} it has {exactly(case.q)}.",
            f"The claim allows at most {allowed} = {self._allowed(case)}.",
        ]
        if unknown:
            lines.append(f"That is so even if all that was not enumerated there, {exactly(unknown)}, is in the set.")
        return [*lines, "No counterexample has fewer outputs.", tight]

    def _needed(self, case: Counterexample, gain: Fraction) -> str:
        about = exactly(gain) if self.level.ratio is not None else f"≈{decimal(gain)}"
        return (
            f"the output {_one_of(case.outputs)} has probability {exactly(case.p)} on the first and {exactly(case.q)} "
            f"on the second, {about} more than e^ε times as much, where δ allows {exactly(self.delta)}."
        )

    def _allowed(self, case: Counterexample) -> str:
        if self.level.infinite:
            return "everything"
        _, high = self.level.between()
        allowed = high * (case.q + self.table.remainder(case.y)) + self.delta
        return exactly(allowed) if self.level.ratio is not None else decimal(allowed, 9)

    def _tight(self) -> str:
        if self.delta and self.delta < self.table.remainder():
            return f"The remainder alone is {exactly(self.table.remainder())}."
        if self.table.remainder() > self.delta:
            return "What was cut off may give everything away; ask at a δ above the remainder."
        tight = self.table.epsilon(self.delta)
        digits = "" if tight.ratio in {1, float("inf")} else f" ≈ {float(tight):.6g}"
        return f"The least ε{' at that δ' if self.delta else ''} is {tight!r}{digits}."


def drawn(table: Table) -> str:
    """A table as text: inputs across, outputs down, fractions as they are."""
    inputs, outputs = table.inputs[:_MOST_COLUMNS], table.outputs[:_MOST_ROWS]
    rows = [["output", *map(_short, inputs)]]
    rows += [[_short(output), *(exactly(table.probability(x, output)) for x in inputs)] for output in outputs]
    if table.remainder():
        rows.append(["(cut off)", *(exactly(table.remainder(x)) for x in inputs)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    left_out = len(table.outputs) - len(outputs), len(table.inputs) - len(inputs)
    if any(left_out):
        lines.append(f"… and {left_out[0]} more outputs, {left_out[1]} more inputs")
    return "\n".join(lines)


def exactly(number: Fraction) -> str:
    """A fraction as it is if that is short, otherwise with six digits."""
    text = str(number)
    return text if len(text) <= 15 else f"≈{decimal(number)}"


def _short(value: Hashable) -> str:
    text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _one_of(outputs: Sequence[Any]) -> str:
    if len(outputs) == 1:
        return _short(outputs[0])
    listed = ", ".join(_short(output) for output in outputs[:6])
    return f"in {{{listed}{', …' if len(outputs) > 6 else ''}}}"


def _ends(case: Counterexample) -> str:
    return f"Worst pair of inputs: {case.x!r} and {case.y!r}; "


def _compared(case: Counterexample) -> str:
    ratio = Log(case.ratio)
    times = "infinitely many" if case.ratio == float("inf") else exactly(ratio.ratio)  # type: ignore[arg-type]  # (finite, so that there is one)
    return (
        f"the output {_one_of(case.outputs)} has probability {exactly(case.p)} on the first and {exactly(case.q)} on "
        f"the second, {times} times."
    )
