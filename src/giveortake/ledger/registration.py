"""Registration of populations, data sets, tables and analysts: how they enter the chain, and what redefines them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final
from unicodedata import normalize

from giveortake import codec
from giveortake.accounting.filters import filter as filter_of
from giveortake.accounting.filters import meter_fixed_by
from giveortake.errors import AccessDenied, InvalidParameter, LedgerMismatch, NotFound, SameTable
from giveortake.exact import whole
from giveortake.ledger.budgets import promise_text, protecting, take
from giveortake.ledger.chain.entries import Json, asked_of, canonical, named, plain, promise_from_json
from giveortake.ledger.chain.state import FAILURES, DataSet
from giveortake.privacy import ROW, Guarantee, Unit, unit
from giveortake.privacy.guarantee import checked_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.accounting.filters import Filter, Meter
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.state import Level, State


_MOST_LISTED = 3  # columns that an error names


def other_domains(name: str, first: dict[str, Any], domains: object) -> LedgerMismatch:
    """The error about other domains than the ledger's: what differs, column by column, and what to do."""
    registered, declared = _columns(first["domains"]), _columns(domains)
    differing = sorted(
        column for column in registered.keys() | declared.keys() if registered.get(column) != declared.get(column)
    )
    listed = [
        f"{column}: {_difference(registered.get(column), declared.get(column))}" for column in differing[:_MOST_LISTED]
    ]
    unlisted = len(differing) - len(listed)
    hint = (
        "domains cannot change once a question was charged: declare them as the ledger has them, or protect the table "
        f'under another name of the same population: name="{name}_2" with population="{first["population"]}"'
    )
    return LedgerMismatch(
        f"the data set {name!r} is in the ledger with other domains: "
        f"{'; '.join(listed) or 'other tables'}{f'; and {unlisted} more' if unlisted else ''}",
        field="domains",
        hint=hint,
    )


def _columns(domains: object) -> dict[str, Any]:
    """Domains by column; by table and column if there are several tables."""
    if not isinstance(domains, dict):
        return {} if domains is None else {"all": domains}
    tables = [table for table in domains.values() if isinstance(table, dict)]
    if len(tables) < len(domains) or not all(isinstance(domain, dict) for table in tables for domain in table.values()):
        return domains
    return {
        (f"{table}.{column}" if len(domains) > 1 else str(column)): domain
        for table, columns in domains.items()
        for column, domain in columns.items()
    }


def _difference(registered: Any, declared: Any) -> str:
    if registered is None or declared is None:
        return f"the ledger says {_domain(registered)}, you said {_domain(declared)}"
    if isinstance(registered, dict) and isinstance(declared, dict):
        ours, yours = registered.get("categories"), declared.get("categories")
        if isinstance(ours, list) and isinstance(yours, list):
            gone, new = ([category for category in a if category not in b] for a, b in ((ours, yours), (yours, ours)))
            changes = [
                *([f"you added {_listed(new)}; the ledger does not have {_them(new)}"] if new else ()),
                *([f"you left out {_listed(gone)}; the ledger has {_them(gone)}"] if gone else ()),
            ]
            if changes:
                return "; ".join(changes)
            if ours != yours:
                return "the categories have another order"
    texts = _domain(registered), _domain(declared)
    if texts[0] == texts[1]:
        texts = short(registered), short(declared)
    return f"the ledger says {texts[0]}, you said {texts[1]}"


def _domain(domain: Any) -> str:
    """A domain in words.

    >>> _domain({"kind": "real", "nullable": True, "low": "0", "high": "500"})
    'real, 0 to 500'
    >>> _domain({"kind": "date", "nullable": False, "low": "738886", "high": "738887"})
    'date, 2024-01-01 to 2024-01-02, never missing'
    >>> _domain({"kind": "text", "nullable": True, "categories": ["north", "south"]})
    'text, one of north, south'
    """
    if domain is None:
        return "nothing"
    if not isinstance(domain, dict) or "kind" not in domain:
        return short(domain)
    parts = [str(domain["kind"])]
    if "low" in domain and "high" in domain:
        ends = [str(domain["low"]), str(domain["high"])]
        if domain["kind"] == "date":
            ends = [date.fromordinal(int(end)).isoformat() for end in ends]
        parts.append(" to ".join(ends))
    if "categories" in domain:
        parts.append(f"one of {_listed(domain['categories'])}")
    if "longest" in domain:
        parts.append(f"at most {domain['longest']} characters")
    if "step" in domain:
        parts.append(f"in steps of {domain['step']}")
    if not domain.get("nullable", True):
        parts.append("never missing")
    return ", ".join(parts)


