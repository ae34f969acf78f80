"""Learning: models and statistics of rows behind a session, each made of sums of vectors of bounded length."""

from giveortake.learn.additive import AdditiveClassifier, AdditiveRegressor
from giveortake.learn.classification import ClassMeans, LogisticRegression, NaiveBayes
from giveortake.learn.gradient_descent import Descent, PerturbedModel, output_perturbation, sgd
from giveortake.learn.hypothesis_tests import (
    Contingency,
    HypothesisTest,
    anova,
    contingency,
    correlation,
    difference_of_means,
    goodness_of_fit,
    independence,
)
from giveortake.learn.linear import LinearModel, LinearRegression, Ridge
from giveortake.learn.moments import Moments, PrincipalComponents, moments, statistical_query
from giveortake.learn.selection import Choice, Score, Selection, choose, select
from giveortake.learn.unsupervised import PCA, KMeans

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
