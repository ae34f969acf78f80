"""Fitted models: released numbers, and what is computed from them. They are public, and hold nothing of rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, final

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee


class Model(Protocol):
    """What a task makes. It is written as JSON, and read again."""

    def to_dict(self) -> dict[str, Any]:
        """Lists, numbers and texts."""


@final
@dataclass(frozen=True, slots=True)
class Provenance:
    """How a model came to be: for its card."""

    learner: str
    words: str
    guarantee: Guarantee
    spend: str
    unit: str
    rows: int  # how many rows' worth of a unit count
    passes: tuple[tuple[str, str, float], ...]  # name, share of μ², μ
    release_id: str
    notes: tuple[str, ...] = field(default=())


def written(content: dict[str, Any]) -> str:
    """JSON without NaN, with keys in order."""
    return json.dumps(content, sort_keys=True, allow_nan=False)
