"""All routes of the service, in one table."""

from __future__ import annotations

from giveortake.server import added_tables, administration, asking, health, openapi
from giveortake.server.console.routes import ROUTES as PAGES

_OWN = (*health.ROUTES, *asking.ROUTES, *administration.ROUTES, *added_tables.ROUTES)
ROUTES = (*_OWN, openapi.route_of(_OWN), *PAGES)
