"""`giveortake doctor`: which extras, engines, ledgers and marks are there, and whether they are well.

The checks write nothing, open no protected table, and never raise.

- Whether a ledger would accept a table as a TOML file describes it, tried on a copy of the ledger; and whether the file
  has the columns of both. Of a table nothing but the names of its columns is read.
- Findings: the package and its extras, engines, the state folder, configurations and ledgers.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake import ledger as ledgers
from giveortake.answers.render import printable
from giveortake.cli.session_options import weakness
from giveortake.cli.shell import Command, terminal
from giveortake.configuration import configurations
from giveortake.engines.protocol import GROUP, is_address
from giveortake.errors import GiveOrTakeError, NotFound, did_you_mean, extra, safe_text
from giveortake.hints import rendered
from giveortake.ledger.chain.watermark import StateFolder, state_folder
from giveortake.ledger.discovery import MEMORY, files_of, usual_ledger
from giveortake.ledger.opening import rehearsal
from giveortake.plan import Domain, Kind
from giveortake.plan.expressions import declared
from giveortake.privacy import ROW
from giveortake.session.protection import own_domains, table_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from giveortake.configuration import Configuration
    from giveortake.ledger import Ledger


_NO_CONTENT = "0" * 64  # a fingerprint that no table has: its content is not looked at


def refusal(section: Configuration, path: str) -> GiveOrTakeError | None:
    """Why the ledger at a path would refuse a section: other people, another budget, or other domains.

    None if it would not, or if that is unknown: there is no ledger yet, it is in a server, or it cannot be read, which
    is reported elsewhere. Columns that the ledger does not know, and types of columns, only the table shows.
    """
    if is_address(path) or not Path(path).is_file():
        return None
    with suppress(GiveOrTakeError, OSError), rehearsal(path, mark=section.mark) as ledger:
        return _refused_section(section, ledger)
    return None


def lost_columns(section: Configuration, paths: Iterable[str]) -> tuple[str, str] | None:
    """The columns of a section or its ledger that its files lack, and what may be meant; None if they lack none."""
    settings, source = section.settings, section.settings["source"]
    domains, stored_columns = settings.get("domains", {}), _stored_columns(section, paths)
    for table, files in source.items() if isinstance(source, Mapping) else [(section.name, source)]:
        table_domains = domains.get(table, {}) if isinstance(source, Mapping) else domains
        columns = {*(table_domains if isinstance(table_domains, Mapping) else ()), *stored_columns.get(table, ())}
        for file in files_of(files):
            lost = _missing_columns(file, settings["unit"].column, columns, settings.get("table"))
            if lost is not None:
                return lost
    return None


def _stored_columns(section: Configuration, paths: Iterable[str]) -> Mapping[str, Any]:
    """The columns of a section's tables in the ledger; none if it does not know them, or cannot be read."""
    for path in paths:
        if not is_address(path) and Path(path).is_file():
            with (
                suppress(GiveOrTakeError, OSError),
                ledgers.open(path, mark=section.mark, create=False, read_only=True) as ledger,
            ):
                return ledger.domains(section.name) or {}
    return {}


def columns_lost_since(file: str, ledger: Ledger) -> tuple[str, str] | None:
    """The columns of a table in its ledger, which holds no other table, that its file lacks."""
    datasets = [level for level in ledger.levels() if level.kind == "data set"]
    if len(datasets) != 1 or table_name(file, None) != datasets[0].name:
        return None
    columns = (ledger.domains(datasets[0].name) or {}).get(datasets[0].name, {})
    return _missing_columns(file, datasets[0].unit.column, set(columns), None)


def _missing_columns(file: str, person: str | None, expected: set[str], table: str | None) -> tuple[str, str] | None:
    from giveortake.engines.duckdb.tables import columns_of  # noqa: PLC0415 (brings DuckDB)

    try:
        columns = columns_of(Path(file), table)
    except GiveOrTakeError:  # a folder, a pattern or no header: asking the table says what is wrong
        return None
    missing = [column for column in (*filter(None, [person]), *sorted(expected)) if column not in columns]
    if not missing:
        return None
    names = ", ".join(f"`{printable(column)}`" for column in dict.fromkeys(missing))
    hint = f"{did_you_mean(missing[0], columns)}its columns are {', '.join(columns)}"
    return f"{printable(file)} has no column {names}", printable(hint)


