"""The keyword arguments that state an answer's price: the same for all questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from giveortake.exact import Number


class SpendTerms(TypedDict, total=False):
    """What an answer may cost, and how sure its intervals are. One spend is stated, or a margin, or a share.

    - `epsilon`: a pure ε, kept by Laplace noise; with `delta` an (ε, δ), kept by Gaussian noise
    - `rho`: a zero-concentrated ρ, kept by Gaussian noise
    - `mu`: a Gaussian μ, kept by Gaussian noise
    - `margin`: instead of a spend, the least spend at which no column's interval is wider to either side
    - `share`: instead of a spend, a share of the whole budget, such as "1/10": shares that add up to one fit it
    - `confidence`: of every interval; 0.95 unless stated
    - `confidence_over`: "cell" if every interval holds with that confidence, "answer" if all do together; "cell" unless
      stated
    - `key_delta`: the δ for finding keys in the data; unless stated, a tenth of the budget's δ for keys, or the
      best part of `delta` if that is less
    - `n`: how many rows a group has, if that is public or was released: means are as sure as it is large
    """

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mu: Number | None
    margin: Number | None
    share: Number | None
    confidence: Number | None
    confidence_over: str | None
    key_delta: Number | None
    n: Number | None


TERMS = tuple(SpendTerms.__annotations__)
