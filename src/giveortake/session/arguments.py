"""Checks of arguments that are questions or sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from giveortake.errors import InvalidParameter


def asked_together(session: Any, queries: Any) -> list[Any]:
    """The questions of a batch, with texts read as SQL; refuse an empty batch and questions to another session."""
    is_list = isinstance(queries, Iterable) and not isinstance(queries, str | Mapping) and not hasattr(queries, "shape")
    listed = queries if is_list else None
    asked = [session.sql(query) if isinstance(query, str) else query for query in (() if listed is None else listed)]
    if not asked:
        problem = "is not a list of questions" if listed is None else "is empty: ask something"
        hint = 's.batch([q1, q2], epsilon="0.1")' if listed is None else "name a question"
        raise InvalidParameter("queries", queries, problem, hint=hint)
    for query in asked:
        if not hasattr(query, "session"):
            raise InvalidParameter("queries", query, "is not a question", hint="s.sql(…) makes one")
        if query.session is not session:
            raise InvalidParameter("queries", query, "holds a question to another session or part")
    return asked


def require_here(source: object) -> None:
    """Refuse a remote session, or a question to one, where the rows are needed."""
    if getattr(source, "is_remote", False):
        raise InvalidParameter(
            "session",
            type(source).__name__,
            "is a remote session, and this needs the rows",
            hint="the custodian can run it on gt.protect(…); s.sql(…), s.batch(…) and s.workload(…) work here",
        )