def _listed(values: list[Any]) -> str:
    texts = ["NULL" if value is None else str(value) for value in values[: 2 * _MOST_LISTED]]
    return ", ".join(texts) + (", …" if len(values) > len(texts) else "") if texts else "nothing"


def _them(values: list[Any]) -> str:
    return "it" if len(values) == 1 else "them"


def short(value: object, limit: int = 120) -> str:
    """A value as an error quotes it, cut to `limit` characters."""
    if isinstance(value, dict) and "neighbours" in value:
        under = "" if value.get("neighbours") == "add-remove" else " under change-one"
        return promise_text(promise_from_json(value)) + under
    text = "none" if value is None else repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


Analysts: TypeAlias = Literal["allotted", "pooled"]
Unlimited: TypeAlias = Literal["none"]  # takes a limit away

_RESERVED = "custodian"  # whom no analyst may be taken for


def population(
    transaction: Transaction,
    name: str,
    budget: Guarantee | None,
    protected: Unit | str | None,
    approval_above: Guarantee | None,
    *,
    analysts: Analysts | None = None,
    failures: int | None = None,
    questions: int | None = None,
    meter: Meter | None = None,
) -> None:
    """Register the people protected, or check that they are registered with these terms."""
    registered = transaction.state.populations.get(named("population", name))
    if (
        registered is not None
        and (budget, protected, approval_above, analysts, failures, questions, meter) == (None,) * 7
    ):
        return
    if budget is None:
        if registered is None:
            raise NotFound(f"the ledger has no population {name!r}", hint="pass budget= to register it")
        budget = registered.budget
    _require_promise(budget)
    assert budget is not None  # noqa: S101 (a population always has one)
    unit = _unit(protected) if protected is not None else budget.unit if registered is None else registered.unit
    if analysts not in {None, "allotted", "pooled"}:
        raise InvalidParameter("analysts", analysts, 'is neither "allotted" nor "pooled"')
    content: dict[str, Json] = {"name": name, **_capped(budget, approval_above, unit)}
    allowance = _allowance(failures, questions)
    if registered is not None:
        terms = {"analysts": analysts, "meter": meter, **allowance}
        _same(
            transaction,
            registered,
            content | {field: value for field, value in terms.items() if value is not None},
            "population",
        )
    else:
        content |= {"analysts": analysts or "allotted", "failures": FAILURES, **allowance}
        _add(transaction, "population", content, budget, unit, meter=meter)


def dataset(
    transaction: Transaction,
    name: str,
    *,
    population_name: str | None,
    budget: Guarantee | None,
    protected: Unit | str | None,
    rows_per_person: int | None,
    domains: object,
    fingerprint: str | None,
    version: str,
    owner_confirms: str | None,
    approval_above: Guarantee | None,
    declared: bool = True,
) -> str | None:
    """Register a table of a population, or check that it is registered with these terms.

    Domains that were not `declared` are not recorded. Declaring other ones while that is open makes a new version,
    which is returned.
    """
    state = transaction.state
    registered = state.datasets.get(named("data set", name))
    if population_name is None:
        if registered is None:
            raise NotFound(f"the ledger has no data set {name!r}", hint="pass population= to register it")
        if (budget, protected, rows_per_person, domains, fingerprint, approval_above) == (None,) * 6:
            return None
        population_name = registered.population
    above = state.population(population_name)
    unit = above.unit if protected is None else _unit(protected)
    people = _rows_per_person(unit, above, rows_per_person)
    content: dict[str, Json] = {
        "name": name,
        "population": population_name,
        "rows_per_person": people,
        "domains": plain("domains", domains) if declared else None,
        "version": named("version", version),
        "fingerprint": _keyed(transaction, fingerprint),
        **_capped(budget, approval_above, unit),
    }
    _same_neighbours(budget, above)
    if registered is not None:
        open_yet = is_open(state, name)
        ignored = ("version", "fingerprint", *(["domains"] if open_yet else []))
        stated_domains = content["domains"] if open_yet and domains is not None else plain("domains", domains)
        _same(transaction, registered, content | {"domains": stated_domains}, "data set", ignore=ignored)
        _same_table(transaction, registered, name, fingerprint)
        is_other = domains is not None and canonical(stated_domains) != canonical(registered.domains)
        return _declare(transaction, registered, stated_domains) if is_other else None
    content["owner_confirms"] = _confirmed(transaction, name, fingerprint, owner_confirms)
    _add(transaction, "dataset", content, budget, unit)
    return None


