"""The base of all learners: parameters, `quote`, `fit`, planned fits, fitted models and their cards.

- Fitted models: released numbers and what is computed from them. They are public, and hold nothing of rows.
- Cards of models and quotes of fits: what was promised, what counts, what each pass got. Text, Markdown and HTML.
- Planned fits: the rows, what is used of them, what may be spent, and how much of one unit counts.
- The interface of all learners: parameters, `quote`, `fit`, `card`, JSON, and what scikit-learn needs.
- The interface of classifiers: declared classes, and predictions of a fitted model for public rows.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.answers import render
from giveortake.answers.render import escaped
from giveortake.arguments import told_by_name
from giveortake.compile.spend import spend_of
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import decimal, whole
from giveortake.learn.arrays import ArraySession, not_fitted
from giveortake.learn.features import (
    Category,
    Feature,
    classes_of,
    complete,
    complete_and_declared,
    encoded,
    feature_from_json,
    features_of,
    is_declared,
    joined,
    public_columns,
)
from giveortake.learn.noisy_sums import GRAIN, charge, lattice_of, noise_of
from giveortake.plan import Filter
from giveortake.privacy.documents import promise_from_json, promise_to_json
from giveortake.session.learning_data import LearningData
from giveortake.session.render import ASKED_BEFORE, WAITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import numpy.typing as npt

    from giveortake import frame
    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.noisy_sums import NoisySums
    from giveortake.plan import Expression, Relation
    from giveortake.privacy import Guarantee
    from giveortake.session import Session
    from giveortake.session.runs import RunRequest

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


MORE_SIGNAL = "spend more, name fewer features, or take gt.learn.ClassMeans"


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
        widths = [max(len(row[index]) for row in [head, *rows]) for index in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
        facts = [f"{name}: {text}" for name, text in self.facts()]
        return "\n".join([self.title, *(f"  {line.rstrip()}" for line in [*facts, *lines])])


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
            (fit_pass.name, _percent(fit_pass.share), f"{fit_pass.mu:.4g}") for fit_pass in self.provenance.passes
        ]
        return ("pass over the rows", "part of μ²", "μ"), rows


@final
@dataclass(frozen=True, repr=False)
class FitQuote(_Page):
    """What a fit would cost and how noisy its first sums would be. No row was read.

    `noises` has, for each pass, its part of μ² and the deviation of the noise in each of its sums, in rows' worth; None
    where that depends on what is released before. With a public number of rows it is also stated as a part of them.
    `paid` says that the same asker paid for the same fit, and gets it again for free; `approval` that the custodian has
    to approve the charge first.
    """

    title: str
    spend: str
    guarantee: Guarantee
    rows: int
    noises: tuple[tuple[str, Fraction, float | None], ...]
    n: int | None
    admitted: bool
    paid: bool = False
    approval: bool = False

    @property
    def noise_to_signal(self) -> float | None:
        """The greatest deviation of a sum that is known beforehand, as a part of n; None without a public n."""
        known = [noise for *_, noise in self.noises if noise is not None]
        return None if self.n is None or not known else max(known) / self.n

    def facts(self) -> list[tuple[str, str]]:
        """Labels and their texts."""
        facts = [
            ("one charge", f"{self.spend}, as one Gaussian release"),
            ("promise", str(self.guarantee)),
            ("unit", counted(self.guarantee, self.rows)),
        ]
        if self.noise_to_signal is not None:
            part = f"{self.noise_to_signal:.2g} at n = {self.n:,}"
            facts.append(("noise to signal", f"{part}: the noise in a sum, one deviation, as a part of the rows"))
            if self.noise_to_signal >= 1:
                facts.append(("worthless", "the noise in a sum is no smaller than all rows together"))
                facts.append(("hint", MORE_SIGNAL))
        if not self.admitted:
            facts.append(("budget", "does not admit it now"))
        if self.paid:
            facts.append(("budget", ASKED_BEFORE))
        if self.approval:
            facts.append(("budget", WAITS))
        return facts

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The passes over the rows."""
        rows: list[tuple[str, ...]] = [
            (name, _percent(share), "known when its turn comes" if noise is None else f"± {noise:,.3g} rows")
            for name, share, noise in self.noises
        ]
        return ("pass over the rows", "part of μ²", "noise in each sum, one deviation"), rows


