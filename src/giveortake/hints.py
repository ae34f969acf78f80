"""Hints: what to do about a refusal is said in the words of Python, and one renderer says it for every face.

A hint names an argument and its value as Python does, `epsilon="0.1"`. On the command line that is an option, in the
console a field, over HTTP a member of the JSON, and in a TOML file a key. All else in a hint is the same everywhere.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Literal, TypeAlias

Face: TypeAlias = Literal["python", "command", "console", "service", "file"]

FIELDS = {  # arguments that have a field in the console, and its label
    "share": "Percent of the budget",
    "margin": "Margin, ±",
    "epsilon": "ε to spend",
    "delta": "δ of the answer",
    "rho": "ρ to spend",
    "mu": "μ to spend",
    "confidence": "Confidence",
    "caps": "Caps",
    "rows_per_person": "Rows of a person",
    "groups_per_person": "Groups of a person",
    "rows_per_group": "Rows in each group",
    "most_rows": "Rows of a person at most",
    "n": "Rows of a group, if that is public",
    "aim": "Of groups that have to be found",
}
ARGUMENTS = (  # those that every face has in some way
    *FIELDS,
    *("key_delta", "confidence_over", "minimise", "norm", "key", "analyst", "role", "expires"),
    *("unit", "budget", "domains", "public", "neighbours", "name", "table", "version", "memory", "seconds"),
    *("ledger", "mark", "population", "new_population", "release"),
)
_VALUE = r'"[^"]*"|\{(?:[^{}]|\{[^{}]*\})*\}|\([^()]*\)|\[[^\[\]]*\]|gt\.ROW|[\w/:.-]*[\w/:-]'
_NAMES = "|".join(sorted(ARGUMENTS, key=len, reverse=True))
_ARGUMENT = re.compile(rf"(?<![\w.(\"'-])(?P<name>{_NAMES})=(?P<value>{_VALUE})?")


def rendered(hint: str | None, face: Face) -> str | None:
    """A hint in the words of a face.

    >>> fix = 'epsilon="0.1", or share="1/10"'
    >>> print(rendered(fix, "python"), rendered(fix, "command"), rendered(fix, "service"), sep=" · ")
    epsilon="0.1", or share="1/10" · --epsilon 0.1, or --share 1/10 · "epsilon": "0.1", or "share": "1/10"
    >>> print(rendered("pass epsilon=, or n=17", "console"), rendered("unit=gt.ROW", "file"), sep=" · ")
    pass “ε to spend”, or “Rows of a group, if that is public”: 17 · unit = "row"
    >>> domains = 'domains={"fee": (0, 500), "x": ["a", "b"]}'
    >>> print(rendered(domains, "command"), rendered(domains, "file"), sep=" · ")
    --domain fee=0:500 --domain x=a,b · domains.fee = { bounds = [0, 500] }, domains.x = ["a", "b"]
    """
    if hint is None or face == "python":
        return hint
    return _ARGUMENT.sub(lambda match: _argument(match["name"], match["value"], face), hint)


def parameter(name: str, face: Face) -> str:
    """The name of a parameter in the words of a face; as it is if the face has no such thing.

    >>> parameter("rows_per_person", "command"), parameter("domains['age']", "command"), parameter("epsilon", "console")
    ('--rows-per-person', '--domain age', '“ε to spend”')
    """
    if face == "command" and (column := re.fullmatch(r"domains\['([^']*)'\](?:\.\w+)?", name)):
        return f"--domain {column[1]}"
    if face == "command" and name in ARGUMENTS:
        return _option(name)
    return f"“{FIELDS[name]}”" if face == "console" and name in FIELDS else name


def _option(name: str) -> str:
    return "--domain" if name == "domains" else f"--{name.replace('_', '-')}"


def _argument(name: str, text: str | None, face: Face) -> str:
    value = "row" if text == "gt.ROW" else _value(text)
    if name == "domains" and isinstance(value, dict) and face in {"command", "file"}:
        declared = [_domain(column, domain, face) for column, domain in value.items()]
        return (" " if face == "command" else ", ").join(declared)
    match face:
        case "command":
            return _option(name) if value is None else f"{_option(name)} {_quoted(value)}"
        case "console":
            label = f"“{FIELDS.get(name, name.replace('_', ' '))}”"
            return label if value is None else f"{label}: {value}"
        case "file":
            return name if value is None else f"{name} = {_json(value)}"
    return f'"{name}"' if value is None else f'"{name}": {_json(value)}'


def _value(text: str | None) -> object:
    """The value that a literal means; another text means itself, and what is elided is nothing."""
    if text is None:
        return None
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value


def _domain(column: str, domain: object, face: Face) -> str:
    is_interval = isinstance(domain, tuple)
    if face == "file":
        return f"domains.{column} = {f'{{ bounds = {_json(domain)} }}' if is_interval else _json(domain)}"
    listed = (":" if is_interval else ",").join(map(str, domain)) if isinstance(domain, tuple | list) else "…"
    return f"--domain {shlex.quote(f'{column}={listed}')}"


def _quoted(value: object) -> str:
    return f'"{value}"' if " " in str(value) else str(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
