"""`protect`: put tables behind a budget.

- Which columns can name the people whom a table protects.
- What cells without a type are read as, by what is said about their columns.
- `protect`: put tables behind a budget. Everything declared here is the custodian's word, and cannot be changed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from giveortake import ledger as ledgers
from giveortake.compile import Caps, CustodianCaps
from giveortake.compile.sensitivity import nothing_to_cap
from giveortake.engines.protocol import (
    HERE,
    file_and_table,
    is_address,
    open_engine,
    place_of,
    require_tables,
    table_in,
)
from giveortake.engines.runtime import CacheFolder
from giveortake.errors import HIDDEN, AccessDenied, InvalidParameter, NotFound, QueryFailed, did_you_mean
from giveortake.ledger.discovery import MEMORY, LedgerLocation, at, require_one_budget
from giveortake.plan import Domain, Kind, Origin, PrivateTable, PublicTable
from giveortake.plan.expressions import declared, is_number, is_pair_of_dates
from giveortake.plan.relations import store_instead
from giveortake.privacy import ROW, Guarantee, Unit
from giveortake.privacy import unit as unit_of
from giveortake.session.mechanism import InteractiveMechanism, PreparedQuestions
from giveortake.session.session import Session
from giveortake.session.storage import Spool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.engines import Engine, Source
    from giveortake.exact import Number
    from giveortake.mechanisms.vectors import Trusted


def require_persons(loaded: Source, person: str) -> None:
    """Refuse a column that does not say of each row, in one way, whose it is."""
    physical = dict(loaded.columns)
    if person not in physical:
        raise InvalidParameter(
            "unit",
            person,
            f"is not a column of `{loaded.name}`",
            hint=(
                f"{did_you_mean(person, physical)}its columns are {', '.join(physical)}; where every row is protected "
                "by itself, unit=gt.ROW"
            ),
        )
    if physical[person].kind not in {Kind.INTEGER, Kind.TEXT}:
        raise InvalidParameter(
            "unit",
            person,
            f"holds {physical[person].kind} values, which cannot name people",
            hint=f'in pandas, a missing value makes numbers real: df["{person}"].astype("Int64") makes them whole'
            if physical[person].kind is Kind.REAL
            else "use text or whole numbers",
        )
    if person in loaded.loose:
        raise InvalidParameter(
            "unit",
            person,
            "has a collation that takes several spellings for one person, which would be several persons here",
            hint=f'store one spelling of each person in a column of its own, as lower({person}) COLLATE "C"',
        )


def kinds_of(domains: Mapping[str, Any], unit: Unit) -> dict[str, Kind]:
    """What untyped cells are to be read as, by what is said about their columns."""
    return {column: _kind(value) for column, value in domains.items() if unit == ROW or column != unit.column}


def _kind(declaration: Any) -> Kind:
    if isinstance(declaration, Domain):
        return declaration.kind
    if isinstance(declaration, Mapping):
        if declaration.get("integer"):
            return Kind.INTEGER
        if "bounds" in declaration:
            return _kind(tuple(declaration["bounds"]))
        return _kind(declaration["categories"]) if "categories" in declaration else Kind.TEXT
    first = (
        next((value for value in declaration if value is not None), None)
        if isinstance(declaration, Sequence | set | frozenset | range) and not isinstance(declaration, str)
        else None
    )
    if isinstance(first, bool):
        return Kind.BOOLEAN
    if isinstance(first, dt.datetime) and isinstance(declaration, tuple):
        return Kind.TIMESTAMP
    if isinstance(first, dt.date) or (isinstance(declaration, tuple) and is_pair_of_dates(declaration)):
        return Kind.DATE
    if isinstance(declaration, tuple) and is_number(first):
        return Kind.REAL
    if isinstance(first, int):
        return Kind.INTEGER
    return Kind.TEXT


_NAME = re.compile(r"[^0-9A-Za-z_]+")
WORD_FOR_ROWS = "row"  # where a unit is given as a text
_CODE = re.compile(r"\w{1,64}@[\w.-]{1,64}")
_MOST_PUBLIC_KEYS = 10_000
_MOST_SECONDS = 10**6
MEMORY_OF_ENGINE = "1500MB"


class EngineSettings(TypedDict, total=False):
    """Limits of an engine."""

    memory: str
    threads: int
    seconds: float
    cache: str | Path


class CapsSettings(TypedDict, total=False):
    """The custodian's caps; with `maximum`, no question may say more."""

    groups_per_person: Number
    rows_per_group: Number
    rows_per_person: Number | Mapping[str, Number]
    maximum: bool


