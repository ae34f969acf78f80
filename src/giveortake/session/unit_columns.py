"""Which columns can name the people whom a table protects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter, meant
from giveortake.plan import Kind

if TYPE_CHECKING:
    from giveortake.engines import Source


def require_persons(loaded: Source, person: str) -> None:
    """Refuse a column that does not say of each row, in one way, whose it is."""
    physical = dict(loaded.columns)
    if person not in physical:
        raise InvalidParameter(
            "unit",
            person,
            f"is not a column of `{loaded.name}`",
            hint=(
                f"{meant(person, physical)}its columns are {', '.join(physical)}; where every row is protected by "
                "itself, unit=gt.ROW"
            ),
        )
    if physical[person].kind not in {Kind.INTEGER, Kind.TEXT}:
        raise InvalidParameter(
            "unit",
            person,
            f"holds {physical[person].kind} values, which cannot name people",
            hint=f'in pandas, a missing value makes numbers real: df["{person}"].astype("Int64") makes them whole'
            if physical[person].kind is Kind.REAL
            else "use text or whole numbers",
        )
    if person in loaded.loose:
        raise InvalidParameter(
            "unit",
            person,
            "has a collation that takes several spellings for one person, which would be several persons here",
            hint=f'store one spelling of each person in a column of its own, as lower({person}) COLLATE "C"',
        )
