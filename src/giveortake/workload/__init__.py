"""Workloads: many questions that are declared together, and the least noise that answers all of them."""

from giveortake.workload.results import WorkloadAnswer
from giveortake.workload.workload import Workload, marginals, ranges, total

__all__ = ["Workload", "WorkloadAnswer", "marginals", "ranges", "total"]
