"""How promises read: one sentence for people, short code for programmers, safe HTML for notebooks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from promise_strategies import ONE_OF_EACH

from cases import all_cases
from giveortake.exact import exact_or_about, exact_or_up, exp_up
from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    unit,
)
from giveortake.privacy.guarantee import factor

SENTENCES = (Path(__file__).parent / "golden" / "sentences.txt").read_text(encoding="utf-8").splitlines()
TOLD: list[Guarantee] = [
    PureDP("0.1"),
    PureDP("0.1", unit=unit("user_id"), neighbours="change-one"),
    ApproxDP(1, "1e-6"),
    ProbabilisticDP(1, "1e-6"),
    ComputationalDP(1, "1e-6"),
    ZCDP("1/2"),
    GaussianDP("0.5"),
    RenyiDP({2: 1}),
]


@all_cases(("promise", "sentence"), list(zip(TOLD, SENTENCES, strict=True)))
def test_a_promise_is_one_sentence(promise: Guarantee, sentence: str) -> None:
    assert str(promise) == sentence


@all_cases(
    "code",
    [
        "PureDP('0.1')",
        "PureDP('1/3')",
        "ApproxDP('1', '1e-6', unit=unit('user_id'))",
        "ProbabilisticDP('0.5', '1e-6', neighbours='change-one')",
        "ComputationalDP('12.5', '1e-9')",
        "ZCDP('1e300')",
        "GaussianDP('0.0001')",
        "RenyiDP({'1.5': '0.1', '4': '0.2'})",
    ],
)
def test_the_representation_of_short_numbers_is_the_code_that_makes_them(code: str) -> None:
    assert repr(eval(code)) == code  # noqa: S307 the code is the test's own


def test_long_numbers_are_marked_as_approximate_and_long_curves_are_shortened() -> None:
    assert repr(GaussianDP(1).repeat(2)) == "GaussianDP('≈1.41422')"
    assert repr(ZCDP(1).renyi(range(2, 40))) == "RenyiDP({'2': '2', '3': '3', …, '39': '39'})"


def test_html_is_escaped() -> None:
    html = PureDP(1, unit=unit("<script>"))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@all_cases("promise", ONE_OF_EACH)
def test_every_kind_shows_its_code_and_its_sentence_in_html(promise: Guarantee) -> None:
    assert promise._repr_html_().startswith(f"<div><code>{type(promise).__name__}(")


@all_cases("epsilon", ["1e-300", "1e-9", "0.0009", "0.001", "0.1", "1", "29.9"])
def test_shown_factors_are_never_below_the_truth(epsilon: str) -> None:
    shown = sum(Fraction(part) for part in factor(Fraction(epsilon)).split(" + "))
    assert shown >= exp_up(Fraction(epsilon)) - Fraction(1, 2**180)


def test_shown_bounds_are_never_below_the_number() -> None:
    for number in (Fraction(1, 3), Fraction(2, 7), Fraction(10**20 + 1, 3), Fraction(1, 10**9)):
        assert Fraction(exact_or_up(number)) >= number
    assert exact_or_about(Fraction(0)) == "0"
