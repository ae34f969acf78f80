"""Hints: each face says its own fix. All that stand in the code are read here, without raising any."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING

import pytest

from giveortake.advice import ARGUMENTS, DEEDS, FACES, FIELDS, Advice, declaring, on
from giveortake.answers.cap_terms import CAP_TERMS
from giveortake.answers.spend_terms import TERMS
from giveortake.compile.caps import unbounded
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused
from giveortake.wire.causes import error_of, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2] / "src" / "giveortake"
SHOWN = (
    *(
        "exact",
        "privacy",
        "accounting",
        "answers",
        "plan",
        "sql",
        "engines",
        "compile",
        "ledger",
        "workload",
        "session",
    ),
    *("server", "wire"),
)
PYTHON = re.compile(r"\b\w+=(?![=>])|\bgt\.|\b[sqc]\.\w|\bsession\.\w|\bledger\.(?!md)\w|answer\(|\w\(…")
OPTION = re.compile(r"--\w")

# of files whose refusals neither a page nor a service can show: what is done in Python, in a configuration or where
# the service is started
ELSEWHERE = {
    "accounting/charges.py",
    "accounting/composition.py",
    "accounting/refusals.py",  # parts of a table
    "answers/confidence.py",
    "compile/caps.py",  # of gt.protect
    "engines/duckdb/tables.py",  # a table is opened when the service starts, or a form has named it
    "engines/postgres/tables.py",
    "engines/spark/tables.py",
    "ledger/differences.py",
    "ledger/files.py",
    "ledger/opening.py",
    "ledger/registration.py",  # of populations and data sets, which a form registers by way of `tables`
    "ledger/tokens.py",  # roles: a form has buttons
    "plan/domains.py",
    "privacy/events/sampling.py",
    "server/results.py",  # a format of the API
    "session/arguments.py",
    "session/bounds.py",
    "session/counters.py",
    "session/partitions.py",
    "session/registration.py",
    "session/session.py",
    "session/vector_run.py",
    "session/unit_columns.py",
    "workload/workload.py",  # gt.workload.marginals, which is said in Python alone
}


def written(node: ast.AST) -> str | None:
    """A text as it stands in the code; what is put into it is a blank."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else " " for part in parts)
    return None


def hints() -> Iterator[tuple[str, str]]:
    """Every plain text that is given as a hint, and where."""
    for room in SHOWN:
        for file in sorted((ROOT / room).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            given = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "hint"]
            named = {each.id for each in given if isinstance(each, ast.Name)} | {"hint"}
            given += [node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _names(node) & named]
            for value in given:
                parts = [] if isinstance(value, ast.Call) else [value, *ast.iter_child_nodes(value)]
                for text in filter(None, map(written, parts)):
                    yield str(file.relative_to(ROOT)), text


def _names(node: ast.Assign) -> set[str]:
    return {each.id for each in node.targets if isinstance(each, ast.Name)}


def ways() -> Iterator[tuple[str, tuple[str, ...], set[str]]]:
    """The ways of every `Advice`, and the values that come with them."""
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Advice":
                texts = tuple(text for each in node.args if (text := written(each)) is not None)
                yield str(file.relative_to(ROOT)), texts, {each.arg for each in node.keywords if each.arg}


def test_a_hint_that_a_page_or_a_service_can_show_is_no_python_unless_it_is_advice() -> None:
    plain = [(file, text) for file, text in hints() if PYTHON.search(text)]
    assert [each for each in plain if each[0] not in ELSEWHERE] == []
    assert {file for file, _ in plain} == ELSEWHERE
    assert len(list(hints())) > 300  # they are found


def test_every_advice_names_what_the_table_knows_and_each_face_speaks_its_own_words() -> None:
    count = 0
    for file, texts, values in ways():
        names = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None}
        assert names <= ARGUMENTS | set(DEEDS) | values, file
        filled = Advice(*texts, **{each: "x" for each in values if each != "between"})
        for face in ("command", "console", "service"):
            said = filled.on(face) or ""
            assert not PYTHON.search(said), (file, face, said)
        assert not OPTION.search(filled.on("console") or ""), file
        count += 1
    assert count > 20
    for name, deed in DEEDS.items():
        assert len(deed) == len(FACES), name
        assert not any(PYTHON.search(each or "") for each in deed[1:]), name