class VersionSettings(TypedDict, total=False):
    """What is said of a version of the tables."""

    appended: bool


def protect(
    source: Any,
    *,
    unit: Unit | str,
    budget: Guarantee,
    domains: Mapping[str, Any] | None = None,
    public: Mapping[str, Any] | None = None,
    rows_per_person: Number | Mapping[str, Number] | None = None,
    caps: Mapping[str, Any] | Literal["maximum"] | None = None,
    ledger: str | Path | ledgers.Ledger | LedgerLocation | None = None,
    engine: EngineSettings | None = None,
    name: str | None = None,
    analyst: str | None = None,
    trusted: Mapping[str, Trusted] | None = None,
    version: VersionSettings | None = None,
) -> Session:
    """Put a table, or several tables about the same people, behind a privacy budget.

    `source` is a path (CSV, Parquet, DuckDB), a list of Parquet files, or a Polars, pandas or Arrow table; a table that
    stays where it is: `postgresql://…/db?table=trips`, a Spark DataFrame, a table of the active Spark session, or
    `spark://…?table=trips`; a dictionary of names and sources for several tables in one place. Of a DuckDB file with
    several tables, `clinic.duckdb?table=visits` names one. `name` is that of the data set, and of its one table. `unit`
    is the column that names a person, in every table, or `gt.ROW`; the text "row" means the latter where no column is
    called that. Which tables are neighbours is part of the budget: `gt.PureDP(1, neighbours="change-one")`. `domains`
    states what columns may hold: bounds `(0, 500)`, categories `["north", …]`, or a dictionary of both. `public` are
    tables that everybody may know.

    `rows_per_person`, a number or `{table: number}`, caps how much of one person counts where a question does not say
    so itself, and so does `caps`, with `{"groups_per_person": 5, "rows_per_group": 3}`. With `"maximum": True` in it,
    or `caps="maximum"`, no question may say more. Without any, questions state their own.

    Without `ledger` what was spent is kept in memory only, and forgotten with the session. It is a path, the URL of a
    database, an open ledger, or any of these with what else is to be said of it: `gt.ledger.at(path, mark=…,
    population=…)`. A file that has a ledger beside it already (`trips.csv.ledger`, or the one that a TOML file there
    names) is refused with any other, or none (`SameTable`): the same people would have two budgets. `ledger=":memory:"`
    states that nobody else will see the answers.

    `engine` has limits for what runs here, `{"memory": "4GB", "threads": 2}`, and for every question, `"seconds"`. In
    the folder `"cache"`, if it is stated, a loaded copy of a large CSV file is kept for its user alone: the same file
    is not parsed again. Parsed questions are kept there too.

    `trusted` is the custodian's own code, `{"name@version": function}`, that this session may name in `gt.learn.sgd`:
    it is called with rows. Sessions of analysts have none.

    `version={"appended": True}` is the custodian's word that every version of the tables holds all rows of the versions
    before it, as they were. Counters go on from one version to the next only then: how much of one person they count
    rests on it.
    """
    code = _trusted(trusted, analyst)
    privacy_unit = _unit(unit)
    promise = _budget(budget, privacy_unit)
    stated_caps, role = _stated_caps(rows_per_person, caps)
    if privacy_unit == ROW and stated_caps.stated:
        raise nothing_to_cap()
    settings = _settings("engine", engine, EngineSettings)
    seconds, cache = settings.get("seconds"), settings.get("cache")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds <= _MOST_SECONDS):
        raise InvalidParameter("seconds", seconds, "is not a positive number of seconds")
    appended = _settings("version", version, VersionSettings).get("appended", False)
    if not isinstance(appended, bool):
        raise InvalidParameter("appended", appended, "is neither True nor False")
    if not isinstance(source, Mapping):
        table_name(source, name)  # an address that names no table is refused before anything is opened
    location = ledger if isinstance(ledger, LedgerLocation) else at(ledger)
    require_tables(source)
    if location.owner_confirms is None:
        require_one_budget(source, location.path)
    if public is not None and not isinstance(public, Mapping):
        raise InvalidParameter("public", HIDDEN, "does not name its tables", hint='public={"regions": table}')
    if domains is not None and not isinstance(domains, Mapping):
        raise InvalidParameter("domains", domains, "says of no column what it holds", hint='domains={"fee": (0, 500)}')
    declared_domains = dict(domains or {})
    cache_folder = None if cache is None else Path(cache).absolute()
    opened_engine = open_engine(
        source,
        memory=settings.get("memory", MEMORY_OF_ENGINE),
        threads=settings.get("threads"),
        seconds=seconds,
        cache=cache_folder,
    )
    try:
        private, sources = _private_tables(opened_engine, source, privacy_unit, declared_domains, name)
        if unit == WORD_FOR_ROWS:
            require_no_column_called_row(column for loaded in sources for column, _ in loaded.columns)
        open_tables = _public_tables(opened_engine, public or {}, {protected.name for protected in private})
        custodian_caps = CustodianCaps.of(
            stated_caps, [protected.name for protected in private], role, of_persons=privacy_unit != ROW
        )
        opened_engine.lock()
        origin = Origin.of(private, open_tables, custodian_caps.caps.rows_in)
        if seconds is not None:
            _prepare(opened_engine, origin)
        shared = location.ledger if isinstance(location.ledger, ledgers.Ledger) else None
        opened_ledger = shared or ledgers.open(location.path or MEMORY, mark=location.mark)
        domains_of = {
            protected.name: {column: domain.to_dict() for column, domain in protected.columns} for protected in private
        }
        dataset = name if name is not None and len(private) > 1 else "+".join(protected.name for protected in private)
        registered = _registered(
            opened_ledger,
            dataset,
            budget=promise,
            unit=privacy_unit,
            domains=domains_of,
            fingerprint=hashlib.sha256("|".join(loaded.fingerprint for loaded in sources).encode()).hexdigest(),
            first=f"people of {dataset}" if privacy_unit != ROW else f"rows of {dataset}",
            population=location.population,
            new_population=location.new_population,
            owner_confirms=location.owner_confirms,
            failures=location.failures,
            meter=location.meter,
            declared=bool(declared_domains),
            by=location.by,
            owned=shared is None,
        )
    except BaseException:
        opened_engine.close()
        raise
    mechanism = InteractiveMechanism(
        engine=opened_engine,
        ledger=opened_ledger,
        spool=Spool(_spool_folder(location, dataset)),
        origin=origin,
        dataset=dataset,
        population=registered.population,
        version=registered.version,
        budget=_own_budget(opened_ledger, dataset, analyst) or promise,
        caps=custodian_caps,
        analyst=analyst,
        declared=hashlib.sha256(json.dumps(domains_of, sort_keys=True).encode()).hexdigest()[:32],
        questions=_prepared_questions(cache_folder, origin, [domains_of, str(privacy_unit), repr(custodian_caps)]),
        trusted=code,
        appended=appended,
    )
    return Session(
        mechanism,
        unasked={loaded.name: loaded.unasked for loaded in sources},
        owns_ledger=shared is None,
        durable=location.is_durable or shared is not None,
    )


