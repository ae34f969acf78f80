"""The index of errors names every exception, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from giveortake import errors

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.+?) \| (.*?) ?\|$", PAGE, re.MULTILINE)
BASES = {"GiveOrTakeError", "LedgerError"}


def test_every_exception_is_in_the_index_once_and_nothing_else_is() -> None:
    named = [name for names, _, _ in ROWS for name in re.findall(r"\w+", names)]
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert sorted(named) == sorted(kinds)
    assert kinds == {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}


def test_of_every_exception_it_is_said_when_it_is_raised_and_what_to_do() -> None:
    assert [names for names, when, _ in ROWS if not when.strip()] == []
    assert [names for names, _, advice in ROWS if not advice.strip() and not any(base in names for base in BASES)] == []


def test_a_notebook_shows_the_message_and_the_hint_and_no_frames() -> None:
    refusal = errors.InvalidParameter("epsilon", -1, "is not positive", hint="epsilon=1")
    assert refusal._render_traceback_() == ["InvalidParameter: epsilon = -1 is not positive", "  hint: epsilon=1"]
    assert errors.NotFound("no such file")._render_traceback_() == ["NotFound: no such file"]
