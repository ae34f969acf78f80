"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.contingency import Contingency, contingency
from giveortake.learn.hypotheses import (
    HypothesisTest,
    anova,
    correlation,
    difference_of_means,
    goodness_of_fit,
    independence,
)
from giveortake.learn.linear import LinearRegression, Ridge
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.moments import Moments, moments
from giveortake.learn.pca import PCA
from giveortake.learn.principal_components import PrincipalComponents
from giveortake.learn.sgd import Descent, sgd
from giveortake.learn.statistical_query import statistical_query

__all__ = [
    "PCA",
    "Contingency",
    "Descent",
    "HypothesisTest",
    "LinearModel",
    "LinearRegression",
    "Moments",
    "PrincipalComponents",
    "Ridge",
    "anova",
    "contingency",
    "correlation",
    "difference_of_means",
    "goodness_of_fit",
    "independence",
    "moments",
    "sgd",
    "statistical_query",
]
