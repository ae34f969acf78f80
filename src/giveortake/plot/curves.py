"""Charts of guarantees, of budgets, and of errors.

- What a guarantee means: beliefs, attackers, groups, many releases, accuracy; the margin of a poll.
- What is left of budgets, charge by charge.
- How exact many tables are: those of a workload, and those of a synthetic table.
- The error of a count against the cap on a person's rows: what the noise adds, and what is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from giveortake import accounting, mechanisms
from giveortake.answers.terms import least_error
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import Number, counted, decimal, percent, positive, spendable, whole
from giveortake.plot.theme import COLOURS, altair, finished, lines, save
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
_FINEST = 0.0005  # margin of a share
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
        {"fpr": float(fpr), "tpr": float(promise.membership_inference(fpr)), "promise": name(promise)}
        for promise in listed
        for fpr in points
    ]
    rows += [{"fpr": end, "tpr": end, "promise": "pure guessing"} for end in (0.0, 1.0)]
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
            rows.append({"size": size, "high": float(high), "before": f"{percent(prior)} before"})
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
            rows.append({"releases": times, "epsilon": float(total), "method": words})
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
                rows.append({"people": count, "share": share, "epsilon": f"ε = {decimal(epsilon)}"})
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
                rows.append({"epsilon": float(epsilon), "delta": height, "promise": name(promise)})
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


def uncertainty(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Any:
    """The margin of a share against the number of respondents: one line for each promise.

    >>> type(gt.plot.uncertainty({"ε = 1": [(100, 0.2), (1_000, 0.06)]})).__name__
    'Chart'
    """
    alt = altair()
    rows = [{"n": n, "margin": margin, "promise": name} for name, points in curves.items() for n, margin in points]
    across = alt.Axis(values=[10**power for power in range(1, 9)], format=",.0f")
    up = alt.Axis(values=[10.0**power for power in range(-6, 1)], format="~g")
    return lines(
        rows,
        x=alt.X("n:Q", title="respondents", scale=alt.Scale(type="log"), axis=across),
        y=alt.Y("margin:Q", title="margin, ±", scale=alt.Scale(type="log", domain=[_FINEST, 1]), axis=up),
        by="promise",
        order=list(curves),
        title="How exact a share can be",
        clip=True,
    )


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
    return lines(
        rows,
        x=alt.X("entry:Q", title="entry of the ledger", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("left:Q", title="left of the budget", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        by="level",
        order=[f"{level.kind} {level.name}" for level in levels],
        title="What is left of each budget",
        interpolate="step-after",
    )


_MOST = 40  # tables; of more some are shown, in equal steps


def workloads(lines: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Any:
    """A chart of the standard deviation of a cell of every table, the least first; of many tables, of some of them.

    >>> from importlib.resources import files
    >>> visits = files("giveortake") / "data" / "visits.csv"
    >>> known = {"region": ["north", "east"], "reason": ["pain", "cough"]}
    >>> s = gt.protect(visits, unit="person_id", budget=gt.ZCDP(1), domains=known, rows_per_person=4)
    >>> quote = s.workload(gt.workload.marginals(["region", "reason"])).quote(rho="1/10")
    >>> type(gt.plot.workloads(quote.lines)).__name__
    'Chart'
    """
    ordered = sorted((line for line in lines if line["of"] == "n"), key=lambda line: line["sd"])
    ways = {"sd": "planned together", "equal_sd": "an equal split"}
    dots = [
        (" × ".join(line["table"]) or "total", way, line[column])
        for line in _some(ordered)
        for column, way in ways.items()
    ]
    rms = [math.sqrt(sum(line[column] ** 2 for line in ordered) / len(ordered)) for column in ways]
    tables = counted(len(ordered), "table")
    default_title = f"Noise in a cell of {tables}: deviation {rms[0]:,.4g} rows, {rms[1]:,.4g} by an equal split"
    return _dots(
        dots,
        dict(zip(ways.values(), ("circle", "diamond"), strict=True)),
        "standard deviation of a cell, in rows",
        title or default_title,
    )


def predicted_errors(tables: Sequence[tuple[str, bool, float]], *, title: str | None = None) -> Any:
    """A chart of predicted total variation distances (name, whether measured, distance), measured tables first.

    >>> type(gt.plot.predicted_errors([("age × sex", True, 0.01), ("age × town", False, 0.04)])).__name__
    'Chart'
    """
    ordered = sorted(tables, key=lambda table: (not table[1], table[2]))
    dots = [(name, "measured" if measured else "not measured (≥)", error) for name, measured, error in _some(ordered)]
    count, were = sum(is_measured for _, is_measured, _ in ordered), "was" if len(ordered) == 1 else "were"
    default_title = f"Predicted errors: {count} of {counted(len(ordered), 'table')} {were} measured"
    ways = {"measured": "circle", "not measured (≥)": "triangle-right"}
    return _dots(dots, ways, "predicted total variation distance", title or default_title)


def _some(ordered: list[Any]) -> list[Any]:
    return ordered[:: max(1, math.ceil(len(ordered) / _MOST))]


def _dots(dots: list[tuple[str, str, float]], shapes: dict[str, str], measure: str, title: str) -> Any:
    """A row for each table, and a dot for each way; ways that do not occur are not in the legend."""
    alt = altair()
    names = list(dict.fromkeys(name for name, _, _ in dots))
    ways = {
        way: (shape, colour)
        for (way, shape), colour in zip(shapes.items(), COLOURS[2:0:-1], strict=True)
        if way in {used_way for _, used_way, _ in dots}
    }
    shape, colour = (alt.Scale(domain=list(ways), range=[style[index] for style in ways.values()]) for index in (0, 1))
    chart = (
        alt.Chart(alt.Data(values=[{"table": name, "way": way, "much": amount} for name, way, amount in dots]))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("much:Q", title=measure, scale=alt.Scale(zero=True)),
            y=alt.Y("table:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, grid=True)),
            color=alt.Color("way:N", title=None, sort=list(ways), scale=colour),
            shape=alt.Shape("way:N", title=None, sort=list(ways), scale=shape),
        )
    )
    return finished(chart, title).properties(height=max(120, 18 * len(names)))


_TICKS = [0, *(10**power for power in range(13))]
_BAND = "rows cut, at least and at most"
_PARTS = {"noise": "margin of the noise", "bias": "rows cut, about", "error": "both together"}


class Sizes(Protocol):
    """What a chart needs of a profile."""

    @property
    def table(self) -> str:
        """The table that the profile describes."""

    @property
    def epsilon(self) -> Fraction:
        """The ε that the profile cost."""

    def lines(self, epsilon: Number | None = None) -> list[dict[str, float]]:
        """Noise and bias for every cap on rows."""


def caps(profile: Sizes, *, epsilon: Number | None = None, title: str | None = None) -> Any:
    """A chart of noise and bias of COUNT(*) for every cap on rows, at `epsilon` or at the profile's ε."""
    alt = altair()
    tried = profile.lines(epsilon)
    rows = [{"cap": line["cap"], "rows": line[part], "part": name} for part, name in _PARTS.items() for line in tried]
    axis = alt.Axis(values=[line["cap"] for line in tried], labelOverlap=True)  # whole rows, not what lies between
    cap = alt.X("cap:Q", title="rows of a person that count", scale=alt.Scale(type="log", base=2), axis=axis)
    most = max(line["error"] for line in tried)
    band = [{"part": _BAND, "cap": line["cap"], "low": line["low"], "high": min(line["high"], most)} for line in tried]
    legend = alt.Legend(title=None, symbolType="square", symbolOpacity=0.15, symbolSize=200, labelLimit=260)
    fill = alt.Fill("part:N", scale=alt.Scale(domain=[_BAND], range=[COLOURS[1]]), legend=legend)
    band_chart = (
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.15)
        .encode(x=cap, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), fill=fill)
    )
    best, is_open = least_error(tried)
    spent = decimal(profile.epsilon if epsilon is None else spendable("epsilon", epsilon))
    default_title = f"COUNT(*) of {profile.table} at ε = {spent}: the least error is at {best['cap']:,.0f} rows"
    default_title += ", the last cap tried: a larger one may be better" * is_open
    drawn = lines(
        rows,
        x=cap,
        y=alt.Y("rows:Q", title="rows", scale=alt.Scale(type="symlog"), axis=alt.Axis(values=_TICKS)),
        by="part",
        order=list(_PARTS.values()),
        title="",
    )
    return finished(band_chart + drawn, title or default_title)
