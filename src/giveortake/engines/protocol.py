"""The protocols of engines, and of the backends that packages register to open them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from giveortake.engines.public_tables import PublicContent
    from giveortake.engines.questions import Asked, Bins, Distinct, Persons, Tally
    from giveortake.engines.vector_sums import VectorSum
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.plan import Domain, Kind, Relation, Value

FoundUnits: TypeAlias = "tuple[list[tuple[Value, ...]], BoundedIntegers]"


@final
@dataclass(frozen=True, slots=True)
class Source:
    """A table as an engine sees it: its columns with what their types say, and a fingerprint of its content.

    `unasked` lists the columns of types that cannot be asked about, and these types; `loose` those in which the server
    takes texts of several spellings for one.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    fingerprint: str
    unasked: tuple[tuple[str, str], ...] = ()
    loose: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine may use, where it can be limited: memory and threads of this process, seconds of a question.

    `cache` is a folder for copies of what takes long to load, if there may be any.
    """

    memory: str
    threads: int | None
    seconds: float | None
    cache: Path | None = None


class Engine(Protocol):
    """Executes questions where the data is. Nothing but integers, and keys that are to be selected, comes back.

    Integers come as arrays with one row for each key in the order of `Keys`, all of them, zeros included, with the
    bound that the question states (`most`). They do not depend on the order of rows, the number of threads or the
    engine, and neither does how long they take to be computed with. What an engine knows of private tables leaves it
    wrapped in `Sensitive`, or not at all.
    """

    @property
    def identity(self) -> str:
        """The engine and its version: another one may choose, by hash, other parts of a person."""

    @property
    def has_witnesses(self) -> bool:
        """Whether anybody but this process sees the texts of statements: a server's monitors and logs, Spark's pages.

        Whoever watches may not be allowed to read rows. So no text that is seen holds anything that rows decided.
        """

    # -- tables -------------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Register a private table. `kinds` says what untyped cells are read as; `table` names one of several."""

    def add_public(self, name: str, source: object) -> PublicContent:
        """Register a table that everybody may know, and return what is in it."""

    def prepare(self, relations: Iterable[Relation]) -> None:
        """Make beforehand what every question about these relations needs, outside the time of any question."""

    def lock(self) -> None:
        """Make everything but the registered tables unreachable from now on."""

    def unchanged(self) -> bool:
        """Whether the data is still what it was when it was registered, as far as can be told without reading it."""

    def hold_to_content(self) -> None:
        """From now on answer questions from exactly the content that was registered, or fail.

        Parts and counters need it: in one version, a person is in no more parts than declared, and once in a count.
        """

    def close(self) -> None:
        """Close the engine, and release the data."""

    # -- questions ----------------------------------------------------------------------------------------------

    def require_runnable(self, asked: Iterable[Asked]) -> None:
        """Refuse what this engine could not run, by what the questions say alone: no row is looked at.

        It is asked before anything is charged. Keys that are still to be found have no values yet.
        """

    def tally(self, tally: Tally) -> Sensitive[list[BoundedIntegers]]:
        """The sums of all groups: one array for each summand."""

    def bins(self, bins: Bins) -> Sensitive[BoundedIntegers]:
        """The counts of all groups and bins: an array of keys × bins."""

    def distinct(self, distinct: Distinct) -> Sensitive[BoundedIntegers]:
        """The number of distinct values for each key."""

    def persons(self, persons: Persons) -> Iterator[Sensitive[FoundUnits]]:
        """Yield the keys that occur and the number of units of each: some at a time, each once, in any order."""

    def vectors(self, asked: VectorSum, *, remember: bool = True) -> Sensitive[BoundedIntegers]:
        """The sum of vectors: an array of all cells, in their order.

        Without `remember` the statement is executed, whatever was asked before, and not kept for the next time: where
        a question depends on rows, what an engine remembers of it would, too.
        """

    def in_parts(self, asked: Tally | Bins | Distinct, size: int) -> Iterator[Sensitive[Any]]:
        """The result of `tally`, `bins` or `distinct` for `size` keys at a time, in the order of the keys."""


@runtime_checkable
class HandsOverRows(Protocol):
    """An engine in this process, which can hand rows to code that the custodian trusts. No other engine has to."""

    def rows_of_units(self, asked: VectorSum) -> Sensitive[list[list[list[int]]]]:
        """The values of every row of each unit, in steps; nothing is cut, named or remembered."""


class Backend(Protocol):
    """What a package registers: which sources are its own, and how an engine that asks them is opened."""

    @property
    def name(self) -> str:
        """The name of the place where such tables are."""

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes of its addresses, without ://."""

    def claims(self, source: object) -> bool:
        """Whether a source that is no address is a table of this engine. Nothing heavy is imported to tell."""

    def open(self, source: object, limits: Limits) -> Engine:
        """An engine for a source, without any table yet."""
