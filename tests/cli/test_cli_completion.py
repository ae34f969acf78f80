"""Shells complete every command, action, option and choice: bash is asked, the others are read."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from giveortake import cli
from giveortake.cli.completion import positions

TRY = 'source /dev/stdin <<< "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _giveortake; echo "${COMPREPLY[*]}"'


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_everything_that_can_be_said_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    for position in positions(cli.parser_of_all()):
        for word in (*position.actions, *position.options):
            assert (word.lstrip("-") if shell == "fish" else word) in text
    if found := shutil.which(shell):
        assert subprocess.run([found, "-n"], input=text, text=True, capture_output=True, check=True).stderr == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["do"], "doctor"),
        (["ledger", "re"], "restore reindex"),
        (["admin", "token", "is"], "issue"),
        (["query", "trips.csv", "--format", ""], "table csv json parquet"),
        (["ledger", "show", "--l"], "--last"),
        (["query", ""], ""),  # a file
    ],
)
def test_bash_offers_what_may_follow(typed: list[str], offered: str, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"SCRIPT": script("bash", capsys), "PATH": "/usr/bin:/bin"}
    line = ["bash", "-c", TRY, "bash", "giveortake", *typed]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == offered
