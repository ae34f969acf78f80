"""All pages of the console, as lines of the table of routes."""

from __future__ import annotations

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

ROUTES = (
    *entrance.ROUTES,
    *overview.ROUTES,
    *workbench.ROUTES,
    *release_pages.ROUTES,
    *profile_page.ROUTES,
    *approvals_page.ROUTES,
    *custodian.ROUTES,
    *tables_page.ROUTES,
)
