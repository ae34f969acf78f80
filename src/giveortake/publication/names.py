"""Names of tables and columns that every target accepts: none is cut off, none occurs twice, none is read as SQL."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from giveortake.answers.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 63  # bytes of a name in PostgreSQL, which cuts off the rest silently
_PLAIN = re.compile(r"[^0-9a-z]+")
_ID = 12  # letters of an id in the name of a table


def table_name(dataset: str, release_id: str, place: int | None) -> str:
    """The name of a release's table, which does not depend on what else is published.

    >>> table_name("Visits 2024", "8a7afee9774886ca498d9cb1", None), table_name("x", "x/4", 1)
    ('visits_2024_8a7afee97748', 'x_x_4_2')
    """
    opaque = _plain(release_id)[:_ID] if _PLAIN.search(release_id.lower()) is None else _plain(release_id)
    number = "" if place is None else f"_{place + 1}"
    return shortened(f"{_plain(dataset) or 'table'}_{opaque}{number}")


def _plain(text: str) -> str:
    return _PLAIN.sub("_", text.lower()).strip("_")


def column_names(names: Iterable[str]) -> list[str]:
    r"""Names that a database can hold: no control characters, at most 63 bytes, different whatever their case.

    >>> column_names(["n", "N", "a\0b"])
    ['n', 'N_2', 'a\\x00b']
    """
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        made = shortened(printable(name))
        number = 1
        while made.casefold() in taken:
            number += 1
            made = shortened(f"{printable(name)}_{number}")
        taken.add(made.casefold())
        found.append(made)
    return found


def shortened(name: str) -> str:
    """A name of at most 63 bytes; a longer one is cut, and ends in digits of its hash."""
    written = name.encode()
    if len(written) <= LONGEST:
        return name
    digest = hashlib.sha256(written).hexdigest()[:8]
    return f"{written[: LONGEST - 9].decode(errors='ignore')}_{digest}"


def quoted(name: str) -> str:
    """A name quoted for SQL, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
