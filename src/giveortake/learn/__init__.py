"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.linear import LinearRegression, Ridge
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.moments import Moments, moments
from giveortake.learn.output_perturbation import PerturbedModel, output_perturbation
from giveortake.learn.pca import PCA
from giveortake.learn.principal_components import PrincipalComponents
from giveortake.learn.selection import Score, Selection, select
from giveortake.learn.sgd import Descent, sgd

__all__ = [
    "PCA",
    "Descent",
    "LinearModel",
    "LinearRegression",
    "Moments",
    "PerturbedModel",
    "PrincipalComponents",
    "Ridge",
    "Score",
    "Selection",
    "moments",
    "output_perturbation",
    "select",
    "sgd",
]
