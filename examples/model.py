"""A model of rows that nobody sees: which flats are expensive, with shapes to look at."""

# %% [markdown]
# # A model
#
# A fit is one charge. The model is public: it predicts, draws its shapes and says how it came to be.

# %%
import numpy as np
import polars as pl

import giveortake as gt

dice = np.random.default_rng(11)
size, floor = dice.uniform(10, 150, 8_000), dice.integers(0, 9, 8_000)
price = size * (1 + 0.05 * floor) + dice.normal(0, 20, 8_000)
flats = pl.DataFrame({"size": size, "floor": floor, "expensive": price > 100})

s = gt.protect(
    flats,
    name="flats",
    unit=gt.ROW,
    budget=gt.ApproxDP(2, "1e-6"),
    domains={"size": (10, 150), "floor": {"bounds": (0, 8), "nullable": False}},
)

# %%
model = gt.learn.AdditiveClassifier("expensive", ["size", "floor"], epsilon=1, delta="1e-7")
print(model.quote(s, n=8_000).admitted)
model.fit(s)

# %%
small, large = model.predict_proba({"size": [30.0, 140.0], "floor": [0, 8]})[:, 1]
print(f"expensive with probability {small:.0%} (small, ground floor) and {large:.0%} (large, under the roof)")

# %%
saved = gt.plot.save(model.plot(title="What makes a flat expensive, ε = 1"), "model.svg")
print(f"The picture is {saved.resolve()}")
