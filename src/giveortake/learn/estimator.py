"""The interface of all learners: parameters, `quote`, `fit`, `card`, JSON, and what scikit-learn needs."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from giveortake.arguments import told_by_name
from giveortake.errors import InvalidParameter
from giveortake.exact import whole
from giveortake.learn.arrays import Held, not_fitted
from giveortake.learn.card import MORE_SIGNAL, Card, FitQuote
from giveortake.learn.features import encoded, public_columns
from giveortake.learn.model import Model, Pass, Provenance, read, written
from giveortake.learn.passes import noise_of, passes
from giveortake.learn.task import Ground
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import numpy.typing as npt

    from giveortake import frame
    from giveortake.learn.features import Feature
    from giveortake.learn.task import Task
    from giveortake.plan import Expression
    from giveortake.session import Session
    from giveortake.session.run_requests import RunRequest

MOST_NOISE = 2.0  # of a sum, as a part of all rows: more is refused
_KEPT = (
    "target",
    "features",
    "clip",
    "bins",
    "n_clusters",
    "n_components",
    "penalty",
    "intervals",
    "reach",
)  # parameters that JSON keeps


class Learner(ABC):
    """A model that is fitted to rows behind a session, under one charge.

    The constructor stores what it is given and nothing else, as scikit-learn has it; `fit` checks it. What is learned
    is in `model_`; it depends on rows through released sums alone.
    """

    made: ClassVar[type[Model]]  # the class of its model
    written: ClassVar[str | None] = None  # how to construct it, if it takes no argument by place
    kind: ClassVar[str]  # "classifier", "regressor", "transformer" or "clusterer", as scikit-learn calls them

    stored_name: ClassVar[str]  # in JSON
    target: str | None
    features: Sequence[str] | None
    domains: Any
    budget: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in cls.__dict__:  # a spend without its name gets the usual hint
            cls.__init__ = told_by_name(beyond=cls.written)(cls.__init__)  # type: ignore[method-assign]  # (with the same signature)

    @abstractmethod
    def _task(self, data: LearningData) -> Task:
        """The fit that the parameters describe, checked: what cannot be learned is refused here, at no cost."""

    def _ground(self, data: LearningData, condition: Expression | None) -> Ground:
        """The rows that fulfil a condition, with the spend and the clip that the parameters state."""
        said = {name: getattr(self, name, None) for name in ("epsilon", "delta", "rho", "mu")}
        return Ground.of(data, said, getattr(self, "clip", None), condition)

    # -- parameters ---------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; a fitted model stays until the next `fit`."""
        for name, each in parameters.items():
            if name not in self._names():
                raise InvalidParameter(name, each, "is not a parameter", hint=f"parameters: {', '.join(self._names())}")
            setattr(self, name, each)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [f"{name}={getattr(self, name)!r}" for name in self._names() if _differs(self, name, defaults)]
        return f"{type(self).__name__}({', '.join(said)})"

    # -- fitting ------------------------------------------------------------------------------------------------

    def quote(self, source: Session | frame.Table | LearningData, *, n: int | None = None) -> FitQuote:
        """What a fit would cost. No row is read, and nothing charged; `n` is a public number of rows, if known."""
        data = LearningData.of(source)
        with data.serving():
            task = self._task(data)
            return self._quoted(task, task.request(), getattr(self, "n", None) if n is None else n)

    def _quoted(self, task: Task, request: RunRequest, n: int | None) -> FitQuote:
        known = list(zip(task.shares.items(), task.known(), strict=False))
        noises: list[tuple[str, Fraction, float | None]]
        noises = [(name, share, noise_of(asked, request, share)) for (name, share), asked in known]
        noises += [(name, share, None) for name, share in list(task.shares.items())[len(known) :]]
        outlook = request.outlook()
        return FitQuote(
            f"{self.stored_name}: {task.words()}",
            str(task.ground.spend),
            request.promise,
            task.ground.rows,
            tuple(noises),
            n,
            outlook.admitted or outlook.paid,
            paid=outlook.paid,
            approval=outlook.waits and not outlook.paid,
        )

    def _require_signal(self, task: Task, request: RunRequest) -> None:
        """Refuse a fit that would be mostly noise, where a public number of rows is stated."""
        n = getattr(self, "n", None)
        if n is None:
            return
        noise = self._quoted(task, request, whole("n", n)).noise_to_signal
        if noise is not None and noise > MOST_NOISE:
            raise InvalidParameter(
                "n",
                n,
                f"is too small: the noise in each sum would be {noise:.3g} times as large as all rows together",
                hint=f"{MORE_SIGNAL}; nothing was charged",
            )

    def fit(self, source: Session | frame.Table | LearningData, y: object = None, *, key: str | None = None) -> Self:
        """Fit to the rows behind a session, or to a table of one. `key` makes a retry safe; the same again is free.

        Rows that you hold yourself, `fit(X, y)`, are put behind a session of their own first, with the parameters
        `domains` and `budget`; nothing remembers that budget. It needs scikit-learn.
        """
        if _is_behind_session(source):
            if y is not None:
                raise InvalidParameter("y", type(y).__name__, "has no place here", hint='target="…" names the column')
            return self._fit(LearningData.of(source), key)
        with Held(self, source, y) as held:
            return self._fit(held.data, key)

    def _fit(self, data: LearningData, key: str | None) -> Self:
        with data.serving():
            return self._fitted(data, key)

    def _fitted(self, data: LearningData, key: str | None) -> Self:
        task = self._task(data)
        request = task.request()
        self._require_signal(task, request)
        with passes(request, key) as drawn:
            model = task.learn(drawn)
        self._keep(model)
        self.provenance_ = Provenance(
            self.stored_name,
            task.words(),
            request.promise,
            str(task.ground.spend),
            task.ground.rows,
            tuple(Pass(each.name, str(task.shares[each.name]), float(each.mu)) for each in drawn.released),
            drawn.release_id,
            (
                *drawn.remarks(),
                *(() if drawn.charged else ("fitted before at this price: nothing was charged again",)),
            ),
        )
        return self

    def _keep(self, model: Any) -> None:
        """A fitted model, and what its features are called; of arrays scikit-learn says that."""
        import numpy as np  # noqa: PLC0415 (as heavy as the rows)

        self.model_ = model
        if not hasattr(self, "n_features_in_"):
            self.feature_names_in_ = np.array([each.name for each in model.features], dtype=object)

    @property
    def is_fitted(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "model_")

    def _require_fitted(self) -> Any:
        if not self.is_fitted:
            raise not_fitted(f"this {type(self).__name__} is not fitted", "fit(session) first")
        return self.model_

    # -- after fitting ------------------------------------------------------------------------------------------

    def card(self) -> Card:
        """How the model came to be: unit, clip, μ of each pass, promise. Markdown and HTML."""
        self._require_fitted()
        return Card(self.provenance_, self._described())

    def _described(self) -> tuple[tuple[str, str], ...]:
        """Further facts about this model for its card."""
        return ()

    def to_json(self) -> str:
        """The fitted model as JSON; `from_json` reads it."""
        self._require_fitted()
        kept = {name: getattr(self, name) for name in _KEPT if name in self._names()}
        kept = {name: _as_json(each) for name, each in kept.items()}
        return written(self.stored_name, kept, self.model_.to_dict(), self.provenance_)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the fitted model that `to_json` wrote."""
        content = read(text, cls.stored_name)
        found = cls(**content["parameters"])
        found._keep(cls.made.from_dict(content["model"]))
        found.provenance_ = Provenance.from_dict(content["provenance"])
        return found

    def _alike(self, rows: Any) -> Any:
        """Public rows; after a fit to arrays, they are checked to be arrays of the same form."""
        if not hasattr(self, "n_features_in_"):
            return rows
        from giveortake.learn.arrays import checked_again  # noqa: PLC0415 (scikit-learn, when it was asked for)

        return checked_again(self, rows)

    def _public(self, rows: Any, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Columns of public rows by name."""
        return public_columns(self._alike(rows), names)

    def _encoded(self, rows: Any, features: Sequence[Feature]) -> npt.NDArray[np.float64]:
        """Public rows as the model's columns between -1 and 1."""
        return encoded(self._public(rows, [feature.name for feature in features]), features)

    # -- scikit-learn -------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        from giveortake.learn.arrays import tags_of  # noqa: PLC0415 (scikit-learn is asked for by itself alone)

        return tags_of(self)


