"""All routes of the service, in the order in which they are tried."""

from __future__ import annotations

from giveortake.server import added_tables, analyst_routes, custodian_routes, health, openapi
from giveortake.server.console.routes import ROUTES as PAGES

_OWN = (*health.ROUTES, *analyst_routes.ROUTES, *custodian_routes.ROUTES, *added_tables.ROUTES)
ROUTES = (*_OWN, openapi.route_of(_OWN), *PAGES)
