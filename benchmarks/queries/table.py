"""The table that queries are measured on: payments of people, seeded, as Parquet files that are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SEED = 20240601
REGIONS, CATEGORIES, DAYS = 50, 1000, 365
ROWS_OF_PERSON = 10  # on average
GREATEST = 500
ROWS_OF_FILE = 10_000_000


def folder(said: str | None) -> Path:
    """Where tables are kept: as said, or as the environment says, or among the temporary files."""
    chosen = said or os.environ.get("GIVEORTAKE_BENCH_DATA")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / "giveortake-bench"


def payments(rows: int, where: Path, *, people: int | None = None, categories: int = CATEGORIES) -> Path:
    """A file of so many rows, or a folder of files if there are very many; made unless it is there."""
    variant = "" if people is None else f"-{people}-people"
    variant += "" if categories == CATEGORIES else f"-{categories}-categories"
    path = where / (f"payments-{rows}{variant}.parquet" if rows <= ROWS_OF_FILE else f"payments-{rows}{variant}")
    if path.exists():
        return path
    where.mkdir(parents=True, exist_ok=True)
    making = where / f"making-{os.getpid()}-{path.name}"
    chunks = _chunks(rows, people or max(rows // ROWS_OF_PERSON, 1), categories)
    if rows <= ROWS_OF_FILE:
        _write(next(chunks), making)
    else:
        making.mkdir()
        for index, chunk in enumerate(chunks):
            _write(chunk, making / f"part-{index:03d}.parquet")
    making.rename(path)
    return path


def _chunks(rows: int, people: int, categories: int) -> Any:
    """Columns of numbers. Few people have many rows, few categories and regions most of them."""
    generator = np.random.default_rng(SEED)
    numbers = generator.permutation(people).astype(np.int64)
    by_person, by_region, by_category = _skewed(people, 0.6), _skewed(REGIONS, 0.5), _skewed(categories, 0.8)
    for start in range(0, rows, ROWS_OF_FILE):
        size = min(ROWS_OF_FILE, rows - start)
        yield {
            "user_id": numbers[_drawn(by_person, generator, size)],
            "region": _drawn(by_region, generator, size),
            "category": _drawn(by_category, generator, size),
            "day": generator.integers(0, DAYS, size),
            "amount": np.clip(generator.lognormal(3.2, 1.0, size), 0, GREATEST).round(2),
        }


def _skewed(size: int, power: float) -> npt.NDArray[np.float64]:
    weights = 1.0 / np.arange(1, size + 1) ** power
    return np.cumsum(weights / weights.sum())


def _drawn(cumulative: npt.NDArray[np.float64], generator: np.random.Generator, size: int) -> npt.NDArray[np.int64]:
    return np.minimum(np.searchsorted(cumulative, generator.random(size)), cumulative.size - 1)


def _write(chunk: dict[str, npt.NDArray[Any]], path: Path) -> None:
    import duckdb  # noqa: PLC0415 (needed only when there is no table yet)

    with duckdb.connect() as connection:
        connection.register("chunk", chunk)
        connection.execute(
            "COPY (SELECT user_id, printf('region_%02d', region) AS region, printf('category_%04d', category) AS "
            f"category, day, amount FROM chunk) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)"
        )
