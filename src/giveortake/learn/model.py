"""Fitted models: released numbers and what is computed from them. They are public, and hold nothing of rows."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import InvalidParameter
from giveortake.privacy.documents import promise_from_json, promise_to_json

if TYPE_CHECKING:
    from typing import Self

    from giveortake.privacy import Guarantee

FORMAT = 1


class Model(ABC):
    """What a task learns: numbers that were released, and features as they were declared."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The model as lists, numbers and texts, which `from_dict` reads."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote."""


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a fit: its name, its part of μ², and its own μ."""

    name: str
    share: str
    mu: float


@final
@dataclass(frozen=True, slots=True)
class Provenance:
    """How a model came to be."""

    learner: str
    words: str
    guarantee: Guarantee
    spend: str
    rows: int  # how many rows' worth of a unit count; 0 where something else bounds a unit, which the notes say
    passes: tuple[Pass, ...]
    release_id: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All fields as lists, numbers and texts."""
        return {
            "learner": self.learner,
            "words": self.words,
            "guarantee": promise_to_json(self.guarantee),
            "spend": self.spend,
            "rows": self.rows,
            "passes": [[each.name, each.share, each.mu] for each in self.passes],
            "release_id": self.release_id,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Provenance:
        """Read what `to_dict` wrote."""
        return cls(
            content["learner"],
            content["words"],
            promise_from_json(content["guarantee"]),
            content["spend"],
            content["rows"],
            tuple(Pass(*each) for each in content["passes"]),
            content["release_id"],
            tuple(content["notes"]),
        )


def written(learner: str, parameters: dict[str, Any], model: dict[str, Any], provenance: Provenance) -> str:
    """A fitted learner as JSON."""
    content = {
        "format": FORMAT,
        "learner": learner,
        "parameters": parameters,
        "model": model,
        "provenance": provenance.to_dict(),
    }
    return json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=False)


def read(text: str, learner: str) -> dict[str, Any]:
    """Read what `written` wrote of this kind of learner."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError):
        raise InvalidParameter("text", str(text)[:40], "is not JSON") from None
    if not isinstance(content, dict) or content.get("learner") != learner:
        found = content.get("learner") if isinstance(content, dict) else None
        raise InvalidParameter("text", found, f"is not a {learner}", hint="read it with the class that wrote it")
    if content.get("format") != FORMAT:
        raise InvalidParameter("text", content.get("format"), "is of another format", hint="upgrade giveortake")
    return content
