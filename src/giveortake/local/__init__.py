"""Surveys in which nobody needs to be trusted: every answer is randomised before it leaves its owner."""

from giveortake.local.categories import HadamardResponse, LocalHashing, RandomizedResponse, UnaryEncoding
from giveortake.local.heavy_hitters import CountMeanSketch, HeavyHitters
from giveortake.local.mean import Mean
from giveortake.local.plan import SurveyPlan, plan
from giveortake.local.poll import Poll, truth_of
from giveortake.local.rappor import Rappor
from giveortake.local.respondent import Respondent
from giveortake.local.survey import Oracle, Reports, from_json

__all__ = [
    "CountMeanSketch",
    "HadamardResponse",
    "HeavyHitters",
    "LocalHashing",
    "Mean",
    "Oracle",
    "Poll",
    "RandomizedResponse",
    "Rappor",
    "Reports",
    "Respondent",
    "SurveyPlan",
    "UnaryEncoding",
    "from_json",
    "plan",
    "truth_of",
]