def is_open(state: State, name: str) -> bool:
    """Whether the domains of a data set may change: none were declared, or no question was ever charged for it.

    After a restoration nobody knows whether one was.
    """
    return state.dataset(name).domains is None or (asked_of(None, name) not in state.lists and not state.restored)


def _declare(transaction: Transaction, registered: DataSet, domains: Json) -> str:
    """Record domains that were declared while that was open; answers are about a new version from now on.

    Questions do not name the domains of their tables, so without a new version an earlier answer could be taken for a
    later one.
    """
    version, fingerprint = next_version(registered), registered.versions[-1][1]
    transaction.add(
        "declared",
        {"name": registered.level.name, "domains": domains, "version": version, "fingerprint": fingerprint},
    )
    return version


def next_version(registered: DataSet, *taken_names: str) -> str:
    """A number that no version has: a name made of the content would tell neighbouring tables apart."""
    names = {*taken_names, *(name for name, _ in registered.versions)}
    return next(str(number) for number in count(len(names) + 1) if str(number) not in names)


def new_version(
    transaction: Transaction, name: str, version: str, fingerprint: str | None, owner_confirms: str | None
) -> None:
    """The data changed: later answers are about the new version, and compose with the earlier ones."""
    registered = transaction.state.dataset(named("data set", name))
    if version == registered.version and is_same(transaction, registered.versions[-1][1], fingerprint):
        return
    if version in {earlier for earlier, _ in registered.versions}:
        raise LedgerMismatch(f"the data set {name!r} already had a version {version!r}", hint="choose another name")
    transaction.add(
        "version",
        {
            "name": name,
            "version": named("version", version),
            "fingerprint": _keyed(transaction, fingerprint),
            "owner_confirms": _confirmed(transaction, name, fingerprint, owner_confirms),
        },
    )


def analyst(
    transaction: Transaction,
    name: str,
    datasets: Iterable[str],
    budget: Guarantee | None,
    approval_above: Guarantee | None,
    *,
    failures: int | None = None,
    questions: int | None = None,
    meter: Meter | None = None,
) -> tuple[str, ...]:
    """Let an analyst ask some data sets of one population: within an allotment, or, where all are pooled, one cap."""
    state = transaction.state
    _require_distinct(state, named("analyst", name))
    if name in state.revoked:
        raise AccessDenied(f"the analyst {name!r} was revoked", hint="the custodian can readmit them")
    names = tuple(sorted({datasets} if isinstance(datasets, str) else set(datasets)))
    if not names:
        raise InvalidParameter("datasets", names, "is empty", hint="name the data sets that the analyst may ask")
    populations = {state.dataset(dataset).population for dataset in names}
    if len(populations) > 1:
        raise LedgerMismatch(
            f"one cap cannot span the populations {', '.join(sorted(populations))}: they are different people",
            hint="register the analyst once for each population, under different names",
        )
    above = state.population(populations.pop())
    _same_neighbours(budget, above)
    content: dict[str, Json] = {
        "name": name,
        "datasets": list(names),
        **_capped(budget, approval_above, above.unit),
    }
    allowance = _allowance(failures, questions)
    grant = state.grants.get((name, names))
    if grant is not None:
        allotment = grant.level.budget
        if allotment is not None and content["budget"] != codec.write(allotment):
            raise LedgerMismatch(
                f"{name} already has an allotment of {promise_text(allotment)}",
                hint="change it (`giveortake admin budget change`), or choose another name",
            )
        metered: dict[str, Json] = {} if meter is None else {"meter": meter}
        _same(transaction, grant.level, content | allowance | metered, "analyst")
        return names
    content |= {"failures": FAILURES, **allowance}
    filters: dict[int, Filter] = {}
    if above.allotted:
        content["above"], filters = _allotment(transaction, budget, above, names)
    _add(transaction, "analyst", content, budget, above.unit, above=filters, meter=meter)
    return names


