"""Registering a table: which people it is about, and which version of it this is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.advice import Advice
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, SameTable
from giveortake.ledger import registration

if TYPE_CHECKING:
    from giveortake.ledger.book import Book
    from giveortake.ledger.drafts import Draft


@final
@dataclass(frozen=True, slots=True)
class Registered:
    """A table in the ledger: the people it is about, and its version."""

    population: str
    version: str


def people_of(book: Book, name: str, population: str | None, new_population: str | None, *, first: str) -> str:
    """Return the population of a table. On a ledger that has people already, the custodian has to name it.

    A table with one row fewer, a renamed column or another name is about the same people, but does not show it.
    """
    if population is not None and new_population is not None:
        raise InvalidParameter(
            "population", population, f"and new_population = {new_population!r} contradict each other"
        )
    known = book.datasets.get(name)
    said = population or new_population
    if known is not None:
        if said not in {None, known.population}:
            raise LedgerMismatch(
                f"the data set {name!r} is in the ledger with another population: {known.population!r}, not {said!r}",
                hint="leave it out, or register the table under another name",
            )
        return known.population
    held = {each.population for each in book.datasets.values()}
    if said is None:
        if not book.populations or (first in book.populations and first not in held):
            return first
        raise SameTable(
            f"the ledger knows people already, and {name!r} may be about the same ones",
            hint=Advice(
                "{population} says that it is; {new_population} is your word that they are other people",
                "{people}",
                between="; ",
                population=next(iter(book.populations)),
                new_population=first,
            ),
        )
    if population is not None and book.populations and population not in book.populations:
        raise NotFound(
            f"the ledger has no population {population!r}",
            hint=Advice(
                "there are: {known}",
                "{new_population} is your word that these are other people",
                between="; ",
                known=", ".join(book.populations),
                new_population=population,
            ),
        )
    if new_population is not None and new_population in held:
        raise LedgerMismatch(
            f"the population {new_population!r} is in the ledger already",
            hint=Advice("{population} says that they are the same people", "{people}", population=new_population),
        )
    return said


def put(
    draft: Draft, name: str, population: str, *, fingerprint: str, owner_confirms: str | None, said: dict[str, Any]
) -> Registered:
    """Register a table of known people, or check that it is registered so; other content is a new version."""
    known = draft.book.datasets.get(name)
    confirmed = owner_confirms or _same_people(draft, name, population, fingerprint)
    said = {
        "population_name": population,
        "budget": None,
        "rows_per_person": None,
        "approval_above": None,
        **said,
    }
    if known is None:
        said |= {"fingerprint": fingerprint, "version": "1", "owner_confirms": confirmed}
        registration.dataset(draft, name, **said)
        return Registered(population, "1")
    declared = registration.dataset(  # as before, or refused
        draft, name, fingerprint=None, version="1", owner_confirms=None, **said
    )
    if registration.is_same(draft, known.versions[-1][1], fingerprint):
        return Registered(population, declared or known.version)
    version = registration.next_version(known, *(() if declared is None else (declared,)))
    registration.new_version(draft, name, version, fingerprint, confirmed)
    return Registered(population, version)


def _same_people(draft: Draft, name: str, population: str, fingerprint: str) -> str | None:
    """A note if the same table of the same people has another name; SameTable if it is of other people."""
    other = registration.holder(draft, fingerprint)
    if other is None or other == name:
        return None
    theirs = draft.book.dataset(other).population
    if theirs == population:
        return f"the same people: {population}"
    raise SameTable(
        f"the table of {name!r} is registered as {other!r} already: the same people would have two budgets",
        hint=Advice("use that name", "{population}", "{people}", "{confirm}", population=theirs),
    )
