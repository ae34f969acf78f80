"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.linear import LinearRegression, Ridge
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.moments import Moments, moments
from giveortake.learn.pca import PCA
from giveortake.learn.principal_components import PrincipalComponents
from giveortake.learn.sgd import Descent, sgd

__all__ = [
    "PCA",
    "Descent",
    "LinearModel",
    "LinearRegression",
    "Moments",
    "PrincipalComponents",
    "Ridge",
    "moments",
    "sgd",
]
