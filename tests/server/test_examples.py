"""Examples in other languages are run, each where its runtime is: curl for every route, JavaScript and R."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from demo_service import COUNT
from giveortake.server.application import ROUTES
from giveortake.server.console.views import snippets

if TYPE_CHECKING:
    from demo_service import Running
    from giveortake.server.routes import Route

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "http.md").read_text(encoding="utf-8")
EVERY = {
    "curl": ("sh", "-eu", "-c"),
    "JavaScript": ("node", "--input-type=module", "--eval"),
    "R": ("Rscript", "-e"),
}
RUN = {language: command for language, command in EVERY.items() if shutil.which(command[0])}  # what is here


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.+?)\n```", PAGE, re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def output(language: str, code: str, service: Running) -> str:
    command = RUN[language]
    url, token = service.address, service.tokens["ann"]
    known = {"URL": url, "TOKEN": token, "CUSTODIAN": service.tokens["custodian"]}
    own = {"GIVEORTAKE_URL": url, "GIVEORTAKE_TOKEN": token}
    said = {**os.environ, **known, **own}
    done = subprocess.run([*command, code], env=said, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def is_told(route: Route, code: str) -> bool:
    """Whether a line of the examples calls a route."""
    path = re.sub(r"{\w+}", r"[^/?\\s\"]+?", re.escape(route.path).replace("\\{", "{").replace("\\}", "}"))
    lines = re.findall(rf"\$URL{path}(?=[\s\"?]|$).*", code.replace('$(echo "$MADE" | field id)', "$ID"), re.MULTILINE)
    sent = route.method == "POST" and not route.path.endswith("/check")
    return any((" -d " in line) == sent for line in lines)


def test_every_route_has_an_example_with_curl_that_runs(service: Running) -> None:
    code = block("sh")
    assert [route.name for route in ROUTES if not route.page and not is_told(route, code)] == []
    told = output("curl", code, service)
    assert '"served":true' in told
    assert service.call("custodian", "GET", "/v1/datasets/trips").json()["tables"][0]["name"] == "trips"


def test_the_examples_of_the_page_and_what_the_console_gives_to_take_along_run(service: Running) -> None:
    for language in RUN:
        code = dict(snippets("visits", COUNT, {"epsilon": "0.01"}))[language]
        assert "islands" in output(language, code, service), language
        if fence := {"JavaScript": "js", "R": "r"}.get(language):
            assert "islands" in output(language, block(fence), service), language
