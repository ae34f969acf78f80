"""A survey without trust: every answer is randomised before it leaves its owner."""

# %% [markdown]
# # A survey without trust
#
# "Have you ever called in sick without being ill?" Whoever asks learns what all say together, and almost nothing
# about anybody: each person throws coins first. No table of true answers exists anywhere.

# %%
import random

import giveortake as gt

OPTIONS = ["never", "once", "several times"]
people = random.Random(7).choices(OPTIONS, weights=[60, 30, 10], k=4_000)

question = gt.local.RandomizedResponse(OPTIONS, epsilon=1)
print(question.promise)

# %% [markdown]
# This happens on each person's own device:

# %%
reports = question.randomize(people)
lies = sum(said != true for said, true in zip(reports, people, strict=True))
print(f"{lies:,} of {len(people):,} reports are not what their owner thinks; nobody knows which")

# %% [markdown]
# And this where reports are collected:

# %%
shares = question.estimate(reports)
print(shares)

# %%
saved = gt.plot.save(shares.plot(title="Called in sick without being ill, ε = 1 for each answer"), "survey.svg")
print(f"The picture is {saved.resolve()}")
