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
from giveortake.arguments import told_by_name
from giveortake.compile import Caps, CustodianCaps
from giveortake.compile.spend import nothing_to_cap
from giveortake.engines.protocol import HERE, is_address, open_engine, place_of, require_tables, table_in
from giveortake.engines.runtime import CacheFolder
from giveortake.errors import HIDDEN, AccessDenied, InvalidParameter, NotFound, QueryFailed, meant
from giveortake.plan import Domain, Kind, Origin, PrivateTable, PublicTable
from giveortake.plan.domains import declared, is_number, is_pair_of_dates
from giveortake.plan.relations import store_instead
from giveortake.privacy import ROW, Guarantee, Unit
from giveortake.privacy import unit as unit_of
from giveortake.privacy.guarantee import checked_neighbours
from giveortake.session.ledger_discovery import MEMORY, require_one_budget
from giveortake.session.mechanism import InteractiveMechanism, PreparedQuestions
from giveortake.session.session import Session
from giveortake.session.storage import Spool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.compile.spend import CapsRole
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
                f"{meant(person, physical)}its columns are {', '.join(physical)}; where every row is protected by "
                "itself, unit=gt.ROW"
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


def kinds_of(said: Mapping[str, Any], whom: Unit) -> dict[str, Kind]:
    """What untyped cells are to be read as, by what is said about their columns."""
    return {column: _kind(value) for column, value in said.items() if whom == ROW or column != whom.column}


def _kind(said: Any) -> Kind:
    if isinstance(said, Domain):
        return said.kind
    if isinstance(said, Mapping):
        if said.get("integer"):
            return Kind.INTEGER
        if "bounds" in said:
            return _kind(tuple(said["bounds"]))
        return _kind(said["categories"]) if "categories" in said else Kind.TEXT
    first = (
        next((each for each in said if each is not None), None)
        if isinstance(said, Sequence | set | frozenset | range) and not isinstance(said, str)
        else None
    )
    if isinstance(first, bool):
        return Kind.BOOLEAN
    if isinstance(first, dt.datetime) and isinstance(said, tuple):
        return Kind.TIMESTAMP
    if isinstance(first, dt.date) or (isinstance(said, tuple) and is_pair_of_dates(said)):
        return Kind.DATE
    if isinstance(said, tuple) and is_number(first):
        return Kind.REAL
    if isinstance(first, int):
        return Kind.INTEGER
    return Kind.TEXT


_NAME = re.compile(r"[^0-9A-Za-z_]+")
WORD_FOR_ROWS = "row"  # where a unit is given as a text
_CODE = re.compile(r"\w{1,64}@[\w.-]{1,64}")
_MOST_PUBLIC_KEYS = 10_000
_MOST_SECONDS = 10**6
_FOR_ALL = 'budget=gt.PureDP("1"), or budget=gt.ApproxDP("1", "1e-6"), for all questions ever'


@told_by_name(
    {
        "source": 'gt.protect("trips.csv", unit="user_id", budget=gt.PureDP("1"))',
        "unit": 'unit="user_id", the column that names a person; or unit=gt.ROW, if every row is somebody else',
        "budget": _FOR_ALL,
    },
    elsewhere={"epsilon": _FOR_ALL, "delta": _FOR_ALL},
)
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
    whom = _unit(unit)
    checked_neighbours(neighbours)
    promise = _budget(budget, whom, neighbours)
    stated = Caps.of(groups_per_person, rows_per_group, rows_per_person)
    if whom == ROW and stated.stated:
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
    place = _place(ledger)
    require_tables(source)
    if owner_confirms is None:
        require_one_budget(source, place)
    if public is not None and not isinstance(public, Mapping):
        raise InvalidParameter("public", HIDDEN, "does not name its tables", hint='public={"regions": table}')
    if domains is not None and not isinstance(domains, Mapping):
        raise InvalidParameter("domains", domains, "says of no column what it holds", hint='domains={"fee": (0, 500)}')
    said = dict(domains or {})
    kept = None if cache is None else Path(cache).absolute()
    engine = open_engine(source, memory=memory, threads=threads, seconds=seconds, cache=kept)
    try:
        private, sources = _private_tables(engine, source, whom, said, name=name, table=table)
        if unit == WORD_FOR_ROWS:
            require_no_column_called_row(column for each in sources for column, _ in each.columns)
        open_tables = _public_tables(engine, public or {}, {each.name for each in private})
        said_caps = CustodianCaps.of(stated, [each.name for each in private], caps, of_persons=whom != ROW)
        engine.lock()
        origin = Origin.of(private, open_tables, said_caps.caps.rows_in)
        if seconds is not None:
            _prepare(engine, origin)
        book = (
            ledger
            if isinstance(ledger, ledgers.Ledger)
            else ledgers.open(MEMORY if ledger is None else str(ledger), mark=mark)
        )
        domains_of = {each.name: {column: domain.to_dict() for column, domain in each.columns} for each in private}
        called = name if name is not None and len(private) > 1 else "+".join(each.name for each in private)
        found = _registered(
            book,
            called,
            budget=promise,
            unit=whom,
            domains=domains_of,
            fingerprint=hashlib.sha256("|".join(each.fingerprint for each in sources).encode()).hexdigest(),
            first=f"people of {called}" if whom != ROW else f"rows of {called}",
            population=population,
            new_population=new_population,
            owner_confirms=owner_confirms,
            failures=failures,
            declared=bool(said),
            by=by,
            owned=book is not ledger,
        )
    except BaseException:
        engine.close()
        raise
    mechanism = InteractiveMechanism(
        engine=engine,
        ledger=book,
        spool=Spool(_spool_folder(spool, ledger, called)),
        origin=origin,
        dataset=called,
        population=found.population,
        version=found.version,
        budget=_own_budget(book, called, found.population, analyst) or promise,
        caps=said_caps,
        analyst=analyst,
        declared=hashlib.sha256(json.dumps(domains_of, sort_keys=True).encode()).hexdigest()[:32],
        questions=_prepared_questions(kept, origin, [domains_of, str(whom), repr(said_caps)]),
        trusted=code,
        appended=appended,
    )
    return Session(
        mechanism,
        unasked={each.name: each.unasked for each in sources},
        owns_ledger=not isinstance(ledger, ledgers.Ledger),
        durable=ledger is not None and str(ledger) != MEMORY,
    )


