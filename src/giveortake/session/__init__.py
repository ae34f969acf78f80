"""Sessions: a table behind a budget, questions to it, and answers that are numbers give or take an honest margin."""

from giveortake.session.configuration import from_toml
from giveortake.session.query import Query
from giveortake.session.quote import Quote
from giveortake.session.registration import protect
from giveortake.session.session import Session

__all__ = ["Query", "Quote", "Session", "from_toml", "protect"]
