"""Exact integers with a bound: nothing wraps, nothing fails, and no value decides how it is computed."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import numpy as np

import giveortake
from cases import all_cases
from giveortake.mechanisms.mechanism import BoundedIntegers

BITS = [3, 30, 31, 40, 61, 62, 63, 64, 66, 93, 94, 100, 110, 124, 127]
SOURCE = Path(giveortake.__file__).parent


def _any(luck: random.Random, bound: int, count: int) -> list[int]:
    return [luck.choice([luck.randint(-bound, bound), bound, -bound, bound - 1, 0, 1, -1]) for _ in range(count)]


@all_cases("bits", BITS)
def test_all_arithmetic_is_that_of_pythons_integers(bits: int) -> None:
    luck = random.Random(bits)  # noqa: S311 (which numbers are tried need not be secret)
    for _ in range(60):
        bound = 2**bits + luck.choice([-1, 0, 1])
        plain = _any(luck, bound, 24)
        made = BoundedIntegers.clamped(plain, bound)
        for step in luck.choices("tpsd", k=3):
            if step == "t":
                factor = luck.choice([0, 1, -3, 10**6])
                made, plain = made.times(factor), [each * factor for each in plain]
            elif step == "p":
                noise = np.array([luck.choice([-(2**63), 2**63 - 1, luck.randint(-9, 9)]) for _ in plain])
                made, plain = made.plus(noise), [a + b for a, b in zip(plain, noise.tolist(), strict=True)]
            elif step == "s" and len(plain) == 24:
                table = np.array(plain, dtype=object).reshape(2, 3, 4).sum(axis=1).T
                made, plain = made.summed((2, 3, 4), (2, 0)), table.ravel().tolist()
            elif step == "d" and len(plain) > 1:
                made, plain = made.mapped(lambda limb: limb[1:] - limb[:1], 2), [a - plain[0] for a in plain[1:]]
            assert made.tolist() == made.released().tolist() == plain
            assert max(map(abs, plain)) <= made.bound
            assert all(np.abs(limb).max() <= made.reach <= 2**63 for limb in made.limbs)
        expected = np.array(_any(luck, 2**45, len(plain)))
        assert made.distance(expected) == sum(abs(a - b) for a, b in zip(plain, expected.tolist(), strict=True))


@all_cases("bits", BITS)
def test_what_is_beyond_the_bound_is_moved_to_it_and_no_two_integers_move_apart(bits: int) -> None:
    luck, bound = random.Random(bits), 2**bits  # noqa: S311 (as above)
    one, other = _any(luck, 4 * bound, 200), _any(luck, 4 * bound, 200)
    a, b = (BoundedIntegers.clamped(each, bound).tolist() for each in (one, other))
    assert max(map(abs, a)) == bound
    assert all(abs(p - q) <= abs(x - y) for p, q, x, y in zip(a, b, one, other, strict=True))


@all_cases("bits", BITS)
def test_types_limbs_and_shapes_depend_on_the_bound_alone(bits: int) -> None:
    def form(values: list[int]) -> list[Any]:
        made = BoundedIntegers.clamped(values, 2**bits)
        several = [made, made.summed((2, 3), ()), made.summed((2, 3), (1,)), made.times(10**6).times(10**6), made[:2]]
        several += [made.plus(np.arange(6)), made.placed(np.arange(6), (9,))]
        return [[each.bound, each.reach, *((limb.dtype, limb.shape) for limb in each.limbs)] for each in several]

    forms = [form(values) for values in ([0] * 6, [2**bits] * 6, [-(2**bits), 1, 0, 0, 0, 2**bits])]
    assert forms[0] == forms[1] == forms[2]


def test_counts_of_a_million_cells_are_one_word_each() -> None:
    counts = BoundedIntegers.clamped(np.zeros(10**6, dtype=np.int64), giveortake.mechanisms.mechanism.MOST_ROWS)
    assert len(counts.summed((10,) * 6, ()).limbs) == 1


def test_nothing_is_released_in_words_that_do_not_hold_it() -> None:
    for value in (2**63 - 1, -(2**63), 2**63, -(2**63) - 1):
        released = BoundedIntegers.clamped([value, 0], 2**70).released()
        assert released.tolist() == [value, 0]
        assert (released.dtype == np.int64) == (-(2**63) <= value < 2**63)


# -- no other arithmetic on opened values -----------------------------------------------------------------------------

_ENDS = {"tolist", "shape", "size", "release", "released"}  # what these give is Python's, public, or protected
_PLAIN = {"int", "len", "isinstance", "abs", "list", "sorted"}  # of Python's own integers
_OWN = {"BoundedIntegers", "RandomizedResponse"}  # the second opens answers, and computes with their places
_REDUCTIONS = {"sum", "cumsum", "prod", "dot", "max", "min", "mean", "astype", "__add__", "__mul__"}


def _operands(node: ast.AST) -> list[Any]:
    """What a node computes with, if it is an operation or a call of numpy's; an array of objects is none yet."""
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.UnaryOp() if not isinstance(node.op, ast.Not):
            return [node.operand]
        case ast.AugAssign():
            return [node.target, node.value]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"))):
            of_objects = any(each.arg == "dtype" and ast.unparse(each.value) == "object" for each in node.keywords)
            return [] if of_objects else node.args
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _REDUCTIONS:
            return [value]
    return []