def _require_distinct(state: State, name: str) -> None:
    """Refuse a new name that people would take for that of the custodian or of another analyst."""
    analysts = {analyst for analyst, _ in state.grants}
    same = next((existing for existing in (_RESERVED, *analysts) if _folded(existing) == _folded(name)), None)
    if name not in analysts and same is not None:
        raise InvalidParameter("analyst", name, f"reads as {same!r}, which is taken", hint="choose another name")


def _folded(name: str) -> str:
    """A name as it is compared: without case, blanks at its ends, and ways to write the same letter.

    >>> _folded(" ＡＮＮ") == _folded("ann"), _folded("Straße") == _folded("STRASSE")
    (True, True)
    """
    return normalize("NFKC", normalize("NFKC", name).casefold()).strip()


def _allotment(
    transaction: Transaction, budget: Guarantee | None, above: Level, datasets: tuple[str, ...]
) -> tuple[dict[str, Json], dict[int, Filter]]:
    if budget is None:
        raise InvalidParameter(
            "budget",
            None,
            f"is missing: the analysts of {above.name!r} have allotments of their own",
            hint="state an allotment of their own, budget=",
        )
    givers = transaction.state.capped_above(datasets)
    for level in givers:
        if level.unit != above.unit:
            raise LedgerMismatch(
                f"the data set {level.name!r} has a cap for {level.unit}, and an allotment protects {above.unit}",
                hint="leave the cap of the data set out",
            )
    return take(transaction, transaction.next_number(), protecting("budget", budget, above.unit), givers)


def _allowance(failures: int | None, questions: int | None) -> dict[str, Json]:
    allowance: dict[str, Json] = {}
    if failures is not None:
        allowance["failures"] = whole("failures", failures) if failures != 0 else 0
    if questions is not None:
        allowance["questions"] = whole("questions", questions)
    return allowance


def change_limits(
    transaction: Transaction,
    level: Level,
    reason: str,
    *,
    approval_above: Guarantee | Unlimited | None,
    failures: int | None,
    questions: int | Unlimited | None,
) -> None:
    """Replace what waits for approval, and how many questions may fail or be asked; what is None stays as it is."""
    content: dict[str, Json] = {"level": level.number, "reason": named("reason", reason)}
    if approval_above is not None:
        content |= _limit_of_approvals(None if approval_above == "none" else approval_above, level.unit)
    content |= _allowance(failures, None if questions == "none" else questions)
    if questions == "none":
        content["questions"] = None
    counted = {"failures", "questions"} & content.keys()
    if counted and level.kind == "data set":
        problem = "are counted for an analyst, or for the custodian's own questions to a population"
        raise InvalidParameter(counted.pop(), level.name, problem)
    if len(content) == len(("level", "reason")):
        raise InvalidParameter("limits", None, "is missing: approval_above, failures or questions")
    transaction.add("limits", content)


def _limit_of_approvals(above: Guarantee | None, unit: Unit) -> dict[str, Json]:
    protected = None if above is None else codec.write(protecting("approval_above", above, unit))
    return {"approval_above": protected}


def _capped(budget: Guarantee | None, approval_above: Guarantee | None, unit: Unit) -> dict[str, Json]:
    return {
        "unit": unit.column,
        "budget": None if budget is None else codec.write(protecting("budget", budget, unit)),
        **_limit_of_approvals(approval_above, unit),
    }


