from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version

import pytest

from giveortake import cli
from giveortake.errors import InvalidParameter


def ended(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """How a call ends, also if it ends by itself, and what it has written."""
    try:
        code = cli.main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    expected = (0, f"giveortake {version('giveortake')}\n", "")
    done = subprocess.run([sys.executable, "-m", "giveortake", "--version"], capture_output=True, text=True, check=True)
    assert (done.returncode, done.stdout, done.stderr) == expected
    assert ended(["--version"], capsys) == ended(["version"], capsys) == expected


def test_help_lists_every_command_and_shows_examples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in ([], ["--help"], ["help"]):
        code, out, _ = ended(arguments, capsys)
        assert code == 0
        assert "examples:" in out
        for name, command in cli.COMMANDS.items():
            assert re.search(rf"^    {name}\s", out, re.MULTILINE)
            assert all(example in out for example in command.examples)


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.COMMANDS:
        code, told, _ = ended([name, "--help"], capsys)
        assert code == 0
        assert "examples:" in told
        described = told.partition("\n\n")[2].partition("\n\n")[0]  # after the usage
        assert max(map(len, described.splitlines())) < 80, name
        assert ended(["help", name], capsys) == (0, told, "")


def test_what_is_unknown_or_missing_is_refused_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, names in (
        (["dmeo"], ("'dmeo'", "`demo`", ", ".join(cli.COMMANDS))),
        (["demo", "--loud"], ("--loud", "`giveortake demo --help`")),
        (["ledger", "show", "trips.ledger", "--loud"], ("--loud", "`giveortake ledger show --help`")),
        (["explain"], ("--epsilon",)),
        (["explain", "--epsilon", "1", "--mu", "1"], ("--epsilon", "--mu")),
    ):
        code, out, err = ended(arguments, capsys)
        assert (code, out) == (2, "")
        assert all(name in err for name in names), err


def test_a_refusal_goes_to_stderr_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_arguments: object) -> int:
        raise InvalidParameter("epsilon", 0, "is not positive", hint='pass epsilon="0.1"')

    _replace_demo(monkeypatch, refuse)
    assert cli.main(["demo"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: --epsilon = 0 is not positive\n\n  hint: pass --epsilon 0.1\n"


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_arguments: object) -> int:
        raise KeyboardInterrupt

    _replace_demo(monkeypatch, interrupt)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr() == ("", "")


def test_the_package_loads_without_its_commands() -> None:
    code = "import sys, giveortake; print([n for n in ('rich', 'cryptography', 'giveortake.cli') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _replace_demo(monkeypatch: pytest.MonkeyPatch, run: object) -> None:
    monkeypatch.setitem(cli.COMMANDS, "demo", replace(cli.COMMANDS["demo"], run=run))  # type: ignore[arg-type]


def test_numbers_of_the_command_line_are_plain_digits(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["serve", "x.toml", "--port"], ["verify", "x.py", "--depth"]):
        for text in ("1_0", "\uff11", "\u0663", " 1", ""):
            assert cli.main([*arguments, text]) == 2
            assert arguments[-1] in capsys.readouterr().err
