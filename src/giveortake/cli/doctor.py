"""`giveortake doctor`: which extras, engines, ledgers and marks are there, and whether they are well.

The checks write nothing, open no protected table, and never raise. They look at the package, its extras, engines, the
state folder and its marks, configurations, and ledgers.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake.answers.render import printable
from giveortake.cli.session_options import weakness
from giveortake.cli.shell import Command, terminal
from giveortake.configuration import configurations
from giveortake.engines.protocol import GROUP, is_address
from giveortake.errors import GiveOrTakeError, NotFound, extra, safe_text
from giveortake.exact import counted
from giveortake.ledger.chain.watermark import StateFolder, state_folder
from giveortake.ledger.discovery import MEMORY, files_of, usual_ledger
from giveortake.privacy import ROW

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from giveortake.configuration import Configuration


_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*?(?:>=([0-9.]+))?[^;]*(?:;.*extra == ['\"]([a-z]+)['\"])?$")
_FOR = {
    "postgres": "tables and ledgers in PostgreSQL",
    "spark": "tables in Spark",
    "plot": "charts as SVG and PNG",
    "learn": "models as scikit-learn sees them",
    "server": "`giveortake serve`",
    "synth": "synthetic tables",
    "audit": "audits",
}
_OLDEST_JAVA = 17
_SHOWN = 5  # of what may be very many


State: TypeAlias = Literal["well", "absent", "ill"]


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked: well, absent (which is no fault), or ill, and then what to do about it."""

    group: str
    name: str
    state: State
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
    for part, problem in _needed(None).items():
        state: State = "ill" if problem else "well"
        hint = f'pip install --upgrade "{part}"' if problem else None
        yield Finding("package", part, state, problem or metadata.version(part), hint)


def _extras() -> Iterator[Finding]:
    for name, purpose in _FOR.items():
        parts = _needed(name)
        missing = [f"{part} {problem}" for part, problem in parts.items() if problem]
        text = ", ".join(missing or [f"{part} {metadata.version(part)}" for part in parts])
        state: State = "absent" if missing else "well"
        yield Finding("extras", name, state, f"{purpose}: {text}", extra(name) if missing else None)


def _needed(extra_name: str | None) -> dict[str, str | None]:
    """The requirements of the package, or of one of its extras, each with what is wrong with it."""
    matches = map(_REQUIREMENT.match, metadata.requires("giveortake") or ())
    needed = [match for match in matches if match is not None and match[3] == extra_name]
    return {match[1].partition("[")[0]: _problem(match[1].partition("[")[0], match[2] or "0") for match in needed}


def _problem(name: str, least_version: str) -> str | None:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return "is not installed"
    return f"{version} is older than {least_version}" if _numbers(version) < _numbers(least_version) else None


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
    if any(_needed("postgres").values()):
        return Finding("engines", "postgres", "absent", "needs the extra", extra("postgres"))
    return Finding("engines", "postgres", "well", "ready for postgresql:// addresses; no server was asked")


def _spark() -> Finding:
    if any(_needed("spark").values()):
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


def _marks(folder: StateFolder) -> Iterator[Finding]:
    """Check that every mark can be read."""
    ill: list[Finding] = []
    whole = 0
    for path in folder.record_paths():
        try:
            seen = folder.read(path)
            point = None if seen is None else folder.mark(seen.ledger).read()
        except GiveOrTakeError as error:
            ill.append(_refused("state", path.name[:12], error))
            continue
        if seen is not None and point is None:  # None: moved away in this moment
            ill.append(Finding("state", printable(seen.path), "ill", "its mark is gone", _RESTORE))
        whole += point is not None
    yield Finding("state", "marks", "well", f"{counted(whole, 'mark')} can be read")
    yield from ill[:_SHOWN]
    if len(ill) > _SHOWN:
        yield Finding("state", "…", "ill", f"{len(ill) - _SHOWN} more of the same", ill[0].hint)


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
    for name, section in sections.items():
        unit, label = section.settings["unit"], f"[{printable(name)}] of {printable(path)}"
        lost = [file for file in files_of(section.settings["source"]) if not os.access(file, os.R_OK)]
        if lost:
            yield Finding("configuration", label, "ill", f"{printable(lost[0])} cannot be read", "fix source =")
            continue
        yield Finding("configuration", label, "well", f"protects {unit}")
        if (weak := weakness(section.settings["budget"])) is not None:
            yield Finding("configuration", f"{label}: budget", "absent", weak)
        if unit != ROW and section.settings.get("rows_per_person") is None:
            message = "says nothing about rows_per_person, so every question has to state how much of a person counts"
            yield Finding("configuration", f"{label}: caps", "absent", message, "rows_per_person = 10")
    pairs = [(ledger, section.mark) for section in sections.values() for ledger in _ledgers_of(section, path)]
    for ledger, mark in dict.fromkeys(pairs):
        yield _ledger(ledger, mark)


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
    try:
        with gt.ledger.open(path, mark=mark, create=False, read_only=True) as ledger:
            report = ledger.verify()
    except (GiveOrTakeError, OSError, ImportError) as error:
        return _refused("ledgers", name, error)
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
    summary = f"{states['well']} ok, {states['absent']} not installed or not present, {problems}"
    out.print(Text(summary, style="bold red" if states["ill"] else "bold green"))
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