def _refused_section(section: Configuration, ledger: Ledger) -> GiveOrTakeError | None:
    settings, unit = section.settings, section.settings["unit"]
    try:
        ledger.register(
            section.name,
            budget=replace(settings["budget"], unit=unit, neighbours=settings.get("neighbours", "add-remove")),
            unit=unit,
            domains=_domains_of_section(section, ledger),
            fingerprint=_NO_CONTENT,
            first=f"{'rows' if unit == ROW else 'people'} of {section.name}",
            population=settings.get("population"),
            new_population=settings.get("new_population"),
            owner_confirms=settings.get("owner_confirms"),
            declared=bool(settings.get("domains")),
        )
    except GiveOrTakeError as error:
        return error
    return None


def _domains_of_section(section: Configuration, ledger: Ledger) -> dict[str, Any]:
    """The domains in the ledger, with what the section declares in place of what was declared before."""
    if section.name not in {level.name for level in ledger.levels() if level.kind == "data set"}:
        return {}
    domains, several = section.settings.get("domains", {}), isinstance(section.settings["source"], Mapping)
    person = section.settings["unit"].column
    return {
        table: {
            column: stored if column == person else _column_domain(column, stored, own_domains(domains, table, several))
            for column, stored in columns.items()
        }
        for table, columns in (ledger.domains(section.name) or {}).items()
    }


def _column_domain(column: str, stored: Mapping[str, Any], domains: Mapping[str, Any]) -> dict[str, Any]:
    """The domain of a column, by the type in the ledger and by what is declared now."""
    step = Fraction(stored["step"]) if "step" in stored else None
    physical = Domain(Kind(stored["kind"]), nullable=stored["nullable"], step=step)
    return (declared(column, domains[column], physical) if column in domains else physical).to_dict()


