from __future__ import annotations

from pathlib import Path

import pytest

from giveortake import cli

PROGRAM = """
from giveortake import verify

def randomized_response(x, flip):
    return x if flip() else flip()

def name_and_shame(x, flip):
    return ("name", x) if flip("1/20") else flip()

def noisy(x, flip):
    return x + flip.choose(3)

noisy.inputs = [0, 1, 2]
noisy.neighbours = lambda x, y: abs(x - y) == 1
spelled = {0: {"a": "3/4", "b": "1/4"}, 1: {"a": "1/4", "b": "3/4"}}
made = verify.table(spelled)
nothing = 7

def typo(x, flip):
    return flop()

def coinless(x):
    return x

def greedy(x, flip, a, b, c, d):
    return x

def rnd(x, flip):
    import secrets
    return secrets.randbelow(2)

def endless(x, flip):
    while not flip():
        pass
    return 0
"""


@pytest.fixture
def survey(tmp_path: Path) -> str:
    path = tmp_path / "survey.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["randomized_response", "spelled", "made"])
def test_a_true_claim_is_called_true_with_its_worst_pair(
    survey: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", f"{survey}::{name}", "--epsilon", "ln 3"]) == 0
    out = capsys.readouterr().out
    assert "true: the mechanism is (ln 3)-DP" in out
    assert "Worst pair of inputs: 0 and 1" in out


def test_a_false_claim_gets_the_smallest_counterexample(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::name_and_shame", "--epsilon", "1", "--delta", "0.02"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "FALSE: the mechanism is not (1, 1/50)-DP" in out
    assert "on input 0 the output ('name', 0) has probability 1/20; on its neighbour 1 it has 0." in out
    assert "No counterexample has fewer outputs." in out


def test_without_a_claim_the_numbers_are_derived(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::randomized_response"]) == 0
    assert "ε = ln 3, ratio 3" in capsys.readouterr().out
    assert cli.main(["verify", f"{survey}::noisy"]) == 0
    assert "neighbouring pairs: 2," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "survey.py"], "names no mechanism"),
        (["verify", "absent.py::f"], "no Python file"),
        (["verify", "{}::absent"], "randomized_response"),
        (["verify", "{}::nothing"], "is not a mechanism"),
        (["verify", "{}::noisy", "--inputs", "range(3)"], "not a Python list"),
        (["verify", "{}::noisy", "--epsilon", "three"], "epsilon"),
        (["verify", "{}::randomized_response", "--inputs", "[1]", "--epsilon", "0"], "no two inputs"),
        (["verify", "{}::typo"], "survey.py:20 typo(0, flip) raised NameError: name 'flop' is not defined"),
        (["verify", "{}::coinless"], "takes no coins: it has one argument"),
        (["verify", "{}::greedy"], "missing 1 required positional argument: 'd'"),
        (["verify", "{}::rnd", "--epsilon", "1"], "on the same input and the same coins"),
    ],
)
def test_what_cannot_be_verified_is_refused_with_a_hint(
    survey: str, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([argument.format(survey) for argument in arguments]) == 2
    assert words in capsys.readouterr().err


def test_what_is_not_shown_is_not_called_false(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::endless", "--epsilon", "1", "--depth", "9"]) == 2
    out = capsys.readouterr().out
    assert "NOT SHOWN: a probability of 1/512" in out
    assert "Counterexample" not in out


@pytest.mark.parametrize(
    ("text", "words"),
    [("1 +", "broken.py:1 raised SyntaxError"), ("x = 1\nx / 0", "broken.py:2 raised ZeroDivisionError")],
)
def test_a_file_that_does_not_load_is_an_error_of_ours(
    tmp_path: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text(text, encoding="utf-8")
    assert cli.main(["verify", f"{tmp_path / 'broken.py'}::f"]) == 2
    assert words in capsys.readouterr().err