def _settings(parameter: str, stated: Any, known: type) -> dict[str, Any]:
    """The settings in a dictionary, those of unknown names refused."""
    names = list(known.__annotations__)
    if stated is not None and not isinstance(stated, Mapping):
        raise InvalidParameter(parameter, stated, "is not a dictionary", hint=f"its names are {', '.join(names)}")
    for name, setting in (stated or {}).items():
        if name not in names:
            raise InvalidParameter(
                f"{parameter}[{name!r}]",
                setting,
                "is unknown",
                hint=f"{did_you_mean(str(name), names)}known: {', '.join(names)}",
            )
    return {name: setting for name, setting in (stated or {}).items() if setting is not None}


def _stated_caps(rows_per_person: Any, caps: Any) -> tuple[Caps, str]:
    """The custodian's caps, and whether they are defaults or maxima."""
    stated = {"maximum": True} if caps == "maximum" else caps
    names = {name: bound for name, bound in _settings("caps", stated, CapsSettings).items() if name != "maximum"}
    if rows_per_person is not None and names.get("rows_per_person", rows_per_person) != rows_per_person:
        raise InvalidParameter("rows_per_person", rows_per_person, "contradicts caps['rows_per_person']")
    bounds = names if rows_per_person is None else {**names, "rows_per_person": rows_per_person}
    return Caps(**bounds), "maximum" if (stated or {}).get("maximum") else "default"


def _trusted(functions: Mapping[str, Trusted] | None, analyst: str | None) -> dict[str, Trusted]:
    """Check the custodian's code, by name@version; the functions themselves are not recorded."""
    if functions and analyst is not None:
        raise InvalidParameter(
            "trusted",
            list(functions),
            "cannot be used in an analyst's session",
            hint="leave `analyst` out: only the custodian's own session runs trusted code",
        )
    for function_name, code in (functions or {}).items():
        if not (_CODE.fullmatch(str(function_name)) and callable(code)):
            raise InvalidParameter(
                "trusted",
                function_name,
                "is not a function with a name and a version",
                hint='trusted={"pairs@1": function}',
            )
    return dict(functions or {})


