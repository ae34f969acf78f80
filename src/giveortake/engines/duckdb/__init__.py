"""DuckDB: tables in files or in memory, asked in this process."""
