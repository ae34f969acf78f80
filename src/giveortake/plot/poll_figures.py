"""The two figures of [Lal20]: what a promise does to beliefs, and what it costs in precision."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.exact import shown
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.exact import Number

_STEPS = 100
_DASHES = [[1, 0], [8, 3], [3, 3], [1, 3], [10, 3, 2, 3], [6, 2, 2, 2, 2, 2]]  # they differ without colour
_GREYS = ["#000000", "#222222", "#444444", "#666666", "#777777", "#888888"]
_FINEST = 0.0005
_SIZE = {"width": 420, "height": 320}


def poll_beliefs(epsilons: Sequence[Number]) -> Any:
    """Figure 1: between which bounds a belief moves, for every prior belief and several ε [Lal20, eq. 5].

    >>> type(gt.plot.poll_beliefs([1, 2])).__name__
    'Chart'
    """
    altair = _altair()
    names = [f"ε = {shown(Fraction(str(epsilon)))}" for epsilon in epsilons]
    rows = []
    for name, epsilon in zip(names, epsilons, strict=True):
        promise = None if Fraction(str(epsilon)) == 0 else PureDP(epsilon)
        for step in range(_STEPS + 1):
            prior = Fraction(step, _STEPS)
            low, high = (prior, prior) if promise is None else promise.posterior(prior)
            rows += [
                {"prior": float(prior), "posterior": float(end), "promise": name, "end": f"{name} {which}"}
                for which, end in (("low", low), ("high", high))
            ]
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_line(strokeWidth=1.6)
        .encode(
            x=altair.X("prior:Q", title="belief before", scale=altair.Scale(domain=[0, 1])),
            y=altair.Y("posterior:Q", title="belief after: lowest and highest", scale=altair.Scale(domain=[0, 1])),
            detail="end:N",
            strokeDash=_dashes(altair, names),
            color=_greys(altair, names),
        )
        .properties(**_SIZE)
    )


def uncertainty(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Any:
    """Figure 2: how wide an interval is for every number of respondents; one curve for each promise.

    >>> type(gt.plot.uncertainty({"ε = 1": [(100, 0.2), (1_000, 0.06)]})).__name__
    'Chart'
    """
    altair = _altair()
    names = list(curves)
    rows = [{"n": n, "margin": margin, "promise": name} for name, points in curves.items() for n, margin in points]
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_line(strokeWidth=1.6, clip=True)
        .encode(
            x=altair.X("n:Q", title="respondents", scale=altair.Scale(type="log"), axis=_decades(altair, 1, 9, ",.0f")),
            y=altair.Y(
                "margin:Q",
                title="margin of the share, ±",
                scale=altair.Scale(type="log", domain=[_FINEST, 1]),
                axis=_decades(altair, -6, 1, "~g"),
            ),
            strokeDash=_dashes(altair, names),
            color=_greys(altair, names),
        )
        .properties(**_SIZE)
    )


def _altair() -> Any:
    import altair  # noqa: PLC0415 (heavy)

    return altair


def _decades(altair: Any, first: int, end: int, form: str) -> Any:
    return altair.Axis(values=[10.0**power for power in range(first, end)], format=form)


def _dashes(altair: Any, names: list[str]) -> Any:
    dashes = [_DASHES[place % len(_DASHES)] for place in range(len(names))]
    scale = altair.Scale(domain=names, range=dashes)
    return altair.StrokeDash("promise:N", title=None, sort=names, scale=scale, legend=altair.Legend(symbolSize=1600))


def _greys(altair: Any, names: list[str]) -> Any:
    greys = [_GREYS[place % len(_GREYS)] for place in range(len(names))]
    return altair.Color("promise:N", title=None, sort=names, scale=altair.Scale(domain=names, range=greys))