def _prepared_questions(cache_folder: Path | None, origin: Origin, declared: list[Any]) -> PreparedQuestions:
    """The cache of questions: in memory, and also on disk if there is a folder for it."""
    if cache_folder is None:
        return PreparedQuestions()
    from giveortake.session.parse_cache import ReadingCache  # noqa: PLC0415 (for the command line)

    declaration = json.dumps(
        [*declared, [repr(public_table) for public_table in origin.public.values()]], sort_keys=True
    )
    return PreparedQuestions(ReadingCache(CacheFolder(cache_folder), origin, declaration))


def _prepare(engine: Engine, origin: Origin) -> None:
    """Do the slow work before the first question: imports, and the choice of the rows that count.

    If the latter fails, the custodian sees the error.
    """
    import_module("giveortake.sql.select")
    try:
        engine.prepare(origin.relations.values())
    except QueryFailed as failed:
        raise InvalidParameter(
            "source",
            HIDDEN,
            f"could not be prepared for rows_per_person: the engine gave up ({failed.cause})",
            hint='engine={"memory": …} allows more; the log names the kind of error',
        ) from None


def _spool_folder(location: LedgerLocation, name: str) -> Path | None:
    """The folder for large answers: beside the ledger by default; None (a temporary folder) if that is in memory."""
    if location.spool is not None:
        return Path(location.spool)
    if not location.is_durable:
        return None
    if isinstance(location.ledger, ledgers.Ledger) or is_address(str(location.ledger)):
        return Path(f"{_NAME.sub('_', name)}.answers")
    return Path(f"{location.ledger}.answers")


def require_no_column_called_row(columns: Iterable[str]) -> None:
    """Refuse `unit="row"` if the table has a column of that name, which may be meant, and would protect more."""
    row_column = next((column for column in columns if column.casefold() == WORD_FOR_ROWS), None)
    if row_column is not None:
        raise InvalidParameter(
            "unit",
            WORD_FOR_ROWS,
            f"is the word for rows that protect themselves, and there is a column {row_column!r}",
            hint="give that column another name; in Python, unit=gt.unit(…) names it, and unit=gt.ROW means rows",
        )


def _unit(unit: object) -> Unit:
    if isinstance(unit, Unit):
        return unit
    if isinstance(unit, str):
        return ROW if unit == WORD_FOR_ROWS else unit_of(unit)
    raise InvalidParameter("unit", unit, "is neither a column nor gt.ROW", hint='unit="user_id", or unit=gt.ROW')


def _budget(budget: object, unit: Unit) -> Guarantee:
    if not isinstance(budget, Guarantee):
        pair = isinstance(budget, tuple | list) and len(budget) == 2
        example = 'gt.ApproxDP("1", "1e-6")' if pair else 'gt.PureDP("1")'
        raise InvalidParameter("budget", budget, "is not a promise", hint=f"write, for example, {example}")
    if budget.unit not in {ROW, unit}:
        raise InvalidParameter("budget", budget, f"protects {budget.unit}, but the table protects {unit}")
    return replace(budget, unit=unit)


def _private_tables(
    engine: Engine, source: Any, unit: Unit, domains: Mapping[str, Any], name: str | None
) -> tuple[list[PrivateTable], list[Source]]:
    """The private tables as declared, and their sources in the engine."""
    several = isinstance(source, Mapping)
    named_sources: dict[str, Any] = dict(source) if several else {table_name(source, name): source}
    if not named_sources:
        raise InvalidParameter("source", source, "names no table")
    private_tables, sources, known_columns = [], [], set()
    for name_of_table, stated_source in named_sources.items():
        table_source, table = file_and_table(stated_source)
        own = own_domains(domains, name_of_table, several)
        if unit != ROW and unit.column in getattr(getattr(table_source, "index", None), "names", ()):
            raise InvalidParameter(
                "unit",
                unit.column,
                "is the index of the table, and no column",
                hint="gt.protect(table.reset_index(), …)",
            )
        loaded = engine.add(_checked_name(name_of_table), table_source, kinds_of(own, unit), table=table)
        private_tables.append(_declared_table(loaded, unit, own))
        sources.append(loaded)
        known_columns |= {column for column, _ in loaded.columns}
    plain = {
        name
        for name, value in domains.items()
        if not (several and name in named_sources and isinstance(value, Mapping))
    }
    unknown = plain - known_columns
    if unknown:
        meaning = next(
            (close for column in sorted(unknown, key=str) if (close := did_you_mean(str(column), known_columns))), ""
        )
        raise InvalidParameter(
            "domains",
            sorted(unknown, key=str),
            "names columns that the table does not have",
            hint=f"{meaning}its columns are {', '.join(sorted(known_columns))}",
        )
    return private_tables, sources


