"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.moments import Moments, moments

__all__ = ["Moments", "moments"]
