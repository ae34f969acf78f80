"""A session: the interactive mechanism. Every question is priced, charged durably, and only then asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

from giveortake import frame, sql
from giveortake.errors import InvalidParameter
from giveortake.plan import Catalog, PublicTable, Scan
from giveortake.privacy import ApproxDP
from giveortake.session.query import Query

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from types import TracebackType

    from giveortake.compile import Caps
    from giveortake.engines import Engine
    from giveortake.ledger import Entry, Ledger, Standing
    from giveortake.plan import PrivateTable, Question, Relation
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


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
        self._owns_book = owns_book
        self._private = private
        self._public = public
        scans: dict[str, Relation] = {each.name: Scan(each, caps.total) for each in private.values()}
        self.catalog = Catalog(scans, public)

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
        """What the ledger says about these people, in order."""
        return self.book.history()

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
        for table in self._private.values():
            lines.append(f"  {table.name}({', '.join(column for column, _ in table.columns)})")
        lines.extend(f"  {table.name}, public" for table in self._public.values())
        if self.budget.unit.column is not None:
            lines.append(f"  {self.caps}{'' if self.caps.stated else ' (the default; see suggest_bounds)'}")
        if not self.durable:
            lines.append("  the ledger is in memory: what was spent is forgotten with the session")
        return "\n".join(lines) + ">"
