"""An estimate: one number with its interval, and where they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.answers.answer import Released
from giveortake.answers.column import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers.column import Value


@final
class Estimate(Released):
    """One number, give or take: a value, an interval, and where they came from.

    >>> Estimate(0.31, 0.28, 0.34, name="share")
    share
    0.310 ± 0.030
    1 row · intervals hold with 95 % each
    """

    stored_name: ClassVar[str] = "estimate"
    __slots__ = ("_column",)

    _column: Column

    def __init__(self, value: Value, low: Value, high: Value, *, name: str = "value", **provenance: Any) -> None:
        super().__init__(**provenance)
        self._keep(_column=Column(name, [value], [low], [high]))

    @classmethod
    def of_columns(cls, columns: Sequence[Column], provenance: dict[str, Any]) -> Estimate:
        value, low, high = next(columns[0].triples())
        return cls(value, low, high, name=columns[0].name, **provenance)

    @property
    def columns(self) -> tuple[Column]:
        return (self._column,)

    @property
    def value(self) -> Any:
        """The estimate."""
        return next(self._column.triples())[0]

    @property
    def low(self) -> Any:
        """The lower end of the interval."""
        return next(self._column.triples())[1]

    @property
    def high(self) -> Any:
        """The upper end of the interval."""
        return next(self._column.triples())[2]

    @property
    def margin(self) -> Any:
        """How far the farther end of the interval is from the value."""
        return self._column.margins[0]
