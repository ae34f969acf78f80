"""The functions of questions: each has a rule for its domain and a way to be printed."""

from __future__ import annotations

from giveortake.engines.sql.expressions import PRINTED
from giveortake.plan.functions import FUNCTIONS


def test_every_function_that_has_a_domain_can_be_printed_and_none_else() -> None:
    assert set(FUNCTIONS) == PRINTED
