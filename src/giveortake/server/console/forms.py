"""What a form of the workbench says: the question, its terms, and the key that makes a retry safe."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from giveortake.server.console.spends import CURRENCIES, converted, terms_of
from giveortake.server.schemas import of, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.server.schemas import Schema

_OTHERS = ("confidence", "rows_per_person", "groups_per_person", "rows_per_group", "n")
_FIELDS = ("spend", "delta", *_OTHERS)
_NONCE = re.compile(r"[0-9a-f]{32}")
_SPEND = "0.1"
NONCE = text(64, 0)
CURRENCY: Schema = {"type": "string", "enum": list(CURRENCIES)}
ASKED = of(
    "do",
    do={"type": "string", "enum": ["price", "exact", "ask", "fit"]},
    sql=text(20_000, 0),
    nonce=NONCE,
    currency=CURRENCY,
    before=CURRENCY,
    **{name: text(40, 0) for name in _FIELDS},
)


@final
@dataclass(frozen=True, slots=True)
class Form:
    """A question as a page holds it.

    The key follows from a number that the window keeps and from what is asked: the same press sends the same key,
    after a reload and after a crash too, and another question never has the key of this one.
    """

    sql: str = ""
    currency: str = "epsilon"
    spend: str = _SPEND
    delta: str = ""
    confidence: str = ""
    rows_per_person: str = ""
    groups_per_person: str = ""
    rows_per_group: str = ""
    n: str = ""
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    @classmethod
    def of(cls, body: Mapping[str, str]) -> Form:
        """What was sent, with blanks taken off. Whoever changes the currency gets about the same noise in it."""
        said = {name: body.get(name, "").strip() for name in _FIELDS}
        currency = body.get("currency", "epsilon")
        spend = converted(said["spend"] or _SPEND, body.get("before", currency), currency)
        return cls(
            sql=body.get("sql", "").strip(), nonce=kept_nonce(body), **{**said, "spend": spend, "currency": currency}
        )

    @property
    def sign(self) -> str:
        """Of the currency."""
        return CURRENCIES[self.currency]

    @property
    def price(self) -> str:
        """What is spent, as people write it."""
        return f"{self.sign} = {self.spend}" + (f", δ = {self.delta}" if self.currency == "approximate" else "")

    @property
    def capped(self) -> bool:
        """Whether any cap is stated."""
        return bool(self.rows_per_person or self.groups_per_person or self.rows_per_group or self.n)

    @property
    def others(self) -> dict[str, str]:
        """The terms that are stated beside the spend."""
        return {name: value for name in _OTHERS if (value := getattr(self, name))}

    @property
    def terms(self) -> dict[str, str]:
        """All terms that are stated."""
        return terms_of(self.currency, self.spend, self.delta) | self.others

    def key(self, *place: str) -> str:
        """The idempotency key of asking this at a place."""
        return key_of(self.nonce, *place, self.sql, self.terms)


def key_of(nonce: str, *what: object) -> str:
    """A key that is the same for the same window and the same request."""
    return f"console-{nonce}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]}"


def kept_nonce(body: Mapping[str, str]) -> str:
    """The number of the window, or a new one."""
    nonce = body.get("nonce", "")
    return nonce if _NONCE.fullmatch(nonce) else secrets.token_hex(16)
