"""Releases as documents: for programs that read JSON, and as they are stored, for sessions of `gt.connect`.

Guarantee: a document holds what was released, and nothing more. What the ledger keeps under pads between two steps of a
counter or of weights is left out, and so are numbers of entries, which count what others have asked.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from giveortake.answers import Answer, Estimate
from giveortake.errors import QueryRefused
from giveortake.session.kinds.counters import Counter
from giveortake.session.kinds.weights import Weights
from giveortake.session.profiles.profile import Profile
from giveortake.session.releases import release_of
from giveortake.wire.documents import answer_document, profile_document, release_document, reservation_document
from giveortake.workload.results import WorkloadAnswer

if TYPE_CHECKING:
    from giveortake.ledger import Reservation
    from giveortake.session.mechanism import InteractiveMechanism

MOST_LINES = 1_000_000  # of large releases that are sent at once


def released_document(release: Any) -> dict[str, Any]:
    """A release of any kind as JSON: a table as itself, several in a list, a model as `to_json` writes it."""
    match release:
        case list():
            return {
                "release_id": release[0].release_id,
                "answers": [json.loads(answer.to_json()) for answer in release],
            }
        case WorkloadAnswer():
            return answer_document(release)
        case Profile():
            return profile_document(release)
        case Counter() | Weights():
            return {"release_id": release.release_id, "words": repr(release)}
    document: dict[str, Any]
    if isinstance(release, Answer | Estimate) or hasattr(release, "to_json"):
        document = json.loads(release.to_json())
        return {"release_id": release_id_of(release), **document}
    table = release.table if hasattr(release, "table") else None  # of a synthetic table, its rows
    if table is not None:
        return {**json.loads(table.to_json()), "release_id": release.release_id, "notes": list(release.notes)}
    return {name.name: getattr(release, name.name) for name in fields(release)}


def release_id_of(release: Any) -> str | None:
    """The id under which something was released."""
    if isinstance(release, list):
        release = release[0]
    provenance = getattr(release, "provenance_", None) or getattr(release, "provenance", None)
    owner: Any = release if provenance is None else provenance
    release_id: str | None = owner.release_id
    return release_id


def table_of(release: Any) -> Answer:
    """A release as one table, for formats that hold one."""
    match release:
        case Answer():
            return release
        case WorkloadAnswer():
            return release.stacked()
        case Counter() | Weights():
            return release.answers()
    table = getattr(release, "table", None)
    if not isinstance(table, Answer):
        raise QueryRefused("this release is not one table", hint="format=json, or name one of its tables by place=")
    return table


def stored_document(
    mechanism: InteractiveMechanism, release_id: str, reservation: Reservation | None = None
) -> dict[str, Any]:
    """A release as it is stored, with what is needed to read it: its record, and profiles that tell of its caps."""
    record = release_of(mechanism, release_id)
    now = mechanism.ledger.release(release_id, analyst=mechanism.analyst)
    kept = now if reservation is None else reservation  # of what was bought just now, who was charged
    reservation = replace(kept, settled=now.settled, answer=now.answer)
    steps = [] if reservation.settled else mechanism.ledger.kept(reservation)
    files: dict[str, list[Any]] = {}
    answer = reservation.answer
    for part in answer.get("parts", [answer]) if isinstance(answer, dict) else ():
        if "spool" in part:
            files[part["spool"]["file"]] = _lines(mechanism, part["spool"])
    return {
        "release": release_document(record),
        "reservation": reservation_document(reservation),
        "steps": [{name: content for name, content in step.items() if name != "under_pad"} for step in steps],
        "files": files,
        "profiles": stored_profiles(mechanism, reservation.number),
        "version": mechanism.version,
    }


def stored_profiles(mechanism: InteractiveMechanism, before: int | None = None) -> list[Any]:
    """The profiles that the asker's levels paid for, as they are stored."""
    scope: Any = {"version": mechanism.version, "analyst": mechanism.analyst, "before": before}
    return [list(profile) for profile in mechanism.ledger.profiles(mechanism.dataset, **scope)]


def _lines(mechanism: InteractiveMechanism, entry: Any) -> list[Any]:
    if entry["lines"] > MOST_LINES:
        raise QueryRefused("this release is too large to be sent at once", hint="q.stream(…) reads it in parts")
    return list(mechanism.spool.read(entry))
