"""Sessions described in a TOML file, with the names of the arguments of `gt.protect`, for commands and servers.

- TOML as text without invisible characters, for `init` and for tables that are added to a service.
- Domains that are not written as they are in Python: refused with how they are written.
- Sections: checked, and opened as sessions.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.render import printable
from giveortake.engines.protocol import with_table
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound, did_you_mean, safe_text
from giveortake.exact import positive
from giveortake.hints import rendered
from giveortake.ledger import Ledger
from giveortake.ledger.discovery import MEMORY, at, beside, files_of, require_no_other_ledger
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, PureDP, unit
from giveortake.privacy.guarantee import checked_neighbours
from giveortake.session.protection import WORD_FOR_ROWS, protect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.privacy import Guarantee, Unit
    from giveortake.session.session import Session


def quoted(text: str) -> str:
    r"""A text as a TOML string, with invisible characters escaped.

    >>> print(quoted('a "b"'), quoted("tab\there"), quoted("\u202eevil"), quoted("naïve"))
    "a \"b\"" "tab\u0009here" "\u202eevil" "naïve"
    """
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in {'"', "\\"}:
        return f"\\{letter}"
    if printable(letter) == letter and letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"


def section_text(name: str, settings: Mapping[str, Any], domains: Mapping[str, Any]) -> str:
    """A section of a configuration: the declarations about a table, and about its columns.

    >>> print(section_text("trips", {"unit": "user", "budget": {"epsilon": "1"}}, {"fare": {"bounds": [0, 500]}}))
    [trips]
    unit = "user"
    budget = { epsilon = "1" }
    <BLANKLINE>
    [trips.domains]
    "fare" = { bounds = [0, 500] }
    <BLANKLINE>
    """
    lines = [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in settings.items())]
    if domains:
        lines += [
            "",
            f"[{name}.domains]",
            *(f"{quoted(column)} = {_value(domain)}" for column, domain in domains.items()),
        ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | dt.date():
            return str(value) if not isinstance(value, dt.datetime) else value.isoformat()
        case str():
            return quoted(value)
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_value(element)}" for key, element in value.items()) + " }"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(type(value).__name__)


_CELLS = frozenset({".csv", ".tsv", ".txt"})  # files in which an empty text is a missing value


def problem(
    column: str, declaration: object, keys: Iterable[str], section: str, files: Iterable[str]
) -> tuple[str, str] | None:
    """What is wrong with the domain of a column as a TOML file states it, and how it is written; None if nothing is."""
    name = column if column.isidentifier() else quoted(column)
    listed = declaration.get("categories") if isinstance(declaration, Mapping) else declaration
    if isinstance(declaration, list) and len(declaration) == 2 and all(map(_is_number, declaration)):
        return (
            "could be bounds or categories",
            f"{name} = {{ bounds = {declaration} }}, or {{ categories = {declaration} }}",
        )
    if column in keys and not isinstance(declaration, list | Mapping):
        return "is no column of the table", f"move it above [{section}.domains]"
    if isinstance(listed, list) and "" in listed and any(Path(file).suffix.lower() in _CELLS for file in files):
        hint = "leave it out: rows without a value are in no group, and WHERE … IS NULL counts them"
        return "lists an empty text, and an empty cell of a CSV file is a missing value", hint
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


FILL_IN = "FILL IN"  # what a draft says where the custodian has to fill in a value
SERVER = "server"  # the section about the service, which describes no session
_TABLES = frozenset({".csv", ".tsv", ".parquet"})  # files that describe no session
_REQUIRED = ("source", "unit", "budget")
_PEOPLE = ("population", "new_population", "analyst", "owner_confirms")
_TEXTS = ("unit", "neighbours", "caps", "ledger", "mark", "table", *_PEOPLE, "memory", "spool", "meter")
_NUMBERS = ("groups_per_person", "rows_per_group", "failures", "threads", "seconds")
_KNOWN = ("source", "budget", "domains", "public", "profile", "rows_per_person", "appended", *_TEXTS, *_NUMBERS)
_PROFILE = ("share", "epsilon", "most_rows", "by", "columns")


@final
@dataclass(frozen=True, slots=True)
class Configuration:
    """One section of a TOML file: the name of a session, and the arguments of `gt.protect`."""

    file: Path
    name: str
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        settings = {key: safe_text(value) for key, value in self.settings.items()}
        return f"Configuration(file={self.file!r}, name={self.name!r}, settings={settings!r})"

    @property
    def ledger(self) -> str | None:
        """Where the section keeps its ledger, if it says so."""
        path: str | None = self.settings.get("ledger")
        return path

    @property
    def mark(self) -> str | None:
        """Where the section keeps the ledger's mark, if it says so."""
        path: str | None = self.settings.get("mark")
        return path

    @property
    def profile(self) -> Mapping[str, Any]:
        """The profile that the section proposes: its price, and what it is of; empty if it proposes none."""
        wanted: Mapping[str, Any] = self.settings.get("profile", {})
        return wanted

    def require_one_budget(self) -> None:
        """Refuse a second ledger if there is one beside the table already."""
        if "owner_confirms" in self.settings:
            return
        require_no_other_ledger(
            files_of(self.settings["source"]), self.ledger, section=self.name, configuration=self.file
        )

    def open(self, **instead: Any) -> Session:
        """Open the session; `instead` overrides what the file says."""
        settings = {**self.settings, **instead}
        if "ledger" not in instead:
            self.require_one_budget()
        if settings.get("ledger") == MEMORY or isinstance(settings.get("ledger"), Ledger):
            settings.pop("mark", None)
        if settings["unit"] == ROW:
            settings["unit"] = WORD_FOR_ROWS
        try:
            settings.pop("profile", None)
            source = settings.pop("source")
            source = with_table(source, settings.pop("table", None)) if isinstance(source, str) else source
            return protect(source, name=self.name, **protection_arguments(settings))
        except GiveOrTakeError as error:
            GiveOrTakeError.__init__(
                error, f"[{self.name}] of {self.file}: {error.message}", hint=rendered(error.hint, "file")
            )
            raise