def counted(guarantee: Guarantee, rows: int) -> str:
    """What is protected, and how much of one unit counts, in words."""
    column = guarantee.unit.column
    if column is None:
        return "one row"
    if not rows:
        return f"one {column}"
    return f"one {column}: all its rows together count as much as {rows:,} row{'s' if rows > 1 else ''} at most"


def _percent(share: Fraction | str) -> str:
    return f"{decimal(100 * Fraction(share), 3)} %"


@final
@dataclass(frozen=True, slots=True, eq=False)
class FitContext:
    """The rows that a learner sees, the spend, and how many rows' worth of a unit count."""

    data: LearningData
    relation: Relation
    spend: Spend
    rows: int

    @classmethod
    def from_parameters(
        cls, data: LearningData, parameters: dict[str, Any], clip: object, condition: Expression | None
    ) -> FitContext:
        """Check what was stated; `condition` leaves out rows that cannot be learned from."""
        spend = spend_of(
            parameters.get("epsilon"), parameters.get("delta"), parameters.get("rho"), parameters.get("mu"), None
        )
        if spend is None:
            raise InvalidParameter(
                "epsilon",
                None,
                "is missing: say what the model may cost",
                hint='epsilon="1", delta="1e-6", or mu="1/5"',
            )
        if spend.is_pure:
            raise InvalidParameter(
                "delta",
                None,
                "is missing: learners add Gaussian noise, which needs a δ",
                hint='delta="1e-6"',
            )
        relation = data.relation if condition is None else Filter(data.relation, condition)
        return cls(data, relation, spend, _rows(relation, clip))

    @property
    def mu(self) -> Fraction:
        """The μ that all passes together may spend."""
        return self.spend.gaussian()

    @property
    def by_row(self) -> bool:
        """Whether no unit has more than one row, so that each row is cut by itself."""
        return self.relation.person is None or self.relation.most_rows == 1


def _rows(relation: Relation, clip: object) -> int:
    """How many rows' worth of a unit count: one where a unit has one row, else `clip` or the cap on rows."""
    if relation.person is None or relation.most_rows == 1:
        if clip not in {None, 1}:
            raise InvalidParameter("clip", clip, "has no meaning where each unit has one row", hint="leave it out")
        return 1
    if clip is None:
        if relation.most_rows is None:
            raise QueryRefused(
                f"a `{relation.person}` may have any number of rows, and nothing says how much of one counts",
                hint="clip=32 lets a person count as much as 32 rows of one direction; s.profile(…) tells of rows",
            )
        return relation.most_rows
    return whole("clip", clip)  # type: ignore[arg-type]  # (checked there)


