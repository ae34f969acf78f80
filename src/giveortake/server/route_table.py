"""All routes of the service and all pages of the console, in the order in which they are tried."""

from __future__ import annotations

from giveortake.server import added_tables, analyst_routes, custodian_routes, metrics, openapi
from giveortake.server.console import (
    approvals_page,
    custodian,
    entrance,
    overview,
    profile_page,
    release_pages,
    tables_page,
    workbench,
)

_OWN = (*metrics.ROUTES, *analyst_routes.ROUTES, *custodian_routes.ROUTES, *added_tables.ROUTES)
_PAGES = (entrance, overview, workbench, release_pages, profile_page, approvals_page, custodian, tables_page)
ROUTES = (*_OWN, openapi.route_of(_OWN), *(route for page in _PAGES for route in page.ROUTES))
