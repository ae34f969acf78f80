"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.additive_models import AdditiveClassifier, AdditiveRegressor
from giveortake.learn.choice import Choice, choose
from giveortake.learn.contingency import Contingency, contingency
from giveortake.learn.hypotheses import (
    HypothesisTest,
    anova,
    correlation,
    difference_of_means,
    goodness_of_fit,
    independence,
)
from giveortake.learn.kmeans import KMeans
from giveortake.learn.linear import LinearRegression, Ridge
from giveortake.learn.linear_model import LinearModel
from giveortake.learn.logistic import LogisticRegression
from giveortake.learn.moments import Moments, moments
from giveortake.learn.naive_bayes import ClassMeans, NaiveBayes
from giveortake.learn.output_perturbation import PerturbedModel, output_perturbation
from giveortake.learn.pca import PCA
from giveortake.learn.principal_components import PrincipalComponents
from giveortake.learn.selection import Score, Selection, select
from giveortake.learn.sgd import Descent, sgd
from giveortake.learn.statistical_query import statistical_query

__all__ = [
    "PCA",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "Choice",
    "ClassMeans",
    "Contingency",
    "Descent",
    "HypothesisTest",
    "KMeans",
    "LinearModel",
    "LinearRegression",
    "LogisticRegression",
    "Moments",
    "NaiveBayes",
    "PerturbedModel",
    "PrincipalComponents",
    "Ridge",
    "Score",
    "Selection",
    "anova",
    "choose",
    "contingency",
    "correlation",
    "difference_of_means",
    "goodness_of_fit",
    "independence",
    "moments",
    "output_perturbation",
    "select",
    "sgd",
    "statistical_query",
]
