"""Publishing releases: as Parquet, CSV, DuckDB or PostgreSQL for other programs, and as a page for people."""

from giveortake.publication.page import report
from giveortake.publication.publishing import Publication, publish

__all__ = ["Publication", "publish", "report"]
