"""Profiles as documents and back: the noisy counts and, for people, what is computed from them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.session.profiles.histograms import dimensions_of
from giveortake.session.profiles.profile import Profile

if TYPE_CHECKING:
    from giveortake.plan import Relation


def profile_document(profile: Profile) -> dict[str, Any]:
    """A profile as a document: what was released, and what is computed from it."""
    of_persons = profile.rows is not None
    return {
        "table": profile.table,
        "by": list(profile.by),
        "columns": list(profile.columns),
        "most_rows": profile.most_rows,
        "epsilon": str(profile.epsilon),
        "release_id": profile.release_id,
        "notes": list(profile.notes),
        "counts": [list(each) for each in profile.counts],
        "noise_scale": profile.noise_scale,
        "caps": profile.caps(),
        "bounds": {name: list(ends) for name, ends in profile.bounds.items()},
        "persons": list(profile.persons()) if of_persons else None,
        "lines": [_finite(line) for line in profile.lines()] if of_persons else [],
        "words": str(profile),
    }


def profile_of(document: dict[str, Any], relation: Relation) -> Profile:
    """The profile in a document, equal to the released one."""
    by, columns, most = document["by"], document["columns"], document["most_rows"]
    return Profile(
        document["table"],
        tuple(by),
        tuple(columns),
        most,
        Fraction(document["epsilon"]),
        document["release_id"],
        tuple(document["notes"]),
        dimensions_of(relation, by, columns, most),
        tuple(tuple(each) for each in document["counts"]),
        document["noise_scale"],
    )


def _finite(line: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in line.items()}
