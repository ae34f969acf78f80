"""A cache of questions between two quotes: parsed texts, and the part of their pricing that no amount affects.

Both are functions of the question, the schema and the caps alone. Each asker has a cache, so that the time of a quote
does not reveal what others have asked.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from giveortake.compile import Caps
    from giveortake.compile.measurement import Prepared
    from giveortake.plan import Question
    from giveortake.session.kept_readings import KeptReadings
    from giveortake.sql import Read

_MOST = 256  # entries of each cache
_Kept = TypeVar("_Kept")


@final
class Remembered(Generic[_Kept]):
    """A cache of the most recently used results. Threads may share it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], _Kept]) -> _Kept:
        """The cached result for a key, or the result of `make`, which is cached unless it raises."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


@final
@dataclass(slots=True, eq=False)
class PreparedQuestion:
    """A question prepared for given caps. It holds the question object, so that its id stays unique."""

    question: Question
    prepared: Prepared
    is_runnable: bool = False  # whether the engine has accepted it, at known keys


@final
class PreparedQuestions:
    """A cache of parsed and prepared questions for one asker; `kept` adds a cache of parsed texts on disk."""

    def __init__(self, kept: KeptReadings | None = None) -> None:
        self._kept = kept
        self._read: Remembered[Read] = Remembered()
        self._prepared: Remembered[PreparedQuestion] = Remembered()

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """The reading of a text, from a cache or by `read`."""
        if not isinstance(text, str):
            return read()  # which refuses it
        kept = self._kept
        return self._read.get(text, read if kept is None else lambda: kept.read(text, read))

    def prepared(
        self, question: Question, caps: Caps, prepare: Callable[[], Prepared], *, pure: bool
    ) -> PreparedQuestion:
        """The part of a question's pricing that no amount affects, cached.

        It is found by the id of the question object, which stays unique while the cache holds that object.
        """
        key = (id(question), repr(caps), pure)
        return self._prepared.get(key, lambda: PreparedQuestion(question, prepare()))
