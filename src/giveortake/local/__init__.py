"""Surveys in which nobody needs to be trusted: every answer is randomised before it leaves its owner."""

from giveortake.local.hadamard import HadamardResponse
from giveortake.local.hashing import LocalHashing
from giveortake.local.heavy_hitters import HeavyHitters
from giveortake.local.mean import Mean
from giveortake.local.oracle import Oracle, from_json
from giveortake.local.poll import Poll, truth_of
from giveortake.local.randomized_response import RandomizedResponse
from giveortake.local.rappor import Rappor
from giveortake.local.reports import Reports
from giveortake.local.respondent import Respondent
from giveortake.local.sketch import CountMeanSketch
from giveortake.local.survey_plan import SurveyPlan, plan
from giveortake.local.unary import UnaryEncoding

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
