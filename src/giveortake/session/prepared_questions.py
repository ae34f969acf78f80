"""What is kept of questions between two quotes: how texts were read, and what no amount decides about their price.

Both are functions of the question, the schema and the caps alone. What is kept belongs to one asker, so that nobody can
tell by the time of a quote what somebody else has asked.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from giveortake.compile import Caps, Rules
    from giveortake.compile.measurement import Prepared
    from giveortake.plan import Question
    from giveortake.session.kept_readings import KeptReadings
    from giveortake.sql import Read

_MOST = 256  # of each
_Kept = TypeVar("_Kept")


@final
class Remembered(Generic[_Kept]):
    """The last few results, by what they were made of. Threads may share it."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], _Kept]) -> _Kept:
        """What is kept, or what is made now. What fails is not kept."""
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
    """A question with caps, prepared; it holds the very question, so that no other is taken for it."""

    question: Question
    prepared: Prepared
    is_runnable: bool = False  # whether an engine has said that it runs what is asked at known keys


@final
class PreparedQuestions:
    """Questions that were read and prepared for one asker; with `kept`, those that were read by earlier calls too."""

    def __init__(self, kept: KeptReadings | None = None) -> None:
        self._kept = kept
        self._read: Remembered[Read] = Remembered()
        self._prepared: Remembered[PreparedQuestion] = Remembered()

    def read(self, text: str, read: Callable[[], Read]) -> Read:
        """How a text is read."""
        if not isinstance(text, str):
            return read()  # which refuses it
        kept = self._kept
        return self._read.get(text, read if kept is None else lambda: kept.read(text, read))

    def prepared(
        self, question: Question, caps: Caps, rules: Rules, prepare: Callable[[], Prepared], *, pure: bool
    ) -> PreparedQuestion:
        """What no amount decides about a question's price.

        It is found by the identity of the question, which cannot be another's as long as it is held here.
        """
        key = (id(question), repr(caps), rules, pure)
        return self._prepared.get(key, lambda: PreparedQuestion(question, prepare()))
