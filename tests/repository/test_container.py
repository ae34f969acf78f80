"""The Containerfile names files, extras, options, a port and a route that exist; nothing is built here."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from giveortake import cli
from giveortake.server import metrics
from giveortake.server.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
STEPS = [tuple(line.split(maxsplit=1)) for line in TEXT.replace("\\\n", " ").splitlines() if line]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


def said(word: str) -> list[str]:
    """What follows each instruction of this name."""
    return [rest for name, rest in STEPS if name == word]


def command() -> list[str]:
    """What runs unless another command is given."""
    assert json.loads(said("ENTRYPOINT")[0]) == ["giveortake"]
    return list(json.loads(said("CMD")[0]))


def checked() -> tuple[str, str]:
    """The program of the health check, and the address it asks."""
    python, option, program = json.loads(said("HEALTHCHECK")[0].partition("CMD ")[2])
    assert (python, option) == ("python", "-c")
    (address,) = re.findall(r"'(http:[^']+)'", program)
    return program, address


def test_what_is_copied_is_there_and_goes_where_the_wheel_is_built() -> None:
    copied = [shlex.split(each) for each in said("COPY")]
    names = {name for *some, _ in copied for name in some}
    assert all((ROOT / name).exists() for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= names
    (locked,) = re.findall(r"--constraint /source/(\S+)", TEXT)
    assert locked in names


def test_its_extras_and_its_python_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"\.whl\)\[(.+?)\]", TEXT)
    assert "server" in extras.split(",")
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    (python,) = {re.findall(r"^python:([\d.]+)-slim", each)[0] for each in said("FROM")}
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


def test_command_port_and_health_check_agree_whatever_the_configuration_says() -> None:
    arguments = cli.parser_of_all().parse_args(command())
    assert (arguments.command, arguments.host) == ("serve", "0.0.0.0")  # noqa: S104 (inside a container)
    (exposed,) = said("EXPOSE")
    assert arguments.port == int(exposed) == Settings.__dataclass_fields__["port"].default
    program, address = checked()
    ast.parse(program)
    found = urlsplit(address)
    assert (found.hostname, found.port) == ("127.0.0.1", arguments.port)
    assert ("GET", found.path, "anybody") in {(each.method, each.path, each.role) for each in metrics.ROUTES}


def test_its_user_is_a_number_that_owns_what_is_written() -> None:
    (user,) = said("USER")
    uid, gid = user.split(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert f"useradd --uid {uid} --gid {gid} " in TEXT
    made = re.findall(rf"install -d -o {uid} -g {gid} -m 0700 (.+)", TEXT)[0].split()
    volumes = json.loads(said("VOLUME")[0])
    assert set(volumes) < set(made)
    assert re.findall(r"GIVEORTAKE_STATE=(\S+)", TEXT)[0] in volumes
    assert said("WORKDIR")[0] in made


def test_the_page_mounts_what_the_image_declares() -> None:
    section = PAGE.partition("\n## Containers\n")[2].partition("\n## ")[0]
    mounted = re.findall(r"-v (\S+?):(/[^:\s]+)", section)
    assert set(json.loads(said("VOLUME")[0])) <= {place for _, place in mounted}
    assert f"{said('WORKDIR')[0]}/{command()[1]}" in {place for _, place in mounted}
    assert f"uid {said('USER')[0].split(':')[0]}" in section
    lines = re.findall(r"^\$ podman (?:exec giveortake giveortake|run --rm .* giveortake) (.+)$", section, re.MULTILINE)
    commands = [shlex.split(re.split("[#>]", line)[0]) for line in lines]
    assert {"init", "doctor", "admin"} == {cli.parser_of_all().parse_args(each).command for each in commands}
