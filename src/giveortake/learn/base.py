"""The base of all learners: parameters, `quote`, `fit`, fitted models and their cards.

- Fitted models: released numbers and what is computed from them. They are public, and hold nothing of rows.
- Cards of models and quotes of fits as text, Markdown and HTML: what was promised, what counts, what each pass got.
- Learners, which keep scikit-learn's conventions, and regressors.
- Rows that the caller holds: checked as scikit-learn does, and put behind a session of their own.
"""

from __future__ import annotations

import inspect
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import frame
from giveortake.answers import render
from giveortake.answers.render import escaped
from giveortake.arguments import told_by_name
from giveortake.compile import Terms
from giveortake.compile.spend import spend_of
from giveortake.engines.duckdb.tables import held
from giveortake.errors import HIDDEN, InvalidParameter, NotFitted, QueryRefused, extra
from giveortake.exact import percent, whole
from giveortake.learn.features import (
    Feature,
    encoded,
    public_columns,
)
from giveortake.learn.noisy_sums import MORE_SIGNAL, FitContext, counted, planned_run
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP
from giveortake.privacy.documents import promise_from_json, promise_to_json
from giveortake.session import Session, protect
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.kinds.runs import BoundPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    import numpy.typing as npt

    from giveortake.compile import Spend
    from giveortake.learn.noisy_sums import FitPlan, NoisySums
    from giveortake.plan import Expression
    from giveortake.privacy import Guarantee
    from giveortake.session.kinds.runs import PlannedRun, Run
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.quotes import Quote

    Reals: TypeAlias = npt.NDArray[np.float64]


FORMAT = 1


class Model(ABC):
    """What a plan learns: numbers that were released, and features as they were declared."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The model as lists, numbers and texts, which `from_dict` reads."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote."""


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

    def to_dict(self) -> dict[str, Any]:
        """All fields as lists, numbers and texts."""
        return {
            "learner": self.learner,
            "words": self.words,
            "guarantee": promise_to_json(self.guarantee),
            "spend": self.spend,
            "rows": self.rows,
            "passes": [[fit_pass.name, fit_pass.share, fit_pass.mu] for fit_pass in self.passes],
            "release_id": self.release_id,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Provenance:
        """Read what `to_dict` wrote."""
        return cls(
            content["learner"],
            content["words"],
            promise_from_json(content["guarantee"]),
            content["spend"],
            content["rows"],
            tuple(Pass(*fields) for fields in content["passes"]),
            content["release_id"],
            tuple(content["notes"]),
        )


def learner_to_json(learner: str, parameters: dict[str, Any], model: dict[str, Any], provenance: Provenance) -> str:
    """A fitted learner as JSON."""
    content = {
        "format": FORMAT,
        "learner": learner,
        "parameters": parameters,
        "model": model,
        "provenance": provenance.to_dict(),
    }
    return json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False)


