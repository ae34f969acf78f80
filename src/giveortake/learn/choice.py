"""Which learner suits a table: by its schema, the spend, and a number of rows that is public or was released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import QueryRefused
from giveortake.exact import whole
from giveortake.learn.additive import MOST_BINS, MOST_CELLS
from giveortake.learn.additive_models import AdditiveClassifier, AdditiveRegressor
from giveortake.learn.features import Category, classes_of, feature_of, features_of
from giveortake.learn.linear import LinearRegression
from giveortake.learn.logistic import MOST_COLUMNS, LogisticRegression
from giveortake.learn.naive_bayes import ClassMeans, NaiveBayes
from giveortake.learn.task import Ground
from giveortake.plan import Kind
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake import frame
    from giveortake.exact import Number
    from giveortake.learn.estimator import Learner
    from giveortake.learn.features import Feature
    from giveortake.session import Session

FOR_BINS = 15  # n·μ for each bin, from where shapes are better than straight lines
FOR_STEPS = 3  # n·μ for each feature, below which nothing but means outweighs the noise


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A learner that is ready to be fitted, and why it was chosen. Nothing was read, and nothing charged."""

    learner: Learner
    why: str

    def __repr__(self) -> str:
        return f"{self.learner!r}\n  {self.why}"


def choose(
    s: Session | frame.Table,
    target: str,
    features: Sequence[str] | None = None,
    *,
    n: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    clip: int | None = None,
) -> Choice:
    """The learner that suits a target, and why.

    `n` is about how many rows there are: a public number, or one that was released. Without it the number comes from
    the table's profile, if one was paid for; else the choice is refused, because the exact number would show in it.

    >>> import giveortake as gt, polars as pl
    >>> rows = pl.DataFrame({"age": [30.0, 60.0], "ill": [False, True]})
    >>> with gt.protect(rows, unit=gt.ROW, budget=gt.ApproxDP(1, "1e-6"), domains={"age": (0, 100)}) as s:
    ...     print(gt.learn.choose(s, "ill", n=500, epsilon="0.1", delta="1e-6").why)
    LogisticRegression: n·μ is about 13.8, and 1 feature would need 3 for steps and 240 for shapes of 16 bins
    """
    data = LearningData.of(s)
    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    ground = Ground.of(data, said, clip, None)
    rows = data.rows_about() if n is None else whole("n", n)
    if rows is None:
        raise QueryRefused(
            "the number of rows is not known, and the exact one is not public",
            hint='pass n=10_000, a public or released number; or call s.profile(epsilon="0.1") first',
        )
    used = features_of(data.schema, features, target)
    signal = float(rows) * float(ground.mu) / ground.rows
    learner, why = _chosen(data, target, used, signal)
    usual = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu, "clip": clip}
    stated: dict[str, Any] = {name: each for name, each in usual.items() if each is not None}
    return Choice(learner(target, [each.name for each in used], **stated), f"{learner.__name__}: {why}")


def _chosen(data: LearningData, target: str, used: tuple[Feature, ...], signal: float) -> tuple[Any, str]:
    bins = sum(len(each.values) if isinstance(each, Category) else MOST_BINS for each in used)
    columns = sum(len(each.design()) for each in used)
    count = f"{len(used)} feature{'s' if len(used) > 1 else ''}"
    why = (
        f"n·μ is about {signal:,.3g}, and {count} would need {FOR_STEPS * len(used):,} for steps "
        f"and {FOR_BINS * bins:,} for shapes of {bins:,} bins"
    )
    enough_for_bins = signal >= FOR_BINS * bins and bins <= MOST_CELLS
    if _is_number(data, target):
        return (AdditiveRegressor if enough_for_bins else LinearRegression), why
    classes = len(classes_of(data.schema, target).values)
    if classes > 2:
        learner = NaiveBayes if signal >= FOR_STEPS * classes * len(used) else ClassMeans
        return learner, f"{classes} classes are declared; {why}"
    if enough_for_bins:
        return AdditiveClassifier, why
    if signal < FOR_STEPS * len(used):
        return ClassMeans, why
    if columns > MOST_COLUMNS:
        return NaiveBayes, f"{columns:,} columns are too many for a Gram matrix; {why}"
    return LogisticRegression, why


def _is_number(data: LearningData, target: str) -> bool:
    """Whether a target is a number to be estimated, and no class: it has bounds, and no list of values."""
    found = feature_of(data.schema, target, "target")
    domain = data.schema[target]
    if isinstance(found, Category):
        return False
    if domain.kind is Kind.INTEGER and domain.high is not None and domain.low is not None:
        return domain.high - domain.low > 1
    return True
