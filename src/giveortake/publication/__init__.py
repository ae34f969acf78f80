"""Releases for everybody: as Parquet, DuckDB or PostgreSQL that other programs read, and as a page that people read."""

from giveortake.publication.page import report
from giveortake.publication.places import Publication, publish

__all__ = ["Publication", "publish", "report"]
