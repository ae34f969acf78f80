"""Rows that the caller holds: checked as scikit-learn does, and put behind a session of their own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.compile.spend import spend_of
from giveortake.engines.duckdb.tables import held
from giveortake.errors import HIDDEN, InvalidParameter, NotFitted, extra
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP
from giveortake.session import protect
from giveortake.session.learning_data import LearningData

if TYPE_CHECKING:
    from giveortake.learn.base import Learner
    from giveortake.session import Session

_EVERY = "*"


@final
class ArraySession:
    """A session over arrays for one fit; meanwhile the learner's parameters name the columns of the session."""

    def __init__(self, learner: Learner, rows: Any, target: Any) -> None:
        self.learner = learner
        self._rows, self._target = rows, target if learner.kind in {"classifier", "regressor"} else None
        self._session: Session | None = None
        self._parameters = learner.get_params()

    def __enter__(self) -> ArraySession:
        learner = self.learner
        if learner.domains is None or learner.budget is None:
            raise InvalidParameter(
                "session",
                type(self._rows).__name__,
                "is not a session, and arrays need domains= and budget=",
                hint="fit(s), where s = gt.protect(…); or domains= and budget= in the constructor",
            )
        columns, names = _checked(learner, self._rows, self._target)
        target = None
        if self._target is not None:
            target = learner.target or "y"
        domains = _domains(learner.domains, names, target)
        budget = _spend_all(learner, learner.budget)
        self._session = protect(held(columns), unit=ROW, budget=budget, domains=domains, name="rows")
        if target is not None:
            learner.set_params(target=target)
        if learner.features is None:
            learner.set_params(features=names)
        return self

    @property
    def data(self) -> LearningData:
        """The rows, behind the session."""
        assert self._session is not None  # noqa: S101 (it was entered)
        return LearningData.of(self._session)

    def __exit__(self, *_: object) -> None:
        self.learner.set_params(**self._parameters)
        if self._session is not None:
            self._session.close()


def _spend_all(learner: Learner, budget: Any) -> Any:
    """The budget of the session; unless a spend is stated, the learner is set to spend all of it in this one fit.

    Then a budget of (ε, δ) is guarded as the Gaussian promise that implies it, and not by a race of several proofs.
    """
    if any(getattr(learner, name, None) is not None for name in ("epsilon", "rho", "mu")):
        return budget
    match budget:
        case ApproxDP():
            learner.set_params(epsilon=budget.epsilon, delta=budget.delta)
            spend = spend_of(budget.epsilon, budget.delta, None, None, None)
            return budget if spend is None else GaussianDP(spend.gaussian(), neighbours=budget.neighbours)
        case ZCDP():
            learner.set_params(rho=budget.rho)
        case GaussianDP():
            learner.set_params(mu=budget.mu)
        case _:
            raise InvalidParameter("budget", budget, "buys no Gaussian noise", hint='gt.ApproxDP(1, "1e-6")')
    return budget


def _checked(learner: Learner, rows: Any, target: Any) -> tuple[dict[str, Any], list[str]]:
    """Columns by name, and the names of features, as scikit-learn checks them."""
    try:
        from sklearn.utils.validation import validate_data  # noqa: PLC0415 (scikit-learn, when asked for)
    except ImportError:
        raise InvalidParameter(
            "X", type(rows).__name__, "needs scikit-learn", hint=f"fit(session) needs none; {extra('learn')}"
        ) from None
    if learner.kind in {"classifier", "regressor"} and target is None:
        name = type(learner).__name__
        raise InvalidParameter("y", None, f"is missing: {name} requires y to be passed, but the target y is None")
    named = list(rows.columns) if hasattr(rows, "columns") else None
    if target is None:
        table = validate_data(learner, rows, dtype=np.float64)
        values = None
    else:
        table, values = validate_data(learner, rows, target, dtype=np.float64, y_numeric=_is_regressor(learner))
    names = [str(column) for column in named] if named is not None else [f"x{index}" for index in range(table.shape[1])]
    columns: dict[str, Any] = {name: np.ascontiguousarray(table[:, index]) for index, name in enumerate(names)}
    if values is not None:
        columns[learner.target or "y"] = _classes(learner, np.asarray(values)) if _is_classifier(learner) else values
    return columns, names


def _is_classifier(learner: Learner) -> bool:
    return learner.kind == "classifier"


def _classes(learner: Learner, values: Any) -> Any:
    """Classes as a session takes them: texts, or whole numbers, which scikit-learn may hold as doubles."""
    from sklearn.utils.multiclass import check_classification_targets, type_of_target  # noqa: PLC0415 (as above)

    check_classification_targets(values)
    declared = learner.domains.get(learner.target or "y") if isinstance(learner.domains, Mapping) else None
    target_type = type_of_target(values)
    if target_type != "binary" and isinstance(declared, list | tuple) and len(declared) == 2:
        raise InvalidParameter(
            "y",
            HIDDEN,
            "holds others than the two classes that are declared. Only binary classification is supported. "
            f"The type of the target is {target_type}.",
        )
    if values.dtype.kind in "OUS":
        return values.astype(str).astype(object)
    return values.astype(np.int64) if values.dtype.kind == "f" else values


def checked_as_fitted(learner: Learner, rows: Any) -> Any:
    """Rows for a model that was fitted to arrays, as scikit-learn checks them."""
    from sklearn.utils.validation import validate_data  # noqa: PLC0415 (it was there when the model was fitted)

    return validate_data(learner, rows, dtype=np.float64, reset=False)


def not_fitted(message: str, hint: str) -> Exception:
    """The error of a learner that is not fitted; where scikit-learn is in use, it is also its NotFittedError."""
    if "sklearn" not in sys.modules:
        return NotFitted(message, hint=hint)
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415 (it is there already)

    both: type[Exception] = type("NotFitted", (NotFitted, NotFittedError), {})
    return both(message, hint=hint)  # type: ignore[call-arg]  # (NotFitted takes a hint)


def _domains(declared: Any, names: list[str], target: str | None) -> dict[str, Any]:
    """The declared domains by column; "*" means every feature that has none of its own."""
    if not isinstance(declared, Mapping):
        raise InvalidParameter("domains", declared, "is not a mapping", hint='domains={"*": (-10, 10), "y": [0, 1]}')
    domains = {
        name: domain for name, domain in declared.items() if name != _EVERY and (name in names or name == target)
    }
    if _EVERY in declared:
        domains |= {name: declared[_EVERY] for name in names if name not in domains}
    return domains


def _is_regressor(learner: Learner) -> bool:
    return learner.kind == "regressor"


def tags_of(learner: Learner) -> Any:
    """The tags that scikit-learn asks of an estimator, by the learner's `kind`."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags  # noqa: PLC0415 (as above)

    kind = learner.kind
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=kind in {"classifier", "regressor"}),
        transformer_tags=TransformerTags() if hasattr(learner, "transform") else None,
        classifier_tags=ClassifierTags(multi_class=False) if kind == "classifier" else None,
        regressor_tags=RegressorTags(poor_score=True) if kind == "regressor" else None,
        input_tags=InputTags(),
        non_deterministic=True,
    )
