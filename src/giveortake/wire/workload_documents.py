"""Workloads as documents and back, and their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.workload.workload import TableWish, Workload, ranges, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.session import Session
    from giveortake.session.workloads import WorkloadQuery
    from giveortake.workload.results import WorkloadAnswer


def workload_document(workload: Workload | str) -> dict[str, Any]:
    """A workload as a document."""
    if isinstance(workload, str):
        return {"sql": workload}
    return {
        "tables": [{"columns": list(each.columns), "weight": each.weight, "of": each.of} for each in workload.tables],
        "ranges": [
            {"column": each.column, "by": list(each.by), "bins": each.bins, "weight": each.weight}
            for each in workload.ranges
        ],
    }


def asked(session: Session, document: Mapping[str, Any]) -> WorkloadQuery:
    """The workload in a document, as a question to a session; it is checked like one written in Python."""
    workload: Workload | str = document["sql"] if "sql" in document else _workload(document)
    return session.workload(
        workload, table=document.get("table"), minimise=document.get("minimise", "rms"), norm=document.get("norm")
    )


def _workload(document: Mapping[str, Any]) -> Workload:
    parts = [_table(each) for each in document.get("tables", ())]
    parts += [
        ranges(each["column"], by=each.get("by"), bins=each.get("bins"), weight=each.get("weight", 1))
        for each in document.get("ranges", ())
    ]
    if not parts:
        raise InvalidParameter("workload", {}, "asks for no table", hint='{"tables": [{"columns": ["region"]}]}')
    return sum(parts[1:], parts[0])


def _table(said: Mapping[str, Any]) -> Workload:
    columns = tuple(said["columns"])
    (checked,) = total(of=said.get("of"), weight=said.get("weight", 1)).tables
    if len(set(columns)) < len(columns):
        raise InvalidParameter("columns", list(columns), "lists a column twice")
    return Workload((TableWish(columns, checked.weight, checked.of),))


def answer_document(answer: WorkloadAnswer) -> dict[str, Any]:
    """The answer to a workload as a document: each table is an answer, with the names of its columns."""
    return {
        "release_id": answer.release_id,
        "notes": list(answer.notes),
        "stacking": answer.stacking,
        "tables": [{"columns": list(names), "answer": json.loads(answer[names].to_json())} for names in answer.tables],
    }
