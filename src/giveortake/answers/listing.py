"""Lists that print as tables, one line for each element, in a terminal and in a notebook."""

from __future__ import annotations

from typing import Any, SupportsIndex, TypeVar, overload

from giveortake.answers import faces, html
from giveortake.answers.printable import printable

T = TypeVar("T")
_MOST = 20  # lines that are shown
_WIDEST = 56  # letters of a cell


class Listing(list[T]):
    """A list that prints as a table: `head` names the columns, `cells` makes the line of one element."""

    head: tuple[str, ...] = ()
    nouns: tuple[str, str] = ("thing", "things")

    def cells(self, each: T) -> tuple[str, ...]:
        """The texts in the line of one element."""
        raise NotImplementedError

    def _lines(self) -> list[tuple[str, ...]]:
        return [tuple(_cut(cell) for cell in self.cells(each)) for each in list.__getitem__(self, slice(_MOST))]

    def _foot(self) -> str:
        more = len(self) - _MOST
        return f"… {more:,} more" if more > 0 else f"{len(self):,} {self.nouns[len(self) != 1]}"

    def __repr__(self) -> str:
        return faces.text_table(self.head, self._lines(), self._foot())

    def __rich__(self) -> Any:
        return faces.rich_table(self.head, self._lines(), self._foot())

    def _repr_html_(self) -> str:
        return f"<div>{html.table(self.head, self._lines())}<small>{html.text(self._foot())}</small></div>"

    @overload
    def __getitem__(self, place: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Listing[T]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> T | Listing[T]:
        if isinstance(place, slice):
            return self._like(list.__getitem__(self, place))
        return list.__getitem__(self, place)

    def _like(self, things: list[T]) -> Listing[T]:
        """A listing of the same kind with some of the elements."""
        return type(self)(things)


def _cut(text: str) -> str:
    said = printable(" ".join(text.split()))
    return said if len(said) <= _WIDEST else f"{said[: _WIDEST - 1]}…"