def _add(
    transaction: Transaction,
    kind: str,
    content: dict[str, Json],
    budget: Guarantee | None,
    unit: Unit,
    *,
    above: Mapping[int, Filter] | None = None,
    meter: Meter | None = None,
) -> None:
    filters = dict(above or {})
    if meter is not None and budget is None:
        raise InvalidParameter("meter", meter, "measures shares of a budget, and none is stated", hint="state budget=")
    if budget is not None:
        guard = filter_of(protecting("budget", budget, unit), meter=meter)
        content["filter"] = plain("filter", guard.snapshot())  # what the promise was from the beginning
        filters[transaction.next_number()] = guard
    transaction.add(kind, content, filters)


def _same(
    transaction: Transaction,
    registered: Level | DataSet,
    content: dict[str, Json],
    kind: str,
    ignore: tuple[str, ...] = (),
) -> None:
    """Refuse a second definition that differs from the first, naming what differs."""
    level = registered.level if isinstance(registered, DataSet) else registered
    first: dict[str, Any] = dict(transaction.stored(level.number).content)
    if isinstance(registered, DataSet):
        first["domains"] = registered.domains  # they may have been declared since
    first["budget"] = None if level.budget is None else codec.write(level.budget)  # these may have been changed
    first["approval_above"] = None if level.approval is None else codec.write(level.approval)
    first |= {"failures": level.failures, "questions": level.questions, "meter": meter_fixed_by(level.initial)}
    for field, value in content.items():
        if field not in ignore and canonical(first.get(field)) != canonical(value):
            if field == "domains":
                raise other_domains(level.name, first, value)
            before, now = (
                "single rows" if field == "unit" and stated is None else short(stated)
                for stated in (first.get(field), value)
            )
            raise LedgerMismatch(
                f"the {kind} {level.name!r} is in the ledger with another {field}: {before}, not {now}",
                field=field,
                hint="state it as it was registered; the custodian can change a budget, which is recorded",
            )


def is_same(transaction: Transaction, stored: str | None, fingerprint: str | None) -> bool:
    """Whether a fingerprint in the ledger is that of this content."""
    if stored is None or fingerprint is None:
        return stored is fingerprint
    return stored == transaction.keyed(fingerprint)


def holder(transaction: Transaction, fingerprint: str | None) -> str | None:
    """The data set as which this content was first registered; None if it never was."""
    keyed = None if fingerprint is None else transaction.keyed(fingerprint)
    return None if keyed is None else transaction.state.fingerprints.get(keyed)


def _keyed(transaction: Transaction, fingerprint: str | None) -> str | None:
    return None if fingerprint is None else transaction.keyed(named("fingerprint", fingerprint))


def _same_table(transaction: Transaction, registered: DataSet, name: str, fingerprint: str | None) -> None:
    if fingerprint is not None and not is_same(transaction, registered.versions[-1][1], fingerprint):
        raise LedgerMismatch(
            f"the table is not the one that {name!r} was registered with (version {registered.version!r})",
            hint="a new version says that the data changed",
        )


def _confirmed(transaction: Transaction, name: str, fingerprint: str | None, owner_confirms: str | None) -> str | None:
    """Return the custodian's confirmation; SameTable if it is missing and the table has another name already."""
    if owner_confirms is not None:
        return named("owner_confirms", owner_confirms)
    holder_name = holder(transaction, fingerprint)
    if holder_name is None or holder_name == name:
        return None
    raise SameTable(
        f"the table of {name!r} is registered as {holder_name!r} already: the same people would have two budgets",
        hint="use that name, or pass owner_confirms=, which is recorded",
    )


def _rows_per_person(unit: Unit, above: Level, rows_per_person: int | None) -> int | None:
    if unit == above.unit:
        if rows_per_person is not None:
            raise InvalidParameter(
                "rows_per_person",
                rows_per_person,
                f"is not needed: the data set and its population both protect {unit}",
            )
        return None
    if above.unit == ROW:
        raise LedgerMismatch(
            f"the population {above.name!r} protects {above.unit}, the data set {unit}",
            hint='register the population for people: ledger.population(…, unit="person_id")',
        )
    if rows_per_person is None:
        raise LedgerMismatch(
            f"the data set protects {unit}, but its population {above.name!r} protects {above.unit}",
            hint=f"declare rows_per_person, the most that {above.unit} can have: each charge then counts as a group",
        )
    return whole("rows_per_person", rows_per_person)


