"""The same question in Python, R, JavaScript and curl, to be taken along; the token is read where it is kept."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(words: str) -> str:
    r"""A text as a literal of Python and of R: what is hidden or ends a line is written as an escape.

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
    """Names of languages, and the code. Each question has a key of its own, so that a retry of it is charged once."""
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
