"""Hints: an argument and its value, as Python writes them, are an option, a field, JSON or a key of TOML."""

from __future__ import annotations

import ast
import json
import shlex
import tomllib
from fractions import Fraction
from pathlib import Path

from cases import all_cases
from giveortake.answers.terms import CAP_TERMS, TERMS
from giveortake.errors import InvalidParameter
from giveortake.hints import ARGUMENTS, FIELDS, parameter, rendered
from giveortake.wire.errors import error_of, refusal_of

ROOT = Path(__file__).resolve().parents[2] / "src" / "giveortake"
VALUES = ['"0.1"', "50", '":memory:"', '"people of o"', "gt.ROW", '{"trips": 10}']


@all_cases("name", ARGUMENTS)
def test_every_argument_with_a_value_is_said_on_each_face(name: str) -> None:
    for text in VALUES:
        hint = f"say {name}={text}, or more"
        value = "row" if text == "gt.ROW" else ast.literal_eval(text)
        assert rendered(hint, "python") == hint
        member = str(rendered(hint, "service")).removeprefix("say ").removesuffix(", or more")
        assert json.loads(f"{{{member}}}") == {name: value}
        if not isinstance(value, dict):
            option = shlex.split(str(rendered(hint, "command")).removeprefix("say ").removesuffix(", or more"))
            assert option[1:] == [str(value)]
            assert option[0].startswith("--")
            line = str(rendered(hint, "file")).removeprefix("say ").removesuffix(", or more")
            assert tomllib.loads(line) == {name: value}
            assert f": {value}" in str(rendered(hint, "console"))
    assert f"{name}=" not in str(rendered(f"pass {name}=", "command"))


def test_terms_of_answers_are_arguments() -> None:
    assert {*TERMS, *CAP_TERMS} <= {*ARGUMENTS}
    assert parameter("rows_per_person", "command") == "--rows-per-person"
    assert parameter("domains['age']", "command") == "--domain age"


def test_fields_of_pages_are_called_as_the_table_says() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "server/console/templates").glob("*.html"))
    paid_by = {"share", "margin", "epsilon", "rho", "mu"}  # one field, which has the label of the way to pay
    assert "{{ form.label }}" in pages
    assert [label for name, label in FIELDS.items() if name not in paid_by and label not in pages] == []


def test_a_client_has_the_hint_of_python() -> None:
    error = InvalidParameter("epsilon", None, "is missing", hint='epsilon="0.1", or share="1/10"')
    document = refusal_of(error, "service")[1]
    assert document["error"]["hint"] == '"epsilon": "0.1", or "share": "1/10"'
    assert error_of(document)[0].hint == error.hint
    _, plain = refusal_of(InvalidParameter("epsilon", None, "is missing", hint="say it"), "service")
    assert "hint_in_python" not in plain["error"]


def test_a_fraction_is_told_as_people_write_it() -> None:
    for value, text in {
        Fraction(1): "1",
        Fraction(1, 10**8): "1e-8",
        Fraction(-1, 3): "-1/3",
        Fraction(10**400): f"1{'0' * 58}…",
    }.items():
        assert InvalidParameter("delta", value, "is bad").message == f"delta = {text} is bad"