def test_fields_of_pages_are_called_as_the_table_says() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "server/console/templates").glob("*.html"))
    signed = {"epsilon": "ε", "rho": "ρ", "mu": "μ"}
    for name, label in FIELDS.items():
        sign = signed.get(name)
        assert (label if sign is None else label.replace(sign, "{{ form.sign }}")) in pages, name
    assert set(FIELDS) - {"most_rows"} <= {*TERMS, *CAP_TERMS}
    for named in ("Readmit", "Let somebody ask", "Who is in it", "Change a promise", "Refine"):
        assert named in pages


@pytest.mark.parametrize(
    ("face", "told"), [("python", "epsilon = 'x' is not a number"), ("console", "“ε to spend” = 'x' is not a number")]
)
def test_a_parameter_is_called_as_its_field_is(face: str, told: str) -> None:
    error = InvalidParameter("epsilon", "x", "is not a number", hint=Advice("{epsilon}", "{share}", epsilon="0.1"))
    document = refusal_of(error, face)[1]["error"]  # type: ignore[arg-type]  # (one of them)
    assert document["message"] == told
    assert document["hint"] == ('epsilon="0.1", or share=' if face == "python" else "“ε to spend”: 0.1")
    assert str(error) == f"{error.message}\n\n  hint: {error.hint}"


def test_advice_is_a_text_and_survives_being_raised_again() -> None:
    fix = Advice("{raise}")
    error = BudgetExceeded("too dear", hint=fix)
    assert (error.hint, on(error.hint, "console")) == (
        "the custodian can raise the budget",
        "the custodian can grant more",
    )
    assert Advice("{share}", share="1/10").on("console") is None
    assert Advice.spoken(dict.fromkeys(FACES)) == ""


def test_whoever_asks_a_service_is_told_what_they_can_do_themselves() -> None:
    with pytest.raises(QueryRefused) as caught:
        raise unbounded("rows")
    assert "; the custodian's gt.protect(…, rows_per_person=10) can say it for all questions" in str(caught.value.hint)
    assert "; the custodian can say it for all questions" in str(on(caught.value.hint, "service"))
    fix = Advice("{cap}", "{for_all} says it for all questions", between="; ")
    assert fix.on("service") == '"terms": {"rows_per_person": 10}; the custodian says it for all questions'
    assert Advice("{epsilon}", epsilon="0.1").on("service") == '"epsilon": "0.1"'
    assert Advice("{rows_per_person}", rows_per_person={"trips": 4}).on("service") == '"rows_per_person": {"trips": 4}'
    assert declaring("age", "(0, 99)", "0:99").on("service") == "the custodian can declare them: age"


def test_a_client_raises_the_words_of_python_where_a_service_speaks_of_requests() -> None:
    error = InvalidParameter("epsilon", None, "is missing", hint=Advice("{epsilon}", epsilon="0.1"))
    _, document = refusal_of(error, "service")
    assert document["error"]["hint"] == '"epsilon": "0.1"'
    assert error_of(document)[0].hint == 'epsilon="0.1"'
    _, plain = refusal_of(InvalidParameter("epsilon", None, "is missing", hint="say it"), "service")
    assert "hint_in_python" not in plain["error"]


@pytest.mark.parametrize(
    ("value", "told"),
    [(Fraction(1), "1"), (Fraction(1, 10**8), "1e-8"), (Fraction(-1, 3), "-1/3"), (Fraction(10**400), f"1{'0' * 58}…")],
)
def test_a_fraction_is_told_as_people_write_it(value: Fraction, told: str) -> None:
    assert InvalidParameter("delta", value, "is too much").message == f"delta = {told} is too much"
