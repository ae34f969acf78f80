"""The kinds of requests: queries, workloads, counters, weights, runs for models and synthetic tables, profiles."""
