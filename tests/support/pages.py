"""The page of a run, served to a browser."""

from support.browser import Site

from fleet.reports.html import render
from fleet.reports.past import Past
from fleet.reports.view import View
from fleet.verifier.run import Run


def served(site: Site, one: Run, past: Past | None = None) -> str:
    """Serve a run's page, and return its address."""
    site.pages["/"] = render(one, View(past=past))
    return f"{site.origin}/"
