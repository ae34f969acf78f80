"""Questions of every shape, in fewer texts."""

from __future__ import annotations

import re
from collections import defaultdict


def together(shapes: dict[str, str], most: int = 10) -> dict[str, str]:
    """The same aggregates in fewer questions: those of the same rows and keys are asked at once, up to some number.

    For an engine that takes a second to plan a question, however little it asks for. Whatever is measured is measured
    as before, in a statement that measures more.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(shapes):
        asked = _PLAIN_QUESTION.fullmatch(shapes[name])
        alike[name if asked is None else asked["key"] or ""].append(name)
    found = {}
    for names in alike.values():
        for start in range(0, len(names), most):
            some = names[start : start + most]
            found[" + ".join(some)] = shapes[some[0]] if len(some) == 1 else _asked_at_once([shapes[n] for n in some])
    return found


_PLAIN_QUESTION = re.compile(r"SELECT (?:(?P<key>\w+), )?(?P<asked>.+?) FROM data(?: GROUP BY (?P=key))?")


def _asked_at_once(texts: list[str]) -> str:
    parts = [_PLAIN_QUESTION.fullmatch(text) for text in texts]
    key = next(part["key"] for part in parts if part is not None)
    numbered = [
        re.sub(r" AS (\w+)", rf" AS \g<1>{place}", part["asked"])
        for place, part in enumerate(parts)
        if part is not None
    ]
    listed = ", ".join([*([key] if key else []), *numbered])
    return f"SELECT {listed} FROM data{f' GROUP BY {key}' if key else ''}"
