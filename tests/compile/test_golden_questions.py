"""What names a question in a ledger, what it costs and how much noise it gets stays as it is.

A digest that changed would charge people again for what they already paid. The golden file holds, for the text of every
shape of question in every mode, the digest, and a fingerprint of the charge, the noise and the margins at two prices.
After an intended change, write it again:

    PYTHONPATH=tests python tests/compile/test_golden_questions.py
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from giveortake import codec
from giveortake.answers import Answer
from giveortake.audit.cases import shapes_of
from giveortake.audit.neighbours import random_table
from giveortake.compile import Spend, Terms
from giveortake.session import Query
from giveortake.session.session import mechanism_of
from replay import MODES, Mode
from tiers import is_long

GOLDEN = Path(__file__).with_name("golden_questions.json")
KEYS = Fraction(1, 10**6)
SPENDS = {"epsilon": Spend(epsilon=Fraction(1), keys=KEYS), "mu": Spend(mu=Fraction(1, 3), keys=KEYS)}


def named_and_priced(mode: Mode) -> dict[str, list[str]]:
    """Of every text: its digest, and the fingerprint of its price at each spend."""
    with mode.session(random_table(random.Random("golden"))) as session:  # noqa: S311 (nothing depends on its rows)
        shapes = shapes_of(by_person=mode.by_person, few_rows=mode.few_rows)
        asked = {text: session.sql(text) for text in shapes.values()}
        return {
            text: [line for spend in SPENDS for line in _name_and_price(query, spend)] for text, query in asked.items()
        }


def _name_and_price(query: Query[Answer], spend: str) -> list[str]:
    mechanism = mechanism_of(query.session)
    made = mechanism.measured(query.question, query.session.describe().caps, SPENDS[spend])
    stated: Any = {spend: getattr(SPENDS[spend], spend), "key_delta": KEYS}
    terms = Terms.of(stated | {"n": 1000})
    quote = mechanism.quote(query.request, terms)
    margins = {name: f"{each:.6g}" if isinstance(each, float) else str(each) for name, each in quote.margins.items()}
    content = [
        codec.text_of(made.event),
        codec.text_of(made.event_if_added()),
        quote.noise,
        margins,
        quote.keys,
        str(made.caps),
        repr(quote.cost),
    ]
    return [made.digest(), hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]]


def golden(modes: Sequence[Mode] = MODES) -> dict[str, dict[str, list[str]]]:
    """The content of the golden file."""
    return {f"{mode.name}, {mode.change}": named_and_priced(mode) for mode in modes}


def test_every_question_has_the_name_and_the_price_of_the_golden_file() -> None:
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    modes = MODES if is_long() else MODES[1::3]
    assert golden(modes) == {f"{mode.name}, {mode.change}": expected[f"{mode.name}, {mode.change}"] for mode in modes}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