def read(text: str, learner: str) -> dict[str, Any]:
    """Read what `learner_to_json` wrote of this kind of learner."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError):
        raise InvalidParameter("text", str(text)[:40], "is not JSON") from None
    if not isinstance(content, dict) or content.get("learner") != learner:
        stored_learner = content.get("learner") if isinstance(content, dict) else None
        raise InvalidParameter(
            "text", stored_learner, f"is not a {learner}", hint="read it with the class that wrote it"
        )
    if content.get("format") != FORMAT:
        raise InvalidParameter("text", content.get("format"), "is of another format", hint="upgrade giveortake")
    return content


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
        return f"{self.provenance.learner}: {self.provenance.words}"

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


def bound_of_record(mechanism: InteractiveMechanism, content: Mapping[str, Any], spend: Spend) -> BoundPlan:
    """The fit that a record of a release tells of."""
    if "statistic" in content:
        module = import_module(_STATISTICS[content["statistic"]])
        bound: BoundPlan = module.bound_of_record(mechanism, content, spend)
        return bound
    classes = {kind.stored_name: kind for kind in _learners(Learner) if hasattr(kind, "stored_name")}
    if content["learner"] not in classes:
        raise QueryRefused(f"no learner is called {content['learner']!r}", hint="upgrade giveortake")
    kind = classes[content["learner"]]
    stated = {name: getattr(spend, name) for name in _SPENDS}
    names = kind._names()  # noqa: SLF001 (of this module)
    known = {name: value for name, value in {**content["parameters"], **stated}.items() if name in names}
    return kind(**known)._bound(LearningData.from_json(mechanism, dict(content)))  # noqa: SLF001 (as above)


_STATISTICS = {"moments": "giveortake.learn.moments", "contingency": "giveortake.learn.hypothesis_tests"}


def _learners(kind: Any) -> Iterator[type[Learner]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _learners(subclass)


_SPENDS = ("epsilon", "delta", "rho", "mu")
MOST_NOISE = 2.0  # of a sum, as a part of all rows: more is refused
_STORED_PARAMETERS = (
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

    model_class: ClassVar[type[Model]]  # the class of its model
    constructor_example: ClassVar[str | None] = None  # how to construct it, if it takes no positional argument
    kind: ClassVar[str]  # "classifier", "regressor", "transformer" or "clusterer", as scikit-learn calls them

    stored_name: ClassVar[str]  # in JSON
    target: str | None
    features: Sequence[str] | None
    domains: Any
    budget: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in cls.__dict__:  # a spend without its name gets the usual hint
            cls.__init__ = told_by_name(beyond=cls.constructor_example)(cls.__init__)  # type: ignore[method-assign]  # (with the same signature)

    @abstractmethod
    def _plan(self, data: LearningData) -> FitPlan:
        """The fit that the parameters describe, checked: what cannot be learned is refused here, at no cost."""

    def _context(self, data: LearningData, condition: Expression | None) -> FitContext:
        """The rows that fulfil a condition, with the spend and the clip that the parameters state."""
        parameters = {name: getattr(self, name, None) for name in ("epsilon", "delta", "rho", "mu")}
        return FitContext.from_parameters(data, parameters, getattr(self, "clip", None), condition)

    # -- parameters ---------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

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
        defaults = inspect.signature(type(self).__init__).parameters
        arguments = [f"{name}={getattr(self, name)!r}" for name in self._names() if _differs(self, name, defaults)]
        return f"{type(self).__name__}({', '.join(arguments)})"

    # -- fitting ------------------------------------------------------------------------------------------------

    def quote(self, source: Session | frame.Table | LearningData, *, n: int | None = None) -> Quote:
        """What a fit would cost. No row is read, and nothing charged; `n` is a public number of rows, if known."""
        data = LearningData.of(source)
        with data.serving():
            self._plan(data)  # refuses what cannot be learned in its own words
            return data.mechanism.quote(self._bound(data, getattr(self, "n", None) if n is None else n), self._terms())

    def _terms(self) -> Terms:
        """The spend that the parameters state."""
        stated = {name: getattr(self, name, None) for name in _SPENDS}
        return Terms.of({name: value for name, value in stated.items() if value is not None})

    def _bound(self, data: LearningData, n: int | None = None) -> BoundPlan:
        """The fit on the rows of a session."""

        def plan(spend: Spend) -> PlannedRun:
            stated = {name: getattr(spend, name) for name in _SPENDS if name in self._names()}
            return planned_run(type(self)(**{**self.get_params(), **stated})._plan(data), self._finished, n)  # noqa: SLF001 (of this class)

        def recorded(_spend: Spend) -> Mapping[str, Any] | None:
            rows = data.to_json()
            learner = {"learner": self.stored_name, "parameters": self._stored_parameters()}
            return None if rows is None else {**learner, **rows}

        return BoundPlan("fit", data.mechanism, plan, recorded)

    def _finished(self, plan: FitPlan, model: Any, run: Run, noisy_sums: NoisySums) -> Self:
        """This learner, fitted."""
        self._keep(model)
        self.provenance_ = Provenance(
            self.stored_name,
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
        )
        return self

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters that JSON keeps."""
        parameters = {name: getattr(self, name) for name in _STORED_PARAMETERS if name in self._names()}
        return {name: _as_json(parameter) for name, parameter in parameters.items()}

    def _require_signal(self, data: LearningData) -> None:
        """Refuse a fit that would be mostly noise, where a public number of rows is stated."""
        n, spend = getattr(self, "n", None), self._terms().spend
        if n is None or spend is None:
            return
        signal = self._bound(data, whole("n", n)).at(spend).quoted()["facts"]["noise_to_signal"]
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
        if isinstance(source, Session | frame.Table | LearningData) or getattr(source, "is_remote", False):
            if y is not None:
                raise InvalidParameter("y", type(y).__name__, "has no place here", hint='target="…" names the column')
            return self._fit(LearningData.of(source), key)
        with ArraySession(self, source, y) as array_session:
            return self._fit(array_session.data, key)

    def _fit(self, data: LearningData, key: str | None) -> Self:
        with data.serving():
            self._plan(data)  # refuses what cannot be learned in its own words
            self._require_signal(data)
            fitted: Self = data.mechanism.answer(self._bound(data), self._terms(), key)
            return fitted

    def _keep(self, model: Any) -> None:
        """A fitted model, and what its features are called; of arrays scikit-learn says that."""
        self.model_ = model
        if not hasattr(self, "n_features_in_"):
            self.feature_names_in_ = np.array([feature.name for feature in model.features], dtype=object)

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
        return learner_to_json(self.stored_name, self._stored_parameters(), self.model_.to_dict(), self.provenance_)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the fitted model that `to_json` wrote."""
        content = read(text, cls.stored_name)
        learner = cls(**content["parameters"])
        learner._keep(cls.model_class.from_dict(content["model"]))
        learner.provenance_ = Provenance.from_dict(content["provenance"])
        return learner

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


def _differs(learner: Learner, name: str, defaults: Any) -> bool:
    default = defaults[name].default
    value = getattr(learner, name)
    return value is not default and value != default


def _as_json(parameter: Any) -> Any:
    """A parameter as JSON can keep it: arrays as lists, exact numbers as texts that are read as the same."""
    if isinstance(parameter, str) or not isinstance(parameter, Iterable):
        number = parameter.item() if isinstance(parameter, np.generic) else parameter
        return str(number) if isinstance(number, Fraction | Decimal) else number
    if isinstance(parameter, Mapping):
        return {str(name): _as_json(part) for name, part in parameter.items()}
    return [_as_json(part) for part in parameter]


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