def own_domains(domains: Mapping[str, Any], table: str, several: bool) -> Mapping[str, Any]:
    """The domains of one table: those under its name, and those of columns that are named alike everywhere."""
    if several and isinstance(domains.get(table), Mapping):
        return {**{k: v for k, v in domains.items() if not isinstance(v, Mapping)}, **domains[table]}
    return domains


def _declared_table(loaded: Source, unit: Unit, domains: Mapping[str, Any]) -> PrivateTable:
    physical = dict(loaded.columns)
    if len({column.casefold() for column in physical}) < len(physical):
        raise InvalidParameter("source", loaded.name, "has columns whose names differ only in case", hint="rename one")
    person = None if unit == ROW else unit.column
    for column, kind in loaded.unasked:
        if column == person or column in domains:
            name = "unit" if column == person else "domains"
            problem = f"cannot be asked about: its type is {kind or 'unknown'}"
            raise InvalidParameter(name, column, problem, hint=store_instead(column, kind))
    if person is not None:
        require_persons(loaded, person)
    columns = []
    for column, domain in loaded.columns:
        if column == person:
            columns.append((column, domain.complete()))
        elif column in domains:
            columns.append((column, declared(column, domains[column], domain)))
        else:
            columns.append((column, domain))
    return PrivateTable(loaded.name, tuple(columns), person, loaded.unasked)


def _public_tables(engine: Engine, sources: Mapping[str, Any], private_names: set[str]) -> list[PublicTable]:
    public_tables = []
    for name, source in sources.items():
        if name in private_names:
            raise InvalidParameter("public", name, "is the name of a private table")
        content = engine.add_public(_checked_name(name), source)
        unique = frozenset(column for column, public_column in content.columns.items() if public_column.is_unique)
        columns = tuple(
            (column, _public_domain(domain, content.columns[column].values))
            for column, domain in content.source.columns
        )
        public_tables.append(PublicTable(name, columns, unique, content.source.fingerprint))
    return public_tables


def _public_domain(physical: Domain, values: Sequence[Any]) -> Domain:
    """The domain of a column of a public table, from its values, which are public."""
    present = [value for value in values if value is not None]
    nullable = len(present) < len(values)
    if physical.kind.is_number and present:
        numbers = [Fraction(value) for value in present if value == value and abs(value) < 2**62]  # noqa: PLR0124 (not a number)
        if numbers:
            physical = replace(physical, low=min(numbers), high=max(numbers))
    if physical.kind not in {Kind.REAL, Kind.DECIMAL, Kind.TIMESTAMP} and 0 < len(present) <= _MOST_PUBLIC_KEYS:
        physical = replace(physical, categories=tuple(present) + ((None,) if nullable else ()))
    return replace(physical, nullable=nullable)


def _registered(ledger: ledgers.Ledger, name: str, *, owned: bool, **registration: Any) -> ledgers.Registered:
    """Register the budget and the table in the ledger, or check them against it; other data is a new version."""
    try:
        return ledger.register(name, **registration)
    except BaseException:
        if owned:
            ledger.close()
        raise


def _own_budget(ledger: ledgers.Ledger, name: str, analyst: str | None) -> Guarantee | None:
    """The allotment of an analyst, which is all they may spend; None if they spend the population's budget."""
    if analyst is None or not ledger.deciding(name).allotted:
        return None
    with suppress(NotFound, AccessDenied):  # which they are told when they ask
        return next(iter(ledger.levels(analyst=analyst, dataset=name))).budget
    return None


def table_name(source: Any, name: str | None) -> str:
    """The name of a table: the stated one, that of the table in a database, or that of the file."""
    if name is not None and not hasattr(name, "encode"):
        raise InvalidParameter("name", name, "is not the name of a table")
    if name is not None:
        return name
    source, table = file_and_table(source)
    if table is not None:
        return table
    if is_address(source):
        name_in_address = table_in(source)
        if name_in_address is None:
            raise InvalidParameter("source", HIDDEN, "names no table", hint="add ?table=NAME to the address")
        return name_in_address
    first = source[0] if isinstance(source, Sequence) and not isinstance(source, str) and source else source
    if isinstance(first, str | Path):
        stem = Path(first).name.partition(".")[0] if place_of(first) == HERE else str(first).rpartition(".")[2]
        return _NAME.sub("_", stem).strip("_") or "data"
    return "data"


def _checked_name(name: object) -> str:
    if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 100:
        return name
    raise InvalidParameter("name", name, "cannot be the name of a table")
