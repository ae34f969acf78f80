"""Spark: tables of a cluster, asked where they are."""