class Regressor(Learner):
    """A learner of numbers."""

    kind: ClassVar[str] = "regressor"

    @abstractmethod
    def predict(self, rows: Any) -> npt.NDArray[np.float64]:
        """Predictions for public rows, whose values are treated as `Classifier.predict` says."""

    def score(self, rows: Any, y: Any) -> float:
        """R² of predictions for public rows: 1 − Σ(y − ŷ)²/Σ(y − ȳ)²."""
        import numpy as np  # noqa: PLC0415 (as heavy as the rows)

        wanted = np.asarray(y, dtype=np.float64)
        missed = float(((wanted - self.predict(rows)) ** 2).sum())
        spread = float(((wanted - wanted.mean()) ** 2).sum())
        return 1 - missed / spread if spread else float(missed == 0)


def _is_behind_session(source: object) -> bool:
    from giveortake import frame  # noqa: PLC0415 (as above)
    from giveortake.session import Session  # noqa: PLC0415 (as above)

    return isinstance(source, Session | frame.Table | LearningData) or getattr(source, "is_remote", False)


def _differs(learner: Learner, name: str, defaults: Any) -> bool:
    default = defaults[name].default
    value = getattr(learner, name)
    return value is not default and value != default


def _as_json(parameter: Any) -> Any:
    """A parameter as JSON can keep it: exact numbers as texts, which are read as the same numbers."""
    if isinstance(parameter, tuple):
        return list(parameter)
    if isinstance(parameter, np.generic):
        return parameter.item()
    return str(parameter) if isinstance(parameter, Fraction | Decimal) else parameter
