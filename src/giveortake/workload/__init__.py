"""Workloads: many questions that are declared together, and the least noise that answers all of them."""
