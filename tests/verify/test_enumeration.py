from __future__ import annotations

import datetime as dt
import itertools
import random
import secrets
import time
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.verify import Flip, Table, family, program
from giveortake.verify.numbers import Polynomial, never_negative

T = TypeVar("T")


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

    with pytest.raises(InvalidParameter, match="same"):
        program(grudge, [0])


def test_what_cannot_be_enumerated_is_said() -> None:
    with pytest.raises(Unprovable, match="more than 1,000 paths"):
        program(lambda x, flip: sum(flip() for _ in range(12)), [0], paths=1000)
    with pytest.raises(InvalidParameter):
        program(lambda x, flip: flip(2), [0])
    with pytest.raises(InvalidParameter):
        program(lambda x, flip: flip(), [])
    with pytest.raises(TypeError, match="concatenate"):
        program(lambda x, flip: "a" + flip(), [0])


small = st.lists(st.integers(-3, 3), min_size=1, max_size=6).map(Polynomial)


@some_examples
@given(small)
def test_a_polynomial_is_called_never_negative_only_if_it_is(polynomial: Polynomial) -> None:
    values = [polynomial.at(Fraction(k, 400)) for k in range(1, 400)]
    if never_negative(polynomial):
        assert min(values) >= 0
    else:
        square = polynomial * polynomial
        assert never_negative(square)
        assert min(values) < 0 or min(abs(value) for value in values) < Fraction(1, 10)


@some_examples
@given(small, small.filter(bool))
def test_dividing_polynomials_leaves_a_smaller_rest(a: Polynomial, b: Polynomial) -> None:
    quotient, rest = divmod(a, b)
    assert quotient * b + rest == a
    assert rest.degree < b.degree or not rest


def rnd(x: int, flip: Flip) -> int:
    return int(random.random() < 0.5)  # noqa: S311


def rolled_by_numpy(x: int, flip: Flip) -> int:
    np.random.random()
    return flip()


def test_dice_that_are_not_of_flip_are_found() -> None:
    with pytest.raises(Unprovable, match=r"rnd.*[01].*[01]") as error:
        program(rnd, [0, 1])
    assert "flip(p)" in str(error.value.hint)
    with pytest.raises(Unprovable, match=r"numpy\.random"):
        program(rolled_by_numpy, [0, 1])
    with pytest.raises(Unprovable, match="and then"):
        program(lambda x, flip: secrets.randbelow(2), [0, 1])
    counter = itertools.count()
    with pytest.raises(Unprovable, match="and then"):
        program(lambda x, flip: (flip() + next(counter)) % 2, [0, 1])
    t = program(lambda x, flip: x if flip() else flip(), [0, 1])
    with pytest.raises(Unprovable, match="and then"):
        t.post_process(lambda output: secrets.randbelow(2))


def test_other_coins_on_the_same_path_are_found() -> None:
    biases = itertools.cycle(["1/2", "1/3", "1/5"])
    with pytest.raises(InvalidParameter, match="same"):
        program(lambda x, flip: flip(next(biases)) + flip(next(biases)), [0, 1])


def test_a_cut_that_the_program_swallows_is_still_a_cut() -> None:
    def swallows(x: int, flip: Flip) -> int:
        try:
            while True:
                if flip():
                    return 7
        except:  # noqa: E722
            return x

    t = program(swallows, [0, 1], depth=4)
    assert t.remainder() == Fraction(1, 16)
    assert t.outputs == (7,)


def test_a_flip_is_used_where_it_belongs() -> None:
    with pytest.raises(InvalidParameter, match="loop"):
        program(lambda x, flip: flip.until(lambda inner: flip() or inner()), [0])
    with pytest.raises(InvalidParameter, match="loop"):
        program(lambda x, flip: flip.until(lambda inner: inner.choose(3), lambda n: n and flip()), [0])
    kept: list[Flip] = []

    def late(x: int, flip: Flip) -> int:
        kept.append(flip)
        return flip()

    program(late, [0])
    with pytest.raises(InvalidParameter, match="run"):
        kept[0]()


def test_choices_are_of_the_objects_of_this_run() -> None:
    def fresh(x: int, flip: Flip) -> int:
        boxes: list[list[int]] = [[0], [1]]
        chosen = flip.choose(boxes)
        chosen.append(flip())
        return sum(len(box) for box in boxes) - 2

    assert program(fresh, [0]).law(0) == {1: 1}


@dataclass(frozen=True)
class Labelled:
    """An output that equals others whatever its label says."""

    value: int
    label: str = field(compare=False, repr=False)


class Colour(IntEnum):
    """Outputs that equal numbers."""

    RED = 1


class Right(Flag):
    """Members that can be joined."""

    READ, WRITE = 1, 2


class Alike(Enum):
    """Members that call each other equal."""

    NO, YES = 0, 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Alike"


class Unhashable(Enum):
    """Members without a hash."""

    NO, YES = 0, 1
    __hash__ = None  # type: ignore[assignment]  # (that is the point)


class Point(NamedTuple):
    """A tuple with names."""

    x: object


class Note(str):
    """A text that can hold more than its letters."""

    about: object = None


class Whole(int):
    """A number that can hold more than its value."""

    about: object = None
    numerator = property(lambda self: self)  # so that a fraction keeps it


class Hiding:
    """An object that does not show what is in it."""

    def __init__(self, x: object) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hiding)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Hiding()"


class Zone(dt.tzinfo):
    """A zone that may hold anything."""

    def utcoffset(self, moment: dt.datetime | None) -> None:
        return None

    tzname = dst = utcoffset


def _about(number: T, about: object) -> T:
    object.__setattr__(number, "about", about)
    return number