_ENGINE = ("memory", "threads", "seconds", "cache")
_LEDGER = ("mark", "population", "new_population", "failures", "meter", "owner_confirms", "by", "spool")
_CAPS = ("groups_per_person", "rows_per_group")


def protection_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `gt.protect` for settings that stand beside one another in a section."""
    grouped = {*_ENGINE, *_LEDGER, *_CAPS, "ledger", "caps", "neighbours", "appended"}
    arguments = {name: setting for name, setting in settings.items() if name not in grouped}

    def stated(names: Iterable[str]) -> dict[str, Any]:
        return {name: settings[name] for name in names if settings.get(name) is not None}

    if "neighbours" in settings:
        arguments["budget"] = replace(settings["budget"], neighbours=checked_neighbours(settings["neighbours"]))
    role = settings.get("caps", "default")
    if role not in {"default", "maximum"}:
        raise InvalidParameter("caps", role, "is unknown", hint='caps="default", or caps="maximum"')
    caps = stated(_CAPS) | ({"maximum": True} if role == "maximum" else {})
    ledger, joined = settings.get("ledger"), stated(_LEDGER)
    groups = {
        "ledger": at(ledger, **joined) if joined else ledger,
        "engine": stated(_ENGINE),
        "caps": caps,
        "version": {"appended": True} if settings.get("appended") else None,
    }
    return arguments | {name: group for name, group in groups.items() if group}


def from_toml(path: str | Path, name: str | None = None) -> Session:
    """The session that a section of a TOML file describes; `name` says which, if there are several.

    Paths in the file are relative to the file. Unknown keys are refused, never skipped.
    """
    return select_section(configurations(path), name).open()


def select_section(sections: Mapping[str, Configuration], name: str | None, called: str = "name") -> Configuration:
    """The configuration of that name, or the only one."""
    file = next(iter(sections.values())).file
    if name is None and len(sections) > 1:
        raise InvalidParameter(
            called, None, f"is missing: {file} describes several tables", hint=f"one of {', '.join(sections)}"
        )
    if name is not None and name not in sections:
        raise InvalidParameter(called, name, f"is not a section of {file}", hint=f"it has {', '.join(sections)}")
    return next(iter(sections.values())) if name is None else sections[name]


def configurations(path: str | Path) -> dict[str, Configuration]:
    """Every section of a TOML file, checked; no table is opened."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}", hint="pass the path of a TOML file") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        if file.suffix.lower() in _TABLES:
            about = f"`giveortake init {file}` writes a TOML file about it"
            raise InvalidParameter("file", file.name, "is a table, and no TOML file", hint=about) from None
        raise InvalidParameter("file", file.name, f"is not TOML: {error}", hint=_repair_hint(file, error)) from None
    sections = {name: section for name, section in content.items() if name != SERVER}
    if not sections:
        raise InvalidParameter("file", file.name, "describes no session", hint=_EXAMPLE)
    return {name: _configuration(file, name, section) for name, section in sections.items()}