def arithmetic_on_opened_values(text: str) -> list[int]:
    """The lines in which an opened value, or what is made of one, is computed with in any other way than by methods."""
    found: list[int] = []
    tree = ast.parse(text)
    own_classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name in _OWN)
    own = {node for own_class in own_classes for node in ast.walk(own_class)}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function in own:
            continue
        names: set[str] = set()

        def is_open(node: ast.AST, names: set[str] = names) -> bool:
            if isinstance(node, ast.Name):
                return node.id in names
            if isinstance(node, ast.Attribute):
                return node.attr not in _ENDS and is_open(node.value)
            if isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Name):
                    if called.id == "opened":
                        return True
                    return called.id not in _PLAIN and any(map(is_open, node.args))
                if isinstance(called, ast.Attribute):
                    if called.attr == "open" and node.args:
                        return True
                    return called.attr not in _ENDS and (is_open(called.value) or any(map(is_open, node.args)))
            if isinstance(node, ast.Lambda | ast.comprehension | ast.Constant):
                return False
            return any(map(is_open, ast.iter_child_nodes(node)))

        for _ in range(3):  # names of names
            for node in ast.walk(function):
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value and is_open(node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        computing: list[Any] = [node for node in ast.walk(function) if any(map(is_open, _operands(node)))]
        found += [node.lineno for node in computing]
    return found


def test_no_opened_value_is_computed_with_but_by_its_own_methods() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "opened(" in text or ".open(" in text:
            lines = arithmetic_on_opened_values(text)
            if lines and "mechanisms" in text:
                found[str(path.relative_to(SOURCE))] = lines
    assert found == {}


@all_cases(
    "line",
    [
        "table = opened(value, self); return table * 3",
        "table = np.asarray(opened(value, self)); return table",
        "table = opened(value, self).reshape(3); other = table; return other.sum()",
        "table = value.open(self); return -table",
        "table = value.open(self); return np.abs(table[1:])",
        "total = 0; total += opened(value, self); return total",
        "return opened(value, self).astype(object)",
    ],
)
def test_other_arithmetic_on_opened_values_is_noticed(line: str) -> None:
    assert arithmetic_on_opened_values(f"def release(self, value):\n    {line}\n") != []


def test_methods_and_pythons_integers_are_no_other_arithmetic() -> None:
    lines = ["x = opened(value, self)", "(n,) = x.times(3).tolist()", "return n + 1, x.size + 2"]
    text = "def release(self, value):\n    " + "\n    ".join(lines)
    assert arithmetic_on_opened_values(text) == []
