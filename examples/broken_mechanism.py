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
# The promise that was sold allows no attacker above its line; the points above it are attackers that the audit found.

# %%
curve = gt.audit.tradeoff_upper_bound(sold_as_one, 100, 101, samples=200_000, confidence=0.999)
better = [(float(fpr), 1 - float(fnr)) for fpr, fnr in curve.points if fpr + fnr < 1]  # than guessing
points = [{"x": x, "y": y, "who": "attackers that the audit found"} for x, y in better]
red = alt.Fill(
    "who:N", title=None, scale=alt.Scale(range=["crimson"]), legend=alt.Legend(labelLimit=260, symbolStrokeWidth=0)
)
found = alt.Chart(alt.Data(values=points)).mark_point(size=60, strokeWidth=0, opacity=1)
picture = gt.plot.tradeoff([1]) + found.encode(x="x:Q", y="y:Q", fill=red)
picture = picture.properties(title="Attackers above the line that ε = 1 allows: the claim is false")
saved = gt.plot.save(picture, "broken_mechanism.svg")
print(f"The picture is {saved.resolve()}")
