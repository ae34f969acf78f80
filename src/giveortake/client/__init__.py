"""The client of a service: sessions without any rows on this side.

`gt.connect(url, token=…)` gives a session whose requests are answered elsewhere.
"""

from giveortake.client.backend import connect

__all__ = ["connect"]