def _repair_hint(file: Path, error: ValueError) -> str:
    """What may be wrong with the line at which a file stops to be TOML."""
    match = re.search(r"at line (\d+)", str(error))
    if match is None:
        return _EXAMPLE
    line = file.read_text(encoding="utf-8").splitlines()[int(match[1]) - 1].strip()
    if FILL_IN in line:
        return f"{safe_text(line)} still has to be filled in, or begins with #"
    name, sign, _ = line.partition("=")
    if sign and " " in name.strip():
        return f"a name with blanks stands in quotes: {quoted(name.strip())} = …"
    return f"line {match[1]} is {safe_text(line)}; {_EXAMPLE}"


def _configuration(file: Path, name: str, section: object) -> Configuration:
    location = _Location(file, name)
    if not isinstance(section, Mapping):
        example = "trips" if name in _KNOWN else name
        raise location.refusal(None, section, "stands outside any section", hint=f"begin with [{example}]")
    location.require_known("", section, _KNOWN)
    location.require_filled_in(section)
    for key in _REQUIRED:
        if key not in section:
            raise location.refusal(key, None, "is missing", hint=_MISSING[key])
    settings: dict[str, Any] = {
        "source": _source(location, section["source"]),
        "budget": _budget(location, section["budget"]),
    }
    settings |= {key: location.text(key, section[key]) for key in _TEXTS if key in section}
    settings |= {key: location.number(key, section[key]) for key in _NUMBERS if key in section}
    if "rows_per_person" in section:
        settings["rows_per_person"] = _rows_per_person(location, section["rows_per_person"])
    if "profile" in section:
        settings["profile"] = location.table("profile", section["profile"])
        location.require_known("profile.", settings["profile"], _PROFILE)
    if section.get("appended", False):
        settings["appended"] = location.true("appended", section["appended"])
    settings["unit"] = parse_unit(settings["unit"])
    for key in ("ledger", "spool", "mark"):
        if key in settings and (key, settings[key]) != ("ledger", MEMORY):
            settings[key] = beside(file, settings[key])
    if "domains" in section:
        settings["domains"] = _domains(location, section["domains"], files_of(settings["source"]))
    if "public" in section:
        listed = location.table("public", section["public"])
        settings["public"] = {
            table: beside(file, location.text(f"public.{table}", value, hint='public = { regions = "regions.csv" }'))
            for table, value in listed.items()
        }
    return Configuration(file, name, settings)


def _rows_per_person(location: _Location, value: object) -> Any:
    """The cap on rows per person: one number for all tables, or one for each."""
    if not isinstance(value, Mapping):
        return location.number("rows_per_person", value)
    return {name: location.number(f"rows_per_person.{name}", number) for name, number in value.items()}


def parse_unit(text: str) -> Unit:
    """The unit that a text names: `gt.ROW` for exactly "row", else the column that names a person."""
    return ROW if text == WORD_FOR_ROWS else unit(text)


