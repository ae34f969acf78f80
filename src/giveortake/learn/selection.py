"""Choosing among models: each candidate is fitted and scored, each fit and each score is a charged release.

Guarantee: candidates are fitted to most persons and scored on those that are held out, a split that is public and
never changes. Every fit is the charge that it is by itself, and every score is one more: the sum over held-out persons
of (gain, 1), of which a person gives `clip` rows' worth at most, with Gaussian noise. What is chosen is the best of
released scores, which is post-processing. All are released: nothing is saved by releasing the best alone. The other
way, one charge for the best of a secret number of trials [PS22], is refused: ADR 37 says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final, get_args

from giveortake.engines import Component
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import open_probability
from giveortake.learn.estimator import Learner
from giveortake.learn.features import complete
from giveortake.learn.lattice import one, value, vector_sum
from giveortake.learn.passes import passes
from giveortake.learn.predictions import can_be_scored, gain
from giveortake.learn.task import Ground, Task
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.passes import Passes
    from giveortake.plan import Expression
    from giveortake.session import Session

Trials = Literal["charged", "secret"]


def select(
    s: Session | frame.Table,
    candidates: Sequence[Learner],
    *,
    held_out: Number = Fraction(1, 5),
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    clip: int | None = None,
    trials: Trials = "charged",
    key: str | None = None,
) -> Selection:
    """Fit every candidate, at its own spend, to most persons, and score it on those that are held out.

    The spend that is stated here is that of each score. All together cost what all fits and all scores do. The best
    score is too optimistic: for what the chosen model is worth, ask about rows that decided nothing.
    """
    if trials not in get_args(Trials):
        raise InvalidParameter("trials", trials, "is unknown", hint='trials="charged": each trial is a release')
    if trials == "secret":
        raise Unprovable(
            "one charge for the best of a secret number of trials needs trials that leave no trace, and every draw is "
            "kept here before it is told",
            hint='trials="charged": each trial is a release of its own',
        )
    if not candidates or not all(isinstance(each, Learner) for each in candidates):
        raise InvalidParameter("candidates", candidates, "needs learners", hint="[Ridge(…), LinearRegression(…)]")
    fitting, scoring = LearningData.of(s).split(open_probability("held_out", held_out))
    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    for each in candidates:
        if not can_be_scored(each.made):
            gain(each)
        each.quote(fitting)  # what cannot be learned is refused before anything is paid
    Ground.of(scoring, said, clip, None)
    scores = []
    for place, each in enumerate(candidates):
        each.fit(fitting, key=None if key is None else f"{key} fit {place}")
        scores.append(_scored(each, scoring, said, clip, None if key is None else f"{key} score {place}"))
    return Selection(tuple(candidates), tuple(scores))


@final
@dataclass(frozen=True, slots=True)
class Score:
    """A released score from 0 to 1, the larger the better, and about how far the noise moves it.

    For classes it is the share that is right; for numbers 1 − the mean distance from the truth over the width.
    """

    value: float
    deviation: float
    release_id: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Fitted candidates and their scores, all of them released; `best` is the one with the best score."""

    candidates: tuple[Learner, ...]
    scores: tuple[Score, ...]

    @property
    def best(self) -> Learner:
        """The candidate with the greatest score."""
        return self.candidates[max(range(len(self.scores)), key=lambda place: self.scores[place].value)]

    def __repr__(self) -> str:
        lines = [
            f"{'→' if each is self.best else ' '} {score.value:.4f} ± {2 * score.deviation:.4f}  {each!r}"
            for each, score in zip(self.candidates, self.scores, strict=True)
        ]
        return "\n".join(lines)


def _scored(learner: Learner, data: LearningData, said: dict[str, Any], clip: int | None, key: str | None) -> Score:
    model = learner.model_
    names = [each.name for each in model.features]
    target = model.target if isinstance(model.target, str) else model.target.name
    ground = Ground.of(data, said, clip, complete(data.schema, [*names, target]))
    task = _ScoreTask(ground, gain(model), target)
    with passes(task.request(), key) as made:
        return task.learn(made)


@final
class _ScoreTask(Task):
    """One pass: the sum of a model's gains on held-out persons, and how many rows they have."""

    stored_name: ClassVar[str] = "_ScoreTask"

    def __init__(self, ground: Ground, gain: Expression, target: str) -> None:
        self.ground, self._gain, self._target = ground, gain, target
        self.shares = {"gain": Fraction(1)}

    def known(self) -> list[VectorSum]:
        values = [value(self._gain, 0, 1), one()]
        components = [Component((0,)), Component((1,))]
        return [vector_sum(self.ground.relation, values, components, self.ground.rows)]

    def names(self) -> dict[str, Any]:
        return {"gain": self._gain.to_json()}

    def words(self) -> str:
        return f"the score of a model of {self._target}"

    def learn(self, passes: Passes) -> Score:
        (asked,) = self.known()
        made = passes.add_up("gain", asked, self.shares["gain"])
        rows = max(float(made.cells(1)[0]), 1.0)
        found = min(max(float(made.cells(0)[0]) / rows, 0.0), 1.0)
        return Score(found, made.deviation() * math.sqrt(1 + found**2) / rows, passes.release_id)
