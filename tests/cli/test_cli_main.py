from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version

import pytest

from giveortake import cli
from giveortake.errors import InvalidParameter


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "giveortake", *arguments],
        env=os.environ | {"PYTHONUTF8": "1"} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_the_version_is_that_of_the_package() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"giveortake {version('giveortake')}\n")
    assert run("version").stdout == done.stdout


@pytest.mark.parametrize("arguments", [[], ["--help"], ["help"]])
def test_help_lists_every_command_and_shows_examples(arguments: list[str]) -> None:
    done = run(*arguments, COLUMNS="80")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    for name, command in cli.COMMANDS.items():
        assert re.search(rf"^    {name}\s", done.stdout, re.MULTILINE)
        assert all(example in done.stdout for example in command.examples)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "examples:" in told
    described = told.partition("\n\n")[2].partition("\n\n")[0]  # after the usage
    assert max(map(len, described.splitlines())) < 80
    with pytest.raises(SystemExit):
        cli.main(["help", name])
    assert capsys.readouterr().out == told


def test_an_unknown_command_lists_those_that_exist() -> None:
    done = run("dmeo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: command = 'dmeo' does not exist\n\n"
        f"  hint: did you mean `demo`? the commands are {', '.join(cli.COMMANDS)}\n"
    )


def test_an_unknown_option_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    for command, said in (("demo", ["demo"]), ("ledger show", ["ledger", "show", "trips.ledger"])):
        assert cli.main([*said, "--loud"]) == 2
        assert capsys.readouterr().err == (
            f"error: unrecognized arguments: --loud\n\n  hint: `giveortake {command} --help` shows what it takes\n"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [([], "no promise is named"), (["--epsilon", "1", "--mu", "1"], "--epsilon and --mu were given together")],
)
def test_an_explanation_needs_one_promise(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", *options]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {words}\n\n  hint: name one promise: --epsilon 1")


def test_a_refusal_goes_to_stderr_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_arguments: object) -> int:
        raise InvalidParameter("epsilon", 0, "is not positive", hint='pass epsilon="0.1"')

    _replace_demo(monkeypatch, refuse)
    assert cli.main(["demo"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == 'error: epsilon = 0 is not positive\n\n  hint: pass epsilon="0.1"\n'


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_arguments: object) -> int:
        raise KeyboardInterrupt

    _replace_demo(monkeypatch, interrupt)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "giveortake", "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_package_loads_without_its_commands() -> None:
    code = "import sys, giveortake; print([n for n in ('rich', 'cryptography', 'giveortake.cli') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _replace_demo(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    monkeypatch.setitem(cli.COMMANDS, "demo", replace(cli.COMMANDS["demo"], run=run))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["1_0", "\uff11", "\u0663", " 1", ""])
@pytest.mark.parametrize("arguments", [["serve", "x.toml", "--port"], ["verify", "x.py", "--depth"]])
def test_numbers_of_the_command_line_are_plain_digits(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*arguments, text]) == 2
    assert arguments[-1] in capsys.readouterr().err