_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*?(?:>=([0-9.]+))?[^;]*(?:;.*extra == ['\"]([a-z]+)['\"])?$")
_FOR = {
    "postgres": "tables and ledgers in PostgreSQL",
    "spark": "tables in Spark",
    "plot": "charts as SVG and PNG",
    "learn": "models as scikit-learn sees them",
    "server": "`giveortake serve`",
}
_OLDEST_JAVA = 17
_CELLS = frozenset({".csv", ".tsv", ".txt"})  # files without types
_SHOWN = 5  # of what may be very many


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked: well, absent (which is no fault), or ill, and then what to do about it."""

    group: str
    name: str
    state: Literal["well", "absent", "ill"]
    told: str
    hint: str | None = None


def findings(paths: list[str]) -> Iterator[Finding]:
    """Yield all findings, in the order in which one thing needs another; `paths` are ledgers and TOML files."""
    yield from _package()
    yield from _extras()
    yield from _engines()
    yield from _state()
    seen: set[str] = set()  # a ledger that a TOML file names is looked at once
    for path in paths or _here():
        is_configuration = Path(path).suffix.lower() == ".toml"
        path_findings = list(_configuration(path)) if is_configuration else [_ledger(path, None)]
        yield from (finding for finding in path_findings if finding.group != "ledgers" or _once(finding.name, seen))


def _once(name: str, seen: set[str]) -> bool:
    path = name if is_address(name) else os.path.realpath(name)
    is_new = path not in seen
    seen.add(path)
    return is_new


# -- what is installed ----------------------------------------------------------------------------------------


def _package() -> Iterator[Finding]:
    folder = Path(gt.__file__).parent
    yield Finding("package", "giveortake", "well", f"{gt.__version__} in {folder}")
    yield Finding("package", "Python", "well", f"{platform.python_version()} on {platform.system()}")
    for name, least_version, _ in _needed(None):
        yield _installed("package", name, least_version, f'pip install --upgrade "{name}>={least_version}"')


def _extras() -> Iterator[Finding]:
    for name, purpose in _FOR.items():
        parts = [_installed("extras", part, least_version, None) for part, least_version, _ in _needed(name)]
        missing = [part for part in parts if part.state != "well"]
        text = f"{purpose}: {', '.join(f'{part.name} {part.told}' for part in missing or parts)}"
        if missing:
            yield Finding("extras", name, "absent", text, extra(name))
        else:
            yield Finding("extras", name, "well", text)


def _needed(extra_name: str | None) -> list[tuple[str, str, str | None]]:
    """The requirements of the package, or of one of its extras: name, least version, extra."""
    requirements = []
    for line in metadata.requires("giveortake") or ():
        match = _REQUIREMENT.match(line)
        if match is not None and match[3] == extra_name:
            requirements.append((match[1].partition("[")[0], match[2] or "0", match[3]))
    return requirements


def _installed(group: str, name: str, least_version: str, hint: str | None) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(group, name, "ill", "is not installed", hint)
    if _numbers(version) < _numbers(least_version):
        return Finding(group, name, "ill", f"{version} is older than {least_version}", hint)
    return Finding(group, name, "well", version)


def _numbers(version: str) -> list[int]:
    """The whole numbers that a version begins with.

    >>> _numbers("1.26.0rc1"), _numbers("3")
    ([1, 26, 0], [3])
    """
    return [int(part) for part in re.findall(r"\d+", re.match(r"[0-9.]*", version)[0])]  # type: ignore[index]  # (a match of nothing is one)


# -- what answers ---------------------------------------------------------------------------------------------


def _engines() -> Iterator[Finding]:
    yield _duckdb()
    yield _postgres()
    yield _spark()
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        yield Finding("engines", entry.name, "well", f"registered by {entry.module}")


def _duckdb() -> Finding:
    """Ask the bundled table one question, for which an engine, a sampler and a ledger have to work together."""
    try:
        with (
            resources.as_file(resources.files("giveortake") / "data" / "visits.csv") as path,
            gt.protect(path, unit="person_id", budget=gt.PureDP(1), rows_per_person=4, ledger=None) as session,
        ):
            session.sql("SELECT COUNT(*) AS n FROM visits").answer(epsilon=1)
    except (GiveOrTakeError, OSError, ImportError) as error:
        return Finding("engines", "duckdb", "ill", f"the bundled table cannot be asked: {error}", "giveortake demo")
    return Finding("engines", "duckdb", "well", "the bundled table was asked, and answered with noise")


def _postgres() -> Finding:
    if any(_installed("", name, least_version, None).state != "well" for name, least_version, _ in _needed("postgres")):
        return Finding("engines", "postgres", "absent", "needs the extra", extra("postgres"))
    return Finding("engines", "postgres", "well", "ready for postgresql:// addresses; no server was asked")


def _spark() -> Finding:
    if any(_installed("", name, least_version, None).state != "well" for name, least_version, _ in _needed("spark")):
        return Finding("engines", "spark", "absent", "needs the extra", extra("spark"))
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    version = None if java is None else _java_version(java)
    if version is None or version < _OLDEST_JAVA:
        message = "no Java was found" if version is None else f"Java {version} is older than {_OLDEST_JAVA}"
        return Finding("engines", "spark", "ill", message, f"install Java {_OLDEST_JAVA} or newer, or set JAVA_HOME")
    return Finding("engines", "spark", "well", f"ready, with Java {version}; no session was started")


def _java_version(java: str) -> int | None:
    try:
        process = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603 (the user's own Java)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', process.stderr)
    return None if match is None else int(match[1])


# -- what is remembered ---------------------------------------------------------------------------------------


def _state() -> Iterator[Finding]:
    try:
        folder = state_folder()
    except GiveOrTakeError as error:
        yield _refused("state", "folder", error)
        return
    if not folder.exists():
        yield Finding("state", "folder", "absent", f"{folder} is not there yet; the first ledger makes it")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("state", "folder", "ill", f"{folder} cannot be read and written", "set GIVEORTAKE_STATE")
        return
    yield Finding("state", "folder", "well", str(folder))
    yield from _marks(StateFolder(folder))


def _located_ledgers(folder: StateFolder) -> Iterator[str]:
    """Yield the ledgers that are at one of the paths where they were seen; they may have been seen at others, too."""
    for path in folder.record_paths():
        with suppress(GiveOrTakeError):
            seen = folder.read(path)
            if seen is not None and seen.moved_to is None and Path(seen.path).exists():
                yield seen.ledger


def _marks(folder: StateFolder) -> Iterator[Finding]:
    """Check that every mark can be read; a ledger that is gone is reported, and left to its custodian."""
    by_state: dict[str, list[Finding]] = defaultdict(list)
    whole, located = 0, set(_located_ledgers(folder))
    for path in folder.record_paths():
        try:
            seen = folder.read(path)
            point = None if seen is None else folder.mark(seen.ledger).read()
        except GiveOrTakeError as error:
            by_state["ill"].append(_refused("state", path.name[:12], error))
            continue
        if seen is None:  # moved away in this moment
            continue
        name = printable(seen.path)
        if point is None:
            by_state["ill"].append(Finding("state", name, "ill", "its mark is gone", _RESTORE))
        elif point.number and seen.moved_to is None and not Path(seen.path).exists() and seen.ledger not in located:
            message = f"the ledger is gone; its mark remembers {point.number} entries"
            by_state["absent"].append(Finding("state", name, "absent", message, _RESTORE))
        else:
            whole += 1
    yield Finding(
        "state",
        "marks",
        "well",
        f"{whole} known and where {'they were' if whole != 1 else 'it was'}, with the ledger{'s' * (whole != 1)}",
    )
    for kind in ("ill", "absent"):
        yield from by_state[kind][:_SHOWN]
        if len(by_state[kind]) > _SHOWN:
            omitted = len(by_state[kind]) - _SHOWN
            yield Finding("state", "…", by_state[kind][0].state, f"{omitted} more of the same", by_state[kind][0].hint)


_RESTORE = "`giveortake ledger restore --help` says how it is restored"


def _here() -> list[str]:
    """The TOML files and ledgers of this folder."""
    files = [*sorted(Path.cwd().glob("giveortake.toml")), *sorted(Path.cwd().glob("*.ledger"))]
    return [str(file) for file in files if file.is_file()]


def _configuration(path: str) -> Iterator[Finding]:
    """Check a TOML file: it can be read, its files are there, and its ledgers are whole and agree with it."""
    try:
        sections = configurations(path)
    except GiveOrTakeError as error:
        yield _refused("configuration", printable(path), error)
        return
    ledgers: dict[tuple[str, str | None], None] = {}
    for name, section in sections.items():
        lost = [file for file in files_of(section.settings["source"]) if not os.access(file, os.R_OK)]
        label = f"[{printable(name)}] of {printable(path)}"
        if lost:
            yield Finding("configuration", label, "ill", f"{printable(lost[0])} cannot be read", "fix source =")
        elif (columns := lost_columns(section, _ledgers_of(section, path))) is not None:
            yield Finding("configuration", label, "ill", *columns)
        else:
            dates = "; dates are read as 2024-12-31, others count as missing" if _reads_dates(section) else ""
            yield Finding("configuration", label, "well", f"protects {section.settings['unit']}{dates}")
            if (weak := weakness(section.settings["budget"])) is not None:
                yield Finding("configuration", f"{label}: budget", "absent", weak)
            if section.settings["unit"] != ROW and section.settings.get("rows_per_person") is None:
                message = (
                    "says nothing about rows_per_person, so every question has to state how much of a person counts"
                )
                yield Finding("configuration", f"{label}: caps", "absent", message, "rows_per_person = 10")
        for ledger in _ledgers_of(section, path):
            ledgers[ledger, section.mark] = None
            refused = None if lost else refusal(section, ledger)
            if refused is not None:
                yield Finding(
                    "configuration", f"{label}: ledger", "ill", refused.message, rendered(refused.hint, "file")
                )
    for ledger, mark in ledgers:
        yield _ledger(ledger, mark)


def _reads_dates(section: Configuration) -> bool:
    """Whether dates are declared of a table in a CSV file."""
    domains = section.settings.get("domains", {}).values()
    ends = [end for domain in domains if isinstance(domain, Mapping) for end in domain.get("bounds", ())]
    cells = [file for file in files_of(section.settings["source"]) if Path(file).suffix.lower() in _CELLS]
    return bool(cells) and any(isinstance(end, dt.date) for end in ends)


def _ledgers_of(section: Configuration, path: str) -> list[str]:
    """The ledger of a section: where it says, else beside the TOML file, as for the command line."""
    if section.ledger is None:
        return [usual_ledger(path)]
    return [] if section.ledger == MEMORY else [section.ledger]


def _ledger(path: str, mark: str | None) -> Finding:
    """Check a ledger: derive it anew from its first entry, and compare it with its mark."""
    name = printable(str(safe_text(path)))
    if not is_address(path) and not Path(path).exists():
        try:
            gt.ledger.open(path, mark=mark, create=False, read_only=True).close()
        except NotFound:
            return Finding("ledgers", name, "absent", "not begun yet; the first question, or the service, begins it")
        except (GiveOrTakeError, OSError) as error:
            return _refused("ledgers", name, error)
    table = path.removesuffix(".ledger") if path.endswith(".ledger") else ""
    try:
        with gt.ledger.open(path, mark=mark, create=False, read_only=True) as ledger:
            report = ledger.verify()
            columns = columns_lost_since(table, ledger) if Path(table).is_file() else None
    except (GiveOrTakeError, OSError, ImportError) as error:
        return _refused("ledgers", name, error)
    if columns is not None:
        return Finding("ledgers", name, "ill", f"whole, but {columns[0]}, which it has there", columns[1])
    answers = f"{report.answers} answer{'s' * (report.answers != 1)}"
    message = f"whole: {report.entries} entries, {answers}, {report.levels} levels, and its mark agrees"
    return Finding("ledgers", name, "well", message)


def _refused(group: str, name: str, error: Exception) -> Finding:
    if isinstance(error, GiveOrTakeError):
        return Finding(group, name, "ill", error.message, error.hint)
    return Finding(group, name, "ill", str(error))


_SIGNS = {"well": ("✓", "green"), "absent": ("–", "yellow"), "ill": ("✗", "bold red")}


def run(arguments: argparse.Namespace) -> int:
    """Check everything and print the findings; exit code 1 if something is ill. What is merely absent is no fault."""
    all_findings = list(findings(arguments.paths))
    ill = any(finding.state == "ill" for finding in all_findings)
    if arguments.json:
        document = {
            "version": gt.__version__,
            "healthy": not ill,
            "findings": [asdict(finding) for finding in all_findings],
        }
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        _print(all_findings)
    return int(ill)


def _print(findings: list[Finding]) -> None:
    out = terminal()
    for group in dict.fromkeys(finding.group for finding in findings):
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(overflow="fold", max_width=32)
        grid.add_column(overflow="fold")
        for finding in findings:
            if finding.group == group:
                text = Text(finding.told)
                if finding.hint is not None and finding.state != "well":
                    text.append(f"\n{finding.hint}", style="dim")
                sign, style = _SIGNS[finding.state]
                grid.add_row(Text(sign, style=style), Text(finding.name), text)
        out.print(f"[bold]{group}[/]")
        out.print(grid)
        out.print()
    states = Counter(finding.state for finding in findings)
    problems = f"{states['ill']} problem{'s' * (states['ill'] != 1)}"
    counted = f"{states['well']} ok, {states['absent']} not installed or not present, {problems}"
    out.print(Text(counted, style="bold red" if states["ill"] else "bold green"))
    out.print("To test the noise itself, run `giveortake audit --quick`.")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="TOML|LEDGER", help="those of this folder, unless some are named")
    parser.add_argument("--json", action="store_true", help="for programs")


COMMAND = Command(
    summary="check this installation: extras, engines, ledgers and marks",
    description=(
        "Look at this installation, its state folder, and the ledgers and TOML files of this folder. Nothing is "
        "written and no protected table is opened. Exit code 1 if something is ill."
    ),
    examples=("giveortake doctor", "giveortake doctor giveortake.toml --json"),
    add_arguments=_add_arguments,
    run=run,
)
