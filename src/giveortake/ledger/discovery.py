"""Where ledgers are: the one of a session, and others beside a table's file, which would be a second budget."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from giveortake.engines.protocol import file_and_table, is_address
from giveortake.errors import InvalidParameter, SameTable, safe_text
from giveortake.ledger.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.accounting.filters import Meter
    from giveortake.exact import Number


MEMORY = ":memory:"  # the place of a ledger that is forgotten with its session
CONFIGURATION = "giveortake.toml"  # in the folder of a command
ABOVE = 4  # folders above a file in which a TOML file may be about it


@final
@dataclass(frozen=True, slots=True)
class LedgerLocation:
    """Where the ledger of a session is, with all that can be said of it: `gt.protect(…, ledger=gt.ledger.at(path, …))`.

    `ledger` is a path, the URL of a database, or an open ledger. `mark` is the path of its high-water mark, if that is
    not in the state folder (`$GIVEORTAKE_STATE`, or the user's own). If the ledger has a population already,
    `population` says that the table is about the same people, and `new_population` that it is about others. `failures`
    is how many questions may run out of memory or time before the custodian has to look, 3 unless stated. `meter` is
    the currency in which shares of an (ε, δ) budget are measured: "epsilon", "mu" or "renyi". `spool` is the folder of
    answers with very many groups, beside the ledger unless stated. `owner_confirms`, which is recorded, says why a
    table may have a second budget. `by` is who protects it, for the ledger.

    >>> at("visits.ledger", population="patients").path
    'visits.ledger'
    """

    ledger: str | os.PathLike[str] | Ledger | None = None
    _: KW_ONLY
    mark: str | os.PathLike[str] | None = None
    population: str | None = None
    new_population: str | None = None
    failures: Number | None = None
    meter: Meter | None = None
    owner_confirms: str | None = None
    by: str | None = None
    spool: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.ledger is not None and not isinstance(self.ledger, str | os.PathLike | Ledger):
            hint = 'pass a path: ledger="visits.ledger"'
            raise InvalidParameter("ledger", self.ledger, "is neither a ledger nor where one is kept", hint=hint)
        if self.mark is not None and (self.ledger is None or isinstance(self.ledger, Ledger)):
            problem = "goes only with a ledger that is opened by its path"
            raise InvalidParameter("mark", str(self.mark), problem, hint='pass ledger="visits.ledger"')

    @property
    def path(self) -> str | None:
        """The path or address of the ledger; None if it is in memory because none was stated."""
        if isinstance(self.ledger, Ledger):
            name = self.ledger.chain.store.name
            return MEMORY if name == "memory" else name
        return None if self.ledger is None else str(self.ledger)

    @property
    def is_durable(self) -> bool:
        """Whether it outlives its session."""
        return self.path not in {None, MEMORY}


at = LedgerLocation


def usual_ledger(file: str) -> str:
    """The path at which the command line keeps the ledger of a file by default."""
    return f"{file}.ledger"


def require_one_budget(source: Any, ledger: str | None) -> None:
    """Refuse a ledger for a file whose budget is kept in another one: beside it, or where a TOML file says.

    `ledger` is the place of the session's own; None means that none was stated, and it would be kept in memory.
    `MEMORY` states that on purpose, and is never refused. Links are followed; folders and patterns are searched, and so
    are up to `ABOVE` folders above a file. Not noticed are tables in memory or on a server, copies of a file, and
    ledgers elsewhere that no TOML file names.
    """
    if ledger == MEMORY:
        return
    action = "forget what is spent" if ledger is None else f"keep another one at {safe_text(ledger)}"
    for file in dict.fromkeys(files_of(source)):
        for other_ledger in _usual_ledgers(file):
            if os.path.lexists(other_ledger) and not (ledger is not None and _is_same(ledger, other_ledger)):
                raise _second_budget(f"{other_ledger} holds a budget of {safe_text(file)}", action, other_ledger)
        for configuration, section, other_ledger in _configured(file):
            exists = is_address(other_ledger) or os.path.lexists(other_ledger)
            if exists and other_ledger != ledger and not (ledger is not None and _is_same(ledger, other_ledger)):
                raise _second_budget(
                    f"[{section}] of {configuration.name} keeps the budget of {safe_text(file)} at "
                    f"{safe_text(other_ledger)}",
                    action,
                    str(safe_text(other_ledger)),
                )


def _second_budget(fact: str, action: str, ledger: str) -> SameTable:
    return SameTable(
        f"{fact}, and this session would {action}",
        hint=(
            f'ledger="{ledger}" goes on with that one, ledger=":memory:" is for trying out what nobody else will see; '
            "if these are other people, move that ledger elsewhere, or pass owner_confirms=, which is recorded"
        ),
    )


def require_no_other_ledger(files: list[str], ledger: str | None, *, section: str, configuration: Path) -> None:
    """Refuse a section about a file with a ledger beside it, unless the section names that ledger, or `MEMORY`."""
    if ledger == MEMORY:
        return
    for other_ledger in (other_ledger for file in files for other_ledger in _usual_ledgers(file)):
        if os.path.lexists(other_ledger) and not (ledger is not None and _is_same(ledger, other_ledger)):
            relative_path = Path(os.path.relpath(other_ledger, configuration.parent)).as_posix()
            section_text = "names no ledger" if ledger is None else f"keeps its ledger at {safe_text(ledger)}"
            raise SameTable(
                f"[{section}] of {configuration} {section_text}, and {relative_path} holds a budget of that table "
                "already",
                hint=f'write ledger = "{relative_path}" there; if that one is about other people, move it elsewhere',
            )


def require_no_other_configuration(file: str) -> None:
    """Refuse the usual ledger of a file if a TOML file beside it keeps another one about the same file."""
    for configuration, section, ledger in _configured(file):
        if not _is_same(ledger, usual_ledger(file)):
            raise SameTable(
                f"[{section}] of {configuration.name} keeps the budget of {file} at {safe_text(ledger)}, and this "
                f"would begin another one at {usual_ledger(file)}",
                hint=f"ask {configuration.name} instead of {file}",
            )


def files_of(source: Any) -> list[str]:
    """The files that a source names; addresses and tables in memory are not files."""
    if isinstance(source, str | Path):
        return [] if is_address(source) else [str(file_and_table(source)[0])]
    if isinstance(source, Mapping):
        return [file for part in source.values() for file in files_of(part)]
    return [file for part in source for file in files_of(part)] if isinstance(source, list | tuple) else []


def _usual_ledgers(file: str) -> list[str]:
    """Default ledger paths of a file, of what it links to or contains, and of folders above it that are tables."""
    covering_folders = [folder for folder in _folders(file) if folder.name and _covers(str(folder), file)]
    names = [
        name for path in (Path(file), *_inside(file), *covering_folders) for name in (str(path), os.path.realpath(path))
    ]
    return list({os.path.realpath(usual_ledger(name)): usual_ledger(name) for name in reversed(names)}.values())[::-1]


def _inside(file: str) -> list[Path]:
    """The files of a folder or a pattern."""
    path = Path(file)
    if path.is_dir():
        return sorted(path.glob("**/*.parquet"))
    return sorted(path.parent.glob(path.name)) if _is_pattern(path) else []


def _is_pattern(path: Path) -> bool:
    return any(sign in path.name for sign in "*?[") and not path.exists()


def _folders(file: str) -> list[Path]:
    """The folders above a file, and above what it links to, nearest first."""
    parents = [list(path.parents)[:ABOVE] for path in (Path(os.path.abspath(file)), Path(os.path.realpath(file)))]  # noqa: PTH100 (a path's own `absolute` keeps ..)
    return list(dict.fromkeys([folder for level in zip_longest(*parents) for folder in level if folder is not None]))


def _covers(source: str, file: str) -> bool:
    """Whether a source includes a file: it is the same file, a folder above it, or a pattern that it matches."""
    source_path, file_path = Path(os.path.realpath(source)), Path(os.path.realpath(file))
    with suppress(OSError):
        if source_path == file_path or source_path.samefile(file_path):
            return True
    if source_path.is_dir():
        return file_path.is_relative_to(source_path) and file_path.suffix == ".parquet"
    return _is_pattern(source_path) and file_path.parent == source_path.parent and file_path.match(source_path.name)


def _configured(file: str) -> Iterator[tuple[Path, str, str]]:
    """TOML files beside or above a file that name a ledger for it: the TOML file, the section and the ledger."""
    for configuration in (path for folder in _folders(file) for path in sorted(folder.glob("*.toml"))):
        for section, ledger in _ledgers_of(configuration, file):
            if ledger != MEMORY:
                yield configuration, section, ledger


def beside(configuration: Path, text: str) -> str:
    """A path from a TOML file, which is relative to that file."""
    return text if is_address(text) else str(configuration.parent / Path(text).expanduser())


def _ledgers_of(configuration: Path, file: str) -> list[tuple[str, str]]:
    """The sections of a TOML file that are about a file, and their ledgers; none if it is not a configuration."""
    try:
        content = tomllib.loads(configuration.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # somebody else's file: whoever opens it as a configuration is told what is wrong
        return []
    ledgers = []
    for name, section in content.items():
        if not isinstance(section, Mapping) or not _reads(configuration, section.get("source"), file):
            continue
        ledger = section.get("ledger")
        if isinstance(ledger, str):
            ledgers.append((name, ledger if ledger == MEMORY else beside(configuration, ledger)))
        elif os.path.lexists(usual_ledger(str(configuration))):
            ledgers.append((name, usual_ledger(str(configuration))))
    return ledgers


def _reads(configuration: Path, source: object, file: str) -> bool:
    if isinstance(source, str):
        if is_address(source):
            return False
        source_path = beside(configuration, source)
        return any(_covers(source_path, str(path)) for path in (file, *_inside(file)))
    parts = source.values() if isinstance(source, Mapping) else source if isinstance(source, list) else ()
    return any(_reads(configuration, part, file) for part in parts)


def _is_same(one: str, other: str) -> bool:
    return not is_address(one) and os.path.realpath(one) == os.path.realpath(other)
