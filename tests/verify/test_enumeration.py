from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveortake.errors import GiveOrTakeError, InvalidParameter, Unprovable
from giveortake.verify import Flip, program
from giveortake.verify.polynomials import Polynomial, never_negative


def test_every_path_is_taken_once_and_probabilities_are_exact() -> None:
    t = program(lambda x, flip: (x, *(flip("1/3") for _ in range(10))), [0])
    assert t.paths == 2**10
    assert t.probability(0, (0, *[1] * 10)) == Fraction(1, 3) ** 10
    assert sum(t.law(0).values()) == 1


def test_coins_that_cannot_fall_both_ways_make_no_paths() -> None:
    assert program(lambda x, flip: flip(0) + flip(1) + flip(1.0), [0]).law(0) == {2: 1}
    assert program(lambda x, flip: flip(1), [0]).paths == 1


def test_choices_and_weights_are_exact() -> None:
    def f(x: int, flip: Flip, choose: object, categorical: object) -> tuple[object, ...]:
        return choose(3), choose("ab"), categorical([1, "1/2"]), categorical({"u": 0, "v": 2})  # type: ignore[operator]

    law = program(f, [0]).law(0)
    assert law[1, "b", 1, "v"] == Fraction(1, 3) * Fraction(1, 2) * Fraction(1, 3)
    assert len(law) == 12


def test_names_of_arguments_decide_what_they_are() -> None:
    assert program(lambda x, flip, categorical: categorical([1, 3]), [0]).law(0)[1] == Fraction(3, 4)
    assert program(lambda x, coin, pick: pick(4), [0]).law(0)[3] == Fraction(1, 4)


def test_endless_loops_are_summed_to_the_end() -> None:
    """Von Neumann's fair coin from a biased one, and a die from three coins."""
    fair = program(lambda x, flip: flip.until(lambda f: (f("1/7"), f("1/7")), lambda pair: pair[0] != pair[1])[0], [0])
    assert fair.law(0) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    die = program(lambda x, flip: flip.until(lambda f: 4 * f() + 2 * f() + f(), lambda n: n < 6), [0])
    assert set(die.law(0).values()) == {Fraction(1, 6)}
    with pytest.raises(Unprovable, match="never ends"):
        program(lambda x, flip: flip.until(lambda f: f(), lambda n: n > 1), [0])


def test_a_geometric_loop_has_a_certified_remainder() -> None:
    def failures(x: int, flip: Flip) -> int:
        while not flip("1/3"):
            x += 1
        return x

    t = program(failures, [0], depth=30)
    assert t.remainder() == Fraction(2, 3) ** 30
    assert t.probability(0, 4) == Fraction(2, 3) ** 4 / 3


def test_a_program_that_remembers_is_refused() -> None:
    seen: list[int] = []

    def grudge(x: int, flip: Flip) -> int:
        seen.append(x)
        return flip() + flip() if len(seen) < 2 else 0

    with pytest.raises(InvalidParameter, match="does not do the same"):
        program(grudge, [0])


def test_what_cannot_be_enumerated_is_said() -> None:
    with pytest.raises(Unprovable, match="more than 1,000 paths"):
        program(lambda x, flip: sum(flip() for _ in range(12)), [0], paths=1000)
    with pytest.raises(GiveOrTakeError, match="cannot be counted"):
        program(lambda x, flip: [flip()], [0])
    with pytest.raises(InvalidParameter):
        program(lambda x, flip: flip(2), [0])
    with pytest.raises(InvalidParameter):
        program(lambda x, flip: flip(), [])
    with pytest.raises(TypeError, match="concatenate"):
        program(lambda x, flip: "a" + flip(), [0])


small = st.lists(st.integers(-3, 3), min_size=1, max_size=6).map(Polynomial)


@given(small)
def test_a_polynomial_is_called_never_negative_only_if_it_is(polynomial: Polynomial) -> None:
    values = [polynomial.at(Fraction(k, 400)) for k in range(1, 400)]
    if never_negative(polynomial):
        assert min(values) >= 0
    else:
        square = polynomial * polynomial
        assert never_negative(square)
        assert min(values) < 0 or min(abs(value) for value in values) < Fraction(1, 10)


@given(small, small.filter(bool))
def test_dividing_polynomials_leaves_a_smaller_rest(a: Polynomial, b: Polynomial) -> None:
    quotient, rest = divmod(a, b)
    assert quotient * b + rest == a
    assert rest.degree < b.degree or not rest