class FitPlan(ABC):
    """A planned fit. Making one charges nothing, and looks at no row.

    `shares` says how large a part of μ² each pass gets, by its name, in order.
    """

    stored_name: ClassVar[str]  # in ledgers
    context: FitContext
    shares: dict[str, Fraction]

    @abstractmethod
    def known(self) -> list[VectorSum]:
        """The sums that are known before anything is released: enough to refuse a fit that engines cannot make."""

    @abstractmethod
    def names(self) -> dict[str, Any]:
        """Everything that decides what is measured, besides the rows and the spend: lists, numbers and texts."""

    @abstractmethod
    def learn(self, noisy_sums: NoisySums) -> Any:
        """Make the passes, and a model of what they release."""

    def request(self) -> RunRequest:
        """The request by which this fit is charged."""
        known = list(dict.fromkeys(self.known()))
        for vector_sum in known:
            self.context.data.require(vector_sum)
        fields = {"learner": self.stored_name, "rows": self.context.rows, **self.names()}
        fields |= {
            "filter": self.context.relation.to_json(),
            "shares": {name: str(share) for name, share in self.shares.items()},
            "lattice": [lattice_of(vector_sum) for vector_sum in known],
            "grain": GRAIN,
        }
        return self.context.data.request([], self.context.spend, fields, f"{self.words()} of {self.context.data.name}")

    @abstractmethod
    def words(self) -> str:
        """What is fitted, in words, such as "a linear regression of y"."""


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

    def quote(self, source: Session | frame.Table | LearningData, *, n: int | None = None) -> FitQuote:
        """What a fit would cost. No row is read, and nothing charged; `n` is a public number of rows, if known."""
        data = LearningData.of(source)
        with data.serving():
            plan = self._plan(data)
            return self._quoted(plan, plan.request(), getattr(self, "n", None) if n is None else n)

    def _quoted(self, plan: FitPlan, request: RunRequest, n: int | None) -> FitQuote:
        known = list(zip(plan.shares.items(), plan.known(), strict=False))
        noises: list[tuple[str, Fraction, float | None]]
        noises = [(name, share, noise_of(vector_sum, request, share)) for (name, share), vector_sum in known]
        noises += [(name, share, None) for name, share in list(plan.shares.items())[len(known) :]]
        outlook = request.outlook()
        return FitQuote(
            f"{self.stored_name}: {plan.words()}",
            str(plan.context.spend),
            request.promise,
            plan.context.rows,
            tuple(noises),
            n,
            outlook.admitted or outlook.paid,
            paid=outlook.paid,
            approval=outlook.waits and not outlook.paid,
        )

    def _require_signal(self, plan: FitPlan, request: RunRequest) -> None:
        """Refuse a fit that would be mostly noise, where a public number of rows is stated."""
        n = getattr(self, "n", None)
        if n is None:
            return
        noise = self._quoted(plan, request, whole("n", n)).noise_to_signal
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
        with ArraySession(self, source, y) as array_session:
            return self._fit(array_session.data, key)

    def _fit(self, data: LearningData, key: str | None) -> Self:
        with data.serving():
            return self._fitted(data, key)

    def _fitted(self, data: LearningData, key: str | None) -> Self:
        plan = self._plan(data)
        request = plan.request()
        self._require_signal(plan, request)
        with charge(request, key) as drawn:
            model = plan.learn(drawn)
        self._keep(model)
        self.provenance_ = Provenance(
            self.stored_name,
            plan.words(),
            request.promise,
            str(plan.context.spend),
            plan.context.rows,
            tuple(
                Pass(released.name, str(plan.shares[released.name]), float(released.mu)) for released in drawn.released
            ),
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
        parameters = {name: getattr(self, name) for name in _STORED_PARAMETERS if name in self._names()}
        parameters = {name: _as_json(parameter) for name, parameter in parameters.items()}
        return learner_to_json(self.stored_name, parameters, self.model_.to_dict(), self.provenance_)

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
        from giveortake.learn.arrays import checked_as_fitted  # noqa: PLC0415 (scikit-learn, when it was asked for)

        return checked_as_fitted(self, rows)

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

        targets = np.asarray(y, dtype=np.float64)
        missed = float(((targets - self.predict(rows)) ** 2).sum())
        spread = float(((targets - targets.mean()) ** 2).sum())
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


class ClassModel(Model):
    """A model of released numbers that gives public rows a probability of each declared class."""

    features: tuple[Feature, ...]
    target: Category

    @abstractmethod
    def scores(self, columns: dict[str, npt.NDArray[Any]]) -> Reals:
        """For each row and class, a number whose exponential is proportional to the probability of the class."""

    def described(self) -> dict[str, Any]:
        """Features and classes: the part of `to_dict` that all models have."""
        return {"features": [feature.to_json() for feature in self.features], "target": self.target.to_json()}


def features_and_classes(content: dict[str, Any]) -> tuple[tuple[Feature, ...], Category]:
    """Read the features and classes that `described` wrote."""
    target = feature_from_json(content["target"])
    assert isinstance(target, Category)  # noqa: S101 (so it was written)
    return tuple(feature_from_json(feature) for feature in content["features"]), target


class Classifier(Learner):
    """A model of declared classes. Parameters are those of every learner.

    `target` names the column of classes and `features` those that predict it, all declared ones if none are named.
    `epsilon` and `delta`, or `rho`, or `mu`, is what one fit may cost. `clip` is how many rows' worth of one person
    count. `n` is a public number of rows, if one is known: then a fit that would be noise is refused before it is paid.
    `domains` and `budget` are for rows that you hold yourself, as scikit-learn hands them over.
    """

    kind: ClassVar[str] = "classifier"

    def __init__(
        self,
        target: str | None = None,
        features: Sequence[str] | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        clip: int | None = None,
        n: int | None = None,
        domains: Mapping[str, Any] | None = None,
        budget: Guarantee | None = None,
    ) -> None:
        self.target, self.features = target, features
        self.epsilon, self.delta, self.rho, self.mu = epsilon, delta, rho, mu
        self.clip, self.n = clip, n
        self.domains, self.budget = domains, budget

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The declared classes, in their declared order; of truth values False comes first."""
        return _class_array(self._require_fitted().target.values)

    def predict_proba(self, rows: Any) -> Reals:
        """The probability of each declared class, for public rows."""
        scores = self._scores(rows)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(likely / likely.sum(axis=1, keepdims=True))

    def predict_log_proba(self, rows: Any) -> Reals:
        """The logarithms of these probabilities."""
        return np.asarray(np.log(self.predict_proba(rows)))

    def decision_function(self, rows: Any) -> Reals:
        """For two classes the log-odds of the second; for more, a column of scores for each."""
        scores = self._scores(rows)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict(self, rows: Any) -> npt.NDArray[Any]:
        """The most probable class of each public row.

        A number beyond its declared bounds counts as the nearer bound. A missing number and a category that is not
        declared are refused. A missing category adds nothing, and is refused where categories are measured from the
        first one.
        """
        return np.asarray(self.classes_[self._scores(rows).argmax(axis=1)])

    def score(self, rows: Any, y: Any) -> float:
        """The share of public rows whose class is predicted correctly."""
        return float(np.mean(self.predict(rows) == np.asarray(y)))

    def _classes(self, numbers: str) -> tuple[str, str]:
        """A fact for the card: the two classes, and which of them the model's numbers favour."""
        target = self.model_.target
        first, second = target.values
        return "classes", f"{first} and {second}; {numbers} make {target.name} = {second} more likely"

    def _scores(self, rows: Any) -> Reals:
        model: ClassModel = self._require_fitted()
        return model.scores(self._public(rows, [feature.name for feature in model.features]))


def _class_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Classes as an array of their own type if they share one, else of objects."""
    kinds = {type(value) for value in values}
    return np.array(values) if len(kinds) == 1 and kinds <= {int, bool, str} else np.array(values, dtype=object)


def required_target(target: str | None) -> str:
    """Check that a target is named, and return it."""
    if target is None:
        raise InvalidParameter("target", None, "is missing: name the column to predict", hint='target="…"')
    return target


def planned(
    learner: Classifier, data: LearningData, *, most: int | None = None, declared: bool = False
) -> tuple[FitContext, tuple[Feature, ...], Category]:
    """What a classifier learns from: rows of a declared class without missing numbers, features and classes.

    With `declared`, categories of features have to be declared ones, too.
    """
    target = required_target(learner.target)
    features = features_of(data.schema, learner.features, target)
    classes = classes_of(data.schema, target)
    if most is not None and len(classes.values) > most:
        raise InvalidParameter(
            "target",
            target,
            f"has {len(classes.values)} declared classes, and {type(learner).__name__} can separate only {most}",
            hint='gt.learn.NaiveBayes takes more; or derive one class against the rest: gt.col("…") == "…"',
        )
    parameters = {name: getattr(learner, name) for name in ("epsilon", "delta", "rho", "mu")}
    names = [feature.name for feature in features]
    completeness = complete_and_declared(data.schema, features) if declared else complete(data.schema, names)
    parts = (completeness, is_declared(classes, data.schema))
    conditions = [part for part in parts if part is not None]
    condition = joined("and", conditions) if conditions else None
    context = FitContext.from_parameters(data, parameters, learner.clip, condition)
    return context, features, classes
