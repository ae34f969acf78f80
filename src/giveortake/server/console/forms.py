"""The form of the workbench: the question, its spend and other terms, and the key that makes a retry safe."""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import InvalidParameter
from giveortake.exact import rational, shown, shown_down, sqrt_down, sqrt_up
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.documents import promise_from_json
from giveortake.server.schemas import of, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.server.schemas import Schema

CURRENCIES = {"epsilon": "ε", "approximate": "ε", "rho": "ρ", "mu": "μ"}  # and the sign of each
NAMES = {"epsilon": "ε", "approximate": "ε and δ", "rho": "ρ", "mu": "μ"}
_TERMS = {"epsilon": "epsilon", "approximate": "epsilon", "rho": "rho", "mu": "mu"}
_USUAL_DELTA = "1e-9"
_LEAST = Fraction(1, 1000)  # below which nothing is proposed


def offered(promise: Mapping[str, Any] | None) -> dict[str, str]:
    """The currencies in which a budget can be spent: a pure ε has no price for Gaussian noise, all others have."""
    pure = promise is None or isinstance(promise_from_json(dict(promise)), PureDP)
    return {"epsilon": NAMES["epsilon"]} if pure else dict(NAMES)


def usual_delta(promise: Mapping[str, Any] | None) -> str:
    """A δ for one question: a hundredth of the budget's, if it has one."""
    found = None if promise is None else promise_from_json(dict(promise))
    return shown(found.delta / 100) if isinstance(found, ApproxDP) else _USUAL_DELTA


def terms_of(currency: str, spend: str, delta: str) -> dict[str, str]:
    """The spend as arguments of `q.answer`."""
    said = {_TERMS[currency]: spend}
    return said | ({"delta": delta} if currency == "approximate" else {})


def currency_of(spend: Mapping[str, Any]) -> str:
    """The currency in which something was spent.

    >>> currency_of({"epsilon": "1/10", "delta": "1/1000000"}), currency_of({"mu": "1"})
    ('approximate', 'mu')
    """
    for name in ("rho", "mu"):
        if spend.get(name) is not None:
            return name
    return "epsilon" if spend.get("delta") is None else "approximate"


def number_said(spend: str) -> Fraction | None:
    """The number in a field of a form, or None; None also if it has too many digits, as 1e1000000 has.

    >>> number_said("1/10"), number_said("1e1000000"), number_said("much")
    (Fraction(1, 10), None, None)
    """
    try:
        return rational("spend", spend)
    except InvalidParameter:
        return None


def converted(spend: str, before: str, now: str) -> str:
    """About the same noise in another currency: a first proposal, which the quote then prices.

    >>> converted("0.2", "epsilon", "rho"), converted("0.02", "rho", "mu"), converted("x", "mu", "rho")
    ('0.02', '0.2', 'x')
    """
    said = number_said(spend)
    if said is None or said <= 0 or (before == "rho") == (now == "rho"):
        return spend
    amount = float(said)
    return f"{amount**2 / 2 if now == 'rho' else math.sqrt(2 * amount):.3g}"


def needed(paid: Fraction, currency: str, part: Fraction, *, refines: bool) -> Fraction:
    """The spend that makes intervals about `part` as wide: of a new question, or in addition to what was paid.

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> needed(one, "epsilon", half, refines=False), needed(one, "rho", half, refines=True)
    (Fraction(2, 1), Fraction(3, 1))
    """
    whole = paid / part**2 if currency == "rho" else paid / part
    if not refines:
        return whole
    return whole - paid if currency == "rho" else sqrt_up(whole**2 - paid**2)


def most_of(standing: Mapping[str, Any] | None, currency: str) -> Fraction | None:
    """The greatest spend in a currency that a budget still admits; None where no one number says it."""
    if standing is None:
        return None
    if currency == "epsilon":
        left = standing.get("affordable_exactly") or standing.get("affordable")
        return None if left is None else Fraction(str(left))
    exactly, sign = (standing.get("remaining") or {}).get("exactly"), str(standing.get("budget") or "")[:1]
    if exactly is None or sign != CURRENCIES[currency] or currency == "approximate":
        return None
    rest = Fraction(exactly)
    return rest if currency == "rho" else sqrt_down(rest)  # μ² is what adds up


