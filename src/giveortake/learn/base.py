"""The base of all learners: parameters, `quote`, `fit`, fitted models and their cards.

- Fitted models: released numbers and what is computed from them. They are public, and hold nothing of rows.
- Cards of models and quotes of fits as text, Markdown and HTML: what was promised, what counts, what each pass got.
- Learners, which keep scikit-learn's conventions, and regressors.
- Rows that the caller holds: checked as scikit-learn does, and put behind a session of their own.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence  # the codec reads hints
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake import codec, frame
from giveortake.answers import render
from giveortake.answers.render import escaped
from giveortake.compile.spend import Spend, spend_of
from giveortake.engines.duckdb.tables import held
from giveortake.errors import HIDDEN, InvalidParameter, NotFitted, extra
from giveortake.exact import Number, percent, whole
from giveortake.learn.features import encoded, public_columns
from giveortake.learn.noisy_sums import MORE_SIGNAL, SPENDS, Fitting, counted, fit_terms, planned_run
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Guarantee
from giveortake.session import Session, protect
from giveortake.session.kinds.learning_data import LearningData

if TYPE_CHECKING:
    from typing import Self

    import numpy.typing as npt

    from giveortake.compile import Terms
    from giveortake.learn.features import Feature
    from giveortake.learn.noisy_sums import FitPlan, NoisySums
    from giveortake.session.kinds.runs import PlannedRun, Run
    from giveortake.session.quotes import Quote


class Document:
    """A registered dataclass of what was released, as a text and back."""

    def to_json(self) -> str:
        """Everything as JSON; `from_json` reads it."""
        return codec.text_of(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        document: Self = codec.value_of(cls, text, what="text")
        return document


class Model:
    """What a plan learns: numbers that were released, and features as they were declared. A registered dataclass."""


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a fit: its name, its part of μ², and its own μ."""

    name: str
    share: str
    mu: float


@final
@dataclass(frozen=True, slots=True)
class Provenance:
    """How a model came to be."""

    learner: str
    words: str
    guarantee: Guarantee
    spend: str
    rows: int  # how many rows' worth of a unit count; 0 where something else bounds a unit, which the notes say
    passes: tuple[Pass, ...]
    release_id: str
    notes: tuple[str, ...] = ()
    capped_rows: int | None = None  # how many rows of a person count at most; None where all do


