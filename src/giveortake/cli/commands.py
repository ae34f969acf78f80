"""The commands by their names, each loaded when it is first needed: most calls need one."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.cli.command import Command


@final
class Commands(MutableMapping[str, "Command"]):
    """A mapping of commands; each is the `COMMAND` of the module of its name."""

    def __init__(self, names: Iterable[str]) -> None:
        self._found: dict[str, Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Command:
        found = self._found[name]
        if found is None:
            loaded: Command = import_module(f"giveortake.cli.{name}").COMMAND
            found = self._found[name] = loaded
        return found

    def __setitem__(self, name: str, command: Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
