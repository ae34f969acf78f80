"""Groups whose key is missing, in words: they come last, and a page that shows the first rows alone would hide them."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING

from giveortake.answers.numbers import shown_with_margin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.answers.column import Column

_MOST = 3  # groups that are listed


def told_without_key(columns: Sequence[Column], after: int) -> list[str]:
    """The first groups with a missing key after the first `after` rows, in words, each with its first number.

    >>> from giveortake.answers.column import Column
    >>> told_without_key([Column("day", [1, 2, None]), Column("n", [5, 6, 7], [4, 5, 6], [6, 7, 8])], after=2)
    ['without `day`: n 7 ± 1']
    """
    return list(islice(_told(columns, after), _MOST))


def _told(columns: Sequence[Column], after: int) -> Iterator[str]:
    keys = list(takewhile(lambda column: not column.has_interval, columns))
    estimate = next((column for column in columns if column.has_interval), None)
    if estimate is None or not keys or len(estimate) <= after:
        return
    for names, row in islice(zip(zip(*keys, strict=True), estimate.triples(), strict=True), after, None):
        if None in names:
            said = [
                f"without `{key.name}`" if name is None else f"{key.name} {name}"
                for key, name in zip(keys, names, strict=True)
            ]
            yield f"{', '.join(said)}: {estimate.name} {' '.join(shown_with_margin(*row))}"
