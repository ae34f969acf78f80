"""Hints: each face says its own fix. All advice that stands in the code is read here, without raising any."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING

from giveortake.advice import ARGUMENTS, DEEDS, FACES, FIELDS, Advice, on
from giveortake.answers.terms import CAP_TERMS, TERMS
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.wire.errors import error_of, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2] / "src" / "giveortake"
PYTHON = re.compile(r"\b\w+=(?![=>])|\bgt\.|\b[sqc]\.\w|\bsession\.\w|\bledger\.(?!md)\w|answer\(|\w\(…")
OPTION = re.compile(r"--\w")


def text_of(node: ast.AST) -> str | None:
    """A text as it stands in the code; what is put into it is a blank."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else " " for part in parts)
    return None


def ways() -> Iterator[tuple[str, tuple[str, ...], set[str]]]:
    """The ways of every `Advice`, and the values that come with them."""
    for file in sorted(ROOT.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Advice(" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Advice":
                texts = tuple(text for each in node.args if (text := text_of(each)) is not None)
                yield str(file.relative_to(ROOT)), texts, {each.arg for each in node.keywords if each.arg}


def test_every_advice_names_what_the_table_knows_and_only_python_is_advised_in_python() -> None:
    unknown, foreign, count = [], [], 0
    for file, texts, values in ways():
        names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None}
        unknown += [(file, name) for name in names - (ARGUMENTS | set(DEEDS) | values)]
        advice = Advice(*texts, **{each: "x" for each in values if each != "between"})
        fixes = {face: advice.on(face) or "" for face in ("command", "console", "service")}
        foreign += [(file, face, fix) for face, fix in fixes.items() if PYTHON.search(fix)]
        foreign += [(file, "console", fixes["console"])] * bool(OPTION.search(fixes["console"]))
        count += 1
    assert (unknown, foreign) == ([], [])
    assert count > 20
    assert [name for name, deed in DEEDS.items() if len(deed) != len(FACES)] == []
    assert [name for name, deed in DEEDS.items() if any(PYTHON.search(each or "") for each in deed[1:])] == []


def test_fields_of_pages_are_called_as_the_table_says() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "server/console/templates").glob("*.html"))
    signs = {"epsilon": "ε", "rho": "ρ", "mu": "μ"}
    labels = [
        label.replace(signs.get(name, label), "{{ form.sign }}") if name in signs else label
        for name, label in FIELDS.items()
    ]
    assert [label for label in labels if label not in pages] == []
    assert set(FIELDS) - {"most_rows"} <= {*TERMS, *CAP_TERMS}


def test_each_face_has_a_hint_of_its_own_and_a_client_has_that_of_python() -> None:
    error = InvalidParameter("epsilon", None, "is missing", hint=Advice("{epsilon}", "{share}", epsilon="0.1"))
    assert error.hint == 'epsilon="0.1", or share='
    documents = {face: refusal_of(error, face)[1] for face in ("python", "console", "service")}
    hints = {face: document["error"]["hint"] for face, document in documents.items()}
    assert hints["python"] == error.hint
    assert FIELDS["epsilon"] in hints["console"]
    assert hints["service"].startswith('"epsilon": "0.1"')
    assert error_of(documents["service"])[0].hint == error.hint
    _, plain = refusal_of(InvalidParameter("epsilon", None, "is missing", hint="say it"), "service")
    assert "hint_in_python" not in plain["error"]


def test_advice_is_a_text_and_survives_being_raised_again() -> None:
    error = BudgetExceeded("too dear", hint=Advice("{raise}"))
    assert isinstance(error.hint, str)
    assert on(error.hint, "console") not in {None, error.hint}
    assert Advice("{share}", share="1/10").on("console") is None
    assert Advice.spoken(dict.fromkeys(FACES)) == ""


def test_a_fraction_is_told_as_people_write_it() -> None:
    for value, text in {
        Fraction(1): "1",
        Fraction(1, 10**8): "1e-8",
        Fraction(-1, 3): "-1/3",
        Fraction(10**400): f"1{'0' * 58}…",
    }.items():
        assert InvalidParameter("delta", value, "is bad").message == f"delta = {text} is bad"
