"""A health register: one row a person, counts and means by ward, and a margin that is asked for."""

# %% [markdown]
# # A health register
#
# One row a patient (all of it invented here). With one row each, no cap is needed: `unit=gt.ROW`.

# %%
import numpy as np
import polars as pl

import giveortake as gt

WARDS = ["surgery", "maternity", "heart", "children", "eyes"]
dice = np.random.default_rng(2026)
ward = dice.choice(WARDS, size=20_000, p=[0.4, 0.25, 0.2, 0.1, 0.05])
days = np.minimum(dice.geometric(0.2, size=ward.size) + 3 * (ward == "heart"), 60)
register = pl.DataFrame({"ward": ward, "days": days})

s = gt.protect(
    register,
    name="register",
    unit=gt.ROW,
    budget=gt.PureDP(1),
    domains={"ward": WARDS, "days": (0, 60)},  # known without looking
)

# %% [markdown]
# Say how sure you want to be, and pay the least that reaches it: a count give or take 40.

# %%
counts = s.sql("SELECT ward, COUNT(*) AS patients FROM register GROUP BY ward")
quote = counts.quote(margin=40)
print(quote)
answer = counts.answer(margin=40)
print(answer)

# %% [markdown]
# A mean is a noisy sum by a noisy count; its interval follows from both. Small wards have wide ones.

# %%
stays = s.sql("SELECT ward, AVG(days) AS stay FROM register GROUP BY ward").answer(epsilon="0.5")
print(stays)

# %%
saved = gt.plot.save(stays.plot(title="Days in hospital, ε = 0.5"), "health_register.svg")
print(f"The picture is {saved.resolve()}")
