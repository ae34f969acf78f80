"""Examples of questions that can be asked as they are, and one question as code in several languages."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(words: str) -> str:
    r"""A text as a literal of Python and of R; invisible characters and line ends are escaped.

    >>> print(literal('SELECT "a"\nFROM é'), literal("\u202e"))
    "SELECT \"a\"\nFROM é" "\u202e"
    """
    return f'"{"".join(map(_letter, words))}"'


def _letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def snippets(dataset: str, sql: str, terms: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Code that asks a question, by language. Each question has a key of its own, so that a retry is charged once."""
    text = literal(sql)
    said = ", ".join(f"{name}={json.dumps(value)}" for name, value in terms.items())
    key = f"asked-{hashlib.sha256(json.dumps([dataset, sql, dict(terms)]).encode()).hexdigest()[:16]}"
    body = json.dumps({"sql": sql, "terms": dict(terms), "key": key}, ensure_ascii=True, indent=1)
    place = f"/v1/datasets/{quote(dataset, safe='')}/answer"
    python = (
        "import os\nimport giveortake as gt\n\n"
        'url, token = os.environ["GIVEORTAKE_URL"], os.environ["GIVEORTAKE_TOKEN"]\n'
        f"c = gt.connect(url, token=token, dataset={literal(dataset)})\n"
        f"q = c.sql({text})\nprint(q.quote({said}))  # free\nprint(q.answer({said}))\n"
    )
    r = (
        'library(httr2)\n\nanswer <- request(Sys.getenv("GIVEORTAKE_URL")) |>\n'
        f'  req_url_path("{place}") |>\n'
        '  req_auth_bearer_token(Sys.getenv("GIVEORTAKE_TOKEN")) |>\n'
        f"  req_body_json(list(sql = {text},\n"
        f"    terms = list({', '.join(f'{name} = {json.dumps(value)}' for name, value in terms.items())}),\n"
        f'    key = "{key}")) |>\n  req_perform() |> resp_body_json(simplifyVector = TRUE)\n'
        "as.data.frame(answer$columns)\n"
    )
    javascript = (
        "const { GIVEORTAKE_URL: url, GIVEORTAKE_TOKEN: token } = process.env;\n"
        f"const reply = await fetch(`${{url}}{place}`, {{\n"
        '  method: "POST",\n'
        '  headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },\n'
        f"  body: JSON.stringify({body.replace(chr(10), chr(10) + '  ')}),\n"
        "});\nconst answer = await reply.json();\n"
        "if (!reply.ok) throw new Error(answer.error.message);\nconsole.table(answer.columns);\n"
    )
    curl = (
        f'curl -s "$GIVEORTAKE_URL{place}" \\\n  -H "Authorization: Bearer $GIVEORTAKE_TOKEN" \\\n'
        f"  -H 'Content-Type: application/json' --data @- <<'JSON'\n{body}\nJSON\n"
    )
    return [("Python", python), ("R", r), ("JavaScript", javascript), ("curl", curl)]


_PLAIN = re.compile(r"[a-z_][a-z_0-9]*")
_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "COUNT(*)", "COUNT(DISTINCT", "SUM(", "AVG(", "AS"),
    *("AND", "OR", "NOT", "BETWEEN", "CASE WHEN", "THEN", "ELSE", "END", "MEDIAN(", "LIMIT", "JOIN", "DATE_TRUNC("),
)
_ROWS = "10"
_NUMBERS = frozenset({"integer", "real", "decimal", "float"})


def examples(dataset: Mapping[str, Any]) -> list[str]:
    """Up to three questions: how many rows, how many in each group, and a mean."""
    table = dataset["tables"][0]
    name = quoted(table["name"])
    unit = dataset["unit"]
    grouped = next((c for c in table["columns"] if c.get("categories") and c["name"] != unit), None)
    number = next(
        (c for c in table["columns"] if c["kind"] in _NUMBERS and c.get("low") is not None and c["name"] != unit), None
    )
    found = [f"SELECT COUNT(*) AS n FROM {name}"]  # noqa: S608 (texts for people, which our own parser reads)
    if grouped is not None:
        key = quoted(grouped["name"])
        found.append(f"SELECT {key}, COUNT(*) AS n FROM {name} GROUP BY {key}")  # noqa: S608 (as above)
    if number is not None:
        column = quoted(number["name"])
        by = f"{quoted(grouped['name'])}, " if grouped is not None else ""
        end = f" GROUP BY {quoted(grouped['name'])}" if grouped is not None else ""
        found.append(f"SELECT {by}COUNT(*) AS n, AVG({column}) AS mean FROM {name}{end}")  # noqa: S608 (as above)
    if len(found) < 3 and unit is not None:
        found.append(f"SELECT COUNT(DISTINCT {quoted(unit)}) AS people FROM {name}")  # noqa: S608 (as above)
    return found


def cap_of_examples(dataset: Mapping[str, Any]) -> str:
    """The cap on a person's rows that examples state if nothing else bounds them; else empty."""
    return "" if dataset["unit"] is None or (dataset["caps"] or {}).get("rows_per_person") else _ROWS


def words(dataset: Mapping[str, Any]) -> list[str]:
    """The completions of an editor: names of tables and columns, and the keywords of SQL."""
    tables = [*dataset["tables"], *dataset["public"]]
    names = [quoted(table["name"]) for table in tables]
    columns = [quoted(column["name"]) for table in tables for column in table["columns"]]
    return list(dict.fromkeys([*columns, *names, *_KEYWORDS]))


def quoted(name: str) -> str:
    """A name as SQL writes it.

    >>> print(quoted("region"), quoted('a "b" c'))
    region "a ""b"" c"
    """
    if _PLAIN.fullmatch(name):
        return name
    inside = name.replace('"', '""')
    return f'"{inside}"'
