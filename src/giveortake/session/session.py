"""A session: the interactive mechanism. Every question is priced, charged durably, and only then asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, final

from giveortake import frame, sql
from giveortake.compile import composed, spend_of
from giveortake.errors import InvalidParameter, LedgerUnavailable
from giveortake.exact import shown
from giveortake.plan import Catalog, PublicTable, Scan
from giveortake.privacy import ApproxDP
from giveortake.privacy.events import InPart
from giveortake.session import answering
from giveortake.session.batches import shared
from giveortake.session.bounds import Suggestion, checked, suggested
from giveortake.session.partitions import Part, Partition
from giveortake.session.query import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction
    from types import TracebackType

    from giveortake.answers import Answer
    from giveortake.compile import Caps, Measurement
    from giveortake.engines import Engine
    from giveortake.exact import Number
    from giveortake.ledger import Entry, Ledger, Standing
    from giveortake.plan import PrivateTable, Question, Relation
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.spooling import Spool


@final
class Session:
    """Tables behind a budget; made by `gt.protect`.

    Guarantee (interactive mechanisms, seed 001): an analyst may choose every question after seeing all earlier answers.
    Each is charged to the ledger, at every level, before a row is read; what the ledger refuses is not asked. So all
    answers together keep the budget of the population.
    """

    def __init__(
        self,
        *,
        engine: Engine,
        book: Ledger,
        owns_book: bool,
        durable: bool,
        name: str,
        population: str,
        version: str,
        budget: Guarantee,
        private: Mapping[str, PrivateTable],
        public: Mapping[str, PublicTable],
        caps: Caps,
        analyst: str | None,
        spool: Spool,
        part: Part | None = None,
    ) -> None:
        self.engine = engine
        self.book = book
        self.name = name
        self.population = population
        self.version = version
        self.budget = budget
        self.caps = caps
        self.analyst = analyst
        self.durable = durable
        self.spool = spool
        self._owns_book = owns_book
        self._private = private
        self._public = public
        self._part = part
        relations: dict[str, Relation] = {each.name: Scan(each, caps.total) for each in private.values()}
        if part is not None:
            relations = {name: part.of(relation) for name, relation in relations.items()}
        self.catalog = Catalog(relations, public)

    # -- asking -------------------------------------------------------------------------------------------------

    def sql(self, text: str) -> Query:
        """A question in SQL; refused here, at no cost, if it cannot be answered."""
        read = sql.read(text, self.catalog)
        return Query(self, read.question, read.options)

    def table(self, name: str | None = None) -> frame.Table:
        """A question in Python, starting from a table; the only one if no name is given."""
        found = self.catalog.find(self._named(name))
        if isinstance(found, PublicTable):
            raise InvalidParameter("table", name, "is public: nothing protects it", hint="join it to a private one")
        return frame.Table(found, self.catalog, self._ask)

    def _ask(self, question: Question) -> Query:
        return Query(self, question, {})

    def _named(self, name: str | None) -> str:
        if name is not None:
            return name
        if len(self._private) == 1:
            return next(iter(self._private))
        raise InvalidParameter("table", None, "is not named, and there are several", hint=", ".join(self._private))

    def batch(
        self,
        queries: Sequence[Query | str],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
        key_delta: Number | None = None,
        confidence: Number = "0.95",
        key: str | None = None,
    ) -> list[Answer]:
        """Answers to questions, in SQL or made before, that are declared together: one charge for the whole batch."""
        spend = spend_of(epsilon, delta, rho, mu, key_delta)
        asked = [self.sql(query) if isinstance(query, str) else query for query in queries]
        return answering.answers(self, shared(self, asked, spend), confidence, key)

    def partition(self, column: str, *, parts_per_person: int = 1) -> Partition:
        """Disjoint parts of the data, one for each declared value of a column: together they cost the dearest.

        A person who has rows in more than `parts_per_person` parts keeps those of as many, chosen by a hash; all
        parts then cost together what that many of the dearest do. The order of questions does not matter.
        """
        return Partition(self, column, parts_per_person)

    def suggest_bounds(
        self, *, epsilon: Number, by: Sequence[str] = (), columns: Sequence[str] = (), share: Number = "0.95"
    ) -> Suggestion:
        """Caps and bounds that leave most people as they are, found privately: this costs ε.

        Every person falls into one bin of powers of two, so that nothing has to be bounded first. `by` are the
        columns that questions will group by, `columns` numbers whose bounds are wanted.
        """
        return suggested(self, epsilon, by, columns, share)

    def check_bounds(self, *, epsilon: Number, by: Sequence[str] = (), columns: Sequence[str] = ()) -> Answer:
        """How many people the caps and bounds cut something off, at the cost of ε."""
        return checked(self, epsilon, by, columns)

    # -- parts --------------------------------------------------------------------------------------------------

    def part_name(self) -> str | None:
        """Which part this session sees, if it sees but one."""
        return None if self._part is None else self._part.name

    def left_out(self) -> str | None:
        """What a part leaves out of the people who have rows in several, in words."""
        if self._part is None or self._part.keep is None:
            return None
        return f"each person counts in {self._part.keep} of the parts; parts_per_person= keeps more, at a higher price"

    def charged(self, asked: Sequence[Measurement]) -> Event:
        """What is charged for these measurements together."""
        whole = composed([each.event for each in asked])
        if self._part is None:
            return whole
        added = composed([each.event_if_added() for each in asked])
        return InPart(whole, added, self._part.partition, self._part.number, self._part.touched)

    def within(self, part: Part) -> Session:
        """This session, seeing one part of the data."""
        if self._part is not None:
            raise InvalidParameter("partition", part.name, "is inside a part already", hint="partition the whole table")
        return Session(
            engine=self.engine,
            book=self.book,
            owns_book=False,
            durable=self.durable,
            name=self.name,
            population=self.population,
            version=self.version,
            budget=self.budget,
            private=self._private,
            public=self._public,
            caps=self.caps,
            analyst=self.analyst,
            spool=self.spool,
            part=part,
        )

    # -- the budget ---------------------------------------------------------------------------------------------

    @property
    def spent(self) -> Any:
        """How much of the population's budget is used, by the filter that guards it."""
        return self.standing().spent

    @property
    def remaining(self) -> Any:
        """How much of the population's budget is left."""
        return self.standing().remaining

    @property
    def affordable(self) -> Fraction | None:
        """The greatest pure ε, up to rounding, that would be admitted now."""
        return self.book.affordable(self.standing())

    def admits(self, event: Event) -> bool:
        """Whether every level would admit an event now."""
        return self.book.admits(event, dataset=self.name, analyst=self.analyst)

    def history(self) -> list[Entry]:
        """What the ledger says about these people, in order, without fingerprints of the data and what is made of them.

        The custodian reads everything in `session.book.history()`.
        """
        return [
            replace(entry, content=_without_fingerprint(entry.content), body="", hash="", previous="")
            for entry in self.book.history()
        ]

    def standing(self) -> Standing:
        """The population's level in the ledger, as it is now."""
        for level in self.book.levels():
            if level.kind == "population" and level.name == self.population:
                return level
        raise InvalidParameter("population", self.population, "is not in the ledger")

    @property
    def key_pot(self) -> Fraction | None:
        """The δ set aside for finding keys, if the budget has one."""
        return self.budget.delta / 10 if isinstance(self.budget, ApproxDP) else None

    # -- opening and closing ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the tables, and of the ledger if it was opened here."""
        self.engine.close()
        self.spool.close()
        if self._owns_book:
            self.book.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        lines = [f"<Session {self.name}: {self.budget!r}"]
        lines.extend(
            f"  {table.name}({', '.join(column for column, _ in table.columns)})" for table in self._private.values()
        )
        lines.extend(f"  {table.name}, public" for table in self._public.values())
        if self.budget.unit.column is not None:
            lines.append(f"  {self.caps}{'' if self.caps.stated else ' (the default; see suggest_bounds)'}")
        try:
            standing, left = self.standing(), self.affordable
        except LedgerUnavailable:
            return "\n".join([*lines, "  its ledger is closed"]) + ">"
        if standing.share is not None and left is not None:
            used = shown(100 * standing.share, 3)
            lines.append(f"  {used} % of the budget is used; a pure ε of up to {shown(left, 3)} is left")
        if not self.durable:
            lines.append("  the ledger is in memory: what was spent is forgotten with the session")
        return "\n".join(lines) + ">"


def _without_fingerprint(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in content.items() if name != "fingerprint"}
