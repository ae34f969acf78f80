"""A service with two analysts: each has a budget of their own, and sees nothing of the other's."""

# %% [markdown]
# # A service with two analysts
#
# The custodian's side: a table, a TOML file, two analysts with a token each. On the command line these are
# `giveortake init`, `admin` and `serve`; here it is all in one place, so that it can be run.

# %%
import asyncio
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import giveortake as gt
from giveortake.configuration import from_toml
from giveortake.server.running import running
from giveortake.server.settings import Settings

folder = Path(tempfile.mkdtemp(prefix="giveortake-"))
shutil.copy(str(files("giveortake") / "data" / "visits.csv"), folder / "visits.csv")
toml = folder / "giveortake.toml"
toml.write_text("""
[visits]
source = "visits.csv"
unit = "person_id"
budget = { epsilon = "2", delta = "1e-6" }
ledger = "visits.ledger"
mark = "visits.mark"
rows_per_person = 4

[visits.domains]
region = ["north", "east", "south", "west", "coast", "islands"]

[server]
port = 0
workers = 1
spares = 0
clerks = 1
""")

with from_toml(toml):
    pass  # registers the table
tokens = {}
with gt.ledger.open(folder / "visits.ledger", mark=folder / "visits.mark") as ledger:
    for name in ("ann", "bob"):
        ledger.analyst(name, datasets=["visits"], budget=gt.PureDP("0.5"))
        _, tokens[name] = ledger.issue_token(role="analyst", analyst=name, by="the custodian")

# %% [markdown]
# The analysts' side, from wherever they are: `gt.connect` has the words of a session.


# %%
def ask(address):
    """What Ann asks, and what is left to her and to Bob."""
    with gt.connect(address, token=tokens["ann"]) as ann, gt.connect(address, token=tokens["bob"]) as bob:
        question = ann.sql("SELECT region, COUNT(*) AS visits FROM visits GROUP BY region")
        print(question.quote(epsilon="0.25"))
        answer = question.answer(epsilon="0.25")
        print(answer)
        print(f"left to Ann: ε = {ann.budget.affordable}; to Bob: ε = {bob.budget.affordable}")
        return answer


async def serve_and_ask():
    """The service lasts as long as the block."""
    async with running(Settings.read(toml)) as (address, _service):
        return await asyncio.to_thread(ask, address)


with ThreadPoolExecutor() as elsewhere:  # a notebook has a loop of its own, which runs already
    answer = elsewhere.submit(asyncio.run, serve_and_ask()).result()

# %%
with gt.ledger.open(folder / "visits.ledger", mark=folder / "visits.mark", read_only=True) as ledger:
    print(f"{ledger.verify().entries} entries, derived anew")
saved = gt.plot.save(answer.plot(title="What Ann was told, ε = 0.25 of her 0.5"), "service.svg")
print(f"The picture is {saved.resolve()}")
