"""What is told about a file that is not there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from giveortake.errors import NotFound, meant, shown

if TYPE_CHECKING:
    from pathlib import Path


def absent(path: Path, hint: str = "") -> NotFound:
    """The error, with the name of a file beside it that is spelled alike."""
    names: list[str] = []
    with suppress(OSError):  # a folder that is not there, or not for us to read, has no names to tell
        names = sorted(each.name for each in path.parent.iterdir() if shown(each.name) == each.name)
    told = f"{meant(path.name, names)}{hint}".strip()
    return NotFound(f"there is no file {shown(path)}", hint=told or None)
