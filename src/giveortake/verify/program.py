"""`program`: the exact table of a random program."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.verify.calls import called, require_coins, runner
from giveortake.verify.enumeration import DEPTH, PATHS, laws_of
from giveortake.verify.relations import Relation, neighbouring_pairs
from giveortake.verify.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable


def program(
    f: Callable[..., Any],
    inputs: Iterable[Hashable] = (0, 1),
    *,
    neighbours: Relation = None,
    depth: int = DEPTH,
    paths: int = PATHS,
) -> Table:
    """Run `f(x, flip)` over every path that its coins can take, on every input.

    `f` may also take `choose` and `categorical`, which are `flip.choose` and `flip.categorical`. It must return
    something that can be a key of a dictionary, and depend on its input and its coins alone: some paths are run a
    second time to see whether it does. Paths of more than `depth` coins are cut off; their probability, summed exactly,
    is the remainder of the table, which counts against it.
    `paths` bounds the work on each input.

    >>> def randomized_response(x, flip):
    ...     return x if flip() else flip()
    >>> t = program(randomized_response, inputs=[0, 1])
    >>> t
    output  0    1
    0       3/4  1/4
    1       1/4  3/4
    >>> t.epsilon(), t.delta("ln 2"), t.tradeoff("1/4")
    (ln 3, Fraction(1, 4), Fraction(1, 4))
    """
    listed = list(inputs) if hasattr(inputs, "__iter__") else []
    if not listed or len(set(listed)) != len(listed):
        raise InvalidParameter("inputs", inputs, "is not a list of different inputs", hint="pass inputs=[0, 1]")
    require_coins(f)
    run = runner(f)
    laws, _, total = laws_of({x: partial(run, x) for x in listed}, called(f), depth=depth, paths=paths)
    return Table(laws, neighbouring_pairs(listed, neighbours), total, neighbours)
