"""What is written about the service is what it does: routes, causes, OpenAPI, the log."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import polars as pl

import giveortake as gt
from demo_service import COUNT
from giveortake.server.application import ROUTES, Log
from giveortake.server.responses import MEDIA
from giveortake.server.routes import openapi
from giveortake.server.settings import KEYS, Settings
from giveortake.wire.errors import BY_NAME, error_of, refusal_of
from tiers import tiered
from waiting import LONGEST

if TYPE_CHECKING:
    from demo_service import Running

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
FEW = hypothesis.settings(
    max_examples=tiered(3, 60), phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck)
)


def test_the_page_has_places_for_the_routes_and_causes_that_the_site_writes() -> None:
    assert (PAGE.count("<!-- routes -->"), PAGE.count("<!-- causes -->")) == (1, 1)


def test_every_key_of_the_configuration_is_on_the_page_for_custodians_with_its_default() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| `(\w+)` \| (?:`(.*?)`|none) \|", page, re.MULTILINE))
    assert set(said) == set(KEYS)
    settings = Settings(Path("giveortake.toml"), (), "trips.ledger")
    for key, default in said.items():
        value = getattr(settings, key)
        written = tomllib.loads(f"{key} = {default}")[key] if default else None
        assert (f"{value >> 30}GB" if key == "address_space" else value) == (
            tuple(written) if written == [] else written
        )


def test_every_error_comes_back_as_one_of_its_kind() -> None:
    of_no_session = {"GiveOrTakeError", "SensitiveValue", "ForeignReports", "DamagedReports", "NotFitted"}
    for name in set(gt.errors.__all__) - of_no_session:
        kind = getattr(gt.errors, name)
        error = kind.__new__(kind)
        gt.errors.GiveOrTakeError.__init__(error, "words", hint="more")
        error.request, error.cause, error.reason = 7, "memory", "too much"
        cause, document = refusal_of(error)
        back, _ = error_of(json.loads(json.dumps(document)))
        assert cause.name != "internal", name
        assert isinstance(error, type(back)), name


def test_something_else_than_a_refusal_is_no_error_of_ours() -> None:
    contents: list[Any] = [{}, [], None, {"error": "x"}, {"error": {"cause": "nothing"}}]
    for content in contents:
        back, again = error_of(content)
        assert isinstance(back, gt.errors.GiveOrTakeError)
        assert not again


def test_the_document_of_the_api_tells_every_route() -> None:
    document = openapi(ROUTES)
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(route.method, route.path) for route in ROUTES if not route.page}


def test_nothing_that_fits_the_document_or_does_not_breaks_the_service(service: Running) -> None:
    import schemathesis  # noqa: PLC0415 (heavy)

    schema = schemathesis.openapi.from_dict(service.call("ann", "GET", "/v1/openapi.json").json())
    service.service.metrics.lost.clear()
    seen: set[int] = set()
    for result in schema.get_all_operations():
        operation: Any = result.ok()  # type: ignore[union-attr]  # (our own document)
        who = "bob" if "For analysts" in operation.definition.raw["description"] else "custodian"
        ask(service, who, operation.as_strategy(), seen)
        if operation.body or operation.query:
            ask(service, who, operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE), seen)
    assert {200, 400, 404} <= seen
    assert not [status for status in seen if status >= 500]
    assert not service.service.metrics.lost


def ask(service: Running, who: str, cases: Any, seen: set[int]) -> None:
    """Some requests of one operation."""

    @FEW
    @hypothesis.given(case=cases)
    def asked(case: Any) -> None:
        made = case.as_transport_kwargs(base_url=service.address)
        kinds = {name: value for name, value in made.pop("headers").items() if name.lower() == "content-type"}
        headers = {**kinds, "authorization": f"Bearer {service.tokens[who]}"}
        made.pop("cookies", None)
        if "data" in made:
            made["content"] = made.pop("data")
        seen.add(service.client.request(**made, headers=headers, timeout=LONGEST).status_code)

    asked()


def test_an_answer_is_the_same_in_every_format(service: Running) -> None:
    body = {"sql": COUNT, "terms": {"epsilon": "0.001"}, "key": "formats"}
    found = {
        each: service.call("bob", "POST", f"/v1/datasets/visits/answer?format={each}", body)
        for each in ("json", "csv", "arrow", "parquet")
    }
    assert [each.status_code for each in found.values()] == [200] * 4
    expected = {name: found["json"].json()["columns"][name] for name in ("region", "n", "n_low", "n_high")}
    for name, read in (("csv", pl.read_csv), ("arrow", pl.read_ipc_stream), ("parquet", pl.read_parquet)):
        table: Any = read(BytesIO(found[name].content))
        assert table.select(*expected).to_dict(as_series=False) == expected
        assert found[name].headers["content-type"] == MEDIA[name]


def test_who_is_told_that_the_service_stops_and_who_is_not(service: Running) -> None:
    service.service.draining = True
    try:
        refused = service.answer("bob", COUNT, "too late", epsilon="0.001")
        assert (refused.status_code, refused.json()["error"]["cause"]) == (503, "draining")
        assert service.call(None, "GET", "/health/ready").status_code == 503
        assert service.call(None, "GET", "/health/live").status_code == 200
    finally:
        service.service.draining = False


def test_the_log_has_routes_and_causes_and_nothing_that_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    log = Log(path)
    log.request(
        "POST /v1/datasets/{dataset}/answer", status=402, seconds=0.1, cause="budget", analyst="ann", token=None
    )
    log.close()
    (line,) = path.read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert set(told) == {"at", "front", "what", "route", "status", "milliseconds", "cause", "analyst"}


def test_the_example_with_curl_runs(service: Running) -> None:
    command = PAGE.partition("$ curl")[2].partition("\n```")[0].replace("\\\n", " ")
    command = command.replace("http://127.0.0.1:8431", service.address).replace("$TOKEN", service.tokens["ann"])
    done = subprocess.run(["sh", "-c", f"curl -s {command}"], capture_output=True, text=True, check=True)  # noqa: S607 (of a page)
    assert json.loads(done.stdout)["columns"]["region"][0] == "north"
    assert BY_NAME["budget"].status == 402
    assert COUNT in command
