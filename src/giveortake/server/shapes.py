"""The shapes of what analysts and custodians send, which several routes use."""

from __future__ import annotations

from giveortake.ledger.rules.registration import LONGEST_REASON
from giveortake.server.results import MEDIA
from giveortake.server.schemas import NAMES, NUMBER, OBJECT, TEXT, TRUTH, WHOLE, Schema, listed, maybe, of, text

KEY = text(200)
SQL = text(20_000)
REASON = text(LONGEST_REASON)
FORMAT: Schema = {"type": "string", "enum": list(MEDIA)}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": 1000}
CAP: Schema = {
    "anyOf": [NUMBER, {"type": "object", "additionalProperties": NUMBER, "maxProperties": 100}],
}
TERMS: Schema = {
    **of(
        epsilon=NUMBER,
        delta=NUMBER,
        rho=NUMBER,
        mu=NUMBER,
        margin=NUMBER,
        share=NUMBER,
        confidence=NUMBER,
        confidence_over={"type": "string", "enum": ["cell", "answer"]},
        key_delta=NUMBER,
        n=NUMBER,
        rows_per_person=CAP,
        groups_per_person=NUMBER,
        rows_per_group=NUMBER,
        caps={"type": "string", "enum": ["best"]},
    ),
    "description": "What the answer may cost, how sure it is to be, and how much of a person counts. Numbers may be "
    'texts, which are exact: "0.1", "1/3".',
}
QUESTION: Schema = {
    "sql": {**SQL, "description": "the question in SQL; or `plan`"},
    "plan": {
        "type": ["object", "string"],
        "maxLength": 60_000,
        "description": "a question as Query.plan writes it, or that as a text, which may nest deeper; or `sql`",
    },
}
CURRENCY: Schema = {
    "type": "string",
    "enum": ["epsilon", "rho", "mu", "share"],
    "description": "in what a curve is drawn if the terms state no spend; epsilon unless said",
}
BUDGET: Schema = {
    **of(epsilon=NUMBER, delta=NUMBER, rho=NUMBER, mu=NUMBER),
    "description": 'a promise: {"epsilon": "1"}, {"epsilon": "1", "delta": "1e-8"}, {"rho": "0.1"} or {"mu": "1"}',
}

AMOUNT = of("words", words=TEXT, exactly=maybe(TEXT))
NUMBER_OF_BUDGET: Schema = {"type": ["number", "null"]}
STANDING: Schema = {
    "type": "object",
    "required": ["level", "budget", "spent", "remaining", "share", "affordable"],
    "properties": {
        "level": TEXT,
        "budget": maybe(TEXT),
        "spent": AMOUNT,
        "remaining": AMOUNT,
        "share": {"type": ["number", "null"]},
        "given": {**NUMBER_OF_BUDGET, "description": "the part of the budget that was given to analysts"},
        "own": {**NUMBER_OF_BUDGET, "description": "the part that the asker's own questions have spent"},
        "affordable": {"type": ["number", "null"]},
    },
}
COLUMN: Schema = {
    "type": "object",
    "required": ["name", "kind", "nullable", "words"],
    "properties": {"name": TEXT, "kind": TEXT, "low": maybe(TEXT), "high": maybe(TEXT), "words": TEXT},
}
TABLE: Schema = {
    "type": "object",
    "required": ["name", "columns"],
    "properties": {"name": TEXT, "columns": listed(COLUMN), "rows_per_person": maybe(WHOLE)},
}
DATASET: Schema = {
    "type": "object",
    "required": ["name", "unit", "caps", "caps_in_words", "tables", "public", "standing"],
    "properties": {"name": TEXT, "unit": maybe(TEXT), "tables": listed(TABLE), "standing": STANDING},
}
MARGINS: Schema = {"type": "object", "additionalProperties": {"type": ["number", "string", "null"]}}
QUOTE: Schema = {
    "type": "object",
    "required": ["spend", "margins", "admitted", "confidence", "standing"],
    "properties": {"spend": TEXT, "margins": MARGINS, "admitted": TRUTH, "approval": TRUTH, "standing": STANDING},
}
POINT: Schema = {
    "type": "object",
    "required": ["spend", "words", "margins", "share", "admitted"],
    "properties": {"spend": TEXT, "words": TEXT, "margins": MARGINS, "admitted": {"type": "boolean"}},
}
CURVE: Schema = {
    "type": "object",
    "required": ["currency", "confidence", "points"],
    "properties": {"currency": TEXT, "confidence": TEXT, "points": listed(POINT)},
}
ANSWER: Schema = {
    "type": "object",
    "required": ["columns", "release_id", "confidence", "notes", "cost", "guarantee"],
    "properties": {"columns": OBJECT, "release_id": TEXT, "notes": listed(TEXT)},
}
RELEASED: Schema = {
    "type": "object",
    "required": ["id", "at", "dataset", "asked", "settled", "failed", "free", "questions"],
    "properties": {"id": TEXT, "at": TEXT, "asked": maybe(TEXT), "settled": TRUTH, "failed": TRUTH},
}
APPROVAL: Schema = {
    "type": "object",
    "required": ["request", "state", "at", "dataset", "asked", "price", "questions", "reason", "expires"],
    "properties": {"request": WHOLE, "state": TEXT, "at": TEXT, "price": maybe(TEXT), "reason": maybe(TEXT)},
}
RELEASE = text(200)
PLACE: Schema = {"type": "integer", "minimum": 0, "maximum": 9_999}
PART: Schema = {"type": "integer", "minimum": 0, "maximum": 999_999}
NUMBER_OF_ENTRY: Schema = {"type": "integer", "minimum": 0, "maximum": 10**15}
WORKLOAD = of(
    sql=SQL,
    table=text(200),
    minimise={"type": "string", "enum": ["rms", "maximum"]},
    norm=NUMBER,
    tables=listed(of("columns", columns=NAMES, weight=NUMBER, of=maybe(text(200))), 10_000),
    ranges=listed(of("column", column=text(200), by=NAMES, bins=maybe(WHOLE), weight=NUMBER), 100),
)
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 10**9}
