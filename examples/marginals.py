"""All tables of a survey at once, and a synthetic table that keeps them."""

# %% [markdown]
# # Marginals and a synthetic table
#
# Declared together, tables share their noise, and their sums agree.

# %%
from importlib.resources import files

import giveortake as gt

REGIONS = ["north", "east", "south", "west", "coast", "islands"]
REASONS = ["check-up", "back pain", "flu", "vaccination", "headache"]

s = gt.protect(
    str(files("giveortake") / "data" / "visits.csv"),
    unit="person_id",
    rows_per_person=2,
    budget=gt.ApproxDP(8, "1e-6"),
    domains={"region": REGIONS, "reason": REASONS, "amount": (0, 400)},
)
workload = s.workload(gt.workload.marginals(["region", "reason"], up_to=2) + gt.workload.total())
quote = workload.quote(rho="1/10")
tables = workload.answer(rho="1/10")
print(tables["region"])
print(
    "the regions and the total agree:",
    round(sum(tables["region"]["n_consistent"]) - tables[()]["n_consistent"][0]) == 0,
)

# %% [markdown]
# A synthetic table has the same columns and about the same tables; none of its rows is anybody's. It is one charge.

# %%
synthetic = gt.synth.synthesize(s, columns=["region", "reason"], epsilon=2, delta="1e-7")
print(synthetic.to_polars().head())

# %%
made = synthetic.to_polars().group_by("region").len().sort("len", descending=True)
print(made)

# %%
saved = gt.plot.save(quote.plot(), "marginals.svg")
print(f"The picture is {saved.resolve()}")