class _Page:
    """Facts and a table that print as text, Markdown and HTML."""

    title: str

    def facts(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        raise NotImplementedError

    def to_markdown(self) -> str:
        """The page as Markdown."""
        head, rows = self.table()
        lines: list[Sequence[str]] = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
        facts = [f"- **{name}**: {escaped(text)}" for name, text in self.facts()]
        return "\n".join(
            [f"# {escaped(self.title)}", "", *facts, "", *(f"| {' | '.join(line)} |" for line in lines), ""]
        )

    def to_html(self) -> str:
        """The page as HTML; every text is escaped."""
        return render.card(self.title, render.fact_list(self.facts()), render.table(*self.table()))

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        head, rows = self.table()
        facts = [f"{name}: {text}".rstrip() for name, text in self.facts()]
        return "\n".join([self.title, *(f"  {line}" for line in [*facts, *render.aligned([head, *rows])])])


@final
@dataclass(frozen=True, repr=False)
class Card(_Page):
    """How a model came to be, for whoever uses it."""

    provenance: Provenance
    described: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:  # type: ignore[override]  # (made of the provenance)
        """The learner, and what was fitted."""
        return render.of_counted_rows(
            f"{self.provenance.learner}: {self.provenance.words}", self.provenance.capped_rows
        )

    def facts(self) -> list[tuple[str, str]]:
        """Labels and their texts."""
        provenance = self.provenance
        return [
            ("promise", str(provenance.guarantee)),
            ("stated as", provenance.spend),
            ("unit", counted(provenance.guarantee, provenance.rows)),
            *self.described,
            ("release", provenance.release_id),
            *(("note", note) for note in provenance.notes),
        ]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The passes over the rows."""
        rows: list[tuple[str, ...]] = [
            (fit_pass.name, percent(Fraction(fit_pass.share), 3), f"{fit_pass.mu:.4g}")
            for fit_pass in self.provenance.passes
        ]
        return ("pass over the rows", "part of μ²", "μ"), rows


MOST_NOISE = 2.0  # of a sum, as a part of all rows: more is refused


UNSTORED = {"stored": False}  # what a fit costs, and what belongs to rows of the caller


@dataclass(eq=False, repr=False)
class Learner(Fitting):
    """A model that is fitted to rows behind a session, under one charge.

    The constructor stores what it is given and nothing else, as scikit-learn has it; `fit` checks it. What is learned
    is in `model_`; it depends on rows through released sums alone.
    """

    target: str | None = None
    features: Sequence[str] | None = None
    _: KW_ONLY
    epsilon: Number | None = field(default=None, metadata=UNSTORED)
    delta: Number | None = field(default=None, metadata=UNSTORED)
    rho: Number | None = field(default=None, metadata=UNSTORED)
    mu: Number | None = field(default=None, metadata=UNSTORED)
    share: Number | None = field(default=None, metadata=UNSTORED)
    clip: int | None = None
    domains: Any = field(default=None, metadata=UNSTORED)
    budget: Any = field(default=None, metadata=UNSTORED)

    model_class: ClassVar[type[Model]]  # the class of its model
    kind: ClassVar[str]  # "classifier", "regressor", "transformer" or "clusterer", as scikit-learn calls them

    @abstractmethod
    def _plan(self, data: LearningData, spend: Spend) -> FitPlan:
        """The fit that the parameters describe, checked: what cannot be learned is refused here, at no cost."""

    # -- parameters ---------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(parameter.name for parameter in fields(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; a fitted model stays until the next `fit`."""
        for name, value in parameters.items():
            if name not in self._names():
                raise InvalidParameter(
                    name, value, "is not a parameter", hint=f"parameters: {', '.join(self._names())}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = type(self)().get_params()
        stated = [name for name, default in defaults.items() if _differ(getattr(self, name), default)]
        arguments = [f"{name}={getattr(self, name)!r}" for name in stated]
        return f"{type(self).__name__}({', '.join(arguments)})"

    # -- fitting ------------------------------------------------------------------------------------------------

    def quote(self, source: Session | frame.Table | LearningData, *, n: int | None = None) -> Quote:
        """What a fit would cost. No row is read, and nothing charged; `n` is a public number of rows, if known."""
        data, terms = LearningData.of(source), self._terms()
        with data.serving():
            return self._unfitted().quoted(data, terms, getattr(self, "n", None) if n is None else n)

    def _terms(self) -> Terms:
        """What a fit may cost."""
        return fit_terms({name: getattr(self, name) for name in SPENDS})

    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        """The run of a fit at a spend."""
        return planned_run(self._plan(data, spend), self._finished, n)

    def _finished(self, plan: FitPlan, model: Any, run: Run, noisy_sums: NoisySums) -> Self:
        """A copy of this learner, fitted."""
        spend = {name: getattr(run.spend, name) for name in ("epsilon", "delta", "rho", "mu")}
        fitted = copy(self).set_params(**spend, share=None)
        provenance = Provenance(
            codec.tag_of(type(self)),
            plan.words(),
            run.promise,
            str(run.spend),
            plan.context.rows,
            tuple(
                Pass(released.name, str(plan.shares[released.name]), float(released.mu))
                for released in noisy_sums.released
            ),
            noisy_sums.release_id,
            (
                *noisy_sums.remarks(),
                *(() if noisy_sums.charged else ("fitted before at this price: nothing was charged again",)),
            ),
            plan.context.capped_rows,
        )
        return fitted._adopt(model, provenance)  # noqa: SLF001 (of this class)

    def _unfitted(self) -> Self:
        """A copy with plain parameters, and without a model."""
        return type(self)(**{name: plain(parameter) for name, parameter in self.get_params().items()})

    def _require_signal(self, data: LearningData) -> None:
        """Refuse a fit that would be mostly noise, where a public number of rows is stated."""
        n = getattr(self, "n", None)
        if n is None:
            return
        signal = self.quote(data, n=whole("n", n)).facts["noise_to_signal"]
        if signal is not None and signal > MOST_NOISE:
            raise InvalidParameter(
                "n",
                n,
                f"is too small: the noise in each sum would be {signal:.3g} times as large as all rows together",
                hint=f"{MORE_SIGNAL}; nothing was charged",
            )

    def fit(self, source: Session | frame.Table | LearningData, y: object = None, *, key: str | None = None) -> Self:
        """Fit to the rows behind a session, or to a table of one. `key` makes a retry safe; the same again is free.

        Rows that you hold yourself, `fit(X, y)`, are put behind a session of their own first, with the parameters
        `domains` and `budget`; nothing remembers that budget. It needs scikit-learn.
        """
        if isinstance(source, Session | frame.Table | LearningData):
            if y is not None:
                raise InvalidParameter("y", type(y).__name__, "has no place here", hint='target="…" names the column')
            return self._fit(LearningData.of(source), key)
        with ArraySession(self, source, y) as array_session:
            return self._fit(array_session.data, key)

    def _fit(self, data: LearningData, key: str | None) -> Self:
        with data.serving():
            terms = self._terms()
            self._require_signal(data)
            fitted: Self = self._unfitted().answered(data, terms, key)
        return self._adopt(fitted.model_, fitted.provenance_)

    def _adopt(self, model: Any, provenance: Provenance) -> Self:
        """Hold a fitted model, and what its features are called; of arrays scikit-learn says that."""
        self.model_, self.provenance_ = model, provenance
        if not hasattr(self, "n_features_in_"):
            self.feature_names_in_ = np.array([feature.name for feature in model.features], dtype=object)
        return self

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
        return codec.text_of(_Fitted(self._unfitted(), self.model_, self.provenance_), _Fitted)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the fitted model that `to_json` wrote."""
        fitted: _Fitted = codec.value_of(_Fitted, text, what="text")
        learner = fitted.learner
        if not isinstance(learner, cls) or not isinstance(fitted.model, cls.model_class):
            name = codec.tag_of(type(learner))
            raise InvalidParameter(
                "text", name, f"is not a {cls.__name__}", hint="read it with the class that wrote it"
            )
        return learner._adopt(fitted.model, fitted.provenance)  # noqa: SLF001 (of this class)

    def _checked_rows(self, rows: Any) -> Any:
        """Public rows; after a fit to arrays, they are checked to be arrays of the same form."""
        if not hasattr(self, "n_features_in_"):
            return rows
        from sklearn.utils.validation import validate_data  # noqa: PLC0415 (it was there when the model was fitted)

        return validate_data(self, rows, dtype=np.float64, reset=False)

    def _public(self, rows: Any, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Columns of public rows by name."""
        return public_columns(self._checked_rows(rows), names)

    def _encoded(self, rows: Any, features: Sequence[Feature]) -> npt.NDArray[np.float64]:
        """Public rows as the model's columns between -1 and 1."""
        return encoded(self._public(rows, [feature.name for feature in features]), features)

    # -- scikit-learn -------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (  # noqa: PLC0415 (scikit-learn asks for them)
            ClassifierTags,
            InputTags,
            RegressorTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        return Tags(
            estimator_type=self.kind,
            target_tags=TargetTags(required=self.kind in _SUPERVISED),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags(multi_class=False) if self.kind == "classifier" else None,
            regressor_tags=RegressorTags(poor_score=True) if self.kind == "regressor" else None,
            input_tags=InputTags(),
            non_deterministic=True,
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """A fitted learner, as it is stored."""

    learner: Learner
    model: Model
    provenance: Provenance


class Regressor(Learner):
    """A learner of numbers."""

    kind: ClassVar[str] = "regressor"

    @abstractmethod
    def predict(self, rows: Any) -> npt.NDArray[np.float64]:
        """Predictions for public rows, whose values are treated as `Classifier.predict` says."""

    def score(self, rows: Any, y: Any) -> float:
        """R² of predictions for public rows: 1 − Σ(y − ŷ)²/Σ(y − ȳ)²."""
        targets = np.asarray(y, dtype=np.float64)
        missed = float(((targets - self.predict(rows)) ** 2).sum())
        spread = float(((targets - targets.mean()) ** 2).sum())
        return 1 - missed / spread if spread else float(missed == 0)


def _differ(value: Any, default: Any) -> bool:
    return value is not default and bool(np.any(value != default))


def plain(parameter: Any) -> Any:
    """A parameter without arrays and numbers of other libraries."""
    if isinstance(parameter, np.generic | np.ndarray):
        return parameter.tolist()
    if isinstance(parameter, Mapping):
        return {str(name): plain(part) for name, part in parameter.items()}
    if isinstance(parameter, Iterable) and not isinstance(parameter, str):
        return [plain(part) for part in parameter]
    return parameter


def required_target(target: str | None) -> str:
    """Check that a target is named, and return it."""
    if target is None:
        raise InvalidParameter("target", None, "is missing: name the column to predict", hint='target="…"')
    return target


_SUPERVISED = {"classifier", "regressor"}
_EVERY = "*"


@final
class ArraySession:
    """A session over arrays for one fit; meanwhile the learner's parameters name the columns of the session."""

    def __init__(self, learner: Learner, rows: Any, target: Any) -> None:
        self.learner = learner
        self._rows, self._target = rows, target if learner.kind in _SUPERVISED else None
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
    if any(getattr(learner, name, None) is not None for name in ("epsilon", "rho", "mu", "share")):
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
    if learner.kind in _SUPERVISED and target is None:
        name = type(learner).__name__
        raise InvalidParameter("y", None, f"is missing: {name} requires y to be passed, but the target y is None")
    named = list(rows.columns) if hasattr(rows, "columns") else None
    if target is None:
        table = validate_data(learner, rows, dtype=np.float64)
        values = None
    else:
        table, values = validate_data(learner, rows, target, dtype=np.float64, y_numeric=learner.kind == "regressor")
    names = [str(column) for column in named] if named is not None else [f"x{index}" for index in range(table.shape[1])]
    columns: dict[str, Any] = {name: np.ascontiguousarray(table[:, index]) for index, name in enumerate(names)}
    if values is not None:
        columns[learner.target or "y"] = (
            _classes(learner, np.asarray(values)) if learner.kind == "classifier" else values
        )
    return columns, names


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
