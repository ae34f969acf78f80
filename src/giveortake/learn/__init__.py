"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.logistic import LogisticRegression
from giveortake.learn.moments import Moments, moments
from giveortake.learn.sgd import Descent, sgd

__all__ = ["Descent", "LogisticRegression", "Moments", "moments", "sgd"]
