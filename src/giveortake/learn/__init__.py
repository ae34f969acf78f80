"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.additive_models import AdditiveClassifier, AdditiveRegressor
from giveortake.learn.logistic import LogisticRegression
from giveortake.learn.moments import Moments, moments
from giveortake.learn.naive_bayes import ClassMeans, NaiveBayes
from giveortake.learn.sgd import Descent, sgd

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "ClassMeans",
    "Descent",
    "LogisticRegression",
    "Moments",
    "NaiveBayes",
    "moments",
    "sgd",
]
