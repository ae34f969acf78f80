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
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import ledger as ledgers
from giveortake.compile import Caps, CustodianCaps
from giveortake.compile.sensitivity import nothing_to_cap
from giveortake.engines.protocol import HERE, is_address, open_engine, place_of, require_tables, table_in
from giveortake.engines.runtime import CacheFolder
from giveortake.errors import HIDDEN, AccessDenied, InvalidParameter, NotFound, QueryFailed, did_you_mean
from giveortake.ledger.discovery import MEMORY, require_one_budget
from giveortake.plan import Domain, Kind, Origin, PrivateTable, PublicTable
from giveortake.plan.domains import declared, is_number, is_pair_of_dates
from giveortake.plan.relations import store_instead
from giveortake.privacy import ROW, Guarantee, Unit
from giveortake.privacy import unit as unit_of
from giveortake.privacy.guarantee import checked_neighbours
from giveortake.session.mechanism import InteractiveMechanism, PreparedQuestions
from giveortake.session.session import Session
from giveortake.session.storage import Spool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.compile.sensitivity import CapsRole
    from giveortake.engines import Engine, Source
    from giveortake.exact import Number
    from giveortake.mechanisms.vectors import Trusted
    from giveortake.privacy.guarantee import Neighbours


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


def protect(
    source: Any,
    *,
    unit: Unit | str,
    budget: Guarantee,
    domains: Mapping[str, Any] | None = None,
    ledger: str | Path | ledgers.Ledger | None = None,
    neighbours: Neighbours = "add-remove",
    public: Mapping[str, Any] | None = None,
    groups_per_person: Number | None = None,
    rows_per_group: Number | None = None,
    rows_per_person: Number | Mapping[str, Number] | None = None,
    caps: CapsRole = "default",
    name: str | None = None,
    table: str | None = None,
    population: str | None = None,
    new_population: str | None = None,
    analyst: str | None = None,
    owner_confirms: str | None = None,
    mark: str | Path | None = None,
    failures: int | None = None,
    spool: str | Path | None = None,
    memory: str = "1500MB",
    threads: int | None = None,
    seconds: float | None = None,
    cache: str | Path | None = None,
    by: str | None = None,
    trusted: Mapping[str, Trusted] | None = None,
    appended: bool = False,
) -> Session:
    """Put a table, or several tables about the same people, behind a privacy budget.

    `source` is a path (CSV, Parquet, DuckDB), a list of Parquet files, or a Polars, pandas or Arrow table; a table that
    stays where it is: `postgresql://…/db?table=trips`, a Spark DataFrame, a table of the active Spark session, or
    `spark://…?table=trips`; a dictionary of names and sources for several tables in one place. `unit` is the column
    that names a person, in every table, or `gt.ROW`; the text "row" means the latter where no column is called that.
    `domains` states what columns may hold: bounds `(0, 500)`, categories `["north", …]`, or a dictionary of both.
    `public` are tables that everybody may know.

    `groups_per_person`, `rows_per_group` and `rows_per_person`, a number or `{table: number}`, cap how much of one
    person counts where a question does not say so itself; with `caps="maximum"` no question may say more. Without any,
    questions state their own.

    Answers with very many keys are kept in files in the folder `spool`, beside the ledger unless stated.
    `memory` and `threads` are limits for what runs here, `seconds` one for every question. In the folder `cache`, if it
    is stated, a loaded copy of a large CSV file is kept for its user alone: the same file is not parsed again.
    Parsed questions are kept there too.

    Without `ledger` what was spent is kept in memory only, and forgotten with the session. A file that has a ledger
    beside it already (`trips.csv.ledger`, or the one that a TOML file there names) is refused with any other, or
    none (`SameTable`): the same people would have two budgets. `ledger=":memory:"` states that nobody else will see the
    answers; `owner_confirms`, which is recorded, overrides the refusal. `mark` says where the ledger's mark is kept, if
    not in the state folder (`$GIVEORTAKE_STATE`, or the user's own). If the ledger has a population already,
    `population` says that this table is about the same people, and `new_population` that it is about others.
    `failures` is how many questions may run out of memory or time before the custodian has to look, 3 unless stated.
    `by` is the name of whoever protects the table, for the ledger.

    `trusted` is the custodian's own code, `{"name@version": function}`, that this session may name in `gt.learn.sgd`:
    it is called with rows. Sessions of analysts have none.

    `appended` is the custodian's word that every version of the tables holds all rows of the versions before it, as
    they were. Counters go on from one version to the next only then: how much of one person they count rests on it.
    """
    code = _trusted(trusted, analyst)
    privacy_unit = _unit(unit)
    checked_neighbours(neighbours)
    promise = _budget(budget, privacy_unit, neighbours)
    stated: Any = (groups_per_person, rows_per_group, rows_per_person)  # numbers; caps are whole ones
    stated_caps = Caps(*stated)
    if privacy_unit == ROW and stated_caps.stated:
        raise nothing_to_cap()
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < seconds <= _MOST_SECONDS):
        raise InvalidParameter("seconds", seconds, "is not a positive number of seconds")
    if not isinstance(source, Mapping):
        table_name(source, name, table)  # an address that names no table is refused before anything is opened
    if mark is not None and (ledger is None or isinstance(ledger, ledgers.Ledger)):
        raise InvalidParameter(
            "mark", str(mark), "goes only with a ledger that is opened by its path", hint='pass ledger="visits.ledger"'
        )
    ledger_path = _ledger_path(ledger)
    require_tables(source)
    if owner_confirms is None:
        require_one_budget(source, ledger_path)
    if public is not None and not isinstance(public, Mapping):
        raise InvalidParameter("public", HIDDEN, "does not name its tables", hint='public={"regions": table}')
    if domains is not None and not isinstance(domains, Mapping):
        raise InvalidParameter("domains", domains, "says of no column what it holds", hint='domains={"fee": (0, 500)}')
    declared_domains = dict(domains or {})
    cache_folder = None if cache is None else Path(cache).absolute()
    engine = open_engine(source, memory=memory, threads=threads, seconds=seconds, cache=cache_folder)
    try:
        private, sources = _private_tables(engine, source, privacy_unit, declared_domains, name=name, table=table)
        if unit == WORD_FOR_ROWS:
            require_no_column_called_row(column for loaded in sources for column, _ in loaded.columns)
        open_tables = _public_tables(engine, public or {}, {protected.name for protected in private})
        custodian_caps = CustodianCaps.of(
            stated_caps, [protected.name for protected in private], caps, of_persons=privacy_unit != ROW
        )
        engine.lock()
        origin = Origin.of(private, open_tables, custodian_caps.caps.rows_in)
        if seconds is not None:
            _prepare(engine, origin)
        opened_ledger = (
            ledger
            if isinstance(ledger, ledgers.Ledger)
            else ledgers.open(MEMORY if ledger is None else str(ledger), mark=mark)
        )
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
            population=population,
            new_population=new_population,
            owner_confirms=owner_confirms,
            failures=failures,
            declared=bool(declared_domains),
            by=by,
            owned=opened_ledger is not ledger,
        )
    except BaseException:
        engine.close()
        raise
    mechanism = InteractiveMechanism(
        engine=engine,
        ledger=opened_ledger,
        spool=Spool(_spool_folder(spool, ledger, dataset)),
        origin=origin,
        dataset=dataset,
        population=registered.population,
        version=registered.version,
        budget=_own_budget(opened_ledger, dataset, registered.population, analyst) or promise,
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
        owns_ledger=not isinstance(ledger, ledgers.Ledger),
        durable=ledger is not None and str(ledger) != MEMORY,
    )


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