def fitting(standing: Mapping[str, Any], currency: str) -> str | None:
    """The greatest spend that still fits, rounded down for a form; None if it is unknown, or buys nothing.

    >>> fitting({"affordable": 0.19999}, "epsilon"), fitting({"affordable": 0.0004}, "epsilon"), fitting({}, "rho")
    ('0.199', None, None)
    """
    most = most_of(standing, currency)
    return None if most is None or most < _LEAST else shown_down(most, 3)


_OTHERS = ("confidence", "caps", "rows_per_person", "groups_per_person", "rows_per_group", "n")
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
    quoted=NONCE,
    currency=CURRENCY,
    before=CURRENCY,
    **{name: text(40, 0) for name in _FIELDS},
)


@final
@dataclass(frozen=True, slots=True)
class Form:
    """A question as a page holds it.

    The key follows from a nonce that the window keeps and from what is asked: the same press sends the same key, after
    a reload and after a crash too, and another question never has the key of this one.
    """

    sql: str = ""
    currency: str = "epsilon"
    spend: str = _SPEND
    delta: str = ""
    confidence: str = ""
    caps: str = ""
    rows_per_person: str = ""
    groups_per_person: str = ""
    rows_per_group: str = ""
    n: str = ""
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    @classmethod
    def of(cls, body: Mapping[str, str]) -> Form:
        """The form that was sent, without blanks. A new currency gets a spend of about the same noise."""
        said = {name: body.get(name, "").strip() for name in _FIELDS}
        currency = body.get("currency", "epsilon")
        spend = converted(said["spend"] or _SPEND, body.get("before", currency), currency)
        return cls(
            sql=body.get("sql", "").strip(), nonce=kept_nonce(body), **{**said, "spend": spend, "currency": currency}
        )

    @property
    def sign(self) -> str:
        """The sign of the currency."""
        return CURRENCIES[self.currency]

    @property
    def price(self) -> str:
        """What is spent, as people write it."""
        return f"{self.sign} = {self.spend}" + (f", δ = {self.delta}" if self.currency == "approximate" else "")

    @property
    def capped(self) -> bool:
        """Whether any cap is stated."""
        return bool(self.caps or self.rows_per_person or self.groups_per_person or self.rows_per_group or self.n)

    @property
    def others(self) -> dict[str, str]:
        """The terms that are stated beside the spend."""
        return {name: value for name in _OTHERS if (value := getattr(self, name))}

    @property
    def terms(self) -> dict[str, str]:
        """All terms that are stated."""
        return terms_of(self.currency, self.spend, self.delta) | self.others

    def quote_name(self, dataset: str, version: str, price: str) -> str:
        """The name of a quote of this question. A page that shows the quote sends it, to ask under this quote alone.

        `version` is the digest of the table's version; `price` says whether the answer would be free or charged.
        """
        sql = self.sql.replace("\r\n", "\n").replace("\r", "\n")  # browsers write ends of lines in two ways
        said = [dataset, version, price, sql, self.terms]
        return f"{price}-{version}-{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]}"

    def key(self, *place: str) -> str:
        """The idempotency key of asking this question at a place."""
        return key_of(self.nonce, *place, self.sql, self.terms)


def version_digest(version: str) -> str:
    """The version of a table, short enough for the name of a quote."""
    return hashlib.sha256(version.encode()).hexdigest()[:16]


def key_of(nonce: str, *what: object) -> str:
    """A key that is the same for the same window and the same request."""
    return f"console-{nonce}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]}"


def kept_nonce(body: Mapping[str, str]) -> str:
    """The nonce of the browser window, or a new one."""
    nonce = body.get("nonce", "")
    return nonce if _NONCE.fullmatch(nonce) else secrets.token_hex(16)
