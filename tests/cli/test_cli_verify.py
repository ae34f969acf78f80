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
    assert "true: " in out
    assert "(ln 3)-DP" in out
    assert "0 and 1" in out  # the worst pair


def test_a_false_claim_gets_the_smallest_counterexample(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::name_and_shame", "--epsilon", "1", "--delta", "0.02"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "FALSE: " in out
    assert all(fact in out for fact in ("(1, 1/50)-DP", "input 0 ", "('name', 0)", "1/20", "neighbour 1 "))


def test_without_a_claim_the_numbers_are_derived(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::randomized_response"]) == 0
    assert "ε = ln 3, ratio 3" in capsys.readouterr().out
    assert cli.main(["verify", f"{survey}::noisy"]) == 0
    assert "neighbouring pairs: 2," in capsys.readouterr().out


REFUSED = [
    (["verify", "survey.py"], "survey.py"),
    (["verify", "absent.py::f"], "absent.py"),
    (["verify", "{}::absent"], "randomized_response"),
    (["verify", "{}::nothing"], "nothing"),
    (["verify", "{}::noisy", "--inputs", "range(3)"], "inputs"),
    (["verify", "{}::noisy", "--epsilon", "three"], "epsilon"),
    (["verify", "{}::randomized_response", "--inputs", "[1]", "--epsilon", "0"], "inputs"),
    (["verify", "{}::typo"], "survey.py:20 typo(0, flip)"),
    (["verify", "{}::coinless"], "coinless"),
    (["verify", "{}::greedy"], "'d'"),
    (["verify", "{}::rnd", "--epsilon", "1"], "same coins"),
]


def test_what_cannot_be_verified_is_refused_by_its_name(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, name in REFUSED:
        assert cli.main([argument.format(survey) for argument in arguments]) == 2
        captured = capsys.readouterr()
        assert name in captured.err, (arguments, captured.err)
        assert captured.out == ""


def test_what_is_not_shown_is_not_called_false(survey: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", f"{survey}::endless", "--epsilon", "1", "--depth", "9"]) == 2
    out = capsys.readouterr().out
    assert "NOT SHOWN: " in out
    assert "1/512" in out
    assert "Counterexample" not in out


def test_a_file_that_does_not_load_is_an_error_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, where in (("1 +", "broken.py:1"), ("x = 1\nx / 0", "broken.py:2")):
        (tmp_path / "broken.py").write_text(text, encoding="utf-8")
        assert cli.main(["verify", f"{tmp_path / 'broken.py'}::f"]) == 2
        assert where in capsys.readouterr().err