def _ledger_path(ledger: str | Path | ledgers.Ledger | None) -> str | None:
    """The place of a ledger, to compare it with the ledgers beside a file; None if none was stated."""
    if ledger is None or isinstance(ledger, str | PathLike):
        return None if ledger is None else str(ledger)
    if not isinstance(ledger, ledgers.Ledger):
        raise InvalidParameter(
            "ledger", ledger, "is neither a ledger nor where one is kept", hint='pass a path: ledger="visits.ledger"'
        )
    name = ledger.chain.store.name
    return MEMORY if name == "memory" else name


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
            hint="pass a larger memory=; the log names the kind of error",
        ) from None


def _spool_folder(spool: str | Path | None, ledger: str | Path | ledgers.Ledger | None, name: str) -> Path | None:
    """The folder for large answers: beside the ledger by default; None (a temporary folder) if that is in memory."""
    if spool is not None:
        return Path(spool)
    if _ledger_path(ledger) in {None, MEMORY}:
        return None
    if isinstance(ledger, ledgers.Ledger) or is_address(str(ledger)):
        return Path(f"{_NAME.sub('_', name)}.answers")
    return Path(f"{ledger}.answers")


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


def _budget(budget: object, unit: Unit, neighbours: Neighbours) -> Guarantee:
    if not isinstance(budget, Guarantee):
        pair = isinstance(budget, tuple | list) and len(budget) == 2
        example = 'gt.ApproxDP("1", "1e-6")' if pair else 'gt.PureDP("1")'
        raise InvalidParameter("budget", budget, "is not a promise", hint=f"write, for example, {example}")
    if budget.unit not in {ROW, unit}:
        raise InvalidParameter("budget", budget, f"protects {budget.unit}, but the table protects {unit}")
    if budget.neighbours not in {"add-remove", neighbours}:
        raise InvalidParameter("neighbours", neighbours, f"contradicts the budget, which has {budget.neighbours!r}")
    return replace(budget, unit=unit, neighbours=neighbours)


def _private_tables(
    engine: Engine, source: Any, unit: Unit, domains: Mapping[str, Any], *, name: str | None, table: str | None
) -> tuple[list[PrivateTable], list[Source]]:
    """The private tables as declared, and their sources in the engine."""
    several = isinstance(source, Mapping)
    named_sources: dict[str, Any] = dict(source) if several else {table_name(source, name, table): source}
    if not named_sources:
        raise InvalidParameter("source", source, "names no table")
    private_tables, sources, known_columns = [], [], set()
    for name_of_table, table_source in named_sources.items():
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


def _own_budget(ledger: ledgers.Ledger, name: str, population: str, analyst: str | None) -> Guarantee | None:
    """The allotment of an analyst, which is all they may spend; None if they spend the population's budget."""
    people = next(level for level in ledger.levels() if (level.kind, level.name) == ("population", population))
    if analyst is None or not people.allotted:
        return None
    with suppress(NotFound, AccessDenied):  # which they are told when they ask
        return next(iter(ledger.levels(analyst=analyst, dataset=name))).budget
    return None


def table_name(source: Any, name: str | None, table: str | None) -> str:
    """The name of a table: the stated one, that of the table in a database, or that of the file."""
    for parameter, stated_name in (("name", name), ("table", table)):
        if stated_name is not None and not hasattr(stated_name, "encode"):
            raise InvalidParameter(parameter, stated_name, "is not the name of a table")
    if name is not None:
        return name
    if table is not None:
        return table.rpartition(".")[2]
    if is_address(source):
        name_in_address = table_in(source)
        if name_in_address is None:
            raise InvalidParameter(
                "source", HIDDEN, "names no table", hint="add ?table=NAME to the address, or pass table="
            )
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
