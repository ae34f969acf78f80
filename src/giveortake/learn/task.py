"""Planned fits: the rows, what is used of them, what may be spent, and how much of one unit counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.compile.spend import spend_of
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import whole
from giveortake.learn.lattice import GRAIN, lattice_of
from giveortake.plan import Filter

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.learn.passes import Passes
    from giveortake.plan import Expression, Relation
    from giveortake.session.run_requests import RunRequest
    from giveortake.session.vector_run import LearningData


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The rows that a learner sees, the spend, and how many rows' worth of a unit count."""

    data: LearningData
    relation: Relation
    spend: Spend
    rows: int

    @classmethod
    def of(cls, data: LearningData, said: dict[str, Any], clip: object, condition: Expression | None) -> Ground:
        """Check what was stated; `condition` leaves out rows that cannot be learned from."""
        spend = spend_of(said.get("epsilon"), said.get("delta"), said.get("rho"), said.get("mu"), None)
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


class Task(ABC):
    """A planned fit. Making one charges nothing, and looks at no row.

    `shares` says how large a part of μ² each pass gets, by its name, in order.
    """

    stored_name: ClassVar[str]  # in ledgers
    ground: Ground
    shares: dict[str, Fraction]

    @abstractmethod
    def known(self) -> list[VectorSum]:
        """The sums that are known before anything is released: enough to refuse a fit that engines cannot make."""

    @abstractmethod
    def names(self) -> dict[str, Any]:
        """Everything that decides what is measured, besides the rows and the spend: lists, numbers and texts."""

    @abstractmethod
    def learn(self, passes: Passes) -> Any:
        """Make the passes, and a model of what they release."""

    def request(self) -> RunRequest:
        """The request by which this fit is charged."""
        known = list(dict.fromkeys(self.known()))
        for each in known:
            self.ground.data.require(each)
        said = {"learner": self.stored_name, "rows": self.ground.rows, **self.names()}
        said |= {
            "filter": self.ground.relation.to_json(),
            "shares": {name: str(each) for name, each in self.shares.items()},
            "lattice": [lattice_of(each) for each in known],
            "grain": GRAIN,
        }
        return self.ground.data.request([], self.ground.spend, said, f"{self.words()} of {self.ground.data.name}")

    @abstractmethod
    def words(self) -> str:
        """What is fitted, in words, such as "a linear regression of y"."""
