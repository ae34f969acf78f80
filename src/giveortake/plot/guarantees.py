"""Charts of guarantees and budgets.

- What a guarantee means: beliefs, attackers, groups, many releases, accuracy.
- The two figures of [Lal20]: what a guarantee does to beliefs, and what it costs in precision.
- What is left of budgets, charge by charge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from giveortake import accounting, mechanisms
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import Number, decimal, percent, positive, whole
from giveortake.plot.theme import COLOURS, DASHES, altair, finished, lines, save
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, events
from giveortake.privacy.guarantee import FAILURE, beliefs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


Promises: TypeAlias = "Guarantee | Number | Iterable[Guarantee | Number]"  # a number is the ε of a pure promise

EPSILONS: tuple[Number, ...] = ("0.1", "0.5", 1, 2, 5)
METHODS = {
    "basic": "basic: ε adds up",
    "advanced": "advanced: by Azuma's inequality",
    "optimal": "optimal: from (ε, δ) only",
    "tight": "tight: from the noise itself",
}
_STEPS = 60
_DENSE = sorted(
    {*(Fraction(k, 100) for k in range(101)), *(Fraction(k, 1000) for k in (*range(1, 30, 2), *range(971, 1000, 2)))}
)  # shares, closer together near 0 and 1, where curves are steep
_SHOWN_DELTA = 1e-10
_PEOPLE, _SHARES = [100, 1000, 10_000, 100_000, 1_000_000], [1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7]


def posterior(promises: Promises = EPSILONS) -> Any:
    """Belief after against belief before: everything an attacker can come to think lies between a pair of lines."""
    alt = altair()
    listed = _promises(promises)
    rows = []
    for promise in listed:
        for prior in _DENSE:
            bounds = beliefs(promise, prior) or (Fraction(0), Fraction(1), None)
            for side, value in (("low", bounds[0]), ("high", bounds[1])):
                rows.append({"before": float(prior), "after": float(value), "promise": name(promise), "side": side})
    share = alt.Axis(format="%")
    cautious = any(not isinstance(promise, PureDP) for promise in listed)
    return lines(
        rows,
        x=alt.X("before:Q", title="believed before", axis=share),
        y=alt.Y("after:Q", title="believed after, from – to", axis=share),
        by="promise",
        order=[name(promise) for promise in listed],
        title="How far a belief about you can move",
        subtitle=f"each line may fail, with probability {decimal(FAILURE)} at most" if cautious else None,
    )


def tradeoff(promises: Promises = EPSILONS) -> Any:
    """The best that any attacker can do: true-positive against false-positive rate."""
    alt = altair()
    listed = _promises(promises)
    points = sorted({*_DENSE, *(_kink(promise) for promise in listed)})
    rows = [
        {"fpr": float(fpr), "tpr": float(promise.membership_inference(fpr)), "promise": name(promise), "side": "roc"}
        for promise in listed
        for fpr in points
    ]
    rows += [{"fpr": end, "tpr": end, "promise": "pure guessing", "side": "roc"} for end in (0.0, 1.0)]
    share = alt.Axis(format="%")
    return lines(
        rows,
        x=alt.X("fpr:Q", title="wrongly says that an outsider is in the data", axis=share),
        y=alt.Y("tpr:Q", title="rightly says that you are", axis=share),
        by="promise",
        order=[*(name(promise) for promise in listed), "pure guessing"],
        title="No attacker gets above these lines",
    )


def groups(promise: Guarantee | Number = 1, sizes: Sequence[int] = tuple(range(1, 11))) -> Any:
    """How protection fades with the size of a group: the greatest belief after one of 10 % or 50 % before."""
    alt = altair()
    (single,) = _promises([promise])
    rows = []
    cautious = False
    for size in sizes:
        for prior in (Fraction(1, 10), Fraction(1, 2)):
            try:
                bounds = beliefs(single.group(whole("size", size)), prior)
            except Unprovable:
                bounds = None
            cautious = cautious or (bounds is not None and bounds[2] is not None)
            high = Fraction(1) if bounds is None else bounds[1]
            rows.append({"size": size, "high": float(high), "before": f"{percent(prior)} before", "side": "high"})
    return lines(
        rows,
        x=alt.X("size:Q", title="people who belong together", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("high:Q", title="believed after, at most", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        by="before",
        order=["10 % before", "50 % before"],
        title=f"Groups under {name(single)}",
        subtitle=f"each line may fail, with probability {decimal(FAILURE)} at most" if cautious else None,
    )


def composition(epsilon: Number = "0.1", *, delta: Number = "1e-6", releases: Sequence[int] = ()) -> Any:
    """The ε of many Laplace releases of the same ε, by four theorems."""
    alt = altair()
    event = events.Laplace(1 / positive("epsilon", epsilon))
    counts = releases or (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200)
    rows = []
    for times in counts:
        for method, words in METHODS.items():
            guarantee = accounting.compose([event] * times, delta=delta, method=method)  # type: ignore[arg-type]  # (one of the names there are)
            total = guarantee.epsilon  # type: ignore[attr-defined]  # (at a δ, it has an ε)
            rows.append({"releases": times, "epsilon": float(total), "method": words, "side": "one"})
    return lines(
        rows,
        x=alt.X("releases:Q", title="releases about the same people"),
        y=alt.Y("epsilon:Q", title="ε of all of them"),
        by="method",
        order=list(METHODS.values()),
        title="What many releases cost together",
        subtitle=f"Laplace noise, ε = {decimal(positive('epsilon', epsilon))} each, δ = {delta}",
    )


def accuracy(epsilons: Iterable[Number] = ("0.01", "0.1", 1, 10), people: Sequence[int] = ()) -> Any:
    """The margin of a count, as a share of the people, against how many there are: small data need a large ε."""
    alt = altair()
    listed = [positive("epsilon", epsilon) for epsilon in epsilons]
    counts = people or tuple(round(10 ** (k / 4)) for k in range(8, 25))
    rows = []
    for epsilon in listed:
        margin = mechanisms.margin(0.0, sensitivity=1, epsilon=epsilon)
        for count in counts:
            share = margin / count
            if share <= 1:
                rows.append({"people": count, "share": share, "epsilon": f"ε = {decimal(epsilon)}", "side": "one"})
    return lines(
        rows,
        x=alt.X(
            "people:Q",
            title="people in the data",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", values=_PEOPLE),
        ),
        y=alt.Y(
            "share:Q",
            title="give or take, of all",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~%", values=_SHARES),
        ),
        by="epsilon",
        order=[f"ε = {decimal(epsilon)}" for epsilon in listed],
        title="How exact a count can be",
        subtitle="margin of Laplace noise with 95 %, as a share of the people",
    )


def profile(promises: Promises = EPSILONS, *, most: Number = 6) -> Any:
    """The whole curve δ(ε) of each promise."""
    alt = altair()
    listed = _promises(promises)
    rows = []
    for promise in listed:
        ends = {step * positive("most", most) / _STEPS for step in range(_STEPS + 1)}
        if isinstance(promise, PureDP):  # its curve falls to zero at its own ε
            ends |= {promise.epsilon * (1 - Fraction(1, 10**digits)) for digits in range(1, 11)}
        for epsilon in sorted(ends):
            height = float(promise.delta_at(epsilon))
            if height >= _SHOWN_DELTA:
                rows.append({"epsilon": float(epsilon), "delta": height, "promise": name(promise), "side": "one"})
    return lines(
        rows,
        x=alt.X("epsilon:Q", title="ε"),
        y=alt.Y(
            "delta:Q",
            title="δ",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~e", values=[10.0**-k for k in range(11)]),
        ),
        by="promise",
        order=[name(promise) for promise in listed],
        title="Every (ε, δ) that a promise implies",
    )


def save_explanation(promise: Guarantee, folder: Path, *, suffix: str = "svg") -> list[Path]:
    """All charts that explain one promise, as files in a folder.

    >>> import tempfile
    >>> from pathlib import Path
    >>> paths = gt.plot.save_explanation(gt.PureDP(1), Path(tempfile.mkdtemp()))
    >>> [path.stem for path in paths]
    ['belief', 'attacker', 'groups', 'composition', 'accuracy']
    """
    epsilon = promise.epsilon if isinstance(promise, PureDP | ApproxDP) and promise.epsilon else Fraction(1, 10)
    promises = [promise, *(PureDP(other_epsilon) for other_epsilon in EPSILONS if PureDP(other_epsilon) != promise)]
    charts = {
        "belief": posterior(promises),
        "attacker": tradeoff(promises),
        "groups": groups(promise),
        "composition": composition(epsilon),
        "accuracy": accuracy(sorted({epsilon, Fraction(1, 100), Fraction(1, 10), Fraction(1)})),
    }
    return [save(chart, folder / f"{title}.{suffix}") for title, chart in charts.items()]


def name(promise: Guarantee) -> str:
    """The name of a promise in a legend."""
    if isinstance(promise, PureDP):
        return f"ε = {decimal(promise.epsilon, 4)}"
    if isinstance(promise, ApproxDP):
        return f"ε = {decimal(promise.epsilon, 4)}, δ = {decimal(promise.delta, 3)}"
    if isinstance(promise, GaussianDP):
        return f"μ = {decimal(promise.mu, 4)} (Gaussian)"
    if isinstance(promise, ZCDP):
        return f"ρ = {decimal(promise.rho, 4)} (zCDP)"
    return repr(promise)


def _kink(promise: Guarantee) -> Fraction:
    """Where the line of an (ε, δ) promise bends; ½ for others, whose lines are smooth."""
    if not isinstance(promise, PureDP | ApproxDP):
        return Fraction(1, 2)
    delta = Fraction(0) if isinstance(promise, PureDP) else promise.delta
    return (1 - delta) / (1 + Fraction(math.exp(min(50.0, float(promise.epsilon)))))


def _promises(promises: Promises) -> list[Guarantee]:
    one = isinstance(promises, Guarantee | str) or not isinstance(promises, Iterable)
    listed: list[Any] = [promises] if one else list(promises)  # type: ignore[arg-type]  # (not one, so several)
    return [promise if isinstance(promise, Guarantee) else PureDP(promise) for promise in listed]


_POLL_STEPS = 100
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
    names = [f"ε = {decimal(Fraction(str(epsilon)))}" for epsilon in epsilons]
    rows = []
    for name, epsilon in zip(names, epsilons, strict=True):
        promise = None if Fraction(str(epsilon)) == 0 else PureDP(epsilon)
        for step in range(_POLL_STEPS + 1):
            prior = Fraction(step, _POLL_STEPS)
            low, high = (prior, prior) if promise is None else promise.posterior(prior)
            rows += [
                {"prior": float(prior), "posterior": float(end), "promise": name, "end": f"{name} {side}"}
                for side, end in (("low", low), ("high", high))
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
    dashes = [_DASHES[index % len(_DASHES)] for index in range(len(names))]
    scale = altair.Scale(domain=names, range=dashes)
    return altair.StrokeDash("promise:N", title=None, sort=names, scale=scale, legend=altair.Legend(symbolSize=1600))


def _greys(altair: Any, names: list[str]) -> Any:
    greys = [_GREYS[index % len(_GREYS)] for index in range(len(names))]
    return altair.Color("promise:N", title=None, sort=names, scale=altair.Scale(domain=names, range=greys))


class Budgets(Protocol):
    """What a chart needs of a ledger."""

    def levels(self) -> Sequence[Any]:
        """Every level: its number, its kind and its name."""

    def burn_down(self) -> dict[int, list[tuple[int, Fraction]]]:
        """For the number of each level, how much of its budget was used after which entry."""


def burn_down(ledger: Budgets) -> Any:
    """A chart of what was left of every budget in a ledger after every charge.

    >>> with gt.ledger.open(":memory:") as book:
    ...     people = book.population("people", budget=gt.PureDP(1))
    ...     type(gt.plot.burn_down(book)).__name__
    'Chart'
    """
    alt = altair()
    used = ledger.burn_down()
    levels = [level for level in ledger.levels() if level.number in used]
    if not levels:
        raise InvalidParameter("ledger", ledger, "has no budget that anything was charged to")
    last = max(number for level in levels for number, _ in used[level.number])
    rows: list[dict[str, Any]] = []
    for level in levels:
        points = [(number, float(1 - share)) for number, share in used[level.number]]
        points.append((last, points[-1][1]))  # the line goes on to the last entry
        rows += [{"entry": number, "left": left, "level": f"{level.kind} {level.name}"} for number, left in points]
    names = [f"{level.kind} {level.name}" for level in levels]
    legend = alt.Legend(title=None, symbolStrokeWidth=2, symbolSize=400, labelLimit=260)
    colours = alt.Scale(domain=names, range=[COLOURS[index % len(COLOURS)] for index in range(len(names))])
    dashes = alt.Scale(domain=names, range=[list(DASHES[index % len(DASHES)]) for index in range(len(names))])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("entry:Q", title="entry of the ledger", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("left:Q", title="left of the budget", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("level:N", scale=colours, legend=legend, sort=names),
            strokeDash=alt.StrokeDash("level:N", scale=dashes, legend=legend, sort=names),
        )
    )
    return finished(chart, "What is left of each budget")