def _trusted(said: Mapping[str, Trusted] | None, analyst: str | None) -> dict[str, Trusted]:
    """Check the custodian's code, by name@version; the functions themselves are not recorded."""
    if said and analyst is not None:
        raise InvalidParameter(
            "trusted",
            list(said),
            "cannot be used in an analyst's session",
            hint="leave `analyst` out: only the custodian's own session runs trusted code",
        )
    for called, code in (said or {}).items():
        if not (_CODE.fullmatch(str(called)) and callable(code)):
            raise InvalidParameter(
                "trusted", called, "is not a function with a name and a version", hint='trusted={"pairs@1": function}'
            )
    return dict(said or {})


def _prepared_questions(kept: Path | None, origin: Origin, declared: list[Any]) -> PreparedQuestions:
    """The cache of questions: in memory, and also on disk if there is a folder for it."""
    if kept is None:
        return PreparedQuestions()
    from giveortake.session.parse_cache import KeptReadings  # noqa: PLC0415 (for the command line)

    said = json.dumps([*declared, [repr(each) for each in origin.public.values()]], sort_keys=True)
    return PreparedQuestions(KeptReadings(CacheFolder(kept), origin, said))


def _place(ledger: str | Path | ledgers.Ledger | None) -> str | None:
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
    if _place(ledger) in {None, MEMORY}:
        return None
    if isinstance(ledger, ledgers.Ledger) or is_address(str(ledger)):
        return Path(f"{_NAME.sub('_', name)}.answers")
    return Path(f"{ledger}.answers")


def require_no_column_called_row(columns: Iterable[str]) -> None:
    """Refuse `unit="row"` if the table has a column of that name, which may be meant, and would protect more."""
    named = next((each for each in columns if each.casefold() == WORD_FOR_ROWS), None)
    if named is not None:
        raise InvalidParameter(
            "unit",
            WORD_FOR_ROWS,
            f"is the word for rows that protect themselves, and there is a column {named!r}",
            hint="give that column another name; in Python, unit=gt.unit(…) names it, and unit=gt.ROW means rows",
        )


def _unit(said: object) -> Unit:
    if isinstance(said, Unit):
        return said
    if isinstance(said, str):
        return ROW if said == WORD_FOR_ROWS else unit_of(said)
    raise InvalidParameter("unit", said, "is neither a column nor gt.ROW", hint='unit="user_id", or unit=gt.ROW')


def _budget(budget: object, whom: Unit, neighbours: Neighbours) -> Guarantee:
    if not isinstance(budget, Guarantee):
        pair = isinstance(budget, tuple | list) and len(budget) == 2
        example = 'gt.ApproxDP("1", "1e-6")' if pair else 'gt.PureDP("1")'
        raise InvalidParameter("budget", budget, "is not a promise", hint=f"write, for example, {example}")
    if budget.unit not in {ROW, whom}:
        raise InvalidParameter("budget", budget, f"protects {budget.unit}, but the table protects {whom}")
    if budget.neighbours not in {"add-remove", neighbours}:
        raise InvalidParameter("neighbours", neighbours, f"contradicts the budget, which has {budget.neighbours!r}")
    return replace(budget, unit=whom, neighbours=neighbours)


