"""The client of a service: the interface of a local session, without any rows on this side.

`gt.connect(url, token=…)` gives a session whose questions are answered elsewhere.
"""

from giveortake.client.session import RemoteSession, connect

__all__ = ["RemoteSession", "connect"]
