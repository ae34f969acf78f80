"""The table of operations: every row has a route, a command and a form, for its role alone, and they agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import giveortake as gt
from giveortake import cli, codec
from giveortake.operations import BY_NAME, OPERATIONS, SUBJECTS, Instead, Operation, Reading
from giveortake.server.application import ROUTES
from giveortake.server.console.forms import form_of
from giveortake.server.routes import openapi

if TYPE_CHECKING:
    from demo_service import Running

ON_PAGES = {  # operations with a form or a button, by page
    "custodian": (
        *("analyst add", "analyst revoke", "analyst readmit", "token issue", "token revoke"),
        *("budget change", "budget limit", "failures reset", "ledger verify"),
    ),
    "approvals": ("approval approve", "approval deny"),
}


def options(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as done:
        cli.main(["admin", *name.split(), "--help"])
    assert done.value.code == 0
    return capsys.readouterr().out.lower().replace("_", "-")


def test_every_operation_has_a_route_that_takes_its_arguments_and_nothing_else() -> None:
    paths = openapi(ROUTES)["paths"]
    for operation in OPERATIONS:
        method, path = operation.route.split()
        document = paths[path][method.lower()]
        body = document.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        named = {*body.get("properties", {}), *(parameter["name"] for parameter in document["parameters"])}
        others = {
            part.name
            for part in operation.parts.values()
            for mark in part.remarks
            if isinstance(mark, Instead) and mark.of in path
        }
        assert named == operation.parts.keys() - others, operation.name
        assert document["summary"] == operation.summary


def test_every_operation_has_a_command_with_an_option_for_each_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert {operation.subject for operation in OPERATIONS} == set(SUBJECTS)
    for operation in OPERATIONS:
        text = options(operation.name, capsys)
        for name in operation.parts:
            assert name.removesuffix("s").replace("_", "-") in text, (operation.name, name)
        assert ("--by" in text) == operation.changes


def test_every_change_has_a_form_or_a_button_on_a_page(service: Running) -> None:
    changes = {operation.name for operation in OPERATIONS if operation.changes}
    assert changes <= {name for names in ON_PAGES.values() for name in names}
    page = service.call("custodian", "GET", "/custodian").text
    for name in ON_PAGES["custodian"]:
        drawn = f'value="{name}"' in page
        assert drawn or name in {"failures reset", "analyst readmit", "token revoke"}, name  # where there is one
    for name in changes:
        asked = {field["name"] for field in form_of(name, {}, {})["fields"]}
        others = {
            part.name for part in BY_NAME[name].parts.values() if any(isinstance(m, Instead) for m in part.remarks)
        }
        assert asked == BY_NAME[name].parts.keys() - others


def test_an_operation_is_for_an_auditor_exactly_if_it_changes_nothing() -> None:
    for operation in OPERATIONS:
        assert (operation.role == "auditor") == issubclass(operation.arguments, Reading) == (not operation.changes)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    with gt.ledger.open(path) as book:
        book.population("patients", budget=gt.PureDP(2), unit="person_id")
        book.dataset("visits", population="patients")
    return path


def test_what_changes_nothing_leaves_no_entry_and_what_changes_leaves_one_with_its_name(ledger: Path) -> None:
    """One after the other, with arguments that fit."""
    with gt.ledger.open(ledger) as book:
        for operation in OPERATIONS:
            before = len(book.history())
            if not operation.changes:
                operation.parse({}).run(book, "olga")
                assert len(book.history()) == before, operation.name
        changes: tuple[tuple[str, dict[str, Any]], ...] = (
            ("analyst add", {"name": "ann", "datasets": ["visits"], "budget": {"epsilon": "1"}}),
            ("analyst revoke", {"analyst": "ann", "reason": "left"}),
            ("analyst readmit", {"analyst": "ann", "reason": "back"}),
            ("token issue", {"role": "monitor"}),
            ("budget change", {"population": "patients", "budget": {"epsilon": 3}, "reason": "more"}),
            ("budget limit", {"analyst": "ann", "questions": 9, "reason": "a course"}),
            ("failures reset", {"analyst": "ann", "reason": "looked"}),
        )
        for name, document in changes:
            before = len(book.history())
            assert BY_NAME[name].parse(document).run(book, "olga")["message"]
            (entry,) = book.history()[before:]
            assert entry.content["by"] == "olga"


def wrong(operation: Operation) -> list[dict[str, Any]]:
    """Arguments of which none fits."""
    needed = {part.name: "x" for part in operation.parts.values() if not part.has_default}
    return [{**needed, "nothing": 1}, *([{}] if needed else []), *({**needed, name: [[]]} for name in operation.parts)]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_arguments_that_do_not_fit_are_refused_before_anything_is_done(operation: Operation, ledger: Path) -> None:
    before = ledger.read_bytes()
    for document in wrong(operation):
        with pytest.raises(gt.errors.InvalidParameter):
            operation.parse(document)
    assert ledger.read_bytes() == before


def test_every_schema_says_what_is_read() -> None:
    import jsonschema  # noqa: PLC0415 (heavy)

    fitting = {"name": "ann", "datasets": ["visits"], "budget": {"epsilon": "0.1", "delta": 1e-9}, "questions": 4}
    schema = codec.schema(BY_NAME["analyst add"].arguments)
    jsonschema.validate(fitting, schema)
    assert vars(BY_NAME["analyst add"].parse(fitting))["questions"] == 4
    for name, value in {"questions": -1, "budget": {"epsilon": []}, "datasets": [], "name": ""}.items():
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**fitting, name: value}, schema)
        with pytest.raises(gt.errors.InvalidParameter):
            BY_NAME["analyst add"].parse({**fitting, name: value})


def test_a_command_finds_the_ledger_in_the_configuration_of_its_folder(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = '[{}]\nsource = "visits.csv"\nunit = "person_id"\nbudget = {{ epsilon = "2" }}\nledger = "{}"\n'
    monkeypatch.chdir(ledger.parent)
    assert cli.main(["admin", "budget", "list"]) == 2
    Path("giveortake.toml").write_text(section.format("visits", "clinic.ledger"))
    assert cli.main(["admin", "analyst", "add", "ann", "--dataset", "visits", "--budget", "1"]) == 0
    assert cli.main(["ledger", "verify"]) == 0
    assert cli.main(["ledger", "show", "giveortake.toml", "--last", "1"]) == 0
    assert "ann" in capsys.readouterr().out
    Path("giveortake.toml").write_text(
        section.format("visits", "clinic.ledger") + section.format("letters", "other.ledger")
    )
    assert cli.main(["admin", "ledger", "entries", "--limit", "2"]) == 2
    assert "table" in capsys.readouterr().err
    assert cli.main(["admin", "ledger", "entries", "--limit", "2", "--table", "visits"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (len(shown["entries"]), shown["more"]) == (2, True)


def test_limits_are_changed_by_every_face_and_last(service: Running) -> None:
    with service.book() as book:
        (level,) = book.levels(analyst="bob")
    limits = {"approval_above": {"epsilon": "0.5"}, "questions": 10_000, "reason": "a course"}
    path = f"/v1/budgets/{level.number}/limits"
    assert service.call("custodian", "POST", path, limits).status_code == 200
    form = {"do": "budget limit", "level": str(level.number), "failures": "7", "reason": "a course"}
    headers = {**service.cookie("custodian"), "content-type": "application/x-www-form-urlencoded"}
    headers |= {"sec-fetch-site": "same-origin"}
    content = "&".join(f"{name}={value}" for name, value in form.items())
    assert service.call(None, "POST", "/custodian", headers=headers, content=content).status_code == 200
    with service.book() as book:
        (level,) = book.levels(analyst="bob")
        (allowance,) = (allowance for allowance in book.failures() if allowance.name == "bob")
        assert str(level.approval_above).startswith("ε = 0.5")
        assert allowance.allowed == 7
        book.verify()
    dear = service.answer("bob", "SELECT COUNT(*) AS n FROM visits", "dear", epsilon="0.6")
    assert dear.json()["error"]["cause"] == "approval_required"
    no_limit = {"approval_above": "none", "questions": "none", "reason": "the course is over"}
    assert service.call("custodian", "POST", path, no_limit).status_code == 200
    with service.book() as book:
        (level,) = book.levels(analyst="bob")
        assert level.approval_above is None
    assert service.call("custodian", "POST", path, {"reason": "nothing"}).status_code == 422
