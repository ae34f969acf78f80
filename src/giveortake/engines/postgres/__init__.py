"""PostgreSQL: tables of a server, asked where they are."""
