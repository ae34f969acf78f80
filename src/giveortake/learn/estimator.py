"""The face of every learner: parameters, `quote`, `fit`, a card, JSON, and what scikit-learn asks of an estimator."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from giveortake.errors import InvalidParameter, NotFitted
from giveortake.learn.model import Model, Provenance
from giveortake.learn.passes import passes
from giveortake.session.vector_run import LearningData

if TYPE_CHECKING:
    from typing import Self

    from giveortake import frame
    from giveortake.learn.task import Task
    from giveortake.session import Session


class Learner(ABC):
    """A model that is fitted to rows behind a session, under one charge.

    The constructor stores what it is given and nothing else, as scikit-learn has it; `fit` checks it. What is learned
    is in `model_`; nothing of it comes from rows but by released sums.
    """

    words: ClassVar[str]

    @abstractmethod
    def _task(self, data: LearningData) -> Task:
        """The fit that the parameters describe, checked: what cannot be learned is refused here, at no cost."""

    # -- parameters ---------------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; what was fitted stays until `fit`."""
        for name, each in parameters.items():
            if name not in self._names():
                raise InvalidParameter(name, each, "is no parameter", hint=f"parameters: {', '.join(self._names())}")
            setattr(self, name, each)
        return self

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, source: Session | frame.Table, y: object = None, *, key: str | None = None) -> Self:
        """Fit to the rows behind a session, or to a table of one. `key` makes a retry safe; the same again is free."""
        task = self._task(self._data(source, y))
        request = task.request()
        with passes(request, key) as made:
            self.model_: Model = task.learn(made)
            shares = list(task.shares.items())
            told = tuple((each.name, str(dict(shares)[each.name]), float(each.mu)) for each in made.released)
        self.provenance_ = Provenance(
            type(self).__name__,
            task.words(),
            request.promise,
            str(task.ground.spend),
            str(request.promise.unit),
            task.ground.rows,
            told,
            made.release_id,
            () if made.charged else ("fitted before at this price: nothing was charged",),
        )
        return self

    def _data(self, source: object, y: object) -> LearningData:
        if y is not None:
            raise InvalidParameter("y", type(y).__name__, "has no place here", hint='target="…" names the column')
        return LearningData.of(source)  # type: ignore[arg-type]  # (refused there)

    @property
    def is_fitted(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "model_")

    def _require_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFitted(f"this {type(self).__name__} is not fitted", hint="fit(session) first")
