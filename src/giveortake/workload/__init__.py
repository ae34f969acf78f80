"""Workloads: many questions that are declared together, and the least noise that answers all of them."""

from giveortake.workload.declared import Workload, marginals, ranges, total
from giveortake.workload.results import WorkloadAnswer

__all__ = ["Workload", "WorkloadAnswer", "marginals", "ranges", "total"]