@all_cases(
    "make",
    [
        lambda x: complex(float("nan"), x),
        lambda x: Decimal(f"NaN{7 + x}"),
        lambda x: Decimal("sNaN") if x else 1,
        lambda x: Decimal("NaN") if x else float("nan"),
        lambda x: np.datetime64("NaT") if x else float("nan"),
        lambda x: np.float32("nan") if x else float("nan"),
        lambda x: (1, np.float64("nan")),
        lambda x: frozenset([float("nan")]),
        lambda x: _about(Note("a"), x),
        lambda x: Fraction(_about(Whole(1), x)),
        Hiding,
        lambda x: (Hiding(x),),
        Point,
        lambda x: frozenset([Hiding(x)]),
        lambda x: Labelled(1, f"{x}"),
        Unhashable,
        lambda x: time.struct_time((*[1] * 9, "CET", x)),
        lambda x: dt.datetime(2020, 1, 1, tzinfo=Zone()),
        lambda x: dt.time(12, tzinfo=dt.timezone(dt.timedelta(hours=x))),
        lambda x: type("int64", (np.int64,), {"__module__": "numpy"})(1),
        lambda x: np.rec.array(np.array([(x, 2.0)], dtype=[("a", object), ("b", "f8")]))[0],
        lambda x: [x],
        lambda x: lambda: x,
        lambda x: np.void(b"ab"),
        lambda x: memoryview(b"a"),
        slice,
        lambda x: iter(()),
        bytearray,
    ],
)
def test_outputs_that_may_hold_more_than_can_be_compared_are_refused(make: Any) -> None:
    """Else ε = 0 was claimed where everything was given away."""
    with pytest.raises(InvalidParameter, match=r"compared|none"):
        program(lambda x, flip: make(x), [0, 1])
    with pytest.raises(InvalidParameter, match=r"compared|none"):
        program(lambda x, flip: x, [0, 1]).post_process(make)


@all_cases(
    "make",
    [
        lambda x: None if x else "a",
        lambda x: (b"a", Fraction(x, 3), Decimal(x), complex(0, x), 0.5 * x),
        lambda x: frozenset([x, "b"]),
        lambda x: Colour.RED if x else 2,
        lambda x: (Right.READ | Right.WRITE, Right.READ)[x],
        np.int64,
        np.str_,
        np.bool_,
        lambda x: np.float32(x / 3),
        lambda x: np.datetime64(f"2024-01-0{x + 1}"),
        lambda x: dt.datetime(2020, 1, 1 + x, tzinfo=dt.UTC),
    ],
)
def test_outputs_of_known_kinds_are_told_apart(make: Any) -> None:
    """On one input always the same, and others on the other."""
    t = program(lambda x, flip: (make(x), flip())[0], [0, 1])
    assert len(t.outputs) == 2
    assert t.delta(5) == 1


@all_cases(
    "pair",
    [
        (True, 1),
        (0.0, -0.0),
        ((1, True), (1, 1)),
        (1, 1.0),
        (Decimal("1.0"), Decimal("1.00")),
        (complex(0, 0.0), complex(0, -0.0)),
        (np.float32(0.0), np.float32(-0.0)),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, fold=1)),
        (range(0, 3, 2), range(0, 4, 2)),
        (Alike.NO, Alike.YES),
        ((Alike.NO,), (Alike.YES,)),
        (frozenset([0, 8, 16]), frozenset([16, 8, 0])),  # written in another order
        (frozenset([0.0]), frozenset([-0.0])),
        (1, Colour.RED),
    ],
)
def test_outputs_that_only_python_calls_equal_are_refused(pair: tuple[object, object]) -> None:
    with pytest.raises(InvalidParameter, match="calls equal"):
        program(lambda x, flip: pair[flip()], [0])
    with pytest.raises(InvalidParameter, match="calls equal"):
        program(lambda x, flip: pair[x], [0, 1])
    t = program(lambda x, flip: x if flip() else flip(), [0, 1])
    with pytest.raises(InvalidParameter, match="calls equal"):
        t.post_process(lambda output: pair[output])


def test_not_a_number_is_one_output() -> None:
    t = program(lambda x, flip: (float("nan"), flip("1/3")) if flip() else float("nan"), [0, 1])
    assert t.probability(1, float("nan")) == Fraction(1, 2)
    assert t.epsilon() == 0


def test_a_coin_is_known_by_its_type_too() -> None:
    """0.1 is one tenth as written; the fraction that Python calls equal to it is not."""
    law = program(lambda x, flip: flip(0.1) if x else flip(Fraction(0.1)), [1, 0]).law(1)
    both = program(lambda x, flip: (flip(0.1), flip(Fraction(0.1))), [0]).law(0)
    assert law[1] == Fraction(1, 10)
    assert both[1, 1] == Fraction(1, 10) * Fraction(0.1)


def test_a_family_is_whole_and_made_of_probabilities() -> None:
    def loop(x: int, flip: Flip, p: Any) -> int:
        return next((x for _ in range(6) if flip(p)), 1 - x)

    with pytest.raises(Unprovable, match="more than 4 coins"):
        family(loop, depth=4)
    assert family(loop, depth=6).ratios()
    for wrong in (lambda p: 2 * p, lambda p: p - 1, lambda p: p + Fraction(1, 2)):
        with pytest.raises(InvalidParameter, match="not a probability"):
            family(lambda x, flip, p, wrong=wrong: x if flip(wrong(p)) else flip())


def test_laws_that_are_none_make_no_table() -> None:
    with pytest.raises(InvalidParameter, match="law"):
        Table({0: {0: Fraction(2)}, 1: {0: Fraction(1)}}, [(0, 1)])
    with pytest.raises(InvalidParameter, match="law"):
        Table({0: {0: Fraction(2), 1: Fraction(-1)}, 1: {0: Fraction(1)}}, [(0, 1)])