def _private_tables(
    engine: Engine, source: Any, whom: Unit, said: Mapping[str, Any], *, name: str | None, table: str | None
) -> tuple[list[PrivateTable], list[Source]]:
    """The private tables as declared, and their sources in the engine."""
    several = isinstance(source, Mapping)
    given: dict[str, Any] = dict(source) if several else {table_name(source, name, table): source}
    if not given:
        raise InvalidParameter("source", source, "names no table")
    found, sources, used = [], [], set()
    for called, each in given.items():
        own = own_domains(said, called, several)
        if whom != ROW and whom.column in getattr(getattr(each, "index", None), "names", ()):
            raise InvalidParameter(
                "unit",
                whom.column,
                "is the index of the table, and no column",
                hint="gt.protect(table.reset_index(), …)",
            )
        loaded = engine.add(_checked_name(called), each, kinds_of(own, whom), table=table)
        found.append(_declared_table(loaded, whom, own))
        sources.append(loaded)
        used |= {column for column, _ in loaded.columns}
    plain = {name for name, value in said.items() if not (several and name in given and isinstance(value, Mapping))}
    unknown = plain - used
    if unknown:
        meaning = next((close for each in sorted(unknown, key=str) if (close := meant(str(each), used))), "")
        raise InvalidParameter(
            "domains",
            sorted(unknown, key=str),
            "names columns that the table does not have",
            hint=f"{meaning}its columns are {', '.join(sorted(used))}",
        )
    return found, sources


def own_domains(said: Mapping[str, Any], table: str, several: bool) -> Mapping[str, Any]:
    """The domains of one table: those under its name, and those of columns that are named alike everywhere."""
    if several and isinstance(said.get(table), Mapping):
        return {**{k: v for k, v in said.items() if not isinstance(v, Mapping)}, **said[table]}
    return said


def _declared_table(loaded: Source, whom: Unit, said: Mapping[str, Any]) -> PrivateTable:
    physical = dict(loaded.columns)
    if len({column.casefold() for column in physical}) < len(physical):
        raise InvalidParameter("source", loaded.name, "has columns whose names differ only in case", hint="rename one")
    person = None if whom == ROW else whom.column
    for column, kind in loaded.unasked:
        if column == person or column in said:
            name = "unit" if column == person else "domains"
            problem = f"cannot be asked about: its type is {kind or 'unknown'}"
            raise InvalidParameter(name, column, problem, hint=store_instead(column, kind))
    if person is not None:
        require_persons(loaded, person)
    columns = []
    for column, domain in loaded.columns:
        if column == person:
            columns.append((column, domain.complete()))
        elif column in said:
            columns.append((column, declared(column, said[column], domain)))
        else:
            columns.append((column, domain))
    return PrivateTable(loaded.name, tuple(columns), person, loaded.unasked)


def _public_tables(engine: Engine, given: Mapping[str, Any], taken: set[str]) -> list[PublicTable]:
    found = []
    for name, source in given.items():
        if name in taken:
            raise InvalidParameter("public", name, "is the name of a private table")
        content = engine.add_public(_checked_name(name), source)
        unique = frozenset(column for column, each in content.columns.items() if each.is_unique)
        columns = tuple(
            (column, _public_domain(domain, content.columns[column].values))
            for column, domain in content.source.columns
        )
        found.append(PublicTable(name, columns, unique, content.source.fingerprint))
    return found


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


def _registered(book: ledgers.Ledger, name: str, *, owned: bool, **said: Any) -> ledgers.Registered:
    """Register the budget and the table in the ledger, or check them against it; other data is a new version."""
    try:
        return book.register(name, **said)
    except BaseException:
        if owned:
            book.close()
        raise


def _own_budget(book: ledgers.Ledger, name: str, population: str, analyst: str | None) -> Guarantee | None:
    """The allotment of an analyst, which is all they may spend; None if they spend the population's budget."""
    people = next(level for level in book.levels() if (level.kind, level.name) == ("population", population))
    if analyst is None or not people.allotted:
        return None
    with suppress(NotFound, AccessDenied):  # which they are told when they ask
        return next(iter(book.levels(analyst=analyst, dataset=name))).budget
    return None


def table_name(source: Any, name: str | None, table: str | None) -> str:
    """The name of a table: the stated one, that of the table in a database, or that of the file."""
    for parameter, said in (("name", name), ("table", table)):
        if said is not None and not hasattr(said, "encode"):
            raise InvalidParameter(parameter, said, "is not the name of a table")
    if name is not None:
        return name
    if table is not None:
        return table.rpartition(".")[2]
    if is_address(source):
        named = table_in(source)
        if named is None:
            raise InvalidParameter(
                "source", HIDDEN, "names no table", hint="add ?table=NAME to the address, or pass table="
            )
        return named
    first = source[0] if isinstance(source, Sequence) and not isinstance(source, str) and source else source
    if isinstance(first, str | Path):
        stem = Path(first).name.partition(".")[0] if place_of(first) == HERE else str(first).rpartition(".")[2]
        return _NAME.sub("_", stem).strip("_") or "data"
    return "data"


def _checked_name(name: object) -> str:
    if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 100:
        return name
    raise InvalidParameter("name", name, "cannot be the name of a table")