def _require_promise(budget: object) -> None:
    if not isinstance(budget, Guarantee):
        raise InvalidParameter("budget", budget, "is not a promise", hint='write, for example, PureDP("1")')


def _same_neighbours(budget: Guarantee | None, above: Level) -> None:
    if budget is not None:
        _require_promise(budget)
    if budget is not None and budget.neighbours != above.neighbours:
        raise LedgerMismatch(
            f"the budget counts neighbours as {budget.neighbours}, its population as {above.neighbours}"
        )


def _unit(value: Unit | str) -> Unit:
    return unit(value) if isinstance(value, str) else checked_unit(value)


@final
@dataclass(frozen=True, slots=True)
class Registered:
    """A table in the ledger: the people it is about, and its version."""

    population: str
    version: str


def people_of(state: State, name: str, population: str | None, new_population: str | None, *, first: str) -> str:
    """Return the population of a table. On a ledger that has people already, the custodian has to name it.

    A table with one row fewer, a renamed column or another name is about the same people, but does not show it.
    """
    if population is not None and new_population is not None:
        raise InvalidParameter(
            "population", population, f"and new_population = {new_population!r} contradict each other"
        )
    registered = state.datasets.get(name)
    chosen = population or new_population
    if registered is not None:
        if chosen not in {None, registered.population}:
            raise LedgerMismatch(
                f"the data set {name!r} is in the ledger with another population: {registered.population!r}, "
                f"not {chosen!r}",
                field="population",
                hint="leave it out, or register the table under another name",
            )
        return registered.population
    registered_populations = {table.population for table in state.datasets.values()}
    if chosen is None:
        if not state.populations or (first in state.populations and first not in registered_populations):
            return first
        raise SameTable(
            f"the ledger knows people already, and {name!r} may be about the same ones",
            hint=(
                f'population="{next(iter(state.populations))}" says that it is; new_population="{first}" is '
                "your word that they are other people"
            ),
        )
    if population is not None and state.populations and population not in state.populations:
        raise NotFound(
            f"the ledger has no population {population!r}",
            hint=(
                f'there are: {", ".join(state.populations)}; new_population="{population}" is your word that these are '
                "other people"
            ),
        )
    if new_population is not None and new_population in registered_populations:
        raise LedgerMismatch(
            f"the population {new_population!r} is in the ledger already",
            hint=f'population="{new_population}" says that they are the same people',
        )
    return chosen


def put(
    transaction: Transaction,
    name: str,
    population: str,
    *,
    fingerprint: str,
    owner_confirms: str | None,
    terms: dict[str, Any],
) -> Registered:
    """Register a table of known people, or check that it is registered so; other content is a new version."""
    registered = transaction.state.datasets.get(name)
    confirmed = owner_confirms or _same_people(transaction, name, population, fingerprint)
    terms = {
        "population_name": population,
        "budget": None if registered is None else registered.level.budget,  # a cap that was set since
        "rows_per_person": None,
        "approval_above": None,
        **terms,
    }
    if registered is None:
        terms |= {"fingerprint": fingerprint, "version": "1", "owner_confirms": confirmed}
        dataset(transaction, name, **terms)
        return Registered(population, "1")
    declared = dataset(  # as before, or refused
        transaction, name, fingerprint=None, version="1", owner_confirms=None, **terms
    )
    if is_same(transaction, registered.versions[-1][1], fingerprint):
        return Registered(population, declared or registered.version)
    version = next_version(registered, *(() if declared is None else (declared,)))
    new_version(transaction, name, version, fingerprint, confirmed)
    return Registered(population, version)


def _same_people(transaction: Transaction, name: str, population: str, fingerprint: str) -> str | None:
    """A note if the same table of the same people has another name; SameTable if it is of other people."""
    holder_name = holder(transaction, fingerprint)
    if holder_name is None or holder_name == name:
        return None
    holder_population = transaction.state.dataset(holder_name).population
    if holder_population == population:
        return f"the same people: {population}"
    raise SameTable(
        f"the table of {name!r} is registered as {holder_name!r} already: the same people would have two budgets",
        hint=f'use that name, or population="{holder_population}", or pass owner_confirms=, which is recorded',
    )
