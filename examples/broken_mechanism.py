"""An audit of somebody's broken mechanism: a claim, samples, and a verdict."""

# %% [markdown]
# # An audit of somebody's broken mechanism
#
# A library sells this count as ε = 1. Its author took the scale of the noise for its variance. Nothing in its code
# has to be believed or even seen: the audit asks it about two neighbouring inputs, many times.

# %%
import altair as alt
import numpy as np

import giveortake as gt

dice = np.random.default_rng()


def sold_as_one(count, size):
    """A noisy count, the noise being too small."""
    return np.round(count + dice.laplace(0, np.sqrt(0.5), size))


finding = gt.audit.check(sold_as_one, 100, 101, gt.PureDP(1), samples=200_000, confidence=0.999)
print(finding)

# %%
bound = gt.audit.epsilon_lower_bound(sold_as_one, 100, 101, samples=200_000, confidence=0.999)
print(f"ε is at least {bound:.2f}, with 99.9 %; it was sold as 1")

# %% [markdown]
# A sound mechanism is not refuted, which is no proof; `gt.verify` proves, where a mechanism is finite.

# %%
sound = gt.audit.check(gt.mechanisms.Laplace(1), 100, 101, gt.PureDP(1), samples=200_000, confidence=0.999)
print(sound)

# %% [markdown]
# What the promise allows is above the line; the points are attackers that the audit found.

# %%
curve = gt.audit.tradeoff_upper_bound(sold_as_one, 100, 101, samples=200_000, confidence=0.999)
points = [{"x": float(fpr), "y": 1 - float(fnr)} for fpr, fnr in curve.points if fpr + fnr < 1]  # better than guessing
found = alt.Chart(alt.Data(values=points)).mark_point(filled=True, color="crimson", size=60)
picture = gt.plot.tradeoff([1]) + found.encode(x="x:Q", y="y:Q")
saved = gt.plot.save(picture, "broken_mechanism.svg")
print(f"The picture is {saved.resolve()}")
