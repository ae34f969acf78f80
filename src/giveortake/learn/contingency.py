"""Tables of counts by one or two declared columns, for tests of hypotheses."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.answers import render
from giveortake.arguments import told_by_name
from giveortake.engines import Component, KeyColumn
from giveortake.errors import InvalidParameter
from giveortake.learn.features import Category, classes_of, feature_from_json
from giveortake.learn.lattice import vector_sum
from giveortake.learn.passes import passes
from giveortake.learn.task import Ground, Task
from giveortake.plan import ColumnReference
from giveortake.privacy.documents import promise_from_json, promise_to_json
from giveortake.session.vector_run import LearningData, served_to_asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake import frame
    from giveortake.engines import VectorSum
    from giveortake.exact import Number
    from giveortake.learn.passes import Passes
    from giveortake.privacy import Guarantee
    from giveortake.session import Session

    Reals: TypeAlias = npt.NDArray[np.float64]


@told_by_name({"columns": '["region", "sex"]'}, beyond='contingency(s, ["region", "sex"], epsilon=…, delta=…)')
@served_to_asker
def contingency(
    s: Session | frame.Table,
    columns: Sequence[str],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    clip: int | None = None,
    key: str | None = None,
) -> Contingency:
    """Counts by one or two columns of declared categories, in one Gaussian release.

    Guarantee: a row is in one cell at most, so it moves the table by 1 if it is added, by √2 if it is changed, and a
    person by `clip` times that. Rows with a missing or undeclared category are in no cell.
    """
    data = LearningData.of(s)
    if isinstance(columns, str) or len(columns) not in {1, 2} or len(set(columns)) < len(columns):
        raise InvalidParameter("columns", columns, "needs one column or two, in a list", hint='["sex", "smoker"]')
    found = tuple(classes_of(data.schema, name, "columns") for name in columns)
    said = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    task = ContingencyTask(Ground.of(data, said, clip, None), found)
    request = task.request()
    with passes(request, key) as made:
        return replace(task.learn(made), guarantee=request.promise, release_id=made.release_id)


@final
class ContingencyTask(Task):
    """One pass: the number of rows in each cell."""

    stored_name: ClassVar[str] = "ContingencyTask"

    def __init__(self, ground: Ground, columns: tuple[Category, ...]) -> None:
        self.ground, self.columns = ground, columns
        self.shares = {"counts": Fraction(1)}

    def known(self) -> list[VectorSum]:
        keys = [KeyColumn(each.name, ColumnReference(each.name), each.values) for each in self.columns]
        cells = Component((), tuple(range(len(keys))))
        return [vector_sum(self.ground.relation, (), [cells], self.ground.rows, keys=keys)]

    def names(self) -> dict[str, Any]:
        return {"columns": [each.to_json() for each in self.columns]}

    def words(self) -> str:
        return f"a table of {' and '.join(each.name for each in self.columns)}"

    def learn(self, passes: Passes) -> Contingency:
        made = passes.add_up("counts", self.known()[0], self.shares["counts"])
        shape = [len(each.values) for each in self.columns]
        return Contingency(self.columns, made.cells(0).reshape(shape), made.deviation(), by_row=self.ground.by_row)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Contingency:
    """Released counts, each give or take noise of the same deviation; some may be negative.

    `by_row` says that no person has more than one row, which tests of hypotheses need.
    """

    columns: tuple[Category, ...]
    counts: Reals
    noise: float
    guarantee: Guarantee | None = None
    release_id: str | None = None
    by_row: bool = False

    @property
    def n(self) -> float:
        """About how many rows there are."""
        return float(self.counts.sum())

    def to_json(self) -> str:
        """What was released, as JSON; `from_json` reads it."""
        content = {
            "format": 1,
            "columns": [each.to_json() for each in self.columns],
            "counts": self.counts.tolist(),
            "noise": self.noise,
            "guarantee": None if self.guarantee is None else promise_to_json(self.guarantee),
            "release_id": self.release_id,
            "by_row": self.by_row,
        }
        return json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Contingency:
        """Read what `to_json` wrote."""
        try:
            content = json.loads(text)
            promise = content["guarantee"]
            columns = tuple(feature_from_json(each) for each in content["columns"])
            return cls(
                tuple(each for each in columns if isinstance(each, Category)),
                np.asarray(content["counts"], dtype=np.float64),
                content["noise"],
                None if promise is None else promise_from_json(promise),
                content["release_id"],
                content["by_row"],
            )
        except (ValueError, KeyError, TypeError, IndexError):
            raise InvalidParameter("text", text[:40], "is not the JSON of a table of counts") from None

    def _table(self) -> tuple[list[str], list[list[str]]]:
        first = self.columns[0]
        head = [str(each) for each in self.columns[1].values] if len(self.columns) == 2 else ["n"]
        rows = [
            [str(name), *(f"{each:,.0f}" for each in np.atleast_1d(self.counts[place]))]
            for place, name in enumerate(first.values)
        ]
        return [" by ".join(each.name for each in self.columns), *head], rows

    def _title(self) -> str:
        return f"{self.n:,.0f} rows, each count ± {2 * self.noise:,.0f}"

    def __repr__(self) -> str:
        head, rows = self._table()
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
        return "\n".join([*lines, self._title()])

    def _repr_html_(self) -> str:
        return render.card(self._title(), render.table(*self._table()))