@final
@dataclass(frozen=True, slots=True)
class _Location:
    """A section of a file, to name it in errors."""

    file: Path
    section: str

    def refusal(self, key: str | None, value: object, problem: str, *, hint: str | None = None) -> InvalidParameter:
        named = f"[{self.section}] {key}" if key is not None else self.section
        return InvalidParameter(f"{self.file}: {named}", value, problem, hint=hint)

    def require_known(self, inside: str, entries: Mapping[str, Any], known: Iterable[str]) -> None:
        listed = list(known)
        for key in entries:
            if key not in listed:
                raise self.refusal(
                    f"{inside}{key}",
                    entries[key],
                    "is unknown",
                    hint=f"{did_you_mean(key, listed)}known: {', '.join(listed)}",
                )

    def require_filled_in(self, entries: Mapping[str, Any], inside: str = "") -> None:
        for key, value in entries.items():
            if isinstance(value, Mapping):
                self.require_filled_in(value, f"{inside}{key}.")
            elif value == FILL_IN:
                raise self.refusal(
                    f"{inside}{key}", value, "still has to be filled in", hint=_MISSING.get(inside[:-1] or key)
                )

    def text(self, key: str, value: object, *, hint: str | None = None) -> str:
        if isinstance(value, str) and value:
            return value
        raise self.refusal(key, value, "is not a text", hint=hint or f'{key} = "…"')

    def number(self, key: str, value: object) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise self.refusal(key, value, "is not a number", hint=f"{key} = 3")

    def true(self, key: str, value: object) -> bool:
        if value is True:
            return True
        raise self.refusal(key, value, "is neither true nor false", hint=f"{key} = true")

    def table(self, key: str, value: object) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value
        raise self.refusal(key, value, "is not a table", hint=f"write a section [{self.section}.{key}]")


def _source(location: _Location, value: object) -> Any:
    hint = 'source = "trips.parquet", a list of Parquet files, or { trips = "trips.csv", people = "people.csv" }'
    if isinstance(value, Mapping) and value:
        return {name: _source(location, source) for name, source in value.items()}
    if isinstance(value, list) and value:
        return [beside(location.file, location.text("source", path, hint=hint)) for path in value]
    return beside(location.file, location.text("source", value, hint=hint))


def _budget(location: _Location, value: object) -> Guarantee:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        value = {"epsilon": value}
    if not isinstance(value, Mapping):
        raise location.refusal("budget", value, "is not a budget", hint=_MISSING["budget"])
    location.require_known("budget.", value, ("epsilon", "delta", "rho", "mu"))
    try:
        return parse_budget(value)
    except InvalidParameter as error:
        raise location.refusal("budget", dict(value), f"is refused: {error.message}", hint=_MISSING["budget"]) from None


def parse_budget(value: Mapping[str, Any]) -> Guarantee:
    """The promise that `epsilon` (with `delta`), `rho` or `mu` state.

    >>> parse_budget({"epsilon": "1", "delta": "1e-8"})
    ApproxDP('1', '1e-8')
    """
    named = sorted(value)
    if named == ["epsilon"]:
        return PureDP(positive("epsilon", value["epsilon"]))
    if named == ["delta", "epsilon"]:
        return ApproxDP(positive("epsilon", value["epsilon"]), positive("delta", value["delta"]))
    if named == ["rho"]:
        return ZCDP(positive("rho", value["rho"]))
    if named == ["mu"]:
        return GaussianDP(positive("mu", value["mu"]))
    hint = "epsilon, epsilon and delta, rho, or mu"
    raise InvalidParameter("budget", dict(value), "does not state exactly one promise", hint=hint)


def _domains(location: _Location, value: object, files: list[str]) -> dict[str, Any]:
    """Domains as they are written; a list of two numbers could mean bounds or keys, and is refused."""
    domains = dict(location.table("domains", value))
    for column, declaration in domains.items():
        if (refused := problem(column, declaration, _KNOWN, location.section, files)) is not None:
            raise location.refusal(f"domains.{column}", declaration, refused[0], hint=refused[1])
    return domains


_EXAMPLE = "`giveortake init trips.csv` writes a file to begin with"
_MISSING = {
    "source": 'source = "trips.parquet"',
    "unit": 'unit = "user_id", the column that names a person; or unit = "row"',
    "budget": 'budget = { epsilon = "1" }, { epsilon = "1", delta = "1e-8" }, { rho = "0.1" } or { mu = "1" }',
}
