"""Names: an engine does not tell upper case from lower case, so nothing may pass for the person by its case."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asked_tables import CATALOG, TRIPS, VISITS, ZONES
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Catalog,
    ColumnReference,
    Derive,
    JoinPersons,
    JoinPublic,
    PerPerson,
    Relation,
    Scan,
)

COUNT = Aggregate(AggregateKind.COUNT_ROWS)
SCAN = Scan(TRIPS)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Derive(SCAN, (("USER_ID", ColumnReference("region")),)),
        lambda: Derive(SCAN, (("USER_ID", ColumnReference("user_id")),)),
        lambda: Derive(SCAN, (("a", ColumnReference("region")), ("A", ColumnReference("zone")))),
        lambda: PerPerson(SCAN, (), (("user_id", COUNT),)),
        lambda: PerPerson(SCAN, (), (("User_ID", COUNT),)),
        lambda: PerPerson(SCAN, ("region",), (("REGION", COUNT),)),
        lambda: PerPerson(SCAN, (), (("n", COUNT), ("N", COUNT))),
        lambda: JoinPublic(SCAN, ZONES, ColumnReference("zone"), "zone", (("city", "USER_ID"),)),
        lambda: JoinPersons(SCAN, Scan(VISITS, 3), (("minutes", "Amount"),)),
    ],
)
def test_a_name_that_differs_in_case_alone_is_refused(build: Callable[[], Relation]) -> None:
    with pytest.raises(QueryRefused, match=r"columns|row"):
        build()


def test_a_chain_of_definitions_costs_no_more_than_its_length() -> None:
    relation: Relation = SCAN
    for _ in range(30):
        relation = Derive(relation, tuple((name, ColumnReference(name)) for name in TRIPS.schema))
    assert relation.schema == TRIPS.schema


def test_a_catalog_finds_names_whatever_their_case_and_keeps_them_apart() -> None:
    assert CATALOG.find("TRIPS") is CATALOG.private["trips"]
    assert CATALOG.find_public("Zones") is ZONES
    with pytest.raises(QueryRefused, match="`x`") as refusal:
        CATALOG.find("x")
    assert "trips, visits, rows, zones" in str(refusal.value.hint)
    with pytest.raises(InvalidParameter, match="tables"):
        Catalog({"a": SCAN}, {"A": ZONES})
