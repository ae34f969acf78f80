"""A model of a table: what was fitted to released counts. It can be asked, sampled and saved, all for free."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.answers import Answer, Column
from giveortake.errors import InvalidParameter, NotFound, meant
from giveortake.exact import whole
from giveortake.randomness import SYSTEM_ENTROPY
from giveortake.synth.junction_tree import JunctionTree
from giveortake.synth.maximum_likelihood import with_zeros
from giveortake.synth.model_columns import ModelColumn
from giveortake.synth.systematic_sample import systematic_sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from giveortake.randomness import Entropy
    from giveortake.synth.junction_tree import Calibrated
    from giveortake.synth.maximum_likelihood import Fitted
    from giveortake.synth.triangulation import Columns

    Floats: TypeAlias = npt.NDArray[np.float64]

FORMAT = "giveortake model 1"
MOST_CELLS = 10**7  # of a marginal that is asked of a model
MOST_ROWS = 10**8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A distribution over declared columns, and the number of rows that was released.

    It is made of released counts alone: whatever is computed from it is post-processing, and costs nothing.
    """

    columns: tuple[ModelColumn, ...]
    total: float
    factors: Mapping[Columns, Floats]
    zeros: Mapping[Columns, Floats]
    calibrated: Calibrated
    together: tuple[Columns, ...] = ()

    @classmethod
    def of(cls, columns: Sequence[ModelColumn], fitted: Fitted, zeros: Mapping[Columns, Floats]) -> Model:
        """The model that a fit has found."""
        kept = tuple(fitted.tree.cliques)
        return cls(tuple(columns), fitted.total, dict(fitted.factors), dict(zeros), fitted.calibrated, kept)

    def counts(self, *names: str) -> Floats:
        """The expected numbers of rows for all combinations of some columns, in the order in which they are named."""
        places = [self._place(name) for name in names]
        if not places or len(set(places)) < len(places):
            raise InvalidParameter("columns", names, "is empty, or names a column twice")
        cells = int(np.prod([self.columns[place].size for place in places], dtype=np.float64))
        if cells > MOST_CELLS:
            raise InvalidParameter(
                "columns", names, f"have {cells:,} cells, more than {MOST_CELLS:,}", hint="name fewer columns"
            )
        ordered = tuple(sorted(places))
        table = self.calibrated.marginal(ordered) * self.total
        return np.transpose(table, [ordered.index(place) for place in places])

    def marginal(self, *names: str) -> Answer:
        """The expected counts as a table: one row for each combination, and its expected number of rows `n`."""
        table = self.counts(*names)
        columns = []
        for axis, name in enumerate(names):
            column = self.columns[self._place(name)]
            labels = column.labels()
            repeated = np.broadcast_to(
                np.arange(column.size).reshape([-1 if each == axis else 1 for each in range(table.ndim)]), table.shape
            )
            kind = "text" if column.edges is not None else column.shown_kind
            columns.append(Column(name, [labels[place] for place in repeated.ravel().tolist()], kind=kind))
        return Answer([*columns, Column("n", table.ravel())], notes=("expected by a model: post-processing, no cost",))

    def sample(self, rows: int | None = None, entropy: Entropy = SYSTEM_ENTROPY) -> Answer:
        """Draw rows, as many as were released unless `rows` is stated, by the operating system's randomness."""
        count = round(self.total) if rows is None else whole("rows", rows, least=0)
        if count > MOST_ROWS:
            raise InvalidParameter("rows", count, f"are more than {MOST_ROWS:,}", hint="draw some at a time")
        places = systematic_sample(self.calibrated, count, entropy)
        columns = [
            Column(column.name, column.values(places[:, place], entropy), kind=column.shown_kind)
            for place, column in enumerate(self.columns)
        ]
        return Answer(columns, notes=("synthetic rows: none of them is a person's",))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, of numbers and JSON alone."""
        arrays = {}
        groups: dict[str, list[list[int]]] = {"factors": [], "zeros": []}
        for name, tables in (("factors", self.factors), ("zeros", self.zeros)):
            for columns, table in tables.items():
                arrays[f"{name}{len(groups[name])}"] = table
                groups[name].append(list(columns))
        told = {
            "format": FORMAT,
            "columns": [column.to_json() for column in self.columns],
            "total": self.total,
            "together": [list(each) for each in self.together],
            **groups,
        }
        with Path(path).open("wb") as file:
            np.savez_compressed(file, model=np.array(json.dumps(told, ensure_ascii=False)), **arrays)  # type: ignore[arg-type]  # (named arrays)

    @classmethod
    def load(cls, path: str | Path) -> Model:
        """Read what `save` wrote. The file is never run: it holds numbers and JSON."""
        try:
            with np.load(Path(path), allow_pickle=False) as file:
                told: Any = json.loads(str(file["model"]))
                if told["format"] != FORMAT:
                    raise InvalidParameter("path", str(path), f"holds a model of another format: {told['format']}")
                columns = tuple(ModelColumn.from_json(each) for each in told["columns"])
                factors, zeros = (
                    {tuple(each): np.array(file[f"{name}{place}"]) for place, each in enumerate(told[name])}
                    for name in ("factors", "zeros")
                )
        except FileNotFoundError:
            raise NotFound(f"there is no file {str(path)!r}") from None
        except (KeyError, TypeError, ValueError, OSError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("path", str(path), "is not a saved model") from None
        together = tuple(tuple(each) for each in told["together"])
        tree = JunctionTree.of([column.size for column in columns], [*factors, *zeros, *together])
        calibrated, _ = tree.calibrate(with_zeros(factors, zeros))
        return cls(columns, float(told["total"]), factors, zeros, calibrated, together)

    def _place(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise NotFound(f"the model has no column {name!r}", hint=f"{meant(name, names)}it has {', '.join(names)}")
        return names.index(name)

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"<Model of {names}: about {round(self.total):,} rows, {self.calibrated.tree.cells:,} cells>"
