"""Sessions: a table behind a budget, questions to it, and answers that are numbers give or take an honest margin."""

from giveortake.session.protection import protect
from giveortake.session.quotes import Quote
from giveortake.session.session import Query, Session

__all__ = ["Query", "Quote", "Session", "protect"]
