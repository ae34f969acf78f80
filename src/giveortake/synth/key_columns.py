"""How the columns of a private table are counted: by their declared values, or by bins of their numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from giveortake.engines import KeyColumn
from giveortake.errors import InvalidParameter, meant
from giveortake.exact import rational
from giveortake.plan import Call, ColumnReference, Kind, Literal
from giveortake.plan.moments import in_days
from giveortake.synth.model_columns import ModelColumn

if TYPE_CHECKING:
    from giveortake.plan import Domain, Expression, Relation

MOST_VALUES = 2_000  # of one column
FINE_BINS = 256  # of which bins by quantiles are made


def model_column(relation: Relation, name: str, edges: Sequence[Fraction] | None) -> ModelColumn:
    """A column as a model has it: with bins if it has edges, else with its declared values."""
    domain = _domain(relation, name)
    if edges is not None:
        return ModelColumn(name, domain.kind, None, tuple(edges), domain.nullable, domain.step)
    values = domain.keys()
    if values is None:
        raise InvalidParameter(
            "columns",
            name,
            "has no declared values",
            hint=f'declare them, gt.protect(…, domains={{"{name}": […]}}), or say bins={{"{name}": [0, 10, 100]}}',
        )
    if len(values) > MOST_VALUES:
        raise InvalidParameter(
            "columns",
            name,
            f"has {len(values):,} values, more than {MOST_VALUES:,}",
            hint=f'say bins={{"{name}": 20}} for bins by quantiles, or list their edges',
        )
    if len(values) < 2:
        raise InvalidParameter(
            "columns", name, "has only one value, so nothing can be learned from it", hint="leave it out"
        )
    return ModelColumn(name, domain.kind, values, None, None in values, domain.step)


def key_column(column: ModelColumn) -> KeyColumn:
    """What an engine is asked for: the values themselves, or the places of bins."""
    if column.edges is None:
        return KeyColumn(column.name, ColumnReference(column.name), column.categories)
    return KeyColumn(column.name, _place_of_bin(column), tuple(range(column.size)))


def _place_of_bin(column: ModelColumn) -> Expression:
    """Numbers below the first edge are in the first bin, numbers beyond the last in the last; the missing are last."""
    assert column.edges is not None  # noqa: S101 (asked only then)
    of: Expression = ColumnReference(column.name)
    arguments: list[Expression] = []
    if column.nullable:
        arguments += [Call("is_null", (of,)), Literal(column.size - 1)]
    for place, edge in enumerate(column.edges[1:-1]):
        arguments += [Call("lt", (of, _literal(edge, column.kind))), Literal(place)]
    last = Literal(len(column.edges) - 2)
    return Call("case", (*arguments, last)) if arguments else last


def _literal(edge: Fraction, kind: Kind) -> Literal:
    if kind is Kind.DATE:
        return Literal(dt.date.fromordinal(int(edge)))
    return Literal(edge.numerator if edge.denominator == 1 else edge)


def declared_edges(relation: Relation, name: str, said: Sequence[Any]) -> tuple[Fraction, ...]:
    """Edges of bins as they were stated: numbers or days in increasing order."""
    domain = _domain(relation, name)
    _require_binnable(name, domain)
    edges = [in_days(each) if domain.kind is Kind.DATE else rational(f"bins[{name!r}]", each) for each in said]
    if len(edges) < 3 or any(one >= other for one, other in pairwise(edges)):
        raise InvalidParameter(
            f"bins[{name!r}]", list(said), "is not a list of increasing edges of two bins or more", hint="[0, 10, 100]"
        )
    if len(edges) - 1 > MOST_VALUES:
        raise InvalidParameter(f"bins[{name!r}]", len(edges) - 1, f"are more than {MOST_VALUES:,} bins")
    return tuple(edges)


def fine_edges(relation: Relation, name: str) -> tuple[Fraction, ...]:
    """The edges of many narrow bins of a bounded number, whole where its values are."""
    domain = _domain(relation, name)
    _require_binnable(name, domain)
    if domain.low is None or domain.high is None or domain.low >= domain.high:
        raise InvalidParameter(
            f"bins[{name!r}]",
            name,
            "are bins by quantiles, which need declared bounds",
            hint=f'gt.protect(…, domains={{"{name}": (0, 100)}}), or list the edges',
        )
    step = domain.step or (Fraction(1) if domain.kind in {Kind.INTEGER, Kind.DATE} else None)
    width = (domain.high - domain.low) / FINE_BINS
    if step is not None:
        width = max(step, -(-width // step) * step)
    count = int(-(-(domain.high - domain.low) // width))
    return tuple([domain.low + place * width for place in range(count)] + [domain.high])


def quantile_edges(edges: Sequence[Fraction], counts: Sequence[float], bins: int) -> tuple[Fraction, ...]:
    """Of narrow bins with noisy counts, the edges of about that many bins of about equal counts."""
    seen = [max(0.0, count) for count in counts]
    share = sum(seen) / bins if sum(seen) > 0 else 0.0
    chosen, reached = [edges[0]], 0.0
    for place, count in enumerate(seen[:-1]):
        reached += count
        if share and reached >= share * len(chosen):
            chosen.append(edges[place + 1])
    if len(chosen) == 1:
        chosen.append(edges[len(edges) // 2])
    return (*chosen, edges[-1])


def stated_bins(bins: Mapping[str, Any] | None, columns: Sequence[str]) -> dict[str, Any]:
    """Edges, or a number of bins, for some of the columns."""
    said = dict(bins or {})
    for name, each in said.items():
        if name not in columns:
            raise InvalidParameter("bins", name, "is not one of the columns", hint=meant(str(name), columns) or None)
        is_count = isinstance(each, int) and not isinstance(each, bool)
        if not is_count and (isinstance(each, str) or not isinstance(each, Sequence)):
            raise InvalidParameter(f"bins[{name!r}]", each, "is neither a list of edges nor a number of bins")
        if is_count and not 2 <= each <= FINE_BINS // 2:
            raise InvalidParameter(f"bins[{name!r}]", each, f"is not a number of bins from 2 to {FINE_BINS // 2}")
    return said


def _domain(relation: Relation, name: str) -> Domain:
    if name not in relation.schema:
        known = list(relation.schema)
        raise InvalidParameter(
            "columns", name, "is not a column here", hint=f"{meant(str(name), known)}the columns are {', '.join(known)}"
        )
    return relation.schema[name]


def _require_binnable(name: str, domain: Domain) -> None:
    if not (domain.kind.is_number or domain.kind is Kind.DATE) or domain.categories is not None:
        raise InvalidParameter(f"bins[{name!r}]", str(domain.kind), "has no bins: numbers and dates with bounds do")
