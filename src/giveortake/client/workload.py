"""Workloads that a service answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Unpack, final

from giveortake.answers import Answer, codec
from giveortake.answers.terms import Caps, Confidence, LeftOut
from giveortake.arguments import told_by_name
from giveortake.client.query import new_key, said_terms
from giveortake.errors import NotFound
from giveortake.session.quotes import WorkloadQuote
from giveortake.wire.quote_documents import cost_of, share_of
from giveortake.wire.standing_documents import amount_of
from giveortake.wire.workload_documents import workload_document
from giveortake.workload.results import StackedFaces, stacked_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers.terms import AskTerms
    from giveortake.client.session import RemoteSession
    from giveortake.exact import Number
    from giveortake.workload import Workload


@final
class RemoteWorkload:
    """Tables that are asked for together: quoted for free, answered under one charge."""

    def __init__(
        self,
        session: RemoteSession,
        workload: Workload | str,
        table: str | None,
        minimise: str,
        norm: Number | None = None,
    ) -> None:
        self.workload = workload
        self._session = session
        self._said = {
            **workload_document(workload),
            "minimise": minimise,
            **({} if table is None else {"table": table}),
            **({} if norm is None else {"norm": str(norm)}),
        }

    @told_by_name()
    def quote(self, **terms: Unpack[AskTerms]) -> WorkloadQuote:
        """What an answer would cost, and the margins of every table."""
        found = self._session.post("workload/quote", {"workload": self._said, "terms": said_terms(terms)})
        cost = cost_of(found)
        assert cost is not None  # noqa: S101 (a workload always asks rows)
        return WorkloadQuote(
            found["spend"],
            cost,
            found["strategy"],
            tuple({**line, "table": tuple(line["table"])} for line in found["tables"]),
            Confidence(found["confidence"], said_terms(terms).get("confidence_over")),
            found["admitted"],
            share=share_of(found),
            caps=None if found["caps"] is None else Caps.of(**found["caps"]),
            left_out=None if (left := found.get("left_out")) is None else LeftOut.from_json(left),
            remaining=amount_of(found["standing"]["remaining"]),
            remarks=tuple(found["notes"]),
            advice=tuple(found["advice"]),
            paid=found.get("paid", False),
            approval=found.get("approval", False),
        )

    @told_by_name()
    def answer(self, *, key: str | None = None, **terms: Unpack[AskTerms]) -> RemoteWorkloadAnswer:
        """All tables, under one charge."""
        body = {"workload": self._said, "terms": said_terms(terms), "key": key or new_key()}
        return RemoteWorkloadAnswer(self._session, self._session.post("workload", body))


@final
class RemoteWorkloadAnswer(StackedFaces):
    """The requested tables, by the names of their columns: `r["age", "sex"]`, and `r[()]` for the total."""

    def __init__(self, session: RemoteSession, document: dict[str, Any]) -> None:
        self.release_id: str = document["release_id"]
        self.notes: tuple[str, ...] = tuple(document["notes"])
        self._tables = {
            tuple(each["columns"]): session.answered({**each["answer"], "release_id": None})
            for each in document["tables"]
        }
        self._stacking: list[str] = document["stacking"]
        self._first: dict[str, Any] = document["tables"][0]["answer"]

    def stacked(self) -> Answer:
        """All tables as one; see `gt.workload.WorkloadAnswer.stacked`."""
        tables = [(_grouping(names, answer), answer) for names, answer in self._tables.items()]
        _, provenance = codec.from_json(json.dumps(self._first), "answer")
        return Answer(stacked_columns(tables, self._stacking), **provenance)

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of every requested table."""
        return tuple(self._tables)

    def __getitem__(self, columns: str | tuple[str, ...]) -> Answer:
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        for names, answer in self._tables.items():
            if set(names) == set(wanted) and len(names) == len(wanted):
                return answer
        listed = ", ".join(str(each) for each in self.tables[:6])
        raise NotFound(f"no table of {', '.join(wanted) or 'the total'} was asked for", hint=f"there are {listed}, …")

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<RemoteWorkloadAnswer {self.release_id}: {len(self)} tables>"


def _grouping(names: tuple[str, ...], answer: Answer) -> str:
    """The label of a table: its columns, with `_below` after the column of a range."""
    there = {column.name for column in answer.columns}
    return " × ".join(name if name in there else f"{name}_below" for name in names) or "total"
