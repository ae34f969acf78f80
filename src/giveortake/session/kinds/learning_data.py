"""The interface between learners and a session: a relation, its mechanism, and runs of sums of vectors over it."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

from giveortake import frame
from giveortake.caching import serving
from giveortake.engines import HandsOverRows, Sample
from giveortake.engines.questions import SAMPLED_OF
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan import Aggregate, AggregateKind, Measured, Question
from giveortake.session.kinds.runs import AdaptiveRun, Run
from giveortake.session.profiles.best_caps import paid_profiles, profiled_table
from giveortake.session.session import Session, mechanism_of, mechanism_of_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from giveortake.compile import Spend
    from giveortake.engines import VectorSum
    from giveortake.plan import Domain, Relation
    from giveortake.privacy import Guarantee, events
    from giveortake.session.mechanism import InteractiveMechanism
    from giveortake.session.profiles.profile import Profile


__all__ = ["AdaptiveRun", "LearningData", "Run", "served_to_asker"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
SPLIT = "held out "  # salt of the hash that holds persons out
_MISS = 0.05  # probability that a bound of a profile misses
_COUNT = Measured(Aggregate(AggregateKind.COUNT_ROWS))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LearningData:
    """The rows of one relation of a session, to learn from. Its attributes are public: the schema and the promise.

    It is made from a session, for its only table or a named one, or from a frame with its filters and derived columns.
    """

    mechanism: InteractiveMechanism
    relation: Relation
    persons: Sample | None = None  # a public part of the persons; None for all

    @classmethod
    def of(cls, source: Session | frame.Table | LearningData, table: str | None = None) -> LearningData:
        """The learning data of a session, or of a table of one."""
        if isinstance(source, LearningData):
            return source
        if isinstance(source, Session):
            source_table = source.table(table)
            return cls(mechanism_of(source), source_table.relation)
        if not isinstance(source, frame.Table):
            raise InvalidParameter(
                "session",
                type(source).__name__,
                "is neither a session nor one of its tables",
                hint="fit(s), or fit(s.table(…)): rows are reached only through a session",
            )
        question = Question(source.relation, (), (("n", _COUNT),))
        return cls(mechanism_of_query(source.ask(question)), source.relation)

    def serving(self) -> AbstractContextManager[None]:
        """Use the cache of whoever asks, until the block ends."""
        return serving(self.mechanism.cache)

    def split(self, held_out: Fraction) -> tuple[LearningData, LearningData]:
        """Split the persons into those to learn from and those held out, by a public hash of their names.

        The split never changes. A person is in one part with all rows, so that sums over either keep their sensitivity.
        """
        if self.relation.person is None:
            raise QueryRefused(
                "rows have no ids, so none can be held out",
                hint='protect the table with unit="id", a column that names each row, and rows_per_person=1',
            )
        sample = Sample(SPLIT, int(held_out * SAMPLED_OF))
        return replace(self, persons=replace(sample, others=True)), replace(self, persons=sample)

    @property
    def schema(self) -> dict[str, Domain]:
        """The columns that may be learned from, and their domains."""
        return {name: domain for name, domain in self.relation.schema.items() if name != self.relation.person}

    @property
    def budget(self) -> Guarantee:
        """The promise that all answers together keep."""
        return self.mechanism.budget

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.mechanism.dataset

    def rows_about(self) -> float | None:
        """An estimate of the number of rows, by a profile that the asker's own levels paid for; None without one."""
        sizes = [profile.rows for profile in self._profiles() if profile.rows is not None]
        return sizes[0].left_estimates(_MISS)[1] if sizes else None

    def rows_at_least(self, confidence: Fraction) -> int | None:
        """A lower bound of the number of rows, by a profile that the asker's own levels paid for; None without one.

        It is the lower bound of the number of persons: each has a row, if nothing was left out of the table.
        """
        profiles = [profile for profile in self._profiles() if profile.rows is not None]
        return max((math.floor(profile.persons(confidence)[0]) for profile in profiles[:1]), default=None)

    def _profiles(self) -> list[Profile]:
        """The paid profiles of the table, newest first; none if the relation is not the whole table."""
        table, changed = profiled_table(self.relation)
        return [] if table is None or changed else paid_profiles(self.mechanism, table)

    def request(self, sums: Iterable[VectorSum], spend: Spend, identity: dict[str, Any], words: str) -> Run:
        """A run of sums of vectors that costs a spend in all; sums that the session or engine cannot run are refused.

        `sums` are those that are known beforehand. `identity` names the run: everything that decides what it measures.
        """
        for vector_sum in sums:
            self.require(vector_sum)
        if self.persons is None:
            return Run.of_vectors(self.mechanism, self.relation, spend, identity, words)
        part = {"persons": [self.persons.salt, self.persons.below, self.persons.others]}
        return replace(
            Run.of_vectors(self.mechanism, self.relation, spend, identity | part, words), persons=self.persons
        )

    def sample_request(self, spend: Spend, declared: events.Repeated, *, identity: dict[str, Any], words: str) -> Run:
        """A run of a declared number of sums over samples of persons."""
        if self.persons is not None:
            raise QueryRefused("a sample of the people cannot be sampled again", hint="fit it to all people")
        return Run.of_samples(self.mechanism, self.relation, spend, declared, identity=identity, words=words)

    def require_trusted(self, function_name: str) -> None:
        """Refuse trusted code that this session does not have, and an engine that cannot give rows to it."""
        if function_name not in self.mechanism.trusted:
            raise InvalidParameter(
                "loss",
                function_name,
                "is not code that this session trusts",
                hint="the custodian registers it: gt.protect(…, trusted={…}); sessions of analysts have none",
            )
        if not isinstance(self.mechanism.engine, HandsOverRows):
            raise QueryRefused(
                "only an engine in this process hands rows to trusted code",
                hint="protect a copy of the table in DuckDB, or take a loss that is an expression",
            )

    def require_unwitnessed(self, why: str) -> None:
        """Refuse an engine whose statements others can read, for statements whose text depends on rows."""
        if self.mechanism.engine.has_witnesses:
            raise QueryRefused(
                f"{why}, which logs and monitors of this engine show", hint="protect a copy of the table in DuckDB"
            )

    def require(self, vector_sum: VectorSum) -> None:
        """Refuse a sum that is not about this session's own tables, or that its engine could not run."""
        keys = tuple((f"k{index}", column.expression) for index, column in enumerate(vector_sum.columns))
        sums = [Measured(Aggregate(AggregateKind.SUM, value.expression)) for value in vector_sum.values]
        outputs = (("n", _COUNT), *((f"v{index}", measured) for index, measured in enumerate(sums)))
        self.mechanism.origin.require(Question(vector_sum.relation, keys, outputs))
        self.mechanism.engine.require_runnable([vector_sum])


def served_to_asker(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Let a function whose first argument is a session, or a table of one, use the cache of whoever asks."""
    first = next(iter(inspect.signature(function).parameters))

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        source: Any = args[0] if args else kwargs.get(first)
        mechanism = mechanism_of(source) if isinstance(source, Session) else LearningData.of(source).mechanism
        with serving(mechanism.cache):
            return function(*args, **kwargs)

    return call
