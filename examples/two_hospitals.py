"""The same people in two hospitals: one population, one budget, two tables."""

# %% [markdown]
# # The same people in two hospitals
#
# Two hospitals hold tables about partly the same patients, under the same numbers. If each had a budget of its own,
# a patient of both would pay twice. So both tables belong to one *population*, and every answer about either is
# taken from its one budget.

# %%
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import giveortake as gt

dice = np.random.default_rng(3)
folder = Path(tempfile.mkdtemp(prefix="giveortake-"))
for name, stays in (("north", 6_000), ("south", 4_000)):
    pl.DataFrame({"patient": dice.integers(0, 5_000, stays), "days": dice.integers(1, 30, stays)}).write_csv(
        folder / f"{name}.csv"
    )

said = {"unit": "patient", "budget": gt.PureDP(1), "domains": {"days": (0, 30)}, "rows_per_person": 3}
ledger = gt.ledger.open(folder / "hospitals.ledger", mark=folder / "hospitals.mark")
north = gt.protect(folder / "north.csv", ledger=ledger, **said)
south = gt.protect(folder / "south.csv", ledger=gt.ledger.at(ledger, population="people of north"), **said)

# %% [markdown]
# Each hospital asks about its own table, and both see the same budget go down.

# %%
first = north.sql("SELECT COUNT(*) AS stays, AVG(days) AS mean FROM north").answer(epsilon="0.4")
print(first)
print(f"left to the north: ε = {north.budget.affordable}; to the south: ε = {south.budget.affordable}")

# %%
second = south.sql("SELECT COUNT(DISTINCT patient) AS patients FROM south").answer(epsilon="0.4")
print(second)

# %% [markdown]
# What is left is not enough for a third question, whoever asks it, and nothing is charged.

# %%
try:
    north.sql("SELECT SUM(days) AS days FROM north").answer(epsilon="0.4")
except gt.errors.BudgetExceeded as refusal:
    print(refusal)

# %%
print(f"{ledger.verify().entries} entries, derived anew")
saved = gt.plot.save(gt.plot.burn_down(ledger), "two_hospitals.svg")
print(f"The picture is {saved.resolve()}")
